"""
A tree of clusters, general words above special ones
====================================================

The cluster-abstraction model puts every document into a leaf of a tree, and each of its words to a
node on the path from the root to that leaf. Words that all documents share gather at the root, and
those of a few at the leaves. After figures 9, 10 and 11 of Hofmann and Puzicha, *Statistical models
for co-occurrence data* (1998), on other data: the docstrings of NumPy, SciPy and scikit-learn.
"""

# %%
# Words in a fifth of the docstrings or more are left out, and very short docstrings.
import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

from skcooc.datasets import load_docstrings

docstrings = load_docstrings()
vectorizer = CountVectorizer(
    stop_words="english", min_df=8, max_df=0.2, token_pattern=r"[a-zA-Z]{3,}"
)
X = vectorizer.fit_transform(docstrings.data)
long = np.asarray(X.sum(axis=1)).ravel() >= 30
X, words = X[long], vectorizer.get_feature_names_out()
modules = np.array(docstrings.target_names)[docstrings.target[long]]
print(f"{X.shape[0]} docstrings, {X.shape[1]} words")

# %%
# The tree is grown: clusters split while the temperature falls, and these splits are its nodes.
from skcooc import ClusterAbstraction

model = ClusterAbstraction(
    n_clusters=12, tree="annealed", beta=0.1, tol=1e-4, n_jobs=2, random_state=0
).fit(X)
print(f"{model.n_clusters_} clusters, {model.tree_.n_nodes} nodes")

# %%
# At every node the words that distinguish it from the node above.
import matplotlib.pyplot as plt

from skcooc.plotting import AbstractionDisplay, HierarchyDisplay

HierarchyDisplay.from_estimator(model, words, n_features=4)
plt.show()

# %%
# A word can be at home in more than one place, and at more than one level: the picture shows where
# in the tree the occurrences of a word come from.
for word in ("distribution", "axis", "estimator"):
    AbstractionDisplay.from_estimator(model, word, words)
plt.show()

# %%
# The clusters know nothing of the modules that the docstrings are from. These are the most frequent
# in each:
for cluster in range(model.n_clusters_):
    names, counts = np.unique(modules[model.labels_ == cluster], return_counts=True)
    most = np.argsort(-counts)[:3]
    listed = ", ".join(f"{names[k]} {counts[k]}" for k in most)
    print(f"cluster {cluster:2}: {counts.sum():4} docstrings; {listed}")
