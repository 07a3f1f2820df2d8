"""The page: HTML, style and script in one file."""

from __future__ import annotations

import html
from collections.abc import Sequence
from functools import cached_property
from importlib import resources
from os import PathLike
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from skcooc.inspection.explorer.payload import Asked, Payload, payload, to_json
from skcooc.inspection.explorer.reading import read
from skcooc.inspection.labels import Names, given, named_topics
from skcooc.protocol import TableLike

# In the order in which they are read: what comes later uses what is before.
SCRIPTS = (
    "dom", "state", "words", "shares", "overview", "topics", "map", "documents", "tree", "members",
    "blocks", "search", "about", "main",
)  # fmt: skip


class Explorer:
    """A page that shows a fitted model; see `explore`.

    In a notebook it shows itself, in a frame.

    Parameters
    ----------
    shown : dict
        What the page shows, ready for JSON.
    title : str
        Its heading.
    """

    def __init__(self, shown: Payload, title: str) -> None:
        self.shown, self.title = shown, title

    @cached_property
    def html(self) -> str:
        """The page, a document that needs no other file and no network.

        ImportError is raised where Jinja2 is not installed.
        """
        template = environment().from_string(_file("page.html"))
        scripts = "\n".join(_file(f"{name}.js") for name in SCRIPTS)
        return str(
            template.render(
                title=self.title,
                style=_file("style.css"),
                script=scripts,
                payload=to_json({"title": self.title, **self.shown}),
            )
        )

    def save(self, path: str | PathLike[str]) -> None:
        """Write the page into a file, such as "topics.html"; OSError where that cannot be."""
        folder = Path(path).parent
        if not folder.is_dir():
            raise FileNotFoundError(f"There is no folder {str(folder)!r} to write the page into.")
        # Half a surrogate pair has no place in a file.
        Path(path).write_text(self.html, encoding="utf-8", errors="replace")

    def _repr_html_(self) -> str:
        """The page in a frame, which cannot reach the notebook around it."""
        return (
            f'<iframe title="{html.escape(self.title)}" srcdoc="{html.escape(self.html)}" '
            'sandbox="allow-scripts allow-forms allow-downloads" '
            'style="width: 100%; height: 760px; border: 1px solid #8888"></iframe>'
        )


def explore(
    model: Any, X: TableLike, feature_names: ArrayLike | None = None,
    row_names: ArrayLike | None = None, *, texts: Sequence[str] | None = None,
    groups: Any = None, times: Any = None,
    names: Names | None = None, title: str | None = None, sides: tuple[str, str] | None = None,
) -> Explorer:  # fmt: skip
    """A page to look through a fitted model: one HTML file that needs nothing else.

    It shows the topics by their share of the observations, with names that can be edited there; of
    each topic its columns, its rows, its share in groups and over time; the shares of all topics in
    groups, those marked whose interval is above the share in all rows; a map of the topics; the
    rows, with the words of texts coloured by topic and how well each is predicted; the tree of a
    `ClusterAbstraction`; the blocks of a `SymmetricClustering`, with all their members; and a
    search. Long texts are cut and rows sampled, so that the file of a large table is below 2 MB;
    the page says so where it is. Jinja2 is needed: ``pip install 'skcooc[explore]'``.

    Parameters
    ----------
    model : fitted estimator
        With ``components_`` (K, M) and ``transform``, here or of another library; or a pipeline
        that ends in one, or a search with such a ``best_estimator_``. The steps before it are
        applied to X, and give the names of the columns.
    X : array-like, sparse array or matrix, DataFrame, Dyads of shape (N, M), or as a pipeline wants
        The rows to show: those that were fitted, or others, which are folded in.
    feature_names : array-like of shape (M,), default=None
        See :func:`top_features`.
    row_names : array-like of shape (N,), default=None
        Names of the rows, such as titles. None means those of the table fitted, of dyads, or the
        index of a data frame; else the beginnings of the texts, or positions.
    texts : sequence of N str, default=None
        What the rows were counted in. None means X itself where a pipeline takes texts; else rows
        are shown by their most frequent columns.
    groups : array-like of shape (N,), series, or dict or data frame of one column, default=None
        A label of each row; None or NaN where it has none. The forty largest groups are shown. The
        name of a column is shown.
    times : array-like of shape (N,), series, or dict or data frame of one column, default=None
        A number or a date of each row, such as the year; dates may be pandas periods, or strings in
        ISO 8601 such as "2024-01". More than 24 numbers are put into 24 equal intervals, and dates
        into periods; see :func:`topic_shares`.
    names : sequence of K str, or dict of int to str, default=None
        Names of the topics, or of some of them; see :func:`name_topics` for the others. What the
        page exports can be read by ``json`` and given here, or to :func:`set_names`, which keeps
        it.
    title : str, default=None
        The heading of the page.
    sides : pair of str, default=None
        What the rows and the columns are, in the plural, such as ("adjectives", "nouns"). None
        means documents, or rows where there are no texts, and features.

    Returns
    -------
    explorer : Explorer
        ``explorer.save("topics.html")`` writes the page; a notebook shows it.

    Raises
    ------
    ImportError
        Where Jinja2 is not installed.
    ValueError
        Where names, texts, groups or times are not as many as there are, times are infinite,
        ``sides`` are not two, or X has no observations or other columns than the model.
    TypeError
        Where the model has no components, or times are neither numbers nor dates.

    Notes
    -----
    Shares in groups are sum_i n_i P(z given x_i) / sum_i n_i over their rows, with intervals of
    resampled rows; see :func:`topic_shares`. The slider of columns is Sievert and Shirley's
    relevance, t log(P(y given z) / P(y)) + (1 - t) log P(y given z), from t = 0 to t = 1; instead
    of P(y), it can compare with P(y given another topic). The map is scikit-learn's
    multidimensional scaling of Hellinger distances. The topic of a word in a row is argmax_z P(z
    given x) P(y given z).

    The perplexity of a row is exp(-mean log P(y given x)) of its observations. It is in sample for
    the rows that were fitted. Of other rows, one half of the observations is held out and scored,
    and the page says so; estimators without ``score_samples`` fold all in, and that is in sample.
    In sample, it is that of the mixture of components, smoothed as the model is.

    References
    ----------
    C. Sievert and K. Shirley, LDAvis: A method for visualizing and interpreting topics, Workshop on
    Interactive Language Learning, Visualization, and Interfaces, 63-70, 2014.

    Examples
    --------
    >>> from skcooc import AspectModel
    >>> from skcooc.inspection import explore
    >>> X = [[4, 2, 0, 0], [4, 2, 0, 0], [0, 0, 3, 9], [0, 0, 3, 9]]
    >>> model = AspectModel(2, beta=1, random_state=0).fit(X)
    >>> explorer = explore(model, X, feature_names=["tea", "cup", "ball", "goal"])
    >>> explorer.save("topics.html")  # doctest: +SKIP
    """
    environment()  # what is not installed shows before the work
    _check_sides(sides)
    subject = read(model, X, texts, feature_names, row_names)
    made = named_topics(
        subject.model, subject.components, subject.weights, subject.columns, subject.names_fitted
    )
    asked = Asked(given(names, made), groups, times, sides)
    shown = payload(subject, asked)
    return Explorer(shown, f"{type(subject.model).__name__}" if title is None else title)


def _check_sides(sides: object) -> None:
    """ValueError where they are given, and are no pair of words."""
    if sides is None:
        return
    listed = list(sides) if isinstance(sides, Sequence) and not isinstance(sides, str) else []
    if len(listed) != 2 or not all(isinstance(side, str) and side.strip() for side in listed):
        raise ValueError(
            f"sides should be what rows and columns are, as two strings; got {sides!r}."
        )


def environment() -> Any:
    """Jinja2's; ImportError where it is not installed."""
    try:
        from jinja2 import Environment, StrictUndefined
    except ImportError as error:
        raise ImportError(
            "explore needs Jinja2. Install it with `pip install 'skcooc[explore]'`."
        ) from error
    return Environment(autoescape=True, undefined=StrictUndefined)


def _file(name: str) -> str:
    folder = resources.files("skcooc.inspection.explorer")
    return folder.joinpath(name).read_text(encoding="utf-8")
