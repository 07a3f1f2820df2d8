"""
Clusters in a space of topics
=============================

Probabilistic clustering-projection finds topics of words and clusters of documents together: every
cluster has a center, a distribution over topics. After Yu, Yu, Tresp and Kriegel, *A probabilistic
clustering-projection model for discrete data* (2005), on other data: docstrings of six modules of
SciPy and scikit-learn.
"""

# %%
# The number of modules is told, nothing else.
import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics import normalized_mutual_info_score

from skcooc.datasets import load_docstrings

docstrings = load_docstrings()
modules = ("scipy.stats", "scipy.special", "scipy.signal", "scipy.interpolate",
           "sklearn.linear_model", "sklearn.metrics")  # fmt: skip
kept = [i for i, k in enumerate(docstrings.target) if docstrings.target_names[k] in modules]
truth = np.array(docstrings.target_names)[docstrings.target[kept]]
vectorizer = CountVectorizer(
    stop_words="english", min_df=5, max_df=0.3, token_pattern=r"[a-zA-Z]{3,}"
)
X = vectorizer.fit_transform([docstrings.data[i] for i in kept])
words = vectorizer.get_feature_names_out()
print(f"{X.shape[0]} docstrings, {X.shape[1]} words")

# %%
from skcooc import ClusteringProjection

model = ClusteringProjection(n_components=10, n_clusters=6, n_jobs=2, random_state=0).fit(X)
agreement = normalized_mutual_info_score(truth, model.labels_)
print(f"normalised mutual information of clusters and modules: {agreement:.2f}")

# %%
# The topics, by their most probable words, and the centers of the clusters in their space.
import matplotlib.pyplot as plt

from skcooc.inspection import top_features

order = np.argsort(model.cluster_centers_.argmax(axis=0), kind="stable")  # topics by cluster
names_of_topics = top_features(model, words, n_features=4)
topics = [" ".join(names_of_topics[k]) for k in order]
clusters = []
for c in range(model.n_clusters_):
    names, counts = np.unique(truth[model.labels_ == c], return_counts=True)
    clusters.append(f"{names[counts.argmax()]}\n{counts.max()} of {counts.sum()}")

figure, ax = plt.subplots(figsize=(9, 4.6), layout="constrained")
image = ax.imshow(model.cluster_centers_[:, order].T, cmap="Blues", vmin=0, vmax=1, aspect="auto")
ax.set_xticks(range(model.n_clusters_), clusters, fontsize=8)
ax.set_yticks(range(10), topics, fontsize=8)
ax.set(xlabel="clusters, and the module of most of their docstrings")
figure.colorbar(image, label="P(topic given cluster)", shrink=0.7)
plt.show()

# %%
# ``transform`` gives the topics that the clusters of a row predict; ``project`` gives its own
# topics, those of its words, which differ from row to row within a cluster. Every line of the
# picture is a docstring; a classifier would see these features.
own = model.project(X)
by_cluster = np.argsort(model.labels_, kind="stable")
figure, ax = plt.subplots(figsize=(9, 4.6), layout="constrained")
image = ax.imshow(own[by_cluster][:, order], cmap="Blues", vmin=0, vmax=1, aspect="auto",
                  interpolation="nearest")  # fmt: skip
for edge in np.cumsum(np.bincount(model.labels_))[:-1]:
    ax.axhline(edge - 0.5, color="C3", lw=0.8)
ax.set_xticks(range(10), [name.replace(" ", "\n") for name in topics], fontsize=7)
ax.set(ylabel="docstrings, by cluster")
figure.colorbar(image, label="P(topic given docstring)", shrink=0.7)
plt.show()
