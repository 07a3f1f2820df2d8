"""A fitted model with all that is reported of it: tables, shares, a page."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from skcooc import inspection
from skcooc.estimators.aspect import AspectModel
from skcooc.estimators.guided import GuidedAspectModel
from skcooc.inspection import Explorer, models
from skcooc.inspection.explorer.sections import column_finder, document_parts
from skcooc.inspection.frames import table_of
from skcooc.inspection.groups import RowGroups, divide, divide_by_label, divide_by_time
from skcooc.inspection.models import ModelView
from skcooc.inspection.shares import RowTopics, keys_of_lines, row_topics, share_intervals
from skcooc.protocol import CSR, Array
from skcooc.reports.counting import CountedTexts, DroppedWords
from skcooc.reports.notes import TWINS, collected
from skcooc.reports.sizes import LADDER, merge_copies, n_distinct, twins
from skcooc.tables import with_names

# Counted words of a text, on average, below which topics are fitted with leave-one-out. Otherwise
# 4 topics may seem as good as 8, where 32 are far better.
SHORT = 10
SEPARATING = 0.8  # beta to try where topics are nearly equal


class TimedFit(NamedTuple):
    seconds: float
    notes: tuple[str, ...]  # warnings of the fit


@dataclass(frozen=True)
class Division:
    """Rows in G groups or periods, and the shares of K topics in each."""

    name: str  # "group" or "time"
    labels: list[str]
    values: Array  # (G,): labels, numbers, intervals of these, or the first days of periods
    sizes: list[int]  # rows of each
    components: list[int]  # numbers of the K topics, the largest in all rows first
    share: Array  # (G, K): of the tokens
    intervals: Array  # (2, G, K)
    documents: Array  # (G, K): of the rows, by their largest topic


@dataclass(frozen=True, eq=False)
class TopicReport:
    """A fitted model with its tables, its page, and what a reader should know; see `fit_texts`.

    Attributes
    ----------
    pipeline : Pipeline
        The fitted steps and the model; ``transform`` takes new texts. Save it by ``joblib``.
    model : estimator
        Its last step.
    X : CSR array of shape (N, M)
        Counts of the words.
    topics : data frame
        A line for each topic, the largest first; see :func:`skcooc.inspection.describe`. Shares are
        those of :func:`skcooc.inspection.topic_shares`, as in ``shares_by_group`` and on the page.
    shares_by_group, shares_by_time : data frame or None
        A line for each group, or period, and topic: ``group`` or ``time``, ``component``,
        ``topic``, ``n_rows``, ``share`` (of the tokens), its 95 % interval from ``low`` to ``high``
        and ``documents`` (share of the texts with this as their largest topic). Topics are in the
        order of ``topics``. More than 12 numbers are put into intervals, such as "2006 – 2007".
    dropped : data frame
        Words that are not counted, those to doubt first: ``word``, ``reason`` and ``documents``,
        the share of the texts that have it. Reasons are "common" (in texts of all topics alike),
        "frequent" (above ``max_df``), "rare" (below ``min_df``) and "short".
    n_fitted : int
        Number of topics fitted, before nearly equal ones were merged.
    notes : list of str
        Warnings, in words.

    Examples
    --------
    >>> from skcooc import fit_texts
    >>> from skcooc.datasets import load_bible
    >>> bible = load_bible()
    >>> report = fit_texts(bible.data[::4], n_components=4, names=bible.names[::4], random_state=0)
    >>> report
    TopicReport(4 topics; X: 298 x 3,936)
    >>> report.words("The priest burned the offering upon the altar")["word"].tolist()
    ['priest', 'burned', 'offering', 'altar']
    >>> report.explore("topics.html")  # doctest: +SKIP
    """

    model: BaseEstimator
    X: CSR
    row_names: Sequence[str]
    column_names: Sequence[str]
    n_fitted: int
    steps: tuple[tuple[str, Any], ...] = ()
    texts: Sequence[str] | None = None
    groups: Any = None
    times: Any = None
    dropped_words: tuple[DroppedWords, ...] = ()
    notes: list[str] = field(default_factory=list)
    title: str | None = None
    sides: tuple[str, str] | None = None  # names of rows and columns; None for texts
    backend: str = "pandas"  # the library of data frames
    index: Any = None  # of a pandas frame of the texts

    def __repr__(self) -> str:
        kind = models.kind_of(self.model)
        rows, columns = self.X.shape
        return f"{type(self).__name__}({len(self.names)} {kind}s; X: {rows:,} x {columns:,})"

    @cached_property
    def pipeline(self) -> Pipeline:
        return Pipeline([*self.steps, ("model", self.model)])

    @property
    def names(self) -> list[str]:
        """Names of the K topics, with those set by :func:`skcooc.inspection.set_names`."""
        return inspection.name_topics(self.model, self.column_names, self.row_names)

    @property
    def leaf_names(self) -> list[str]:
        """Names of the topics to which texts belong: of a tree its leaves, the clusters."""
        names = self.names
        tree = getattr(self.model, "tree_", None)
        return names if tree is None else [names[v] for v in tree.leaves]

    @cached_property
    def view(self) -> ModelView:
        return models.read_view(self.model, self.X, self.column_names, self.row_names)

    @cached_property
    def row_topics(self) -> RowTopics:
        return row_topics(self.view)

    @property
    def shares(self) -> Array:
        """Shares of the topics of all tokens, (K,)."""
        return self.row_topics.overall

    @cached_property
    def order(self) -> Array:
        """Numbers of the topics, the largest first, (K,)."""
        return np.argsort(-self.shares, kind="stable")

    @property
    def documents(self) -> Array:
        """Shares of the rows with counts by their largest topic, (K,)."""
        return self.row_topics.documents([np.flatnonzero(self.view.row_sums)])[0]

    @cached_property
    def equal_topics(self) -> list[tuple[int, int]]:
        """Pairs of topics that are nearly equal, the nearest first."""
        return twins(self.model.components_) if hasattr(self.model, "merged") else []

    @property
    def topics(self) -> Any:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", TWINS, UserWarning)
            table = inspection.describe(
                self.model, self.column_names, self.row_names, X=self.X, backend=self.backend
            )
        return lines_of(table, self.order)

    @cached_property
    def by_group(self) -> Division | None:
        if self.groups is None:
            return None
        return self._division("group", divide_by_label(self.groups, self.row_topics.tokens))

    @cached_property
    def by_time(self) -> Division | None:
        if self.times is None:
            return None
        return self._division("time", divide_by_time(self.times, self.row_topics.tokens))

    @property
    def divisions(self) -> list[Division]:
        return [division for division in (self.by_group, self.by_time) if division is not None]

    @property
    def shares_by_group(self) -> Any:
        return None if self.by_group is None else self._frame(self.by_group)

    @property
    def shares_by_time(self) -> Any:
        return None if self.by_time is None else self._frame(self.by_time)

    @cached_property
    def dropped(self) -> Any:
        columns: dict[str, Any] = {
            "word": [word for words in self.dropped_words for word in words.words],
            "reason": [words.reason for words in self.dropped_words for _ in words.words],
            "documents": np.concatenate([[], *(words.shares for words in self.dropped_words)]),
        }
        return table_of(columns, self.backend)

    def explore(
        self, path: str | PathLike[str] | None = None, title: str | None = None
    ) -> Explorer:
        """Make a page to look through the topics, and write it into a file if a path is given.

        Parameters
        ----------
        path : str or PathLike, default=None
            Such as "topics.html".
        title : str, default=None
            The heading of the page.

        Returns
        -------
        page : Explorer
            Notebooks show it; see :func:`skcooc.inspection.explore`.
        """
        page = inspection.explore(
            self.pipeline if self.steps else self.model,
            self.X if self.texts is None else self.texts,
            row_names=self.row_names,
            title=title or self.title,
            feature_names=self.column_names,
            groups=self.groups,
            times=self.times,
            sides=self.sides,
        )
        if path is not None:
            page.save(path)
        return page

    def label(self, texts: Any = None) -> Any:
        """The largest topic of each text, or its cluster, as columns for a data frame.

        With ``seeds`` this may be a topic without a name of yours; ``pipeline.predict`` returns
        the most probable one of the named topics.

        Parameters
        ----------
        texts : sequence or series of n str, default=None
            New texts. None means those fitted.

        Returns
        -------
        table : data frame
            With the columns ``topic``, the name, and ``share``, that of the topic in the text, or
            the probability of the cluster; missing where a text has no known word. It has the index
            of the texts, of pandas: ``frame.join(report.label())``.
        """
        names = self.leaf_names
        is_tree = hasattr(self.model, "tree_")
        if texts is None:
            mixtures = self.model.posteriors_ if is_tree else self.view.mixtures
            has_words = self.view.row_sums > 0
            index = self.index
        else:
            listed = text_list(texts)
            unwrapped = models.unwrap(self.pipeline, "components_")
            counts = unwrapped.table(listed) if listed else self.X[:0]
            has_words = np.asarray(counts.sum(axis=1)).ravel() > 0
            mixtures = np.full((len(listed), len(names)), np.nan)
            if has_words.any():
                method = "predict_proba" if is_tree else "transform"
                mixtures[has_words] = models.call_on_counts(self.model, method, counts[has_words])
            index = index_of(texts)
        largest = np.nan_to_num(mixtures).argmax(axis=1)
        largest_shares = mixtures.max(axis=1).tolist()
        rows = range(len(mixtures))
        topics = [names[largest[i]] if has_words[i] else None for i in rows]
        shares = [largest_shares[i] if has_words[i] else None for i in rows]
        table = table_of({"topic": topics, "share": shares}, self.backend)
        return table if index is None else table.set_axis(index)

    def words(self, text: int | str) -> Any:
        """The topic of each known word in its text.

        The topic is argmax_z P(z given x) P(y given z): the same word may have different topics in
        different texts.

        Parameters
        ----------
        text : int or str
            The position of a text that was fitted, or a new text.

        Returns
        -------
        table : data frame
            With the columns ``word`` and ``topic``, in the order of the text.
        """
        analyzer = self.steps[0][1].build_analyzer()
        if isinstance(text, str):
            counts = models.unwrap(self.pipeline, "components_").table([text])
            if not counts.sum():
                return table_of({"word": [], "topic": []}, self.backend)
            view = models.read_view(self.model, counts, self.column_names)
            view = replace(view, texts=[text], analyzer=analyzer)
            text = 0
        else:
            view = replace(self.view, texts=self.texts, analyzer=analyzer)
        limit = len(view.texts[text]) if view.texts else 0
        parts, numbers = document_parts(view, text, limit, column_finder(view))
        names = self.names
        topics = [names[k] if k >= 0 else None for k in numbers]
        return table_of({"word": parts[1::2], "topic": topics}, self.backend)

    def shares_by(self, by: Any, freq: str = "auto") -> Any:
        """Shares of the topics by another division, or of whole texts whose sections were fitted.

        The counts of all rows with the same label are summed, so that
        ``report.shares_by(frame["book"])`` has the topics of each book if its chapters were fitted.

        Parameters
        ----------
        by : array-like of shape (N,), series, or dict or data frame of one or two columns
            Labels, numbers or dates of the texts; see :func:`skcooc.inspection.topic_shares`.
        freq : str, default="auto"
            Length of the periods of dates.

        Returns
        -------
        table : data frame
            As ``shares_by_group``.
        """
        return self._frame(self._division("group", divide(by, self.row_topics.tokens, freq)))

    def _division(self, name: str, rows: RowGroups) -> Division:
        components = self.order.tolist()
        shares = self.row_topics.shares(rows.members)
        intervals = share_intervals(self.row_topics, rows.members, shares)
        return Division(
            name,
            rows.labels,
            rows.values,
            [len(members) for members in rows.members],
            components,
            shares[:, components],
            intervals[:, :, components],
            self.row_topics.documents(rows.members)[:, components],
        )

    def _frame(self, division: Division) -> Any:
        names = self.names
        topics = [names[k] for k in division.components]
        columns: dict[str, Any] = {
            **keys_of_lines(division.name, division.values, topics),
            "component": np.tile(division.components, len(division.labels)),
            "n_rows": np.repeat(division.sizes, len(topics)),
            "share": division.share.ravel(),
            "low": division.intervals[0].ravel(),
            "high": division.intervals[1].ravel(),
            "documents": division.documents.ravel(),
        }
        return table_of(columns, self.backend)


def topic_model(
    n_components: int,
    *,
    seeds: Mapping[str, Sequence[str]] | None = None,
    has_batches: bool = False,
    feature_names: Sequence[str] | None = None,
    **parameters: Any,
) -> BaseEstimator:
    """An unfitted aspect model, guided by seeds or with factors of batches if there are some."""
    if seeds is not None:
        parameters |= {"seed_features": seeds, "feature_names": feature_names}
    if has_batches:
        parameters["group_effects"] = "columns"
    if seeds is None and not has_batches:
        return AspectModel(n_components, **parameters)
    return GuidedAspectModel(n_components, **parameters)


def text_parameters(X: CSR, *, has_seeds: bool, has_batches: bool) -> dict[str, Any]:
    """Parameters of an aspect model of texts in which it differs from the defaults."""
    parameters: dict[str, Any] = {}
    if not has_seeds:
        parameters["tempering"] = "distinctive"  # by which shares of topics are right
    if not has_batches and X.sum() < SHORT * np.count_nonzero(X.sum(axis=1)):
        parameters["leave_one_out"] = True
    return parameters


def fit_report(
    model: BaseEstimator,
    X: CSR,
    *,
    merge: bool,
    batches: Array | None = None,
    counts: CountedTexts | None = None,
    **content: Any,
) -> TopicReport:
    """Fit a model, merge nearly equal topics if this is wanted, and collect what is reported.

    ``counts`` are those of texts, from which X is; ``content`` are fields of `TopicReport`.
    """
    names = (np.array(content[side], dtype=object) for side in ("column_names", "row_names"))
    X = with_names(X, *names)
    notes = timed_fit(model, X, batches).notes
    n_fitted = len(model.components_)
    if merge:
        model = merge_copies(model)
        if len(model.components_) == 1 < n_fitted:
            note = (
                f"All {n_fitted} topics that were fitted are nearly equal. They were merged into "
                "one, so shares of topics mean nothing. Perhaps the data contain no topics, or too "
                "few tokens to show them."
            )
            if model.beta_ < SEPARATING:
                note += (
                    " A larger beta separates topics more, even if there are none: it is "
                    f"{model.beta_:.2g} now, try {SEPARATING} (--beta {SEPARATING}). Held-out "
                    "tokens are then predicted worse, so check whether the topics make sense."
                )
            notes = (*notes, note)
        elif len(model.components_) == LADDER[-1]:
            note = (
                f"There are {LADDER[-1]} topics, the largest number that is tried, and none are "
                "nearly equal. To see whether more topics show further themes, set the number: "
                f"n_components={2 * LADDER[-1]} (--components {2 * LADDER[-1]}). Whether topics "
                "recur in other runs is another question: see skcooc.inspection.topic_stability."
            )
            notes = (*notes, note)
    if counts is not None:
        notes = (*counts.notes, *notes)
        content |= {"steps": counts.steps, "dropped_words": counts.dropped}
    report = TopicReport(model, X, n_fitted=n_fitted, notes=[*notes], **content)
    if report.equal_topics:
        first, second = (report.names[k] for k in report.equal_topics[0])
        n_more = len(report.equal_topics) - 1
        suffix = f", and {n_more} more pair{'s' if n_more > 1 else ''}" if n_more else ""
        n_components = n_distinct(model.components_)
        report.notes.append(
            f"Nearly equal topics: {first!r} and {second!r}{suffix}. Fit fewer topics: "
            f"n_components={n_components} (--components {n_components})."
        )
    with collected(report.notes):
        _ = report.divisions  # found now, as doubts about groups are notes
    return report


def timed_fit(model: BaseEstimator, X: CSR, batches: Array | None = None) -> TimedFit:
    """Fit a model and return its seconds and its warnings, which are not printed."""
    notes: list[str] = []
    with collected(notes):
        begin = time.perf_counter()
        model.fit(X, **({} if batches is None else {"groups": batches}))
        seconds = time.perf_counter() - begin
    return TimedFit(seconds, tuple(notes))


def lines_of(native: Any, positions: Array) -> Any:
    """Lines of a data frame of any library, in this order; an index of pandas begins anew."""
    import narwhals.stable.v2 as narwhals  # here, for it takes a while to import

    table = narwhals.from_native(native)[positions.tolist()]
    return narwhals.maybe_reset_index(table).to_native()


def index_of(native: Any) -> Any:
    """The index of a data frame or series of pandas; None for anything else."""
    import narwhals.stable.v2 as narwhals  # here, for it takes a while to import

    table = narwhals.from_native(native, allow_series=True, pass_through=True)
    is_table = isinstance(table, narwhals.DataFrame | narwhals.Series)
    return narwhals.maybe_get_index(table) if is_table else None


def text_list(texts: Any) -> list[str]:
    """Texts as strings, "" for a missing one; TypeError for anything else."""
    if isinstance(texts, str):
        raise TypeError("texts is one string; give a list of texts, such as [text].")
    return [models.read_text(text, i) for i, text in enumerate(texts)]
