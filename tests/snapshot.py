"""Digests of every public result: run it before a change and after, and compare the two.

    python -m tests.snapshot > before.txt
    python -m tests.snapshot | diff before.txt -

A line is a fit, an attribute or a method of it, and a digest of what it holds, bit by bit, but for
seconds. Last digits differ between makes of processors: compare on one machine.
"""

import hashlib
import io
import json
import pickle
import re
import sys
import tempfile
import warnings
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

import skcooc
from skcooc import cli
from skcooc.datasets import make_cooccurrences
from skcooc.image import TextureSegmenter
from skcooc.model_selection import ComponentSearchCV
from tests.cases import CLASSES, ESTIMATORS, FAST, META, VARIANTS
from tests.watching import Stop

METHODS = ("transform", "score", "perplexity", "score_samples", "predict", "predict_proba")
MORE_METHODS = ("bound", "project", "decision_path", "similarity", "kneighbors")
SECONDS = ("seconds", "time")  # parts of names of what is not compared


def digest(value):
    """Twelve letters that tell values apart."""
    sha = hashlib.sha1()
    for piece in pieces(value):
        sha.update(piece)
    return sha.hexdigest()[:12]


def pieces(value):
    """The bytes of a value, whatever it is made of."""
    if isinstance(value, np.ndarray) and value.dtype != object:
        yield f"{value.dtype}{value.shape}".encode()
        yield np.ascontiguousarray(np.ma.getdata(value)).tobytes()
    elif sp.issparse(value):
        yield from pieces(value.toarray())
    elif hasattr(value, "_asdict"):
        yield from pieces(value._asdict())
    elif isinstance(value, dict):
        for name, part in value.items():
            if not any(word in str(name) for word in SECONDS):
                yield from pieces(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from pieces(part)
    elif hasattr(value, "parents"):
        yield from pieces(value.parents)
    elif hasattr(value, "get_params"):
        yield type(value).__name__.encode()
    else:
        yield repr(value).encode()


def show(name, estimator, X):
    """A line for each attribute, and for what each method makes of these rows."""
    public = (a for a in sorted(dir(estimator)) if a.endswith("_") and not a.startswith("_"))
    for attribute in public:
        value = getattr(estimator, attribute, show)
        if not callable(value):
            print(name, attribute, digest(value))
    for method in (*METHODS, *MORE_METHODS):
        if hasattr(estimator, method) and hasattr(estimator, "components_"):
            print(name, f"{method}()", digest(getattr(estimator, method)(X)))
    if len(getattr(estimator, "embedding_", ())) and hasattr(estimator, "sample"):
        drawn = estimator.sample(50)
        print(name, "sample()", digest(list(drawn.positions)))
        print(name, "score_samples(Dyads)", digest(estimator.score_samples(drawn)))


def show_or_refusal(name, estimator, X, rows):
    """The same for a fit that may be refused."""
    try:
        show(name, fitted(estimator, X), rows)
    except ValueError as error:
        print(name, "refused with", type(error).__name__)


def fitted(estimator, X, **params):
    """A fit with the quick settings of the tests."""
    known = {name: value for name, value in FAST.items() if name in estimator.get_params()}
    return clone(estimator).set_params(**known).fit(X, **params)


def blocks(X):
    """A table that is read in two blocks."""
    return skcooc.RowBlocks([X[:20], X[20:]])


def every_case(X, weights):
    """All forms of all estimators: types, weights, warm starts, streams, stop and resume."""
    for number, case in enumerate([*ESTIMATORS, *VARIANTS, *META[:1]]):
        label = f"{number}:{type(case).__name__}"
        for dtype in (np.float64, np.float32):
            Y, kind = X.astype(dtype), np.dtype(dtype).name
            show(f"{label}:{kind}", fitted(case, Y), Y[:7])
            if hasattr(case, "partial_fit"):
                streamed = fitted(case, Y[:30]).partial_fit(Y[30:45]).partial_fit(Y[45:])
                show(f"{label}:partial:{kind}", streamed, Y[:7])
                show_or_refusal(f"{label}:blocks:{kind}", case, blocks(Y), Y[:7])
        model = fitted(case, X, sample_weight=weights)
        show(f"{label}:weighted", model, X[:7])
        if "warm_start" not in case.get_params():
            continue
        show(f"{label}:warm", model.set_params(warm_start=True).fit(X[:50]), X[:7])
        for at in (1, 7):
            stopped = clone(case).set_params(**{**FAST, "tol": 1e-5})
            stopped = stopped.set_callbacks(Stop(at)).fit(X)
            show(f"{label}:stopped at {at}", stopped, X[:7])
            resumed = pickle.loads(pickle.dumps(stopped)).set_callbacks()
            show(f"{label}:resumed at {at}", resumed.set_params(warm_start=True).fit(X), X[:7])


def other_forms(X):
    """What the cases have not: scales, annealing on them, one clustering of both sides."""
    scales = [np.arange(60) // 2, np.arange(60) // 6]
    rows, both = skcooc.AsymmetricClustering, skcooc.SymmetricClustering
    forms = [
        rows(3, beta=0.2, coarsening=scales),
        rows(3, coarsening=scales, annealing=1.4, n_init=2, n_jobs=2),
        rows(3, beta=0.3, coarsening=scales, annealing=1.4, early_stopping=True),
        rows(3, annealing=1.3, hard=False, n_init=2),
        both(3, 3, coarsening=scales),
        both(3, 3, coarsening=scales, early_stopping=True),
        skcooc.ClusterAbstraction(4, tree="annealed", abstraction="row", early_stopping=True),
        skcooc.AspectModel(3, beta=0.8, early_stopping=True, n_init=3, n_jobs=2),
    ]
    for number, form in enumerate(forms):
        label = f"form {number}:{type(form).__name__}"
        show(label, fitted(form, X), X[:7])
        stopped = clone(form).set_params(**FAST, n_jobs=1).set_callbacks(Stop(5)).fit(X)
        show(f"{label}:stopped", stopped, X[:7])
        stopped.set_callbacks()
        show(f"{label}:resumed", stopped.set_params(warm_start=True).fit(X), X[:7])
    square = sp.csr_array(X[:40])
    show("form tied", fitted(both(3, 3, hard=True, tied=True), square), square[:7])


def known_topics(X):
    """Groups of rows, labels, and tokens of three indices."""
    groups = np.arange(60) % 3
    for effects in ("topics", "columns", "both"):
        model = skcooc.GuidedAspectModel(4, seed_features={"a": [0, 1]}, group_effects=effects)
        for beta in ("auto", 0.9):
            label = f"groups:{effects}:{beta}"
            found = fitted(clone(model).set_params(beta=beta), X, groups=groups)
            show(label, found, X[:7])
            print(label, "transform with groups", digest(found.transform(X[:7], groups=groups[:7])))
        stopped = clone(model).set_params(**{**FAST, "tol": 1e-5}).set_callbacks(Stop(7))
        stopped.fit(X, groups=groups)
        show(f"groups:{effects}:stopped", stopped, X[:7])
        stopped.set_callbacks().set_params(warm_start=True).fit(X, groups=groups)
        show(f"groups:{effects}:resumed", stopped, X[:7])
    kept = skcooc.GuidedAspectModel(4, fixed_components=X[:2].toarray() + 0.1)
    show("kept topics", fitted(kept, X), X[:7])
    labels = np.array(["a", "b", None] * 20, dtype=object)
    model = fitted(skcooc.AspectClassifier(n_free_components=2), X, y=labels)
    results = model.predict(X[:7]), model.predict_proba(X[:7]), model.transform(X[:7])
    print("classifier", digest([*results, model.components_, model.n_iter_]))
    rng = np.random.default_rng(0)
    triads = skcooc.Triads.from_triples(*rng.integers([[9], [7], [5]], size=(3, 500)))
    for exponents in ("auto", (1.0, 0.5)):
        model = fitted(skcooc.TriadicAspectModel(3, exponents=exponents), triads)
        show(f"triads:{exponents}", model, triads)


def combinations(X):
    """A cache around each model, averages of each, mixtures of several, and features."""
    rows = X[:7]
    tokens = skcooc.Dyads(X)
    for model in CLASSES:
        name, short = type(model).__name__, clone(model).set_params(**FAST)
        auto = clone(short).set_params(beta="auto")
        for number, inside in enumerate((short, auto)):
            cached = skcooc.RowMemory(inside, random_state=0).fit(X)
            show(f"cache {number}:{name}", cached, rows)
            print(f"cache {number}:{name}", "score(Dyads)", digest(cached.score(tokens)))
            show(
                f"average {number}:{name}",
                skcooc.AveragedModels(inside, 3, random_state=0).fit(X),
                rows,
            )
    for neighbors in ("auto", 5):
        for inside in (None, skcooc.AspectModel(3, leave_one_out=True, **FAST)):
            cached = skcooc.RowMemory(inside, neighbors=neighbors, random_state=0).fit(X)
            show(f"cache:{neighbors}:{type(inside).__name__}", cached, rows)
    show("interpolated", META[2].fit(X), rows)
    features = skcooc.MixtureFeatures(skcooc.AspectModel(3, **FAST)).fit(X)
    print("features", digest(features.transform(rows)))


def meta_estimators(X):
    """What is made of several fits."""
    search = ComponentSearchCV(skcooc.AspectModel(**FAST), [2, 3, 4], cv=3, random_state=0).fit(X)
    print("search", digest([search.cv_results_, search.best_params_]))
    retriever = skcooc.AspectRetriever((3, 5), random_state=0).fit(X)
    show("retriever", retriever, X[:7])
    image = np.random.default_rng(0).normal(size=(24, 32))
    image[:, 16:] = np.cumsum(image[:, 16:], axis=0)
    show("segmenter", TextureSegmenter(2, random_state=0).fit(image), image)


def command_line(X):
    """What ``python -m skcooc`` prints and writes."""
    for model in ("aspect", "product-space", "asymmetric", "symmetric", "abstraction"):
        with tempfile.TemporaryDirectory() as folder, redirect_stdout(io.StringIO()) as said:
            table = Path(folder, "counts.npz")
            sp.save_npz(table, X)
            options = ["--model", model, "-k", "3", "--max-iter", "10", "--jobs", "1"]
            cli.main([*options, "-o", f"{folder}/out", str(table)])
            written = sorted(Path(folder, "out").glob("*.csv"))
            texts = [path.read_text() for path in written]
            written_summary = Path(folder, "out", "summary.json").read_text()
            summary = json.loads(written_summary.replace(folder, ""))
        printed = said.getvalue().replace(folder, "")
        printed = re.sub(r" +\d+\.\d+$|(took|after) \d+\.\d+ s", "", printed, flags=re.M)  # seconds
        del summary["data"]
        print("command line", model, digest([printed, *texts]), digest(summary))


def on_workers(X):
    """Fits of dask arrays."""
    import dask.array as da
    from distributed import Client

    table = da.from_array(X.toarray(), chunks=(20, 40))
    cases = [
        skcooc.AspectModel(3),
        skcooc.AspectModel(3, beta=0.9, component_prior=0.0, n_init=2),
        skcooc.AsymmetricClustering(3, beta=0.3, annealing=1.5),
        skcooc.AsymmetricClustering(3, axis="columns", beta=0.3),
        skcooc.SymmetricClustering(3, 3),
        skcooc.ClusterAbstraction(3),
        skcooc.ProductSpaceMixture(3, 3),
    ]
    options = {"processes": False, "dashboard_address": None, "n_workers": 1}
    with Client(**options, threads_per_worker=1):
        for number, case in enumerate(cases):
            show(f"dask {number}:{type(case).__name__}", fitted(case, table), X[:7])
            print(
                "dask", number, "transform", digest(fitted(case, table).transform(table).compute())
            )


def main():
    """Print all of it."""
    warnings.simplefilter("ignore")
    X = make_cooccurrences(n_rows=60, n_columns=40, n_components=3, random_state=0).X
    X = sp.csr_array(X).astype(float)
    every_case(X, np.arange(60) % 3 + 0.5)
    other_forms(X)
    known_topics(X)
    combinations(X)
    meta_estimators(X)
    command_line(X)
    on_workers(X)


if __name__ == "__main__":
    sys.exit(main())
