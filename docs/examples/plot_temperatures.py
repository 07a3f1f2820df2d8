"""
Choosing the temperature and the number of topics
=================================================

``fit`` tunes the inverse temperature beta, the strength of the regularisation, on validation
tokens. Numbers of topics K are compared by held-out perplexity, and by whether the topics are
reproducible.
"""

# %%
# A quarter of the chapters of the King James Bible. These are the values of beta that were tried,
# and their perplexity: the effective number of words that the model hesitates between. Lower is
# better. The first stage ("coarse") finds the region; the next ones try a beta in it, pseudo-counts
# of the words ("prior") and another form of tempering. The dot marks the values that were chosen.
# To cross-validate beta instead, use scikit-learn's ``GridSearchCV`` with
# :class:`~skcooc.model_selection.CountSplit`.
import warnings

import matplotlib.pyplot as plt
from sklearn.feature_extraction.text import CountVectorizer

from skcooc import AspectModel
from skcooc.datasets import load_bible
from skcooc.plotting import KSelectionDisplay, PerplexityDisplay

vectorizer = CountVectorizer(stop_words="english", min_df=3, max_df=0.25)
X = vectorizer.fit_transform(load_bible().data[::4])

model = AspectModel(16, random_state=0).fit(X)
print(f"beta {model.beta_:.3f}")
PerplexityDisplay.from_estimator(model)
plt.show()

# %%
# :class:`~skcooc.model_selection.ComponentSearchCV` compares numbers of topics. Held-out perplexity
# still falls at the largest K, as often with texts, because more topics also learn which words a
# document repeats. Perplexity of words new to the document says less about repetition. The lower
# right panel shows whether two halves of the tokens, or other initialisations, give the same
# topics: choose a K up to which they agree well enough for your purpose.
from skcooc.model_selection import ComponentSearchCV

search = ComponentSearchCV(AspectModel(), [2, 4, 8, 16, 32], cv=2, random_state=0, n_jobs=2)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # perplexity still falls at the largest K
    search.fit(X)
KSelectionDisplay.from_search(search)
plt.show()

# %%
# Which topics come back from other initialisations?
from skcooc.inspection import characteristic_features, topic_stability

stability = topic_stability(AspectModel(16), X, n_runs=4, random_state=0, n_jobs=2)
words = vectorizer.get_feature_names_out()
topics = characteristic_features(stability.model, words, n_features=4)
print("in all runs:", *(", ".join(topics[k]) for k in stability.always), sep="\n  ")
print("in one run:", *(", ".join(topics[k]) for k in stability.once), sep="\n  ")
