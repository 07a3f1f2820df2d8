"""Perplexities that belong together: of a fit, and of a search."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from skcooc.inspection.unwrapping import unwrap
from skcooc.protocol import Array, FactorModel

if TYPE_CHECKING:
    from sklearn.model_selection import GridSearchCV

SYMBOLS = {"beta": "β", "n_components": "K", "n_clusters": "K"}


class Curve(NamedTuple):
    """Perplexities that belong together."""

    name: str  # held-out and training perplexity of one name have one colour
    x: Array  # (n,)
    perplexity: Array  # (n,)
    low: Array | None = None  # (n,): one standard deviation of the folds below and above
    high: Array | None = None
    held_out: bool = True  # else of the training observations: drawn with dashes


def validated(model: FactorModel, over: str | None) -> tuple[Array, Array, str]:
    """What a fit tried, (n,), and the perplexity there, (n,); and what it is that was tried.

    ValueError where nothing was, or not that.
    """
    known = {what: points for what, points in _validations(model) if points}
    if over is None and known:
        over = next(iter(known))
    if over not in known:
        raise ValueError(
            f"There is nothing to draw{'' if over is None else f' over {over}'}: the model "
            f"validated {', '.join(known) or 'nothing'}. Fit it with early_stopping=True for "
            "iterations, with beta='auto' for beta, and for component_prior where data are "
            "thin."
        )
    x, perplexity = np.array(sorted(known[over]), dtype=float).T
    return x, perplexity, over


def curves_of_search(search: GridSearchCV, over: str | None) -> tuple[list[Curve], str]:
    """A curve for each combination of other parameters, and the parameter they are over."""
    search = unwrap(search, "cv_results_").model
    results = search.cv_results_
    params = [_short(candidate) for candidate in results["params"]]
    values = {key: {repr(candidate.get(key)) for candidate in params} for key in params[0]}
    varying = [key for key, distinct in values.items() if len(distinct) > 1]
    if over is None:
        over = "beta" if "beta" in varying else next(iter(varying), "beta")
    if over not in varying:
        raise ValueError(f"over={over!r} does not vary in this search; {varying} do.")
    x = [candidate[over] for candidate in params]
    if not all(isinstance(value, (int, float, np.number)) for value in x):
        raise ValueError(f"over={over!r} has values that are not numbers: {x}.")
    names = [_named(candidate, varying, over) for candidate in params]
    curves = list(_curves(np.array(x, dtype=float), names, results, _score(search)))
    if not curves:
        raise ValueError(
            "There is nothing to draw: no candidate of the search has a score, as where all of "
            "its fits have failed."
        )
    return curves, over


def _validations(model: FactorModel) -> Iterator[tuple[str, list[tuple[float, float]]]]:
    """What a fit was validated over, and pairs of x and perplexity."""
    records = enumerate(getattr(model, "history_", []), start=1)
    history = [(number, record.validation_perplexity) for number, record in records]
    yield "iterations", [point for point in history if np.isfinite(point[1])]
    probes = getattr(model, "tuning_", [])
    alike = [probe for probe in probes if probe.stage == probes[0].stage]  # as many components
    yield "beta", [(p.beta, p.validation.perplexity) for p in alike]
    yield "component_prior", [(p.prior, p.validation.perplexity) for p in probes if p.prior]


def _short(params: Mapping[str, object]) -> Mapping[str, object]:
    """Names of parameters without those of the steps of a pipeline, where that is unambiguous."""
    short = {name.rsplit("__", 1)[-1]: value for name, value in params.items()}
    return short if len(short) == len(params) else params


def _named(params: Mapping[str, object], varying: Sequence[str], over: str) -> str:
    """The name of the curve to which a candidate belongs."""
    others = [key for key in varying if key != over]
    return ", ".join(f"{SYMBOLS.get(key, key)} = {params[key]}" for key in others) or "mean"


def _score(search: GridSearchCV) -> str:
    """The name of the score of a search; ValueError where there are several, and none is chosen."""
    if "mean_test_score" in search.cv_results_:
        return "score"
    if f"mean_test_{search.refit}" not in search.cv_results_:
        raise ValueError(f"The search has several scores, and refit={search.refit!r} is no name.")
    return str(search.refit)


def _curves(
    x: Array, names: Sequence[str], results: Mapping[str, Array], score: str
) -> Iterator[Curve]:
    """Held-out and training curves of a search; what was not visited has no score."""
    for name in dict.fromkeys(names):
        chosen = np.flatnonzero([its == name for its in names])
        chosen = chosen[np.argsort(x[chosen], kind="stable")]
        for part in ("test", "train"):
            if f"mean_{part}_{score}" not in results:
                continue
            mean, sd = (
                np.asarray(results[f"{of}_{part}_{score}"], float) for of in ("mean", "std")
            )
            seen = chosen[np.isfinite(mean[chosen])]
            low, high = np.exp(-mean[seen] - sd[seen]), np.exp(-mean[seen] + sd[seen])
            if len(seen):
                perplexity = np.exp(-mean[seen])
                yield Curve(name, x[seen], perplexity, low, high, part == "test")
