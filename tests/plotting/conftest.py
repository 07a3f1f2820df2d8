import matplotlib
import pytest

matplotlib.use("Agg")

import matplotlib.pyplot as plt


@pytest.fixture(autouse=True)
def close_figures():
    """What a test draws is gone after it."""
    yield
    plt.close("all")
