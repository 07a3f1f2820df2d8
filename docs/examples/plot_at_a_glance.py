"""
Topics, co-clusters and a tree of one corpus
============================================

Three models of one table, and what is to be seen in each of them. The table has every third of the
docstrings of NumPy, SciPy and scikit-learn, and their words.
"""

# %%
# Words in a fifth of the docstrings or more are left out, and so are docstrings with few words.
import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

from skcooc.datasets import load_docstrings

texts = load_docstrings().data[::3]
vectorizer = CountVectorizer(
    stop_words="english", min_df=5, max_df=0.2, token_pattern=r"[a-zA-Z]{3,}"
)
X = vectorizer.fit_transform(texts)
X = X[np.asarray(X.sum(axis=1)).ravel() >= 20]
words = vectorizer.get_feature_names_out()
print(f"{X.shape[0]} docstrings, {X.shape[1]} words, {X.sum()} observations")

# %%
# **Topics.** Every docstring is a mixture of topics, and a topic is a distribution over words. Here
# are the six largest of twelve, with six words each that are frequent and characteristic.
import matplotlib.pyplot as plt

from skcooc import AspectModel

topics = AspectModel(12, random_state=0).fit(X)
lift = topics.components_ * np.log(np.maximum(topics.components_, 1e-12) / topics.unigram_)

figure, axes = plt.subplots(2, 3, figsize=(4.3, 3.4), layout="constrained")
for ax, k in zip(axes.flat, np.argsort(-topics.weights_), strict=False):
    top = np.argsort(-lift[k])[:6]
    top = top[np.argsort(-topics.components_[k, top])]
    ax.barh(range(6), topics.components_[k, top], color=f"C{ax.get_subplotspec().num1}", alpha=0.6)
    for place, j in enumerate(top):
        ax.text(0, place, f" {words[j]}", va="center", fontsize=9)
    ax.invert_yaxis()
    ax.set_title(f"{topics.weights_[k]:.0%} of the words", fontsize=9)
    ax.set_axis_off()
plt.show()

# %%
# **Co-clusters.** Every docstring belongs to one cluster of docstrings, and every word to one of
# words. The colour of a block is how many times as often the two meet as if they were independent.
from skcooc import SymmetricClustering

both = SymmetricClustering(8, 10, random_state=0).fit(X)
rows = np.argsort(-both.joint_.sum(axis=1))
columns = np.argsort(both.association_[rows].argmax(axis=0), kind="stable")
totals = np.asarray(X.sum(axis=0)).ravel()
members = [np.flatnonzero(both.column_labels_ == d) for d in columns]
names = [", ".join(words[m[np.argsort(-totals[m])[:3]]]) for m in members]

figure, ax = plt.subplots(figsize=(4.3, 3.4), layout="constrained")
blocks = np.log2(np.maximum(both.association_[rows][:, columns], 1 / 8))
image = ax.imshow(blocks.T, cmap="RdBu_r", vmin=-3, vmax=3, aspect="auto")
ax.set_yticks(range(len(names)), names, fontsize=9)
ax.set_xticks([])
ax.set_xlabel("clusters of docstrings", fontsize=9)
bar = figure.colorbar(image, ticks=[-3, 0, 3], aspect=30)
bar.ax.set_yticklabels(["1/8", "1", "8 times"], fontsize=9)
plt.show()

# %%
# **A tree.** Every docstring belongs to a leaf, and each of its words to a node on the path
# from the root to there: general words gather above special ones.
from skcooc import ClusterAbstraction
from skcooc.plotting import HierarchyDisplay

tree = ClusterAbstraction(8, random_state=0).fit(X)
figure, ax = plt.subplots(figsize=(4.3, 2.6), layout="constrained")
HierarchyDisplay.from_estimator(tree, words, n_features=2, ax=ax, fontsize=9)
plt.show()
