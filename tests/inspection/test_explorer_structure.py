"""What the pages of `explore` show of trees and of blocks."""

import numpy as np
import pytest

from skcooc.inspection import explore
from skcooc.inspection.explorer import blocks as page_blocks
from tests.inspection.pages import (
    WORDS,
    close,
    stand_in,
    table,
    texts_of,
    tree_model,
    two_sided,
)

X = table()


def test_a_tree_with_its_documents():
    model = tree_model(X)
    shown = explore(model, X, texts=texts_of(X), feature_names=WORDS).shown
    tree = shown["tree"]
    assert tree["parents"] == model.tree_.parents.tolist()
    assert set(tree["leaves"]) == {str(leaf) for leaf in model.tree_.leaves}
    names = [row["name"] for row in shown["documents"]]
    for leaf in tree["leaves"].values():
        assert leaf["n_rows"] == 6
        members = {texts_of(X)[i][:80] for i in np.flatnonzero(model.labels_ == leaf["cluster"])}
        assert {names[number].rstrip("…")[:70] for number in leaf["rows"]} <= {
            m[:70] for m in members
        }


def test_blocks_with_their_pairs():
    model = two_sided(X)
    blocks = explore(model, X, feature_names=WORDS).shown["blocks"]
    rows, columns = model.row_labels_, model.column_labels_
    for c in range(3):
        for d in range(2):
            assert 2 ** blocks["log2"][c][d] == close(model.association_[c, d])
            block = X[rows == c][:, columns == d]
            total, pairs = blocks["pairs"][2 * c + d]
            assert total == block.sum()
            assert [n for _, _, n in pairs] == sorted(block.ravel())[::-1][:8]
            for at_row, at_column, n in pairs:
                row = blocks["row_members"][c][1][at_row]
                word = blocks["column_members"][d][1][at_column]
                assert X[int(row.split()[1]), WORDS.index(word)] == n
        assert blocks["row_members"][c][0] == (rows == c).sum()
    sums = X.sum(axis=0)
    for d in range(2):
        n, words = blocks["column_members"][d]
        assert n == len(words) == (columns == d).sum()
        assert [sums[WORDS.index(word)] for word in words] == sorted(sums[columns == d])[::-1]
    aspects_of_both = stand_in(X, joint_=model.joint_)  # no clusters: a product-space mixture
    assert explore(aspects_of_both, X).shown["blocks"] is None


def test_seldom_members_of_large_blocks_are_left_out_but_no_pair(monkeypatch):
    counts = np.eye(60) + np.triu(np.ones((60, 60)))
    names, model = [f"{j:02d} {'x' * 40}" for j in range(60)], two_sided(counts)
    monkeypatch.setattr(page_blocks, "EXAMPLES", 2)
    everything = explore(model, counts, names, names).shown["blocks"]
    monkeypatch.setattr(page_blocks, "ROOM", 900)
    monkeypatch.setattr(page_blocks, "FIRST", 15)
    few = explore(model, counts, names, names).shown["blocks"]
    for side in ("row_members", "column_members"):
        for (n, some), (all_of_them, known) in zip(few[side], everything[side], strict=True):
            assert n == all_of_them == len(known) > len(some)
            assert some[:15] == known[:15]
            assert [name for name in known if name in some] == some

    def pairs(blocks):
        return [
            [(blocks["row_members"][b // 2][1][i], blocks["column_members"][b % 2][1][j], n)
             for i, j, n in of]
            for b, (_, of) in enumerate(blocks["pairs"])
        ]  # fmt: skip

    assert pairs(few) == pairs(everything)


def test_sides_are_two_names():
    model = two_sided(X)
    facts = explore(model, X, sides=("adjectives", "nouns")).shown["facts"]
    assert tuple(facts["sides"]) == ("adjectives", "nouns")
    assert explore(model, X).shown["facts"]["sides"] is None
    for wrong in (("nouns",), ("adjectives", 3), "adjectives", "ab", ("", "nouns"), 2):
        with pytest.raises(ValueError, match="sides should be what rows and columns are"):
            explore(model, X, sides=wrong)
