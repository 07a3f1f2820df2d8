"""Equations as MathML, which browsers draw by themselves: no LaTeX, no script, no fonts."""

from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx

LONG = 60  # characters of LaTeX: such a formula scrolls by itself where a page is narrow


def inline(translator: Any, node: nodes.math) -> None:
    """Write an equation within a line."""
    formula = tex2mathml(node.astext())
    is_long = len(node.astext()) > LONG
    translator.body.append(f'<span class="formula">{formula}</span>' if is_long else formula)
    raise nodes.SkipNode


def block(translator: Any, node: nodes.math_block) -> None:
    """Write an equation that has a line, or several, of its own."""
    translator.body.append(translator.starttag(node, "div", CLASS="equation"))
    translator.body.append(tex2mathml(node.astext(), as_block=True))
    translator.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Make it a renderer that ``html_math_renderer`` can name."""
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
