"""Reading fitted models: the estimator inside, names of columns, and rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral, Number
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from skcooc.hierarchy import Tree
from skcooc.protocol import CSR, Array, FactorModel, TableLike, refuse_objects
from skcooc.protocol.scikit_learn import Interval, is_pandas_na
from skcooc.tables import (
    as_names,
    check_index,
    check_order,
    checked_copy,
    columns_of,
    in_another_order,
    row_names_of,
    same_names,
)

OWNERS = {  # models that have an attribute which is missing
    "components_": ", which a fitted model of topics or clusters has: give that first.",
    "embedding_": ", as models of skcooc have: give Mixtures(model.transform(X)) to see its rows; "
    "top_features and explore take it as it is.",
    "tree_": ", which ClusterAbstraction has.",
    "best_n_components_": ", which a fitted ComponentSearchCV has.",
    "component_search_": ", which a model has that was fitted with n_components='auto'; draw a "
    "ComponentSearchCV by from_search.",
    "cv_results_": ", which a fitted search has: draw a model by from_estimator.",
    "posteriors_": ", which TextureSegmenter has: draw other labels by from_labels.",
    "row_distribution_": ", the shares of the rows fitted: give a model of topics or clusters, "
    "such as the model_ of an AspectClassifier.",
}
FACTORS = ("components_", "embedding_", "row_distribution_")
HOW_MANY = [Interval(Integral, 0, None, closed="left")]  # columns or rows of each component
COUNTS_OF_CELLS = "adata.X, or the layer fitted, with the genes fitted"
MIXTURES_OF_CELLS = "adata.obsm['X_topics']"
NESTED = ("best_estimator_", "estimator_", "model_")  # of a search; meta-estimator; classifier
SUM_TOLERANCE = 1e-3  # by which sums of shares may differ from one
LONGEST_NAME = 80  # characters of a name; what is longer is cut
SAME_SUMS = 1e-3  # relative difference of row sums up to which a table may be the one fitted
SAME_COLUMNS = 0.999  # correlation of column sums of tables that may differ in weights of rows
SAME_ROWS, N_SAME = 0.25, 20  # total variation to mixtures of rows folded in; of so many rows

Analyzer = Callable[[str], Iterable[str]]
Names = Sequence[str] | Mapping[int, str]


class TreeModel(FactorModel, Protocol):
    """A fitted hierarchy of clusters, with V nodes."""

    tree_: Tree
    node_weights_: Array  # (V,): P(v)
    labels_: Array  # (N,): cluster of each row
    posteriors_: Array  # (N, K): P(c given x)


@dataclass(frozen=True)
class Unwrapped:
    """A fitted model and the steps of a pipeline before it."""

    model: Any
    steps: tuple[Any, ...] = ()  # fitted, first to last

    def table(self, X: Any) -> Any:
        """Apply the steps to what the pipeline takes; TypeError for an AnnData or counted texts."""
        refuse_objects(X, "X", "counts", of_anndata=COUNTS_OF_CELLS)
        for step in self.steps:
            if hasattr(step, "build_analyzer") and getattr(X, "ndim", 1) == 2:
                raise TypeError(
                    f"X is a table, but {type(step).__name__}, a step of the pipeline, takes "
                    "texts: give texts, or the model without this step."
                )
            X = step.transform(X)
        return X

    def column_names(self, feature_names: ArrayLike | None = None) -> Array:
        """Names of the M columns: given, or those of the steps, of the data, or x0, x1, ..."""
        fitted = None
        if self.steps and all(hasattr(step, "get_feature_names_out") for step in self.steps):
            for step in self.steps:
                fitted = step.get_feature_names_out(fitted)
        if fitted is None and (columns := fitted_columns(self.model)) is not None:
            fitted = list(map(str, columns.tolist()))
        n_columns = np.shape(self.model.components_)[1]
        kind = "columns"
        if feature_names is None:
            feature_names = [f"x{j}" for j in range(n_columns)] if fitted is None else fitted
        elif fitted is not None:
            kind = "columns, whose names it knows"
        return check_names(feature_names, n_columns, "feature_names", kind, fitted)


def fitted_columns(model: Any) -> Array | None:
    """Names of the columns fitted, also numbers, which scikit-learn does not keep."""
    for attribute in ("feature_names_in_", "column_names_in_"):
        if (names := getattr(model, attribute, None)) is not None:
            return np.asarray(names)
    return None


def unwrap(model: Any, *attributes: str) -> Unwrapped:
    """The outermost estimator with all attributes, in a pipeline, search or other one.

    Nested are the last step of a pipeline, the best estimator of a search, and the estimator of
    other meta-estimators, to any depth. NotFittedError is raised where it has not been fitted;
    TypeError where none has all of them, with the name of an estimator that has, if there is one.
    """
    chain = list(layers(model))
    for layer in chain:
        if _has_all(layer.model, attributes):
            return layer
    if hasattr(model, "fit"):
        check_is_fitted(model)
    innermost = chain[-1].model
    missing = next(name for name in attributes if not hasattr(innermost, name))
    default = OWNERS.get(missing, ".")
    if len(chain) > 1:
        inside = ", ".join(type(layer.model).__name__ for layer in chain[1:])
        default = f"{default.rstrip('.')}; nor has the estimator inside: {inside}."
    hints = (hint for layer in chain for hint in _hints(layer.model, attributes))
    raise TypeError(f"{type(model).__name__} has no {missing}{next(hints, default)}")


def layers(model: Any) -> Iterator[Unwrapped]:
    """Yield an estimator, the estimator nested in it, and so on."""
    steps: tuple[Any, ...] = ()
    while True:
        yield Unwrapped(model, steps)
        if hasattr(model, "steps"):
            *first, (_, inside) = model.steps
            steps += tuple(step for _, step in first if step not in (None, "passthrough"))
        else:
            inside = next((getattr(model, name) for name in NESTED if hasattr(model, name)), None)
        if inside is None or isinstance(inside, str):
            return
        model = inside


@contextmanager
def ignore_name_warning() -> Iterator[None]:
    """Silence scikit-learn's warning about missing feature names, for columns checked before."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names", UserWarning)
        yield


def _has_all(model: Any, attributes: Sequence[str]) -> bool:
    return all(hasattr(model, name) for name in attributes)


def _hints(model: Any, attributes: Sequence[str]) -> Iterator[str]:
    """Yield ends of an error message that say where an estimator with all attributes is."""
    pipeline = getattr(model, "pipeline", None)  # of a TopicReport
    if pipeline is not None and _has_all(pipeline[-1], attributes):
        yield ", but its pipeline has: give report.pipeline."
    for i, (name, step) in enumerate(getattr(model, "steps", ())):
        if _has_all(step, attributes):
            yield f", but its step {name!r} has: give the pipeline up to it, [:{i + 1}]."
    members = getattr(model, "estimators_", ())
    for i, member in enumerate(members):
        if _has_all(member, attributes):
            yield f", but {type(member).__name__} has, which is its estimators_[{i}]: give that."
    if hasattr(model, "cv_results_") and not hasattr(model, "best_estimator_"):
        yield ", for it was fitted with refit=False and keeps no model."


def keeps_rows(model: Any) -> bool:
    """Whether a model has all rows that were fitted: not after blocks, nor after `partial_fit`."""
    return bool(getattr(model, "_has_all_rows", len(model.embedding_) > 0))


def topic_weights(model: FactorModel) -> Array:
    """Share of the tokens of each topic, (K,); P(z) if the rows are not kept."""
    if not keeps_rows(model):
        return np.asarray(unwrap(model, "weights_").model.weights_, dtype=np.float64)
    shares = np.asarray(model.row_distribution_) @ np.asarray(model.embedding_)
    return np.asarray(shares, dtype=np.float64)


def rows_by_topic(model: FactorModel) -> Array:
    """Number of the rows with tokens whose largest topic is each, (K,); zeros without rows."""
    if not keeps_rows(model):
        return np.zeros(len(model.components_), dtype=int)
    has_tokens = np.asarray(model.row_distribution_) > 0
    largest = np.asarray(model.embedding_)[has_tokens].argmax(axis=1)
    return np.bincount(largest, minlength=len(model.components_))


def prior_trials(trials: Sequence[Any]) -> list[Any]:
    """Trials with a pseudo-count, all of one stage and one temperature."""
    with_prior = [t for t in trials if t.prior]
    return [t for t in with_prior if (t.stage, t.beta) == (with_prior[0].stage, with_prior[0].beta)]


def fitted_row_names(model: Any, row_names: ArrayLike | None = None) -> Array:
    """Names of the N rows fitted: ``row_names``, else those of the table fitted, else positions."""
    n_rows = len(model.embedding_)
    fitted = getattr(model, "row_names_in_", None)
    if row_names is None:
        return np.arange(n_rows) if fitted is None else np.asarray(fitted)
    return check_names(row_names, n_rows, "row_names", "rows", fitted)


def check_names(
    names: ArrayLike, n: int, parameter: str, kind: str, fitted: Iterable[object] | None = None
) -> Array:
    """Names as an array; TypeError for a number.

    ValueError if they are not n, or those that the model has itself in another order.
    """
    if isinstance(names, Integral):
        number = "n_" + parameter.replace("_names", "s")
        raise TypeError(
            f"{parameter} should be an array of names of the {kind}, got {names}. "
            f"Did you mean {number}={names}?"
        )
    side = "obs_names" if parameter == "row_names" else "var_names"
    options = {"of_anndata": f"adata.{side}", "of_model": "its get_feature_names_out()"}
    refuse_objects(names, parameter, "names", **options)
    if not (hasattr(names, "__array__") or isinstance(names, Mapping)):
        # An array of strings gives all the room of the longest.
        names = np.asarray(list(names) if isinstance(names, Iterator) else names, dtype=object)
    checked = as_names(names).astype(object)
    if checked.shape != (n,):
        source = ""
        if kind == "columns":
            source = " (of texts: get_feature_names_out() of the vectorizer that was fitted)"
        raise ValueError(
            f"{parameter} has shape {checked.shape}, but the model has {n} {kind}: give a name for "
            f"each{source}."
        )
    if fitted is not None and in_another_order(checked, fitted):
        source = (
            ", such as that of the vocabulary_ of a vectorizer"
            if parameter == "feature_names"
            else ""
        )
        raise ValueError(
            f"{parameter} has the names of the fit in another order{source}: leave {parameter} out."
        )
    return checked


def names_of_nodes(names: Mapping[Any, str], tree: Tree) -> dict[Any, str]:
    """Names by numbers of nodes; ValueError for a number that may be that of a leaf's cluster.

    Nodes are called "node 3" or "cluster 3", as in the output of `export_text`.
    """
    nodes = {f"cluster {c}": leaf for c, leaf in enumerate(tree.leaves.tolist())}
    nodes |= {f"node {v}": v for v in range(tree.n_nodes)}
    for key in names:
        if isinstance(key, Integral) and int(key) < len(tree.leaves):
            raise ValueError(
                f"{key} may be the number of a cluster, as in labels_, or of a node, as in "
                f"components_: write 'cluster {key}' or 'node {key}'."
            )
    return {nodes.get(str(key), key): name for key, name in names.items()}


def names_by_number(names: Names | Mapping[str, str], n_topics: int) -> dict[int, str]:
    """Names of some topics by number; ValueError for other topics or a wrong length."""
    if not isinstance(names, Mapping):
        listed = [names] if isinstance(names, str) else list(names)
        if isinstance(names, str) or len(listed) != n_topics:
            raise ValueError(f"names has {len(listed)} entries, but there are {n_topics} topics.")
        names = dict(enumerate(listed))
    numbers = {str(k): k for k in range(n_topics)}
    if unknown := [k for k in names if str(k) not in numbers]:
        raise ValueError(f"names has {unknown[0]}, but topics are 0 to {n_topics - 1}.")
    return {numbers[str(k)]: str(name) for k, name in names.items()}


class Mixtures:
    """Mixtures of rows that replace a fitted model, to show rows that were not fitted.

    Use ``Mixtures`` for the mixtures that ``transform`` returns for new rows, or if you saved the
    mixtures of rows but not the model. Functions and displays that do not need columns accept it
    instead of a model, such as :func:`topic_shares` and :class:`skcooc.plotting.StructureDisplay`.

    Read more in the :doc:`how-to guide </howto/texts>`.

    Parameters
    ----------
    mixtures : array-like of shape (N, K)
        P(topic given row). Rows sum to one.
    n_tokens : array-like of shape (N,), default=None
        Number of tokens in each row, such as ``X.sum(axis=1)``. It is the weight of the row in
        shares. None means equal weights.
    names : sequence of K str, or dict of int to str, default=None
        Names of the topics, such as those that :func:`name_topics` returns for the model. Topics
        without names are numbered.
    like : fitted model, default=None
        Model of these mixtures. Topics then keep the colours of its displays.

    Attributes
    ----------
    embedding_ : (N, K) array
        The mixtures.
    row_distribution_ : (N,) array
        P(row), the share of each row in all tokens.
    components_ : (K, 0) array
        Empty, because there are no columns.
    component_names_ : dict of int to str
        Names of the topics, by number.
    ranking_weights_ : (K,) array
        Shares of the topics, which determine their colours. They are those of ``like`` if it is
        given.
    row_names_in_ : (N,) array
        Names of the rows, if the mixtures are a DataFrame with row names.

    Examples
    --------
    >>> from skcooc import AspectModel
    >>> from skcooc.datasets import make_cooccurrences
    >>> from skcooc.inspection import Mixtures, name_topics, topic_shares
    >>> X = make_cooccurrences(60, 40, n_components=2, random_state=0).X
    >>> model = AspectModel(2, beta=0.9, random_state=0).fit(X[:50])
    >>> names, n_tokens = name_topics(model), X[50:].sum(axis=1)
    >>> new = Mixtures(model.transform(X[50:]), n_tokens, names=names, like=model)
    >>> topic_shares(new, ["a", "b"] * 5)[["group", "component", "n_rows"]].values.tolist()
    [['a', 0, 5], ['a', 1, 5], ['b', 0, 5], ['b', 1, 5]]
    """

    embedding_: Array
    row_distribution_: Array
    components_: Array
    component_names_: dict[int, str]
    ranking_weights_: Array
    row_names_in_: Array

    def __init__(
        self, mixtures: ArrayLike, n_tokens: ArrayLike | None = None, *,
        names: Names | None = None, like: FactorModel | None = None,
    ) -> None:  # fmt: skip
        options = {"of_anndata": MIXTURES_OF_CELLS, "of_model": "model.transform(X)"}
        refuse_objects(mixtures, "mixtures", "mixtures", **options)
        check_index(mixtures, n_tokens=n_tokens)
        if (row_names := row_names_of(mixtures)) is not None:
            self.row_names_in_ = row_names
        self.embedding_ = check_array(
            mixtures, ensure_non_negative=True, input_name="mixtures", copy=True
        )
        if (np.abs(self.embedding_.sum(axis=1) - 1) > SUM_TOLERANCE).any():
            raise ValueError("mixtures should be shares: rows that sum to one.")
        n_rows, n_topics = self.embedding_.shape
        n = np.asarray(np.ones(n_rows) if n_tokens is None else n_tokens, dtype=float)
        if n.shape not in ((n_rows,), (n_rows, 1)):
            raise ValueError(f"n_tokens has shape {n.shape}, but there are {n_rows} mixtures.")
        if not (n >= 0).all() or not 0 < n.sum() < np.inf:
            raise ValueError("n_tokens should be finite, not negative, and not all zero.")
        self.row_distribution_ = n.ravel() / n.sum()
        self.components_ = np.empty((n_topics, 0))
        self.component_names_ = {} if names is None else names_by_number(names, n_topics)
        ranked: Any = self if like is None else unwrap(like, *FACTORS).model
        self.ranking_weights_ = topic_weights(ranked)
        if len(self.ranking_weights_) != n_topics:
            raise ValueError(
                f"like has {len(self.ranking_weights_)} topics, "
                f"but mixtures have {n_topics} columns."
            )


@dataclass(frozen=True, eq=False)
class ModelView:
    """A fitted model and a table of rows on which it is shown."""

    model: Any
    counts: CSR  # (N, M)
    fitted: bool  # whether these are the rows that were fitted
    mixtures: Array  # (N, K): P(z given x_i)
    components: Array  # (K, M): P(y given z)
    columns: Array  # (M,) names
    rows: list[str]  # N names
    texts: Sequence[str] | None
    analyzer: Analyzer | None  # what made columns of a text
    has_row_names: bool  # and not the beginnings of texts, or positions

    @cached_property
    def n_tokens(self) -> float:
        return float(self.counts.sum())

    @cached_property
    def row_sums(self) -> Array:  # (N,): tokens of each row
        return np.asarray(self.counts.sum(axis=1), dtype=np.float64).ravel()

    @cached_property
    def factors(self) -> Array | None:
        """Factors of columns in groups of rows and, last, in unknown ones, (G + 1, M), or None."""
        factors = getattr(self.model, "column_factors_", None)
        return None if factors is None else np.vstack([factors, np.ones(factors.shape[1])])

    @cached_property
    def counts_without_factors(self) -> CSR:
        """Counts (N, M), divided by the factors of columns in groups of rows, if there are any."""
        if self.factors is None:
            return self.counts
        counts = self.counts.copy()
        groups = np.repeat(self.model.row_groups_, np.diff(counts.indptr))
        counts.data /= self.factors[groups, counts.indices]
        return counts

    @cached_property
    def row_distribution(self) -> Array:  # (N,): P(x_i)
        return self.row_sums / self.n_tokens

    @property
    def names_fitted(self) -> Array | None:  # (N,), if known
        if self.fitted and self.has_row_names:
            return np.array(self.rows, dtype=object)
        return getattr(self.model, "row_names_in_", None)

    def labels(self, attribute: str) -> Array:
        """The cluster of each row, (N,): fitted, or else predicted; 0 for a row without tokens."""
        if self.fitted:
            return np.asarray(getattr(self.model, attribute))
        has_tokens = self.row_sums > 0
        labels: Array = np.zeros(len(has_tokens), dtype=np.intp)
        labels[has_tokens] = call_on_counts(self.model, "predict", self.counts[has_tokens])
        return labels

    @cached_property
    def fitted_weights(self) -> Array:
        """Weights of the rows in the fit, (N,), up to a factor; ones for other rows.

        Other counts are of the rows fitted if half of their mixtures are far nearer to the fitted
        ones than to those of other rows.
        """
        ones = np.ones(len(self.mixtures))
        masses = np.asarray(getattr(self.model, "row_distribution_", ()))
        if not len(ones) == len(masses) == len(self.model.embedding_):
            return ones
        has_tokens = self.row_sums > 0
        if self.fitted:
            equal = _are_same_sums(masses, self.row_distribution)
        else:
            fitted = distributions(self.model.embedding_)
            shifted = np.roll(fitted, len(ones) // 2, axis=0)
            to_same = np.abs(self.mixtures - fitted)[has_tokens].sum(axis=1)
            to_other = np.abs(self.mixtures - shifted)[has_tokens].sum(axis=1)
            empty = masses[~has_tokens].any()
            equal = bool(empty or np.median(to_same) > np.median(to_other) / 2)
        if equal:
            return ones
        return np.divide(masses, self.row_sums, out=np.zeros(len(ones)), where=has_tokens)

    @cached_property
    def weights(self) -> Array:  # (K,): P(z), shares of the tokens
        return self.row_distribution @ self.mixtures

    @cached_property
    def unigram(self) -> Array:  # (M,): P(y) of the model
        return self.weights @ self.components


def read_view(
    model: Any,
    X: TableLike,
    feature_names: ArrayLike | None = None,
    row_names: ArrayLike | None = None,
    texts: Sequence[str] | None = None,
) -> ModelView:
    """Check a model and its table, and find all names; see `explore`."""
    unwrapped = unwrap(model, "components_")
    model = unwrapped.model
    steps = unwrapped.steps
    analyzer = None
    X = list(X) if isinstance(X, Iterator) else X
    check_index(X, texts=texts, row_names=row_names)
    if steps and hasattr(steps[0], "build_analyzer"):
        analyzer = steps[0].build_analyzer()
    if steps and texts is None and (isinstance(X, list | tuple) or getattr(X, "ndim", 0) == 1):
        listed = list(X)
        texts = listed if listed and all(isinstance(text, str) for text in listed) else None
    X = unwrapped.table(X)
    check_fitted_columns(X, model)
    X, table_names = split_row_names(X)
    counts = _check_counts(X, model)
    n_rows = counts.shape[0]
    values = {"texts": texts, "row_names": row_names}
    if isinstance(texts, Mapping):
        raise TypeError("texts is a dict: give a list, with the text of each row.")
    if texts is not None:
        texts = [read_text(text, i) for i, text in enumerate(texts)]
        if len(texts) != n_rows:
            raise ValueError(f"texts has {len(texts)} entries, but X has {n_rows} rows.")
    fitted = _is_fitted_table(model, counts)
    if not fitted and not hasattr(model, "transform"):
        raise ValueError(f"{type(model).__name__} has no transform: X should be the table fitted.")
    if not fitted and hasattr(model, "column_factors_"):
        raise ValueError(
            "The model has factors of columns for groups of rows, but the groups of other rows "
            "are not known: give the rows fitted."
        )
    known_names = getattr(model, "row_names_in_", table_names) if fitted else table_names
    check_order(X.index if hasattr(X, "iloc") else known_names, **values)
    if row_names is None:
        row_names = known_names
    columns = unwrapped.column_names(feature_names)
    mixtures = model.embedding_ if fitted else call_on_counts(model, "transform", counts)
    return ModelView(
        model,
        counts,
        fitted,
        mixtures=mixtures_of(model, mixtures),
        components=distributions(model.components_),
        columns=np.array([_cut_name(name) for name in columns]),
        rows=_row_names(row_names, texts, n_rows),
        texts=texts,
        analyzer=analyzer,
        has_row_names=row_names is not None,
    )


def check_row_order(view: ModelView, X: Any, **columns: Any) -> None:
    """Refuse columns whose index has the rows of X, or of the view, in another order."""
    if hasattr(X, "iloc"):
        check_index(X, **columns)
    else:
        check_order(view.rows if view.has_row_names else None, **columns)


def kind_of(model: Any) -> str:
    """What the components of a model are: "topic", "cluster" (of rows) or "node" (of a tree)."""
    if hasattr(model, "tree_"):
        return "node"
    has_labels = hasattr(model, "labels_") or hasattr(model, "row_labels_")
    return "cluster" if has_labels and not hasattr(model, "n_components") else "topic"


def call_on_counts(model: Any, method: str, counts: CSR, **options: Array) -> Array:
    """Call a method of a model on counts whose columns were checked and have no names."""
    with ignore_name_warning():
        return np.asarray(getattr(model, method)(counts, **options))


def split_row_names(X: TableLike) -> tuple[TableLike, ArrayLike | None]:
    """Split dyads or a data frame into counts and row names; other tables have None."""
    if hasattr(X, "to_csr"):
        return X.to_csr(), X.row_names
    return X, row_names_of(X)


def check_fitted_columns(X: TableLike, model: Any) -> None:
    """Raise ValueError if a data frame or dyads have other columns than were fitted."""
    names = columns_of(X)
    fitted = fitted_columns(model)
    if names is None or fitted is None or same_names(names, np.arange(len(names))):
        return  # without names: a data frame numbers its columns
    if not same_names(names, fitted):
        raise ValueError("X has columns of other names, or in another order, than the model.")


def _check_counts(X: TableLike, model: Any) -> CSR:
    kind = type(X).__name__
    if kind == "Triads":
        raise TypeError(
            "X is a Triads, but a table of rows and columns is needed: leave X out, or give "
            "Mixtures(model.embedding_, n_tokens) in place of the model."
        )
    if kind in ("RowBlocks", "DiskTable"):
        raise TypeError(
            f"X is a {kind}: give rows and columns in memory, such as a sparse array of some rows."
        )
    rows = X if isinstance(X, Sequence) or getattr(X, "ndim", 2) == 1 else ()
    if any(isinstance(row, str) for row in rows):
        raise TypeError(
            f"X holds texts, but {type(model).__name__} takes counts: give "
            "vectorizer.transform(X), or the pipeline that has the vectorizer as its first step."
        )
    counts = checked_copy(X, [np.float64, np.float32])
    n_columns = np.shape(model.components_)[1]
    if isinstance(model, Mixtures):
        raise ValueError("Mixtures have no columns: give the model in their place, or leave X out.")
    if counts.shape[1] != n_columns:
        has_names = getattr(model, "feature_names_in_", None) is not None
        hint = ", named by its feature_names_in_" if has_names else ""
        raise ValueError(f"X has {counts.shape[1]} features, but the model has {n_columns}{hint}.")
    if not counts.sum():
        raise ValueError("X has no counts: all entries are zero.")
    return counts


def _is_fitted_table(model: Any, counts: CSR) -> bool:
    """True if row sums, or non-zeros, are those fitted and some rows have the same mixtures."""
    fitted = np.asarray(getattr(model, "row_distribution_", ()))
    if len(fitted) != counts.shape[0] or len(model.embedding_) != counts.shape[0]:
        return False
    shares = np.asarray(counts.sum(axis=1)).ravel() / counts.sum()
    if not (_are_same_sums(fitted, shares) or _are_weighted(model, fitted, shares, counts)):
        return False
    if not hasattr(model, "transform"):  # a consensus
        return True
    rows = np.random.default_rng(0).permutation(np.flatnonzero(shares))[:N_SAME]
    options = {}
    if hasattr(model, "row_groups_"):
        labels = np.array([*model.groups_, None], dtype=object)  # unknown groups are -1
        options["groups"] = labels[model.row_groups_[rows]]
    folded_in = distributions(call_on_counts(model, "transform", counts[rows], **options))
    distances = np.abs(folded_in - distributions(model.embedding_)[rows]).sum(axis=1) / 2
    return bool(np.median(distances) < SAME_ROWS)


def _are_same_sums(a: Array, b: Array) -> bool:
    return np.allclose(a, b, rtol=SAME_SUMS, atol=1e-12)


def _are_weighted(model: Any, fitted: Array, shares: Array, counts: CSR) -> bool:
    """True if the table fitted may have been these counts with weights of rows.

    It has the same non-zeros, and column sums as these counts have if rows weigh as in the fit.
    """
    nonzeros = getattr(getattr(model, "_schema", None), "seen", None)
    if nonzeros is None or not np.array_equal(nonzeros.indptr, counts.indptr):
        return False
    if not np.array_equal(nonzeros.columns, counts.indices):
        return False
    weights = np.divide(fitted, shares, out=np.zeros(len(shares)), where=shares > 0)
    P = getattr(model, "unigram_", None)
    P = fitted @ model.embedding_ @ model.components_ if P is None else P
    return bool(np.corrcoef(P, weights @ counts)[0, 1] > SAME_COLUMNS)


def mixtures_of(model: Any, transformed: ArrayLike) -> Array:
    """P(z given x), (n, K), from the result of ``transform``.

    Rows that do not sum to one, as of NMF, are coefficients of components of any scale.
    """
    coefficients = np.asarray(transformed, dtype=np.float64)
    sums = coefficients.sum(axis=1)
    if (np.abs(sums[sums != 0] - 1) > SUM_TOLERANCE).any():
        coefficients = coefficients * np.sum(model.components_, axis=1)
    return distributions(coefficients)


def distributions(P: ArrayLike) -> Array:
    """Rows divided by their sums; rows of zeros, as NMF may have, remain."""
    array = np.asarray(P, dtype=np.float64)
    sums = array.sum(axis=1, keepdims=True)
    return array / np.where(sums > 0, sums, 1)


def read_text(text: object, i: int) -> str:
    """A text, a number as text, or "" for a missing one; ValueError for anything else."""
    if isinstance(text, str):
        return text
    if text is None or is_pandas_na(text):
        return ""
    if isinstance(text, Number):
        return str(text) if text == text else ""
    hint = ": decode it, such as by text.decode()" if isinstance(text, bytes) else ""
    raise ValueError(f"texts should be strings, but texts[{i}] is {type(text).__name__}{hint}.")


def _row_names(names: ArrayLike | None, texts: Sequence[str] | None, n_rows: int) -> list[str]:
    if names is None:
        starts = [""] * n_rows if texts is None else [text[: 2 * LONGEST_NAME] for text in texts]
        names = [" ".join(text.split()) or f"row {i}" for i, text in enumerate(starts)]
    return [_cut_name(name) for name in check_names(names, n_rows, "row_names", "rows")]


def _cut_name(name: object) -> str:
    text = str(name)
    return text if len(text) <= LONGEST_NAME else text[: LONGEST_NAME - 1].rstrip() + "…"
