"""Tables that seem to hold something else than counts, and what to do about it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Container, Iterator
from typing import Any

import numpy as np

from skcooc.counts import without_zeros
from skcooc.protocol import CSR, Array
from skcooc.tables.names import is_name_of_ids

CHECKED_ROWS = 1000  # of tables that may hold no counts
LARGEST_COUNT, LARGEST_SHARE = 8e3, 1.2e6  # of counts, and of shares, that were transformed
FUNCTIONS: dict[str, Callable[[Any], Any]] = {  # the inverse of each, by what it makes of counts n
    "logarithms of {}, log(1 + n)": np.expm1,
    "logarithms of {}, log2(1 + n)": lambda x: np.exp2(x) - 1,
    "logarithms of {}, log10(1 + n)": lambda x: 10**x - 1,
    "square roots of {}": np.square,
}
# Share of the tokens of one row or column that is too large, where there are so many at least;
# number of rows from which on a column that counts them is no accident.
LARGEST_LINE, MIN_LINES, MIN_NUMBERED = 0.9, 3, 10
MIN_PAIRS = 30  # rows from which on pairs of counts that are all different are no accident
MOST_FIELDS = 10  # columns of a frame of pairs
MIN_CELLS = 300  # from which on small counts without a zero are no accident
LARGEST_ANSWER = 7
ROUNDED = 0.01  # relative error of sums of rounded numbers
LEAST_TIME, LARGEST_TIME = 7e8, 2.1e9  # seconds since 1970, from 1992 to 2036
MISSING_AS_STRINGS = {"nan", "NaN", "None", "<NA>", "NaT"}
LEAST_MISSING, LEAST_LISTS = 0.001, 0.05  # share of pairs that are missing, of names that are lists
SEPARATORS = re.compile(r"[,;|]")
UNITS = 1, 1e3  # of times in a second; smaller ones add up to more than 2^53
TOTAL = re.compile(r"\b(sub|grand)?[- ]?(total|sum|mean|average|all)s?\b", re.IGNORECASE)
# Share of the tokens in columns of a single row: of texts 0.02 to 0.2, of 30 short titles 0.75.
LARGEST_SHARE_ALONE, MIN_ROWS_ALONE = 0.9, 30


def doubts(
    table: CSR,
    row_names: Array | None = None,
    column_names: Array | None = None,
    *,
    of_tokens: bool = False,
) -> Iterator[str]:
    """Messages on a table that seems to hold other values than counts, or a line too many.

    A table of tokens is known to hold no pairs.

    >>> from scipy import sparse
    >>> list(doubts(sparse.csr_array([[9.0, 1], [6, 0], [3, 1]])))
    ["Row 0 is the sum of all others: leave totals out, as by pandas.crosstab's margins=False."]
    """
    if not table.nnz:
        return
    if kind := transformed(table):
        yield (
            f"X holds {kind}. The models are for counts: perplexity, smoothing and the temperature "
            "have their meaning with numbers of tokens only. Give the counts themselves: of texts "
            "those of CountVectorizer, or of HashingVectorizer(norm=None)."
        )
    if kind := _codes(table):
        yield (
            f"X holds {kind}, which are read as counts of {table.sum(dtype=np.float64):,.10g} "
            "tokens. Answers and categories become counts by scikit-learn's OneHotEncoder; of "
            "times and identifiers count how often each pair occurs, as by pandas.crosstab or "
            "Dyads.from_frame."
        )
    has_texts = row_names is not None and any(isinstance(name, str) for name in row_names.tolist())
    if not (of_tokens or has_texts) and _may_be_pairs(table, column_names):
        yield (
            f"X has {table.shape[1]} columns of numbers, which are read as counts of "
            f"{table.sum(dtype=np.float64):,.10g} tokens. If its rows are pairs, such as user and "
            "item, give Dyads.from_pairs(*X.T), or Dyads.from_frame."
        )
    yield from _wrong_lines(table, row_names, column_names)
    alone = _share_alone(table)
    if alone > LARGEST_SHARE_ALONE and table.shape[0] >= MIN_ROWS_ALONE:
        yield (
            f"{100 * alone:.0f} % of the tokens of X are in columns that only one row has, so that "
            "rows have next to nothing in common. If X counts words, separate them by blanks, as "
            "a tokenizer does, or count pairs of letters by CountVectorizer(analyzer='char', "
            "ngram_range=(2, 2)); if columns are exact values, such as times or amounts, make "
            "classes of them."
        )
    if _is_one_half(table, row_names, column_names):
        yield (
            "All counts of X are on one side of its diagonal: if they are mutual, as of pairs of "
            "words or edges listed once, the other half is missing. Give X + X.T, or list each "
            "pair in both directions."
        )


def doubts_about_names(names: Array, n_pairs: Array, side: str) -> Iterator[str]:
    """Messages on distinct names, of so many pairs, that seem misspelt, missing or lists of names.

    >>> next(doubts_about_names(np.array(["nan", "tea"]), np.array([2, 7]), "columns"))
    "columns has the name 'nan', as missing values that became strings: leave them out by dropna()."
    """
    places = {name: i for i, name in enumerate(names.tolist()) if isinstance(name, str)}
    for name in MISSING_AS_STRINGS & places.keys():
        if n_pairs[places[name]] >= LEAST_MISSING * n_pairs.sum():  # else it may be a word
            yield (
                f"{side} has the name {name!r}, as missing values that became strings: leave them "
                "out by dropna()."
            )
    for name in places:
        if name != name.strip() and name.strip() in places:
            yield (
                f"{side} has both {name.strip()!r} and {name!r}, which are counted as different "
                "names: remove blanks by .str.strip()."
            )
            break
    integers = [name for name in places if name.isdigit()]
    floats = [name for name in places if name.endswith(".0") and name[:-2].isdigit()]
    both = [name for name in floats if name[:-2] in places]
    if both and 2 * len(integers + floats) > len(places):
        yield (
            f"{side} has both {both[0][:-2]!r} and {both[0]!r}, which are counted as different "
            "names: read identifiers with dtype=str."
        )
    lists = [name for name in places if _is_list(name, places)]
    if lists and len(lists) >= LEAST_LISTS * len(places):
        yield (
            f"{side} has {lists[0]!r}, and its parts as names: if it is a list, divide it, as by "
            ".str.split() and .explode()."
        )


def _is_list(name: str, names: Container[str]) -> bool:
    parts = [part.strip() for part in SEPARATORS.split(name)]
    return len(parts) > 1 and all(part in names for part in parts)


def _codes(table: CSR) -> str | None:
    """Describe cells that are no counts, as they are times or differ too little; or None."""
    data = without_zeros(table).data
    if len(data) < MIN_PAIRS:
        return None
    low, high = float(data.min()), float(data.max())
    if any(LEAST_TIME * unit <= low and high <= LARGEST_TIME * unit for unit in UNITS):
        return f"numbers from {low:.10g} to {high:.10g}, as times have"
    is_dense = len(data) == math.prod(table.shape) >= MIN_CELLS
    if is_dense and 1 < high <= LARGEST_ANSWER and low == 1 and not (data % 1).any():
        return f"numbers from 1 to {high:g} in all cells, as answers or codes of categories"
    return None


def _may_be_pairs(table: CSR, column_names: Array | None) -> bool:
    """Whether rows may be pairs of numbered things, or such pairs and their counts."""
    n_rows, n_columns = table.shape
    names = [] if column_names is None or n_columns > MOST_FIELDS else column_names.tolist()
    if sum(map(is_name_of_ids, names)) > 1:
        return True
    if n_columns not in (2, 3) or n_rows < MIN_NUMBERED:
        return False
    pairs = table[:, :2].toarray()
    if (pairs % 1).any():
        return False
    if n_columns == 2:
        return True
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
        elif (totals := _totals(table, side, names)) is not None:
            yield (
                f"{('Row', 'Column')[side]} {_name(names, totals[0])} is a total or mean of "
                "others: leave totals and means out."
            )
    n_rows = table.shape[0]
    if n_rows < MIN_LINES:
        return
    first, last = (_line(table, 0, i) for i in (0, n_rows - 1))
    may_rise = (last - first >= n_rows - 1) & (n_rows >= MIN_NUMBERED)
    n_filled = np.bincount(table.indices, minlength=table.shape[1])
    numbered_sums = n_rows * (table.max(axis=0).toarray().ravel() - (n_rows - 1) / 2)
    may_number = (sums[1] == numbered_sums) & (n_rows >= MIN_NUMBERED)  # n, n + 1, ... shuffled
    for j in np.flatnonzero(n_filled >= n_rows - 1).tolist():  # values that differ: at most one 0
        has_name_of_ids = column_names is not None and is_name_of_ids(column_names[j])
        if not (may_rise[j] or may_number[j] or has_name_of_ids):
            continue
        values = _line(table, 1, j)
        rises = may_rise[j] and (np.diff(values) > 0).all()
        differ = len(np.unique(values)) == n_rows
        numbers = may_number[j] and differ and np.ptp(values) == n_rows - 1
        if (rises or numbers or (has_name_of_ids and differ)) and not (values % 1).any():
            yield (
                f"Column {_name(column_names, j)} seems to number or identify the rows, and is "
                "counted. Make it the names of the rows, as by X.set_index(name) or "
                "pandas.read_csv(..., index_col=0), or leave it out."
            )


def _totals(table: CSR, side: int, names: Array | None) -> Array | None:
    """Lines that are named as totals, and together sums or means of all others; or None."""
    if names is None:
        return None
    is_total = np.array([isinstance(n, str) and TOTAL.search(n) is not None for n in names])
    if is_total.all() or not is_total.any():
        return None
    lines = table.T if side else table
    totals = lines[is_total].sum(axis=0)
    others = lines[~is_total].sum(axis=0)
    ratio = float(totals.sum()) / max(float(others.sum()), 1)
    are_totals = ratio > 1 - ROUNDED or math.isclose(ratio * sum(~is_total), 1, rel_tol=ROUNDED)
    if not are_totals or not np.allclose(totals, ratio * others, rtol=ROUNDED, atol=0):
        return None
    return np.flatnonzero(is_total)


def _share_alone(table: CSR) -> float:
    """Share of the tokens in columns that only one row has."""
    n_rows = np.bincount(table.indices[table.data > 0], minlength=table.shape[1])
    sums = table.sum(axis=0, dtype=np.float64)
    return float(sums[n_rows == 1].sum() / max(sums.sum(), 1e-30))


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
        return "counts times weights of columns, such as prices or idf (TfidfVectorizer(norm=None))"
    if np.ptp(data) == 0:
        return None
    for function, inverse in FUNCTIONS.items():
        with np.errstate(over="ignore"):
            if inverse(data.max()) > LARGEST_SHARE:
                continue
        sample.data = inverse(data)
        is_count = data.size and sample.data.max() <= LARGEST_COUNT and _are_whole(sample.data)
        if is_count and np.rint(sample.data).all():
            return function.format("counts")
        if _same_totals(sample):
            return function.format("normalised counts")
    return None


def _are_whole(values: Array) -> bool:
    return np.allclose(values, np.rint(values), rtol=1e-5, atol=1e-4)


def _same_totals(table: CSR) -> str | None:
    """Describe rows that all have the same total; None if totals differ."""
    totals = table.sum(axis=1)[np.diff(table.indptr) > 0]
    rounding = ROUNDED if len(totals) >= MIN_NUMBERED else 1e-4
    if len(totals) < 2 or not np.allclose(totals, np.median(totals), rtol=rounding, atol=0):
        return None
    total = float(np.median(totals))
    is_one = math.isclose(total, 1, rel_tol=1e-3)
    return f"shares of rows, which sum to {'one' if is_one else f'{total:.6g}'}"


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
    is_square = table.shape[0] == table.shape[1] >= MIN_LINES
    if not is_square or table.data.max() > 1 + 1e-6:
        return False
    diagonal = table.diagonal()
    same = np.ptp(diagonal) < 1e-6 and abs(diagonal[0] - np.rint(diagonal[0])) < 1e-6
    return bool(same and abs(table - table.T).max() < 1e-6)
