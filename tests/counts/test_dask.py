from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp

from skcooc.counts import CSRCounts
from skcooc.em import EMStage, State, fit, make_solver
from skcooc.equations.aspects import Aspects
from tests.clusters import X, blocks_of, in_blocks, workers_here

counts_on_workers = pytest.importorskip("skcooc.counts.dask")


@pytest.fixture(scope="module")
def workers():
    with workers_here() as client:
        yield client


class Blocks:
    """A table in blocks, in memory, whose statistics are added up as those on workers."""

    def __init__(self, blocks):
        self.blocks = [CSRCounts(block) for block in blocks]
        self.shape = sum(X.shape[0] for X in self.blocks), self.blocks[0].shape[1]
        self.dtype = self.blocks[0].dtype

    def _over(self, function, *states):
        ends = np.cumsum([X.shape[0] for X in self.blocks])[:-1]
        parts = zip(*(np.split(rows, ends) for rows in states), strict=True)
        return [function(X, *rows) for X, rows in zip(self.blocks, parts, strict=True)]

    def expect(self, model, params, rows, beta):
        steps = self._over(lambda X, own: model.expect(X, params, own, beta), rows)
        stats = counts_on_workers.tree_sum(counts_on_workers.add_statistics, [s for _, s in steps])
        return np.concatenate([own for own, _ in steps]), stats

    def map_row_ranges(self, function, *states):
        fill = lambda X, *own: X.map_row_ranges(function, *own)  # noqa: E731
        return np.concatenate(self._over(fill, *states))


def test_equal_blocks_are_the_same_bit_by_bit(workers):
    ends, model = (50, 170, 171), Aspects(3)
    far = counts_on_workers.load(workers, in_blocks(X, *ends), "AspectModel")
    rng = np.random.default_rng(0)
    start = State(*model.start(far, rng))
    one, two = (
        fit([EMStage(model, counts, 0.9, 12, 0.0)], rng, make_solver("momentum"), start=start)
        for counts in (far, Blocks(blocks_of(X, *ends)))
    )
    assert [record.free_energy for record in one.history] == [r.free_energy for r in two.history]
    np.testing.assert_array_equal(one.params.components, two.params.components)
    np.testing.assert_array_equal(far.collect_rows(one.rows), two.rows)


def test_an_iteration_is_sent_at_once(workers, monkeypatch):
    """Longer steps are sent with the E-steps after them: nine messages of tasks, not 17."""
    far = counts_on_workers.load(workers, in_blocks(X, 100), "AspectModel")
    model = Aspects(3)
    start = State(*model.start(far, np.random.default_rng(0)))
    messages = []
    submit = counts_on_workers.submit

    def counted(client, tasks):
        messages.append(client)
        return submit(client, tasks)

    monkeypatch.setattr(counts_on_workers, "submit", counted)
    stage = EMStage(model, far, 0.9, 9, -np.inf)
    fit([stage], np.random.default_rng(0), make_solver(1.8), start=start)
    assert len(messages) == 9


def test_the_scheduler_knows_the_size_of_blocks(workers):
    far = counts_on_workers.load(workers, in_blocks(X, 100), "AspectModel")
    told = [workers.cluster.scheduler.tasks[block.key].nbytes for block in far.blocks]
    tables = [sp.csr_array(block) for block in blocks_of(X, 100)]
    assert told == [12 * block.nnz + 4 * (block.shape[0] + 1) for block in tables]


def weighed(block, rows):
    """Sums of rows, weighted by their observations."""
    return block.row_sums @ rows


def test_products_are_those_of_the_table(workers):
    far = counts_on_workers.load(workers, in_blocks(X, 7, 100), "AspectModel")
    rng = np.random.default_rng(0)
    wide = rng.random((X.shape[1], 3))
    states = far.map_blocks(partial(CSRCounts.dot, D=wide))
    for long in (states, far.collect_rows(states), X @ wide):
        np.testing.assert_allclose(far.tdot(long), X.T @ (X @ wide))
        np.testing.assert_allclose(far.total(weighed, long), X.sum(axis=1) @ (X @ wide))
    np.testing.assert_allclose(far.collect_rows(states @ wide.T), X @ wide @ wide.T)
    rows = far.sample(40, np.random.default_rng(1)).toarray()
    places = [np.flatnonzero((X.toarray() == row).all(axis=1))[0] for row in rows]
    assert len(set(places)) == 40
    assert places == sorted(places)
    assert (far.sample(1000, rng) != X).nnz == 0
