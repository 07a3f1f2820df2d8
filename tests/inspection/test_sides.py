"""Names of rows that models keep, and clusters of both sides as tables."""

import numpy as np
import pandas as pd
import pytest

from skcooc import AspectModel, Dyads, RowBlocks, SymmetricClustering
from skcooc.cli import main
from skcooc.inspection import describe, name_topics, representative_rows
from skcooc.inspection.blocks import of_columns, partners
from skcooc.plotting import AssociationDisplay

pytestmark = pytest.mark.filterwarnings("ignore:EM did not converge", "ignore:All .* components")
ADJECTIVES, NOUNS = [f"adjective {i}" for i in range(9)], [f"noun {j}" for j in range(8)]
X = np.random.default_rng(0).poisson(1.0 + 6 * (np.arange(9)[:, None] % 3 == np.arange(8) % 3))
PAIRS = Dyads(X, row_names=ADJECTIVES, column_names=NOUNS)
FRAME = pd.DataFrame(X, index=ADJECTIVES, columns=NOUNS)


@pytest.fixture(scope="module")
def model():
    return SymmetricClustering(3, 3, hard=True, random_state=0).fit(PAIRS)


def test_names_of_rows_are_kept_where_the_table_has_them_and_rows_are(model):
    assert model.row_names_in_.tolist() == ADJECTIVES
    aspects = AspectModel(2, beta=0.9, max_iter=2, tol=1, random_state=0)
    assert aspects.fit(FRAME).row_names_in_.tolist() == ADJECTIVES
    assert aspects.recommend("adjective 2", 1).items.shape == (1,)
    assert aspects.fit(PAIRS).row_names_in_.tolist() == ADJECTIVES
    for nameless in (X, FRAME.reset_index(drop=True), RowBlocks([X])):
        assert not hasattr(aspects.fit(nameless), "row_names_in_")
    assert not hasattr(AspectModel(2), "row_names_in_")


def test_names_that_are_kept_are_those_shown(model):
    shown = representative_rows(model, n_rows=9)
    assert shown == representative_rows(model, ADJECTIVES, n_rows=9)
    assert describe(model)["rows"].tolist() == [rows[:3] for rows in shown]
    words = AssociationDisplay.from_estimator(model, PAIRS).rows.words
    assert sorted(word for few in words for word in few) == ADJECTIVES
    assert representative_rows(model, range(9), n_rows=9) != shown


def test_clusters_of_rows_are_called_as_their_members(model):
    for c, name in enumerate(name_topics(model)):
        members = np.flatnonzero(model.row_labels_ == c)
        best = members[np.argsort(-X[members].sum(axis=1), kind="stable")][:3]
        assert name == " · ".join(ADJECTIVES[i] for i in best)
    nameless = SymmetricClustering(3, 3, hard=True, random_state=0).fit(X)
    assert all(name.startswith("x") for name in name_topics(nameless))
    assert name_topics(nameless, NOUNS, ADJECTIVES) == name_topics(model)


def test_clusters_of_columns_against_the_definitions(model):
    table, rows = describe(model, n_features=2, axis="columns"), describe(model)
    for d, line in table.iterrows():
        members = np.flatnonzero(model.column_labels_ == d)
        sums = X[:, members].sum(axis=0)
        best = np.argsort(-sums, kind="stable")[:2]
        assert line["weight"] == pytest.approx(sums.sum() / X.sum(), rel=1e-6)
        assert line["n_columns"] == len(members)
        assert line["features"] == [NOUNS[j] for j in members[best]]
        np.testing.assert_allclose(line["probabilities"], sums[best] / sums.sum(), rtol=1e-6)
        both = dict(zip(line["goes_with"], line["associations"], strict=True))
        expected = {rows["name"][c]: a for c, a in enumerate(model.association_[:, d]) if a > 1}
        assert both == pytest.approx(expected)
    assert of_columns(model).weights.sum() == pytest.approx(1)


def test_partners_come_by_their_part_of_the_information():
    joint = np.array([[0.3, 0.1, 0.1], [0.02, 0.18, 0.3]])
    first, second = partners(joint)
    assert (first[0].tolist(), second[0].tolist()) == ([0], [2, 1])
    np.testing.assert_allclose(second[1], [0.3 / (0.5 * 0.4), 0.18 / (0.5 * 0.28)])
    assert partners(joint[:, ::-1])[1][0].tolist() != second[0].tolist()


@pytest.mark.parametrize("data", [PAIRS, FRAME, X], ids=["dyads", "frame", "array"])
def test_the_picture_takes_all_tables(model, data):
    i, j, counts = AssociationDisplay.from_estimator(model, data).pairs
    assert (X[i, j] == counts).all()
    assert counts.sum() == X.sum()


def test_another_table_is_refused(model):
    with pytest.raises(ValueError, match="rows of other names, or in another order"):
        AssociationDisplay.from_estimator(model, FRAME[::-1])
    with pytest.raises(ValueError, match="columns of other names, or in another order"):
        AssociationDisplay.from_estimator(model, FRAME[NOUNS[::-1]])
    aspects = AspectModel(2, beta=0.9, max_iter=2, tol=1, random_state=0).fit(X)
    for shown in (AssociationDisplay.from_estimator, lambda model: describe(model, axis="columns")):
        with pytest.raises(TypeError, match="SymmetricClustering"):
            shown(aspects)


def test_the_command_line_has_both_sides(tmp_path, capsys):
    lines = [f"{a}\t{n}\t{X[i, j]}" for i, a in enumerate(ADJECTIVES) for j, n in enumerate(NOUNS)]
    path = tmp_path / "pairs.tsv"
    path.write_text("\n".join(["adjective\tnoun\tcount", *lines]), encoding="utf-8")
    page, folder = tmp_path / "pairs.html", tmp_path / "result"
    to = ["--skip-lda", "--html", str(page), "--output", str(folder)]
    assert main([str(path), "--model", "symmetric", "-k", "3", *to]) == 0
    out = capsys.readouterr().out
    assert "9 values of adjective, 8 values of noun" in out
    after = out.split("commonest members")[1]
    assert all(after.count(name) == 1 for name in ADJECTIVES + NOUNS)
    assert '"sides":["values of adjective","values of noun"]' in page.read_text(encoding="utf-8")
    for file in ("components.csv", "embedding.csv"):  # clusters have the names of the page
        _, *names = (folder / file).read_text(encoding="utf-8").splitlines()[0].split(",")
        assert {word for name in names for word in name.split(" · ")} <= {*ADJECTIVES}
