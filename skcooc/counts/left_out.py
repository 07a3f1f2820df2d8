"""Posteriors that leave out what their own observation contributed, without keeping any of them.

The expected counts N_ik of a row, M_jk of a column and T_k of the whole contain the posterior r_k
of every observation of the cell. The one sought is what is predicted without it,

    r_k ~ plain_k [(1 - r_k / N_ik) (1 - r_k / M_jk) / (1 - r_k / T_k)]^beta,

with counts in units of one observation, and plain_k the posterior that leaves nothing out. In r_k
the left side rises and the right side falls, so that there is just one solution. It is found by
Newton's method wherever it is needed: twice in an iteration, for the row and for the column.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skcooc.counts.kernels import compiled
from skcooc.counts.layout import Stored
from skcooc.protocol import Array

LEAST_LEFT = 1e-3  # share of a component that an observation leaves to the others, at least
NEGLIGIBLE = 1e-6  # plain posterior below which it is left as it is
NEAR = 1e-4  # of the solution, where one more step of Newton's gives six digits
MOST_STEPS = 20
TINY = 1e-30  # an expected count of zero has the inverse of this one: a float32 can hold it


@compiled
def power(x, beta):  # type: ignore[no-untyped-def]
    """x ** beta for x and beta in (0, 1]; near one by an approximant of Padé, which is faster."""
    y = 1.0 - x
    if y > 0.25:
        return x**beta
    above = 1 + y * (beta + 2) * (y * (beta + 1) - 6) / 12
    return above / (1 + y * (2 - beta) * (y * (1 - beta) - 6) / 12)


@compiled
def posterior_left_out(a, b, e, f, t, mass, unit, share, beta, of_mass, r, g, active):  # type: ignore[no-untyped-def]
    """Fill ``r`` with the posterior of an observation; return the log of what normalised it.

    e, f, t and mass are inverse expected counts of its row, of its column and of all; a * b is the
    plain posterior up to a factor; ``unit`` is what one observation of the row counts, and
    ``share`` times as much in sums over rows. Where it leaves nothing, the posterior is uniform,
    and the log is zero.
    """
    n_components, beyond = len(r), unit * share
    plain, left = 0.0, 0.0
    for k in range(n_components):
        plain += a[k] * b[k]
        left += 1 / max(e[k] * unit, f[k] * beyond)
    if plain <= 0 or left * (1 - LEAST_LEFT) <= 1:
        r[:] = 1 / n_components
        return 0.0
    n_active, rest = 0, 0.0
    for k in range(n_components):
        p = a[k] * b[k] / plain
        if p > NEGLIGIBLE:  # the first step from zero, normalisation aside
            r[k] = p / (1 + beta * p * (e[k] * unit + f[k] * beyond))
            active[n_active] = k
            n_active += 1
        else:
            r[k] = p
            rest += p
    for _ in range(MOST_STEPS):
        total, furthest, mended = rest, 0.0, 0.0
        for k in active[:n_active]:
            x, y, z = e[k] * unit, f[k] * beyond, t[k] * beyond
            r[k] = min(r[k], (1 - LEAST_LEFT) / max(x, y))
            kept = (1 - r[k] * x) * (1 - r[k] * y) / (1 - r[k] * z)
            g[k] = a[k] * b[k] / plain * power(kept, beta)
            if of_mass > 0:
                g[k] *= power(1 - r[k] * mass[k] * beyond, of_mass)
            total += g[k]
        for k in active[:n_active]:
            x, y, z = e[k] * unit, f[k] * beyond, t[k] * beyond
            slope = x / (1 - r[k] * x) + y / (1 - r[k] * y) - z / (1 - r[k] * z)
            change = g[k] / total - r[k]
            furthest = max(furthest, abs(change))
            r[k] = max(0.0, r[k] + change / (1 + beta * r[k] * slope))
            mended += r[k]
        if furthest < NEAR:
            break
    for k in range(n_components):
        r[k] /= mended + rest
    return np.log(total * plain)


@compiled
def left_out_rows(indptr, indices, data, weights, terms, start, stop, expected, log_sums):  # type: ignore[no-untyped-def]
    """Rows start..stop: expected counts, and sum n log of what normalised the posteriors."""
    A, B, E, F, t, mass, beta, of_mass = terms
    r, g, active = np.empty_like(t), np.empty_like(t), np.empty(len(t), np.int64)
    for i in range(start, stop):
        expected[i], total = 0, 0.0
        share = weights[i] / max(np.ceil(weights[i]), 1)
        for p in range(indptr[i], indptr[i + 1]):
            n, j = data[p], indices[p]
            if n > 0:
                unit = n / np.ceil(n)
                log_sum = posterior_left_out(
                    A[i], B[j], E[i], F[j], t, mass, unit, share, beta, of_mass, r, g, active
                )
                total += n * log_sum
                for k in range(len(r)):
                    expected[i, k] += n * r[k]
        log_sums[i] = total


@compiled
def left_out_columns(indptr, indices, order, data, weights, terms, start, stop, expected):  # type: ignore[no-untyped-def]
    """Columns start..stop: expected counts; rows are counted by their weights."""
    A, B, E, F, t, mass, beta, of_mass = terms
    r, g, active = np.empty_like(t), np.empty_like(t), np.empty(len(t), np.int64)
    for j in range(start, stop):
        expected[j] = 0
        for p in range(indptr[j], indptr[j + 1]):
            n, i = data[order[p]], indices[p]
            if n > 0 and weights[i] > 0:
                unit, share = n / np.ceil(n), weights[i] / np.ceil(weights[i])
                posterior_left_out(
                    A[i], B[j], E[i], F[j], t, mass, unit, share, beta, of_mass, r, g, active
                )
                for k in range(len(r)):
                    expected[j, k] += weights[i] * n * r[k]


class LeftOut(NamedTuple):
    """Expected counts where every observation leaves itself out."""

    rows: Array  # (n, k)
    columns: Array  # (M, k), rows by their weights
    log_likelihood: float  # sum n_ij log of what normalises the posteriors, nats


class LeftOutProducts(Stored):
    """The passes over counts that leave observations out."""

    def left_out(
        self,
        factors: tuple[Array, Array],
        expected: tuple[Array, Array],
        totals: Array,
        mass: Array,
        powers: tuple[float, float],
    ) -> LeftOut:
        """Expected counts from posteriors that leave out what their own observation contributed.

        A count that is no integer stands for ceil(count) observations of equal weight, and so does
        a row weight for rows. Products of the factors, (n, k) and (M, k), are the posteriors that
        leave nothing out, up to a factor of each cell. Expected counts, of the same shapes, are
        those of each row and of each column; totals (k,) are what those of columns are divided by,
        mass (k,) the sums over observations; powers are those of [N M / totals] and of the mass, in
        the posterior.
        """
        A, B = (np.ascontiguousarray(F, dtype=self.data.dtype) for F in factors)
        inverses = (_inverse(counts, A.dtype) for counts in (*expected, totals, mass))
        terms = A, B, *inverses, *powers
        rows, columns = np.empty_like(A), np.empty_like(B)
        log_sums, weights, view = np.empty(self.shape[0]), self.row_weights, self.views.columns
        by_rows = self.indptr, self.indices, self.data, weights, terms
        by_columns = *view.structure, self.data, weights, terms
        self._over(
            self.indptr, len(mass), lambda i, k: left_out_rows(*by_rows, i, k, rows, log_sums)
        )
        self._over(
            view.indptr, len(mass), lambda j, k: left_out_columns(*by_columns, j, k, columns)
        )
        return LeftOut(rows, columns, float((log_sums * weights).sum()))


def _inverse(counts: Array, dtype: np.dtype[np.floating]) -> Array:
    return (1 / np.maximum(np.ascontiguousarray(counts, dtype=dtype), TINY)).astype(dtype)
