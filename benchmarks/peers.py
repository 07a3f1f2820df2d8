"""Other libraries' models as factorisations P(y given x) = A @ B, so that one metric scores all."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numba import njit
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
    X: Any,
    n_components: int,
    init: str,
    steps: list[int],
    seed: int,
    alpha: float = 0.0,
    l1_ratio: float = 0.0,
) -> Iterator[Factors]:
    """scikit-learn's NMF with the Kullback-Leibler loss, which is pLSA, after each of ``steps``.

    Multiplicative updates have no memory, so that one run goes through all numbers of iterations.
    ``alpha`` is the regularisation of both factors, alpha_W and alpha_H.
    """
    W, H, done = None, None, 0
    with threadpool_limits(1), warnings.catch_warnings():
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
                alpha_W=alpha,
                l1_ratio=l1_ratio,
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


def documents(X: Any) -> list[list[str]]:
    """The tokens of each row: positions of columns, as words."""
    words = np.arange(X.shape[1]).astype(str)
    return [
        np.repeat(words[X.indices[start:stop]], X.data[start:stop].astype(int)).tolist()
        for start, stop in zip(X.indptr[:-1], X.indptr[1:], strict=True)
    ]


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


class Sampling(NamedTuple):
    """How many chains there are, and which of their sweeps are samples."""

    burn_in: int
    samples: int  # of each chain
    every: int  # sweeps from one sample to the next
    chains: int = 1


def gibbs_chain(
    X: Any, n_components: int, alpha: float, eta: float, sampling: Sampling, seed: int
) -> Iterator[Any]:
    """A tomotopy LDA at each of the samples of one chain, on one thread."""
    model = gibbs_sampler(X, n_components, alpha, eta, seed=seed)
    model.train(sampling.burn_in, workers=1)
    for _ in range(sampling.samples):
        model.train(sampling.every, workers=1)
        yield model


def gibbs_draws(
    X: Any, n_components: int, alpha: float, eta: float, sampling: Sampling, seed: int
) -> Iterator[Factors]:
    """The predictive theta and phi of each sample of all chains, in single precision."""
    for chain in range(sampling.chains):
        for model in gibbs_chain(X, n_components, alpha, eta, sampling, seed + 1000 * chain):
            yield Factors(*(part.astype(np.float32) for part in posterior_means(model, X)))


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


def cvb0(X: Any, n_components: int, alpha: float, eta: float, sweeps: int, seed: int) -> Factors:
    """Posterior means of LDA by CVB0, collapsed variational Bayes of zeroth order.

        q_ijk ~ (N_ik - q_ijk + alpha) (N_jk - q_ijk + eta) / (N_k - q_ijk + M eta)

    cell after cell, where N are the expected counts of rows, columns and topics. The tokens of a
    cell share q; that of one token is subtracted. A. Asuncion, M. Welling, P. Smyth and Y. W. Teh,
    On smoothing and inference for topic models, UAI 2009.
    """
    X = sp.csr_array(X, dtype=np.float32)
    cells = (X.indptr, X.indices, X.data)
    rng = np.random.default_rng(seed)
    Q = rng.standard_exponential((X.nnz, n_components), dtype=np.float32)
    Q /= Q.sum(axis=1, keepdims=True)
    of_rows = sp.csr_array((X.data, np.arange(X.nnz), X.indptr), shape=(X.shape[0], X.nnz))
    of_columns = sp.csc_array((X.data, X.indices, np.arange(X.nnz + 1)), shape=(X.shape[1], X.nnz))
    N, C = of_rows @ Q.astype(np.float64), of_columns @ Q.astype(np.float64)
    for _ in range(sweeps):
        _cvb0_sweep(*cells, Q, N, C, alpha, eta)
    return Factors(shares(N + alpha), shares(C.T + eta))


@njit(fastmath=True, cache=True)  # type: ignore[untyped-decorator]
def _cvb0_sweep(indptr, indices, data, Q, N, C, alpha, eta):  # type: ignore[no-untyped-def]
    T = C.sum(axis=0)
    M, K = C.shape
    new = np.empty(K)
    for i in range(len(N)):
        for cell in range(indptr[i], indptr[i + 1]):
            j, n, q, total = indices[cell], data[cell], Q[cell], 0.0
            for k in range(K):
                o = q[k]
                new[k] = (N[i, k] - o + alpha) * (C[j, k] - o + eta) / (T[k] - o + M * eta)
                total += new[k]
            for k in range(K):
                value = np.float32(new[k] / total)
                change = n * (value - q[k])
                N[i, k] += change
                C[j, k] += change
                T[k] += change
                q[k] = value
