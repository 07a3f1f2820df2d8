"""Observations held out of a table, and the smoothing that they ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from skcooc.counts import CSRCounts, thin
from skcooc.heldout.validation import LEAST_SMOOTHING, HeldOut, Validation
from skcooc.protocol import Array

if TYPE_CHECKING:
    from skcooc.fitting.plan import Settings

DEFAULT_SMOOTHING = 1e-3  # where nothing is held out to estimate it


def hold_out(X: Any, sample_weight: Array | None, settings: Settings) -> tuple[Any, HeldOut]:
    """Divide a table into observations to fit and observations held out.

    Parameters
    ----------
    X : CSR array or matrix of shape (N, M)
    sample_weight : (N,) array or None
    settings : Settings

    Returns
    -------
    rest : CSR array of shape (N, M)
    heldout : HeldOut
        Of one block.

    Raises
    ------
    ValueError
        Where one of the parts would be empty.
    """
    rest, drawn = thin(X, settings.validation_fraction, settings.seeds[0])
    fitted, heldout = CSRCounts(rest, sample_weight), CSRCounts(drawn, sample_weight)
    if not (fitted.observations.any() and heldout.observations.any()):
        raise ValueError(
            f"Found array with {X.shape[0]} sample(s) and {X.sum():g} observation(s), too few to "
            f"hold out validation_fraction={settings.validation_fraction} of them for beta='auto' "
            "or early_stopping=True. Give beta a number, or change validation_fraction."
        )
    unigram = add_one_unigram(fitted.column_sums)
    return rest, HeldOut([heldout], unigram, judged_with(settings.smoothing))


def judged_with(asked: float | Literal["auto"]) -> float | None:
    """The smoothing with which held-out observations are scored; None where they choose it.

    Without any a single impossible observation would make all validations infinite.
    """
    return None if asked == "auto" else max(asked, LEAST_SMOOTHING)


def chosen_smoothing(asked: float | Literal["auto"], validation: Validation | None) -> float:
    """The smoothing given; else what held-out observations asked for; else a small constant."""
    if asked != "auto":
        return float(asked)
    return DEFAULT_SMOOTHING if validation is None else validation.smoothing


def add_one_unigram(column_sums: Array) -> Array:
    """The distribution (m_j + 1) / (L + M) of the columns, (M,), of how often each was observed."""
    return (column_sums + 1) / (column_sums.sum() + len(column_sums))
