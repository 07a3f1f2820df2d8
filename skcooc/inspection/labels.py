"""Names of topics, made of the columns that are characteristic of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import rel_entr

from skcooc.inspection.names import check_has, column_names, most_probable
from skcooc.protocol import Array, FactorModel

APART = " · "  # between the columns of a name


def name_topics(
    model: FactorModel, feature_names: ArrayLike | None = None, n: int = 3
) -> list[str]:
    """A name for each component, cluster or node: its most characteristic columns.

    Names are all different. They are given in the order of mass, the largest share of the
    observations first: where the n columns of a component are the name of a larger one already, it
    gets further columns, and at last its number.

    Parameters
    ----------
    model : fitted estimator
        With ``components_`` (K, M), ``embedding_`` (N, K), ``row_distribution_`` (N,), and perhaps
        ``tree_``.
    feature_names : array-like of shape (M,), default=None
        Names of the columns; see :func:`top_features`.
    n : int, default=3
        How many columns make a name, ranked as :func:`characteristic_features` does.

    Returns
    -------
    names : list of K str
        Component by component, as the rows of ``components_``.

    Raises
    ------
    ValueError
        Where there are not as many names as columns, or n is below 1.
    TypeError
        Where the model is of another library and lacks an attribute.

    Examples
    --------
    >>> from skcooc import AsymmetricClustering
    >>> from skcooc.inspection import name_topics
    >>> X = [[9, 1, 0, 4], [5, 1, 0, 2], [0, 1, 3, 1]]
    >>> model = AsymmetricClustering(2, hard=True, random_state=0).fit(X)
    >>> sorted(name_topics(model, ["tea", "cup", "ball", "a"], n=2))
    ['ball · cup', 'tea · a']
    """
    check_has(model, "components_", "row_distribution_", "embedding_")
    if n < 1:
        raise ValueError(f"n={n} should be at least 1.")
    q = np.asarray(model.components_, dtype=np.float64)
    columns = column_names(model, q.shape[1], feature_names)
    weights = np.asarray(model.row_distribution_) @ np.asarray(model.embedding_)
    tree = getattr(model, "tree_", None)
    return names_of(q, weights, columns, n, None if tree is None else tree.parents)


def names_of(
    q: Array, weights: Array, columns: Array, n: int = 3, parents: Array | None = None
) -> list[str]:
    """Names of components q (K, M) of these shares of the observations, (K,), all different."""
    gain = gains(q, weights @ q, parents)
    order = most_probable(gain, 4 * n)
    names = dict[int, str]()
    for k in np.argsort(-weights, kind="stable").tolist():
        words = [str(columns[j]) for j in order[k] if gain[k, j] > 0]
        names[k] = _unused(words, n, f"topic {k}", set(names.values()))
    return [names[k] for k in range(len(q))]


def _unused(words: Sequence[str], n: int, number: str, used: set[str]) -> str:
    """A name of the first n words or more, with the number where that is used by another."""
    for length in range(n, max(n, len(words)) + 1):
        name = APART.join(words[:length]) or number
        if name not in used:
            return name
    return APART.join([*words[:n], number])


def gains(q: Array, unigram: Array, parents: Array | None = None) -> Array:
    """What each column contributes to the divergence of q_v from its mean with another, (V, M).

    The other is the distribution of the parent, or the unigram where there is none.
    """
    above = np.full(len(q), -1) if parents is None else parents
    reference = q[above]
    reference[above < 0] = unigram
    return rel_entr(q, (q + reference) / 2)


def given(names: Sequence[str] | Mapping[int, str] | None, automatic: Sequence[str]) -> list[str]:
    """The names that a user has given, by position or by number, and the automatic ones else.

    ValueError where there is a name for what is no component, or a sequence of the wrong length.
    """
    if names is None:
        return list(automatic)
    if not isinstance(names, Mapping):
        if len(names) != len(automatic):
            raise ValueError(
                f"names has {len(names)} entries, but there are {len(automatic)} topics."
            )
        return [str(name) for name in names]
    own = {int(k): str(name) for k, name in names.items()}
    if unknown := [k for k in own if not 0 <= k < len(automatic)]:
        raise ValueError(f"names has {unknown[0]}, but topics are 0 to {len(automatic) - 1}.")
    return [own.get(k, name) for k, name in enumerate(automatic)]
