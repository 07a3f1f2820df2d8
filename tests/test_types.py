"""What type checkers say of scripts of users: mypy --strict, and pyright in strict mode."""

import ast
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = ("README", "docs/index", "docs/start/coming_from")

RIGHT = """
from typing import Any, assert_type

import pandas
import polars
from numpy.typing import NDArray

import skcooc
from skcooc import AspectModel, Dyads, Triads, inspection, plotting
from skcooc.base.recommendations import Recommendations
from skcooc.em import Record, Split
from skcooc.fitting.tuning import Trial
from skcooc.hierarchy import Tree
from skcooc.inspection import describe, topic_shares
from skcooc.model_selection import ComponentSearchCV, split_counts

X = [[3, 0, 1], [0, 2, 4]]
model = AspectModel(3, beta=0.9, random_state=0)
assert_type(model.fit(X), AspectModel)
assert_type(model.partial_fit(X), AspectModel)
assert_type(model.set_params(beta=0.8), AspectModel)
assert_type(model.set_output(transform="polars"), AspectModel)
assert_type(model.get_params(), dict[str, Any])
assert_type(model.transform(X), NDArray[Any])
assert_type(model.fit_transform(X), NDArray[Any])
assert_type(model.get_feature_names_out(), NDArray[Any])
assert_type(model.score(X), float)
assert_type(model.perplexity(Dyads(X)), float)
assert_type(model.score_samples(X), NDArray[Any])
assert_type(model.recommend([0]), Recommendations)
assert_type(model.sample(3), Dyads)
assert_type(model.components_, NDArray[Any])
assert_type(model.embedding_, NDArray[Any])
assert_type(model.weights_, NDArray[Any])
assert_type(model.component_distribution_, NDArray[Any])
assert_type(model.feature_names_in_, NDArray[Any])
assert_type(model.beta_, float)
assert_type(model.component_prior_, float)
assert_type(model.n_components_, int)
assert_type(model.n_iter_, int)
assert_type(model.converged_, bool)
assert_type(model.history_, list[Record])
assert_type(model.tuning_, list[Trial])
assert_type(model.splits_, list[Split])

guided = skcooc.GuidedAspectModel(2, seed_features={"tea": ["cup"]}).fit(X, groups=[0, 1])
assert_type(guided, skcooc.GuidedAspectModel)
classifier = skcooc.AspectClassifier().fit(X, ["a", "b"])
assert_type(classifier.predict(X), NDArray[Any])
assert_type(classifier.score(X, ["a", "b"]), float)
clusters = skcooc.AsymmetricClustering(2)
assert_type(clusters.fit_predict(X), NDArray[Any])
assert_type(clusters.fit(X).labels_, NDArray[Any])
assert_type(clusters.predict_proba(X), NDArray[Any])
both = skcooc.SymmetricClustering(2, 2, hard=True).fit(X)
assert_type(both.association_, NDArray[Any])
assert_type(both.get_shape(0), tuple[int, int])
tree = skcooc.ClusterAbstraction(2).fit(X)
assert_type(tree.tree_, Tree)
assert_type(skcooc.ProductSpaceMixture(2, 2).fit(X), skcooc.ProductSpaceMixture)
assert_type(skcooc.ClusteringProjection(2).fit(X), skcooc.ClusteringProjection)
assert_type(skcooc.RowMemory(model).fit(X).transform(X), NDArray[Any])
average = skcooc.AveragedModels(model, 3).fit(X)
assert_type(average.perplexity(X), float)
triads = Triads([0], [1], [0])
assert_type(skcooc.TriadicAspectModel(2).fit(triads).score(triads), float)

search = ComponentSearchCV(model, [2, 3]).fit(X)
for fitted in (model, both, tree, average.consensus_, classifier, search):
    assert_type(inspection.name_topics(fitted), list[str])
assert_type(inspection.merge_topics(model, [[0, 1]]), AspectModel)
assert_type(describe(model), pandas.DataFrame)
assert_type(describe(model, backend="pandas"), pandas.DataFrame)
assert_type(describe(model, backend="polars"), polars.DataFrame)
assert_type(topic_shares(model, [0, 1], X=X, backend="polars"), polars.DataFrame)
describe(model, backend="pyarrow").sort_by("share")
assert_type(split_counts(triads), tuple[Triads, Triads])
assert_type(plotting.TopicsDisplay.from_estimator(model), plotting.TopicsDisplay)
plotting.HierarchyDisplay.from_estimator(tree)
plotting.AssociationDisplay.from_estimator(both)
"""

WRONG = """
import skcooc
from skcooc.inspection import describe

skcooc.AspectModel(n_component=3)  # wrong
skcooc.AspectModel(3, 0.5)  # wrong
skcooc.AspectModel(beta="automatic")  # wrong
skcooc.GuidedAspectModel(n_component=3)  # wrong
skcooc.ProductSpaceMixture(n_component=3)  # wrong
skcooc.AsymmetricClustering(n_cluster=3)  # wrong
skcooc.SymmetricClustering(n_clusters=3)  # wrong
skcooc.ClusterAbstraction(n_component=3)  # wrong
skcooc.ClusteringProjection(n_component=3)  # wrong
skcooc.TriadicAspectModel(n_component=3)  # wrong
skcooc.AspectClassifier(n_component=3)  # wrong
skcooc.AspectRetriever(n_component=3)  # wrong
skcooc.AveragedModels(skcooc.AspectModel(), n_models=3)  # wrong
skcooc.RowMemory(discounts=0.5)  # wrong
skcooc.MixtureFeatures(skcooc.AspectModel(), betas=0.5)  # wrong
model = skcooc.AspectModel(n_components=3)
model.component_  # wrong
model.fit([[1]]).scores([[1]])  # wrong
describe(model, backend="polars").sort_values("share")  # wrong
"""

SETTINGS = {  # a page imports a name again where its next section does
    "typeCheckingMode": "strict", "extraPaths": [str(ROOT)], "include": ["*.py"],
    "reportDuplicateImport": False, "reportUnusedExpression": False,
    "reportMissingTypeStubs": False,
}  # fmt: skip
SKIP = """[mypy]
[mypy-numba.*,skimage.*,hypothesis.*,dask.*,distributed.*,anndata.*,narwhals.*,tifffile.*,PIL.*]
follow_imports = skip
follow_imports_for_stubs = True
"""  # packages behind skcooc: scripts do not see them, and mypy reads them slowly
STUB = """from typing import Any
class {name}:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __getattr__(self, name: str) -> Any: ...
"""


def code_of(page):
    text = (ROOT / f"{page}.md").read_text(encoding="utf-8")
    return "\n".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL))


SCRIPTS = {"right": RIGHT, "wrong": WRONG, **{page: code_of(page) for page in PAGES}}


def file_of(script):
    return f"script_{script.replace('/', '_')}.py"


def mypy(folder, cache):
    (folder / "mypy.ini").write_text(SKIP)
    command = [
        *(sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent"),
        *("--ignore-missing-imports", "--cache-dir", str(cache), "--output=json", "."),
    ]
    found = subprocess.run(
        command, cwd=folder, env={"MYPYPATH": str(ROOT)}, capture_output=True, text=True
    )
    for line in found.stdout.splitlines():
        error = json.loads(line)
        if error["severity"] == "error":
            yield Path(error["file"]).name, error["line"], error["message"]


def pyright(folder, cache):
    """Its errors, with stubs for the names of other packages that pages import."""
    program = shutil.which("basedpyright") or shutil.which("pyright")
    if program is None:
        pytest.skip("neither basedpyright nor pyright is installed")
    for page in PAGES:
        for node in ast.walk(ast.parse(SCRIPTS[page])):
            if isinstance(node, ast.ImportFrom) and node.module.startswith(("sklearn", "anndata")):
                stub = folder / "typings" / node.module.replace(".", "/") / "__init__.pyi"
                stub.parent.mkdir(parents=True, exist_ok=True)
                with stub.open("a") as file:
                    file.writelines(STUB.format(name=alias.name) for alias in node.names)
    (folder / "pyrightconfig.json").write_text(json.dumps(SETTINGS))
    command = [program, "--outputjson", "--pythonpath", sys.executable]
    found = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    for error in json.loads(found.stdout)["generalDiagnostics"]:
        if error["severity"] == "error":
            file = Path(error["file"]).name
            yield file, error["range"]["start"]["line"] + 1, error["message"]


@pytest.fixture(scope="module", params=[mypy, pyright], ids=["mypy", "pyright"])
def errors(request, tmp_path_factory):
    """The errors of all scripts: {file: {line: message}}."""
    folder = tmp_path_factory.mktemp("scripts")
    for script, code in SCRIPTS.items():
        (folder / file_of(script)).write_text(code, encoding="utf-8")
    found = {file_of(script): {} for script in SCRIPTS}
    kept = getattr(request.config, "cache", None)  # not with -p no:cacheprovider
    cache = kept.mkdir("mypy") if kept else tmp_path_factory.mktemp("mypy")
    for file, line, message in request.param(folder, cache):
        found[file][line] = message
    return found


def test_misspelt_parameters_and_attributes_are_errors(errors):
    lines = [n for n, line in enumerate(WRONG.splitlines(), 1) if line.endswith("# wrong")]
    assert sorted(errors[file_of("wrong")]) == lines


@pytest.mark.parametrize("script", ["right", *PAGES])
def test_types_are_right_and_the_code_of_pages_has_no_errors(errors, script):
    assert errors[file_of(script)] == {}
