"""
Clusters split as the temperature falls
=======================================

At a high temperature all clusters are the same. At critical temperatures, which the data determine,
one of them becomes two: a phase transition. An annealed fit begins with a single cluster and
follows the splits; what they look like is a dendrogram, found from the top.
"""

# %%
# Planted clusters: 400 rows of eight clusters, 40 observations each. So that some are alike, a row
# of the table takes half of its observations from what two, four or all clusters share.
import numpy as np

from skcooc.datasets import make_cooccurrences

data = make_cooccurrences(
    400, 200, 8, n_tokens=16_000, kind="hierarchy", concentration=0.2, random_state=1
)
print(data.X.shape, int(data.X.sum()))

# %%
# ``annealing=1.1`` raises the inverse temperature by a tenth at a time, from the critical one at
# which the first split occurs, to the one that predicts held-out observations best.
from sklearn.metrics import adjusted_rand_score

from skcooc import AsymmetricClustering

model = AsymmetricClustering(8, annealing=1.1, random_state=0).fit(data.X)
for split in model.splits_:
    print(f"beta {split.beta:.3f}: {' | '.join(str(part) for part in split.parts)}")
print(f"agreement with the planted clusters: {adjusted_rand_score(data.labels, model.labels_):.2f}")

# %%
# The splits found the planted tree if clusters that part late are siblings in it. The names at the
# right are the planted cluster of most rows in each of those found.
import matplotlib.pyplot as plt

from skcooc.plotting import SplitsDisplay

planted = [np.bincount(data.labels[model.labels_ == k], minlength=8).argmax() for k in range(8)]
SplitsDisplay(
    model.splits_, beta=model.beta_, labels=[f"planted cluster {k}" for k in planted]
).plot()
plt.show()

# %%
# In the tree that was planted, clusters 0 and 1 are siblings, 2 and 3 are, and so on.
print(data.tree.parents)

# %%
# These clusters have no tree; their splits are drawn as one. :class:`~skcooc.ClusterAbstraction`
# has columns at inner nodes, too, and takes its tree from such splits with ``tree="annealed"``.
# With ``tree="grown"`` it is the hierarchy itself that splits, and a leaf that does stays above its
# parts.
from skcooc import ClusterAbstraction

hierarchy = ClusterAbstraction(8, tree="grown", random_state=0).fit(data.X)
SplitsDisplay.from_estimator(hierarchy)
plt.show()
agreement = adjusted_rand_score(data.labels, hierarchy.labels_)
print(f"agreement with the planted clusters: {agreement:.2f}")
