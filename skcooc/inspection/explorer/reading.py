"""What is to be shown: a model without what surrounds it, its table, and the names of all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.utils import check_array

from skcooc.inspection.names import check_order, named, split
from skcooc.inspection.unwrapping import Unwrapped, unnamed, unwrap
from skcooc.protocol import CSR, Array, TableLike

LONGEST_NAME = 80  # characters of a name; what is longer is cut
SAME_SUMS = 1e-3  # relative difference of row sums up to which a table may be the one fitted
SAME_ROWS, N_SAME = 0.25, 20  # total variation to mixtures of rows folded in; of so many rows

Analyzer = Callable[[str], Iterable[str]]


@dataclass(frozen=True, eq=False)
class Subject:
    """A fitted model and the rows to show it on."""

    model: Any
    counts: CSR  # (N, M)
    fitted: bool  # whether these are the rows that were fitted
    mixtures: Array  # (N, K): P(z given x_i)
    components: Array  # (K, M): P(y given z)
    columns: Array  # (M,) names
    rows: list[str]  # N names
    texts: Sequence[str] | None
    analyzer: Analyzer | None  # what made columns of a text
    named: bool  # whether rows have names, and not the beginnings of texts, or positions

    @cached_property
    def n_observations(self) -> float:
        """Of all rows."""
        return float(self.counts.sum())

    @cached_property
    def row_sums(self) -> Array:
        """Observations of each row, (N,)."""
        return np.asarray(self.counts.sum(axis=1), dtype=np.float64).ravel()

    @cached_property
    def row_distribution(self) -> Array:
        """P(x_i), (N,)."""
        return self.row_sums / self.n_observations

    @property
    def names_fitted(self) -> Array | None:
        """Names of the rows fitted, (N,), where these are known."""
        if self.fitted and self.named:
            return np.array(self.rows, dtype=object)
        return getattr(self.model, "row_names_in_", None)

    def labels(self, attribute: str) -> Array:
        """The cluster of each row: what was fitted, or else predicted, (N,)."""
        if self.fitted:
            return np.asarray(getattr(self.model, attribute))
        return ask(self.model, "predict", self.counts)

    @cached_property
    def weights(self) -> Array:
        """P(z), share of the observations of each component, (K,)."""
        return self.row_distribution @ self.mixtures

    @property
    def intervals(self) -> Array | None:
        """Of P(y given z) over the members whose consensus the model is, (2, K, M); or None."""
        return getattr(self.model, "component_intervals_", None)

    @cached_property
    def unigram(self) -> Array:
        """P(y) of the model, (M,)."""
        return self.weights @ self.components


def read(
    model: Any,
    X: TableLike,
    texts: Sequence[str] | None,
    feature_names: ArrayLike | None,
    row_names: ArrayLike | None,
) -> Subject:
    """What is to be shown; see `explore`."""
    found = unwrap(model, "components_")
    model, analyzer = found.model, _analyzer(found)
    if found.before and texts is None:
        texts = _texts_of(X)
    X = found.table(X)
    check_order(X, model)
    X, own_names = split(X)
    counts = _checked(X, model)
    check_length("texts", texts, counts.shape[0])
    fitted = _is_fitted_table(model, counts)
    if not fitted and not hasattr(model, "transform"):
        raise ValueError(f"{type(model).__name__} has no transform: X should be the table fitted.")
    if row_names is None:
        row_names = getattr(model, "row_names_in_", own_names) if fitted else own_names
    columns = found.column_names(feature_names)
    return Subject(
        model, counts, fitted,
        distributions(model.embedding_ if fitted else ask(model, "transform", counts)),
        distributions(model.components_), np.array([_short(name) for name in columns]),
        _row_names(row_names, texts, counts.shape[0]), texts, analyzer,
        row_names is not None,
    )  # fmt: skip


def ask(model: Any, method: str, counts: CSR) -> Array:
    """What a method says of counts, whose columns have been checked, though they have no names."""
    with unnamed():
        return np.asarray(getattr(model, method)(counts))


def _checked(X: TableLike, model: Any) -> CSR:
    """The counts as CSR; ValueError where they have other columns, or no observations."""
    checked = check_array(
        X, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_non_negative=True
    )
    counts, n_columns = sp.csr_array(checked, copy=True), np.shape(model.components_)[1]
    if counts.shape[1] != n_columns:
        which = ", named by its feature_names_in_" if hasattr(model, "feature_names_in_") else ""
        raise ValueError(f"X has {counts.shape[1]} features, but the model has {n_columns}{which}.")
    if not counts.sum():
        raise ValueError("X holds no observations to show: all entries are zero.")
    counts.sum_duplicates()
    counts.eliminate_zeros()
    return counts


def _is_fitted_table(model: Any, counts: CSR) -> bool:
    """Whether these are the rows fitted: as long, and, for some of them, of the same mixtures."""
    fitted = np.asarray(getattr(model, "row_distribution_", ()))
    if len(fitted) != counts.shape[0] or len(model.embedding_) != counts.shape[0]:
        return False
    shares = np.asarray(counts.sum(axis=1)).ravel() / counts.sum()
    if not np.allclose(fitted, shares, rtol=SAME_SUMS, atol=1e-12):
        return False
    if not hasattr(model, "transform"):  # a consensus, which knows no other rows
        return True
    rows = np.random.default_rng(0).permutation(np.flatnonzero(shares))[:N_SAME]
    folded_in = distributions(ask(model, "transform", counts[rows]))
    distances = np.abs(folded_in - distributions(model.embedding_)[rows]).sum(axis=1) / 2
    return bool(np.median(distances) < SAME_ROWS)


def distributions(P: ArrayLike) -> Array:
    """Rows that sum to one, in float64; those of other libraries need not."""
    checked = np.asarray(P, dtype=np.float64)
    return checked / checked.sum(axis=1, keepdims=True)


def _texts_of(X: TableLike) -> list[str] | None:
    """X where it is texts, as a vectorizer takes them; else None."""
    texts = list(X) if isinstance(X, list | tuple) or getattr(X, "ndim", 0) == 1 else []
    return texts if texts and all(isinstance(text, str) for text in texts) else None


def _analyzer(found: Unwrapped) -> Analyzer | None:
    """What the first step makes of a text; None where it is no vectorizer of texts."""
    vectorizers = [step for step in found.before[:1] if hasattr(step, "build_analyzer")]
    return vectorizers[0].build_analyzer() if vectorizers else None


def _row_names(names: ArrayLike | None, texts: Sequence[str] | None, n_rows: int) -> list[str]:
    """Those given, or how the texts begin, or positions."""
    if names is None and texts is not None:
        names = [
            " ".join(text[: 2 * LONGEST_NAME].split()) or f"row {i}" for i, text in enumerate(texts)
        ]
    if names is None:
        return [f"row {i}" for i in range(n_rows)]
    return [_short(name) for name in named(names, n_rows, "row_names", "rows")]


def _short(name: object) -> str:
    text = str(name)
    return text if len(text) <= LONGEST_NAME else text[: LONGEST_NAME - 1].rstrip() + "…"


def check_length(parameter: str, values: Any, n_rows: int) -> None:
    """ValueError where something is given that is not there for each row."""
    if values is not None and len(values) != n_rows:
        raise ValueError(f"{parameter} has {len(values)} entries, but X has {n_rows} rows.")
