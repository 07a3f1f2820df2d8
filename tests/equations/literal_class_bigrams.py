"""The class bigram model by its definition: every object goes where the information is largest."""

import numpy as np

from skcooc.em import State
from skcooc.equations.coclusters import Params


def information(n, labels, n_clusters):
    """Mutual information of the clusters of rows and columns, from scratch, in nats."""
    joint = np.zeros((n_clusters, n_clusters))
    np.add.at(joint, np.ix_(labels, labels), n / n.sum())
    independent = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    seen = joint > 0
    return (joint[seen] * np.log(joint[seen] / independent[seen])).sum()


def literal_sweep(n, labels, n_clusters):
    """Every object goes, in turn, where the information is largest; it stays where none gains."""
    labels = labels.copy()
    for i in range(len(labels)):
        best, most = labels[i], information(n, labels, n_clusters)
        for c in range(n_clusters):
            labels[i] = c
            gained = information(n, labels, n_clusters)
            if gained > most + 1e-12:
                best, most = c, gained
        labels[i] = best
    return labels


def state_of(n, labels, n_clusters):
    """The state in which objects have these labels."""
    I, uniform = np.eye(n_clusters)[labels], np.full(n_clusters, 1 / n_clusters)
    joint = I.T @ n @ I / n.sum()
    return State(Params(I, n.sum(axis=0) / n.sum(), joint, uniform, uniform, np.array(1.0)), I)


class LiteralBigrams:
    """Row states are the memberships before the moves."""

    def step(self, n, params, rows, beta):
        K = params.memberships.shape[1]
        labels = literal_sweep(n, params.memberships.argmax(axis=1), K)
        return state_of(n, labels, K).params, params.memberships

    def objective(self, n, params, rows, beta):
        labels, K = params.memberships.argmax(axis=1), params.memberships.shape[1]
        return -n.sum() * information(n, labels, K)
