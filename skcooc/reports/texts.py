"""Topics of texts in one call."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone

from skcooc.base import CooccurrenceEstimator
from skcooc.inspection.groups import divide_by_label, divide_by_time
from skcooc.protocol import RandomState, refuse_class, warn
from skcooc.protocol.decorators import validated
from skcooc.protocol.scikit_learn import Interval, StrOptions
from skcooc.reports.counting import count_texts, excerpt
from skcooc.reports.notes import collected
from skcooc.reports.report import (
    TopicReport,
    fit_report,
    index_of,
    text_list,
    text_parameters,
    topic_model,
)
from skcooc.reports.sizes import find_size

N_NAMED = 8  # columns in a message
FREQUENCY = [Interval(Integral, 1, None, closed="left"), Interval(Real, 0, 1, closed="right"), None]
CHECKED = {
    "n_components": [Interval(Integral, 1, None, closed="left"), None],
    "stop_words": [StrOptions({"english"}), "array-like", None],
    "min_df": FREQUENCY,
    "max_df": FREQUENCY,
    "token_pattern": [str, None],
    "random_state": ["random_state"],
}


@validated(CHECKED)
def fit_texts(
    texts: Any, text: str | None = None, *, group: Any = None, time: Any = None,
    names: Any = None, batch: Any = None, seeds: Mapping[str, Sequence[str]] | None = None,
    n_components: int | None = None, model: BaseEstimator | None = None,
    stop_words: str | Sequence[str] | None = "english", min_df: int | float | None = None,
    max_df: int | float | None = None, token_pattern: str | None = None,
    beta: float | str = "auto", max_iter: int = 500, n_jobs: int | None = None,
    random_state: RandomState = None,
) -> TopicReport:  # fmt: skip
    """Find the topics of texts, with tables, shares by group and over time, and a page.

    This is what the :doc:`command line </howto/command_line>` does with texts. Words are counted in
    any script. Common words that tell little about a topic are dropped by `TopicalColumns`, the
    number of topics is found, and nearly equal topics are merged. Texts with fewer than ten counted
    words on average are fitted with leave-one-out (see `AspectModel`). Read more in the
    :doc:`how-to guide </howto/texts>`.

    Parameters
    ----------
    texts : data frame, or sequence or series of N str
        A frame of pandas, polars or another library that narwhals knows, or the texts. Missing
        texts (None, NaN) are empty.
    text : str, default=None
        The column of a frame that holds the texts.
    group, time, names, batch : str, or array-like of shape (N,), default=None
        Columns of the frame by name, or their values: labels to compare shares by; numbers or dates
        to follow shares over (in periods of another length: ``report.shares_by``); names of the
        texts, by default their beginnings; and sources, such as
        agencies, whose own words are to make no topics. Texts without a label (None, NaN) are in no
        group.
    seeds : dict of str to sequence of str, default=None
        Names of topics, and words that are typical of them; see `GuidedAspectModel`.
    n_components : int, default=None
        Number of topics. None tries 4, 8, 16 and 32 (at most a tenth of the texts) as long as
        held-out perplexity falls by 1 %, and then merges topics whose Hellinger distance is below
        0.4; a note says if 32 remain. A number is kept, and a note names nearly equal topics.
    model : estimator, default=None
        Another model, such as ``ClusterAbstraction(32)``; a clone is fitted. None means an
        `AspectModel`, or a `GuidedAspectModel` where there are seeds or batches.
    stop_words : "english", list of str or None, default="english"
        Words to drop: those of English, or a list in their place. To add words, give
        ``[*skcooc.words.STOP_WORDS, "word"]``.
    min_df : int or float, default=None
        Drop words in fewer texts: a number, or a share of the texts as a float. None means 5, of
        fewer than 1,000 texts 2, and of fewer than 100 texts 1.
    max_df : int or float, default=None
        Drop words in more texts. None drops frequent words only if they tell little about a topic.
    token_pattern : str, default=None
        A regular expression of words. None finds words in any script; where words are not
        separated, pairs of letters are counted.
    beta, max_iter, n_jobs, random_state
        Of the model; see `AspectModel`.

    Returns
    -------
    report : TopicReport
        With ``pipeline``, which takes new texts; the data frames ``topics``, ``shares_by_group``,
        ``shares_by_time`` and ``dropped``; the methods ``explore``, ``label``, ``words`` and
        ``shares_by``; and ``notes``.

    Raises
    ------
    TypeError
        If texts are one string or a lazy frame, or the model is of another library.
    ValueError
        If a column is missing, a length differs, texts are no strings, times are neither numbers
        nor dates, or no words are left.

    Warns
    -----
    UserWarning
        What ``notes`` say.

    Examples
    --------
    >>> from skcooc import fit_texts
    >>> from skcooc.datasets import load_bible
    >>> bible = load_bible()
    >>> report = fit_texts(bible.data, group=bible.sections, n_components=8, random_state=0)
    >>> report.topics[["name", "share"]].shape, report.shares_by_group.shape
    ((8, 2), (64, 8))
    >>> report.label(["The Lord is my shepherd", "42"])["topic"].isna().tolist()
    [False, True]
    """
    columns, backend = _read_columns(
        texts, text, {"group": group, "time": time, "names": names, "batch": batch}
    )
    listed = text_list(columns["texts"])
    if len(listed) < 2:
        raise ValueError(f"There are {len(listed)} texts; topics need at least 2.")
    _check_lengths(columns, len(listed))
    groups = columns["group"]
    times = columns["time"]
    everywhere = np.ones(len(listed))
    with collected([]):  # they come again with the shares
        if groups is not None:
            divide_by_label(groups, everywhere, "group")
        if times is not None:
            divide_by_time(times, everywhere)
    if token_pattern is not None:
        try:
            re.compile(token_pattern)
        except re.error as error:
            raise ValueError(
                f"token_pattern={token_pattern!r} is not a valid regular expression: {error}."
            ) from error
    if model is not None:
        refuse_class(model, "model")
        if not isinstance(model, CooccurrenceEstimator):
            raise TypeError(
                f"model should be a model of skcooc such as AspectModel, got "
                f"{type(model).__name__}."
            )
        if n_components is not None or seeds is not None or columns["batch"] is not None:
            raise ValueError(
                "model cannot be combined with n_components, seeds or batch: set these in the "
                "model itself."
            )
    stop_list = stop_words if stop_words is None or isinstance(stop_words, str) else [*stop_words]
    counts = count_texts(
        listed,
        stop_words=stop_list,
        min_df=min_df,
        max_df=max_df,
        token_pattern=token_pattern,
        random_state=random_state,
    )
    is_guided = seeds is not None or columns["batch"] is not None
    parameters: dict[str, Any] = {
        "beta": beta,
        "max_iter": max_iter,
        "n_jobs": n_jobs,
        "random_state": random_state,
        **text_parameters(
            counts.X, has_seeds=seeds is not None, has_batches=columns["batch"] is not None
        ),
    }
    is_automatic = model is None and n_components is None
    if model is None:
        if n_components is None:
            n_components = max(find_size(counts.X, **parameters), len(seeds or ()))
        model = topic_model(
            n_components,
            seeds=seeds,
            has_batches=columns["batch"] is not None,
            feature_names=counts.words,
            **parameters,
        )
    else:
        model = clone(model)
    if columns["names"] is None:
        row_names = [f"{i}: {excerpt(line)}" for i, line in enumerate(listed)]
    else:
        row_names = list(map(str, columns["names"]))
    report = fit_report(
        model,
        counts.X,
        merge=is_automatic and not is_guided,
        batches=columns["batch"],
        counts=counts,
        column_names=counts.words,
        row_names=row_names,
        texts=listed,
        groups=groups,
        times=times,
        backend=backend,
        index=index_of(texts),
    )
    for note in report.notes:
        warn(note)
    return report


def _read_columns(
    texts: Any, text: str | None, options: Mapping[str, Any]
) -> tuple[dict[str, Any], str]:
    """The texts and other columns, and the library of frames."""
    import narwhals.stable.v2 as narwhals  # here, for it takes a while to import

    frame = narwhals.from_native(texts, allow_series=True, pass_through=True)
    is_frame = isinstance(frame, narwhals.DataFrame)
    if isinstance(frame, narwhals.LazyFrame):
        raise TypeError("texts is a lazy frame: give texts.collect().")
    if not is_frame and text is not None:
        raise ValueError(
            f"text={text!r} names a column, but texts is not a data frame, got "
            f"{type(texts).__name__}."
        )
    if is_frame and text is None:
        raise ValueError(
            f"texts is a data frame: name its column of texts, such as text={frame.columns[0]!r}. "
            f"{_listed(frame.columns)}"
        )
    columns: dict[str, Any] = {}
    for name, value in {"texts": text if is_frame else texts, **options}.items():
        if isinstance(value, str) and (is_frame or name != "texts"):
            if not is_frame:
                raise ValueError(
                    f"{name}={value!r} names a column, but texts is not a data frame: give the "
                    "values."
                )
            if value not in frame.columns:
                raise ValueError(
                    f"There is no column {value!r} for {name}. {_listed(frame.columns)}"
                )
            columns[name] = frame.get_column(value).to_native()
        else:
            columns[name] = value
    is_known = isinstance(frame, narwhals.DataFrame | narwhals.Series)
    backend = frame.implementation.value if is_known else "pandas"
    return columns, backend


def _listed(columns: Sequence[str]) -> str:
    names = ", ".join(map(repr, columns[:N_NAMED]))
    more = f" and {len(columns) - N_NAMED} others" if len(columns) > N_NAMED else ""
    return f"Its columns are {names}{more}."


def _check_lengths(columns: Mapping[str, Any], n: int) -> None:
    for name, values in columns.items():
        if values is not None and len(values) != n:
            raise ValueError(f"{name} has {len(values)} values, but there are {n} texts.")
