"""The page about the papers' tables and figures, from what was measured."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from benchmarks.papers.paper_curves import FIGURES, SMOOTHING, of_panel
from benchmarks.papers.paper_tables import FAMILIES, MEMO_UNIGRAM, UNIGRAM, summary

Row = dict[str, Any]

MISSED = 1.03  # of the memo's perplexity: above it a figure is called missed
HEADERS = {
    "AspectModel": "AspectModel (SMM)",
    "AspectModel, left out": "the same, `leave_one_out=True`",
    "AsymmetricClustering": "AsymmetricClustering (ACM)",
    "ClusterAbstraction": "ClusterAbstraction (HACM)",
    "ClusterAbstraction, row": 'the same, `abstraction="row"`',
    "ClusterAbstraction, joint": 'the same, `tempering="joint"`',
    "ClusterAbstraction, grown": 'the same, `tree="grown"`',
    "SymmetricClustering": "SymmetricClustering, K x K (SCM)",
}
SHORT = {  # the papers' names, for wide tables
    "AspectModel": "SMM",
    "AspectModel, left out": "SMM, left out",
    "AsymmetricClustering": "ACM",
    "ClusterAbstraction": "HACM",
    "ClusterAbstraction, row": "HACM, object",
    "ClusterAbstraction, joint": "HACM, joint",
    "ClusterAbstraction, grown": "HACM, grown",
    "SymmetricClustering": "SCM",
}
TITLES = {
    "cranfield": "Table 2, first half: Cranfield",
    "brown": "Table 2, second half: adjective-noun pairs",
}
INTRODUCTION = """\
# The papers' table and figures, measured again

What Hofmann and Puzicha (*Statistical Models for Co-occurrence Data*, AI Memo 1625, 1998) and
Hofmann, Puzicha and Jordan (*Learning from Dyadic Data*, NIPS 11, 1999) report about prediction,
done again with skcooc. `python -m benchmarks.papers.papers` measures all of it and writes this
page.

## How

* Every observation, one word in one document, is in one of ten folds; a model is fitted to nine of
  them and scored on the tenth. Perplexity is exp(-mean log P(word given document)). After ± is the
  standard deviation over the folds, β is the mean of those chosen.
* β is not the exponent of the same thing everywhere. SMM: ours has all of P(z given x) P(y given z)
  in the power, the memo leaves the prior P(z) out. HACM: ours has the likelihood of a document in
  it, whose words are mixed along the path before; the memo (65) has each P(y given node),
  and so has the column "joint". In SMM and the other columns of HACM the lines "β, ours / memo"
  stand side by side, and do not compare.
* The papers' names: SMM is `AspectModel`, ACM `AsymmetricClustering`, HACM `ClusterAbstraction`,
  and SCM `SymmetricClustering` with K clusters on either side.
* The inverse temperature β and the weight of the unigram in the probabilities scored are chosen by
  `beta="auto"` in every fit: on a tenth of the *training* observations, held out inside `fit`. Then
  all training observations are fitted at that temperature. Test observations choose nothing. The
  memo chooses β on a validation set, too; it does not say what it does where an observation has
  probability zero.
* One start for each fit, whose seed is the number of the fold. All other parameters are defaults.
  Counts are in float32. With K = 1 all models are the unigram.
* Some defaults (the ranges in which β is looked for; that clusterings start at their temperature,
  without steps at β = 1) were set with Cranfield at hand, the last one on these very folds.
"""
NOTES = {
    "cranfield": """\
The collection is that of the memo, the selection of words is not: ours has 1400 documents, 1728
stems and 110940 observations, the memo's 1400, 1664 and 111803. The memo grows the trees of the
HACM by phase transitions and goes through three stages, and the last gives every document
weights of its own; it does not say from which stage its figures are. Ours have weights for each
cluster and a binary tree, which is the default, but for one thing in each of three columns: weights
for each cluster and document (`abstraction="row"`), the power of equation (65) to the letter
(`tempering="joint"`), and a tree that grows by its own splits (`tree="grown"`).""",
    "brown": """\
Nouns given adjectives. The memo has pairs of the Penn Treebank, which is not freely to be had: 6931
adjectives, 4995 nouns, 55214 observations. Ours are of the Brown corpus: 6054, 6961 and 45483, and
28454 of the 33645 different pairs are there just once. Perplexities of the two cannot be compared,
as those of the unigram show. Shares of the unigram's perplexity can, with caution: the third line
has ours, the fourth the memo's. Ours are larger throughout: here the models gain much less over the
unigram than on the memo's pairs.""",
}
CAPTIONS = {
    "papers_fig7": (
        "Memo, figure 7: tempered EM",
        """\
Perplexity of test (solid) and training observations (dashes) over the iterations, Cranfield. A dot
is the least test perplexity.""",
    ),
    "papers_fig8": (
        "Memo, figure 8: predictive EM",
        """\
The aspect model on the left, as above; on the right `AspectModel(leave_one_out=True)`, in which the
posterior of an observation leaves out what the observation itself contributed.""",
    ),
    "papers_nips_fig5": (
        "NIPS, figure 5: Cranfield and the bigrams of the Bible",
        """\
Perplexity of test observations. Bigrams are those of the King James Bible, the next word given a
word: 12842 words, 913309 observations. The paper says neither which K it has, nor on which of the
two collections its clustering is.""",
    ),
}
SMOOTHED = """\
Mean weights of the unigram, and the perplexity of the same fits with a weight of .001 instead; β
was chosen along with the former.

"""
CURVES = """\
## Curves

One split, a tenth of the observations for the test; K = {curve_components}, at most {max_iter}
iterations of plain EM at a fixed temperature, {smoothing:g} of the unigram mixed in. The aspect
model makes its first eight iterations at β = 1 whatever β is; the tree of clusters makes up to 20
more before the others, with equal weights of all levels. The papers name neither K nor the
temperatures."""
MACHINE = """\
## Measured on

{cpu}, {cores} cores, {memory_gib} GiB; Python {python}, {packages}. Seconds are those of the clock;
fits ran side by side in {jobs} processes of one thread each, whose start is part of "seconds
in all". {folds} of ten folds."""
INDEX = """\
```{include} papers_index.md
```"""


def page(results: Mapping[str, Any]) -> str:
    """The page, in Markdown."""
    parts = [INTRODUCTION]
    for data, rows in results["tables"].items():
        parts += [f"## {TITLES[data]}", NOTES[data], _table(rows, data), _effort(rows, data)]
    if "cranfield" in results["tables"]:
        parts.append("![Perplexity over K](papers_table2.png)")
        parts.append(
            "Lines are ours, with one standard deviation of the folds; crosses are the memo's."
        )
    if results["curves"]:
        parts.append(CURVES.format(smoothing=SMOOTHING, **results["options"]["curves"]))
        for name, panels in FIGURES.items():
            heading, caption = CAPTIONS[name]
            parts += [f"### {heading}", f"![{heading}]({name}.png)", caption]
            parts.append(_least(panels, results["curves"]))
    return "\n\n".join([part.strip() for part in (*parts, _machine(results), INDEX)]) + "\n"


def _table(rows: Sequence[Row], data: str) -> str:
    """Ours, the memo's, and how they compare, as in the memo: a column for each family."""
    lines = summary(rows, data)
    at = {(line["model"], line["K"]): line for line in lines}
    names = [name for name in FAMILIES if any(line["model"] == name for line in lines)]
    base = at[UNIGRAM, 1]
    body = [["1", "ours", f"{base['perplexity']:.1f} ± {base['sd']:.1f}", *[""] * (len(names) - 1)]]
    body.append(["", "memo", f"{base['memo']:g}", *[""] * (len(names) - 1)])
    for K in sorted({line["K"] for line in lines} - {1}):
        here = [at[name, K] for name in names]
        body.append([str(K), "ours", *map(_ours, here)])
        body.append(["", "memo", *(f"{line['memo']:g}" if "memo" in line else "" for line in here)])
        body += _compared(here, base["perplexity"], data)
        body.append(["", "β, ours / memo", *map(_betas, here)])
    table = markdown(["K", "", *(SHORT[name] for name in names)], body)
    return "".join([table, _verdict(lines, data), _reached(lines, data)])


def _ours(line: Row) -> str:
    return f"{line['perplexity']:.1f} ± {line['sd']:.1f}"


def _betas(line: Row) -> str:
    memos = f" / {line['beta of memo']:.2f}" if "memo" in line else ""
    return f"{line['beta']:.2f}{memos}"


def _compared(lines: Sequence[Row], base: float, data: str) -> Iterator[list[str]]:
    """Ratios of perplexities; where the data differ, those to the unigram of the same data."""
    if data == "cranfield":
        yield ["", "ratio", *(_ratio(line) for line in lines)]
        return
    yield ["", "ours / unigram", *(f"{line['perplexity'] / base:.3f}" for line in lines)]
    known = MEMO_UNIGRAM[data]
    shares = (f"{line['memo'] / known:.3f}" if "memo" in line else "" for line in lines)
    yield ["", "memo / unigram", *shares]


def _ratio(line: Row) -> str:
    if "ratio" not in line:
        return ""
    text = f"{line['ratio']:.3f}"
    return f"**{text}**" if line["ratio"] > MISSED else text


def _verdict(lines: Sequence[Row], data: str) -> str:
    """Which figures of the memo are missed by more than three per cent."""
    if data != "cranfield":
        return ""
    missed = [line for line in lines if line.get("ratio", 0) > MISSED]
    if not missed:
        return "\n\nNo figure of the memo is missed by more than three per cent."
    named = ", ".join(
        f"{line['model']} at K = {line['K']} ({line['ratio']:.3f})" for line in missed
    )
    return f"\n\nMissed by more than three per cent: {named}."


def _reached(lines: Sequence[Row], data: str) -> str:
    """Which hierarchies are nowhere above the memo's figures, and where the others are."""
    if data != "cranfield":
        return ""
    said = []
    for name, family in FAMILIES.items():
        mine = [line for line in lines if line["model"] == name and "ratio" in line]
        if family.memo == "HACM" and mine:
            above = [line for line in mine if line["ratio"] > 1]
            at = ", ".join(f"{line['K']} ({100 * line['ratio'] - 100:.1f} %)" for line in above)
            said.append(f"* {SHORT[name]}: " + (f"at K = {at}" if above else "nowhere"))
    heading = "Where the hierarchies are above the memo's HACM, with one rule for all K:"
    return "\n\n" + "\n".join([heading, "", *said]) if said else ""


def _effort(rows: Sequence[Row], data: str) -> str:
    """Seconds of every family, the smoothing that was chosen, and what it does."""
    lines = summary(rows, data)
    body = []
    for name in FAMILIES:
        mine = [line for line in lines if line["model"] == name]
        if mine:
            elapsed = sum(
                row["elapsed"] for row in rows if row["model"] == name and "elapsed" in row
            )
            fits = sum(row["seconds"] for row in rows if row["model"] == name and "seconds" in row)
            chosen = " / ".join(f"{line['smoothing']:.3f}" for line in mine)
            without = " / ".join(f"{line['hardly smoothed']:.0f}" for line in mine)
            body.append([HEADERS[name], f"{elapsed:.0f}", f"{fits:.0f}", chosen, without])
    total = sum(row.get("elapsed", 0.0) for row in rows)
    body.append(["all", f"{total:.0f}", "", "", ""])
    sizes = " / ".join(str(K) for K in sorted({line["K"] for line in lines} - {1}))
    header = [
        "",
        "seconds in all",
        "sum over the fits",
        f"weight, K = {sizes}",
        "perplexity at .001",
    ]
    return SMOOTHED + markdown(header, body)


def _least(panels: Iterable[Any], rows: Sequence[Row]) -> str:
    """Where the curves are at their best, and where they end."""
    body = []
    for panel in panels:
        for row in of_panel(panel, rows):
            least = min(row["test"])
            body.append(
                [
                    panel.title,
                    f"{row['beta']:g}",
                    f"{least:.1f}",
                    str(row["test"].index(least) + 1),
                    f"{row['test'][-1]:.1f}",
                    f"{row['training'][-1]:.1f}",
                ]
            )
    header = [
        "",
        "β",
        "least, test",
        "after iterations",
        "at the end, test",
        "at the end, training",
    ]
    return markdown(header, body)


def markdown(header: Sequence[str], body: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *body]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _machine(results: Mapping[str, Any]) -> str:
    facts = results["machine"]
    options = results["options"].get("tables") or results["options"]["curves"]
    versions = facts["versions"].items()
    packages = ", ".join(f"{name} {number}" for name, number in versions if number)
    return MACHINE.format(packages=packages, **facts, **options)
