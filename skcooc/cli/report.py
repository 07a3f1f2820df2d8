"""The report, the comparison, and the files: paths are checked first, and all written or none."""

from __future__ import annotations

import csv
import json
import os
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from errno import EACCES, ENOTDIR
from operator import attrgetter
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from sklearn.base import BaseEstimator, is_clusterer

from skcooc import inspection
from skcooc.cli.models import Entry
from skcooc.cli.terminal import Arguments, printable
from skcooc.cli.texts import InputError, NamedCounts
from skcooc.inspection import models
from skcooc.inspection.features import (
    associated_clusters,
    column_clusters,
    component_features,
    row_clusters,
)
from skcooc.inspection.models import TreeModel, Unwrapped
from skcooc.inspection.names import cluster_names
from skcooc.protocol import Array, FactorModel
from skcooc.protocol.locks import check_regular, exclusive
from skcooc.reports.counting import CountedTexts, DroppedWords
from skcooc.reports.notes import collected
from skcooc.reports.report import Division, TopicReport

WIDTH = 96
LONGEST = 200  # of a line with a name in it
ORDERS = {"characteristic": "characteristic", "probable": "most probable"}
N_EXAMPLES = 4
N_NEIGHBORS = 5
N_DROPPED = 10  # words
N_GROUPS = 12  # printed, the largest, but all times
N_TOPICS = 3  # printed of each group
HEADINGS = ("model", "beta", "smoothing", "iterations", "perplexity", "with cache", "seconds")
FORMS = ".3f", ".3f", "d", ",.1f", ",.1f", ".1f"  # of the numbers below these
EXPLANATION = """\
  perplexity: a model with a perplexity of 500 is as uncertain about a held-out token as if it
    had to guess among 500 equally likely ones, so lower is better. The first line is a
    baseline without topics; a model that does not beat it has learned nothing of use
  beta: the inverse temperature of the fit; smaller values make topics smoother
  smoothing: the part of each prediction that comes from the overall frequencies, so that
    no token is impossible. It is tuned on validation data, or 0.001. LDA needs none
  with cache: the model combined with a cache (skcooc.RowMemory), which makes a word or other
    column more likely once a row has used it. Compare with the first line of this column
  seconds: time to fit the model, including compilation in a first run. LDA, and models with
    --beta, are fitted twice, because the cache needs a fit to a part of the data"""
BETA = """\
Tuned inverse temperature: beta = {beta:.3f}. Smaller values make topics and clusters smoother. \
For each value tried, a model was fitted to a part of the data, and its predictions of the rest \
were scored by their perplexity. A perplexity of 500 means that the model is as uncertain as if it \
had to guess among 500 equally likely tokens, so lower is better. The first {fits} gave:"""
PRIOR = """\
Pseudo-counts were tried as well, because they help if the data are sparse. "prior" is added to \
each column in each topic or cluster, and "row prior", if listed, to each topic in each row."""

# Half a surrogate pair, as in JSON that was cut or in names of files, is written out.
UNICODE: dict[str, Any] = {"encoding": "utf-8", "errors": "backslashreplace"}
RESULTS = "components.csv", "embedding.csv", "summary.json", "model.joblib"
EXTRA_RESULTS = {  # of clusterings, and where there are groups or times
    "row_clusters.csv",
    "column_clusters.csv",
    "shares_by_group.csv",
    "shares_by_time.csv",
}


def report(
    table: NamedCounts, result: TopicReport, options: Arguments, python: Sequence[str]
) -> str:
    model = result.model
    has_tree = hasattr(model, "tree_")
    sections = [
        _data(table, options),
        _tree(table, model, options) if has_tree else _components(table, result, options),
        _temperature(model),
        (line for note in result.notes for line in _wrapped(note)),
    ]
    noun = models.kind_of(model)
    is_divided = has_tree or len(result.shares) > 1  # else all rows have the same shares
    if is_divided:
        sections += [
            _shares_by_division(division, result.names, noun, table.kinds[0])
            for division in result.divisions
        ]
    if is_divided and not is_clusterer(model):  # all rows of a cluster are equally near
        rows = _example_rows(table, result, options.nearest)
        sections.append(_neighbors(table, model, rows))
    paragraphs = ["\n".join(map(_cut, section)) for section in sections]
    lines = "\n".join(f"  {printable(line)}" for line in python)  # not cut, to be copied
    result_name = "tree" if has_tree else f"{noun}s"
    paragraphs.append(f"The same {result_name} in Python\n\n{lines}")
    return "\n\n".join(filter(None, paragraphs)) + "\n"


def _cut(line: str) -> str:
    line = printable(line)
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent="  ", subsequent_indent="    ")


def _example_rows(table: NamedCounts, result: TopicReport, wanted: list[str]) -> list[int]:
    """Rows whose neighbours are shown: wanted or example rows, or the longest of large topics."""
    row_sums = table.X.sum(axis=1)
    if wanted:
        return [table.position(name) for name in wanted]
    examples = [list(table.row_names).index(name) for name in table.examples]
    if filled := [i for i in examples if row_sums[i] > 0]:
        return filled
    dominant = result.model.embedding_.argmax(axis=1)
    topics = [k for k in result.order if row_sums[dominant == k].any()]
    return [int(np.where(dominant == k, row_sums, -1).argmax()) for k in topics[:N_EXAMPLES]]


def _data(table: NamedCounts, options: Arguments) -> Iterator[str]:
    n, m = table.X.shape
    rows, columns = table.kinds
    unit = "co-occurrences" if table.texts is None else "tokens"
    yield from textwrap.wrap(table.title, WIDTH)
    yield f"{n:,} {rows}, {m:,} {columns}, {table.X.sum():,.0f} {unit}"
    for note in table.notes:
        yield from _wrapped(note)
    if empty := int((table.X.sum(axis=1) == 0).sum()):
        yield f"{rows} without any of these {columns}: {empty:,}"
    if table.counted is not None:
        yield from _dropped(table.counted, options)


def _dropped(counted: CountedTexts, options: Arguments) -> Iterator[str]:
    """The words that are dropped, by reason: those first that a reader should doubt."""
    dropped = {words.reason: words for words in counted.dropped}
    parts = []
    if (common := dropped.get("common")) and common.words:
        parts.append(
            f"common words that say little about a topic: {len(common.words):,} (the most "
            f"doubtful first: {_examples(common)}); --max-df 1.0 keeps them"
        )
    if counted.max_df is not None and (frequent := dropped["frequent"]).words:
        parts.append(
            f"words in more documents than --max-df {counted.max_df} allows: "
            f"{len(frequent.words):,} ({_examples(frequent)})"
        )
    if n_rare := len(dropped["rare"].words):
        parts.append(f"words in fewer documents than --min-df {counted.min_df} allows: {n_rare:,}")
    if (short := dropped.get("short")) and short.words:
        parts.append(f"words of a single letter: {len(short.words):,} ({_examples(short)})")
    if parts:
        besides = "" if options.stop_words == "none" else ", in addition to English stop words"
        yield f"words dropped{besides}:"
    for part in parts:
        yield from _wrapped(part)


def _examples(dropped: DroppedWords) -> str:
    listed = zip(dropped.words[:N_DROPPED], dropped.shares.tolist(), strict=False)
    names = [word if share != share else f"{word} {100 * share:.0f} %" for word, share in listed]
    if not np.isnan(dropped.shares[0]):
        names[0] += " of the documents"
    more = ", ..." if len(dropped.words) > N_DROPPED else ""
    return f"{', '.join(names)}{more}"


def comparison_table(entries: Sequence[Entry], options: Arguments) -> str:
    lines: list[tuple[str, ...]] = [HEADINGS]
    for entry in entries:
        fits = entry.beta, entry.smoothing, entry.n_iter
        values = *fits, entry.perplexity, entry.with_memory, entry.seconds
        cells = ("-" if v is None else format(v, f) for v, f in zip(values, FORMS, strict=True))
        lines.append((entry.label, *cells))
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    lines.insert(1, tuple("-" * width for width in widths))
    held_out = f"{100 * options.test_size:g} % of the tokens"
    size = f", {options.components} components" if options.components else ""
    text = [f"Test perplexity{size}: {held_out} are held out", ""]
    for label, *numbers in lines:
        aligned = [cell.rjust(width) for cell, width in zip(numbers, widths[1:], strict=True)]
        text.append("  " + "  ".join([label.ljust(widths[0]), *aligned]))
    text += ["", *EXPLANATION.splitlines()]
    for note in dict.fromkeys(note for entry in entries for note in entry.notes):
        labels = "; ".join(entry.label for entry in entries if note in entry.notes)
        text += _wrapped(f"{labels}: {note}")
    return "\n".join(map(_cut, text)) + "\n"


def _temperature(model: BaseEstimator) -> Iterator[str]:
    trials = model.tuning_
    if not trials:
        return
    first = trials[0]
    fits = "values"
    if first.n_components is not None:
        fits = f"values, in short fits with {first.n_components} components,"
    yield from textwrap.wrap(BETA.format(beta=model.beta_, fits=fits), WIDTH)
    same_stage = [trial for trial in trials if trial.stage == first.stage]
    yield from _trials({"beta": "9.3f"}, same_stage)
    if with_prior := models.prior_trials(trials):
        forms = {"prior": "9.2g"}
        if len({trial.row_prior for trial in with_prior}) > 1:
            forms["row_prior"] = "9.2g"
        yield ""
        yield from textwrap.wrap(PRIOR, WIDTH)
        yield from _trials(forms, with_prior)


def _trials(forms: dict[str, str], trials: list[Any]) -> Iterator[str]:
    """Values of hyper-parameters in order, and perplexities below."""
    trials.sort(key=attrgetter(*forms))
    yield ""
    for name, form in forms.items():
        values = "".join(format(getattr(trial, name), form) for trial in trials)
        yield f"  {name.replace('_', ' '):12}{values}"
    perplexities = (trial.validation.perplexity for trial in trials)
    yield "  perplexity  " + "".join(f"{perplexity:9.1f}" for perplexity in perplexities)


def _components(table: NamedCounts, result: TopicReport, options: Arguments) -> Iterator[str]:
    model = result.model
    has_members = hasattr(model, "column_labels_")
    noun = models.kind_of(model)
    head = f"{noun.capitalize()}s, most frequent first: share of the tokens,"
    if has_members:
        yield f"{head} most frequent members"
        yield ""
        yield from _members(table, model, options.top)
        return
    yield head
    yield f"  share of the {table.kinds[0]} in which the {noun} is the largest,"
    yield f"  {ORDERS[options.order]} {table.kinds[1]}"
    yield ""
    names = table.column_names
    features = component_features(Unwrapped(model), names, options.top, options.order)
    share = result.shares
    documents = result.documents
    named = getattr(model, "component_names_", {})
    for k in result.order.tolist():
        name = f"{named[k]}: " if k in named else ""
        words = textwrap.shorten(name + " ".join(features[k]), WIDTH - 18, placeholder="")
        yield f"  {100 * share[k]:4.1f} %  {100 * documents[k]:5.1f} %  {words}"
    size = len(share)
    if result.n_fitted > size:
        n_merged = result.n_fitted - size
        yield ""
        merged = (
            "1 that was nearly equal to another was merged with it"
            if n_merged == 1
            else f"{n_merged} that were nearly equal to others were merged with them"
        )
        yield from textwrap.wrap(
            f"{result.n_fitted} topics were fitted, and {merged}. Use --components to set the "
            "number yourself.",
            WIDTH,
        )


def _members(table: NamedCounts, model: Any, n: int) -> Iterator[str]:
    """Members of the clusters of both sides, and their most associated clusters."""
    sides = row_clusters(model), column_clusters(model)
    names = np.array(table.row_names, dtype=object), np.array(table.column_names, dtype=object)
    for side, kind in enumerate(table.kinds):
        associated = associated_clusters(model.joint_ if side == 0 else model.joint_.T)
        if side == 1:
            yield ""
        yield f"  {kind}, with the most associated clusters of {table.kinds[1 - side]} in brackets"
        for c in np.argsort(-sides[side].weights).tolist():
            members = names[side][sides[side].members[c][:n]]
            words = (", " if any(" " in name for name in members) else " ").join(members)
            clusters = ", ".join(map(str, associated[c][0][:2].tolist()))
            line = textwrap.shorten(words, WIDTH - 28, placeholder="")
            yield f"  {c:3d}  {100 * sides[side].weights[c]:4.1f} %  {line}  [{clusters}]"


def _tree(table: NamedCounts, model: TreeModel, options: Arguments) -> Iterator[str]:
    words = f"{ORDERS[options.order]} {table.kinds[1]}"
    yield f"Tree of clusters: {words} of each node, and its share of the tokens"
    yield ""
    for n in range(options.top, 0, -1):
        lines = inspection.export_text(
            model, table.column_names, n_features=n, order=options.order
        ).splitlines()
        if max(map(len, lines)) <= WIDTH - 2:
            break
    yield from (f"  {line}" for line in lines)


def _neighbors(table: NamedCounts, model: FactorModel, rows: list[int]) -> Iterator[str]:
    yield f"Nearest {table.kinds[0]} by their topics, with the Hellinger distance:"
    yield "  0 for the same mixture of topics, 1 for no topic in common"
    filled = np.flatnonzero(table.X.sum(axis=1) > 0)  # rows without counts all equal the prior
    n_neighbors = min(N_NEIGHBORS, len(filled) - 1)
    places = np.searchsorted(filled, rows)
    doubts: list[str] = []
    with collected(doubts):
        distances, neighbors = inspection.nearest_rows(
            model.embedding_[filled], places, n_neighbors
        )
    for row, near, nearest in zip(rows, distances, filled[neighbors], strict=True):
        yield ""
        yield f"  {table.row_names[row]}"
        for distance, i in zip(near, nearest, strict=True):
            yield f"    {distance:.2f}  {table.row_names[i]}"
    if doubts:
        yield ""
        yield (
            f"  Some {table.kinds[0]} have exactly the same mixture: they are duplicates, or "
            f"contain few {table.kinds[1]}"
        )


def _shares_by_division(
    division: Division, names: Sequence[str], noun: str, rows: str
) -> Iterator[str]:
    """The largest topics of the largest groups, or of all times, in their order."""
    n_topics = min(N_TOPICS, len(names))
    n_groups = len(division.labels)
    are_times = division.name == "time"
    unit = "period" if are_times else "group"
    head = f"Shares by {division.name}: the {n_topics} largest {noun}s of each {unit}"
    yield f"{head}, with their share of the tokens"
    yield f"  and the share of the {rows} in which they are the largest"
    if are_times:
        yield f"  periods without {rows} are left out"
    n_shown = n_groups if are_times else N_GROUPS
    if n_groups > n_shown:
        yield f"  the {n_shown} largest of {n_groups} groups are shown, sorted by name"
    for g in sorted(np.argsort(-np.array(division.sizes), kind="stable")[:n_shown].tolist()):
        yield ""
        yield f"  {division.labels[g]} ({rows}: {division.sizes[g]:,})"
        for k in np.argsort(-division.share[g], kind="stable")[:n_topics].tolist():
            share = 100 * division.share[g, k]
            documents = 100 * division.documents[g, k]
            yield f"    {share:5.1f} %  {documents:5.1f} %  {names[division.components[k]]}"
    if n_groups > n_shown:
        yield ""
        yield f"  {n_groups - n_shown} smaller groups are not shown; --output writes all groups"


def paths_to_write(options: Arguments) -> list[Path]:
    pages = [] if options.html is None else [options.html]
    if options.output is None:
        return pages
    return [*(options.output / name for name in (*RESULTS, *EXTRA_RESULTS)), *pages]


def check_paths(options: Arguments) -> None:
    """Raise OSError if a file cannot be written, InputError if it would replace another file."""
    paths = paths_to_write(options)
    for path in paths:
        check_path(path, options)
    if options.output is not None and options.html is not None:
        page = options.html.resolve()
        for result in (path.resolve() for path in paths[:-1]):
            if page == result or page in result.parents or result in page.parents:
                raise InputError(
                    f"--html {options.html} would overwrite a file that --output writes: choose "
                    "another path for the page"
                )
    # Only an attempt shows names that are too long, and file systems that do not take files.
    if options.output is not None:
        with all_or_none(options.output, "results"):
            pass
    if options.html is not None:
        page = options.html.resolve()
        with all_or_none(page.parent, page.name):
            pass


def check_path(path: Path, options: Arguments) -> None:
    """Raise OSError if a file cannot be written, InputError if it would change the input."""
    check_regular(path)
    parent = next(folder for folder in path.absolute().parents if os.path.lexists(folder))
    if not parent.is_dir():
        raise NotADirectoryError(ENOTDIR, os.strerror(ENOTDIR), str(parent))
    if not os.access(parent, os.W_OK | os.X_OK):
        raise PermissionError(EACCES, os.strerror(EACCES), str(parent))
    read = options.data, options.row_names, options.column_names, options.seeds
    for source in filter(None, read):
        if path.resolve() == source.resolve():
            raise InputError(
                f"{path}: this is an input file, which would be overwritten: choose another path"
            )
        if source.is_dir() and path.resolve().is_relative_to(source.resolve()):
            raise InputError(
                f"{path}: this is in {source}, whose files are all read as texts: choose another "
                "folder"
            )


@contextmanager
def all_or_none(folder: Path, name: str) -> Iterator[Path]:
    """A hidden subfolder whose files are moved into the folder when all are written.

    The folder is made if there is none, and removed again if it stays empty. What a killed process
    left of the results of this name is removed.
    """
    made = [place for place in (folder, *folder.parents) if not os.path.exists(place)]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with exclusive(folder / name) as partial:
            partial.mkdir()
            yield partial
            for file in sorted(partial.iterdir()):
                os.replace(file, folder / file.name)
    finally:
        for place in made:
            if os.path.isdir(place) and not os.listdir(place):
                place.rmdir()


def write(
    folder: Path, table: NamedCounts, result: TopicReport, python: Sequence[str]
) -> list[str]:
    """Write model and parameters into a folder; returns names of files.

    ``components.csv`` has one line a column, P(y given z), ``embedding.csv`` one line a row, P(z
    given x); ``model.joblib`` includes the vectorizer of texts.
    """
    model = result.model
    names = result.names
    extra = _cluster_lines(table, result) | {
        f"shares_by_{division.name}.csv": _share_lines(division, names)
        for division in result.divisions
    }
    with all_or_none(folder, "results") as partial:
        columns = _matrix_lines(names, table.column_names, model.components_.T)
        rows = _matrix_lines(names, table.row_names, model.embedding_)
        tables = {"components.csv": columns, "embedding.csv": rows, **extra}
        for name, lines in tables.items():
            with (partial / name).open("w", newline="", **UNICODE) as file:
                csv.writer(file).writerows(lines)
        write_summary(partial, table, result, [], python)
        joblib.dump(result.pipeline if result.steps else model, partial / "model.joblib")
    for name in EXTRA_RESULTS - extra.keys():  # of an earlier model
        (folder / name).unlink(missing_ok=True)
    return [*RESULTS, *extra]


def write_summary(
    folder: Path,
    table: NamedCounts,
    result: TopicReport,
    entries: Sequence[Entry],
    python: Sequence[str],
) -> None:
    """Write parameters, topics, and the comparison if there is one."""
    summary = _summary(table, result, entries) | {"python": python}
    text = json.dumps(summary, indent=2, ensure_ascii=False)
    (folder / "summary.json").write_text(text + "\n", **UNICODE)


def _matrix_lines(
    header: Sequence[str], names: Sequence[str], values: Array
) -> Iterator[Sequence[str]]:
    yield ["name", *header]
    for name, line in zip(names, values.tolist(), strict=True):
        yield [name, *(f"{value:.6g}" for value in line)]


def _cluster_lines(table: NamedCounts, result: TopicReport) -> dict[str, Iterator[tuple[str, ...]]]:
    """A line for each row, and column, with the number and the name of its cluster, if any."""
    model: Any = result.model
    if not hasattr(model, "labels_"):
        return {}
    names = result.leaf_names
    if models.kind_of(model) == "topic":  # which has clusters of rows beside the topics
        names = [f"cluster {c}" for c in range(model.n_clusters_)]
    counts = table.X.sum(axis=1)
    files = {"row_clusters.csv": _labelled(table.row_names, counts, model.labels_, names)}
    if hasattr(model, "column_labels_"):
        names = cluster_names(column_clusters(model), np.array(table.column_names, dtype=object))
        columns = table.column_names, table.X.sum(axis=0), model.column_labels_
        files["column_clusters.csv"] = _labelled(*columns, names)
    return files


def _labelled(
    members: Sequence[str], counts: Array, labels: Array, names: Sequence[str]
) -> Iterator[tuple[str, ...]]:
    """A header, and the cluster of each member that has counts."""
    yield "name", "cluster", "cluster_name"
    for member, count, label in zip(members, counts, labels.tolist(), strict=True):
        yield (member, str(label), names[label]) if count else (member, "", "")


def _share_lines(division: Division, names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """A header and a line for each group and topic, as in `TopicReport.shares_by_group`."""
    yield division.name, "component", "topic", "n_rows", "share", "low", "high", "documents"
    for g, label in enumerate(division.labels):
        for k, component in enumerate(division.components):
            shares = division.share[g, k], *division.intervals[:, g, k], division.documents[g, k]
            numbers = ("" if np.isnan(share) else f"{share:.6g}" for share in shares)
            yield label, str(component), names[component], str(division.sizes[g]), *numbers


def page_title(table: NamedCounts, options: Arguments) -> str:
    if options.title is not None:
        return options.title
    return table.title if options.data is None else options.data.resolve().name


def write_page(path: Path, result: TopicReport) -> None:
    """Write the page to explore the model, with the texts if there are some."""
    page = result.explore()
    path = path.resolve()  # a link is kept, and its target replaced
    with all_or_none(path.parent, path.name) as partial:
        page.save(partial / path.name)


def _summary(
    table: NamedCounts, result: TopicReport, entries: Sequence[Entry]
) -> dict[str, object]:
    model = result.model
    fields = "stage", "beta", "prior", "n_components"
    names = table.column_names
    trials = [
        {name: getattr(trial, name) for name in fields} | trial.validation._asdict()
        for trial in model.tuning_
    ]
    parameters = {k: v for k, v in model.get_params().items() if k != "feature_names"}
    compared = {"comparison": [asdict(entry) for entry in entries]} if entries else {}
    tree = {"tree": inspection.export_dict(model, names)} if hasattr(model, "tree_") else {}
    return {
        "data": table.title,
        "n_rows": table.X.shape[0],
        "n_columns": table.X.shape[1],
        "n_tokens": float(table.X.sum()),
        "notes": table.notes,
        **compared,
        "tuning": trials,
        "model": type(model).__name__,
        "parameters": parameters,
        "names": result.names,
        "weights": result.shares.tolist(),
        "top_features": inspection.top_features(model, names),
        "characteristic_features": inspection.characteristic_features(model, names),
        **tree,
    }
