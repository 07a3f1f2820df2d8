"""Topics that are one, and topics that are none: a fitted model made of another."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from skcooc.inspection.labels import names_set
from skcooc.inspection.unwrapping import unwrap
from skcooc.protocol import Array, FactorModel


def merge_topics(model: FactorModel, groups: Sequence[Iterable[int]]) -> FactorModel:
    """A fitted model in which the topics of each group are one.

    A merged topic is the mean of its members by their shares of the observations, and its share of
    a row is the sum of theirs. Nothing is fitted: predictions are those of the merged topics, and
    are the same where topics that were merged were. What it costs is seen on held-out observations,
    ``merged.perplexity(X) / model.perplexity(X)``. To fit on from there, set ``warm_start=True``;
    ``partial_fit`` needs a fit first.

    Parameters
    ----------
    model : fitted AspectModel, or AsymmetricClustering of rows
        Or a pipeline or a search with one inside. It is not changed.
    groups : sequence of iterables of int
        Numbers of the topics that become one; of no topic in two groups. Topics of none remain as
        they are.

    Returns
    -------
    merged : fitted estimator
        Of the same class, with as many components, and as ``n_components`` or ``n_clusters``, as
        there are left: in the order of their first members. Names that were set are kept but for
        merged topics. It has no ``history_``, ``objective_``, ``n_iter_``, ``converged_`` and
        ``splits_``, which belong to a fit.

    Raises
    ------
    ValueError
        Where there is no such topic, or one is given twice.
    TypeError
        Where the model has no topics that can be merged, or groups are no groups.

    Examples
    --------
    >>> from skcooc import AspectModel
    >>> from skcooc.datasets import make_cooccurrences
    >>> from skcooc.inspection import merge_topics
    >>> X = make_cooccurrences(60, 40, n_components=3, random_state=0).X
    >>> model = AspectModel(4, random_state=0).fit(X)
    >>> merged = merge_topics(model, [[1, 3]])
    >>> merged.components_.shape, merged.transform(X[:2]).shape
    ((3, 40), (2, 3))
    """
    inner = _inner(model)
    K = len(inner.components_)
    if not all(isinstance(group, Iterable) for group in groups):
        raise TypeError(f"groups={groups} should be groups of topics, such as [[0, 1]].")
    members = [_topics(group, K) for group in groups]
    every = [k for group in members for k in group]
    if len(set(every)) < len(every) or not all(members):
        raise ValueError(f"groups={members} should have topics in them, none of them twice.")
    rest = [[k] for k in range(K) if k not in every]
    return _made(inner, sorted(members + rest, key=min))


def drop_topics(model: FactorModel, topics: Iterable[int]) -> FactorModel:
    """A fitted model without some of its topics, such as those that are of nothing.

    The shares of the others in every row, and of all observations, sum to one again: rows are as
    the other topics explain them, and may be explained much worse. ``perplexity`` of held-out
    observations before and after says how much worse.

    Parameters
    ----------
    model : fitted AspectModel, or AsymmetricClustering of rows
        As for :func:`merge_topics`.
    topics : iterable of int
        Their numbers.

    Returns
    -------
    smaller : fitted estimator
        As from :func:`merge_topics`. A row that had nothing of the others has their shares of all.

    Raises
    ------
    ValueError
        Where there is no such topic, or no other one.
    TypeError
        Where the model has no topics that can be left out, or ``topics`` is a single number.

    Examples
    --------
    >>> from skcooc import AspectModel
    >>> from skcooc.inspection import drop_topics
    >>> X = [[4, 2, 0, 0], [4, 2, 0, 0], [0, 0, 3, 9], [2, 2, 3, 9]]
    >>> model = AspectModel(3, beta=1, random_state=0).fit(X)
    >>> drop_topics(model, [1]).embedding_.sum(axis=1)
    array([1., 1., 1., 1.])
    """
    inner = _inner(model)
    K = len(inner.components_)
    if not isinstance(topics, Iterable):
        raise TypeError(f"topics={topics} should be numbers of topics, such as [{topics}].")
    dropped = set(_topics(topics, K))
    if len(dropped) == K:
        raise ValueError(f"topics={sorted(dropped)} are all there are: one should be left.")
    return _made(inner, [[k] for k in range(K) if k not in dropped])


def _inner(model: Any) -> Any:
    """The model inside, whose topics can be merged."""
    inner = unwrap(model, "components_").model
    if not hasattr(inner, "_made_of"):
        raise TypeError(
            f"The components of {type(inner).__name__} cannot be merged or left out: those of "
            "AspectModel can, and of AsymmetricClustering with axis='rows'."
        )
    return inner


def _topics(numbers: Iterable[int], K: int) -> list[int]:
    """Numbers of topics; ValueError where there is no such one."""
    topics = list(numbers)
    if unknown := [k for k in topics if k not in range(K)]:
        raise ValueError(f"There is no topic {unknown[0]}: topics are 0 to {K - 1}.")
    return [int(k) for k in topics]


def _made(inner: Any, members: Sequence[Sequence[int]]) -> FactorModel:
    """A model with a component for all of these."""
    shares: Array = np.zeros((len(inner.components_), len(members)))
    for number, group in enumerate(members):
        shares[group, number] = 1
    new: Any = inner._made_of(shares)
    names = names_set(inner)
    kept = {g: names[k] for g, (k, *others) in enumerate(members) if k in names and not others}
    if kept:
        new.component_names_ = kept
    return new
