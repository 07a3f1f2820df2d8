"""Tables as pandas, R, spreadsheets and programs of the field write them."""

import gzip
import io

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.io
import scipy.sparse as sp

from skcooc.cli import read_counts
from skcooc.cli.texts import InputError
from tests.cli.odd import DOCUMENTS
from tests.tables import refused

RNG = np.random.default_rng(0)
COUNTS = RNG.poisson(2.0, (40, 12))
COLUMNS = [f"s{j}" for j in range(12)]
NAMES = [f"taxon {i}" for i in range(40)]
FRAME = pd.DataFrame(COUNTS, columns=COLUMNS, index=pd.Index(NAMES, name="taxon"))
LINEAGES = [f"k__Bacteria; p__P{i % 5}; c__C{i % 7}; o__O; f__F; g__G{i}" for i in range(40)]
USERS = RNG.integers(1, 31, 2000)
FILMS = USERS % 3 * 5 + RNG.integers(1, 6, 2000)
PLAYS = pd.DataFrame({"user": USERS, "film": FILMS}).value_counts().rename("plays").reset_index()
CROSSTAB = pd.crosstab(pd.Series(USERS, name="user"), pd.Series(FILMS, name="film"))


def csv(frame, **options):
    return frame.to_csv(**options).encode()


def parquet(frame):
    out = io.BytesIO()
    frame.to_parquet(out)
    return out.getvalue()


@pytest.fixture
def read(tmp_path):
    """Write a file, and read it by the command line."""

    def table(name, content, **options):
        (tmp_path / name).write_bytes(content)
        return read_counts(tmp_path / name, **options)

    return table


def assert_is_frame(table, names=tuple(NAMES), counts=COUNTS):
    np.testing.assert_array_equal(table.X.toarray(), counts)
    assert list(table.row_names) == list(names)
    assert list(table.column_names) == COLUMNS


@pytest.mark.parametrize(
    "name", ["#OTU ID", "user_id", "userId", "gene_id", "ID", "Unnamed: 0", "", "index"]
)
def test_numbers_below_the_name_of_an_identifier_name_the_rows(read, name):
    frame = FRAME.set_axis(range(100, 140)).rename_axis(name)
    assert_is_frame(read("a.csv", csv(frame)), map(str, range(100, 140)))
    if len(name) > 2 and name != "index":  # as words may be called, too
        last = frame.reset_index()[[*COLUMNS, name]]
        assert_is_frame(read("b.csv", csv(last, index=False)), map(str, range(100, 140)))


def test_numbers_that_may_be_names_are_neither_counted_nor_taken_for_names(read):
    message = "'user' may hold names instead of counts .*--names user .*--matrix .*--drop user"
    shuffled = RNG.permutation(5000)[:40]
    for values in (range(40), shuffled, -np.arange(40), np.arange(40.0), range(20240101, 20240141)):
        first = FRAME.reset_index(drop=True)
        first.insert(0, "user", list(values))
        last = first[[*COLUMNS, "user"]]
        for frame in (first, last):
            content = csv(frame, index=False)
            refused(message, read, "a.csv", content, error=InputError)
            assert_is_frame(read("a.csv", content, names="user"), map(str, values))
            assert_is_frame(read("a.csv", content, drop=["user"]), [f"row {i}" for i in range(40)])
    counted = read("a.csv", csv(CROSSTAB), matrix=True)
    assert counted.X.shape == (30, 16)
    assert counted.column_names[0] == "user"


def test_years_in_the_first_column_name_rows_and_two_columns_that_may_are_refused(read):
    for name in ("year", "Year"):
        years = FRAME.set_axis(range(1980, 2020)).rename_axis(name)
        assert_is_frame(read("a.csv", csv(years)), map(str, range(1980, 2020)))
    levels = pd.MultiIndex.from_product([range(8), range(5)], names=["user", "week"])
    message = (
        "'user', 'week' may name the rows together.* leave them out with --drop user --drop week"
    )
    refused(message, read, "a.csv", csv(FRAME.set_axis(levels)), error=InputError)
    assert_is_frame(read("a.csv", csv(FRAME.set_axis(levels.map("{0[0]}-{0[1]}".format)))),
                    [f"{a}-{b}" for a, b in levels])  # fmt: skip


def test_identifiers_that_repeat_ranks_and_tables_of_few_numbers_are_not_counted(read):
    wards = FRAME.assign(PatientID=np.arange(40) // 2)
    refused("'PatientID' may hold names", read, "a.csv", csv(wards), error=InputError)
    assert_is_frame(read("a.csv", csv(wards), drop=["PatientID"]))
    ranked = FRAME[:20].assign(rank=RNG.permutation(20) + 1)
    refused("'rank' may hold names", read, "a.csv", csv(ranked), error=InputError)
    plots = [f"{i // 4}_{i % 4}" for i in range(40)]  # 1_2 is no 12
    assert_is_frame(read("a.csv", csv(FRAME.set_axis(plots).rename_axis("plot"))), plots)
    houses = FRAME.reset_index(drop=True).rename_axis("house")
    words = {f"kind {j}": RNG.choice(["a", "b"], 40) for j in range(15)}
    message = "each value of 'house' occurs only once"
    refused(message, read, "a.csv", csv(houses.assign(**words)), error=InputError)


def test_an_index_in_parquet_names_rows_and_pairs(read, monkeypatch):
    for backend in ("pyarrow", "polars"):
        if backend == "polars":
            name = "skcooc.cli.records.PARQUET"
            monkeypatch.setattr(name, {"polars.exceptions": "PolarsError"})
        assert_is_frame(read("a.parquet", parquet(FRAME)))
        shuffled = FRAME.set_axis(RNG.permutation(40))
        for frame in (shuffled, shuffled.rename_axis("user")):
            assert_is_frame(read("a.parquet", parquet(frame)), map(str, shuffled.index))
        unnamed = FRAME.reset_index(drop=True)
        assert_is_frame(read("a.parquet", parquet(unnamed)), [f"row {i}" for i in range(40)])
        expected = read("b.csv", csv(PLAYS, index=False))
        for frame in (PLAYS.sample(frac=1.0), PLAYS.set_index(["user", "film"])):
            table = read("b.parquet", parquet(frame))
            np.testing.assert_array_equal(table.X.toarray(), expected.X.toarray())
            assert table.notes == expected.notes
    out = io.BytesIO()
    pl.from_pandas(FRAME.assign(user=range(40))).write_parquet(out)
    refused("--names user", read, "a.parquet", out.getvalue(), error=InputError)


def test_columns_of_texts_beside_counts_are_names_or_left_out(read):
    taxonomy = FRAME.assign(taxonomy=LINEAGES)
    table = read("a.csv", csv(taxonomy))
    assert_is_frame(table)
    assert table.notes == ("rows are named by 'taxon'", "left out: 'taxonomy'")
    for content in (csv(taxonomy.reset_index()), b"Unnamed: 0" + csv(taxonomy.reset_index())):
        assert_is_frame(read("a.csv", content))
    assert_is_frame(read("a.parquet", parquet(taxonomy.reset_index()[::-1])), NAMES[::-1],
                    COUNTS[::-1])  # fmt: skip
    few = read("a.csv", csv(taxonomy[["s0", "s1", "s2", "taxonomy"]]))
    np.testing.assert_array_equal(few.X.toarray(), COUNTS[:, :3])
    days = pd.date_range("2024-01-01", periods=40).strftime("%Y-%m-%d")
    assert_is_frame(read("a.csv", csv(FRAME.assign(day=days), index=False)), days)
    sites = FRAME.reset_index(drop=True)
    sites.insert(0, "plot", [f"p{i % 4}" for i in range(40)])
    sites.insert(0, "site", [f"s{i // 4}" for i in range(40)])
    table = read("a.csv", csv(sites, index=False))
    assert_is_frame(table, [f"s{i // 4}, p{i % 4}" for i in range(40)])
    assert table.notes == ("rows are named by 'site', 'plot'",)
    table = read("a.csv", csv(sites, index=False), drop=["plot"])
    assert table.notes == ("rows are named by 'site', where 30 names are repeated",)
    texts = csv(FRAME.assign(body=[text * 2 for text in DOCUMENTS + DOCUMENTS[:10]]))
    message = "12 columns of numbers, but also texts in 'body': give --text body"
    refused(message, read, "a.csv", texts, error=InputError)
    assert read("a.csv", texts, text="body").texts is not None
    assert_is_frame(read("a.csv", texts, matrix=True))


def test_tables_of_few_columns_are_matrices_if_they_can_be_nothing_else(read):
    small = FRAME[["s0", "s1", "s2"]]
    table = read("a.csv", csv(small))
    np.testing.assert_array_equal(table.X.toarray(), small)
    assert table.row_names == NAMES
    message = "pairs or a matrix of counts: .*--row s0 --column s1, or give --matrix"
    content = csv(FRAME[COLUMNS[:4]], index=False)
    refused(message, read, "a.csv", content, error=InputError)
    assert read("a.csv", content, matrix=True).X.shape == (40, 4)
    by_name = pd.crosstab(pd.Series(USERS, name="user").map("u{}".format), FILMS)
    assert read("a.csv", csv(by_name)).X.shape == by_name.shape
    transposed = read("a.csv", csv(small), transpose=True)
    np.testing.assert_array_equal(transposed.X.toarray(), small.T)
    assert transposed.column_names == NAMES
    pairs = csv(PLAYS, index=False)
    assert read("a.csv", pairs).X.sum() == len(PLAYS)
    refused("--matrix applies to matrices only, and --row does not", read, "a.csv", pairs,
            matrix=True, row="user", error=InputError)  # fmt: skip


def test_measurements_totals_and_what_only_looks_like_numbers(read):
    measured = FRAME.assign(pH=6.5, depth=-3, year=range(1990, 2030), wet=[True, False] * 20)
    message = "'pH', 'depth', 'wet' may hold measurements .*--drop pH --drop depth --drop wet,"
    content = csv(measured.drop(columns="year"))
    refused(message, read, "a.csv", content, error=InputError)
    assert_is_frame(read("a.csv", content, drop=["pH", "depth", "wet"]))
    refused("'year'", read, "a.csv", csv(FRAME.assign(year=2024)), error=InputError)
    refused("'label'", read, "a.csv", csv(FRAME.assign(label=3)), error=InputError)
    words = FRAME.rename(columns={"s4": "year", "s5": "id", "s6": "time"})  # amid other words
    np.testing.assert_array_equal(read("a.csv", csv(words)).X.toarray(), COUNTS)
    for name in ("All", "Total"):
        totals = FRAME.assign(**{name: COUNTS.sum(axis=1)})
        totals.loc[name] = totals.sum()
        table = read("a.csv", csv(totals))
        assert_is_frame(table)
        assert f"left out: the column '{name}', because it holds totals" in table.notes
        assert f"left out: the row '{name}', because it holds totals" in table.notes
    for wrong in ("1,234", "1.234,5", "0,5", "12%", "12 %", "NA", "nan", "-"):
        for where in (slice(None), slice(3)):
            frame = FRAME.astype(object)
            frame.iloc[where, 2] = wrong
            refused(f"line 2: '{wrong}' in column 's2' is not a number", read, "a.csv", csv(frame),
                    error=InputError)  # fmt: skip
    np.testing.assert_array_equal(read("a.csv", csv(FRAME > 0)).X.toarray(), COUNTS > 0)


def test_columns_of_pairs_that_are_not_used_are_reported_and_an_index_is_none(read):
    note = "not used: 'plays'; if 'plays' holds counts, give --count plays"
    expected = read("a.csv", csv(PLAYS, index=False))
    assert expected.notes == (note,)
    indexed = csv(PLAYS)
    for content in (indexed, b"Unnamed: 0" + indexed):
        table = read("a.csv", content)
        assert table.kinds == ("values of user", "values of film")
        assert table.notes == (note,)
    rated = csv(PLAYS.assign(rating=3, timestamp=8), index=False)
    assert read("a.csv", rated, row="user", column="film").notes == (
        "not used: 'plays', 'rating', 'timestamp'; if 'plays' holds counts, give --count plays",
    )
    assert read("a.csv", indexed, count="plays").notes == ()


def test_files_without_a_header_line_are_refused_and_read_with_header(read):
    numbers = PLAYS.assign(time=881250949 + RNG.integers(0, 999, len(PLAYS)))
    tabs = csv(numbers, sep="\t", header=False, index=False)
    named = PLAYS.assign(user="u" + PLAYS.user.astype(str), film="f" + PLAYS.film.astype(str))
    expected = read("a.csv", csv(PLAYS, index=False), count="plays").X.toarray()
    comments = b"# Nodes: 30\n# Edges: 2000\n"
    commas = csv(named, header=False, index=False)
    for name, content, header in (
        ("u.data", tabs, "user,item,plays,time"),
        ("ratings.dat", tabs.replace(b"\t", b"::"), "user,item,plays,time"),
        ("u.csv", csv(PLAYS, header=False, index=False), "user,item,plays"),
        ("a.edgelist", comments + csv(named, sep=" ", header=False, index=False), "a,b,plays"),
        ("named.csv", commas, "user,item,plays"),
    ):
        message = "does not look like a header with the names of the columns: add a header, or"
        refused(message, read, name, content, error=InputError)
        table = read(name, content, header=header, count="plays")
        assert table.X.shape == expected.shape
        assert table.X.sum() == expected.sum()
    snap = (
        comments
        + b"# from\tto\n"
        + csv(PLAYS[["user", "film"]], sep="\t", header=False, index=False)
    )
    assert read("snap.txt", snap).X.sum() == len(PLAYS)
    assert read("snap.txt", snap, header="user,film").X.sum() == len(PLAYS)
    dense = csv(FRAME, header=False, index=False)
    refused("--header none for a matrix", read, "a.csv", dense, error=InputError)
    np.testing.assert_array_equal(read("a.csv", dense, header="none").X.toarray(), COUNTS)
    large = csv(FRAME.reset_index(drop=True) * 97 + RNG.permutation(12), header=False, index=False)
    refused("does not look like a header", read, "a.csv", large, error=InputError)
    labelled = "\n".join(f"{('ham', 'spam')[i % 2]}\t{d}" for i, d in enumerate(DOCUMENTS)).encode()
    refused("does not look like a header", read, "sms.txt", labelled, error=InputError)
    table = read("sms.txt", labelled, header="label,text", group="label")
    assert table.X.shape == (30, 15)
    assert table.groups.tolist()[:2] == ["ham", "spam"]
    numbered = "\n".join(f"d{i}\t{d}" for i, d in enumerate(DOCUMENTS)).encode()
    refused("does not look like a header", read, "mallet.txt", numbered, error=InputError)


def test_tables_of_programs_and_spreadsheets(read):
    tabs = csv(FRAME.assign(taxonomy=LINEAGES).rename_axis("#OTU ID"), sep="\t")
    assert_is_frame(read("otus.txt", b"# Constructed from biom file\n" + tabs))
    assert_is_frame(read("otus.tsv.gz", gzip.compress(b"# Constructed from biom file\n" + tabs)))
    assert_is_frame(read("otus.csv", csv(FRAME.rename_axis("#OTU ID"), sep=";")))
    shared = FRAME.reset_index(names="Group")
    shared.insert(1, "numOtus", 12)
    shared.insert(0, "label", 0.03)
    message = "may hold measurements or labels, not counts: leave them out with --drop {},"
    content = csv(shared, sep="\t", index=False)
    options = "label --drop numOtus"
    refused(message.format(options), read, "a.shared", content, error=InputError)
    assert_is_frame(read("a.shared", content, drop=["label", "numOtus"]))
    features = FRAME.reset_index(names="Geneid")
    for name, value in (("Length", 900), ("Strand", "+"), ("End", 999), ("Start", 99), ("Chr", 1)):
        features.insert(1, name, value)
    content = b'# Program:featureCounts v2.0; Command:"a" "b"\n' + csv(
        features, sep="\t", index=False
    )
    options = "Chr --drop Start --drop End --drop Length"
    refused(message.format(options), read, "counts.txt", content, error=InputError)
    assert_is_frame(read("counts.txt", content, drop=["Chr", "Start", "End", "Length"]))
    of_r = ",".join(COLUMNS) + "\n" + FRAME.to_csv(header=False)  # the header has a field less
    assert_is_frame(read("r.csv", of_r.encode()))
    spaces = FRAME.set_axis([name.replace(" ", "") for name in NAMES])
    of_r = " ".join(f'"{c}"' for c in COLUMNS) + "\n" + spaces.to_csv(header=False, sep=" ")
    assert_is_frame(read("r.txt", of_r.encode()), spaces.index)
    lines = csv(FRAME).decode().splitlines()
    assert_is_frame(read("ends.csv", "\n".join([lines[0], *(f"{x}," for x in lines[1:])]).encode()))
    assert_is_frame(read("blank.csv", "\n".join(f"{line},," for line in lines).encode()))


def test_bags_of_words_and_dense_arrays(read, tmp_path):
    i, j = COUNTS.nonzero()
    triples = "".join(f"{a + 1} {b + 1} {COUNTS[a, b]}\n" for a, b in zip(i, j, strict=True))
    content = f"40\n12\n{len(i)}\n{triples}".encode()
    table = read("docword.x.txt", content)
    np.testing.assert_array_equal(table.X.toarray(), COUNTS)
    assert "give --row-names FILE and --column-names FILE" in table.notes[0]
    (tmp_path / "vocab.x.txt").write_text("\n".join(COLUMNS) + "\n")
    assert read("docword.x.txt", content).column_names == COLUMNS
    assert read("docword.x.txt.gz", gzip.compress(content)).column_names == COLUMNS
    refused("the third line announces", read, "docword.x.txt", content[:-9], error=InputError)
    wrong = content.replace(b"\n40 ", b"\n41 ")
    refused(
        "must be numbered from 1 to 40, and words from 1 to 12",
        read,
        "docword.x.txt",
        wrong,
        error=InputError,
    )
    np.save(tmp_path / "a.npy", COUNTS)
    np.testing.assert_array_equal(read_counts(tmp_path / "a.npy").X.toarray(), COUNTS)
    np.save(tmp_path / "a.npy", COUNTS.astype(str))
    refused("not numbers", read_counts, tmp_path / "a.npy", error=InputError)
    np.save(tmp_path / "a.npy", COUNTS[0])
    refused("an array of 1 dimensions", read_counts, tmp_path / "a.npy", error=InputError)
    refused("not an array of NumPy", read, "b.npy", b"text", error=InputError)


def test_files_of_names_have_columns_quotes_and_the_length_of_a_side(tmp_path):
    path = tmp_path / "matrix.mtx"
    scipy.io.mmwrite(path, sp.coo_array(COUNTS.T))  # genes in rows, as 10x writes it
    barcodes = tmp_path / "barcodes.tsv"
    barcodes.write_text("".join(f"{name}-1\n" for name in NAMES))
    genes = tmp_path / "features.tsv"

    def read(content, **options):
        genes.write_bytes(content.encode())
        return read_counts(path, column_names=genes, transpose=True, **options)

    lines = [f"ENSG{j}\tG{j}\tGene Expression\n" for j in range(12)]
    table = read("".join(lines), row_names=barcodes)
    np.testing.assert_array_equal(table.X.toarray(), COUNTS)
    assert table.column_names == [f"G{j}" for j in range(12)]
    assert table.row_names[0] == "taxon 0-1"
    assert f"columns are named by {genes}, column 2 of 3" in table.notes
    repeated = "".join(f"ENSG{j}\tG{j // 2}\tGene Expression\n" for j in range(12))
    assert read(repeated).column_names == [f"ENSG{j}" for j in range(12)]
    quoted = "\ufeff" + "".join(f'"{name}"\r\n' for name in COLUMNS)
    assert read(quoted).column_names == COLUMNS
    refused("13 names, but .* 12 columns: is its first line, 'word', a header", read,
            "\n".join(["word", *COLUMNS]), error=InputError)  # fmt: skip
    refused("11 names, but .* 12 columns: is a line missing", read, "\n".join(COLUMNS[1:]),
            error=InputError)  # fmt: skip
    refused("40 names, but the matrix has 12 rows and 40 columns: give --transpose", read_counts,
            path, row_names=barcodes, error=InputError)  # fmt: skip


def test_the_report_says_what_was_read(run, tmp_path):
    path = tmp_path / "otus.csv"
    FRAME.assign(taxonomy=LINEAGES).to_csv(path)
    out = run(path, "--beta", ".9", "--drop", "s0", "--drop", "s1")
    line = " ".join(out.split())
    assert line.startswith(f"{path}, a matrix of 40 x 10 40 rows, 10 columns, ")
    assert "\n  rows are named by 'taxon'\n  left out: 'taxonomy'\n" in out
    assert f"read_counts('{path}', drop=['s0', 's1'])" in out


def test_totals_are_left_out_wherever_they_are_and_partial_ones_refused(read):
    totals = FRAME.copy()
    totals.insert(0, "Total", COUNTS.sum(axis=1))
    totals = pd.concat([pd.DataFrame([totals.sum()], index=["Everywhere"]), totals])
    table = read("a.csv", csv(totals))
    assert_is_frame(table)
    assert "left out: the column 'Total', because it holds totals" in table.notes
    assert "left out: the row 'Everywhere', because it holds totals" in table.notes
    valid = FRAME.copy()
    valid.insert(0, "Valid votes", COUNTS.sum(axis=1))
    valid.insert(0, "Registered", COUNTS.sum(axis=1) + 9)
    for frame in (valid, valid[[*COLUMNS, "Valid votes", "Registered"]]):
        message = (
            r"column 'Valid votes' is the sum of some other columns: .*\(--drop 'Valid votes'\)"
        )
        refused(message, read, "a.csv", csv(frame), error=InputError)
        assert read("a.csv", csv(frame), matrix=True).X.shape == (40, 14)
    halves = [FRAME[:25], FRAME[:25].sum().to_frame("East").T, FRAME[25:]]
    message = r"row 'East' is the sum of some other rows: leave it out \(remove its line\)"
    refused(message, read, "a.csv", csv(pd.concat(halves)), error=InputError)
    twice = FRAME[["s0", "s1", "s2"]].assign(s1=FRAME.s0)
    assert read("a.csv", csv(twice)).X.shape == (40, 3)


def test_shares_labels_and_thousands_beside_counts_are_refused(read):
    shares = FRAME.copy()
    for name in COLUMNS:
        shares[f"{name} %"] = 100 * FRAME[name] / COUNTS.sum(axis=1)
    refused("--drop 's0 %' --drop 's1 %'", read, "a.csv", csv(shares), error=InputError)
    labelled = FRAME.assign(Prediction=[0, 1] * 20)
    refused("--drop Prediction,", read, "a.csv", csv(labelled), error=InputError)
    thousands = (FRAME + 1).map("{}.125".format)
    refused(
        "may be a number above a thousand or a fraction",
        read,
        "a.csv",
        csv(thousands),
        error=InputError,
    )
    assert_is_frame(read("a.csv", csv(thousands + "0")), counts=COUNTS + 1.125)
    for wrong in ("3,5", "1,234", "NA"):
        few = FRAME[["s0", "s1", "s2"]].astype(object)
        few.iloc[3, 1] = wrong
        message = f"line 5: '{wrong}' in column 's1' is not a number"
        refused(message, read, "a.csv", csv(few), error=InputError)


def test_separators_are_found_whatever_the_suffix_and_comments_are_skipped(read):
    names = [name.replace(" ", "") for name in NAMES]
    spaces = FRAME.set_axis(names)
    of_r = " ".join(f'"{c}"' for c in COLUMNS) + "\n" + spaces.to_csv(header=False, sep=" ")
    for name in ("a.csv", "a.tsv", "a.txt"):
        assert_is_frame(read(name, of_r.encode()), names)
        assert_is_frame(read(name, csv(spaces, sep="\t")), names)
        of_r = "\t".join(COLUMNS) + "\n" + spaces.to_csv(header=False, sep="\t")
        assert_is_frame(read(name, of_r.encode()), names)
        quoted = csv(FRAME.set_axis([f"{name}, or so" for name in names]))
        assert read(name, quoted).row_names[0] == f"{names[0]}, or so"
    edges = csv(PLAYS, sep=" ", header=False, index=False)
    expected = read("a.csv", csv(PLAYS, index=False), count="plays").X.toarray()
    for name in ("out.konect", "out.tsv"):
        table = read(name, b"% bip weighted\n" + edges, header="a,b,plays", count="plays")
        np.testing.assert_array_equal(table.X.toarray(), expected)


def test_notes_name_the_columns_that_may_hold_counts(read):
    more = PLAYS.assign(tf=PLAYS.plays, year=2024, is_new=True, order_id=PLAYS.plays)
    more["user"] = more.user.map("u{}".format)
    more["film"] = more.film.map("f{}".format)
    note = "not used: 'plays', 'tf', 'year', 'is_new', 'order_id'; if one of these holds counts"
    assert read("a.csv", csv(more, index=False)).notes == (f"{note}, name it with --count",)
    note = "not used: 'year', 'is_new', 'order_id'"
    assert read("a.csv", csv(more, index=False), drop=["plays", "tf"]).notes == (note,)
