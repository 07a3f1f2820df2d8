"""The attributes of a fitted estimator, made from what a fit found."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from skcooc.counts import CSRCounts
from skcooc.em import Record, State
from skcooc.em.temperature import best
from skcooc.fitting.restarts import Unfinished
from skcooc.fitting.table import Fitted
from skcooc.heldout.split import add_one_unigram, chosen_smoothing
from skcooc.protocol import Array, Model, Rows

COLLAPSED = 1e-2  # total variation between every component and the distribution of the columns


def usable(
    model: Model, state: State, beta: float, smoothing: float, unigram: Array, row_mass: Array
) -> dict[str, Any]:
    """What transform, score and sample need.

    Parameters
    ----------
    model : Model
    state : State
        Of one block.
    beta, smoothing : float
    unigram : (M,) array
    row_mass : (N,) array
        Observations of each row.

    Returns
    -------
    attributes : dict
    """
    embedding, components = model.factors(state.params, state.rows[0])
    unknown = model.factors(state.params, state.params.weights[None])[0]
    return {
        "_fitted_model": model,
        "_state": state,
        "components_": components.T,
        "weights_": unknown[0],  # of a row without observations
        "embedding_": embedding,
        "row_distribution_": row_mass / row_mass.sum(),
        "unigram_": unigram,
        "beta_": beta,
        "smoothing_": smoothing,
    }


def of_input(estimator: Any) -> dict[str, Any]:
    """What an estimator knows of the columns and of the table, once they have been checked.

    Parameters
    ----------
    estimator : estimator

    Returns
    -------
    attributes : dict
    """
    names = ("n_features_in_", "feature_names_in_", "_table")
    return {name: vars(estimator)[name] for name in names if name in vars(estimator)}


def of_fit(fitted: Fitted) -> dict[str, Any]:
    """All attributes of a finished fit.

    Parameters
    ----------
    fitted : Fitted

    Returns
    -------
    attributes : dict
    """
    fit, model, beta, smoothing, unigram, row_mass, probes = fitted
    annealed = {} if fit.splits is None else {"splits_": fit.splits}
    return {
        **annealed,
        **usable(model, State(fit.params, fit.rows), beta, smoothing, unigram, row_mass),
        "_unfinished": None,
        "temperature_search_": probes,
        "n_iter_": len(fit.history),
        "converged_": fit.converged,
        "objective_": fit.objective,
        "history_": fit.history,
    }


def at_iteration(
    counts: CSRCounts, smoothing: float | Literal["auto"], known: dict[str, Any]
) -> Callable[[Model, Record, Any, Sequence[Rows], Unfinished], dict[str, Any]]:
    """What turns an iteration into the attributes of an estimator that stopped there.

    Parameters
    ----------
    counts : CSRCounts of shape (N, M)
    smoothing : float or "auto"
    known : dict
        Attributes known before the fit.

    Returns
    -------
    attributes : callable
        (model, record, params, rows, unfinished) -> dict.
    """

    def attributes(
        model: Model, record: Record, params: Any, rows: Sequence[Rows], unfinished: Unfinished
    ) -> dict[str, Any]:
        state = State(params, [np.asarray(states) for states in rows])
        probes, splits = unfinished.probes, unfinished.grown.splits
        s = chosen_smoothing(smoothing, best(probes).validation if probes else None)
        unigram, mass = add_one_unigram(counts.column_sums), counts.row_sums * counts.row_weights
        return {
            **({} if splits is None else {"splits_": splits}),
            **usable(model, state, record.beta, s, unigram, mass),
            "_unfinished": unfinished,
            "temperature_search_": probes,
            **known,
        }

    return attributes


def warn_about(estimator: Any, stopped: bool) -> None:
    """Warn where a fit ended before it converged, or in the unigram.

    Parameters
    ----------
    estimator : fitted estimator
    stopped : bool
        Whether a callback ended the fit.
    """
    if not (estimator.converged_ or stopped):
        _warn(
            f"EM did not converge within max_iter={estimator.max_iter} iterations. Increase "
            "max_iter, or the tolerance tol."
        )
    if collapsed(estimator.components_, estimator.weights_, len(estimator.embedding_)):
        remedy = "Use a larger beta, or beta='auto'."
        if estimator.beta_ == 1 or estimator.temperature_search_:
            remedy = "Give counts in larger units, if they are not numbers of observations."
        _warn(
            f"All {len(estimator.components_)} components are the unigram: at "
            f"beta={estimator.beta_:.3g} the model has collapsed, or rows and columns are "
            f"independent. {remedy}"
        )


def collapsed(components: Array, weights: Array, n_rows: int) -> bool:
    """Whether no component differs from the mean of all, though the data would let it.

    Parameters
    ----------
    components : (K, M) array
    weights : (K,) array
    n_rows : int

    Returns
    -------
    collapsed : bool

    Examples
    --------
    >>> import numpy as np
    >>> collapsed(np.array([[0.3, 0.7], [0.3, 0.7]]), np.array([0.5, 0.5]), n_rows=9)
    True
    >>> collapsed(np.array([[0.3, 0.7], [0.6, 0.4]]), np.array([0.5, 0.5]), n_rows=9)
    False
    """
    if 1 in (*components.shape, n_rows):
        return False
    distances = np.abs(components - weights @ components).sum(axis=1) / 2
    return bool((distances < COLLAPSED).all())


def _warn(message: str) -> None:
    warnings.warn(message, ConvergenceWarning, stacklevel=5)
