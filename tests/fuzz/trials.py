"""Trials: something public, drawn parameters and tables, and whether what comes of it is right."""

from __future__ import annotations

import contextlib
import io
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse as sp
from hypothesis import strategies as st
from sklearn.base import clone

import skcooc
from skcooc import inspection, metrics, model_selection
from skcooc.cli import main
from tests.fuzz.judging import Refused, Wrong, check, distributions, same, tried
from tests.fuzz.models import Model, models, params_of
from tests.fuzz.tables import Table, mostly, tables

WEIGHTS = [1.0, 1.0, 2.0, 0.5, 0.0, 1e-9, -1.0, np.nan, 1e300]


@dataclass(frozen=True)
class Fitting:
    """A fit, and calls of all methods of the fitted estimator."""

    model: Model
    table: Table
    weights: tuple[float, ...] | None = None
    new: Table | None = None

    def run(self) -> str:
        found = _come_to(lambda: self._fitted(self.table.made(), self.weights))
        if self.table.form != "blocks" and self._is_comparable():
            plain = _come_to(lambda: self._fitted(self.table.plain, self.weights))
            self._compare(found, plain)
        if isinstance(found, Refused):
            return "refused"
        self._check(found)
        return "fitted"

    def _is_comparable(self) -> bool:
        odd = self.weights is not None and self.table.form in ("dyads", "pairs")
        odd |= self.table.form == "dyads" and np.nansum(self.table.values) >= 2**31  # not listed
        return self.table.is_exact and not odd and self.table.form not in ("pairs", "sparse pandas")

    def _fitted(self, X: Any, weights: Any) -> Any:
        model = self.model.made()
        before = dict(vars(model))
        options = {} if weights is None else {"sample_weight": np.array(weights)}
        try:
            return model.fit(X, **options)
        except BaseException:
            now = {name: value for name, value in vars(model).items() if name != "_unfinished"}
            if now.keys() != before.keys():
                raise Wrong(f"a fit that failed left {now.keys() - before.keys()}") from None
            raise

    def _compare(self, found: Any, plain: Any) -> None:
        if isinstance(found, Refused) != isinstance(plain, Refused):
            raise Wrong(f"the container decides whether it is refused: {found!r} and {plain!r}")
        for name in ("components_", "embedding_") if not isinstance(found, Refused) else ():
            same(getattr(_best(found), name), getattr(_best(plain), name), name)

    def _check(self, model: Any) -> None:
        model = _best(model)
        tolerance = _check_components(model)
        distributions(model.embedding_, "embedding_", tolerance)
        check(model.components_.shape[1] == model.n_features_in_, "n_features_in_")
        check(0 <= model.smoothing_ <= 1, f"smoothing_ {model.smoothing_}")
        for table in (self.table, self.new):
            if table is not None and table.form != "blocks":
                self._ask(model, table, tolerance)
        if len(model.embedding_):
            drawn = tried(lambda: model.sample(4))
            check(drawn.to_csr().sum() == 4, "sample")
        for name in ("component_distribution_", "column_embedding_", "row_components_"):
            with contextlib.suppress(Refused):
                check(np.isfinite(tried(lambda name=name: getattr(model, name))), name)

    def _ask(self, model: Any, table: Table, tolerance: float) -> None:
        with contextlib.suppress(Refused):
            Z = tried(lambda: model.transform(table.made()))
            check(np.shape(Z)[1:] == (len(model.components_),), "components of transform")
            check(table.form == "pairs" or len(Z) == len(table.values), "rows of transform")
            distributions(Z, "transform", tolerance)
            back = tried(lambda: model.inverse_transform(Z))
            distributions(back, "inverse_transform", 10 * tolerance)
        for method in ("score", "score_samples", "perplexity", "row_log_likelihood", "predict"):
            if hasattr(model, method):
                with contextlib.suppress(Refused):
                    result = tried(lambda: getattr(model, method)(table.made()))  # noqa: B023
                    check(~np.isnan(np.asarray(result, float)), f"{method} is NaN: {result}")


def _best(model: Any) -> Any:
    return getattr(model, "best_estimator_", model)


def _check_components(model: Any) -> float:
    tolerance = 1e-3 if model.components_.dtype == np.float32 else 1e-6
    distributions(model.components_, "components_", tolerance)
    return tolerance


def _come_to(call: Any) -> Any:
    try:
        return tried(call)
    except Refused as refused:
        return refused


@dataclass(frozen=True)
class Streaming:
    model: Model
    batches: tuple[Table, ...]

    def run(self) -> str:
        learnt, model = False, self.model.made()
        for batch in self.batches:
            try:
                X = tried(batch.made)
                tried(lambda X=X: model.partial_fit(X))
            except Refused:
                continue
            learnt = True
            _check_components(model)
            distributions(model.transform(np.ones((2, model.n_features_in_))), "transform", 1e-3)
        return "fitted" if learnt else "refused"


@dataclass(frozen=True)
class Measuring:
    """A function of a table, or of a fitted model."""

    table: Table
    name: str

    def run(self) -> str:
        try:
            result = tried(lambda: FUNCTIONS[self.name](self.table.made()))
        except Refused:
            return "refused"
        of_tables = self.name not in ("diversity", "top features", "triads")
        others = "pairs", "sparse pandas", "blocks"
        if of_tables and self.table.is_exact and self.table.form not in others:
            plain = _come_to(lambda: FUNCTIONS[self.name](self.table.plain))
            if isinstance(plain, Refused):
                raise Wrong(f"{self.name}: only the plain container is refused, {plain}")
            if isinstance(result, float | np.ndarray):
                same(result, plain, self.name)
        return "measured"


def _model() -> Any:
    return clone(SHORT).fit(np.array([[3.0, 1, 0, 2], [0, 2, 4, 1], [1, 1, 0, 5]]))


def _halves(X: Any) -> Any:
    train, test = model_selection.split_counts(X, 0.3, random_state=0)
    whole = skcooc.Dyads(X) if not isinstance(X, skcooc.Dyads) else X
    if not isinstance(train, skcooc.Dyads):
        total = np.abs(train + test - whole.to_csr()).max()
        check(total <= 1e-9 * max(1.0, whole.to_csr().max()), "split_counts loses some")
    return 0.0


def _memory(X: Any) -> Any:
    predictor = skcooc.heldout.Unigram(metrics.unigram(X))
    return metrics.unseen_perplexity(X, predictor, np.zeros(_shape(X)))


def _perplexity(X: Any) -> Any:
    n, m = (*_shape(X), 1)[:2]
    return metrics.perplexity(X, np.full((n, 2), 0.5), np.full((2, m), 1 / max(m, 1)))


def _shape(X: Any) -> tuple[int, ...]:
    return X.table_shape if isinstance(X, skcooc.Dyads) else np.shape(X)


def _labels(X: Any) -> np.ndarray:
    return np.arange(_shape(X)[0]) % 2


SHORT = skcooc.AspectModel(2, beta=0.9, max_iter=2, random_state=0)
FUNCTIONS = {
    "unigram": metrics.unigram,
    "mutual_information": metrics.mutual_information,
    "kept": lambda X: metrics.mutual_information_kept(X, _labels(X)),
    "icl": lambda X: metrics.integrated_complete_likelihood(X, _labels(X)),
    "npmi": lambda X: metrics.npmi_coherence(_model().components_, X, 2),
    "perplexity": _perplexity,
    "unseen": _memory,
    "average_precision": lambda X: metrics.average_precision_by_query(X, np.ones(_shape(X))),
    "split": _halves,
    "dyads": lambda X: skcooc.Dyads(X).to_csr().toarray(),
    "ones of dyads": lambda X: float(len(skcooc.Dyads(X)[::2])),
    "pyldavis": lambda X: float(len(inspection.to_pyldavis(_model(), X))),
    "explore": lambda X: float(len(str(inspection.explore(_model(), X)))),
    "diversity": lambda X: metrics.topic_diversity(X, 2),
    "top features": lambda X: float(len(inspection.top_features(X, 2))),
    "stability": lambda X: inspection.topic_stability(SHORT, X, 2, random_state=0).affinities,
    "features": lambda X: skcooc.MixtureFeatures(SHORT).fit(X).transform(X),
    "retriever": lambda X: skcooc.AspectRetriever(2, random_state=0).fit(X).similarity(X),
    "triads": lambda X: skcooc.TriadicAspectModel(2, max_iter=2, random_state=0).fit(
        skcooc.Triads(*np.resize(skcooc.Dyads(X).to_csr().toarray().astype(int), (3, 4)))
    ).components_,
}  # fmt: skip


@dataclass(frozen=True)
class Writing:
    """A table on disk, or a file for the command line."""

    table: Table
    kind: str

    def run(self) -> str:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"table.{self.kind}"
            return self._stored(path) if self.kind == "disk" else self._commanded(path)

    def _stored(self, path: Path) -> str:
        try:
            tried(lambda: skcooc.save_table(path, iter([self.table.made()])))
        except Refused:
            check(not list(path.parent.iterdir()), "a table that was refused left something")
            return "refused"
        read = tried(lambda: sp.vstack(list(skcooc.open_table(path))).toarray())
        if self.table.is_exact and self.table.form != "pairs":  # which have no empty rows
            same(read, self.table.dense.astype(float), "the table on disk")
        return "written"

    def _commanded(self, path: Path) -> str:
        _write(path, self.table)
        options = ["-k", "2", "--beta", "0.9", "--max-iter", "2", "--no-progress"]
        said, told = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(told):
            code = tried(lambda: main([str(path), *options, "--jobs", "1"]))
        if code == 0:
            check(bool(said.getvalue()), "nothing was said")
            return "fitted"
        check(code == 2, f"exit code {code}: {told.getvalue()}")
        lines = [line for line in told.getvalue().splitlines() if "Warning" not in line]
        check(lines and "Traceback" not in told.getvalue(), f"said {lines}")
        return "refused"


def _write(path: Path, table: Table) -> None:
    if path.suffix == ".npz":
        sp.save_npz(path, table.plain)
    elif path.suffix == ".mtx":
        scipy.io.mmwrite(path, table.plain)
    else:
        rows, columns = np.nonzero(table.dense)
        counts = table.dense[rows, columns]
        lines = [f"r{i},c{j},{n}" for i, j, n in zip(rows, columns, counts, strict=True)]
        path.write_text("\n".join(["row,column,count", *lines]), encoding="utf-8")


@st.composite
def fittings(draw: Any) -> Fitting:
    table = draw(tables())
    n, m = len(table.values), table.width
    weight = st.lists(st.sampled_from(WEIGHTS), min_size=n, max_size=n).map(tuple)
    new = draw(mostly(st.none(), tables(draw(mostly(st.just(m), st.none())))))
    return Fitting(draw(models()), table, draw(mostly(st.none(), weight)), new)


@st.composite
def streams(draw: Any) -> Streaming:
    n_columns = draw(st.integers(2, 6))
    width = mostly(st.just(n_columns), st.none())
    batches = [draw(tables(draw(width))) for _ in range(draw(st.integers(1, 4)))]
    return Streaming(Model("AspectModel", draw(params_of("AspectModel"))), tuple(batches))


measurings = st.builds(Measuring, tables(), st.sampled_from(sorted(FUNCTIONS)))
writings = st.builds(Writing, tables(), st.sampled_from(["disk", "npz", "mtx", "csv"]))
trials = st.one_of(fittings(), fittings(), fittings(), streams(), measurings, measurings, writings)
