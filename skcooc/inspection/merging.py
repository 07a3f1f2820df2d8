"""Fitted models with some topics merged or dropped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol, Self, TypeVar, overload

import numpy as np

from skcooc.inspection.models import unwrap
from skcooc.inspection.names import user_names
from skcooc.protocol import Array, Estimator


class Mergeable(Protocol):
    """A fitted model whose components can be merged."""

    def merged(self, shares: Array) -> Self: ...


M = TypeVar("M", bound=Mergeable)


@overload
def merge_topics(model: M, groups: Sequence[Iterable[int]]) -> M: ...
@overload
def merge_topics(model: Estimator, groups: Sequence[Iterable[int]]) -> Any: ...
def merge_topics(model: Estimator, groups: Sequence[Iterable[int]]) -> Any:
    """Merge the topics of each group in a copy of a fitted model.

    A merged topic is the mean of its members, weighted by their shares of the tokens, and its
    share in a row is the sum of theirs. Nothing is fitted, so that predictions of different topics
    become worse: compare held-out perplexities, ``merged.perplexity(X) / model.perplexity(X)``. To
    continue the fit, set ``warm_start=True``; ``partial_fit`` needs a fit first.

    Parameters
    ----------
    model : fitted AspectModel, or AsymmetricClustering of rows
        Or a pipeline or a search with one inside. It is not changed. TypeError for other models.
    groups : sequence of iterables of int
        Numbers of the topics to merge, each in one group at most. Other topics remain as they are.

    Returns
    -------
    merged : fitted estimator
        Of the same class, with components in the order of their first members, and their number as
        ``n_components`` or ``n_clusters``. Names set are kept except for merged topics. There are
        no ``history_``, ``objective_``, ``n_iter_``, ``converged_`` and ``splits_`` of a fit.

    Examples
    --------
    >>> from skcooc import AspectModel, datasets, inspection
    >>> X = datasets.make_cooccurrences(60, 40, n_components=3, random_state=0).X
    >>> model = AspectModel(4, random_state=0).fit(X)
    >>> merged = inspection.merge_topics(model, [[1, 3]])
    >>> merged.components_.shape, merged.transform(X[:2]).shape
    ((3, 40), (2, 3))
    """
    inner = _inner(model)
    K = len(inner.components_)
    if not all(isinstance(group, Iterable) for group in groups):
        raise TypeError(f"groups={groups} should be groups of topics, such as [[0, 1]].")
    members = [_check_topics(group, K) for group in groups]
    every = [k for group in members for k in group]
    if len(set(every)) < len(every) or not all(members):
        raise ValueError(f"groups={members} should not be empty, nor name a topic twice.")
    if single := [group for group in members if len(group) == 1]:
        raise ValueError(f"groups={members} should have two topics or more, unlike {single[0]}.")
    rest = [[k] for k in range(K) if k not in every]
    return _with_components(inner, sorted(members + rest, key=min))


@overload
def drop_topics(model: M, topics: Iterable[int]) -> M: ...
@overload
def drop_topics(model: Estimator, topics: Iterable[int]) -> Any: ...
def drop_topics(model: Estimator, topics: Iterable[int]) -> Any:
    """Drop some topics, such as meaningless ones, from a copy of a fitted model.

    The shares of the others are normalised, in every row and of all tokens. The others may
    explain the rows much worse: compare ``perplexity`` of held-out tokens before and after.

    Parameters
    ----------
    model : fitted AspectModel, or AsymmetricClustering of rows
        See :func:`merge_topics`.
    topics : iterable of int
        Their numbers; ValueError for all topics, or one that there is not.

    Returns
    -------
    smaller : fitted estimator
        As of :func:`merge_topics`. Rows without any of the others get their overall shares.

    Examples
    --------
    >>> from skcooc import AspectModel, inspection
    >>> X = [[4, 2, 0, 0], [4, 2, 0, 0], [0, 0, 3, 9], [2, 2, 3, 9]]
    >>> model = AspectModel(3, beta=1, random_state=0).fit(X)
    >>> inspection.drop_topics(model, [1]).embedding_.sum(axis=1).tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    inner = _inner(model)
    K = len(inner.components_)
    if not isinstance(topics, Iterable):
        raise TypeError(f"topics={topics} should be numbers of topics, such as [{topics}].")
    dropped = set(_check_topics(topics, K))
    if len(dropped) == K:
        raise ValueError(f"topics are all {K} topics of the model: keep at least one.")
    return _with_components(inner, [[k] for k in range(K) if k not in dropped])


def _inner(model: Any) -> Any:
    inner = unwrap(model, "components_").model
    if not hasattr(inner, "merged"):
        what = f"The components of {type(inner).__name__} cannot be merged or dropped"
        others = "those of AspectModel can, and of AsymmetricClustering with axis='rows'"
        raise TypeError(f"{what}: {others}.")
    return inner


def _check_topics(numbers: Iterable[int], K: int) -> list[int]:
    topics = list(numbers)
    if unknown := [k for k in topics if k not in range(K)]:
        raise ValueError(f"There is no topic {unknown[0]}: topics are 0 to {K - 1}.")
    return [int(k) for k in topics]


def _with_components(inner: Any, members: Sequence[Sequence[int]]) -> Any:
    """A copy of the model with a component for each group of members."""
    shares: Array = np.zeros((len(inner.components_), len(members)))
    for number, group in enumerate(members):
        shares[group, number] = 1
    new: Any = inner.merged(shares)
    names = user_names(inner)
    if kept := {g: names[k] for g, (k, *more) in enumerate(members) if k in names and not more}:
        new.component_names_ = kept
    return new
