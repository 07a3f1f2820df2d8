"""The page: HTML, style and script in one file."""

from __future__ import annotations

import html
import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from importlib import resources
from numbers import Integral
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar

from numpy.typing import ArrayLike

from skcooc.inspection.explorer.payload import Payload, payload, to_json
from skcooc.inspection.models import Names, check_row_order, kind_of, read_view
from skcooc.inspection.names import escape_surrogates, make_names, override_names
from skcooc.inspection.palette import topic_colors, topic_ranks
from skcooc.protocol import AttributeHints, TableLike
from skcooc.protocol.decorators import validated
from skcooc.protocol.locks import check_regular, exclusive
from skcooc.protocol.scikit_learn import Interval

# In the order of their dependencies.
SCRIPTS = (
    "dom", "state", "words", "shares", "overview", "topics", "map", "documents", "tree", "members",
    "blocks", "search", "about", "main",
)  # fmt: skip

N_DESCRIBED = 5  # topics in the description of a page


class Explorer(AttributeHints):
    """A page that shows a fitted model; see `explore`. Notebooks display it in a frame.

    Read more in the :doc:`how-to guide </howto/texts>`.

    Parameters
    ----------
    shown : dict
        Content of the page, ready for JSON.
    title : str
        Heading of the page.
    image : str, default=None
        Address of a picture that is shown next to links to the page.
    """

    _instead: ClassVar[Mapping[str, str]] = dict.fromkeys(("show", "write_html"), "save(path)")

    def __init__(self, shown: Payload, title: str, image: str | None = None) -> None:
        self.shown = shown
        self.title = title
        self.image = image

    @cached_property
    def html(self) -> str:
        """The page as an HTML document that needs no other file and no network."""
        ranks = [topic["rank"] for topic in self.shown["topics"]]
        light, dark = (
            "".join(f".k{k} {{ --topic: {colors[rank]}; }}\n" for k, rank in enumerate(ranks))
            for colors in (topic_colors(len(ranks)), topic_colors(len(ranks), dark=True))
        )
        rules = f"{light}@media (prefers-color-scheme: dark) {{\n{dark}}}\n"
        # One line for previews of links: the number of topics, and the names of the largest.
        topics = self.shown["topics"]
        kind = self.shown["facts"]["kind"]
        largest = sorted(topics, key=lambda topic: topic["rank"])[:N_DESCRIBED]
        names = "; ".join(topic["name"] for topic in largest)
        end = "; …" if len(topics) > N_DESCRIBED else ""
        template = environment().from_string(_file("page.html"))
        page = template.render(
            title=self.title,
            image=self.image,
            description=f"{len(topics)} {kind}s: {names}{end}",
            style=_file("style.css") + rules,
            script="\n".join(_file(f"{name}.js") for name in SCRIPTS),
            payload=to_json({"title": self.title, **self.shown}),
        )
        return escape_surrogates(str(page))

    def save(self, path: str | PathLike[str]) -> None:
        """Write the page to a file, such as "topics.html"; OSError if that fails."""
        folder = Path(path).parent
        if not folder.is_dir():
            raise FileNotFoundError(f"There is no folder {str(folder)!r} to write the page into.")
        check_regular(path)
        content = self.html.encode()
        with exclusive(Path(path)) as partial:
            partial.write_bytes(content)
            os.replace(partial, path)

    def _repr_html_(self) -> str:
        title = html.escape(escape_surrogates(self.title))
        return (
            f'<iframe title="{title}" srcdoc="{html.escape(self.html)}" '
            'sandbox="allow-scripts allow-forms allow-downloads" '
            'style="width: 100%; height: 760px; border: 1px solid #8888"></iframe>'
        )


@validated({"max_bytes": [Interval(Integral, 1, None, closed="left")]})
def explore(
    model: Any, X: TableLike, feature_names: ArrayLike | None = None,
    row_names: ArrayLike | None = None, *, texts: Sequence[str] | None = None,
    groups: Any = None, times: Any = None,
    names: Names | None = None, title: str | None = None, sides: tuple[str, str] | None = None,
    image: str | None = None, max_bytes: int = 2_000_000,
) -> Explorer:  # fmt: skip
    """Return a page to explore a fitted model: one HTML file that works offline.

    The page shows:

    - the topics by their share of the tokens, with names that you can edit.
    - the columns and rows of each topic, and its share in groups and over time, with 95 %
      intervals.
    - the shares of all topics in groups. A share is marked if its interval is above the share in
      all rows.
    - maps of the topics and of the rows.
    - the rows with their perplexities, and texts whose words are coloured by topic.
    - the tree of a `ClusterAbstraction`, and the blocks of a `SymmetricClustering`.
    - a search.

    Each topic has the same colour as in the displays of :mod:`skcooc.plotting`. Figures can be
    saved as SVG, and tables as CSV. Jinja2 is needed: ``pip install 'skcooc[explore]'``.

    Parameters
    ----------
    model : fitted estimator
        A model of this or another library with ``components_`` (K, M) and ``transform``, or a
        pipeline or search with such a model inside. The steps before the model are applied to X and
        determine the names of the columns.
    X : array-like, sparse array or matrix, DataFrame, Dyads of shape (N, M), or as a pipeline wants
        Counts of the training rows, or of other rows, which are folded in.
    feature_names : array-like of shape (M,), default=None
        Names of the columns. See :func:`top_features`.
    row_names : array-like of shape (N,), default=None
        Names of the rows, such as titles. None takes the names in the training table or in X, such
        as the index of a DataFrame. Without names, the beginnings of the texts or the positions are
        shown.
    texts : sequence of N str, default=None
        Texts of the rows. A missing text is None or NaN. By default, texts are X itself if a
        pipeline takes texts. Without texts, rows are shown by their most frequent columns. Bytes
        and lists raise a ValueError.
    groups : array-like of shape (N,), series, or dict or data frame of one column, default=None
        Label of each row, which may be None or NaN. The 40 largest groups are shown. By default,
        the groups from the fit are shown, if there are any.
    times : array-like of shape (N,), series, or dict or data frame of one column, default=None
        Number or date of each row, such as the year. Dates may be pandas periods, strings such as
        "2024-01", numbers such as 20240131, or Unix time. They are grouped into at most 12 periods,
        or fewer and longer ones if there are few rows.
        More than 12 numbers are grouped into at most 12 intervals of equal width. See
        :func:`topic_shares`. A ValueError is raised for other values, and if it is unclear which
        number of a date is the day.
    names : sequence of K str, or dict of int to str, default=None
        Names of all topics, or of some. The other topics are named by :func:`name_topics`. You can
        read the names that a page exports with ``json`` and pass them here, or to
        :func:`set_names`.
    title : str, default=None
        Heading of the page.
    sides : pair of str, default=None
        Plural names of the rows and the columns, such as ("adjectives", "nouns"). None means
        "documents" (or "rows" without texts) and "features".
    image : str, default=None
        Address of a picture, such as "https://example.org/topics.png", that chats and social
        networks show with a link to the page.
    max_bytes : int, default=2_000_000
        Maximum size of the page. If necessary, texts are shortened evenly. If that is not enough,
        rows are sampled and texts are left out. The page says so, and also if it is still too
        large.

    Returns
    -------
    explorer : Explorer
        The page. ``explorer.save("topics.html")`` writes it to a file, and notebooks display it.

    Notes
    -----
    The slider for columns sets the weight t in the relevance of Sievert and Shirley, t log(P(y
    given z) / P(y)) + (1 - t) log P(y given z), from 0 to 1. P(y) can be replaced by P(y given
    another topic). The map shows Hellinger distances by scikit-learn's multidimensional scaling.
    The topic of a word in a row is argmax_z P(z given x) P(y given z). Shares are those of
    :func:`topic_shares`. Their intervals (Korn and Graubard 1998) express the variation between
    rows, and take the topics as known.

    The perplexity of a row is exp(-mean log P(y given x)) of its tokens. For training rows it is
    computed in sample, from the smoothed mixture. In other rows, one half of the tokens is folded
    in and the other half is scored. If the model has no ``score_samples``, all tokens are folded in
    and scored.

    References
    ----------
    E. L. Korn and B. I. Graubard, Confidence intervals for proportions with small expected number
    of positive counts estimated from survey data, Survey Methodology 24, 193-201, 1998.

    C. Sievert and K. Shirley, LDAvis: A method for visualizing and interpreting topics, Workshop on
    Interactive Language Learning, Visualization, and Interfaces, 63-70, 2014.

    Examples
    --------
    >>> from skcooc import AspectModel, inspection
    >>> X = [[4, 2, 0, 0], [4, 2, 0, 0], [0, 0, 3, 9], [0, 0, 3, 9]]
    >>> model = AspectModel(2, beta=1, random_state=0).fit(X)
    >>> explorer = inspection.explore(model, X, feature_names=["tea", "cup", "ball", "goal"])
    >>> explorer.save("topics.html")  # doctest: +SKIP
    """
    environment()  # raises before the work
    pair = list(sides) if isinstance(sides, Sequence) and not isinstance(sides, str) else []
    is_pair = len(pair) == 2 and all(isinstance(side, str) and side.strip() for side in pair)
    if not (sides is None or is_pair):
        raise ValueError(
            f"sides should be the names of rows and columns, as two strings; got {sides!r}."
        )
    if image is not None and not str(image).startswith(("https://", "http://")):
        raise ValueError(f"image should be an address that begins with https://; got {image!r}.")
    view = read_view(model, X, feature_names, row_names, texts)
    check_row_order(view, X, groups=groups, times=times)
    automatic = make_names(
        view.model, view.components, view.weights, view.columns, view.names_fitted
    )
    topic_names = override_names(names, automatic)
    title = type(view.model).__name__ if title is None else title
    ranks = topic_ranks(view.weights).tolist()
    topics = [{"rank": r, "name": name} for r, name in zip(ranks, topic_names, strict=True)]
    frame = Explorer({"topics": topics, "facts": {"kind": kind_of(view.model)}}, title, image)
    room = max_bytes - len(frame.html.encode())
    return Explorer(payload(view, topic_names, groups, times, sides, room), title, image)


def environment() -> Any:
    try:
        from jinja2 import Environment, StrictUndefined
    except ImportError as error:
        raise ImportError(
            "explore needs Jinja2. Install it with `pip install 'skcooc[explore]'`."
        ) from error
    return Environment(autoescape=True, undefined=StrictUndefined)


def _file(name: str) -> str:
    return (resources.files("skcooc.inspection.explorer") / name).read_text(encoding="utf-8")
