import os
import runpy
import shutil
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher
from numba.core.errors import NumbaError

from skcooc.counts import lanes as rows
from skcooc.loops import exchange, fold_in, left_out, paths
from skcooc.protocol import decorators


@rows.compiled
def combine(wide, w, A, B, out, products):
    """Let out[i] be A[i] + w B[i], and products the inner products."""
    for i in range(np.uintp(len(A))):
        rows.prefetch(wide, B, i)
        a, b = rows.load(wide, A, i), rows.load(wide, B, i)
        products[i] = rows.dot(a, b)
        rows.store(rows.add_scaled(a, w, b), out, i)


@pytest.mark.parametrize(
    ("n_components", "dtype"),
    [(1, np.float64), (3, np.float32), (16, np.float32), (31, np.float32), (31, np.float64)],
)
def test_padded_rows_of_any_width_equal_numpy(dtype, n_components):
    rng = np.random.default_rng(n_components)
    A, B = (rng.standard_normal((5, n_components)).astype(dtype) for _ in range(2))
    wider = [rows.padded(F, dtype, rows.HALF) for F in (A, B)]
    out, w, wide, products = np.empty_like(wider[0]), dtype(0.75), rows.lanes(wider[0]), np.empty(5)
    products = products.astype(dtype)
    combine(wide, w, *wider, out, products)
    limit = 1e-5 if dtype == np.float32 else 1e-13
    np.testing.assert_allclose(products, (A * B).sum(axis=1), rtol=limit, atol=limit)
    kept = rows.without_padding(out, n_components)
    np.testing.assert_allclose(kept, A + w * B, rtol=limit, atol=limit)
    assert not out[:, n_components:].any()


@pytest.mark.parametrize("n_components", [8, 16])
def test_neighbours_of_a_row_are_neither_read_nor_written(n_components):
    rng = np.random.default_rng(0)
    A, B, out = (np.full((4, n_components + 3), np.nan) for _ in range(3))
    some = slice(1, 1 + n_components)
    A[:, some], B[:, some] = rng.random((2, 4, n_components))
    products, wide = np.empty(4), rows.lanes(A[:, some])
    combine(wide, 2.0, A[:, some], B[:, some], out[:, some], products)
    np.testing.assert_allclose(products, (A * B)[:, some].sum(axis=1))
    np.testing.assert_allclose(out[:, some], (A + 2 * B)[:, some])
    assert np.isnan(out[:, [0, -2, -1]]).all()


def test_loops_compile_without_a_cache_folder(monkeypatch, caplog):
    """numba refuses to cache where it finds no folder that it can write to."""
    listener, event = decorators.CompilationListener(), compiled_by("skcooc.counts.made_up")

    def refused(function):
        raise RuntimeError("cannot cache function: no locator available")

    monkeypatch.setattr(decorators, "_Cache", refused)
    monkeypatch.setattr(decorators, "COMPILATION", listener)
    assert decorators.compiled(lambda x: x + 1)(2) == 3
    with caplog.at_level("INFO", "skcooc"):
        listener.on_start(event)
        listener.on_end(event)
    assert "seconds, in every process" in caplog.text
    assert "stay on disk" in decorators.CompilationListener.frequency


def test_loops_that_allocate_do_not_compile(tmp_path, monkeypatch):
    """By an option that numba mentions, but does not document."""
    monkeypatch.setattr("numba.core.config.CACHE_DIR", str(tmp_path))
    for wrong in (lambda x: np.empty(len(x))[0], lambda x: (x + x)[0], lambda x: x[1:]):
        with pytest.raises(NumbaError, match="nopython"):
            decorators.compiled(wrong)(np.ones(3))


def test_compilation_is_logged_once(monkeypatch, caplog):
    def messages(module, arguments):
        loop = decorators.njit(lambda x: x + 1)
        loop.py_func.__module__ = module
        caplog.clear()
        for argument in arguments:
            loop(argument)
        return [record.levelname for record in caplog.records]

    monkeypatch.setattr(decorators.COMPILATION, "is_logged", False)
    with caplog.at_level("INFO", "skcooc"):
        assert messages("numba.of_others", [1]) == []
        assert messages("skcooc.counts.made_up", [1, 1, 1.0]) == ["INFO"]
        assert messages("skcooc.counts.made_up", [1]) == []


def compiled_by(module):
    return SimpleNamespace(
        data={"dispatcher": SimpleNamespace(py_func=SimpleNamespace(__module__=module))}
    )


def test_loops_compile_where_the_cache_is_damaged_full_or_read_only(tmp_path, monkeypatch):
    monkeypatch.setattr("numba.core.config.CACHE_DIR", str(tmp_path / "cache"))
    added = lambda: decorators.compiled(lambda x: x + 1)  # noqa: E731
    assert added()(2) == 3
    for name in ("*.nbc", "*.nbi"):
        for file in tmp_path.rglob(name):
            os.truncate(file, 10)
        assert added()(2) == 3
        loop = added()
        assert loop(2) == 3
        assert loop.stats.cache_hits.total() == 1  # it is whole again
    loop = added()
    shutil.rmtree(tmp_path / "cache")
    (tmp_path / "cache").write_text("no folder, so that no file can be written")
    with pytest.warns(UserWarning, match="Compiled loops are not kept in .*cache"):
        assert loop(2) == 3


def test_python_loops_are_refused_at_the_import(monkeypatch):
    monkeypatch.setattr("numba.config.DISABLE_JIT", 1)
    with pytest.raises(ImportError, match="cannot run with NUMBA_DISABLE_JIT=1"):
        runpy.run_path(decorators.__file__)


def found_again(loop):
    """Whether numba knows a loop of an earlier process: by what it encloses, other loops not so."""
    cells = loop.py_func.__closure__ or ()
    return not any(isinstance(cell.cell_contents, Dispatcher) for cell in cells)


def test_loops_are_found_in_the_cache():
    modules = [module for name, module in sys.modules.items() if name.startswith("skcooc.counts.")]
    modules += exchange, fold_in, left_out, paths
    named = [value for module in modules for value in vars(module).values()]
    loops = [value for value in named if isinstance(value, Dispatcher)]
    assert len(loops) > 15
    assert all(map(found_again, loops))
    one = loops[0]
    assert not found_again(rows.compiled(lambda x: one(x)))  # broken
