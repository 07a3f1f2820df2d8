"""The conditions under which tests of research data sets and of callbacks can run."""

import pytest

from benchmarks.corpora import available, folder
from skcooc.protocol.scikit_learn import HAS_CALLBACKS

requires_callbacks = pytest.mark.skipif(not HAS_CALLBACKS, reason="needs scikit-learn 1.9")
requires_data = pytest.mark.skipif(
    not available(), reason=f"no data sets in {folder()}: set SKCOOC_DATA to their folder"
)
