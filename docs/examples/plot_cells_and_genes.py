"""
Cells and genes
===============

Cells of three types, of which some divide: programmes of genes are found in their counts, and the
mixture of each cell is drawn beside its type. It needs anndata.
"""

# %%
# Simulated counts of 600 cells and 300 genes. Each programme raises 20 genes; a third of the cells
# has up to .6 of their molecules of "cycle", whatever their type.
import numpy as np
import pandas as pd
from anndata import AnnData

from skcooc import AspectModel
from skcooc.anndata import fit_topics
from skcooc.inspection import distinguishing_features
from skcooc.plotting import StructureDisplay, TopicsDisplay

rng, kinds = np.random.default_rng(0), ["B", "NK", "T"]
programmes = np.tile(rng.gamma(2.0, size=300), (4, 1))
for k in range(4):
    programmes[k, 20 * k : 20 * k + 20] *= rng.lognormal(1.5, 0.5, 20)
programmes /= programmes.sum(axis=1, keepdims=True)
types = rng.choice(3, size=600, p=[0.3, 0.2, 0.5])
cycle = np.where(rng.random(600) < 1 / 3, rng.uniform(0.1, 0.6, 600), 0)
use = np.column_stack([np.eye(3)[types] * (1 - cycle)[:, None], cycle])
means = rng.lognormal(np.log(1000), 0.4, 600)[:, None] * (use @ programmes)
names = [f"{name}{j + 1}" for name in [*kinds, "cycle"] for j in range(20)]
adata = AnnData(
    rng.poisson(means).astype(np.float32),
    obs=pd.DataFrame({"type": np.array(kinds)[types]}, index=[f"cell {i}" for i in range(600)]),
    var=pd.DataFrame(index=names + [f"gene {j}" for j in range(80, 300)]),
)

# %%
# A model of four topics. Mixtures of the cells are now ``adata.obsm["X_topics"]``, programmes
# ``adata.varm["topics"]``.
model = fit_topics(adata, AspectModel(4, random_state=0))
print(np.corrcoef(use.T, adata.obsm["X_topics"].T)[:4, 4:].max(axis=1).round(3))

# %%
# Each cell is a bar. One topic is there in all types: the cells that divide. Others are of one
# programme alone, and have some of all topics all the same: topics come out further apart than
# programmes are, which the counts cannot tell. Compare shares within a type; they are no amounts.
table = distinguishing_features(model, adata.X, n_features=2)
markers = table.groupby("component")["feature"].agg(", ".join).to_dict()
StructureDisplay.from_estimator(model, {"type": adata.obs["type"]}, names=markers)

# %%
# The genes that tell each topic apart, with the logarithm of the ratio to others. The intervals
# are of other samples of cells, and hold what was planted hardly ever: it is a ranking.
print(table[["component", "feature", "log_ratio", "low", "high"]].round(2).to_string(index=False))

# %%
# Bars are P(gene given topic), marks P(gene).
TopicsDisplay.from_estimator(model, names=markers)
