"""What a search for the number of components has come to: attributes of what was measured."""

from __future__ import annotations

from typing import Literal, TypeAlias

from sklearn.base import BaseEstimator

from skcooc.model_selection.choice import in_words, largest, one_standard_error
from skcooc.model_selection.path import is_hard
from skcooc.model_selection.results import cv_results
from skcooc.model_selection.survey import Survey

Criterion: TypeAlias = Literal["held_out", "icl"]


def criterion_of(estimator: BaseEstimator, asked: Literal["auto", "held_out", "icl"]) -> Criterion:
    """What decides; ValueError where it is the integrated likelihood, and clusters are not hard."""
    hard = is_hard(estimator)
    if asked == "icl" and not hard:
        raise ValueError("criterion='icl' is of hard clusterings: it needs hard=True, no tree.")
    if asked == "auto":
        return "icl" if hard else "held_out"
    return asked


def conclude(survey: Survey, criterion: Criterion) -> dict[str, object]:
    """The attributes of the search, but for those of the refit."""
    params, tables = survey.tables()
    choice = one_standard_error(tables["test_score"])
    errors = {"error_test_score": choice.errors}
    errors["error_unseen_score"] = one_standard_error(tables["unseen_score"]).errors
    if criterion == "icl":
        choice = largest(tables["icl"])
    folded = {name: table for name, table in tables.items() if table.ndim == 2}
    flat = {name: table for name, table in tables.items() if table.ndim == 1}
    results = {**cv_results(params, folded), **flat, **errors}
    sizes = [tuple(these.values()) for these in params]
    best = sizes[choice.at]
    return {
        "cv_results_": {**results, "params": params},
        "n_splits_": folded["test_score"].shape[1],
        "best_index_": choice.at,
        "best_params_": params[choice.at],
        "best_score_": float(results["mean_test_score"][choice.at]),
        "best_n_components_": best[0] if len(best) == 1 else best,
        "still_falling_": choice.still_falling,
        "_summary": in_words(sizes, choice, results, criterion),
    }
