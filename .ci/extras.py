"""Whether the feature of an extra works, or says which extra it needs: EXTRA works|message."""

import sys
import warnings

import numpy as np

from skcooc import AspectModel
from skcooc.datasets import make_cooccurrences

X = make_cooccurrences(40, 30, 3, random_state=0).X


def model():
    return AspectModel(3, beta=0.9, max_iter=3, random_state=0)


def plot():
    from skcooc.plotting import TopicsDisplay

    TopicsDisplay.from_estimator(model().fit(X))


def image():
    from skcooc.image import GaborHistograms

    GaborHistograms().fit_transform(np.random.default_rng(0).random((64, 64)))


def dask():
    from skcooc import delayed_rows

    if WORKS:
        from dask import delayed
        from distributed import Client

        with Client(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None):
            blocks = [delayed(X[:20]), delayed(X[20:])]
            model().fit(delayed_rows(blocks, n_columns=30))
    else:
        delayed_rows([X], n_columns=30)


def progress():
    from sklearn.callback import ProgressBar

    model().set_callbacks(ProgressBar()).fit(X)


def explore():
    from skcooc.inspection import explore as page

    page(model().fit(X), X)


def anndata():
    from skcooc.anndata import fit_topics

    if WORKS:
        import anndata as ad

        fit_topics(ad.AnnData(X.tocsr().astype(float)), model())
    else:
        fit_topics(X, model())


EXTRA, WORKS = sys.argv[1], sys.argv[2] == "works"
warnings.simplefilter("ignore")
try:
    globals()[EXTRA]()
except (ImportError, TypeError) as error:  # an AnnData cannot be had without anndata
    if WORKS:
        raise
    package = {"progress": "rich"}.get(EXTRA, f"skcooc[{EXTRA}]")  # ProgressBar is scikit-learn's
    if package not in str(error):
        raise SystemExit(f"{EXTRA}: the message does not name {package}: {error}") from error
else:
    if not WORKS:
        raise SystemExit(f"{EXTRA}: works without the extra")
