"""A classifier of rows, some of them labelled: classes are topics."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize
from scipy.special import log_softmax
from sklearn.utils import Tags, check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from skcooc import tables
from skcooc.base import attributes
from skcooc.base.predictions import tags_of_counts
from skcooc.estimators.guided import GuidedAspectModel, GuidedFamily
from skcooc.fitting import Recipe
from skcooc.fitting.recipe import draw_seeds
from skcooc.protocol import Array, RandomState, TableLike, warn
from skcooc.protocol.bases import BaseEstimator, ClassifierMixin, MixturesMixin
from skcooc.protocol.decorators import fit_context
from skcooc.protocol.scikit_learn import Interval, Options, StrOptions, is_missing, num_samples
from skcooc.simplex import first_largest, normalise
from skcooc.tables import Dyads, Table

UNLABELLED = -1
MISSING_AS_STRINGS = {"", "-1", "nan", "NaN", "None", "<NA>"}  # in arrays of strings
NOT_CALIBRATED = 1.0, 1e-6  # exponent and floor
LOG_BOUNDS = (-7, 14), (-28, 7)  # beyond, all classes are equally probable, or some are impossible


class AspectClassifier(MixturesMixin, ClassifierMixin, BaseEstimator):
    """Semi-supervised classifier of counts: few labels, or seed words, and unlabelled rows.

    Every class has its own topics. A labelled row is a mixture of the topics of its class and of
    free topics. An unlabelled row is a mixture of all topics. Use the classifier if you have few
    labels. With ten or more per class, compare it with a linear classifier. Read more in the
    :doc:`how-to </howto/few_labels>`.

    Parameters
    ----------
    n_components_per_class : int, default=1
        Number of topics of each class.

    n_free_components : int, default=0
        Number of topics that belong to no class and may occur in all rows.

    seed_features : dict of label to list of str or int, or None, default=None
        Maps the label of a class to the columns that are typical of it, by name or position. With
        seeds, rows do not need labels.

    feature_names : array-like of str of shape (M,), default=None
        Names of the columns, such as ``vectorizer.get_feature_names_out()``. ``seed_features``
        needs them if X has no column names. In a pipeline see `NamedCounts`.

    beta : float in (0, 1] or "auto", default=0.8
        Inverse temperature, the exponent in the E-step. "auto" tunes it on held-out tokens.

    max_iter : int, default=20
        Number of EM iterations. More iterations predict words better and classes worse.

    cv : int, default=5
        Number of folds for the calibration of probabilities. For each fold, a further fit without
        the labels of the fold predicts its rows. With 0 there is no calibration: the shares of the
        classes in a row are their probabilities.

    n_jobs : int or None, default=None
        Number of threads, as in joblib. Results do not depend on it.

    random_state : int, RandomState instance or None, default=None
        Seed of the initialisation and of the folds.

    Attributes
    ----------
    classes_ : (C,) array
        Labels of the classes.
    model_ : GuidedAspectModel
        The fitted topic model, whose topics are named after the classes. Pass it, not the
        classifier, to the functions of :mod:`skcooc.inspection`.
    components_ : (K, M) array
        P(y_j given z_k): topics of the classes in the order of ``classes_``, then free topics.
    embedding_ : (N, K) array
        P(z_k given x_i) of the training rows.
    calibration_ : tuple of float
        Exponent and floor used by ``predict_proba``.
    n_iter_ : int
        Number of EM iterations.
    n_features_in_ : int
        Number M of columns.
    feature_names_in_ : (M,) array of str
        Names of the columns, if they are strings.

    See Also
    --------
    skcooc.GuidedAspectModel : Topic model with named topics, to predict words.
    skcooc.MixtureFeatures : Features for the classifiers of scikit-learn.

    Notes
    -----
    The model is fitted by tempered EM, with P(z given x_i) = 0 for the topics that a labelled row
    cannot have. The naive Bayes classifier of [1]_ also learns from unlabelled rows, but it
    assigns a class to each row, whereas this model assigns a topic to each token.

    References
    ----------
    .. [1] K. Nigam, A. McCallum, S. Thrun and T. Mitchell, Text classification from labeled and
       unlabeled documents using EM, Machine Learning 39, 2000.

    Examples
    --------
    >>> from skcooc import AspectClassifier
    >>> X = [[3, 2, 1, 0, 0], [1, 3, 2, 0, 1], [0, 0, 1, 2, 3], [0, 1, 0, 4, 1]]
    >>> AspectClassifier(random_state=0).fit(X, [0, -1, 1, -1]).predict(X)
    array([0, 0, 1, 1])
    """

    classes_: Array
    model_: GuidedAspectModel
    components_: Array
    embedding_: Array
    calibration_: tuple[float, float]
    n_iter_: int
    n_features_in_: int
    feature_names_in_: Array

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components_per_class": [Interval(Integral, 1, None, closed="left")],
        "n_free_components": [Interval(Integral, 0, None, closed="left")],
        "seed_features": [dict, None],
        "feature_names": ["array-like", None],
        "beta": [Interval(Real, 0, 1, closed="right"), StrOptions({"auto"})],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "cv": [Interval(Integral, 2, None, closed="left"), Options(Integral, {0})],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components_per_class: int = 1,
        n_free_components: int = 0,
        *,
        seed_features: Mapping[Any, Sequence[str | int]] | None = None,
        feature_names: ArrayLike | None = None,
        beta: float | Literal["auto"] = 0.8,
        max_iter: int = 20,
        cv: int = 5,
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.n_components_per_class = n_components_per_class
        self.n_free_components = n_free_components
        self.seed_features = seed_features
        self.feature_names = feature_names
        self.beta = beta
        self.max_iter = max_iter
        self.cv = cv
        self.n_jobs = n_jobs
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: TableLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Fit topics to all rows, and calibrate the probabilities of the classes.

        Parameters
        ----------
        X : array-like, sparse array or matrix, DataFrame of shape (N, M), or Dyads
            Non-negative counts.
        y : array-like of shape (N,), default=None
            Label of each row. Unlabelled rows have None, NaN or, if labels are numbers, -1. If y
            itself is None, no row has a label. A Series that names the rows of X must list them in
            the same order.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row, or of each token if X is Dyads.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            If X is negative, not finite, empty or all zero, or if there is neither a label nor a
            seed.
        """
        if tables.is_out_of_core(X):
            raise ValueError(f"Labels need counts in memory, got X of type {type(X).__name__}.")
        n_rows = X.table_shape[0] if isinstance(X, Dyads) else num_samples(X)
        labels = np.full(n_rows, None) if y is None else _labels(y)
        check_consistent_length(np.empty(n_rows), labels)
        tables.check_index(X, y=y)
        if y is None and not self.seed_features:
            raise ValueError(
                "AspectClassifier requires y to be passed, but the target y is None, and there are "
                "no seed_features."
            )
        names = [label for label in labels if label is not None]
        has_unlabelled = len(names) < n_rows
        names += self.seed_features or {}
        if len({isinstance(name, str) for name in names}) > 1:
            raise ValueError(
                "Some classes are strings and others are not: give all labels, and keys of "
                "seed_features, the same type."
            )
        classes = np.unique(names)
        if not len(classes):
            raise ValueError(
                "y has no labels: all of its values stand for rows without one. Give labels, or "
                "seed_features."
            )
        if len(classes) == 1 and has_unlabelled:
            (name,) = classes.tolist()
            warn(
                f"There is only one class, {name!r}, because -1, None and NaN in y stand for rows "
                f"without a label. If -1 is a class as well, give y == {name!r}."
            )
        new = copy.copy(self)  # a fit that fails leaves self as it was
        table = tables.read_in_memory(new, X, sample_weight)
        columns = attributes.input_attributes(new)
        weights = _row_weights(X, sample_weight, n_rows)
        labels[weights == 0] = None  # topics of their class may exclude their columns
        labelled = np.flatnonzero([label is not None for label in labels])
        seeds = copy.deepcopy(self.seed_features or {})  # parameters of the model inside
        feature_names = copy.deepcopy(self.feature_names)

        def fit(labels: Array) -> LabelledAspectModel:
            topics = LabelledAspectModel(
                len(classes) * self.n_components_per_class + self.n_free_components,
                n_components_per_class=self.n_components_per_class,
                seed_features={label: seeds.get(label) for label in classes.tolist()},
                feature_names=feature_names,
                tempering="distinctive",
                beta=self.beta,
                max_iter=self.max_iter,
                solver="em",
                n_jobs=self.n_jobs,
                random_state=self.random_state,
            )
            return topics.fit_classes(table, columns, labels, classes)

        model = fit(labels)
        codes = np.searchsorted(classes, labels[labelled].tolist())
        folds = self._folds(codes)
        shares = np.full((len(labelled), len(classes)), np.nan)
        for fold in range(folds.max(initial=-1) + 1):
            test = labelled[folds == fold]
            train_labels = labels.copy()
            train_labels[test] = None
            mixtures = fit(train_labels).embedding_[test]
            shares[folds == fold] = self._class_shares(mixtures, len(classes))
        scored = folds >= 0
        fitted = {
            "classes_": classes,
            "model_": model,
            "components_": model.components_,
            "embedding_": model.embedding_,
            "calibration_": calibration(shares[scored], codes[scored], weights[labelled][scored]),
            "n_iter_": model.n_iter_,
        }
        attributes.set_fitted_attributes(self, columns | fitted)
        return self

    def _folds(self, codes: Array) -> Array:
        """Fold of each row by its class, (n,); -1 without one, or for the only row of a class."""
        rng = np.random.default_rng(draw_seeds(self.random_state, 1)[0])
        folds = np.full(len(codes), -1)
        for code in np.unique(codes[codes >= 0]):
            of_class = rng.permutation(np.flatnonzero(codes == code))
            if self.cv and len(of_class) > 1:
                folds[of_class] = np.arange(len(of_class)) % self.cv
        return folds

    def _class_shares(self, mixtures: Array, n_classes: int) -> Array:
        per = self.n_components_per_class
        of_topics = mixtures[:, : n_classes * per].astype(np.float64)
        shares = of_topics.reshape(len(mixtures), n_classes, per).sum(axis=2)
        return normalise(shares, axis=1, otherwise=1 / n_classes)

    def predict_log_proba(self, X: TableLike) -> Array:
        """Log-probabilities of the classes, (n, C); see :meth:`predict_proba`."""
        shares = self._class_shares(np.ascontiguousarray(self.transform(X)), len(self.classes_))
        exponent, floor = self.calibration_
        logs: Array = log_softmax(exponent * np.log(shares + floor), axis=1)
        return logs

    def predict_proba(self, X: TableLike) -> Array:
        """Probabilities of the classes.

        The probability of class c is proportional to (s_c + f)^a, where s_c is the share of the
        topics of the class in the row. The exponent a and the floor f maximise the likelihood of
        labels that were held out for the calibration.

        Parameters
        ----------
        X : array-like, sparse array or matrix, DataFrame of shape (n, M), or Dyads

        Returns
        -------
        P : (n, C) array
        """
        return np.exp(self.predict_log_proba(X))

    def predict(self, X: TableLike) -> Array:
        """Most probable class of each row, (n,); see :meth:`predict_proba`."""
        check_is_fitted(self)
        return self.classes_[first_largest(self.predict_proba(X))]

    def score(self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Accuracy: the share of rows whose class is predicted correctly.

        Parameters
        ----------
        X : array-like, sparse array or matrix, DataFrame of shape (n, M), or Dyads
        y : array-like of shape (n,)
            True classes. A Series that names the rows of X must list them in the same order.
        sample_weight : array-like of shape (n,), default=None

        Returns
        -------
        accuracy : float
        """
        tables.check_index(X, y=y, sample_weight=sample_weight)
        return super().score(X, y, sample_weight)

    def transform(self, X: TableLike) -> Array:
        """Fold rows into the fitted model.

        Parameters
        ----------
        X : array-like, sparse array or matrix, DataFrame of shape (n, M), or Dyads

        Returns
        -------
        mixtures : (n, K) array
            P(z given x_i): topics of the classes in the order of ``classes_``, then free topics.
        """
        check_is_fitted(self)
        if tables.is_out_of_core(X):
            return self.model_.transform(X)
        return self.model_.fold_in(tables.read_rows(self, X))

    @property
    def _columns(self) -> Array | None:
        return self.model_._columns

    @property
    def column_names_in_(self) -> Array:
        """Names of the columns, (M,), strings or numbers; AttributeError if there are none."""
        return self.model_.column_names_in_

    def __sklearn_tags__(self) -> Tags:
        tags = tags_of_counts(super().__sklearn_tags__())
        tags.classifier_tags.poor_score = True  # columns that are no counts
        tags.target_tags.required = not self.seed_features
        return tags


@dataclass(eq=False, repr=False)
class LabelledAspectModel(GuidedAspectModel):
    """The topics of an `AspectClassifier`."""

    n_components_per_class: int = 1

    def fit_classes(
        self, table: Table, columns: attributes.Attributes, labels: Array, classes: Array
    ) -> Self:
        """Fit to rows with labels (N,), some of them None, of the classes (C,)."""
        inputs = columns | attributes.size_attributes(self) | {"_schema": table.schema}
        recipe = self.recipe()
        if not recipe.needs_empty_columns:
            table = table.occupied()
        self._fit_groups(recipe, table, inputs, {}, labels, classes)
        per = self.n_components_per_class
        names = [f"{c} {n}" if per > 1 else str(c) for c in classes for n in range(per)]
        self.component_names_ = dict(enumerate(names))
        if per > 1:
            self._fitted_names = names
        return self

    def recipe(self) -> Recipe:
        return super().recipe().of_member()

    def _family(self) -> GuidedFamily:
        return replace(
            super()._family(),
            n_classes=len(self.seed_features or {}),
            n_per_class=self.n_components_per_class,
        )


def _labels(y: ArrayLike) -> Array:
    """Labels as objects, (N,), None where there is none; ValueError where they are no classes."""
    labels = column_or_1d(y, warn=True, dtype=object).copy()
    labels[is_missing(labels)] = None
    labels[labels == UNLABELLED] = None
    names = labels[~is_missing(labels)].tolist()
    if names:
        check_classification_targets(column_or_1d(np.array(names)))  # no tuples
        for name in MISSING_AS_STRINGS.intersection(names):
            warn(
                f"y has the class {name!r}, a string. For rows without a label give None in an "
                "array of objects, such as numpy.where(known, labels, None)."
            )
    return labels


def _row_weights(X: TableLike, sample_weight: ArrayLike | None, n_rows: int) -> Array:
    """Weight of each row, (N,); for Dyads the mean of its tokens, 1 if there are none."""
    if not isinstance(X, Dyads):
        return tables.check_weights(sample_weight, np.empty((n_rows, 0)))
    weights = tables.check_weights(sample_weight, np.empty((len(X), 0)))
    counts = np.ones(len(X)) if X.weights is None else X.weights
    weighted, sums = (np.bincount(X.rows, n, n_rows) for n in (counts * weights, counts))
    return np.divide(weighted, sums, out=np.ones(n_rows), where=sums > 0)


def calibration(shares: Array, codes: Array, weights: Array) -> tuple[float, float]:
    """Exponent a and floor f with the largest weighted likelihood of classes P_c ~ (s_c + f)^a.

    >>> shares = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> exponent, floor = calibration(shares, np.array([0, 0, 1, 1]), np.ones(4))
    >>> float(round((1 + floor) ** exponent / floor**exponent, 1))  # 3.5 of 5 are right
    2.3
    """
    if not len(shares):
        return NOT_CALIBRATED

    def loss(logs: Array) -> float:
        exponent, floor = np.exp(logs)
        scores = log_softmax(exponent * np.log(shares + floor), axis=1)
        # As if one row more had all classes alike, so that the exponent stays finite.
        likelihood = np.sum(weights * scores[np.arange(len(codes)), codes])
        return -float(likelihood + np.average(scores.mean(axis=1), weights=weights))

    result = minimize(loss, np.log([1.0, 0.05]), method="Nelder-Mead", bounds=LOG_BOUNDS)
    exponent, floor = np.exp(result.x).tolist()
    return exponent, floor
