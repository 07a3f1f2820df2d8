"""The documentation: one command of the README builds it, without a network."""

import os
import re
import sys
import tomllib
import warnings
from pathlib import Path
from typing import Any

from sphinx.util import inspect
from sphinx_gallery.sorting import ExplicitOrder

HERE = Path(__file__).parent
sys.path += [str(HERE), str(HERE.parent)]  # live_page, mathml, results_table, benchmarks

import skcooc  # noqa: E402
from benchmarks import corpora  # noqa: E402

project = "skcooc"
author = "The skcooc developers"
project_copyright = author
version = release = skcooc.__version__

# The addresses of the repository and of this site are in pyproject.toml, once there are any.
_metadata = tomllib.loads((HERE.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
_addresses = _metadata.get("urls", {})
_repository = [
    {"name": name, "url": url, "icon": "fa-solid fa-code-branch"}
    for name, url in _addresses.items()
    if name == "Repository"
]

extensions = [
    "live_page",
    "mathml",
    "myst_parser",
    "numpydoc",
    "results_table",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = [
    "_build",
    "auto_tutorial/index.rst",
    "examples",
    "tutorial",
    "**/sg_execution*",
]
templates_path = ["templates"]
default_role = "autolink"
nitpicky = True
suppress_warnings = ["ref.term"]  # scikit-learn's glossary, in an attribute that we inherit
nitpick_ignore = [("py:obj", "n_features_in_")]
nitpick_ignore_regex = [("py:.*", r"(json|matplotlib|numpy|scipy|sklearn)\..*")]

myst_enable_extensions = ["attrs_block", "attrs_inline", "dollarmath", "substitution"]
myst_substitutions = {"version": skcooc.__version__}
myst_heading_anchors = 3

autosummary_ignore_module_all = False
autosummary_imported_members = True
autodoc_typehints = "none"  # the docstrings have the types
maximum_signature_line_length = 72
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

html_math_renderer = "mathml"
html_theme = "pydata_sphinx_theme"
html_title = "skcooc"
html_baseurl = os.environ.get("READTHEDOCS_CANONICAL_URL", _addresses.get("Documentation", ""))
html_static_path = ["static"]
html_css_files = ["site.css"]
html_logo = html_favicon = "static/logo.svg"
html_context = {"description": _metadata["description"], "html_baseurl": html_baseurl}
html_show_sourcelink = False
toc_object_entries_show_parents = "hide"  # room for the names of methods
html_sidebars = {
    name: [] for name in ("auto_tutorial/*", "changelog", "glossary", "papers", "start/*")
}
html_theme_options = {
    "logo": {"text": "skcooc"},
    "icon_links": _repository,
    "header_links_before_dropdown": 6,
    "show_prev_next": False,
    "navbar_start": ["navbar-logo", "version"],
    "navbar_end": ["theme-switcher", "navbar-icon-links"],
    "secondary_sidebar_items": {"**": ["page-toc", "sg_download_links"], "index": []},
    "footer_start": ["copyright"],
    "footer_end": [],
}

# Code is to be copied without its prompts, and what it prints not at all.
copybutton_selector = ":not(.highlight-text, .sphx-glr-script-out) > div.highlight > pre"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# Examples on research data, which are not part of the repository, need the folder with them.
_on_research_data = [
    path.name
    for path in (HERE / "examples").glob("plot_*.py")
    if "corpora" in path.read_text(encoding="utf-8")
]
_left_out = [] if corpora.available() else [re.escape(name) for name in _on_research_data]
BEST_FIRST = (
    "plot_at_a_glance.py",
    "plot_look_at_a_model.py",
    "plot_compare_groups.py",
    "plot_tree_of_words.py",
    "plot_trees_of_books_and_words.py",
    "plot_adjectives_and_nouns.py",
    "plot_class_bigrams.py",
    "plot_cells_and_genes.py",
    "plot_textures.py",
    "plot_features.py",
    "plot_temperatures.py",
    "plot_averages.py",
    "plot_perplexity_over_iterations.py",
)
sphinx_gallery_conf = {
    "examples_dirs": ["tutorial", "examples"],
    "gallery_dirs": ["auto_tutorial", "auto_examples"],
    "ignore_pattern": "|".join(["__init__", *_left_out]),
    "within_subsection_order": ExplicitOrder([*BEST_FIRST, "*"]),
    "doc_module": ("skcooc",),
    "backreferences_dir": "api/backreferences",
    "download_all_examples": False,
    "show_signature": False,
    "write_computation_times": False,
    "min_reported_time": 86_400,  # none: a search for "time" would find all examples
    "thumbnail_size": (360, 260),
    "abort_on_example_error": False,
    "remove_config_comments": True,
    "parallel": 2,
}

warnings.filterwarnings("ignore", message=".*FigureCanvasAgg is non-interactive.*")


def skip(app: Any, what: str, name: str, member: Any, skipped: bool, options: Any) -> bool | None:
    """Leave the methods that every estimator has to scikit-learn's own pages."""
    function = getattr(member, "fget", member)
    theirs = (getattr(function, "__module__", None) or "").startswith("sklearn.")
    return True if theirs else None


def class_signature(app: Any, kind: str, name: str, value: Any, *_: Any) -> tuple[str, str] | None:
    """Return the parameters of a class as Python has them: Sphinx would show those of __new__."""
    if kind != "class" or "__init__" not in dir(value) or value.__new__ is object.__new__:
        return None
    return inspect.stringify_signature(inspect.signature(value), show_annotation=False), ""


def setup(app: Any) -> None:
    """Connect what Sphinx calls."""
    app.connect("autodoc-skip-member", skip)
    app.connect("autodoc-process-signature", class_signature)
