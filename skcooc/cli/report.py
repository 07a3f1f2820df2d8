"""What is printed: the comparison, the temperature, the components or their tree, nearest rows."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeGuard

import numpy as np
from sklearn.base import BaseEstimator, is_clusterer

from skcooc.cli.arguments import Options
from skcooc.cli.characters import printable
from skcooc.cli.comparison import Comparison, Entry
from skcooc.cli.groups import Compared, lines
from skcooc.cli.table import LeftOut, Table
from skcooc.inspection import characteristic_features, export_text, nearest_rows, top_features
from skcooc.inspection.blocks import of_columns, of_rows, partners
from skcooc.inspection.names import TreeModel
from skcooc.protocol import Array, FactorModel

WIDTH = 96
LONGEST = 200  # of a line with a name in it
ORDERS = {"characteristic": "characteristic", "probable": "most probable"}
N_EXAMPLES = 4
N_NEIGHBORS = 5
N_LEFT_OUT = 10  # words
HEADINGS = ("model", "beta", "smoothing", "iterations", "perplexity", "with memory", "seconds")


def report(
    table: Table,
    comparison: Comparison,
    model: BaseEstimator,
    options: Options,
    divisions: Sequence[Compared],
) -> str:
    """The report as plain text; the model is fitted to all observations."""
    sections = [
        _data(table, options),
        _perplexities(comparison, options),
        _temperature(comparison.chosen),
        _tree(table, model, options) if has_tree(model) else _components(table, model, options),
    ]
    noun = "nodes" if has_tree(model) else _noun(model)
    sections += [lines(of, noun, table.kinds[0]) for of in divisions]
    if not is_clusterer(model):  # in one cluster all rows are equally near
        sections.append(_neighbors(table, model, example_rows(table, model, options.nearest)))
    written = ["\n".join(map(_shown, section)) for section in sections]
    return "\n\n".join(filter(None, written)) + "\n"


def _shown(line: str) -> str:
    """A line as it is printed, cut where a name makes it too long."""
    line = printable(line)
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"


def example_rows(table: Table, model: FactorModel, wanted: list[str]) -> list[int]:
    """Positions of the rows whose neighbours are shown: those wanted, or the table's own examples.

    Else, for each of the most frequent aspects, the row with the most observations among those that
    it dominates.
    """
    names = wanted or table.examples
    if names:
        return [table.position(name) for name in names]
    n_observations = table.X.sum(axis=1)
    dominant = model.embedding_.argmax(axis=1)
    aspects = [k for k in np.argsort(-shares(model)) if n_observations[dominant == k].any()]
    return [int(np.where(dominant == k, n_observations, -1).argmax()) for k in aspects[:N_EXAMPLES]]


def shares(model: FactorModel) -> Array:
    """Share of the observations in each component, (K,)."""
    return np.asarray(model.row_distribution_ @ model.embedding_)


def has_tree(model: FactorModel) -> TypeGuard[TreeModel]:
    """Whether a fitted model is a hierarchy of clusters."""
    return hasattr(model, "tree_")


def _noun(model: FactorModel) -> str:
    return "clusters" if is_clusterer(model) else "aspects"


def _data(table: Table, options: Options) -> Iterator[str]:
    (n, m), (rows, columns) = table.X.shape, table.kinds
    yield from textwrap.wrap(table.title, WIDTH)
    yield (
        f"{n:,} {rows}, {m:,} {columns}, {table.X.sum():,.0f} observations; "
        f"{options.test_size:.0%} of them held out"
    )
    if empty := int((table.X.sum(axis=1) == 0).sum()):
        yield f"{rows} without any of these {columns}: {empty:,}"
    if table.left_out is not None:
        yield from _left_out(table.left_out)


def _left_out(of: LeftOut) -> Iterator[str]:
    """How many words, and which are the most frequent of them."""
    frequent = ", ".join(f"{word} {share:.0%}" for word, share in of.frequent[:N_LEFT_OUT])
    more = ", ..." if len(of.frequent) > N_LEFT_OUT else ""
    text = (
        f"words left out, beside stop words: {len(of.frequent):,} in more documents than --max-df "
        f"{of.max_df}" + (f" ({frequent}{more})" if of.frequent else "")
        + f", and {of.n_rare:,} in fewer than --min-df {of.min_df}"
    )  # fmt: skip
    yield from textwrap.wrap(text, WIDTH)


def _perplexities(comparison: Comparison, options: Options) -> Iterator[str]:
    kind = _noun(comparison.chosen)
    yield f"Perplexity of the observations held out, {options.components} {kind}"
    yield ""
    lines = [HEADINGS, *(_cells(entry) for entry in comparison.entries)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    rule = tuple("-" * width for width in widths)
    for label, *cells in [lines[0], rule, *lines[1:]]:
        aligned = [cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True)]
        yield "  " + "  ".join([label.ljust(widths[0]), *aligned])
    yield ""
    yield "  smoothing: weight of the unigram in what is scored, estimated where fit holds out"
    yield "    observations and .001 elsewhere; LDA needs none"
    yield f"  with memory: what a row has is expected of it again, whatever its {kind} say; the"
    yield f"    first line, without {kind}, is the one to beat"
    yield (
        f"  seconds: of fit, after {comparison.compile_seconds:.1f} s of compiling and of starting "
        "workers; for the memory, LDA"
    )
    yield "    and a model with a given beta are fitted twice, and the seconds are of both"
    for note in dict.fromkeys(note for entry in comparison.entries for note in entry.notes):
        labels = "; ".join(entry.label for entry in comparison.entries if note in entry.notes)
        yield from textwrap.wrap(
            f"{labels}: {note}", WIDTH, initial_indent="  ", subsequent_indent="    "
        )


def _cells(entry: Entry) -> tuple[str, ...]:
    fits = entry.beta, entry.smoothing, entry.n_iter
    values = *fits, entry.perplexity, entry.with_memory, entry.seconds
    forms = ".3f", ".3f", "d", ",.1f", ",.1f", ".1f"
    cells = (
        "-" if value is None else format(value, form)
        for value, form in zip(values, forms, strict=True)
    )
    return entry.label, *cells


def _temperature(chosen: BaseEstimator) -> Iterator[str]:
    probes = chosen.tuning_
    if not probes:
        return
    beta = f"{chosen.beta_:.3f}"
    yield f"Temperature chosen: beta = {beta}, on training observations that fit held out"
    first = probes[0]
    if first.n_components is not None:
        yield f"by short fits of {first.n_components} components"
    alike = sorted((p for p in probes if p.stage == first.stage), key=lambda probe: probe.beta)
    found = (probe.validation.perplexity for probe in alike)
    yield from _tried("beta", (f"{probe.beta:9.3f}" for probe in alike), found)
    if tried := sorted((probe for probe in probes if probe.prior), key=lambda probe: probe.prior):
        found = (probe.validation.perplexity for probe in tried)
        yield from _tried("prior", (f"{probe.prior:9.2g}" for probe in tried), found)


def _tried(name: str, values: Iterable[str], perplexities: Iterable[float]) -> Iterator[str]:
    """What was tried, and the perplexities below it."""
    yield ""
    yield f"  {name:12}" + "".join(values)
    yield "  perplexity  " + "".join(f"{perplexity:9.1f}" for perplexity in perplexities)


def _components(table: Table, model: FactorModel, options: Options) -> Iterator[str]:
    yield (
        f"{_noun(model).capitalize()}, most frequent first, fitted to all observations: share, "
        + _listed(table, model, options)
    )
    yield ""
    if hasattr(model, "column_labels_"):
        yield from _members(table, model, options.top)
        return
    of = characteristic_features if options.order == "characteristic" else top_features
    features, share = of(model, table.column_names, n_features=options.top), shares(model)
    for k in np.argsort(-share):
        words = textwrap.shorten(" ".join(features[k]), WIDTH - 9, placeholder="")
        yield f"  {100 * share[k]:4.1f} %  {words}"


def _listed(table: Table, model: FactorModel, options: Options) -> str:
    """What is said of each component: its columns, or the members of clusters of both sides."""
    if hasattr(model, "column_labels_"):
        return "commonest members"
    return f"{ORDERS[options.order]} {table.kinds[1]}"


def _members(table: Table, model: Any, n: int) -> Iterator[str]:
    """The members of the clusters of both sides, and what each goes with most."""
    sides = of_rows(model), of_columns(model)
    names = np.array(table.row_names, dtype=object), np.array(table.column_names, dtype=object)
    for at, kind in enumerate(table.kinds):
        goes_with = partners(model.joint_ if at == 0 else model.joint_.T)
        yield from ([""] if at else [])
        yield f"  {kind}; in brackets the clusters of {table.kinds[1 - at]} they go with"
        for c in np.argsort(-sides[at].weights).tolist():
            words = " ".join(names[at][sides[at].members[c][:n]])
            found = ", ".join(map(str, goes_with[c][0][:2].tolist()))
            line = textwrap.shorten(words, WIDTH - 28, placeholder="")
            yield f"  {c:3d}  {100 * sides[at].weights[c]:4.1f} %  {line}  [{found}]"


def _tree(table: Table, model: TreeModel, options: Options) -> Iterator[str]:
    """The tree of the clusters, with as many words as there is room for, and no fewer than one."""
    yield (
        f"Tree of clusters, fitted to all observations: {ORDERS[options.order]} {table.kinds[1]} "
        "of each node, share"
    )
    yield ""
    for n_features in range(options.top, 0, -1):
        text = export_text(model, table.column_names, n_features=n_features, order=options.order)
        lines = text.splitlines()
        if max(map(len, lines)) <= WIDTH - 2:
            break
    yield from (f"  {line}" for line in lines)


def _neighbors(table: Table, model: FactorModel, rows: list[int]) -> Iterator[str]:
    yield f"Nearest {table.kinds[0]} by their aspects (Hellinger distance)"
    known = np.flatnonzero(table.X.sum(axis=1) > 0)  # the others are all alike: the prior
    n_neighbors = min(N_NEIGHBORS, len(known) - 1)
    distances, neighbors = nearest_rows(
        model.embedding_[known], np.searchsorted(known, rows), n_neighbors
    )
    for row, near, at in zip(rows, distances, known[neighbors], strict=True):
        yield ""
        yield f"  {table.row_names[row]}"
        yield from (f"    {d:.2f}  {table.row_names[i]}" for d, i in zip(near, at, strict=True))
