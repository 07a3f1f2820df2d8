"""The papers' Table 2 and their curves of perplexity over the iterations, measured again.

T. Hofmann and J. Puzicha, Statistical Models for Co-occurrence Data, AI Memo 1625, MIT, 1998;
T. Hofmann, J. Puzicha and M. I. Jordan, Learning from Dyadic Data, NIPS 11, 1999.
``python -m benchmarks.papers`` draws docs/papers_fig7.png from the results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import count, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.model_selection import KFold

from benchmarks import corpora
from benchmarks.baselines import as_rows, baselines
from benchmarks.experiment import ROOT, Row, experiment, load
from benchmarks.peers import shares
from benchmarks.process import EachIteration
from skcooc import (
    AspectModel,
    AsymmetricClustering,
    ClusterAbstraction,
    Dyads,
    SymmetricClustering,
)
from skcooc.metrics import perplexity, unigram
from skcooc.model_selection import split_counts

N_FOLDS = 10
SMOOTHING = 1e-3
COLOURS = ("#000000", "#0072B2", "#D55E00", "#009E73")  # Okabe and Ito
FONT, WIDTH = 9, 7.2  # points, and inches that a page shows at 700 pixels


class Family(NamedTuple):
    """A model of ours, and its name in Table 2."""

    name: str
    make: Callable[..., Any]  # (K, **parameters) -> estimator


def _with(estimator: Callable[..., Any], **given: Any) -> Callable[..., Any]:
    return lambda K, **parameters: estimator(K, **given, **parameters)


FAMILIES = {
    "AspectModel(leave_one_out=False)": Family("SMM", _with(AspectModel, leave_one_out=False)),
    "AspectModel(leave_one_out=False, component_prior=0.02)": Family(
        "SMM", _with(AspectModel, leave_one_out=False, component_prior=0.02)
    ),
    "AspectModel(leave_one_out=True)": Family("SMM", _with(AspectModel, leave_one_out=True)),
    "AsymmetricClustering": Family(
        "ACM", _with(AsymmetricClustering, object_weights="counts", proportions="uniform")
    ),
    "ClusterAbstraction": Family("HACM", ClusterAbstraction),
    'ClusterAbstraction(abstraction="row")': Family(
        "HACM", _with(ClusterAbstraction, abstraction="row")
    ),
    'ClusterAbstraction(tempering="joint")': Family(
        "HACM", _with(ClusterAbstraction, tempering="joint")
    ),
    'ClusterAbstraction(tree="grown")': Family("HACM", _with(ClusterAbstraction, tree="grown")),
    "SymmetricClustering, K x K": Family(
        "SCM", lambda K, **parameters: SymmetricClustering(K, K, **parameters)
    ),
}
SIZES = (8, 16, 32, 64, 128)
# Table 2 at these K, beta and perplexity; the second collection is the Penn Treebank's.
TABLE2 = {
    "Cranfield": {
        "SMM": ((0.88, 482), (0.85, 431), (0.83, 386), (0.79, 360), (0.78, 353)),
        "ACM": ((0.09, 527), (0.07, 482), (0.07, 452), (0.06, 527), (0.04, 663)),
        "HACM": ((0.18, 511), (0.14, 471), (0.12, 438), (0.11, 422), (0.10, 410)),
        "SCM": ((0.67, 615), (0.60, 543), (0.53, 506), (0.48, 477), (0.45, 462)),
    },
    "Brown pairs": {
        "SMM": ((0.73, 312), (0.72, 255), (0.71, 205), (0.69, 182), (0.68, 166)),
        "ACM": ((0.08, 352), (0.07, 302), (0.07, 254), (0.07, 223), (0.06, 231)),
        "HACM": ((0.13, 322), (0.10, 268), (0.08, 226), (0.07, 204), (0.06, 179)),
        "SCM": ((0.55, 394), (0.51, 335), (0.46, 286), (0.44, 272), (0.40, 241)),
    },
}
UNIGRAMS = {"Cranfield": 685.0, "Brown pairs": 639.0}


@experiment(
    minutes=60,
    models=[
        "AspectModel", "AsymmetricClustering", "ClusterAbstraction", "RowMemory",
        "SymmetricClustering",
    ],
    quick={
        "data": ["Cranfield"], "models": ["AsymmetricClustering"], "components": [8], "folds": 1,
    },
)  # fmt: skip
def papers_table2(
    data: Sequence[str] = ("Cranfield", "Brown pairs"),
    models: Sequence[str] = (),
    components: Sequence[int] = SIZES,
    folds: int = N_FOLDS,
    jobs: int = 2,
) -> Iterator[Row]:
    """What becomes of Table 2 of Hofmann and Puzicha (1998)?

    Every token is in one of ten folds; a model is fitted to nine and scored on the tenth. The
    temperature and the smoothing are chosen inside ``fit``, on a tenth of the training tokens; the
    seed is the number of the fold. Cranfield is the paper's collection but for the selection of
    words. Adjective-noun pairs of the Brown corpus stand in for those of the Penn Treebank, and are
    sparser: only perplexities relative to the unigram compare. leave_one_out=True has priors: 0.02
    pseudo-counts of each column in a topic, 1 of a row. With component_prior=0.02 plain EM has the
    former.
    """
    for name in data:
        dyads = Dyads(corpora.COLLECTIONS[name]().X.astype(np.float32))
        split = KFold(N_FOLDS, shuffle=True, random_state=0).split(dyads)
        parts = [(dyads[train].to_csr(), dyads[test]) for train, test in islice(split, folds)]
        for fold, (train, test) in enumerate(parts):
            row = {"data": name, "K": 1, "fold": fold}
            for baseline in as_rows(baselines(train, test.to_csr(), fold)):
                paper = {"paper": UNIGRAMS[name]} if baseline["model"] == "unigram" else {}
                yield row | baseline | paper
        fits = (
            delayed(_fitted)(model, K, fold, *part)
            for model in models or FAMILIES
            for K in components
            for fold, part in enumerate(parts)
        )
        for row in Parallel(jobs, return_as="generator")(fits):
            reported = dict(zip(SIZES, TABLE2[name][FAMILIES[row["model"]].name], strict=True))
            beta, value = reported[row["K"]]
            yield {"data": name, **row, "paper": value, "beta of paper": beta}


def _fitted(name: str, K: int, fold: int, train: sp.csr_array, test: Dyads) -> Row:
    """A fit, scored on the test tokens."""
    model = FAMILIES[name].make(K, random_state=fold).fit(train)
    return {
        "K": K,
        "fold": fold,
        "model": name,
        "perplexity": model.perplexity(test),
        "beta": model.beta_,
        "smoothing": model.smoothing_,
    }


class Panel(NamedTuple):
    """Curves that belong together."""

    data: str
    models: tuple[str, ...]
    betas: tuple[float, ...]


NO_PRIORS = {"component_prior": 0.0, "row_prior": 1e-6}
TO_THE_LETTER = "predictive EM to the letter"
WARM_UP = 8  # iterations at beta = 1, as in AspectModel
CURVES: dict[str, Callable[..., Any]] = {
    "AspectModel": _with(AspectModel, leave_one_out=False, **NO_PRIORS),
    "AspectModel(component_prior=0.02)": _with(
        AspectModel, leave_one_out=False, component_prior=0.02
    ),
    "AspectModel(component_prior=0.1)": _with(
        AspectModel, leave_one_out=False, component_prior=0.1
    ),
    TO_THE_LETTER: _with(AspectModel, leave_one_out=False, **NO_PRIORS),
    "AspectModel(leave_one_out=True) without priors": _with(
        AspectModel, leave_one_out=True, **NO_PRIORS
    ),
    "AspectModel(leave_one_out=True)": _with(
        AspectModel, leave_one_out=True, component_prior=0.02, row_prior=1.0
    ),
    "AsymmetricClustering": FAMILIES["AsymmetricClustering"].make,
    "ClusterAbstraction": ClusterAbstraction,
    "SymmetricClustering": FAMILIES["SymmetricClustering, K x K"].make,
}
ASPECT_BETAS = (1.0, 0.9, 0.8, 0.7)
PANELS = {
    "figure 7": (
        Panel("Cranfield", ("AspectModel",), ASPECT_BETAS),
        Panel("Cranfield", ("AsymmetricClustering",), (1.0, 0.3, 0.15, 0.07)),
        Panel("Cranfield", ("ClusterAbstraction",), (1.0, 0.3, 0.15, 0.07)),
        Panel("Cranfield", ("SymmetricClustering",), (1.0, 0.6, 0.4, 0.25)),
    ),
    "figure 8": (
        Panel("Cranfield", tuple(CURVES)[:6], (1.0,)),
        Panel("Cranfield", tuple(CURVES)[:6], (0.8,)),
    ),
    "NIPS, figure 5": (
        Panel("Bible bigrams", ("AspectModel",), ASPECT_BETAS),
        Panel("Bible bigrams", ("AsymmetricClustering",), (1.0, 0.3, 0.1, 0.05)),
    ),
}


@experiment(
    minutes=10,
    models=["AspectModel", "AsymmetricClustering", "ClusterAbstraction", "SymmetricClustering"],
    quick={"data": ["Cranfield"], "K": 4, "max_iter": 5},
)
def papers_curves(
    data: Sequence[str] = ("Cranfield", "Bible bigrams"), K: int = 32, max_iter: int = 120
) -> Iterator[Row]:
    """How does perplexity change over the iterations at several temperatures?

    Figures 7 and 8 of Hofmann and Puzicha (1998), figure 5 of NIPS (1999). One split, a tenth of
    the tokens for the test; plain EM at a fixed temperature, 0.001 of the unigram mixed in; one
    seed. K, temperatures and numbers of iterations are ours: the papers name none but beta = 1. The
    aspect model makes its first eight iterations at beta = 1. Aspect models begin as AspectModel
    does, and have no priors but those that their name says or, with leave_one_out=True, its
    defaults at fixed beta: component_prior 0.02, row_prior 1. Rows with an iteration are points of
    curves, the others (part = "summary") the least and the last values.
    """
    wanted = {
        (panel.data, model, beta)
        for panels in PANELS.values()
        for panel in panels
        for model in panel.models
        for beta in panel.betas
        if panel.data in data
    }
    order = [*data], list(CURVES)
    splits = {
        name: split_counts(corpora.COLLECTIONS[name]().X.astype(np.float32), 0.1, random_state=0)
        for name in data
    }
    for name, model, beta in sorted(
        wanted, key=lambda one: (order[0].index(one[0]), order[1].index(one[1]), -one[2])
    ):
        case = {"data": name, "model": model, "beta": beta}
        test, training = _curves(model, K, beta, max_iter, *splits[name])
        least = int(np.argmin(test))
        yield case | {
            "part": "summary",
            "least": test[least],
            "after iterations": least + 1,
            "test at the end": test[-1],
            "training at the end": training[-1],
        }
        for n in sorted({*np.unique(np.geomspace(1, len(test), 25).astype(int)), least + 1}):
            values = {"test": test[n - 1], "training": training[n - 1]}
            yield case | {"part": "curve", "iteration": int(n)} | values


def _curves(
    name: str, K: int, beta: float, max_iter: int, train: Any, test: Any
) -> tuple[list[float], list[float]]:
    """Perplexity of test and of training tokens after each iteration."""
    curves: tuple[list[float], list[float]] = [], []
    smoothing = {"background": unigram(train), "smoothing": SMOOTHING}

    def score(mixtures: np.ndarray, components: np.ndarray) -> None:
        for part, curve in zip((test, train), curves, strict=True):
            curve.append(perplexity(part, mixtures, components, **smoothing))

    model = CURVES[name](K, beta=beta)
    model.set_params(max_iter=max_iter, tol=0.0, solver="em", random_state=0)
    if name == TO_THE_LETTER:
        for factors in islice(predictive_em(model, train), max_iter):
            score(*factors)
    else:
        each = EachIteration(lambda fitted: score(fitted.embedding_, fitted.components_))
        model.set_callbacks(each).fit(train)
    return curves


def predictive_em(model: AspectModel, X: sp.csr_array) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Equation (61) to the letter: mixtures and components after each iteration.

        q_ijk ~ [(N_ik - q_ijk) (C_jk - q_ijk) / (T_k - q_ijk)]^beta

    where N, C and T are the expected counts of rows, columns and topics, and the q on the right is
    that of the iteration before. A token without other tokens has all topics equally. Begins from
    the first iteration of the model.
    """
    beta, K = float(model.beta), int(model.n_components)
    first = clone(model).set_params(beta=1.0, max_iter=1).fit(X)
    cells = np.arange(X.nnz)
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    of_rows = sp.csr_array((X.data, (rows, cells)), shape=(X.shape[0], X.nnz))
    of_columns = sp.csr_array((X.data, (X.indices, cells)), shape=(X.shape[1], X.nnz))
    q = shares(first.embedding_[rows] * first.components_.T[X.indices], otherwise=1 / K)
    for iteration in count(1):
        N, C = of_rows @ q, of_columns @ q
        yield shares(N, otherwise=1 / K), shares(C.T, otherwise=1 / C.shape[0])
        rest = np.maximum(N[rows] - q, 0) * np.maximum(C[X.indices] - q, 0)
        rest /= np.maximum(C.sum(axis=0) - q, np.finfo(q.dtype).tiny)
        q = shares(rest ** (1.0 if iteration < WARM_UP else beta), otherwise=1 / K)


def draw(rows: Sequence[Row], path: Path) -> None:
    """Figure 7: test perplexity (lines) and training perplexity (dots) over the iterations."""
    from matplotlib import pyplot as plt

    plt.rcParams.update({"font.size": FONT, "axes.titlesize": FONT, "legend.fontsize": FONT})
    plt.rcParams.update({"axes.spines.top": False, "axes.spines.right": False})
    legend = {"frameon": False, "handlelength": 1, "columnspacing": 1, "ncols": 4}
    figure, grid = plt.subplots(2, 2, figsize=(WIDTH, 6.2), layout="constrained")
    for panel, ax in zip(PANELS["figure 7"], grid.flat, strict=True):
        for colour, beta in zip(COLOURS, panel.betas, strict=True):
            found = (panel.data, panel.models[0], beta)
            mine = [
                row for row in rows
                if row["part"] == "curve" and (row["data"], row["model"], row["beta"]) == found
            ]  # fmt: skip
            x = [row["iteration"] for row in mine]
            ax.plot(x, [row["test"] for row in mine], color=colour, label=f"β = {beta:g}")
            ax.plot(x, [row["training"] for row in mine], color=colour, ls=":", lw=1)
        ax.set_title(panel.models[0], y=1.1)
        ax.set(xscale="log", xlabel="iteration", ylabel="perplexity")
        ax.xaxis.set_major_formatter("{x:.0f}")
        ax.legend(loc="lower center", bbox_to_anchor=(0.5, 0.98), **legend)
    figure.savefig(path, dpi=150)
    plt.close(figure)


if __name__ == "__main__":
    draw(load("papers-curves")["rows"], ROOT / "docs" / "papers_fig7.png")
