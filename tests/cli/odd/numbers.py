"""Counts that are none, and matrices."""

import numpy as np
import scipy.sparse as sp

from tests.cli.odd.made import COUNTED, PAIRS, READ_COUNTS, Odd, counts, matrix, table

COUNTS = {
    "decimals.csv": Odd(counts("1.5", "1e1", " 7 ", "+3"), READ_COUNTS),
    "shares.csv": Odd(
        table([COUNTED[0], *((x, y, ".2") for x, y, _ in COUNTED[1:] * 40)]),
        READ_COUNTS,
        whole=True,
    ),
    "decimal_commas.csv": Odd(
        table([COUNTED[0], *((x, y, "0,5") for x, y, _ in COUNTED[1:])], ";"),
        "'0,5' is not a count",
    ),
    "negative.csv": Odd(counts("10", "-2"), "line 3: '-2' is not a count"),
    "nan.csv": Odd(counts("nan"), "line 2: 'nan' is not a count"),
    "inf.csv": Odd(counts("inf"), "line 2: 'inf' is not a count"),
    "infinite_by_digits.csv": Odd(counts("1e999"), "line 2: '1e999' is not a count"),
    "huge_count.csv": Odd(counts("1e308"), "counts sum to 1e+308;"),
    "huge_sum.csv": Odd(counts(*["1e308"] * 12), "counts sum to inf;"),
    "huge_twice.csv": Odd(counts("1e308") + b"x0,y0,1e308\n", "counts must be finite"),
    "too_many.csv": Odd(b"a,b,count\n1,2,5e9\n2,1,1\n", "counts sum to 5000000001;"),
    "tiny.csv": Odd(counts(*["1e-320"] * 12), "counts sum to 12;"),
    "zeros.csv": Odd(counts(*["0"] * 12), "found 0 and 0"),
    "words_as_counts.csv": Odd(counts("many"), "line 2: 'many' is not a count"),
    "dates_as_counts.csv": Odd(counts("2024-05-31"), "'2024-05-31' is not a count"),
    "empty_counts.csv": Odd(table([*COUNTED, ("a", "b", "")]), "line 14: '' is not a count"),
    "thousands.csv": Odd(counts("1,000"), "'1,000' is not a count"),
    "huge_digits.csv": Odd(counts("9" * 10_000), "is not a count"),
    "few.csv": Odd(b"a,b\n1,2\n2,1\n", "counts sum to 2;"),
    "one_row.csv": Odd(
        b"a,b,count\n1,2,500\n1,3,500\n",
        "need at least 2 values of a and 2 values of b with counts; found 1 and 2",
    ),
    "negative.npz": Odd(matrix(data=-1), "negative counts, such as -1"),
    "negative.mtx": Odd(matrix(data=-1), "negative counts, such as -1"),
    "inf.npz": Odd(matrix(data=np.inf), "counts must be finite"),
    "nan.mtx": Odd(matrix(data=np.nan), "counts must be finite"),
    "complex.npz": Odd(lambda path: sp.save_npz(path, sp.eye_array(9) * 1j), "complex numbers"),
    "words.txt": Odd(b"the and of\n1 2 3\n", "no words are left in 2 documents"),
    "nan.npz": Odd(matrix(data=np.nan), "counts must be finite"),
    "inf.mtx": Odd(matrix(data=np.inf), "counts must be finite"),
    "huge.npz": Odd(matrix(data=1e308), "counts sum to 1e+308;"),
    "wild.npz": Odd(matrix(indices=-1), "not a sparse matrix of SciPy"),
    "pickle.npz": Odd(lambda path: np.savez(path, X=np.array([{}], dtype=object)), "not a sparse"),
    "dense.npz": Odd(lambda path: np.savez(path, X=np.eye(3)), "not a sparse matrix"),
    "empty.npz": Odd(
        lambda path: sp.save_npz(path, sp.csr_array((0, 0))),
        "need at least 2 rows and 2 columns with counts; found 0 and 0",
    ),
    "giant.mtx": Odd(
        b"%%MatrixMarket matrix coordinate integer general\n999999999 999999999 1\n1 1 9\n",
        "a matrix of 999999999 x 999999999",
    ),
    "promise.mtx": Odd(
        b"%%MatrixMarket matrix coordinate integer general\n9 9 99999999999999\n1 1 9\n",
        "not enough memory",
        code=1,
    ),
    "cut.mtx": Odd(
        b"%%MatrixMarket matrix coordinate real general\n2 2 9\n1 1", "not in Matrix Market"
    ),
    "text.npz": Odd(b"no archive", "not a sparse matrix of SciPy"),
    "good.mtx": Odd(matrix(), "30 rows, 20 columns", whole=True),
    "names_of_records.csv": Odd(
        table(PAIRS), "--row-names applies to matrices", ("--row-names", "x.txt")
    ),
    "limits_of_pairs.csv": Odd(table(PAIRS), "--min-df applies to texts", ("--min-df", "2")),
    "limits_of_counts.npz": Odd(matrix(), "--max-df applies to texts", ("--max-df", "2")),
    "columns_of_counts.npz": Odd(
        matrix(), "--text applies to files with named columns", ("--text", "a")
    ),
}
