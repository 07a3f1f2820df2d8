from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import t as student

from skcooc import AspectModel
from skcooc.datasets import make_cooccurrences
from skcooc.inspection import compare_shares, effects, share_effects, shares
from skcooc.inspection.effects import Responses, read_design
from skcooc.inspection.models import read_view
from tests.tables import refused

SIZES = np.array([0.3, 0.25, 0.2, 0.12, 0.08, 0.05])
EFFECTS = np.array([[0.1, 0, 0, -0.1, 0, 0], [0, 0.03, -0.03, 0, 0, 0]])  # of an arm, of a number
ALL = np.ones(40, dtype=bool)


def planted(seed, n_rows=400, length=30, n_columns=400):
    """Counts, a design that changes their mixtures, and a model of them with shrunken mixtures."""
    rng = np.random.default_rng(seed)
    zipf = 1 / np.arange(1, n_columns + 1) ** 0.8
    own = rng.permuted(rng.gamma(0.05, size=(6, n_columns)), axis=1) * zipf
    components = 0.6 * own / own.sum(axis=1, keepdims=True) + 0.4 * zipf / zipf.sum()
    arm, number = rng.integers(2, size=n_rows), rng.uniform(-2, 2, size=n_rows)
    means = SIZES + np.column_stack([arm - 0.5, number]) @ EFFECTS
    mixtures = np.array([rng.dirichlet(3 * mean) for mean in means])
    lengths = np.maximum(1, rng.lognormal(np.log(length) - 0.5, 1, size=n_rows)).astype(int)
    X = np.array(
        [rng.multinomial(n, p) for n, p in zip(lengths, mixtures @ components, strict=True)]
    )
    design = {"arm": np.where(arm, "treated", "control"), "number": number}
    return X.astype(float), design, model_of(components, (mixtures + mixtures.mean(axis=0)) / 2, X)


def model_of(components, mixtures, X):
    return SimpleNamespace(
        components_=components, embedding_=mixtures, transform=lambda X: mixtures[: X.shape[0]],
        row_distribution_=X.sum(axis=1) / X.sum(),
    )  # fmt: skip


def small(n=40, seed=0, k=3):
    """Responses and a design of two columns."""
    rng = np.random.default_rng(seed)
    y = rng.dirichlet(np.ones(k), size=n) + rng.normal(0, 0.1, size=(n, k))
    tokens = rng.integers(1, 60, size=n).astype(float)
    zeros = np.zeros_like(y)
    return Responses(y, zeros, tokens, np.ones(n), tokens > 0), rng.normal(size=(n, 2)), rng


def by_term(table, column):
    return table.pivot(index="term", columns="component", values=column).to_numpy()


def least_squares(y, X, weights):
    A = np.column_stack([np.ones(len(X)), X])
    W = np.diag(weights)
    return np.linalg.inv(A.T @ W @ A) @ A.T @ W @ y


def test_effects_and_errors_are_those_of_textbook_formulas():
    X, design, model = planted(0, n_rows=60)
    table = share_effects(model, X, design, n_permutations=9, level=0.9, random_state=0)
    assert table["term"].tolist() == ["arm=treated"] * 6 + ["number"] * 6
    topics = shares.row_topics(read_view(model, X, None, None, None))
    y = topics.linear / topics.tokens[:, None]
    matrix = np.column_stack([design["arm"] == "treated", design["number"]])
    A = np.column_stack([np.ones(60), matrix])
    w = effects.precision_weights(effects.row_shares(read_view(model, X, None, None, None)), matrix)
    coefficients = least_squares(y, matrix, w)
    np.testing.assert_allclose(by_term(table, "effect"), coefficients[1:], atol=1e-12)
    bread, meat = np.linalg.inv((A.T * w) @ A), np.zeros((6, 3, 3))
    for x, w_i, response in zip(A, w, y, strict=True):
        leverage = w_i * x @ bread @ x
        residuals = w_i * (response - x @ coefficients) / (1 - leverage)
        meat += residuals[:, None, None] ** 2 * np.outer(x, x)
    errors = np.sqrt(np.diagonal(bread @ meat @ bread, axis1=1, axis2=2)).T[1:]
    np.testing.assert_allclose(by_term(table, "std_error"), errors, rtol=1e-8)
    without = [least_squares(*(np.delete(v, i, axis=0) for v in (y, matrix, w))) for i in range(60)]
    jackknife = np.sqrt(((np.array(without) - coefficients) ** 2).sum(axis=0))[1:]
    np.testing.assert_allclose(errors, jackknife, rtol=1e-8)  # HC3 is one
    half = student.ppf(0.95, 57) * errors
    np.testing.assert_allclose(by_term(table, "low"), coefficients[1:] - half)
    np.testing.assert_allclose(by_term(table, "high"), coefficients[1:] + half)
    plain = least_squares(y, matrix, np.ones(60))  # a broken twin: rows count the same
    assert np.abs(plain - coefficients)[1:].max() > 0.01


def test_rows_are_weighted_by_precision():
    responses, matrix, rng = small(400)
    noise = rng.normal(size=(400, 3)) * np.sqrt(0.02 * (1 + 20 / responses.tokens))[:, None]
    noisy = responses._replace(shares=0.3 + noise)
    weights = effects.precision_weights(noisy, matrix)
    n = responses.tokens
    halves = n * (1 / weights - 1)
    np.testing.assert_allclose(halves, halves[0])
    assert 10 < halves[0] < 40  # planted: 20

    def likelihood(half):
        A = np.column_stack([np.ones(400), matrix])
        variances = 1 + half / n
        residuals = noisy.shares - A @ least_squares(noisy.shares, matrix, 1 / variances)
        scale = (residuals**2 / variances[:, None]).mean()
        return -3 * np.log(variances).sum() - 1200 * np.log(scale)

    grid = np.geomspace(1, 200, 200)
    best = grid[np.argmax([likelihood(half) for half in grid])]
    assert halves[0] == pytest.approx(best, rel=0.04)
    weighted = noisy._replace(sample_weight=1.0 + np.arange(400) % 2)
    twice = effects.precision_weights(weighted, matrix)
    halves = n * (weighted.sample_weight / 1.5 / twice - 1)
    np.testing.assert_allclose(halves, halves[0])


def test_permutations_are_those_of_freedman_and_lane():
    responses, matrix, _ = small(25)
    weights = np.linspace(1, 2, 25)
    found = effects.regress(responses.shares, matrix, weights)
    p = effects.permutation_p(found, 99, seed=5)
    roots = np.sqrt(weights)[:, None]
    A, Y = roots * np.column_stack([np.ones(25), matrix]), roots * responses.shares
    orders = np.random.default_rng(5).permuted(np.tile(np.arange(25), (99, 1)), axis=1)
    for d in range(2):
        Z = np.delete(A, d + 1, axis=1)
        reduced = np.linalg.lstsq(Z, Y, rcond=None)[0]
        residuals = Y - Z @ reduced
        row = np.linalg.pinv(A)[d + 1]

        def statistic(drawn, row=row, A=A, d=d, Z=Z, reduced=reduced):
            coefficient = np.linalg.lstsq(A, Z @ reduced + drawn, rcond=None)[0][d + 1]
            return coefficient**2 / (row**2 @ drawn**2)

        # permuting the rows of the column is permuting residuals the other way round
        drawn = [statistic(residuals[np.argsort(order)]) for order in orders]
        literal = (1 + (np.array(drawn) >= statistic(residuals) * (1 - 1e-9)).sum(axis=0)) / 100
        np.testing.assert_allclose(p[d], literal)


def rejected(spread, permutation_p, n_tables=150, level=0.1):
    """How often the effect of a column that has none is found, where it changes variances."""
    rng, p = np.random.default_rng(0), []
    for seed in range(n_tables):
        x = (rng.random(40) < 0.2).astype(float)
        other = rng.normal(size=40) + x
        y = 0.3 + 0.2 * other[:, None] + rng.normal(size=(40, 3)) * np.where(x, spread, 1)[:, None]
        found = effects.regress(y, np.column_stack([x, other]), np.ones(40))
        p += permutation_p(found, 79, seed)[0].tolist()
    return np.mean(np.array(p) <= level)


def test_p_values_are_uniform_without_an_effect():
    assert 0.07 < rejected(1, effects.permutation_p) < 0.13
    assert 0.06 < rejected(3, effects.permutation_p) < 0.15

    def plain(found, n, seed):  # a broken twin: not divided by the variance
        order = np.random.default_rng(seed).permuted(np.tile(np.arange(40), (n, 1)), axis=1)
        drawn = found.influence[:, order] @ found.residuals
        larger = (np.abs(drawn) >= np.abs(found.coefficients)[:, None]).sum(axis=1)
        return (1 + larger) / (1 + n)

    assert rejected(3, plain) > 0.2


def test_planted_effects_are_found_and_intervals_hold_them():
    held, ratios, found, false, shrunken = [], [], [], [], []
    changed = EFFECTS != 0
    for seed in range(7):
        X, design, model = planted(seed)
        table = share_effects(model, X, design, n_permutations=199, random_state=seed)
        low, high, effect = (by_term(table, name) for name in ("low", "high", "effect"))
        held += ((low <= EFFECTS) & (high >= EFFECTS)).ravel().tolist()
        ratios.append(effect[changed] / EFFECTS[changed])
        false += (by_term(table, "p_adjusted") < 0.05)[~changed].tolist()
        found += (by_term(table, "p_adjusted") < 0.05)[changed].tolist()
        matrix = np.column_stack([design["arm"] == "treated", design["number"]])
        mean = least_squares(model.embedding_, matrix, np.ones(400))[1:]
        shrunken.append(mean[changed] / EFFECTS[changed])
    assert 0.9 < np.mean(held) < 0.99  # of 84
    assert np.mean(found) > 0.7
    assert np.mean(false) < 0.06
    np.testing.assert_allclose(np.mean(ratios, axis=0), 1, atol=0.25)
    assert np.mean(shrunken) < 0.7  # the twin: mixtures of rows


def test_order_scale_and_libraries_change_nothing():
    X, design, model = planted(1, n_rows=80)
    options = {"n_permutations": 49, "random_state": 0}
    table = share_effects(model, X, design, **options)
    for form in (pd.DataFrame, pl.DataFrame, lambda d: pl.DataFrame(d).to_arrow()):
        pd.testing.assert_frame_equal(share_effects(model, X, form(design), **options), table)
    treated = design["arm"] == "treated"
    scaled = {"treated": treated, "number": 1000 * design["number"] + 5}
    other = share_effects(model, X, scaled, **options)
    scale = np.repeat([1, 1000], 6)
    for column in ("effect", "std_error", "low", "high"):
        np.testing.assert_allclose(other[column] * scale, table[column], atol=1e-10)
    assert other["p"].tolist() == table["p"].tolist()
    array = share_effects(model, X, np.column_stack([treated, design["number"]]), **options)
    assert array["term"].unique().tolist() == ["x0", "x1"]
    np.testing.assert_allclose(array["effect"], table["effect"])
    order = np.random.default_rng(0).permutation(80)
    shuffled_model = model_of(model.components_, model.embedding_[order], X[order])
    rows = {name: column[order] for name, column in design.items()}
    shuffled = share_effects(shuffled_model, X[order], rows, **options)
    for column in ("effect", "std_error"):
        np.testing.assert_allclose(shuffled[column], table[column], atol=1e-6)
    turned = {**design, "arm": pd.Categorical(design["arm"], ["treated", "control"])}
    turned = share_effects(model, X, turned, **options)
    assert turned["term"][0] == "arm=control"
    np.testing.assert_allclose(turned["effect"][:6], -table["effect"][:6], atol=1e-12)
    np.testing.assert_allclose(by_term(table, "effect").sum(axis=1), 0, atol=1e-9)
    assert isinstance(share_effects(model, X, design, backend="polars", **options), pl.DataFrame)


def test_an_effect_of_two_levels_is_the_difference_of_two_groups():
    rng = np.random.default_rng(0)
    q = rng.dirichlet(np.full(50, 0.3), size=3)
    labels = np.arange(100) % 2
    mixtures = np.array([rng.dirichlet([2, 1, 1] if label else [1, 2, 1]) for label in labels])
    X = np.array([rng.multinomial(200, p) for p in mixtures @ q]).astype(float)
    model = model_of(q, mixtures, X)
    options = {"X": X, "n_permutations": 9, "random_state": 0}
    groups = compare_shares(model, np.where(labels, "a", "b"), **options)
    table = share_effects(model, design=labels == 1, **options)
    np.testing.assert_allclose(table["effect"], groups["difference"], atol=0.02)
    np.testing.assert_allclose(table["low"], groups["low"], atol=0.03)


def test_rows_weigh_as_in_the_fit_and_empty_rows_are_left_out():
    X = make_cooccurrences(60, 40, n_components=3, random_state=0).X.toarray()
    X[5] = 0
    design, weights = {"age": np.arange(60) / 10}, 1 + np.arange(60) % 3
    model = AspectModel(3, beta=0.9, random_state=0).fit(X, sample_weight=weights)
    table = share_effects(model, X, design, n_permutations=9, random_state=0)
    times = np.repeat(np.arange(60), weights)
    again = share_effects(
        model, X[times], {"age": design["age"][times]}, n_permutations=9, random_state=0
    )
    np.testing.assert_allclose(table["effect"], again["effect"], atol=2e-3)
    some = np.delete(np.arange(60), 5)
    without = share_effects(model, X[some], {"age": design["age"][some]}, n_permutations=9)
    assert np.abs(without["effect"] - table["effect"]).max() > 2e-3  # rows of weight one


def test_clusterings_add_the_variance_of_a_membership():
    x, mixtures = np.arange(60) / 60, np.random.default_rng(0).dirichlet(np.ones(3), size=60)
    X = np.random.default_rng(1).integers(1, 9, size=(60, 5)).astype(float)
    model = model_of(np.full((3, 5), 0.2), mixtures, X)
    model.labels_ = mixtures.argmax(axis=1)
    table = share_effects(model, X, {"x": x}, n_permutations=19, random_state=0)
    view = read_view(model, X, None, None, None)
    responses = effects.row_shares(view)
    m = responses.shares
    np.testing.assert_allclose(m, view.mixtures)
    w = effects.precision_weights(responses, x[:, None])
    found = effects.regress(m, x[:, None], w)
    alone = effects.standard_errors(found, np.zeros_like(m))
    added = found.influence**2 @ (w[:, None] * m * (1 - m))
    np.testing.assert_allclose(table["std_error"], np.sqrt(alone**2 + added)[0])
    np.testing.assert_allclose(table["effect"], least_squares(m, x[:, None], w)[1])


def test_a_level_of_one_row_has_no_interval_and_equal_shares_no_effect():
    X, design, model = planted(2, n_rows=50)
    design["place"] = ["a"] * 30 + ["b"] * 19 + ["c"]
    table = share_effects(model, X, design, n_permutations=9, random_state=0).set_index("term")
    assert table.loc["place=c", ["std_error", "low", "high", "p", "p_adjusted"]].isna().all(None)
    assert table.drop(index="place=c").notna().all(None)
    assert set(table["n_tests"]) == {18}
    responses, matrix, _ = small()
    equal = responses._replace(shares=np.full((40, 3), 1 / 3))
    weights = effects.precision_weights(equal, matrix)
    assert (effects.permutation_p(effects.regress(equal.shares, matrix, weights), 9, 0) == 1).all()


def terms(design):
    return read_design(design, ALL)


def test_a_design_is_read():
    numbers, flags = np.arange(40), np.arange(40) % 2 == 0
    names, matrix = terms({"b": flags, "n": numbers, "c": ["x", "z", "y", "y"] * 10})
    assert names == ["b", "n", "c=y", "c=z"]
    expected = [flags, numbers, np.arange(40) % 4 >= 2, np.arange(40) % 4 == 1]
    np.testing.assert_array_equal(matrix, np.transpose(expected))
    nullable = pd.DataFrame({"b": pd.array(flags, "boolean"), "n": pd.array(numbers, "Int64")})
    np.testing.assert_array_equal(terms(nullable)[1], matrix[:, :2])
    for columns in ([0, 1], pd.MultiIndex.from_tuples([("a", "b"), ("a", "n")])):
        np.testing.assert_array_equal(terms(nullable.set_axis(columns, axis=1))[1], matrix[:, :2])
    assert terms(pd.Series(numbers, name="age"))[0] == ["age"]
    assert terms(pl.Series(numbers))[0] == ["x0"]
    assert terms(numbers.tolist())[0] == ["x0"]
    order = pd.Categorical(["low", "mid", "high", "mid"] * 10, ["low", "mid", "high"])
    assert terms({"level": order})[0] == ["level=mid", "level=high"]
    years = pd.Categorical([2018, 2020, 2019, 2019] * 10)
    assert terms({"year": years})[0] == ["year=2019", "year=2020"]
    assert terms({"one": [1, "1", 2, True] * 10})[0] == ["one=2", "one=True"]


def test_bad_designs_are_refused():
    numbers, missing = np.arange(40.0), np.arange(40.0)
    missing[[3, 4]] = np.nan
    days = np.arange(40).astype("datetime64[D]")
    for design, message in (
        ({"age": missing}, "design column 'age' has 2 missing values: drop these rows"),
        ({"arm": ["a", None] * 20}, "'arm' has 20 missing values"),
        ({"age": np.full(40, 7)}, "'age' is constant"),
        ({"arm": ["a"] * 40}, "'arm' is constant"),
        ({"flag": [True] * 40}, "'flag' is constant"),
        ({"age": numbers, "days": 365 * numbers + 1}, "'days' is a combination of those before"),
        ({"a": numbers % 2, "b": 1 - numbers % 2}, "'b' is a combination"),
        ({"age": [1, np.inf] * 20}, "'age' has infinite numbers"),
        ({"when": days}, "'when' has dates: give numbers"),
        ({"age": numbers[:9]}, r"'age' has shape \(9,\), but X has 40 rows"),
        ({"name": [f"{i}" for i in range(40)]}, "design has 39 columns for 40 rows"),
        ({}, "design has no columns"),
        ({1: np.arange(40), "1": np.ones(40)}, "several columns of the same name"),
        (np.ones((2, 2, 2)), r"design has shape \(2, 2, 2\)"),
    ):
        refused(message, read_design, design, ALL)
    np.testing.assert_array_equal(read_design(iter(numbers), ALL)[1], read_design(numbers, ALL)[1])
    refused("design is a string, 'arm'", read_design, "arm", ALL, error=TypeError)
