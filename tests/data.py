"""The condition under which a test that reads the research data sets can run."""

import pytest

from benchmarks.corpora import available, folder

requires_data = pytest.mark.skipif(
    not available(), reason=f"no data sets in {folder()}: set SKCOOC_DATA to their folder"
)
