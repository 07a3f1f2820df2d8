"""Mixtures of rows at fixed components, by EM on one row at a time.

A row is a few lines of the table of components, which stay in the cache from step to step. With
the components to the power of beta made before, a step takes powers of the k numbers of the row.
Mixtures and components are filled up with zeros to whole lines of the cache, so that loops are
compiled once for any number of components.

Near the optimum a step of EM multiplies the distance to it by something between 0 and the power p
of the mixture. For such steps the best momentum is known (B. Polyak, Some methods of speeding up
the convergence of iteration methods, 1964): with s = sqrt(1 - p),

    y' = y + 4 / (1 + s)^2 (EM(y) - y) + [(1 - s) / (1 + s)]^2 (y - y before),

and s falls to that from 1, where it is a step of EM, as in Nesterov's method: 3 / (2 n + 3) after n
steps. It begins anew where a step leads back (O'Donoghue and Candès, Adaptive restart for
accelerated gradient schemes, 2015, the gradient scheme). What is returned is a step of EM.
"""

from __future__ import annotations

import numpy as np

from skcooc.counts.kernels import U, compiled
from skcooc.counts.lanes import LINE, lined_up
from skcooc.counts.layout import Stored
from skcooc.counts.powers import power_loop
from skcooc.protocol import Array, FixedComponents, Rows

MOVED = 0.25  # of the way from the last step of EM; else a row settles in passing
LEAST_KEPT = 0.3  # of the step of EM: momentum leaves as much of every number


@compiled
def products_of(indices, data, start, stop, B, a, products):  # type: ignore[no-untyped-def]
    """Let products be a * sum_p n_p B_p / (B_p @ a) over entries start..stop of a row.

    Four at a time, so that ``a`` and the products are loaded a quarter as often.
    """
    zero = data.dtype.type(0)
    for k in range(len(a)):
        products[k] = zero
    last = stop - 1
    for p in range(start, stop, 4):
        q, r, s = min(p + 1, last), min(p + 2, last), min(p + 3, last)
        b, c, d, e = B[U(indices[p])], B[U(indices[q])], B[U(indices[r])], B[U(indices[s])]
        v, w, x, y = zero, zero, zero, zero
        for k in range(len(a)):
            v += b[k] * a[k]
            w += c[k] * a[k]
            x += d[k] * a[k]
            y += e[k] * a[k]
        v = data[p] / v if v > zero else zero
        w = data[q] / w if w > zero and q > p else zero
        x = data[r] / x if x > zero and r > q else zero
        y = data[s] / y if y > zero and s > r else zero
        for k in range(len(a)):
            products[k] += v * b[k] + w * c[k] + x * d[k] + y * e[k]
    for k in range(len(a)):
        products[k] *= a[k]


@compiled
def made_mixture(products):  # type: ignore[no-untyped-def]
    """Divide by the sum, where it is positive; return it."""
    mass = products.dtype.type(0)
    for k in range(len(products)):
        mass += products[k]
    if mass > 0:
        for k in range(len(products)):
            products[k] /= mass
    return mass


@compiled
def change(now, plain, last):  # type: ignore[no-untyped-def]
    """How far EM goes from here, or came from its last step; and whether it leads back to that."""
    furthest, back, moved = now.dtype.type(0), now.dtype.type(0), now.dtype.type(MOVED)
    for k in range(len(now)):
        furthest = max(furthest, abs(plain[k] - now[k]), moved * abs(plain[k] - last[k]))
        back += (now[k] - plain[k]) * (plain[k] - last[k])
    return furthest, back > 0


@compiled
def go_beyond(now, before, plain, last, s):  # type: ignore[no-untyped-def]
    """A step with momentum from ``now``, which becomes ``before``; and ``plain`` the last one."""
    kind = now.dtype.type
    length, momentum = kind(4 / (1 + s) ** 2), kind(((1 - s) / (1 + s)) ** 2)
    least = kind(LEAST_KEPT)
    for k in range(len(now)):
        beyond = now[k] + length * (plain[k] - now[k]) + momentum * (now[k] - before[k])
        before[k], last[k] = now[k], plain[k]
        now[k] = max(beyond, least * plain[k])
    made_mixture(now)


@compiled
def settle_rows(  # type: ignore[no-untyped-def]
    indptr, indices, data, B, power, otherwise, tol, max_iter, start, stop, rows
):
    """Let rows start..stop, which are mixtures to start from, be those at which EM settles."""
    n_components, limit = rows.shape[1], np.sqrt(max(0.0, 1.0 - power))
    path = np.zeros((5, B.shape[1]), B.dtype)
    now, before, plain, last, a = path[0], path[1], path[2], path[3], path[4]
    zero = B.dtype.type(0)
    for i in range(start, stop):
        now[:n_components] = rows[i]
        before[:], last[:], age = now, now, 0
        for _ in range(max_iter):
            power_loop(now, power, zero, a)
            products_of(indices, data, indptr[i], indptr[i + 1], B, a, plain)
            if not made_mixture(plain) > 0:  # nothing is known of the row
                plain[:n_components] = otherwise
                break
            furthest, back = change(now, plain, last)
            if furthest <= tol:
                break
            age = 0 if back else age
            go_beyond(now, before, plain, last, max(limit, 3 / (2 * age + 3)))
            age += 1
        rows[i] = plain[:n_components]


def in_lines(table: Array, dtype: np.dtype[np.floating]) -> Array:
    """A table (m, k) whose rows are filled up with zeros to whole lines of the cache."""
    (m, k), width = table.shape, LINE // dtype.itemsize
    whole = -(-k // width) * width
    lines = lined_up((m, whole), dtype, make=np.empty if whole == k else np.zeros)
    lines[:, :k] = table
    return lines


class RowMixtures(Stored):
    """New rows that are mixtures of fixed components."""

    def settle(self, fixed: FixedComponents, rows: Rows, tol: float, max_iter: int) -> Rows:
        """The mixtures of the rows at which EM settles, (n, k), from those given.

        EM goes on until no number changes by more than ``tol``, nor did by more than four times
        that since the last step of EM, or for ``max_iter`` steps. A row
        depends neither on its weight nor on other rows; one of which nothing is known is
        ``fixed.otherwise``.
        """
        new, kind = np.array(rows, dtype=self.dtype, order="C"), self.dtype.type
        table = self.indptr, self.indices, self.data, in_lines(fixed.components, self.dtype)
        ends = kind(fixed.power), fixed.otherwise.astype(self.dtype), kind(tol), max_iter
        self._over(
            self.indptr,
            new.shape[1],
            lambda start, stop: settle_rows(*table, *ends, start, stop, new),
        )
        return new
