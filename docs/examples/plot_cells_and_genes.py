"""
Gene programmes in single cells
===============================

Cells are the rows, genes the columns, molecules the counts. A topic is a gene programme, and every
cell is a mixture of programmes: here a cell type and, in a third of the cells, cell division. The
counts are simulated, so that the true programmes are known. The example needs anndata.
"""

# %%
# 600 cells of three types and 300 genes. Each of four programmes raises 20 genes. Dividing cells
# have 10 to 60 % of their molecules from the programme "cycle", whatever their type.
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
genes = [f"{name}{j + 1}" for name in [*kinds, "cycle"] for j in range(20)]
adata = AnnData(
    rng.poisson(means).astype(np.float32),
    obs=pd.DataFrame({"type": np.array(kinds)[types]}, index=[f"cell {i}" for i in range(600)]),
    var=pd.DataFrame(index=genes + [f"gene {j}" for j in range(80, 300)]),
)

# %%
# ``fit_topics`` writes the mixtures of the cells into ``adata.obsm["X_topics"]`` and the programmes
# into ``adata.varm["topics"]``. Each true programme is correlated with one topic:
model = fit_topics(adata, AspectModel(4, random_state=0))
print(np.corrcoef(use.T, adata.obsm["X_topics"].T)[:4, 4:].max(axis=1).round(3))

# %%
# Each bar is a cell, divided into its topics. One topic is present in all types: the dividing
# cells. Compare the shares of a topic between cells; they are not amounts, since the counts do not
# determine how far apart topics are.
table = distinguishing_features(model, adata.X, n_features=2)
markers = table.groupby("component")["feature"].agg(", ".join).to_dict()
StructureDisplay.from_estimator(model, {"type": adata.obs["type"]}, names=markers)

# %%
# The genes of each topic: bars are probabilities in the topic, marks are overall probabilities.
TopicsDisplay.from_estimator(model, names=markers, n_features=6)

# %%
# Marker genes by the natural logarithm of how much more probable they are than in other topics.
# Use the table to rank genes, not as a test.
print(table[["component", "feature", "log_ratio", "low", "high"]].round(2).to_string(index=False))
