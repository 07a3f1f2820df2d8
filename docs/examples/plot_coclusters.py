"""
Clusters of rows and columns at once
====================================

The symmetric clustering model divides both sides of a table, so that a block of the table, a pair
of clusters, is as dense everywhere as its clusters say. Here are blocks that are known, and then
the docstrings of NumPy, SciPy and scikit-learn with their words.
"""

# %%
# Planted blocks, five clusters of rows and seven of columns, in a table with 300 rows and 240
# columns. Their order tells nothing.
from sklearn.metrics import adjusted_rand_score

from skcooc import SymmetricClustering
from skcooc.datasets import make_cooccurrences

data = make_cooccurrences(
    300, 240, 5, n_tokens=24_000, kind="coclusters", n_column_clusters=7,
    concentration=0.5, random_state=0,
)  # fmt: skip
model = SymmetricClustering(5, 7, n_init=5, random_state=0).fit(data.X)
rows, columns = model.row_labels_, model.column_labels_
print(f"agreement of the rows {adjusted_rand_score(data.labels, rows):.2f}, ", end="")
print(f"of the columns {adjusted_rand_score(data.column_labels, columns):.2f}")

# %%
# The same table, sorted by cluster, and the associations c_cd of the clusters: how many times as
# often the two meet as if they were independent.
import matplotlib.pyplot as plt
import numpy as np

table = data.X.toarray()
by_cluster = table[np.argsort(rows, kind="stable")][:, np.argsort(columns, kind="stable")]
figure, axes = plt.subplots(1, 3, figsize=(10, 3.4), layout="constrained")
for ax, counts, title in zip(axes, (table, by_cluster), ("as it came", "sorted"), strict=False):
    ax.imshow(counts, cmap="Greys", vmax=2, aspect="auto", interpolation="nearest")
    ax.set(title=title, xlabel="columns", ylabel="rows")
for edge in np.cumsum(np.bincount(rows))[:-1]:
    axes[1].axhline(edge - 0.5, color="C0", lw=0.8)
for edge in np.cumsum(np.bincount(columns))[:-1]:
    axes[1].axvline(edge - 0.5, color="C0", lw=0.8)
image = axes[2].imshow(
    np.log2(np.maximum(model.association_, 1 / 8)), cmap="RdBu_r", vmin=-3, vmax=3, aspect="auto"
)
axes[2].set(title="associations", xlabel="clusters of columns", ylabel="clusters of rows")
bar = figure.colorbar(image, ax=axes[2], ticks=[-3, 0, 3])
bar.ax.set_yticklabels(["1/8", "1", "8"])
plt.show()

# %%
# Docstrings and words. The number of modules is told, nothing else: which module a docstring is
# from is compared with the clusters afterwards.
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics import normalized_mutual_info_score

from skcooc.datasets import load_docstrings

docstrings = load_docstrings()
modules = ("scipy.stats", "scipy.special", "scipy.signal", "numpy.ma", "sklearn.metrics",
           "scipy.interpolate", "scipy.linalg", "sklearn.linear_model")  # fmt: skip
kept = [i for i, k in enumerate(docstrings.target) if docstrings.target_names[k] in modules]
truth = docstrings.target[kept]
vectorizer = CountVectorizer(stop_words="english", min_df=5, token_pattern=r"[a-zA-Z]{3,}")
X = vectorizer.fit_transform([docstrings.data[i] for i in kept])
words = vectorizer.get_feature_names_out()

model = SymmetricClustering(8, 20, n_init=3, n_jobs=2, random_state=0).fit(X)
agreement = normalized_mutual_info_score(truth, model.row_labels_)
print(f"{X.shape[0]} docstrings: normalised mutual information {agreement:.2f}")

# %%
# For each cluster of docstrings the cluster of words that it is associated with most, its most
# frequent words, and the modules. Most clusters are a module; scipy.stats, the largest, is divided
# into three, and some take in what is left of others.
totals = np.asarray(X.sum(axis=0)).ravel()
for c in range(8):
    d = model.association_[c].argmax()
    members = np.flatnonzero(model.column_labels_ == d)
    frequent = words[members[np.argsort(-totals[members])[:5]]]
    names, counts = np.unique(truth[model.row_labels_ == c], return_counts=True)
    module = docstrings.target_names[names[counts.argmax()]]
    print(f"{counts.max():3} of {counts.sum():3} {module:22} {model.association_[c, d]:4.1f} x  "
          f"{' '.join(frequent)}")  # fmt: skip
