import ast
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import skcooc.equations
from skcooc.equations.aspects import Aspects
from skcooc.starts.topics import topic_start
from skcooc.testing import CHECKS, Case, check_model, tables
from tests.equations import models as of_the_papers
from tests.equations.broken import TWINS, ForgottenPowerOfMixtures, Twin, check_with_twins
from tests.equations.literal_aspects import LiteralAspects

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")


def cases():
    """Cases of all files of this folder."""
    files = sorted(path.stem for path in Path(__file__).parent.glob("test_*.py"))
    others = (import_module(f"{__package__}.{file}") for file in files if file != "test_models")
    return of_the_papers.CASES | {
        name: case for module in others for name, case in getattr(module, "CASES", {}).items()
    }


CASES = cases()


def bare(model):
    return model.right if isinstance(model, Twin) else model


FIRST = {type(bare(case.model)): name for name, case in reversed(CASES.items())}.values()


@pytest.mark.usefixtures("short_starts")
@pytest.mark.parametrize("name", CASES)
def test_models_pass_all_checks(name):
    """In the first case of each class, broken variants of it must also be found."""
    case, twins = CASES[name], TWINS if name in FIRST else {}
    check_with_twins(case.model, case.X, case.literal, case.betas, case.skip, twins, case.start)


def models(source):
    """Names of the models in a file: classes with an E-step and an M-step."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef):
            names = {part.name for part in node.body if isinstance(part, ast.FunctionDef)}
            bases = " ".join(map(ast.unparse, node.bases))
            if "expect" in names and ("maximize" in names or "Projections" in bases):
                yield node.name


def without_a_case(sources):
    tried = {cls.__name__ for case in CASES.values() for cls in type(bare(case.model)).__mro__}
    return {name for source in sources for name in models(source)} - tried


def test_every_model_has_a_case():
    folder = Path(skcooc.equations.__file__).parent
    sources = [path.read_text(encoding="utf-8") for path in folder.glob("*.py")]
    # The kit has tables of two indices; test_triadic_aspects.py has a literal step of three.
    assert without_a_case(sources) == {"TriadicAspects"}
    assert len({name for source in sources for name in models(source)}) >= 10
    new = "class New(Equations):\n    def expect(self): ...\n    def maximize(self): ..."
    assert without_a_case([new]) == {"New"}
    assert without_a_case(["class More(Projections):\n    def expect(self): ..."]) == {"More"}


@pytest.mark.parametrize(("name", "table", "beta"), [("aspects", 0, 0.8), ("product", 0, 0.9)])
def test_a_quick_solution_for_new_rows_that_forgets_the_power_is_found(name, table, beta):
    right = CASES[name]
    X = list(tables(right.X))[table]
    case = Case(right.model, X, beta, right.literal, right.start)
    with pytest.raises(AssertionError):
        CHECKS["restrict"].run(case, ForgottenPowerOfMixtures(case.model))


def test_check_model_fails_for_broken_models():
    """Except `Flat` on its own: it lowers the bound to an end of its own."""
    assert set(TWINS) == set(CHECKS)
    for name in set(TWINS) - {"bound falls"}:
        for twin in TWINS[name]:
            with pytest.raises(AssertionError, match=rf"{name}: .*at beta=0\.8"):
                check_model(
                    twin(Aspects(3)),
                    literal=LiteralAspects(),
                    betas=(0.8,),
                    skip=set(CHECKS) - {name},
                    start=topic_start,
                )
    with pytest.raises(ValueError, match=r"no check \['slope'\]: they are \['bound falls'"):
        check_model(Aspects(3), skip=["slope"])


def test_a_check_that_cannot_fail_is_found(monkeypatch):
    for name, check in CHECKS.items():
        monkeypatch.setitem(CHECKS, name, check._replace(run=lambda case, model: None))
        skip = set(CHECKS) - {name}
        with pytest.raises(AssertionError, match=f"{name}: .* passes"):
            check_with_twins(Aspects(3), None, LiteralAspects(), (0.8,), skip, start=topic_start)
        monkeypatch.undo()


def test_tables_get_an_empty_row_and_column():
    (counts,) = tables(np.ones((3, 5)))
    assert counts.shape == (4, 6)
    assert np.flatnonzero(counts.row_sums == 0).tolist() == [1]
    assert np.flatnonzero(counts.column_sums == 0).tolist() == [2]
    assert next(tables(counts.table)).shape == (4, 6)
