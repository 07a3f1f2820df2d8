"""
Tutorial: topics of the Bible in ten minutes
============================================

From texts to topics, to a report that others can read, to the question of who writes about what,
and to a check whether the topics are real. All that is printed or drawn here came from running this
page. You should know scikit-learn's ``fit`` and ``transform``; no topic model is needed.
"""

# %%
# Texts
# -----
#
# The texts are the 1,189 chapters of the King James Bible, which is part of the package. Each
# chapter has a name, belongs to a book, and each book to one of eight sections.
from skcooc.datasets import load_bible

bible = load_bible()
for i in (0, 500, 1188):
    print(f"{bible.names[i]:14}  {bible.sections[i]:10}  {bible.data[i][:60]}...")

# %%
# A topic model sees no sentences, only counts: how often each word occurs in each chapter. English
# stop words are dropped, and so are words in fewer than five chapters, and words in a quarter of
# the chapters or more, such as *unto* and *thou*. Counts stay counts: no tf-idf and no scaling.
from sklearn.feature_extraction.text import CountVectorizer

vectorizer = CountVectorizer(stop_words="english", min_df=5, max_df=0.25)
X = vectorizer.fit_transform(bible.data)
words = vectorizer.get_feature_names_out()
print(f"{X.shape[0]} chapters, {X.shape[1]} words, {X.sum()} tokens")

# %%
# Each counted occurrence of a word is called a *token*.
#
# Topics
# ------
#
# :class:`~skcooc.AspectModel`, also known as probabilistic latent semantic analysis, describes each
# chapter as a mixture of topics, and each topic as a distribution over words. The number of
# topics is yours to choose: take as many as you are willing to look at.
from skcooc import AspectModel

model = AspectModel(n_components=16, random_state=0).fit(X)
print(f"{model.n_iter_} iterations, beta = {model.beta_:.2f}")

# %%
# ``beta`` is the strength of regularisation: 1 is none, and smaller values keep topics from fitting
# chance. ``fit`` has tuned it on a tenth of the tokens that it held out, and then used all of them.
#
# Which words make a topic? Not the most probable ones, which many topics share, but those that are
# more probable in the topic than overall. Here are the six largest topics.
import matplotlib.pyplot as plt

from skcooc.plotting import TopicsDisplay

TopicsDisplay.from_estimator(model, words, topics=6, n_features=7)
plt.show()

# %%
# The length of a bar is the probability of the word in the topic; the mark is its probability in
# all chapters. The names are made of words. Before you call a topic something, look at chapters
# that stand for it:
from skcooc.inspection import describe

table = describe(model, words, bible.names, n_rows=3).sort_values("share", ascending=False)
for name, share, rows in table[["name", "share", "rows"]].head(6).itertuples(index=False):
    print(f"{share:5.1%}  {name:30}  {', '.join(rows)}")

# %%
# A report
# --------
#
# :func:`~skcooc.inspection.explore` makes a page of the model: topics with their words, a map, all
# chapters with each word in the colour of its topic, and a search. It is one HTML file that opens
# in any browser, without a network.
from skcooc.inspection import explore

page = explore(
    model, X, words, row_names=bible.names, texts=bible.data, groups=bible.sections,
    title="The Bible",
)  # fmt: skip

# %%
# ``page.save("bible.html")`` writes it. One of its views compares the sections:
#
# .. image:: /landing/explorer.png
#    :class: only-light
#    :alt: The share of each topic in each section, as a table
#
# .. image:: /landing/explorer_dark.png
#    :class: only-dark
#    :alt: The share of each topic in each section, as a table
#
# Who writes about what
# ---------------------
#
# Which topics does a section have? The share of a topic is that of all tokens of the section, which
# is why the counts are given, too. A categorical series keeps the sections in their order.
import pandas as pd

from skcooc.plotting import SharesDisplay

in_order = pd.CategoricalDtype(list(dict.fromkeys(bible.sections)))
sections = pd.Series(bible.sections, dtype=in_order, name="section")
SharesDisplay.from_estimator(model, sections, words, X=X, topics=6)
plt.show()

# %%
# :func:`~skcooc.inspection.topic_shares` has the same as a table, and
# :func:`~skcooc.inspection.compare_shares` tests all differences at once. Books are groups as well:
# here is the book in which each topic is most at home.
from skcooc.inspection import topic_shares

shares = topic_shares(model, bible.groups, words, X=X)
top = shares.sort_values("share", ascending=False).drop_duplicates("topic")
print(top[["topic", "group", "share"]].head(8).round(2).to_string(index=False))

# %%
# Names can mislead: *Esther* is not about Paul. Sixteen topics are few, and the words of the
# Persian court share one with Acts, where Jews also stand before governors and kings. More topics
# divide them.
#
# New texts get topics by ``transform``. A sentence that is not in the Bible:
from skcooc.inspection import name_topics

new = vectorizer.transform(["The king built a house of cedar and covered its walls with gold."])
mixture = model.transform(new)[0]
print(f"{mixture.max():.2f}  {name_topics(model, words)[mixture.argmax()]}")

# %%
# Are the topics real?
# --------------------
#
# Topic models find topics in anything, also in noise. So hold out a tenth of the tokens of each
# chapter, fit the others, and see how well the held-out words are predicted. *Perplexity* is the
# effective number of words among which a model hesitates: lower is better.
#
# A score needs something to compare it with. Two baselines have no topics: the *unigram*, which
# knows only how frequent words are, and a *cache*, :class:`~skcooc.RowMemory` without a model,
# which also knows the words that a chapter has already.
import numpy as np

from skcooc import Dyads, RowMemory
from skcooc.metrics import perplexity, unigram
from skcooc.model_selection import split_counts

train, test = split_counts(X, test_size=0.1, random_state=0)
held_out = Dyads(test)  # further tokens of the chapters that are fitted

fitted = AspectModel(16, random_state=0).fit(train)
cache = RowMemory(random_state=0).fit(train)
with_cache = RowMemory(AspectModel(16, random_state=0), random_state=0).fit(train)
scores = {
    "unigram": perplexity(test, np.ones((X.shape[0], 1)), [unigram(train)]),
    "cache": cache.perplexity(held_out),
    "topics": fitted.perplexity(held_out),
    "topics with cache": with_cache.perplexity(held_out),
}
for name, score in scores.items():
    print(f"{name:18} {score:6.0f}")

# %%
# Topics predict much better than the unigram, so they are no noise. The cache alone predicts better
# than sixteen topics alone: words repeat within a chapter, and that is much of what is
# held out. But topics know something that the cache does not, for both together are best by far.
#
# Is the regularisation worth it? ``history_`` has the perplexity of validation tokens over the
# iterations at the tuned ``beta``. Without regularisation, ``beta=1``, the training
# tokens are predicted better and held-out tokens worse: overfitting.
plain = AspectModel(16, beta=1, random_state=0).fit(train)
for name, one in (("beta = 1", plain), (f"beta = {fitted.beta_:.2f}", fitted)):
    print(
        f"{name:11}  training tokens {one.perplexity(Dyads(train)):5.0f}, "
        f"held-out tokens {one.perplexity(held_out):5.0f}"
    )

# %%
# Save
# ----
#
# A pipeline of vectorizer and model keeps together what belongs together, and joblib stores it as
# any estimator of scikit-learn. Load such files only from sources that you trust.
import tempfile

import joblib
from sklearn.pipeline import make_pipeline

with tempfile.TemporaryDirectory() as folder:
    joblib.dump(make_pipeline(vectorizer, model), f"{folder}/bible.joblib")
    loaded = joblib.load(f"{folder}/bible.joblib")
print(loaded.transform(["In the beginning was the Word."]).shape)

# %%
# Where to go on
# --------------
#
# * :doc:`/howto/texts`: names, tables, groups and time, for texts of your own.
# * :doc:`/guide/index`: which model for what. Clusters, co-clusters and trees work alike.
# * :doc:`/howto/tune`: the number of topics, and ``beta``.
# * :doc:`/guide/heldout`: what the scores mean, and what is easily done wrong.
# * :doc:`/start/coming_from`: the same for those who know LDA, NMF or BERTopic.
