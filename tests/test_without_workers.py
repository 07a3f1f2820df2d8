"""Dask arrays where no cluster is; apart from tests that have one, in whatever order they run."""

import numpy as np
import pytest

from skcooc import AspectModel

da = pytest.importorskip("dask.array", reason="needs dask")
pytest.importorskip("distributed", reason="needs distributed")


def test_without_a_client_there_is_an_error():
    with pytest.raises(ValueError, match="there is no client"):
        AspectModel(2).fit(da.from_array(np.ones((6, 4)), chunks=(3, 4)))
