"""
Comparing groups of documents
=============================

Which topics are there more of in NumPy, SciPy and scikit-learn? Shares of topics in groups of
documents, tests of their differences, and pictures of topics and documents.
"""

# %%
# A fourth of the docstrings, and their words.
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

from skcooc import AspectModel
from skcooc.datasets import load_docstrings
from skcooc.inspection import compare_shares
from skcooc.plotting import SharesDisplay, StructureDisplay, TopicMapDisplay, TopicsDisplay

corpus = load_docstrings()
texts, names = corpus.data[::4], corpus.names[::4]
library = {"library": [name.split(".")[0] for name in names]}
pipeline = make_pipeline(
    CountVectorizer(stop_words="english", min_df=5, max_df=0.2, token_pattern="[a-z]{3,}"),
    AspectModel(12, beta=0.85, random_state=0),
).fit(texts)

# %%
# The largest topics: bars are P(word given topic), marks P(word).
TopicsDisplay.from_estimator(pipeline, topics=6)

# %%
# Topics that have like words are near each other.
TopicMapDisplay.from_estimator(pipeline)

# %%
# The shares of the topics in the three libraries. The intervals are those of other documents of the
# same kind; dashed lines are the shares in all of them.
SharesDisplay.from_estimator(pipeline, library, topics=6, random_state=0)

# %%
# Most differences are more than chance, adjusted for the number of tests. These are the largest.
table = compare_shares(pipeline, library, random_state=0)
found = table[table["p_adjusted"] < 0.05].sort_values("difference", ascending=False)
print(f"{len(found)} of {table['n_tests'][0]} differences, of which the largest:")
print(found[["group", "topic", "share", "rest", "p_adjusted"]].head(6).to_string(index=False))

# %%
# Each document is a bar. A topic with a small share in a library may be all that there is to some
# of its documents.
StructureDisplay.from_estimator(pipeline, library)
