"""The directives ``results`` and ``dots``: tables and plots made from the JSON of an experiment.

.. code-block:: markdown

    ```{results} perplexity
    :lines: model
    :columns: data, K
    :values: alone, with cache
    :formats: .0f
    :where: data = Cranfield, CLASSIC3; K = 32
    :best: min
    ```

    ```{dots} perplexity
    :lines: model
    :columns: data
    :values: alone
    :where: K = 32
    ```

With columns, each of the values has a table or plot of its own under its name.

Under the table stand the commit, the date, the command and the machine; and, if its models give
other results today, that they do. `benchmarks.tables.Layout` has the meaning of the options.
"""

from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import Directive, directives
from docutils.statemachine import StringList
from dot_plot import dot_plot

from benchmarks.experiment import RESULTS, changes_since, load
from benchmarks.tables import Layout, cells, markdown, table


def words(text: str | None) -> list[str]:
    """The parts between commas."""
    return [part.strip() for part in (text or "").split(",") if part.strip()]


def chosen(rows: list[dict[str, Any]], where: str) -> list[dict[str, Any]]:
    """The rows whose values are among those of ``name = value, value; name = value``."""
    for condition in filter(None, map(str.strip, where.split(";"))):
        name, _, values = condition.partition("=")
        allowed = words(values)
        rows = [row for row in rows if str(row.get(name.strip(), "")) in allowed]
    if not rows:
        raise ValueError(f"no rows with {where}")
    return rows


def provenance(record: dict[str, Any]) -> str:
    """With which commit, when, how and on what the table was measured."""
    commit, machine = record["commit"][:7], record["machine"]
    seeds = record["settings"].get("seeds")
    later = [
        f", {part['rows']} at commit {part['commit'][:7]} on {part['date']}"
        for part in record.get("later", ())
    ]
    parts = [
        f"Measured at commit {commit} on {record['date']}{''.join(later)}",
        f"`{record['command']}`",
        f"seeds {', '.join(map(str, seeds))}" if seeds else "",
        f"{machine['cores']} cores of {machine['processor']}",
        f"[JSON](/results/{record['name']}.json)",
    ]
    return " · ".join(filter(None, parts))


def staleness(changes: list[str]) -> str:
    """What gives other results today; empty if nothing does."""
    if not changes:
        return ""
    names = ", ".join(f"`{name}`" for name in changes)
    return f"**Old**: {names} changed since."


class Results(Directive):
    """Tables of the rows of an experiment, and where they come from."""

    has_provenance = True
    required_arguments = 1
    option_spec: ClassVar[dict[str, Any]] = {
        "lines": directives.unchanged_required,
        "columns": directives.unchanged,
        "values": directives.unchanged_required,
        "formats": directives.unchanged,
        "where": directives.unchanged,
        "spread": directives.flag,
        "best": lambda text: directives.choice(text, ("min", "max")),
    }

    def run(self) -> list[nodes.Node]:
        """Write the tables as Markdown, and let the page's parser read them."""
        name = self.arguments[0]
        environment = self.state.document.settings.env
        environment.note_dependency(str(RESULTS / f"{name}.json"))
        try:
            record = load(name)
            rows = chosen(record["rows"], self.options.get("where", ""))
            parts = [self.show(rows, layout) for layout in self.layouts()]
        except (OSError, ValueError, KeyError) as error:
            raise self.error(f"results of {name}: {error!r}") from error
        lines = [line for part in parts for line in part]
        stale = staleness(changes_since(record))
        box = nodes.container(classes=["results", "old"] if stale else ["results"])
        if self.has_provenance:
            lines += ["{.provenance}", f"{provenance(record)}. {stale}".rstrip()]
        self.state.nested_parse(StringList(lines, source=name), self.content_offset, box)
        return [box]

    def layouts(self) -> list[Layout]:
        """One for each of the values where there are columns, else one for all."""
        values = words(self.options["values"])
        formats = words(self.options.get("formats")) or ["g"]
        columns = words(self.options.get("columns"))
        formats += formats[-1:] * (len(values) - len(formats))
        parts = [([value], [form]) for value, form in zip(values, formats, strict=True)]
        return [
            Layout(
                words(self.options["lines"]),
                layout_values,
                columns,
                layout_formats,
                "spread" in self.options,
                self.options.get("best", ""),
            )
            for layout_values, layout_formats in (parts if columns else [(values, formats)])
        ]

    def show(self, rows: list[dict[str, Any]], layout: Layout) -> list[str]:
        """A table as Markdown, with a title where there are several."""
        several = layout.columns and len(words(self.options["values"])) > 1
        title = [f"**{layout.values[0]}**", ""] if several else []
        return [*title, *markdown(table(rows, layout)), ""]


class Dots(Results):
    """Dot plots of the rows of an experiment, above the table that has their provenance."""

    has_provenance = False

    def show(self, rows: list[dict[str, Any]], layout: Layout) -> list[str]:
        """The plot as SVG within the page."""
        panels = cells(rows, layout)
        plot = dot_plot(panels, f"{layout.values[0]} by {', '.join(layout.lines)}")
        return ["```{raw} html", plot, "```", ""]


def setup(app: Any) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("results", Results)
    app.add_directive("dots", Dots)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
