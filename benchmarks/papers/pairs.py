"""Adjectives and nouns in 32 x 32 hard clusters: the memo's figure 12, of the Brown corpus.

`SymmetricClustering(32, 32, hard=True)`, the best of 40 random starts by its likelihood, on all
words that occur at least ten times among those that are kept; the memo, on the LOB corpus, keeps
all. Draws ``docs/pairs.png``, and prints for every cluster of adjectives how particular it is: the
divergence of the clusters of its nouns from those of all adjectives, in nats, and the share of its
pairs that are with its main partner, the cluster of nouns that tells most about it.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import corpora, reporting
from skcooc import SymmetricClustering
from skcooc.plotting import AssociationDisplay
from skcooc.simplex import log

Row = dict[str, Any]


def frequent(corpus: corpora.Corpus, least: int) -> corpora.Corpus:
    """The words that occur at least so often among those that are kept."""
    X, adjectives, nouns = corpus.X, corpus.rows, corpus.columns
    while min(X.sum(axis=0).min(), X.sum(axis=1).min()) < least:
        rows, columns = X.sum(axis=1) >= least, X.sum(axis=0) >= least
        X, adjectives, nouns = X[rows][:, columns], adjectives[rows], nouns[columns]
    return corpora.Corpus(X, adjectives, None, nouns)


def clusters(model: SymmetricClustering, display: AssociationDisplay) -> Iterator[Row]:
    """One row for each cluster of adjectives, the most particular one first."""
    information = model.joint_ * log(model.association_)
    share = model.joint_.sum(axis=1)
    divergence = information.sum(axis=1) / share
    partner = information.argmax(axis=1)
    for c in np.argsort(-divergence):
        d = partner[c]
        yield {
            "nats": float(divergence[c]),
            "adjectives": ", ".join(display.rows.words[c]),
            "association": float(model.association_[c, d]),
            "with it": float(model.joint_[c, d] / share[c]),
            "nouns": ", ".join(display.columns.words[d]),
        }


def main() -> None:
    """Fit, print, draw."""
    parser = reporting.options(str(__doc__))
    parser.add_argument("--clusters", type=int, default=32, help="of either side")
    parser.add_argument("--least", type=int, default=10, help="occurrences of a word")
    parser.add_argument("--starts", type=int, default=40)
    parser.add_argument("--picture", type=Path, default=reporting.DOCS / "pairs.png")
    draw(parser.parse_args())


def draw(options: argparse.Namespace) -> None:
    """The picture, and the table."""
    kept = frequent(corpora.brown_pairs(), options.least)
    model = SymmetricClustering(
        options.clusters, options.clusters, hard=True, n_init=options.starts, random_state=0
    ).fit(kept.X)
    print(f"{kept.X.shape[0]} adjectives, {kept.X.shape[1]} nouns, {kept.X.sum()} pairs")
    print(f"mutual information of the clusters: {model.mutual_information_:.3f} nats")
    display = AssociationDisplay.from_estimator(
        model, kept.X, kept.columns, kept.rows, n_features=3, fontsize=9,
        sides=("adjectives", "nouns"),
    )  # fmt: skip
    results = {"options": reporting.given(options)}
    rows = reporting.collect(clusters(model, display), options.output, results, "rows", None)
    reporting.print_table(rows)
    reporting.save_picture(display.figure_, options.picture, dpi=150)


if __name__ == "__main__":
    main()
