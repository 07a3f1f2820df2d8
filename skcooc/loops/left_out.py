"""Leave-one-out posteriors of tokens, and leave-one-out likelihoods of rows.

Tokens: the expected counts N_ik of a row, C_jk of a column and T_k of all contain a share
own_k of every token of the cell. It is computed from the current parameters, A_ik B_jk / sum,
and no more than there is, so that nothing is kept of an earlier iteration. The posterior is then

    r_k ~ [(N_ik - own_k + a_k) (C_jk - own_k + b) / (T_k - own_k)]^beta ,

with pseudo-counts a_k and b, which are also in T_k. The factors are means, A_ik = (N_ik + a_k) / n
and B_jk = (C_jk + b) / T_k, so that this is (A_ik B_jk)^beta, whose powers are known, times
x_k^beta, where x_k is the share that is left. To first order in own_k / T_k

    x_k = [1 - own_k / (N_ik + a_k)] [1 - own_k / (C_jk + b)] [1 + own_k / T_k] .

Rows: a component has expected counts C_jk, to which a row has contributed a share s_ik of its own
counts n_ij. With pseudo-counts eta in each of M columns, whose total is T_k, its probabilities are
B_jk = (C_jk + eta) / T_k. Without the row its log-likelihood, sum_j n_ij log B_jk, changes by

    sum_j n_ij log [1 - s_ik n_ij / (C_jk + eta)] - n_i log [1 - s_ik n_i / T_k] .

Shares are nearly zeros and ones: a row goes through its non-zeros once for each component that it
is in, and through no others.
"""

from __future__ import annotations

import numpy as np

from skcooc.counts.lanes import (
    HALF,
    LINE,
    Numbers,
    U,
    add_scaled,
    compiled,
    dot,
    lanes,
    load,
    multiply,
    padded,
    prefetch,
    row_formula,
    row_size,
    store,
    without_padding,
)
from skcooc.counts.passes import AHEAD, PREFETCH, non_zeros, shifted_zeros
from skcooc.protocol import Array, Block, Pass

TINY = 1e-30  # what a probability of zero is divided by: a float32 can hold it
NEGLIGIBLE = 1e-4  # share of a row in a component, below which it is not taken out


def power_of_rest(x: Numbers, half: Numbers) -> Numbers:
    """x^beta for x in [0, 1], nearly; ``half`` is beta / 2.

    The rational function of the lowest degree that has value, slope and curvature of x^beta at one,
    and is zero where that is. At beta = 1 it is x; elsewhere it is smaller than x^beta, by no more
    than .009 at .9, .02 at .8 and .1 at .5.
    """
    rest = 1.0 - half
    return x * (rest + half * x) / (half + rest * x)


@row_formula
def leave_one_out_posterior(  # type: ignore[no-untyped-def]
    a, b, plain, most_of_row, most_of_column, per_total, of_row, of_column, half
):
    own_in_row = (of_row * b).minimum(most_of_row)
    own_in_column = (of_column * a * per_total).minimum(most_of_column)
    left = (1.0 - own_in_row) * (1.0 - own_in_column)
    return plain * power_of_rest(left + left * own_in_column * b, half)


@compiled
def leave_one_out_runs(  # type: ignore[no-untyped-def]
    lanes, non_zeros, tile, of_rows, of_columns, half, cells, products, sums
):
    """A tile of a band: posteriors times counts, added up over its rows and columns.

    The cells are filled with normalisers; with one where every component excludes the cell, or
    nothing is left of its row or its column: there the posterior is uniform.
    """
    rows, codes, others, columns, lengths = non_zeros
    A, A_powers, A_most, per_row, weights, shares = of_rows
    B, B_powers, B_most, per_totals, ones = of_columns
    number = A.dtype.type
    zero, one, even = number(0), number(1), load(lanes, ones, U(0))
    per_total, p, other = load(lanes, per_totals, U(0)), U(tile[0, 1]), U(tile[0, 2])
    stop = U(tile[1, 0])
    last = U(tile[1, 1]) - U(1)
    for run in range(U(tile[0, 0]), stop):
        target = run + PREFETCH if run + PREFETCH < stop else stop - U(1)
        j, target = U(columns[run]), U(columns[target])
        b, b_power, b_most = load(lanes, B, j), load(lanes, B_powers, j), load(lanes, B_most, j)
        prefetch(lanes, B, target)
        prefetch(lanes, B_powers, target)
        prefetch(lanes, B_most, target)
        prefetch(lanes, sums, target)
        of_column, end = load(lanes, sums, j), p + U(lengths[run])
        following = dot(load(lanes, A, U(rows[p])), b)
        for p in range(p, end):  # noqa: B020
            i, n, cell, cells[p] = U(rows[p]), number(codes[p]), following, one
            if row_size(lanes) * A.itemsize > LINE:  # shorter rows are near
                ahead = U(rows[p + AHEAD if p + AHEAD < last else last])
                prefetch(lanes, A, ahead)
                prefetch(lanes, A_powers, ahead)
                prefetch(lanes, A_most, ahead)
                prefetch(lanes, products, ahead)
            if n == zero:
                n = others[other]
                other += U(1)
            # Loads of the next cell overlap with the arithmetic of this one.
            q = p + U(1) if p + U(1) < end else p
            following = dot(load(lanes, A, U(rows[q])), b)
            if cell <= zero or n <= zero:
                continue
            per_token = n / (np.ceil(n) * cell)
            a, plain = load(lanes, A, i), multiply(load(lanes, A_powers, i), b_power)
            r = leave_one_out_posterior(
                (a, b, plain, load(lanes, A_most, i), b_most, per_total),
                (per_token * per_row[i], per_token * shares[i], half),
            )
            total = dot(r, even)
            if total > zero:
                cells[p] = total
            else:
                r, total = even, dot(even, even)
            store(add_scaled(load(lanes, products, i), n / total, r), products, i)
            of_column = add_scaled(of_column, n / total * weights[i], r)
        store(of_column, sums, j)
        p = end


@compiled
def losses_of_rows(  # type: ignore[no-untyped-def]
    indptr, indices, data, shares, B, totals, prior, start, stop, losses
):
    """Rows start..stop; logarithms are taken of products, as long as float64 allows."""
    for i in range(U(start), U(stop)):
        for k in range(U(B.shape[1])):
            share, loss, product, total, size = shares[i, k], 0.0, 1.0, totals[k], 0.0
            losses[i, k] = 0
            if share <= NEGLIGIBLE:
                continue
            for p in range(U(indptr[i]), U(indptr[i + U(1)])):
                n, counted = data[p], B[U(indices[p]), k] * total
                if n <= 0:
                    continue
                size += n
                left = max(counted - share * n, prior) / counted
                if n == 1:
                    product *= left
                    if product < 1e-250:
                        loss, product = loss + np.log(product), 1.0
                else:
                    loss += n * np.log(left)
            left = max(total - share * size, prior * len(B)) / total
            losses[i, k] = loss + np.log(product) - size * np.log(left)


def left_out_counts(
    block: Block,
    means: tuple[Array, Array],
    powers: tuple[Array, Array],
    per_total: tuple[Array, Array],
    pseudo_counts: tuple[Array, float],
    beta: float,
) -> Pass:
    """Return expected counts from leave-one-out posteriors.

    A count that is no integer stands for ceil(count) tokens of equal weight, and so does
    a row weight for rows. The means, (n, k) and (M, k), are expected counts with pseudo-counts,
    (k,) in a row and a number in a column, times ``per_total``, (n,) and (k,). Products of the
    powers are plain posteriors, up to a factor of each cell. Normalisers give the likelihood.
    """
    X = non_zeros(block)
    in_row, in_column = pseudo_counts
    in_total = per_total[1][None]
    of_one = in_total, in_row[None], np.ones_like(in_total)
    A, B, A_powers, B_powers, in_total, in_row, ones = (
        padded(F, X.dtype, HALF) for F in (*means, *powers, *of_one)
    )
    of_row = per_total[0].astype(X.dtype)
    weights = X.row_weights.astype(X.dtype)
    shares = weights / np.maximum(np.ceil(weights), 1)
    half = X.dtype.type(beta / 2)
    A_most = X.map_row_ranges(_largest_share, A, of_row[:, None] * in_row)
    B_most = X.map_row_ranges(_largest_share, B, np.broadcast_to(in_total * in_column, B.shape))
    of_columns = B, B_powers, B_most, in_total, ones
    rows = shifted_zeros(A)
    columns = shifted_zeros(B)
    bands = X.views.bands
    cells = np.empty(bands.nnz, X.dtype)
    vectors = lanes(A)

    def add(band: int, tile: Array) -> None:
        part = bands.rows_of(band)
        of_rows = tuple(F[part] for F in (A, A_powers, A_most, of_row, weights, shares))
        inputs = bands.non_zeros, tile, of_rows, of_columns, half
        leave_one_out_runs(vectors, *inputs, cells, rows[part], columns)

    log_likelihood = X.run_bands(bands, cells, A.shape[1], add)
    rows, columns = (without_padding(F, means[0].shape[1]) for F in (rows, columns))
    return Pass(rows, columns, log_likelihood)


def left_out_rows(block: Block, shares: Array, B: Array, totals: Array, prior: float) -> Array:
    """Change of the log-likelihood of rows without their own counts, (n, k), in nats.

    B (M, k) are probabilities: expected counts, to which rows contribute by ``shares`` (n, k),
    plus pseudo-counts in each column, divided by ``totals`` (k,). Of a row with a weight above
    one, one copy is taken out; of a weight below one, all.
    """
    X = non_zeros(block)
    losses = np.empty_like(shares)
    counted = X.row_weights / np.maximum(np.ceil(X.row_weights), 1)
    shares = shares * counted[:, None].astype(shares.dtype)
    arrays = X.indptr, X.indices, X.data, shares, B, totals, prior
    X.run_ranges(X.indptr, B.shape[1], lambda i, k: losses_of_rows(*arrays, i, k, losses))
    return losses


def _largest_share(F: Array, pseudo_counts: Array, out: Array) -> None:
    """Fraction of each mean that is not pseudo-count."""
    np.maximum(F, TINY, out=out)
    np.divide(pseudo_counts, out, out=out)
    np.subtract(1, out, out=out)
    np.maximum(out, 0, out=out)
