"""Subnormal numbers are zero in loops, whatever the thread, and nowhere else."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from llvmlite import binding, ir

from skcooc import AspectModel, Dyads
from skcooc.model_selection import split_counts
from skcooc.protocol import subnormals
from skcooc.protocol.subnormals import ARM, PROCESSOR, X86, flushed_subnormals
from tests.data import requires_callbacks
from tests.tables import planted
from tests.watching import Watcher

SMALL = np.full(20, 1e-39, dtype=np.float32)
requires_bits = pytest.mark.skipif(
    PROCESSOR not in X86 | ARM, reason=f"{PROCESSOR} has no bits that flush subnormal numbers"
)


def doubled():
    return bool((SMALL + SMALL).any())


@requires_bits
def test_they_are_zero_inside_and_only_there():
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(doubled).result()  # a new thread inherits the register
        with flushed_subnormals():
            with flushed_subnormals():
                assert not doubled()
            assert not doubled()
            assert pool.submit(doubled).result()
        assert doubled()
        assert not pool.submit(flushed_subnormals()(doubled)).result()
        assert pool.submit(doubled).result()
    with pytest.raises(ZeroDivisionError), flushed_subnormals():
        1 / 0  # noqa: B018
    assert doubled()


def is_subnormal(P):
    return (P > 0) & (np.finfo(P.dtype).tiny > P)


def without_bits(monkeypatch):
    monkeypatch.setattr(subnormals, "change_control_register", lambda mask, bits: 0)


TRAIN, TEST = split_counts(planted(8, 20000, n_rows=300, n_columns=200).X, random_state=0)


def at_one(**options):
    options = {"beta": 1.0, "max_iter": 80, "tol": 0.0, "random_state": 0} | options
    return AspectModel(20, **options).fit(TRAIN)


@requires_bits
@pytest.mark.parametrize("solver", [1.8, "momentum", "em"])
def test_a_fit_has_none_and_predicts_the_same(monkeypatch, solver):
    flushed = at_one(solver=solver)
    assert doubled()
    for P in (flushed.components_, flushed.embedding_, flushed.transform(TEST)):
        assert not is_subnormal(P).any()
    without_bits(monkeypatch)
    kept = at_one(solver=solver)
    assert is_subnormal(kept.components_).any()
    expected = kept.perplexity(Dyads(TEST))
    assert flushed.perplexity(Dyads(TEST)) == pytest.approx(expected, rel=1e-6)


def test_threads_make_no_difference(monkeypatch):
    monkeypatch.setattr("skcooc.counts.csr.WORTH_A_THREAD", 64)
    one, two = at_one(n_jobs=1), at_one(n_jobs=2)
    np.testing.assert_array_equal(one.components_, two.components_)
    np.testing.assert_array_equal(one.embedding_, two.embedding_)


class Doubling(Watcher):
    def __init__(self):
        self.seen = []

    def on_fit_task_end(self, estimator, context):
        self.seen.append(doubled())


@requires_callbacks
def test_callbacks_have_subnormal_numbers():
    watcher = Doubling()
    AspectModel(3, beta=1.0, random_state=0).set_callbacks(watcher).fit(TRAIN)
    assert watcher.seen
    assert all(watcher.seen)


@pytest.mark.parametrize(
    ("processor", "triple", "registers"),
    [
        ("x86_64", "x86_64-unknown-linux-gnu", ["stmxcsr", "ldmxcsr"]),
        ("arm64", "arm64-apple-darwin", ["mrs", "msr"]),
        ("ppc64le", "powerpc64le-unknown-linux-gnu", []),
    ],
)
def test_code_for_each_processor(processor, triple, registers):
    """The register is read and written; a processor without the bits is left alone."""
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    module, word = ir.Module(), ir.IntType(64)
    module.triple = triple
    function = ir.Function(module, ir.FunctionType(word, []), "swap")
    builder = ir.IRBuilder(function.append_basic_block())
    before = subnormals.read_register(builder, processor)
    subnormals.write_register(builder, processor, before)
    builder.ret(before)
    machine = binding.Target.from_triple(triple).create_target_machine()
    code = machine.emit_assembly(binding.parse_assembly(str(module)))
    lines = [line for line in code.splitlines() if "fpcr" in line.lower() or "mxcsr" in line]
    assert [line.split()[0] for line in lines] == registers
