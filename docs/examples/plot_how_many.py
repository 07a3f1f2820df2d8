"""
How many components?
====================

:class:`ComponentSearchCV <skcooc.model_selection.ComponentSearchCV>` looks for the number of
components, and says whether the data name one. :class:`KSelectionDisplay
<skcooc.plotting.KSelectionDisplay>` shows all that it has measured.
"""

# %%
# Counts that are drawn from eight aspects. The held-out perplexity falls until there are eight, and
# rises a little after that. Eight are distinct, and two halves of the observations give the same
# ones; further ones depend on chance.
import matplotlib.pyplot as plt

from skcooc import AspectModel
from skcooc.datasets import load_docstrings, make_cooccurrences
from skcooc.model_selection import ComponentSearchCV
from skcooc.plotting import KSelectionDisplay

X = make_cooccurrences(300, 200, 8, n_tokens=30_000, random_state=0).X
search = ComponentSearchCV(AspectModel(), max_components=40, random_state=0, n_jobs=2).fit(X)
print(search.summary())

KSelectionDisplay.from_search(search)
plt.show()

# %%
# Texts are another matter. The perplexity of these docstrings is still falling at the largest
# number tried, and says nothing about how many topics there are. What can be told is how many come
# back: the agreement of halves falls from the beginning.
import warnings

from sklearn.feature_extraction.text import CountVectorizer

texts = load_docstrings().data[::4]
vectorizer = CountVectorizer(stop_words="english", min_df=5, token_pattern=r"[a-zA-Z]{3,}")
X = vectorizer.fit_transform(texts)
search = ComponentSearchCV(AspectModel(), [2, 4, 8, 16, 32], cv=3, random_state=0, n_jobs=2)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # that it is still falling
    search.fit(X)
print(search.summary())

KSelectionDisplay.from_search(search)
plt.show()

# %%
# Which topics come back from other starts?
from skcooc.inspection import top_features, topic_stability

stability = topic_stability(AspectModel(16), X, n_runs=5, random_state=0, n_jobs=2)
topics = top_features(stability.model, vectorizer.get_feature_names_out(), n_features=4)
print("always:", *(", ".join(topics[k]) for k in stability.always), sep="\n  ")
print("once:", *(", ".join(topics[k]) for k in stability.once), sep="\n  ")
