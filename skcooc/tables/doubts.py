"""Tables that seem to hold something else than counts, and what to do about it."""

from __future__ import annotations

import math
import re
from collections.abc import Container, Iterator
from itertools import takewhile

import numpy as np

from skcooc.counts import without_zeros
from skcooc.protocol import CSR, Array
from skcooc.tables.names import is_name_of_ids, is_name_of_measure

CHECKED_ROWS = 300  # of tables that may hold no counts
LARGEST_COUNT, LARGEST_SHARE = 8e3, 1.2e6  # of counts, and of shares, whose logarithms are taken
BASES = {"log": math.e, "log2": 2, "log10": 10}  # of logarithms
ROUNDED = 0.01  # relative error of sums of rounded numbers
COMMAND = ", or --drop NAME on the command line"
MIN_LINES = 3  # rows or columns, of which one may be too large
LARGEST_LINE, MIN_CELLS = 0.9, 30  # share of all tokens in one of them; cells from which on
MIN_TOTALS = 3  # counts in a row or column from which on sums of all others are no accident
MIN_NUMBERED = 10  # rows from which on a column that numbers them is no accident
MIN_PAIRS = 30  # rows from which on pairs of counts that are all different are no accident
MOST_FIELDS = 10  # columns of a frame of pairs
MIN_ANSWERS, LARGEST_ANSWER = 300, 7  # cells from which on small counts without a zero are answers
MIN_WITH_MISSING, MISSING_ANSWERS = 1000, 0.1  # cells, and zeros to a cell, if some are missing
LARGEST_SHARE_ALONE, MIN_ROWS_ALONE = 0.9, 30  # of tokens; texts have 0.2, 30 short titles 0.75
MISSING_AS_STRINGS = {"nan", "NaN", "None", "<NA>", "NaT"}
MIN_MISSING, MIN_LISTS = 0.001, 0.05  # share of pairs that are missing, of names that are lists
SEPARATORS = re.compile(r"[,;|]")


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
    >>> list(doubts(sparse.csr_array([[9.0, 3, 5], [6, 1, 3], [3, 2, 2]])))
    ['Row 0 is the sum of all others: leave totals out (margins=False in pandas.crosstab).']
    """
    if not table.nnz:
        return
    if kind := transformed(table):
        yield (
            f"X holds {kind}. The models need counts: perplexity, smoothing and the temperature "
            "are meaningful only for numbers of tokens. Give the counts themselves: for texts, "
            "those of CountVectorizer or HashingVectorizer(norm=None)."
        )
    elif measurements := _measurements(table, column_names):
        names = ", ".join(_name(column_names, j) for j in measurements)
        yield (
            f"Columns that may hold measurements are read as counts: {names}. If they are "
            "measurements, leave them out."
        )
    column_sums = table.sum(axis=0, dtype=np.float64)
    n_tokens = f"{column_sums.sum():,.10g}"
    if _may_be_answers(table):
        yield (
            f"X holds numbers from 1 to {table.data.max():g} in nearly all cells, read as "
            f"counts of {n_tokens} tokens. If they are answers or codes of categories, count these "
            "with scikit-learn's OneHotEncoder."
        )
    has_texts = row_names is not None and any(isinstance(name, str) for name in row_names.tolist())
    if not (of_tokens or has_texts) and _may_be_pairs(table, column_names):
        yield (
            f"X has {table.shape[1]} columns of numbers, which are read as counts of {n_tokens} "
            "tokens. If its rows are pairs, such as user and item, give Dyads.from_pairs(*X.T), or "
            "Dyads.from_frame."
        )
    identifiers = _identifiers(table, column_names, column_sums)
    for j in identifiers:
        yield (
            f"Column {_name(column_names, j)} seems to number or identify the rows, but is read "
            "as counts. Make it the names of the rows, with X.set_index(name) or "
            "pandas.read_csv(..., index_col=0), or leave it out."
        )
    row_sums = table.sum(axis=1, dtype=np.float64)
    yield from _wrong_line("Row", table, row_names, row_sums, column_sums)
    if column_sums.argmax() not in identifiers:
        yield from _wrong_line("Column", table.T, column_names, column_sums, row_sums)
    share = column_sums[_n_rows_with(table) == 1].sum() / max(column_sums.sum(), 1e-30)
    if share > LARGEST_SHARE_ALONE and table.shape[0] >= MIN_ROWS_ALONE:
        yield (
            f"{100 * share:.0f} % of the tokens of X are in columns that occur in one row only, "
            "so rows have almost nothing in common. If X counts words, separate them by blanks, as "
            "a tokenizer does, or count pairs of letters with CountVectorizer(analyzer='char', "
            "ngram_range=(2, 2)). If columns are exact values, such as times or amounts, group "
            "them into classes."
        )
    if _is_one_half(table, row_names, column_names):
        yield (
            "All counts of X are on one side of its diagonal. If pairs have no direction, such as "
            "pairs of words or edges that are listed once, the other half is missing: give "
            "X + X.T, or list each pair in both directions."
        )


def doubts_about_names(names: Array, n_pairs: Array, side: str) -> Iterator[str]:
    """Messages on distinct names, of so many pairs, that seem misspelt, missing or lists of names.

    >>> next(doubts_about_names(np.array(["nan", "tea"]), np.array([2, 7]), "columns"))
    "columns has the name 'nan', as if missing values became strings: leave them out with dropna()."
    """
    places = {name: i for i, name in enumerate(names.tolist()) if isinstance(name, str)}
    for name in MISSING_AS_STRINGS & places.keys():
        if n_pairs[places[name]] >= MIN_MISSING * n_pairs.sum():  # else it may be a word
            yield (
                f"{side} has the name {name!r}, as if missing values became strings: leave them "
                "out with dropna()."
            )
    for name in places:
        if name != name.strip() and name.strip() in places:
            yield (
                f"{side} has both {name.strip()!r} and {name!r}, which are counted as different "
                "names: remove blanks with .str.strip()."
            )
            break
    lists = [name for name in places if _is_list(name, places)]
    if lists and len(lists) >= MIN_LISTS * len(places):
        yield (
            f"{side} has the name {lists[0]!r}, and its parts are names as well: if it is a list, "
            "split it with .str.split() and .explode()."
        )


def _is_list(name: str, names: Container[str]) -> bool:
    parts = [part.strip() for part in SEPARATORS.split(name)]
    return len(parts) > 1 and all(part in names for part in parts)


def _may_be_answers(table: CSR) -> bool:
    """Whether all cells hold integers from 1 to a few, but for missing ones in a large table."""
    data = table.data
    n_missing = math.prod(table.shape) - len(data)
    minimum = MIN_ANSWERS if n_missing == 0 else MIN_WITH_MISSING
    if len(data) < minimum or n_missing > MISSING_ANSWERS * len(data):
        return False
    return data.min() == 1 < data.max() <= LARGEST_ANSWER and _are_integers(data)


def _may_be_pairs(table: CSR, column_names: Array | None) -> bool:
    """Whether rows may be pairs of numbered things, or such pairs and their counts."""
    n_rows, n_columns = table.shape
    names = [] if column_names is None or n_columns > MOST_FIELDS else column_names.tolist()
    if sum(map(is_name_of_ids, names)) > 1:
        return True
    if n_columns not in (2, 3) or n_rows < MIN_PAIRS:
        return False
    pairs = table[:, :2].toarray()
    if not _are_integers(pairs) or pairs.max() < MIN_NUMBERED:
        return False
    if n_columns == 2:
        return True
    n_values = max(len(np.unique(values)) for values in pairs.T)
    return 2 * n_values <= n_rows and len(np.unique(pairs, axis=0)) == n_rows


def _identifiers(table: CSR, names: Array | None, sums: Array) -> list[int]:
    """Columns that number or identify the rows: by their names, or the first or last by its values.

    These are n, n + 1, ... in any order, or rise. In other columns that may be growth.
    """
    n_rows, n_columns = table.shape
    if n_rows < MIN_NUMBERED:
        return []
    columns = []
    for j in np.flatnonzero(sums >= n_rows * (n_rows - 1) / 2).tolist():  # of different integers
        has_name = names is not None and is_name_of_ids(names[j])
        if not has_name and j not in (0, n_columns - 1):
            continue
        values = table[:, [j]].toarray().ravel()
        steps = np.diff(np.sort(values))
        if not _are_integers(values) or not steps.all():
            continue
        if has_name or steps.max() == 1 or (np.diff(values) > 0).all():
            columns.append(j)
    return columns


def _measurements(table: CSR, names: Array | None) -> list[int]:
    """Columns that may be measurements: by their names, at the ends of the table, or by fractions.

    At the ends of a sorted vocabulary may be any word, but they do not begin alike, as "site_01"
    and "site_02". There are fractions in a few columns, and in most of their cells.
    """
    listed = [] if names is None else names.tolist()
    if all(isinstance(name, str) for name in listed):
        columns = range(len(listed))
        named = {
            j
            for ends in (columns, columns[::-1])
            for j in takewhile(lambda j: is_name_of_measure(listed[j]), ends)
        }
        others = [name for j, name in enumerate(listed) if j not in named]
        is_vocabulary = listed == sorted(listed) and len({name[:1] for name in others}) > 1
        if named and others and not is_vocabulary:
            return sorted(named)
    n_cells = np.bincount(table.indices, table.data != 0, minlength=table.shape[1])
    is_fraction = table.data != np.rint(table.data)
    n_fractions = np.bincount(table.indices, is_fraction, minlength=table.shape[1])
    fractional = np.flatnonzero(n_fractions)
    if 2 * len(fractional) >= np.count_nonzero(n_cells) or len(fractional) > MOST_FIELDS:
        return []
    is_measured = 2 * n_fractions[fractional] >= n_cells[fractional]
    return fractional.tolist() if is_measured.all() else []


def _wrong_line(
    side: str, lines: CSR, names: Array | None, sums: Array, sums_across: Array
) -> Iterator[str]:
    """Messages on the largest row, or column, if it is the sum of all others or far larger."""
    if len(sums) < MIN_LINES:
        return
    i = int(sums.argmax())
    total = sums.sum()
    if sums[i] > LARGEST_LINE * total and lines.nnz >= MIN_CELLS:
        yield (
            f"{side} {_name(names, i)} has {100 * sums[i] / total:.3g} % of all tokens, "
            f"{sums[i]:,.10g} of {total:,.10g}, so that the model describes little else. If it is "
            "a total or an identifier, leave it out."
        )
    elif math.isclose(2 * sums[i], total, rel_tol=1e-6):
        line = lines[[i]].toarray().ravel()
        if np.count_nonzero(line) >= MIN_TOTALS and np.allclose(2 * line, sums_across, rtol=1e-5):
            yield (
                f"{side} {_name(names, i)} is the sum of all others: leave totals out "
                f"(margins=False in pandas.crosstab{COMMAND if side == 'Column' else ''})."
            )


def _n_rows_with(table: CSR) -> Array:
    """Return the number of rows with counts in each column, (M,)."""
    return np.bincount(without_zeros(table).indices, minlength=table.shape[1])


def _name(names: Array | None, position: int) -> str:
    return str(position) if names is None else repr(names.tolist()[position])


def _is_one_half(table: CSR, row_names: Array | None, column_names: Array | None) -> bool:
    """Whether rows and columns are the same things, and all counts are above, or below, a diagonal.

    Things listed in pairs, each once, need not be on both sides: they are compared by their names.
    """
    n_rows, n_columns = table.shape
    row_places = np.arange(n_rows)
    column_places = np.arange(n_columns)
    min_cells = MIN_NUMBERED
    if row_names is not None and column_names is not None:
        rows = row_names.tolist()
        columns = column_names.tolist()
        names = {*rows, *columns}
        n_common = len({*rows}) + len({*columns}) - len(names)
        if 2 * n_common < len(names) or len(set(map(type, names))) > 1:
            return False
        order = {name: place for place, name in enumerate(sorted(names))}
        row_places = np.array([order[name] for name in rows])
        column_places = np.array([order[name] for name in columns])
        min_cells = MIN_LINES
    elif n_rows != n_columns:
        return False
    i, j = table.nonzero()
    signs = np.sign(row_places[i] - column_places[j])
    signs = signs[signs != 0]
    return len(signs) >= min_cells and bool((signs == signs[0]).all())


def transformed(table: CSR) -> str | None:
    """Describe what the table seems to hold instead of counts; None if it may hold counts.

    >>> from scipy import sparse
    >>> transformed(sparse.csr_array([[0.6, 0.8], [0.0, 1.0]]))
    'rows of length one, as TfidfVectorizer makes them'
    """
    sample = without_zeros(table[:CHECKED_ROWS]).astype(np.float64)
    data = sample.data
    if _are_integers(data):
        return None
    if _is_similarity(table):
        return "a symmetric matrix with a constant diagonal, such as similarities or distances"
    lengths = np.sqrt(sample.power(2).sum(axis=1))[np.diff(sample.indptr) > 0]
    if len(lengths) > 1 and np.allclose(lengths, 1, atol=1e-4):
        return "rows of length one, as TfidfVectorizer makes them"
    if kind := _same_totals(sample):
        return kind
    if table.shape == sample.shape and math.isclose(data.sum(), 1, abs_tol=1e-4):
        return "shares of all tokens, which sum to one"
    if _has_column_weights(sample):
        return "counts times weights of columns, such as prices or idf (TfidfVectorizer(norm=None))"
    if np.ptp(data) == 0:
        return None
    for logarithm, base in BASES.items():
        if data.max() > math.log(LARGEST_SHARE, base):
            continue
        counts = np.expm1(math.log(base) * data)
        if counts.max() <= LARGEST_COUNT and _are_whole(counts) and np.rint(counts).all():
            return f"logarithms of counts, {logarithm}(1 + n)"
        sample.data = counts
        if _same_totals(sample):
            return f"logarithms of normalised counts, {logarithm}(1 + n)"
    return None


def _are_integers(values: Array) -> bool:
    return bool((values == np.rint(values)).all())


def _are_whole(values: Array) -> bool:
    """Whether values are integers but for rounding."""
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
    is_constant = np.ptp(diagonal) < 1e-6 and abs(diagonal[0] - np.rint(diagonal[0])) < 1e-6
    return bool(is_constant and abs(table - table.T).max() < 1e-6)
