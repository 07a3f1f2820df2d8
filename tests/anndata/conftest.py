import numpy as np
import pytest
import scipy.sparse as sp

from skcooc import AspectModel
from skcooc.datasets import make_cooccurrences


@pytest.fixture(scope="module")
def X():
    return sp.csr_matrix(make_cooccurrences(60, 40, n_components=3, random_state=0).X)


@pytest.fixture
def adata(X):
    anndata = pytest.importorskip("anndata", reason="needs anndata")
    found = anndata.AnnData(X.copy())
    found.layers["counts"] = X.copy()
    found.var["highly_variable"] = np.arange(40) % 4 > 0
    return found


@pytest.fixture
def backed(adata, tmp_path):
    """Write cells to a file, and open it."""
    import anndata

    opened = []

    def written(cells=adata):
        cells.write_h5ad(tmp_path / "cells.h5ad")
        opened.append(anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r"))
        return opened[-1]

    yield written
    for cells in opened:
        cells.file.close()


def model(**options):
    return AspectModel(3, beta=0.9, tol=0.01, random_state=0, **options)
