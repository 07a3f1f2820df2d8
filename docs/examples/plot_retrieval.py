"""
Documents for queries
=====================

A query and a document that is about the same thing need not share its words. After Hofmann,
*Probabilistic latent semantic indexing* (SIGIR 1999): cosines of words are mixed with cosines of
aspects. Queries are the "See Also" of docstrings: which other objects do their authors name?
"""

# %%
# The first paragraph of a docstring is the query, and the objects named under its "See Also" are to
# be found. The section itself is cut out of all texts. Where several objects have the name, it is
# the one nearest in the tree of modules that is meant.
import re
from collections import defaultdict

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

from skcooc.datasets import load_docstrings

docstrings = load_docstrings()
names = docstrings.names
homonyms = defaultdict(list)
for i, name in enumerate(names):
    homonyms[name.rsplit(".", 1)[-1]].append(i)
section = re.compile(r"See Also\n-+\n(.*?)(?=\n\n|\Z)", re.DOTALL)


def meant(name, i):
    """Position of the object that docstring i calls by this name, or None."""
    called_so = [j for j in homonyms[name.rsplit(".", 1)[-1]] if names[j].endswith(name)]
    modules = set(names[i].split("."))
    return max(called_so, key=lambda j: len(modules & set(names[j].split("."))), default=None)


texts, queries, targets = [], [], []
for i, text in enumerate(docstrings.data):
    found = section.search(text)
    texts.append(section.sub("", text))
    lines = re.findall(r"^(\S[^:\n]*)", found[1], re.MULTILINE) if found else []
    others = {meant(name, i) for line in lines for name in re.findall(r"[\w.]+", line)} - {i, None}
    if others:
        queries.append(text.split("\n\n")[0])
        targets.append((i, sorted(others)))
queries, targets = queries[::4], targets[::4]
print(len(texts), "texts", len(queries), "queries")

# %%
# Counts go in; tf-idf weights are made inside. A weight of zero for the aspects, no smoothing by
# them and no feedback leave the cosine of tf-idf.
from skcooc import AspectRetriever

vectorizer = CountVectorizer(stop_words="english", min_df=3, max_df=0.2)
X = vectorizer.fit_transform(texts)
Q = vectorizer.transform(queries)
words = {"smoothing_weight": 0.0, "n_feedback": 0}
retrievers = {
    "words": AspectRetriever((32, 64), aspect_weight=0.0, **words, random_state=0).fit(X),
    "words and aspects": AspectRetriever((32, 64), n_feedback=0, random_state=0).fit(X),
}

# %%
# Average precision, query by query. The docstring from which a query was taken is no answer. The
# defaults of the retriever were chosen on tasks like this one, so the gain may be less elsewhere.
import matplotlib.pyplot as plt

from skcooc.metrics import average_precision_by_query

relevance = np.zeros((len(queries), len(texts)))
for q, (_, others) in enumerate(targets):
    relevance[q, others] = 1

figure, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
for name, retriever in retrievers.items():
    scores = retriever.similarity(Q)
    for q, (own, _) in enumerate(targets):
        scores[q, own] = -1
    precision = average_precision_by_query(relevance, scores)
    print(f"{name}: mean average precision {precision.mean():.3f}")
    ax.plot(np.linspace(0, 1, len(precision)), np.sort(precision)[::-1], label=name)
ax.set(xlabel="share of the queries", ylabel="average precision")
ax.legend()
plt.show()
