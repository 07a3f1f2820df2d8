"""Warnings on tables that seem to hold something else than counts."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from skcooc import AspectModel, Dyads
from tests.tables import planted

RNG = np.random.default_rng(0)
X = planted(n_tokens=3000).X.toarray()
ASPECTS = AspectModel(2, beta=1.0, max_iter=2, random_state=0)
PAIRS = np.column_stack([RNG.integers(1, 100, 500), RNG.integers(1, 100, 500)])
WORDS = [f"w{j:02}" for j in range(30)]


def warned(table):
    """Messages about a table in a fit, but those about topics and iterations."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ASPECTS.fit(table)
    messages = [str(warning.message) for warning in caught]
    return [m for m in messages if not m.startswith(("EM did not", "Topics are", "All 2"))]


@pytest.mark.parametrize("make", [Dyads, ASPECTS.fit], ids=["Dyads", "fit"])
def test_pairs_of_numbers_are_no_counts(make):
    each_once = np.unique(PAIRS, axis=0)
    rated = np.column_stack([each_once, RNG.integers(1, 6, len(each_once))])
    for pairs in (PAIRS, pd.DataFrame(PAIRS, columns=["user", "item"]), PAIRS.tolist(), rated):
        with pytest.warns(UserWarning, match=r"read as counts of .* Dyads.from_pairs\(\*X\.T\)"):
            make(pairs)
    assert len(Dyads.from_pairs(*PAIRS.T)) == len(PAIRS)


def test_counts_in_few_columns_are_no_pairs():
    three = RNG.poisson([5, 9, 3], (60, 3))
    for table in (three, PAIRS[:9], PAIRS / 2):
        assert not any("pairs" in message for message in warned(table))


@pytest.mark.parametrize("name", ["userId", "user_id", "ID", "#OTU ID", "Unnamed: 0", "index"])
def test_a_column_of_identifiers_is_doubted(name):
    frame = pd.DataFrame(X, columns=[f"item{j}" for j in range(X.shape[1])])
    identifiers = 10 * RNG.permutation(len(X))
    for position in (0, 7):
        table = frame.copy()
        table.insert(position, name, identifiers)
        (message,) = (m for m in warned(table) if "identify the rows" in m)
        assert message.startswith(f"Column {name!r} seems")
        assert not warned(table.set_index(name))
        table[name] = identifiers // 40
        assert not any("identify the rows" in m for m in warned(table))
    rising = frame.assign(user=np.sort(identifiers))
    assert any("Column 'user' seems" in m for m in warned(rising))
    assert any("Column 60 seems" in m for m in warned(rising.to_numpy()))
    assert not any("identify the rows" in m for m in warned(rising[:9]))
    frame.insert(0, "covid", identifiers)
    assert not any("identify the rows" in m for m in warned(frame))


def test_one_half_of_a_symmetric_table_is_doubted():
    whole = RNG.poisson(2.0, (30, 30))
    whole += whole.T
    np.fill_diagonal(whole, 0)
    half = "All counts of X are on one side of its diagonal"
    for part in (np.triu(whole), np.tril(whole), np.triu(whole + 3 * np.eye(30, dtype=int))):
        named = pd.DataFrame(part, index=WORDS, columns=WORDS)
        order = RNG.permutation(WORDS)
        for table in (part, sp.csr_array(part), named, named.loc[order, order], Dyads(named)):
            (message,) = warned(table)
            assert message.startswith(half)
    edges = np.argwhere(np.triu(whole))  # no edge ends at the first, none begins at the last
    names = np.array(WORDS)[edges]
    (message,) = warned(Dyads.from_pairs(*names.T))
    assert message.startswith(half)
    assert not warned(Dyads.from_pairs(*np.vstack([names, names[:, ::-1]]).T))
    for table in (whole, np.diag(np.arange(1, 31))):
        assert not any(half in m for m in warned(table))
    others = pd.DataFrame(np.triu(whole), index=WORDS, columns=[f"v{j:02}" for j in range(30)])
    assert not any(half in m for m in warned(others))
