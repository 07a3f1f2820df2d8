"""Effects of numbers and categories on the shares of topics in rows, by weighted least squares.

The share of a topic in a row is estimated without shrinkage, so that the noise of a row's tokens is
part of the residuals, and robust standard errors and permutations include it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize_scalar
from scipy.stats import t

from skcooc.inspection.frames import table_of
from skcooc.inspection.groups import (
    Labels,
    columns_by_name,
    number_levels,
    plain_values,
    read_labels,
)
from skcooc.inspection.models import ModelView, Names, check_row_order, kind_of, read_view
from skcooc.inspection.shares import (
    BLOCK,
    CHECKED,
    columns_of_tests,
    draw_seed,
    keys_of_lines,
    names_of_view,
    row_topics,
)
from skcooc.protocol import Array, Estimator, RandomState, TableLike, refuse_objects
from skcooc.protocol.decorators import validated
from skcooc.protocol.scikit_learn import is_missing

if TYPE_CHECKING:
    import pandas
    import polars

DEPENDENT = 1e-8  # length of what a column adds to those before it, relative to its own
SATURATED = 1e-8  # 1 - leverage of a row that has a coefficient to itself
ROUNDING = 1e-12  # relative size of residuals and effects that are zero
WIDEST = 7.0  # range of log(n_half), on both sides of the mean length


class Responses(NamedTuple):
    """Shares of K topics in N rows with tokens."""

    shares: Array  # (N, K): unbiased, so also negative
    own_variance: Array  # (N, K): what the residuals of these shares do not show
    tokens: Array  # (N,)
    sample_weight: Array  # (N,): in the fit
    has_tokens: Array  # mask of these rows among all


class Regression(NamedTuple):
    """Weighted least squares of K responses on p columns and an intercept, without its line."""

    coefficients: Array  # (p, K)
    residuals: Array  # (N, K), multiplied by the roots of the weights
    influence: Array  # (p, N): coefficients = influence @ responses, multiplied alike
    leverage: Array  # (N,)


@overload
def share_effects(
    model: Estimator, X: TableLike, design: Any, feature_names: ArrayLike | None = None, *,
    n_permutations: int | Literal["auto"] = "auto", level: float = 0.95,
    backend: Literal["pandas"] = "pandas", names: Names | None = None,
    random_state: RandomState = None,
) -> pandas.DataFrame: ...  # fmt: skip
@overload
def share_effects(
    model: Estimator, X: TableLike, design: Any, feature_names: ArrayLike | None = ..., *,
    n_permutations: int | Literal["auto"] = ..., level: float = ..., backend: Literal["polars"],
    names: Names | None = ..., random_state: RandomState = ...,
) -> polars.DataFrame: ...  # fmt: skip
@overload
def share_effects(
    model: Estimator, X: TableLike, design: Any, feature_names: ArrayLike | None = ..., *,
    n_permutations: int | Literal["auto"] = ..., level: float = ..., backend: str,
    names: Names | None = ..., random_state: RandomState = ...,
) -> Any: ...  # fmt: skip
@validated(CHECKED)
def share_effects(
    model: Estimator, X: TableLike, design: Any, feature_names: ArrayLike | None = None, *,
    n_permutations: int | Literal["auto"] = "auto", level: float = 0.95,
    backend: str = "pandas", names: Names | None = None,
    random_state: RandomState = None,
) -> Any:  # fmt: skip
    """Effects of covariates on the share of each topic in a row.

    The shares s_ik of the topics in row i are regressed on the columns of the design:

        s_ik = a_k + sum_d x_id b_kd + error

    b_kd is the effect on topic k of one unit of column d, or of one level compared with the
    reference level. The effects on all topics sum to zero. For a single column of two levels the
    effect is the difference in :func:`compare_shares`, except that rows are weighted differently.

    **Shares.** The mixtures of single rows shrink towards the overall shares, which would bias the
    effects. Therefore the linear estimates of :func:`compare_shares` are used, which are noisy, but
    unbiased if the topics are the true ones. Fitted topics that share most of their columns are too
    pure, and effects too small, by 20 to 32 % in simulated cells. In clusterings and trees the
    share is P(z given x_i).

    **Weights.** A row of n_i tokens has the weight n_i / (n_i + n_half). At the length n_half,
    token noise has the same variance as all other differences between rows. n_half maximises the
    normal likelihood of all topics together. For training rows, the weights are multiplied by their
    ``sample_weight``.

    **Tests.** Standard errors are robust to unequal variances (HC3) and include token noise. In
    clusterings and trees the variance m (1 - m) of a share m is added. Intervals use the t
    distribution and are not adjusted for the number of tests. p-values come from permutations of
    the residuals of a regression without the column (Freedman and Lane 1983). The test statistic is
    the squared effect divided by its robust variance. With few rows of two groups,
    :func:`compare_shares` is exact and more careful.

    The analysis treats the topics as known, and the rows as independent. Several answers of one
    person are not independent. The model must be fitted without the design. An effect is causal
    only if the column was assigned at random.

    Read more in the :doc:`how-to guide </howto/survey>`.

    Parameters
    ----------
    model : fitted estimator
        See :func:`topic_shares`.
    X : array-like, sparse array or matrix, DataFrame, Dyads of shape (N, M), or as a pipeline wants
        Counts of the training rows or of other rows.
    design : data frame, dict of columns, or array-like of shape (N,) or (N, p)
        Covariates of the rows. An intercept is added. Missing values, dates, constant columns and
        collinear columns raise a ValueError.

        - numbers: used as they are.
        - booleans: 0 and 1.
        - strings and categories: one column for each level except the reference level. This is the
          first level in alphabetical order, or in the order of a categorical column.
    feature_names, backend, names
        See :func:`topic_shares`.
    n_permutations : int or "auto", default="auto"
        See :func:`compare_shares`.
    level : float, default=0.95
        Coverage of the intervals, in (0, 1).
    random_state : int, RandomState instance or None, default=None
        Seed of the permutations.

    Returns
    -------
    table : data frame
        One line for each term and topic, with these fields:

        - ``term``: the column of the design, or "column=level".
        - ``component`` and ``topic``: number and name of the topic.
        - ``effect`` and ``std_error``: estimated effect and its standard error.
        - ``low`` and ``high``: interval of the effect.
        - ``p`` and ``p_adjusted``: two-sided p-value, and the same adjusted for all lines by the
          method of Benjamini and Hochberg.
        - ``n_tests``: number of tests in the adjustment.

        For a level that occurs in a single row, errors, intervals and p-values are NaN.

    References
    ----------
    D. Freedman and D. Lane, A nonstochastic interpretation of reported significance levels,
    Journal of Business and Economic Statistics 1, 292-298, 1983.

    J. G. MacKinnon and H. White, Some heteroskedasticity-consistent covariance matrix estimators
    with improved finite sample properties, Journal of Econometrics 29, 305-325, 1985.

    Examples
    --------
    >>> import numpy as np
    >>> from skcooc import AspectModel
    >>> from skcooc.datasets import make_cooccurrences
    >>> from skcooc.inspection import share_effects
    >>> data = make_cooccurrences(200, 40, n_components=2, concentration=0.5, random_state=0)
    >>> model = AspectModel(2, beta=0.9, random_state=0).fit(data.X)
    >>> first = data.mixtures[:, 0]
    >>> design = {"arm": np.where(first > 0.5, "more", "less"), "age": np.arange(200) % 50}
    >>> table = share_effects(model, data.X, design, random_state=0)
    >>> table[["term", "component"]].values.tolist()
    [['arm=more', 0], ['arm=more', 1], ['age', 0], ['age', 1]]
    >>> (table["p_adjusted"] < 0.05).tolist()
    [True, True, False, False]
    """
    view = read_view(model, X, feature_names)
    check_row_order(view, X, design=design)
    responses = row_shares(view)
    seed = draw_seed(random_state)
    terms, matrix = read_design(design, responses.has_tokens)
    weights = precision_weights(responses, matrix)
    regression = regress(responses.shares, matrix, weights)
    effects = regression.coefficients
    errors = standard_errors(regression, weights[:, None] * responses.own_variance)
    n_tests = effects.size
    n = max(999, 40 * n_tests) if n_permutations == "auto" else n_permutations
    p = np.where(np.isnan(errors), np.nan, permutation_p(regression, n, seed))
    half = t.ppf((1 + level) / 2, len(matrix) - len(terms) - 1) * errors
    columns = {
        **keys_of_lines("term", np.array(terms, dtype=object), names_of_view(view, names)),
        "effect": effects.ravel(),
        "std_error": errors.ravel(),
        "low": (effects - half).ravel(),
        "high": (effects + half).ravel(),
        **columns_of_tests(p.ravel()),
    }
    return table_of(columns, backend)


def row_shares(view: ModelView) -> Responses:
    topics = row_topics(view)
    rows = topics.tokens > 0
    shares = topics.linear[rows] / topics.tokens[rows, None]
    variance = np.zeros_like(shares) if kind_of(view.model) == "topic" else shares * (1 - shares)
    return Responses(shares, variance, view.row_sums[rows], view.fitted_weights[rows], rows)


def precision_weights(responses: Responses, matrix: Array) -> Array:
    """Weights of rows by length, as far as length explains the size of their residuals, (N,)."""
    n = responses.tokens
    sample_weight = responses.sample_weight / responses.sample_weight.mean()

    def weights(log_half: float) -> Array:
        return np.asarray(sample_weight * n / (n + np.exp(log_half)))

    def loss(log_half: float) -> float:
        w = weights(log_half)
        residuals = regress(responses.shares, matrix, w).residuals
        return float(np.log((residuals**2).mean() + np.finfo(float).tiny) - np.log(w).mean())

    middle = np.log(n.mean())
    bounds = (middle - WIDEST, middle + WIDEST)
    return weights(minimize_scalar(loss, bounds=bounds, method="bounded").x)


def regress(shares: Array, matrix: Array, weights: Array) -> Regression:
    roots = np.sqrt(weights)[:, None]
    regressors = roots * np.column_stack([np.ones(len(matrix)), matrix])
    Q, R = np.linalg.qr(regressors)
    influence = np.linalg.solve(R, Q.T)
    responses = roots * shares
    coefficients = influence @ responses
    residuals = responses - regressors @ coefficients
    rounding = ROUNDING * np.abs(responses).max()
    residuals[np.abs(residuals) < rounding] = 0
    coefficients[np.abs(regressors).max(axis=0)[:, None] * np.abs(coefficients) < rounding] = 0
    return Regression(coefficients[1:], residuals, influence[1:], (Q**2).sum(axis=1))


def standard_errors(regression: Regression, own_variance: Array) -> Array:
    """Robust standard errors (HC3), (p, K); NaN for coefficients that a single row determines."""
    free = 1 - regression.leverage
    saturated = free < SATURATED
    squares = (regression.residuals / np.where(saturated, 1, free)[:, None]) ** 2 + own_variance
    variance = regression.influence**2 @ squares
    size = np.abs(regression.influence)
    by_one_row = (size[:, saturated] > DEPENDENT * size.max(axis=1)[:, None]).any(axis=1)
    variance[by_one_row] = np.nan
    return np.sqrt(variance)


def permutation_p(regression: Regression, n_permutations: int, seed: int) -> Array:
    """p-values of Freedman and Lane's permutations, (p, K), with the same draws for all tests.

    The fitted part of the regression without a column changes neither its coefficient nor, under
    the null hypothesis, its variance: permuted residuals of that regression are enough.
    """
    influence = regression.influence
    n_columns, n_rows = influence.shape
    reduced = [  # residuals without the column, by the theorem of Frisch, Waugh and Lovell
        regression.residuals + np.outer(line / (line @ line), effects)
        for line, effects in zip(influence, regression.coefficients, strict=True)
    ]

    def statistics(orders: Array, d: int) -> Array:  # (b, K)
        permuted = influence[d][orders]
        squares = (permuted @ reduced[d]) ** 2
        spread = permuted**2 @ reduced[d] ** 2
        return np.divide(squares, spread, out=np.zeros_like(squares), where=spread > 0)

    identity = np.arange(n_rows)[None]
    observed = [statistics(identity, d) * (1 - 1e-9) for d in range(n_columns)]
    larger = np.zeros(regression.coefficients.shape)
    rng = np.random.default_rng(seed)
    at_once = max(1, BLOCK // n_rows)
    for first in range(0, n_permutations, at_once):
        orders = identity.repeat(min(at_once, n_permutations - first), axis=0)
        orders = rng.permuted(orders, axis=1)
        for d in range(n_columns):
            larger[d] += (statistics(orders, d) >= observed[d]).sum(axis=0)
    return (1 + larger) / (1 + n_permutations)


def read_design(design: Any, has_tokens: Array) -> tuple[list[str], Array]:
    """Names of the terms and their values in the rows with tokens, (N, p)."""
    terms: dict[str, Array] = {}
    for name, column in _columns(design).items():
        labels = read_labels({name: column}, f"design column {name!r}")
        if labels.values.shape != has_tokens.shape:
            raise ValueError(
                f"{labels.parameter} has shape {labels.values.shape}, "
                f"but X has {len(has_tokens)} rows."
            )
        terms |= _terms(labels, has_tokens)
    names = list(terms)
    matrix = np.column_stack([*terms.values()])
    if len(names) + 1 >= len(matrix):
        raise ValueError(
            f"design has {len(names)} columns for {len(matrix)} rows with tokens, levels of "
            "categories included: give fewer columns."
        )
    centred = matrix - matrix.mean(axis=0)
    lengths = np.abs(np.diag(np.linalg.qr(centred / np.linalg.norm(centred, axis=0))[1]))
    if (lengths < DEPENDENT).any():
        raise ValueError(
            f"design column {names[int(np.argmax(lengths < DEPENDENT))]!r} is a combination of "
            "those before it: drop one of them."
        )
    return names, matrix


def _columns(design: Any) -> dict[str, Any]:
    """The columns of a design by their names, or by x0, x1, ..."""
    import narwhals.stable.v2 as narwhals  # here, for it takes a while to import

    refuse_objects(design, "design", "columns", of_anndata="some of adata.obs")
    if isinstance(design, str):
        raise TypeError(f"design is a string, {design!r}; give the values of its columns.")
    design = list(design) if isinstance(design, Iterator) else design
    native = narwhals.from_native(design, allow_series=True, pass_through=True)
    if isinstance(native, narwhals.Series):
        return {native.name or "x0": design}
    if (columns := columns_by_name(design)) is None:
        table = design if isinstance(design, np.ndarray) else np.array(design, dtype=object)
        if table.ndim not in (1, 2):
            raise ValueError(f"design has shape {table.shape}: give a table of two dimensions.")
        columns = {f"x{d}": column for d, column in enumerate(np.atleast_2d(table.T))}
    if not columns:
        raise ValueError("design has no columns.")
    by_name = {str(name): column for name, column in columns.items()}
    if len(by_name) < len(columns):
        raise ValueError(f"design has several columns of the same name: {[*columns]}.")
    return by_name


def _terms(column: Labels, has_tokens: Array) -> dict[str, Array]:
    """A number for each row, or an indicator for each level but the first."""
    parameter = column.parameter
    if n_missing := int(is_missing(column.values).sum()):
        raise ValueError(
            f"{parameter} has {n_missing} missing values: drop these rows, also from X."
        )
    name = str(column.name)
    values = column.values[has_tokens]
    if all(isinstance(value, bool) for value in values.tolist()):
        terms = {name: values.astype(np.float64)}
    elif (plain := plain_values(values)).dtype.kind == "M":
        raise ValueError(f"{parameter} has dates: give numbers, such as years.")
    elif plain.dtype.kind in "iuf" and column.order is None:
        if not np.isfinite(plain).all():
            raise ValueError(f"{parameter} has infinite numbers.")
        terms = {name: plain.astype(np.float64)}
    else:
        levels, numbers = number_levels(plain, column.order)
        terms = {
            f"{name}={level}": np.asarray(numbers == g, float)
            for g, level in enumerate(levels.tolist())
            if g > 0
        }
    if not terms or any((values == values[0]).all() for values in terms.values()):
        raise ValueError(f"{parameter} is constant: drop it.")
    return terms
