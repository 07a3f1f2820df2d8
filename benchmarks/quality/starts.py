"""How good is one fit of clusters, and what does it cost, beside fits from random components?

One `AsymmetricClustering` for each seed, at a given inverse temperature and by default, on tables
with known classes. With `--random` fits begin with random components instead. CPU seconds are those
of the whole fit with one thread; the best of `n` random fits is that with the least free energy.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from time import process_time
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import normalized_mutual_info_score

from benchmarks import corpora, reporting
from benchmarks.quality import tuned
from benchmarks.quality.coclustering import occupied
from skcooc import AsymmetricClustering
from skcooc.datasets import make_cooccurrences
from skcooc.equations.row_clusters import RowClusters
from skcooc.metrics import clustering_accuracy

MEASURES = ("free energy", "NMI", "accuracy", "seconds")

Row = dict[str, Any]


class Known(NamedTuple):
    """A table, its classes, and how it is clustered."""

    X: Any  # (N, M)
    classes: np.ndarray  # (N,)
    n_clusters: int
    beta: float


def planted(n_clusters: int) -> Known:
    """Forty rows in each cluster, with sixty tokens each."""
    n_rows = 40 * n_clusters
    data = make_cooccurrences(
        n_rows, 300, n_clusters, kind="clusters", n_tokens=60 * n_rows, random_state=1
    )
    X, rows = occupied(data.X)
    return Known(X, data.labels[rows], n_clusters, 0.15)


def read(corpus: Callable[[], corpora.Corpus], n_clusters: int, beta: float) -> Known:
    """A collection without empty documents."""
    found = corpus()
    assert found.labels is not None
    X, rows = occupied(found.X)
    return Known(X, found.labels[rows], n_clusters, beta)


DATA: dict[str, Callable[[], Known]] = {
    "planted 5": lambda: planted(5),
    "planted 12": lambda: planted(12),
    "planted 30": lambda: planted(30),
    "classic3": lambda: read(corpora.classic3, 3, 0.15),
    "reuters5": lambda: read(corpora.reuters5, 5, 0.164),
    "newsgroups4": lambda: read(corpora.newsgroups4, 4, 0.093),
    "newsgroups20, 10": lambda: read(corpora.newsgroups20, 10, 0.093),
    "newsgroups20, 20": lambda: read(corpora.newsgroups20, 20, 0.09),
}


def runs(options: argparse.Namespace) -> Iterator[Row]:
    """One row for each table, way and seed."""
    for data in options.data:
        known = DATA[data]()
        for way, beta in (("given", known.beta), ("auto", "auto")):
            if way not in options.beta:
                continue
            model = AsymmetricClustering(known.n_clusters, beta=beta, n_jobs=1)
            model.set_params(random_state=0, max_iter=2).fit(known.X)  # compiles
            model.set_params(max_iter=200)
            for seed in range(options.seeds):
                before = process_time()
                model.set_params(random_state=seed).fit(known.X)
                row = {"data": data, "beta": way, "seed": seed, "seconds": process_time() - before}
                yield row | _quality(model, known.classes)


def summary(rows: list[Row]) -> list[Row]:
    """Mean, standard deviation and worst over the seeds; the best free energy."""
    lines = []
    for data, way in dict.fromkeys((row["data"], row["beta"]) for row in rows):
        values = {
            name: [row[name] for row in rows if (row["data"], row["beta"]) == (data, way)]
            for name in MEASURES
        }
        line: Row = {"data": data, "beta": way, "exact": sum(v > 1 - 1e-9 for v in values["NMI"])}
        for name in MEASURES:
            line |= {name: np.mean(values[name]), f"{name} sd": np.std(values[name], ddof=1)}
        line |= {f"{name} least": min(values[name]) for name in MEASURES[:3]}
        line["seconds"] = np.median(values["seconds"])
        lines.append(line | {"free energy most": max(values["free energy"])})
    return lines


def _quality(model: AsymmetricClustering, classes: np.ndarray) -> Row:
    labels = model.labels_
    return {
        "free energy": model.objective_,
        "NMI": normalized_mutual_info_score(classes, labels),
        "accuracy": clustering_accuracy(classes, labels),
    }


def main() -> None:
    tuned.silence()
    parser = reporting.options(str(__doc__))
    parser.add_argument("--data", choices=DATA, nargs="+", default=list(DATA)[:6])
    parser.add_argument("--beta", choices=("given", "auto"), nargs="+", default=["given", "auto"])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--random", action="store_true", help="begin with random components")
    options = parser.parse_args()
    if options.random:
        RowClusters.start = RowClusters.random  # type: ignore[method-assign]
    results: dict[str, Any] = {"options": reporting.given(options)}
    rows = reporting.collect(runs(options), options.output, results, "runs")
    lines = summary(rows)
    reporting.print_table([{k: _rounded(v) for k, v in line.items()} for line in lines])
    reporting.save(options.output, results | {"summary": lines})


def _rounded(value: Any) -> Any:
    return round(float(value), 3) if isinstance(value, float) else value


if __name__ == "__main__":
    main()
