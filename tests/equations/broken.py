"""Twins of single models, each with a mistake in its equations that the checks have to find."""

import numpy as np

from skcooc.equations.aspects import Aspects
from skcooc.equations.aspects import Statistics as AspectStatistics
from skcooc.equations.coclusters import CoClusters, Statistics, log_association
from skcooc.equations.column_clusters import ColumnClusters
from skcooc.equations.factorial_projections import FactorialProjections
from skcooc.equations.memberships import column_posteriors, posteriors
from skcooc.equations.predictive_aspects import PredictiveAspects
from skcooc.equations.predictive_clusters import PredictiveClusters
from skcooc.equations.product_aspects import ProductAspects
from skcooc.equations.row_clusters import RowClusters
from skcooc.equations.tree_clusters import Abstractions
from skcooc.testing.twins import Twin


class ForgottenPowerOfComponents(Twin):
    """The posterior forgets the temperature of the components."""

    of = Aspects

    def expect(self, X, params, rows, beta):
        mixture = X.mixture(rows**beta, params.components)
        A = rows**beta * mixture.rows
        A /= A.sum(axis=1, keepdims=True).clip(1e-300)
        expected = params.components * mixture.columns
        return A, AspectStatistics(expected, -mixture.log_likelihood / beta)


class ForgottenPowerOfMixtures(Twin):
    """New rows are mixtures that forget their temperature."""

    of = Aspects, ProductAspects

    def folding(self, params):
        return ForgottenPowerOfMixtures(self.right), params

    def fixed(self, X, params, beta):
        return self.right.fixed(X, params, beta)._replace(power=1.0)


class ForgottenPowerOfPairs(Twin):
    """What stands between the powers of both factors is not adjusted to beta."""

    of = ProductAspects

    def expect(self, X, params, rows, beta):
        if beta == 1:
            return self.right.expect(X, params, rows, beta)
        T = params.joint / params.weights[:, None]
        mixture = X.mixture(rows**beta @ T, params.components**beta)
        joint = T * ((rows**beta * X.row_weights[:, None]).T @ mixture.rows)
        A = rows**beta * (mixture.rows @ T.T)
        A /= A.sum(axis=1, keepdims=True).clip(1e-300)
        _, stats = self.right.expect(X, params, rows, beta)
        expected = params.components**beta * mixture.columns
        return A, type(stats)(expected, joint, -mixture.log_likelihood / beta)


class OtherPairs(Twin):
    """Pairs are independent after every M-step."""

    of = ProductAspects

    def maximize(self, stats, params, beta):
        right = self.right.maximize(stats, params, beta)
        joint = np.outer(right.joint.sum(axis=1), right.joint.sum(axis=0))
        return right._replace(joint=joint)


class TemperedLevels(Twin):
    """The weights of nodes are raised to beta as well as their columns."""

    of = Abstractions

    def expect(self, X, params, rows, beta):
        tempered = params._replace(abstraction=params.abstraction**beta)
        rows, stats = self.right.expect(X, tempered, rows, beta)
        return rows, stats


class RowsThatForgetProportions(Twin):
    """Posteriors under a uniform prior, though another one is estimated."""

    of = RowClusters

    def expect(self, X, params, rows, beta):
        uniform = np.full_like(params.weights, 1 / len(params.weights))
        return self.right.expect(X, params._replace(weights=uniform), rows, beta)


class RowsThatForgetTheirWeights(Twin):
    """Objects count the same in the E-step alone."""

    of = RowClusters

    def expect(self, X, params, rows, beta):
        rows, stats = self.right.expect(X, params, rows, beta)
        return rows, stats._replace(components=X.tdot(rows))


class DivergencesLikeLikelihoods(Twin):
    """Temperatures end at one, as if they were exponents of a likelihood."""

    of = RowClusters

    def expect(self, X, params, rows, beta):
        return self.right.expect(X, params, rows, min(beta, 1.0))


class ColumnsThatForgetProportions(Twin):
    """Posteriors under a uniform prior, though another one is estimated."""

    of = ColumnClusters

    def maximize(self, stats, params, beta):
        uniform = np.full_like(params.proportions, 1 / len(params.proportions))
        return self.right.maximize(stats, params._replace(proportions=uniform), beta)


class ColumnsThatForgetTheirWeights(Twin):
    """Objects count the same in the centroids alone."""

    of = ColumnClusters

    def maximize(self, stats, params, beta):
        unweighted = ColumnClusters(len(params.weights), False, "counts", "estimated")
        return unweighted.maximize(stats, params, beta)


class MinusSign(Twin):
    """The sign of the exponent is the one that the scan of eq. (49) shows."""

    of = CoClusters

    def expect(self, X, params, rows, beta):
        scores = X.dot(params.memberships) @ -log_association(params.joint).T
        factors = np.full((X.shape[0], 1), beta)
        I, evidence = posteriors(X, scores, factors, params.weights, False)
        nothing = np.zeros(params.joint.shape[1])
        return I, Statistics(X.tdot(I), I.sum(axis=0), nothing, -evidence.sum() / beta)


class LateAssociation(Twin):
    """The association is not renewed between the rows and the columns."""

    of = CoClusters

    def maximize(self, stats, params, beta):
        scores = beta * stats.profiles @ log_association(params.joint)
        J = column_posteriors(scores, params.column_weights, False)
        joint = stats.profiles.T @ J
        right = self.right.maximize(stats, params, beta)
        return right._replace(memberships=J, joint=joint / joint.sum())


class ForgottenBeta(Twin):
    """The posteriors of the rows forget the temperature."""

    of = CoClusters

    def expect(self, X, params, rows, beta):
        return self.right.expect(X, params, rows, 1.0)


class FirstAssociation(Twin):
    """The association stays what it was at the start."""

    of = CoClusters

    def maximize(self, stats, params, beta):
        return self.right.maximize(stats, params, beta)._replace(joint=params.joint)


class NoPriorOfCenters(Twin):
    """The centers forget what the topics of their rows are, by and by."""

    of = FactorialProjections

    def maximize(self, stats, params, beta):
        right = self.right.maximize(stats, params, beta)
        return right._replace(counts=right.counts**0.9)


class NothingLeftOut(Twin):
    """Every observation has a say in its own posterior."""

    def expect(self, X, params, rows, beta):
        plain, parameters = self.right.folding(params)
        return plain.expect(X, parameters, rows, beta)


class Endless(PredictiveAspects):
    """Aspects have so many observations that one matters to no column."""

    def per_totals(self, X, params):
        return 0 * params.weights


def LeftInColumns(model):
    """Observations are left out of their rows alone."""
    return Endless(model.aspects, model.row_prior)


class RowsLeftIn(Twin):
    """Every row has a say in its own posterior."""

    of = PredictiveClusters

    def expect(self, X, params, rows, beta):
        return self.right.expect(X, params, 0 * rows, beta)


class MassLeftIn(Twin):
    """What a row has put in is taken out of columns, but not of the sizes of clusters."""

    of = PredictiveClusters

    def expect(self, X, params, rows, beta):
        clusters, plain = self.right.clusters, params.plain
        M, N = params.components.shape[0], X.row_sums[:, None]
        left = np.maximum(params.totals - rows * N, M * self.right.component_prior)
        scores = clusters.scores(X, plain) + N * np.log(left / params.totals)
        prior = self.right.component_prior
        scores += X.left_out_rows(rows, params.components, params.totals, prior)
        return clusters.explained(X, plain, scores, beta)
