import ast
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import skcooc.equations
from skcooc.equations.aspects import Aspects
from skcooc.testing import CHECKS, Case, check_model, tables
from tests.equations import broken
from tests.equations import models as of_the_papers
from tests.equations.broken import TWINS, Twin, check_with_twins
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


@pytest.mark.parametrize("name", CASES)
def test_models_pass_all_checks(name):
    case = CASES[name]
    check_with_twins(case.model, case.X, case.literal, case.betas, case.skip)


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


def bare(model):
    return model.right if isinstance(model, Twin) else model


def test_every_model_has_a_case():
    folder = Path(skcooc.equations.__file__).parent
    sources = [path.read_text(encoding="utf-8") for path in folder.glob("*.py")]
    # The kit has tables of two indices; test_triadic_aspects.py has a literal step of three.
    assert without_a_case(sources) == {"TriadicAspects"}
    assert len({name for source in sources for name in models(source)}) >= 10
    new = "class New(Equations):\n    def expect(self): ...\n    def maximize(self): ..."
    assert without_a_case([new]) == {"New"}
    assert without_a_case(["class More(Projections):\n    def expect(self): ..."]) == {"More"}


EQUAL, SLOPE, BOUND = "literal step", "literal slope", "bound falls"
ROWS, COLUMNS = "rows, equal and estimated", "columns, equal and estimated"
FOUND = [
    ("aspects", 0, 0.8, broken.ForgottenPowerOfComponents, [EQUAL, SLOPE]),
    ("product", 1, 0.9, broken.ForgottenPowerOfPairs, [EQUAL, SLOPE]),
    ("product", 1, 0.9, broken.OtherPairs, [EQUAL]),
    ("aspects", 0, 0.8, broken.ForgottenPowerOfMixtures, ["restrict"]),
    ("product", 0, 0.9, broken.ForgottenPowerOfMixtures, ["restrict"]),
    (ROWS, 0, 0.6, broken.Flat, [EQUAL, SLOPE, BOUND]),
    (ROWS, 0, 0.6, broken.OtherPower, [EQUAL, SLOPE]),
    (ROWS, 0, 0.6, broken.RowsThatForgetProportions, [EQUAL, SLOPE]),
    (ROWS, 0, 0.6, broken.RowsThatForgetTheirWeights, [EQUAL, SLOPE]),
    ("predictive rows", 0, 0.3, broken.RowsLeftIn, [EQUAL]),
    ("predictive rows", 0, 0.3, broken.MassLeftIn, [EQUAL]),
    ("rows, of distributions", 0, 6.0, broken.DivergencesLikeLikelihoods, [EQUAL]),
    (COLUMNS, 0, 0.7, broken.Flat, [EQUAL, SLOPE, BOUND]),
    (COLUMNS, 0, 0.7, broken.OtherPower, [EQUAL, SLOPE]),
    (COLUMNS, 0, 0.7, broken.ColumnsThatForgetProportions, [EQUAL, SLOPE]),
    (COLUMNS, 0, 0.7, broken.ColumnsThatForgetTheirWeights, [EQUAL, SLOPE]),
    ("coclusters", 0, 0.4, broken.MinusSign, [EQUAL, SLOPE, BOUND]),
    ("rows, sqrt", 0, 0.6, broken.RowsOfOtherWeights, [EQUAL, SLOPE]),
    ("coclusters, sqrt", 0, 0.4, broken.BlocksThatForgetTheWeightsOfRows, [EQUAL]),
    ("coclusters", 0, 0.4, broken.LateAssociation, [EQUAL]),
    ("coclusters", 0, 0.4, broken.ForgottenBeta, [EQUAL, SLOPE]),
    ("coclusters", 0, 0.4, broken.FirstAssociation, [EQUAL, SLOPE, BOUND]),
    ("tree, cluster and joint", 0, 0.6, broken.TemperedLevels, [EQUAL]),
    ("factorial", 0, 1.0, broken.NoPriorOfCenters, [EQUAL, SLOPE, BOUND]),
]  # fmt: skip


def test_broken_models_are_found():
    for name, table, beta, twin, checks in FOUND:
        right = CASES[name]
        case = Case(right.model, list(tables(right.X))[table], beta, right.literal)
        case.end = case.run(twin(case.model), case.states[1], 300)  # of its own
        for check in checks:
            with pytest.raises(AssertionError):
                CHECKS[check].run(case, twin(case.model))
    # Those without `of` have tests beside their models.
    own = {cls for cls in vars(broken).values() if isinstance(cls, type) and hasattr(cls, "of")}
    assert own <= {twin for *_, twin, _ in FOUND}


def test_check_model_fails_for_broken_models():
    """Except `Flat` on its own: it lowers the bound to an end of its own."""
    assert set(TWINS) == set(CHECKS)
    for name in set(TWINS) - {BOUND}:
        for twin in TWINS[name]:
            options = {"literal": LiteralAspects(), "betas": (0.8,), "skip": set(CHECKS) - {name}}
            with pytest.raises(AssertionError, match=rf"{name}: .*at beta=0\.8"):
                check_model(twin(Aspects(3)), **options)
    with pytest.raises(ValueError, match=r"no check \['slope'\]: they are \['bound falls'"):
        check_model(Aspects(3), skip=["slope"])


def test_a_check_that_cannot_fail_is_found(monkeypatch):
    for name, check in CHECKS.items():
        monkeypatch.setitem(CHECKS, name, check._replace(run=lambda case, model: None))
        skip = set(CHECKS) - {name}
        with pytest.raises(AssertionError, match=f"{name}: .* passes"):
            check_with_twins(Aspects(3), None, LiteralAspects(), (0.8,), skip)
        monkeypatch.undo()


def test_tables_get_an_empty_row_and_column():
    (counts,) = tables(np.ones((3, 5)))
    assert counts.shape == (4, 6)
    assert np.flatnonzero(counts.row_sums == 0).tolist() == [1]
    assert np.flatnonzero(counts.column_sums == 0).tolist() == [2]
    assert next(tables(counts.table)).shape == (4, 6)
