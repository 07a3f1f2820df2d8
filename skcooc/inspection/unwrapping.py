"""The model inside of what is given: a pipeline, a search, or another estimator around a model."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from skcooc.inspection.names import named
from skcooc.protocol import Array, refuse_anndata

COUNTS_OF_CELLS = "counts: give adata.X, or the layer fitted, with the genes fitted."
INSIDE = ("best_estimator_", "estimator_")  # of a search; of an estimator around one model


@dataclass(frozen=True)
class Unwrapped:
    """A fitted model, and what its table went through before it."""

    model: Any
    before: tuple[Any, ...] = ()  # the fitted steps, first to last

    def table(self, X: Any) -> Any:
        """What the model is given, of what the pipeline is given; TypeError for an AnnData."""
        refuse_anndata(X, "X", COUNTS_OF_CELLS)
        for step in self.before:
            X = step.transform(X)
        return X

    def column_names(self, feature_names: ArrayLike | None = None) -> Array:
        """Names of the M columns: those given, those that steps or data have, or numbers.

        ValueError where there are not as many as columns.
        """
        n_columns = np.shape(self.model.components_)[1]
        own = self._own_names()
        if feature_names is not None:
            what = "columns" if own is None else "columns, whose names it knows"
            return named(feature_names, n_columns, "feature_names", what)
        default = [f"x{j}" for j in range(n_columns)]
        return named(default if own is None else own, n_columns, "feature_names", "columns")

    def _own_names(self) -> ArrayLike | None:
        """Names of the columns that come out of the steps, else those seen in fit."""
        names = None
        if self.before and all(hasattr(step, "get_feature_names_out") for step in self.before):
            for step in self.before:
                names = step.get_feature_names_out(names)
        return getattr(self.model, "feature_names_in_", None) if names is None else names


def unwrap(given: Any, *attributes: str) -> Unwrapped:
    """The outermost of what is given and what is inside that has all attributes.

    Inside of a pipeline is its last step, of a search its best estimator, and of other estimators
    around a model that model, to any depth.

    NotFittedError is raised where it has not been fitted; TypeError where none has all of them,
    with the name of one beside that has, if there is one.
    """
    chain = list(layers(given))
    found = (layer for layer in chain if _has(layer.model, attributes))
    if (layer := next(found, None)) is not None:
        return layer
    if hasattr(given, "fit"):
        check_is_fitted(given)
    innermost = chain[-1].model
    missing = next(name for name in attributes if not hasattr(innermost, name))
    inside = ", ".join(type(layer.model).__name__ for layer in chain[1:])
    hints = (hint for layer in chain for hint in _beside(layer.model, attributes))
    hint = next(hints, f", nor has what is inside: {inside}." if inside else ".")
    raise TypeError(f"{type(given).__name__} has no {missing}{hint}")


def layers(given: Any) -> Iterator[Unwrapped]:
    """What is given, what is inside, what is inside of that, and so on."""
    before: tuple[Any, ...] = ()
    while True:
        yield Unwrapped(given, before)
        if hasattr(given, "steps"):
            *first, (_, inside) = given.steps
            before += tuple(step for _, step in first if _is_estimator(step))
        else:
            inside = next((getattr(given, name) for name in INSIDE if hasattr(given, name)), None)
        if not _is_estimator(inside):
            return
        given = inside


@contextmanager
def unnamed() -> Iterator[None]:
    """No warning that columns have no names, where it is known that they are those fitted."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names", UserWarning)
        yield


def _is_estimator(step: Any) -> bool:
    """Whether it is one, and no None or "passthrough" in the place of one."""
    return not (step is None or isinstance(step, str))


def _has(model: Any, attributes: Sequence[str]) -> bool:
    return all(hasattr(model, name) for name in attributes)


def _beside(model: Any, attributes: Sequence[str]) -> Iterator[str]:
    """How to come to a model that has all attributes, where that is not clear."""
    for at, (name, step) in enumerate(getattr(model, "steps", ())):
        if _has(step, attributes):
            yield f", but its step {name!r} has: give the pipeline up to it, [:{at + 1}]."
    members = getattr(model, "estimators_", ())
    for at, member in enumerate(members):
        if _has(member, attributes):
            yield f", but {type(member).__name__} has, which is its estimators_[{at}]: give that."
    if hasattr(model, "cv_results_") and not hasattr(model, "best_estimator_"):
        yield ", for it was fitted with refit=False and keeps no model."
