"""Other libraries' models as factorisations P(y given x) = A @ B, so that one metric scores all."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.decomposition import LatentDirichletAllocation, non_negative_factorization
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import normalize
from threadpoolctl import threadpool_limits


class Factors(NamedTuple):
    """Rows of both are distributions."""

    mixtures: np.ndarray  # (N, K)
    components: np.ndarray  # (K, M)


def shares(masses: NDArray[np.floating], otherwise: ArrayLike = 0.0) -> NDArray[np.floating]:
    """Rows (n, k) divided by their sums; rows without mass become ``otherwise``."""
    rows: NDArray[np.floating] = normalize(masses, norm="l1")
    rows[~masses.any(axis=1)] = otherwise
    return rows


def variational_lda(
    X: Any,
    n_components: int,
    doc_topic_prior: float,
    topic_word_prior: float,
    max_iter: int,
    n_jobs: int,
    seed: int,
) -> Factors:
    """Posterior means of scikit-learn's LDA, batch variational Bayes."""
    model = LatentDirichletAllocation(
        n_components,
        doc_topic_prior=doc_topic_prior,
        topic_word_prior=topic_word_prior,
        learning_method="batch",
        max_iter=max_iter,
        n_jobs=n_jobs,
        random_state=seed,
    )
    mixtures = model.fit_transform(X)
    return Factors(mixtures, shares(model.components_))


def plsa_by_nmf(
    X: Any, n_components: int, init: str, steps: list[int], n_jobs: int, seed: int
) -> Iterator[Factors]:
    """scikit-learn's NMF with the Kullback-Leibler loss, which is pLSA, after each of ``steps``.

    Multiplicative updates have no memory, so that one run goes through all numbers of iterations.
    """
    W, H, done = None, None, 0
    with threadpool_limits(n_jobs), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for step in steps:
            W, H, _ = non_negative_factorization(
                X,
                W=W,
                H=H,
                n_components=n_components,
                init=init if done == 0 else "custom",
                solver="mu",
                beta_loss="kullback-leibler",
                tol=0,
                max_iter=step - done,
                random_state=seed,
            )
            done = step
            yield as_distributions(W, H)


def as_distributions(W: np.ndarray, H: np.ndarray) -> Factors:
    """The factors of a non-negative factorisation, divided by their sums."""
    sizes = H.sum(axis=1)
    joint = W * sizes
    overall = joint.sum(axis=0) / joint.sum()
    uniform = np.full(H.shape[1], 1 / H.shape[1], dtype=H.dtype)
    mixtures = shares(joint, otherwise=overall)
    return Factors(mixtures, shares(H, otherwise=uniform))


def gibbs_sampler(
    X: Any, n_components: int, alpha: float, eta: float, optimise: int = 10, seed: int = 0
) -> Any:
    """A tomotopy LDA that holds the rows with tokens; no word is left out.

    ``optimise`` is the interval, in sweeps, at which it optimises alpha; 0 never does.
    """
    import tomotopy  # only this peer needs it

    model = tomotopy.LDAModel(
        k=n_components, alpha=alpha, eta=eta, seed=seed, min_cf=0, min_df=0, rm_top=0
    )
    model.optim_interval = optimise
    X = sp.csr_array(X)
    for start, stop in zip(X.indptr[:-1], X.indptr[1:], strict=True):
        if start < stop:
            counts = X.data[start:stop].astype(int)
            model.add_doc([str(j) for j in np.repeat(X.indices[start:stop], counts)])
    return model


def gibbs_chain(
    X: Any,
    n_components: int,
    alpha: float,
    eta: float,
    sweeps: int,
    samples: int,
    n_jobs: int,
    seed: int,
) -> Iterator[Any]:
    """A tomotopy LDA at each of the samples, from the second half of the sweeps of one chain."""
    model = gibbs_sampler(X, n_components, alpha, eta, seed=seed)
    model.train(sweeps // 2, workers=n_jobs)
    for _ in range(samples):
        model.train(max(sweeps // 2 // samples, 1), workers=n_jobs)
        yield model


def gibbs_lda(
    X: Any,
    n_components: int,
    alpha: float,
    eta: float,
    sweeps: int,
    samples: int,
    n_jobs: int,
    seed: int,
) -> Factors:
    """Mean of the predictive theta phi over samples from the second half of the sweeps.

    The mean of S products of K components each is one product of S K components.
    """
    chain = gibbs_chain(X, n_components, alpha, eta, sweeps, samples, n_jobs, seed)
    draws = [posterior_means(model, X) for model in chain]
    mixtures = np.hstack([draw.mixtures for draw in draws]) / samples
    return Factors(mixtures, np.vstack([draw.components for draw in draws]))


def posterior_means(model: Any, X: Any) -> Factors:
    """What the last sample of a tomotopy LDA predicts for the rows of X, which it holds.

    tomotopy knows only columns with tokens. The others have the mass that the Dirichlet prior
    gives each of the M columns, eta / (n_k + M eta).
    """
    occupied = np.flatnonzero(np.diff(X.indptr))
    mixtures = np.tile(model.alpha / model.alpha.sum(), (X.shape[0], 1))
    mixtures[occupied] = [document.get_topic_dist() for document in model.docs]
    words = np.array([int(word) for word in model.used_vocabs])
    tokens = np.asarray(model.get_count_by_topics(), dtype=float)
    wholes = tokens + X.shape[1] * model.eta
    known = tokens + len(words) * model.eta
    components = np.tile((model.eta / wholes)[:, np.newaxis], X.shape[1])
    for k in range(model.k):
        components[k, words] = model.get_topic_word_dist(k) * known[k] / wholes[k]
    return Factors(shares(mixtures), shares(components))
