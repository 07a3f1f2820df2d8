"""The aspect model where the user knows something: seeds, given topics, groups of rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, NamedTuple, Self, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from skcooc import tables
from skcooc.base import attributes, warm_starts
from skcooc.em import State
from skcooc.equations.guided_aspects import GroupedAspects, Guide, GuidedAspects
from skcooc.estimators.aspect import AspectFamily, AspectModel
from skcooc.fitting import Recipe
from skcooc.heldout import scoring
from skcooc.heldout.predictors import smoothed
from skcooc.protocol import Array, Block, Counts, Predictor, TableLike, warn
from skcooc.protocol.decorators import available_if, fit_context
from skcooc.protocol.scikit_learn import Interval, StrOptions
from skcooc.simplex import first_largest, normalise
from skcooc.tables import Dyads, Table, row_groups

GroupEffects: TypeAlias = Literal["topics", "columns", "both"]
Column: TypeAlias = "str | int"
SEEDS_ALONE, FEW_SEEDS = 0.5, 0.1  # share of seeds in a topic; in all columns
N_LISTED = 8  # seeds in a message
NAMED_COUNTS = "put NamedCounts around the vectorizer, as in NamedCounts(CountVectorizer())"


@dataclass(eq=False, repr=False)
class GuidedAspectModel(AspectModel):
    """Aspect model guided by seed words, given topics, or groups of rows such as batches.

    Seeds are columns, such as words, that you declare typical of a topic. Given topics are those of
    another model, which the fit does not change. Topics with seeds come first, then given topics,
    then free topics. Read more in the :doc:`user guide </guide/guided>`.

    Parameters
    ----------
    n_components : int, default=10
        Number K of topics: those with seeds, given ones and free ones.

    seed_features : dict of str to list of str or int, or None, default=None
        Maps the name of a topic to the columns that are typical of it, by name or position. If
        column names are numbers, numbers are names. A column may be a seed of several topics.

    seed_strength : float in [0, 1), default=0.05
        Total pseudo-count of the seeds of a topic, relative to the tokens of a topic of average
        size. It is added in every iteration. With 0, the seeds only determine the initial topics.
        Seeds are not constraints: enough counts outweigh them.

    fixed_components : dict of str to (M,) array, (F, M) array or None, default=None
        F given topics, such as those of another model. They are scaled to sum to one and then stay
        unchanged. The keys of a dict name them. The topics of an array are named "given 0",
        "given 1" and so on. If X has column names, a DataFrame or a dict of Series is matched by
        name, and columns that it lacks are zero.

    group_effects : {"topics", "columns", "both"} or None, default=None
        What depends on the groups of rows that you pass to ``fit``.

        - ``"topics"``: the mixture weights. The prior of a row is the average mixture of its group,
          which helps if rows are short.
        - ``"columns"``: the columns. Each column gets a factor in each group, such as a batch
          effect. The factor is the same for all topics, and mixtures are estimated without it.
        - ``"both"``: mixture weights and columns.
        - ``None``: nothing.

    feature_names : array-like of str of shape (M,), default=None
        Names of the columns, such as ``vectorizer.get_feature_names_out()``. ``seed_features``
        needs them if X has no column names. In cross-validation of a pipeline, use `NamedCounts`
        around the vectorizer instead, because the columns differ between folds.

    tempering : {"auto", "distinctive", "joint", "likelihood"}, default="auto"
        See `AspectModel`. With seeds, "auto" is "joint", so that a large free topic does not take
        the tokens of a small named one.

    component_prior, row_prior : see `AspectModel`, default="auto"
        With ``group_effects`` "topics" or "both", ``row_prior`` is the pseudo-count of the average
        mixture of the group, in training rows and new rows.

    leave_one_out, burstiness : see `AspectModel`
        Cannot be combined with ``group_effects``.

    annealing : None, default=None
        Must be None, because seeded and given topics do not split.

    beta, n_init, max_iter, tol, solver : see `AspectModel`
        Control the EM algorithm.

    smoothing, validation_fraction, early_stopping : see `AspectModel`
        Control the use of held-out tokens.

    n_jobs, warm_start, random_state : see `AspectModel`
        Number of threads, continued fits and the seed.

    Attributes
    ----------
    component_names_ : dict of int to str
        Names of the topics with seeds and of the given topics, by position.
    groups_ : (G,) array
        Sorted labels of the groups. This and the next three attributes need ``group_effects``.
    row_groups_ : (N,) array of int
        Position in ``groups_`` of the group of each row, or -1 for rows without a group.
    group_distribution_ : (G, K) array
        P(z_k given g), the shares of the topics in the groups, in the order of ``groups_``.
    column_factors_ : (G, M) array
        Factors of the columns. With a factor of 2, a column occurs twice as often in the group,
        given the same topics. The geometric mean over the groups in which a column occurs is one,
        unless there are given topics.
    components_ : (K, M) array
        P(y_j given z_k).
    weights_ : (K,) array
        P(z_k), also the mixture weights of an empty row.
    embedding_ : (N, K) array
        P(z_k given x_i) of the training rows, without the factors of the columns.

    See Also
    --------
    skcooc.AspectClassifier : Classifier that learns from the labels of some rows.
    skcooc.NamedCounts : Vectorizer that passes its column names on.
    skcooc.inspection.share_effects : Effects of covariates on topics.

    Notes
    -----
    Seeds are pseudo-counts [1]_. The factors s_gj belong to a Poisson model with means s_gj sum_k
    theta_ik P(y_j given z_k), as in models of single cells [2]_. They may absorb differences in
    topics between groups. ``sample``, ``recommend``, ``joint_distribution`` and
    ``row_log_likelihood`` ignore the factors. So do ``aic`` and ``bic`` of new rows.

    References
    ----------
    .. [1] J. Jagarlamudi, H. Daumé III and R. Udupa, Incorporating lexical priors into topic
       models, EACL 2012.
    .. [2] J. Welch et al., Single-cell multi-omic integration compares and contrasts features of
       brain cell identity, Cell 177, 2019.

    Examples
    --------
    >>> from skcooc import GuidedAspectModel
    >>> words = ["goal", "team", "match", "vote", "party", "law"]
    >>> X = [[3, 2, 1, 0, 0, 0], [1, 3, 2, 0, 1, 0], [0, 0, 1, 2, 3, 1], [0, 1, 0, 4, 1, 2]]
    >>> model = GuidedAspectModel(
    ...     2,
    ...     seed_features={"sport": ["goal"], "politics": ["vote"]},
    ...     feature_names=words,
    ...     random_state=0,
    ... ).fit(X)
    >>> model.predict(X).tolist()
    ['sport', 'sport', 'politics', 'politics']
    """

    _: KW_ONLY
    seed_features: Mapping[str, Sequence[Column] | None] | None = None
    seed_strength: float = 0.05
    fixed_components: Mapping[str, ArrayLike] | ArrayLike | None = None
    group_effects: GroupEffects | None = None
    feature_names: ArrayLike | None = None

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **AspectModel._parameter_constraints,
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "seed_features": [dict, None],
        "seed_strength": [Interval(Real, 0, 1, closed="left")],
        "fixed_components": [dict, "array-like", None],
        "group_effects": [StrOptions({"topics", "columns", "both"}), None],
        "feature_names": ["array-like", None],
    }

    groups_: Array = field(init=False)
    row_groups_: Array = field(init=False)
    component_names_: dict[int, str] = field(init=False)
    _fitted_names: list[str] = field(init=False)  # of the first topics

    @property
    def is_factorised(self) -> bool:  # type: ignore[override]
        """Whether predictions are ``transform(X) @ components_``, without column factors."""
        return self.group_effects not in ("columns", "both")

    @property
    def group_distribution_(self) -> Array:
        return self._grouped_params.group_mixtures[:-1]

    @property
    def column_factors_(self) -> Array:
        if not self._has_factors:
            raise AttributeError(
                "There are no factors of columns: group_effects was not 'columns' or 'both'."
            )
        return self._grouped_params.column_factors[:-1]

    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: TableLike,
        y: object = None,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like, sparse array or matrix, DataFrame, dask array, Dyads, or a table on disk
            Non-negative counts or weights, of shape (N, M). With groups, X must be in memory.
        y : None
            Ignored. For labels see `AspectClassifier`.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row, or of each token if X is Dyads.
        groups : array-like of shape (N,), default=None
            Label of each row, such as its batch; None or NaN if it is unknown. Needed if, and only
            if, ``group_effects`` is set.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            If X or a parameter is invalid, as for `AspectModel`. If X contains none of the seeds of
            a topic, or none of the columns of ``fixed_components`` or ``component_prior``. If
            ``n_components`` is less than the number of topics with seeds and given topics. If only
            one of ``groups`` and ``group_effects`` is set.

        Warns
        -----
        UserWarning
            If X lacks some of the seeds, or some of the columns of ``fixed_components`` or
            ``component_prior``. They are ignored. If a topic holds little but its seeds, because
            ``seed_strength`` is too large for them.
        """
        if (groups is None) != (self.group_effects is None):
            raise ValueError(
                f"groups and group_effects go together: groups is "
                f"{'None' if groups is None else 'given'}, and group_effects="
                f"{self.group_effects!r}. In a pipeline or a search, groups need metadata routing: "
                "set_fit_request(groups=True), and set_score_request(groups=True) to score."
            )
        if groups is None:
            super().fit(X, y, sample_weight)
        else:
            recipe = self.recipe()
            table, inputs = self._read(recipe, X, sample_weight)
            tables.check_index(X, groups=groups)
            metadata = {"groups": groups, "sample_weight": sample_weight}
            data = {"X": X, "y": None, "metadata": metadata}
            self._fit_groups(recipe, table, inputs, data, groups)
        self._warn_of_seeds_alone()
        return self

    def _fit_groups(
        self,
        recipe: Recipe,
        table: Table,
        inputs: attributes.Attributes,
        data: dict[str, object],
        groups: ArrayLike,
        labels: Array | None = None,
    ) -> Self:
        """Fit to rows in groups; ``labels`` are those of the groups, where some may have no row."""
        labels, codes = row_groups(groups, table.counts.shape[0], labels)
        inputs = {**inputs, "groups_": labels, "row_groups_": codes}
        stopped = self._fit_table(recipe, table.in_groups(codes), inputs, data)
        attributes.warn_about(self, recipe, table, stopped)
        return self

    def fit_transform(  # type: ignore[override]
        self,
        X: TableLike,
        y: object = None,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
    ) -> Array:
        """Fit the model and return the mixtures of its rows; see :meth:`fit`, :meth:`transform`."""
        return self.fit(X, y, sample_weight, groups=groups).transform(X, groups=groups)

    def transform(self, X: TableLike, *, groups: ArrayLike | None = None) -> Array:
        """Fold rows into the fitted model.

        Parameters
        ----------
        X : array-like, sparse array or matrix, DataFrame, dask array, Dyads, or a table in blocks
            Of shape (n, M).
        groups : array-like of shape (n,), default=None
            Group of each row. If the group is None, NaN or was not in the training data, the prior
            of the row is the average mixture of all rows, and no factors apply.

        Returns
        -------
        mixtures : (n, K) array
            P(z given x_i).

        Warns
        -----
        UserWarning
            If the model has factors of columns and ``groups`` is missing.
        """
        if tables.is_out_of_core(X) and groups is None:
            return super().transform(X)
        return self.fold_in(self._rows_in_groups(X, groups))

    @available_if(lambda self: getattr(self, "_fitted_names", self._topic_names))
    def predict(self, X: TableLike, *, groups: ArrayLike | None = None) -> Array:
        """Predict the most probable named topic of each row: one with seeds, or a given one.

        Every row gets a name, even a row that contains none of these topics. To check this, use
        ``transform``. A free topic counts towards the named topics with which it occurs in rows.
        The prediction maximises sum_z P(z given x_i) P(name given z), where P(name given z) is
        proportional to sum_i P(x_i) P(z given x_i) P(name given x_i) over the training rows.

        Parameters
        ----------
        X : array-like, sparse array or matrix, DataFrame of shape (n, M), or Dyads
        groups : array-like of shape (n,), default=None
            Group of each row.

        Returns
        -------
        names : (n,) array of object, of str

        Raises
        ------
        ValueError
            If the training table was read in blocks, because its rows are not kept.
        """
        check_is_fitted(self)
        if not len(self.embedding_):
            raise ValueError("predict needs the training rows, which were not kept.")
        names = self._fitted_names
        mass = np.asarray(self.row_distribution_)[:, None]
        mixtures = np.asarray(self.embedding_)
        together = (mass * mixtures).T @ mixtures[:, : len(names)]
        links = normalise(together, axis=1, otherwise=1 / len(names))
        of_rows = self.fold_in(self._rows_in_groups(X, groups)) @ links
        return np.array(names, dtype=object)[first_largest(of_rows)]

    def score_samples(self, X: TableLike, *, groups: ArrayLike | None = None) -> Array:
        """Log-likelihood of held-out tokens, in nats per token; see `AspectModel`.

        Parameters
        ----------
        X : Dyads, or array-like, sparse array or matrix, DataFrame of shape (n, M)
        groups : array-like of shape (n,), default=None
            Group of each new row. Leave it out for Dyads, which are tokens of the training rows.

        Returns
        -------
        log_likelihood : (n_samples,) array
        """
        return self._scores(X, groups)[0]

    def score(self, X: TableLike, y: object = None, *, groups: ArrayLike | None = None) -> float:
        """Mean log-likelihood of held-out tokens, in nats; larger is better.

        X and groups are as for :meth:`score_samples`, and y is ignored.
        """
        return scoring.weighted_mean(*self._scores(X, groups))

    def perplexity(self, X: TableLike, *, groups: ArrayLike | None = None) -> float:
        """Perplexity of held-out tokens, exp(-score(X)).

        X and groups are as for :meth:`score_samples`.
        """
        self._warn_of_training_table(X)
        return float(np.exp(-self.score(X, groups=groups)))

    def recipe(self) -> Recipe:
        names = self._topic_names
        if twice := {name for name in names if names.count(name) > 1}:
            raise ValueError(f"Two topics have the name {min(twice)!r}: one with seeds, one given.")
        if len(names) > self.n_components:
            raise ValueError(
                f"n_components={self.n_components} is less than the number of topics that are "
                f"named or given, {len(names)}."
            )
        recipe = super().recipe()
        return replace(recipe, shape={**recipe.shape, "group_effects": self.group_effects})

    def merged(self, shares: Array) -> Self:
        new = super().merged(shares).set_params(seed_features=None, fixed_components=None)
        new.component_names_ = {}
        new._fitted_names = []
        if hasattr(self, "groups_"):
            new.groups_ = self.groups_
            new.row_groups_ = self.row_groups_
        return new

    def _family(self) -> GuidedFamily:
        family = super()._family()
        if self.group_effects is not None:
            if self.leave_one_out is True or self.burstiness is not None:
                raise ValueError(
                    "group_effects cannot be combined with leave_one_out=True or burstiness: set "
                    'leave_one_out="auto" and burstiness=None.'
                )
            family = replace(family, leave_one_out=False)
        if self.seed_features and self.tempering == "auto":
            family = replace(family, tempering="joint")
        equations = GuidedAspects if self.group_effects is None else GroupedAspects
        return GuidedFamily(
            **vars(replace(family, equations=equations)),
            seeds=self.seed_features or {},
            fixed_components=self.fixed_components,
            group_effects=self.group_effects,
            feature_names=self.feature_names,
            seed_strength=self.seed_strength,
        )

    @property
    def _topic_names(self) -> list[str]:
        """Names of the first topics of a fit with these parameters."""
        return [*(self.seed_features or {}), *given_topics(self.fixed_components)]

    def _read(
        self, recipe: Recipe, X: TableLike, sample_weight: ArrayLike | None
    ) -> tuple[Table, attributes.Attributes]:
        if self._is_warm_start():
            _check_same("topics", self._fitted_names, self._topic_names)
        return super()._read(recipe, X, sample_weight)

    def _fit_table(
        self, recipe: Recipe, table: Table, inputs: attributes.Attributes, data: dict[str, object]
    ) -> bool:
        if self._is_warm_start() and "groups_" in inputs and hasattr(self, "groups_"):
            _check_same("groups", self.groups_.tolist(), cast(Array, inputs["groups_"]).tolist())
        names = self._topic_names
        inputs = {**inputs, "component_names_": dict(enumerate(names)), "_fitted_names": names}
        return super()._fit_table(recipe, table, inputs, data)

    def _warn_of_seeds_alone(self) -> None:
        """Warn of topics that hold little but their seeds, whose pseudo-counts are too large."""
        if not (self.seed_features and self.seed_strength):
            return
        is_seed = self._fitted_model.plain.guide.seeds.T > 0
        is_seed &= is_seed.mean(axis=1, keepdims=True) < FEW_SEEDS
        shares = np.where(is_seed, self.components_, 0).sum(axis=1)
        topics = zip(self.seed_features, shares, strict=False)
        if names := [name for name, share in topics if share > SEEDS_ALONE]:
            warn(
                f"Topics that consist mostly of their seeds: {', '.join(map(repr, names))}. The "
                "pseudo-counts of the seeds outweigh other columns: lower "
                f"seed_strength={self.seed_strength:g} (with 0, the fit only begins with the "
                "seeds), or give more columns as seeds."
            )

    @property
    def _grouped_params(self) -> Any:
        if not isinstance(self._fitted_model, GroupedAspects):
            raise AttributeError("There are no groups: the model was fitted without group_effects.")
        return self._state.params

    @property
    def _has_factors(self) -> bool:
        return getattr(self._fitted_model, "has_factors", False)

    def _rows_in_groups(
        self, X: TableLike, groups: ArrayLike | None, *, scored: bool = False
    ) -> Block:
        rows = self._read_rows(X, scored=scored)
        if groups is None:
            if self._has_factors:
                warn(
                    "The columns have factors of groups, such as batches, but groups are not "
                    "given: the factors are left out. Give groups, with None where one is unknown."
                )
            return rows
        tables.check_index(X, groups=groups)
        if not hasattr(self, "groups_"):
            raise ValueError("groups are given, but the model was fitted with group_effects=None.")
        return rows.in_groups(tables.known_groups(groups, self.groups_, rows.shape[0]))

    def _scores(self, X: TableLike, groups: ArrayLike | None) -> tuple[Array, Array]:
        if isinstance(X, Dyads):  # of the training rows
            return self._score_samples(X)
        return self._score_rows(self._rows_in_groups(X, groups, scored=True))

    def predictor(self, known: Block | None) -> Predictor:
        if not self._has_factors:
            return super().predictor(known)
        mixtures = self.embedding_ if known is None else self.fold_in(known)
        groups = self.row_groups_ if known is None else known.row_groups
        predictor = InGroups(self._fitted_model, State(self._state.params, mixtures), groups)
        return smoothed(predictor, self.unigram_, self.smoothing_)


class InGroups(NamedTuple):
    """Predictions for rows in groups, whose columns have factors."""

    model: GroupedAspects
    state: State
    row_groups: Array | None

    def cells(self, X: Block) -> Array:
        return self.model.predict(*self.state, X.in_groups(self.row_groups))


def _check_same(kind: str, fitted: list[Any], names: list[Any]) -> None:
    """Raise ValueError where a warm start would go on with other topics or groups."""
    if fitted != names:
        raise ValueError(
            f"warm_start=True continues a model of the {kind} {fitted}, got {names}. "
            f"{warm_starts.REMEDY}"
        )


def given_topics(fixed: Mapping[str, ArrayLike] | ArrayLike | None) -> dict[str, Array]:
    """Return given topics by their names."""
    if fixed is None:
        return {}
    if not isinstance(fixed, Mapping):
        fixed = {f"given {n}": row for n, row in enumerate(check_array(fixed))}
    if dicts := [name for name, row in fixed.items() if isinstance(row, Mapping)]:
        raise TypeError(
            f"The topic {dicts[0]!r} of fixed_components is a dict: give a pandas.Series of it, "
            "whose columns are found by name."
        )
    return {name: np.asarray(row, dtype=np.float64) for name, row in fixed.items()}


def _in_other_case(columns: Sequence[Column], names: Iterable[Column]) -> str:
    """Return the first name that differs from a column in its case only, quoted; or ""."""
    lower = {str(column).lower() for column in columns}
    return next((repr(str(name)) for name in names if str(name).lower() in lower), "")


@dataclass(frozen=True)
class GuidedFamily(AspectFamily):
    """Guided aspect models by the values of their hyper-parameters."""

    _: KW_ONLY
    seeds: Mapping[str, Sequence[Column] | None]
    fixed_components: Mapping[str, ArrayLike] | ArrayLike | None
    group_effects: GroupEffects | None
    feature_names: ArrayLike | None
    seed_strength: float
    n_classes: int = 0  # groups whose rows have topics of their own
    n_per_class: int = 0  # and how many of each

    @property
    def is_guided(self) -> bool:
        return True

    @property
    def knows_columns(self) -> bool:
        has_seeds = any(columns is not None for columns in self.seeds.values())
        return has_seeds or self.fixed_components is not None or super().knows_columns

    def _names(self, n_columns: int, table_names: Array | None) -> Array | None:
        """Return the names of the columns, (M,): those given, or else those of the table."""
        if self.feature_names is None:
            return table_names
        names = np.asarray(self.feature_names)
        if names.shape != (n_columns,):
            raise ValueError(
                f"feature_names has the shape {names.shape}; X has {n_columns} columns. Leave "
                f"feature_names out where columns differ from fit to fit, and {NAMED_COUNTS}."
            )
        if table_names is not None and tables.in_another_order(table_names, names):
            raise ValueError(
                "feature_names has the columns of X in another order: leave feature_names out."
            )
        return names

    def _seeds(self, n_columns: int, names: Sequence[Column]) -> Array:
        """Return distributions over seed columns, (M, K); zero for topics without seeds."""
        positions = {name: j for j, name in enumerate(names)}
        if all(isinstance(name, str) for name in names):  # else numbers are names
            positions |= {j: j for j in range(n_columns)}
        n_per_name = self.n_per_class or 1
        seeds = np.zeros((n_columns, self.n_components))
        unknown: list[Column] = []
        for k, (topic, columns) in enumerate(self.seeds.items()):
            if columns is None:  # a class with labels alone
                continue
            if isinstance(columns, str):
                raise TypeError(f"The seeds of {topic!r} are a string: give a list, [{columns!r}].")
            index = {positions[column] for column in columns if column in positions}
            unknown += [column for column in columns if column not in positions]
            if not index:
                remedy = ""
                if names:
                    remedy = " Check their spelling, and whether the vectorizer drops them."
                elif any(isinstance(column, str) for column in columns):
                    remedy = f" X has no names of columns: {NAMED_COUNTS}, or set feature_names."
                examples = ", ".join(map(repr, [*columns][:3])) or "none"
                name = _in_other_case(columns, names)
                raise ValueError(
                    f"None of the seeds of {topic!r} is a column of X. Given are {examples}; "
                    f"X has {n_columns} columns{f', such as {name}' if name else ''}.{remedy}"
                )
            seeds[[*index], n_per_name * k : n_per_name * (k + 1)] = 1 / len(index)
        if unknown:
            name = _in_other_case(unknown, names)
            listed = ", ".join(map(repr, unknown[:N_LISTED]))
            warn(
                f"{len(unknown)} of the seeds are not columns of X, such as {listed}"
                f"{f'; X has {name}' if name else ''}. They are left out."
            )
        return seeds

    def _fixed(self, n_columns: int, names: Array | None) -> Array:
        """Return the given topics in their places, (M, K); zero for other topics."""
        fixed = np.zeros((n_columns, self.n_components))
        topics = self.fixed_components
        if topics is not None and not isinstance(topics, Mapping):
            topics = tables.in_columns_of_table(
                check_array(topics), topics, names, "fixed_components"
            )
        for k, (topic, values) in enumerate(given_topics(topics).items(), start=len(self.seeds)):
            frame = topics[topic] if isinstance(topics, Mapping) else None
            row = tables.in_columns_of_table(values, frame, names, f"the topic {topic!r}")
            if row.shape != (n_columns,) or not 0 < row.sum() < np.inf or row.min() < 0:
                raise ValueError(
                    f"The given topic {topic!r} must have {n_columns} numbers that are finite, not "
                    "negative and not all zero, or names of columns of X that have such numbers."
                )
            fixed[:, k] = row / row.sum()
        return fixed

    def for_table(self, X: Counts, columns: Array | None) -> AspectFamily:
        names = self._names(X.shape[1], columns)
        seeds = self._seeds(X.shape[1], [] if names is None else list(names))
        guide = Guide(seeds, self._fixed(X.shape[1], names), counts=np.zeros_like(seeds))
        if self.expected_counts is not None:
            guide = replace(guide, counts=self.checked_counts(X, names))
        if self.group_effects is None and not self.n_per_class:
            equations = partial(GuidedAspects, guide=guide, seed_strength=self.seed_strength)
            return replace(self, equations=equations)
        groups = cast(Block, X).row_groups
        if groups is None:
            raise ValueError(
                f"group_effects={self.group_effects!r} needs groups of rows: fit(X, groups=...)."
            )
        n_groups = self.n_classes or int(groups.max()) + 1
        if self.n_per_class:  # rows of a class may have its topics and free ones, (G + 1, K)
            allowed = np.ones((n_groups + 1, self.n_components), dtype=bool)
            class_topics = np.repeat(np.eye(n_groups, dtype=bool), self.n_per_class, axis=1)
            allowed[:-1, : class_topics.shape[1]] = class_topics
            guide = replace(guide, allowed=allowed)
        return replace(
            self,
            equations=partial(
                GroupedAspects,
                guide=guide,
                seed_strength=self.seed_strength,
                n_groups=n_groups,
                has_shares=self.group_effects in ("topics", "both"),
                has_factors=self.group_effects in ("columns", "both"),
            ),
        )
