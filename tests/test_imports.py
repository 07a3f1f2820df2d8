"""Who may import whom (DESIGN, section 5)."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import skcooc

ROOT = Path(skcooc.__file__).parent

# layer -> the parts of the package it may import; a part is a module or a subpackage
GLUE = {
    "attributes",
    "checks",
    "distributed",
    "fitting",
    "holdout",
    "prediction",
    "probing",
    "progress",
    "restarts",
    "scoring",
    "settings",
    "threads",
}  # parts of base
MODELS = {
    "aspect",
    "asymmetric",
    "cluster_abstraction",
    "clustering_projection",
    "product_space",
    "symmetric",
}  # each an estimator
# The equations of models that have a file of their own.
EQUATIONS = {
    "aspects",
    "predictive_aspects",
    "row_clusters",
    "column_clusters",
    "coclusters",
    "class_bigrams",
    "product_aspects",
    "abstractions",
    "annealed_tree",
    "factorial_projections",
    "projections",
    "structured_projections",
    "topic_clusters",
}
ALLOWED = {
    "simplex": set(),
    "threads": set(),
    "hierarchy": set(),
    "dirichlet": {"protocol", "simplex"},
    "protocol": set(),
    "dyads": set(),
    "reduction": set(),
    "counts": {"reduction", "threads"},
    "em": {"protocol", "reduction"},
    "settings": {"em", "protocol"},
    "progress": {"em", "protocol", "settings"},
    "scoring": {"counts", "protocol"},
    "checks": {"counts", "dyads", "protocol"},
    "distributed": {"checks", "counts", "dyads", "em"},
    "holdout": {"counts", "em", "protocol", "settings"},
    "probing": {"counts", "em", "protocol", "settings"},
    "restarts": {"counts", "em", "progress", "protocol", "settings", "threads"},
    "fitting": {"counts", "em", "holdout", "probing", "progress", "protocol", "restarts"}
    | {"settings", "threads"},
    "attributes": {"counts", "em", "fitting", "holdout", "protocol", "restarts"},
    "prediction": {
        "checks",
        "counts",
        "distributed",
        "dyads",
        "em",
        "fitting",
        "protocol",
        "scoring",
    },
    "base": {"counts", "dyads", "em", "protocol"} | GLUE,
    "batches": {"counts", "em", "fitting", "protocol"},
    "stream_mixin": {
        "attributes",
        "batches",
        "callbacks",
        "checks",
        "counts",
        "dyads",
        "em",
        "fitting",
        "holdout",
    }
    | {"protocol", "threads"},
    "callbacks": set(),
    "ensemble": {"attributes", "base", "checks", "counts", "em", "fitting", "holdout"}
    | {"prediction", "protocol", "settings", "threads"},
    "retrieval": {"aspect", "base", "checks", "protocol", "term_weights"},
    "term_weights": {"protocol"},
    "metrics": {"counts", "em", "holdout", "protocol", "scoring"},
    "model_selection": {"counts", "dyads", "em", "fitting", "holdout", "probing", "protocol"}
    | {"threads"},
    "image": {"asymmetric", "protocol", "simplex"},
    "inspection": {"hierarchy", "protocol"},
    "plotting": {"hierarchy", "inspection", "protocol"},
    "datasets": {"hierarchy"},
    "clustering": {"em", "protocol", "simplex"},
    "cluster_mixin": {"protocol", "simplex"},
    "tree_mixin": {"cluster_mixin", "hierarchy", "protocol", "simplex"},
    "projection_mixin": {"em", "projections", "protocol", "simplex", "topic_clusters"},
    **{
        part: {"clustering", "dirichlet", "em", "hierarchy", "protocol", "simplex"} | EQUATIONS
        for part in EQUATIONS
    },
    **{
        part: {
            "base",
            "cluster_mixin",
            "tree_mixin",
            "clustering",
            "em",
            "hierarchy",
            "projection_mixin",
            "stream_mixin",
        }
        | {"protocol", "settings", "simplex"}
        | EQUATIONS
        for part in MODELS
    },
}
ANYTHING = {"__init__", "__main__", "cli"}


def part_of(path):
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imported_parts(source):
    for node in ast.walk(ast.parse(source)):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
            if node.module == "skcooc":
                names = [f"skcooc.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        for name in names:
            if name.startswith("skcooc."):
                yield name.split(".")[1]


def violations(part, source):
    return set(imported_parts(source)) - ALLOWED[part] - {part}


MODULES = [path for path in sorted(ROOT.rglob("*.py")) if part_of(path) not in ANYTHING]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_follow_the_layers(path):
    assert not violations(part_of(path), path.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("part", "source"),
    [
        ("em", "from skcooc.aspect import Aspects"),
        ("counts", "import skcooc.em.legs"),
        ("aspect", "from skcooc import fitting"),
        ("em", "def f():\n    from skcooc.counts import CSRCounts"),
    ],
)
def test_a_forbidden_import_is_found(part, source):
    assert violations(part, source)


def test_only_base_builds_counts():
    """Models see counts through the protocol alone."""
    for model in MODELS | EQUATIONS:
        assert "CSRCounts" not in (ROOT / f"{model}.py").read_text(encoding="utf-8")


def test_the_estimators_are_one_level_deep():
    for model in MODELS:
        tree = ast.parse((ROOT / f"{model}.py").read_text(encoding="utf-8"))
        bases = [ast.unparse(base) for node in tree.body if isinstance(node, ast.ClassDef)
                 for base in node.bases if "Estimator" in ast.unparse(base)]  # fmt: skip
        assert bases == ["CooccurrenceEstimator"]


def test_importing_needs_no_optional_package():
    program = (
        "import sys\n"
        "blocked = ('matplotlib', 'pandas', 'polars', 'rich', 'dask', 'skimage', 'tomotopy')\n"
        "sys.modules.update(dict.fromkeys(blocked))\n"
        "import skcooc\n"
        "skcooc.AspectModel(2, random_state=0, max_iter=5).fit([[3, 1], [1, 3], [2, 2]])\n"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", program], check=True, timeout=100)
