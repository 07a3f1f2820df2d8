"""Tables that seem to hold something else than counts, and what to do about it."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from skcooc.counts import without_zeros
from skcooc.protocol import CSR, Array
from skcooc.tables.names import is_name_of_ids

CHECKED_ROWS, LARGEST_LOG = 1000, 9.0  # of tables that may hold no counts
# Share of the tokens of one row or column that is too large, where there are so many at least;
# number of rows from which on a column that counts them is no accident.
LARGEST_LINE, MIN_LINES, MIN_NUMBERED = 0.9, 3, 10
MIN_PAIRS = 30  # rows from which on pairs of counts that are all different are no accident


def doubts(
    table: CSR, row_names: Array | None = None, column_names: Array | None = None
) -> Iterator[str]:
    """Messages on a table that seems to hold other values than counts, or a line too many.

    >>> from scipy import sparse
    >>> list(doubts(sparse.csr_array([[9.0, 1], [6, 0], [3, 1]])))
    ["Row 0 is the sum of all others: leave totals out, as by pandas.crosstab's margins=False."]
    """
    if kind := transformed(table):
        yield (
            f"X holds {kind}. The models are for counts: perplexity, smoothing and the temperature "
            "have their meaning with numbers of tokens only. Give the counts themselves: of texts "
            "those of CountVectorizer, or of HashingVectorizer(norm=None)."
        )
    if _may_be_pairs(table):
        yield (
            f"X has {table.shape[1]} columns of whole numbers, which are read as counts of "
            f"{table.sum(dtype=np.float64):,.10g} tokens. If its rows are pairs, such as user and "
            "item, give Dyads.from_pairs(*X.T)."
        )
    yield from _wrong_lines(table, row_names, column_names)
    if _is_one_half(table, row_names, column_names):
        yield (
            "All counts of X are on one side of its diagonal: if they are mutual, as of pairs of "
            "words or edges listed once, the other half is missing. Give X + X.T, or list each "
            "pair in both directions."
        )


def _may_be_pairs(table: CSR) -> bool:
    """Whether rows may be pairs of numbered things, or such pairs and their counts."""
    n_rows, n_columns = table.shape
    if n_columns not in (2, 3) or n_rows < MIN_NUMBERED or (table.data % 1).any():
        return False
    if n_columns == 2:
        return True
    pairs = table[:, :2].toarray()
    n_values = max(len(np.unique(values)) for values in pairs.T)
    is_each_once = len(np.unique(pairs, axis=0)) == n_rows
    return n_rows >= MIN_PAIRS and 2 * n_values <= n_rows and is_each_once


def _wrong_lines(table: CSR, row_names: Array | None, column_names: Array | None) -> Iterator[str]:
    """Messages on lines that are totals, identifiers, or larger than all others."""
    sums = table.sum(axis=1), table.sum(axis=0)
    total = sums[0].sum()
    for side, names in enumerate((row_names, column_names)):
        if len(sums[side]) < MIN_LINES or not total:
            continue
        line = int(sums[side].argmax())
        largest = sums[side][line]
        name = f"{('Row', 'Column')[side]} {_name(names, line)}"
        if largest > LARGEST_LINE * total:
            yield (
                f"{name} has {100 * largest / total:.3g} % of all tokens, {largest:,.10g} of "
                f"{total:,.10g}, so that the model describes little else. If it is a total or an "
                "identifier, leave it out."
            )
        elif 2 * largest == total and np.array_equal(_line(table, side, line), sums[1 - side] / 2):
            yield (
                f"{name} is the sum of all others: leave totals out, as by pandas.crosstab's "
                "margins=False."
            )
    n_rows = table.shape[0]
    if n_rows < MIN_LINES:
        return
    first, last = (_line(table, 0, i) for i in (0, n_rows - 1))
    may_rise = (last - first >= n_rows - 1) & (n_rows >= MIN_NUMBERED)
    n_filled = np.bincount(table.indices, minlength=table.shape[1])
    for j in np.flatnonzero(n_filled >= n_rows - 1).tolist():  # values that differ: at most one 0
        has_name_of_ids = column_names is not None and is_name_of_ids(column_names[j])
        if not (may_rise[j] or has_name_of_ids):
            continue
        values = _line(table, 1, j)
        rises = may_rise[j] and (np.diff(values) > 0).all()
        differ = has_name_of_ids and len(np.unique(values)) == n_rows
        if (rises or differ) and not (values % 1).any():
            yield (
                f"Column {_name(column_names, j)} seems to number or identify the rows, and is "
                "counted. Make it the names of the rows, as by X.set_index(name) or "
                "pandas.read_csv(..., index_col=0), or leave it out."
            )


def _name(names: Array | None, position: int) -> str:
    return str(position) if names is None else repr(names.tolist()[position])


def _is_one_half(table: CSR, row_names: Array | None, column_names: Array | None) -> bool:
    """Whether rows and columns are the same things, and all counts are above, or below, a diagonal.

    Things listed in pairs, each once, need not be on both sides: they are compared by their names.
    """
    places = np.arange(table.shape[0]), np.arange(table.shape[1])
    least = MIN_NUMBERED
    if row_names is not None and column_names is not None:
        names = row_names.tolist(), column_names.tolist()
        things = set(names[0]) | set(names[1])
        if 2 * len(set(names[0]) & set(names[1])) < len(things) or len(set(map(type, things))) > 1:
            return False
        order = {thing: place for place, thing in enumerate(sorted(things))}
        places = np.array([order[n] for n in names[0]]), np.array([order[n] for n in names[1]])
        least = MIN_LINES
    elif table.shape[0] != table.shape[1]:
        return False
    rows, columns = table.nonzero()
    signs = np.sign(places[0][rows] - places[1][columns])
    signs = signs[signs != 0]
    return len(signs) >= least and bool((signs == signs[0]).all())


def _line(table: CSR, side: int, number: int) -> Array:
    """Return a row, or a column, as a vector."""
    return (table[:, [number]] if side else table[[number]]).toarray().ravel()


def transformed(table: CSR) -> str | None:
    """Describe what the table seems to hold instead of counts; None if it may hold counts.

    >>> from scipy import sparse
    >>> transformed(sparse.csr_array([[0.6, 0.8], [0.0, 1.0]]))
    'rows of length one, as TfidfVectorizer makes them'
    """
    sample = without_zeros(table[:CHECKED_ROWS]).astype(np.float64)
    data = sample.data
    if not data.size or not (data % 1).any():
        return None
    if _is_similarity(table):
        return "a symmetric matrix with a constant diagonal, such as similarities or distances"
    occupied = np.diff(sample.indptr) > 0
    lengths = np.sqrt(sample.power(2).sum(axis=1))[occupied]
    if len(lengths) > 1 and np.allclose(lengths, 1, atol=1e-4):
        return "rows of length one, as TfidfVectorizer makes them"
    if kind := _same_totals(sample):
        return kind
    if table.shape == sample.shape and math.isclose(sample.sum(), 1, abs_tol=1e-4):
        return "shares of all tokens, which sum to one"
    if _has_column_weights(sample):
        return "counts times weights of columns, as TfidfVectorizer(norm=None) makes them"
    if data.max() > LARGEST_LOG or np.ptp(data) == 0:
        return None
    sample.data = np.expm1(sample.data)
    if _are_whole(sample.data) and np.rint(sample.data).all():
        return "logarithms of counts, log(1 + n)"
    return "logarithms of normalised counts, log(1 + n)" if _same_totals(sample) else None


def _are_whole(values: Array) -> bool:
    return np.allclose(values, np.rint(values), rtol=1e-5, atol=1e-4)


def _same_totals(table: CSR) -> str | None:
    """Describe rows that all have the same total; None if totals differ."""
    totals = table.sum(axis=1)[np.diff(table.indptr) > 0]
    if len(totals) < 2 or not np.allclose(totals, totals[0], rtol=1e-4):
        return None
    is_one = math.isclose(totals[0], 1, rel_tol=1e-3)
    return f"shares of rows, which sum to {'one' if is_one else f'{totals[0]:.6g}'}"


def _has_column_weights(table: CSR) -> bool:
    """Whether values are multiples of the smallest of their column, which differs by column."""
    smallest = np.full(table.shape[1], np.inf)
    np.minimum.at(smallest, table.indices, table.data)
    occupied = smallest[np.isfinite(smallest)]
    if len(table.data) < 2 * len(occupied):
        return False
    are_multiples = _are_whole(table.data / smallest[table.indices])
    return are_multiples and not _are_whole(table.data / occupied.min())  # one weight of all cells


def _is_similarity(table: CSR) -> bool:
    if table.shape[0] != table.shape[1] or table.shape[0] < MIN_LINES or table.data.max() > 1:
        return False
    diagonal = table.diagonal()
    same = diagonal[0] in (0, 1) and np.ptp(diagonal) == 0
    return same and bool(abs(table - table.T).max() < 1e-6)
