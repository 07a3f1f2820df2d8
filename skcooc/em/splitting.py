"""Annealing through phase transitions: clusters split while the temperature falls."""

from __future__ import annotations

from builtins import map as serial_map
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from skcooc.em.legs import EM, Fit, Observe, Place, Split, State, Watch, ignore
from skcooc.em.schedules import constant
from skcooc.em.sweep import Map
from skcooc.protocol import Array, Counts, Model

PERTURBATION = 1e-2  # relative size of the noise that tells two copies apart
SLOW = 1e-2  # of the tolerance: small differences, from which splits grow, hardly move it
LAST = -1  # number of the run of all clusters, after those on the way to them
DISTINCT = 5e-2  # total variation between copies from which they are clusters of their own


class Grown(NamedTuple):
    """A model whose structure has been learned."""

    model: Model
    seed: Model  # the same, starting from what was found with its structure
    splits: list[Split] | None  # None where nothing was to be learned


@dataclass(frozen=True)
class Annealing:
    """EM at a rising sequence of inverse temperatures, beginning with a single cluster.

    At every temperature each cluster is replaced by two copies, which are pulled apart a little.
    Above the critical temperature of the cluster they come together again. Below it they drift
    apart: the cluster splits. Its parts may do so at the next temperature, but not before: small
    clusters are easily told apart by chance, and the slower they come the better they are. See
    Rose, Gurewitz and Fox, Phys. Rev. Lett. 65, 1990; Pereira, Tishby and Lee, ACL 1993; memo,
    section 5.1.

    Copies must get apart within one run of EM, which they do some way above the inverse temperature
    at which the cluster becomes unstable, at 1.3 to 2.4 times it on planted data. To wait longer
    finds splits earlier, but not better ones: where clusters hardly differ, the wrong ones part.

    Parameters
    ----------
    em : EM
        What is run at every temperature; its schedule gives the number of iterations. Where there
        are copies it has much more patience, for they part slowly.
    betas : sequence of float
        Rising inverse temperatures.
    """

    em: EM
    betas: Sequence[float]

    def begin(self, model: Any, blocks: Sequence[Counts], rng: np.random.Generator) -> State:
        """Where ``fit`` begins, unless it is told: with a single cluster."""
        state = self.em.begin(model, blocks, rng)
        return mixed(model, state, [tuple(range(state.rows[0].shape[1]))])

    def fit(
        self,
        model: Any,
        blocks: Sequence[Counts],
        rng: np.random.Generator,
        observe: Observe = ignore,
        map: Map = serial_map,
        start: State | None = None,
        resume: Place | None = None,
    ) -> Fit:
        """Run EM with an Annealable model at every temperature, the last one twice; see EM.fit.

        Where fewer than ``model.n_clusters`` have come apart, some of them are there repeatedly.
        """
        watch, place = Watch(observe), resume
        if place is None or place.number != LAST:
            *_, point = self.path(model, blocks, rng, watch, map, start, resume)
            found, splits = State(point.params, point.rows), point.splits or []
            k = found.rows[0].shape[1]
            state = mixed(model, found, [(c % k,) for c in range(model.n_clusters)])
            for copy in range(k, model.n_clusters):
                splits = joined_by(splits, copy % k, copy)
            if watch.stopped:
                return point._replace(params=state.params, rows=state.rows, splits=splits)
            place = Place(LAST, state, point.history, splits)
        last, at = (
            replace(self.em, schedule=constant(self.betas[-1], self._n_iter)),
            watch.at(place),
        )
        fit = last.fit(model, blocks, rng, at, map, start=place.state, resume=place.run)
        return fit._replace(history=place.history + fit.history, splits=place.splits)

    def path(
        self,
        model: Any,
        blocks: Sequence[Counts],
        rng: np.random.Generator,
        observe: Observe = ignore,
        map: Map = serial_map,
        start: State | None = None,
        resume: Place | None = None,
    ) -> Iterator[Fit]:
        """What EM finds at every temperature, and at the last one until no more come apart."""
        watch = Watch(observe)
        place = resume or Place(0, start or self.begin(model, blocks, rng), [], [])
        while True:
            beta = self.betas[min(place.number, len(self.betas) - 1)]
            fit, apart = self._run(model, blocks, rng, watch.at(place), map, place, beta)
            k, splits = fit.rows[0].shape[1] - len(apart), place.splits or []
            for new, c in enumerate(apart, start=k):
                splits = [*joined_by(splits, c, new), Split(beta, ((c,), (new,)))]
            place = place.after(fit)._replace(splits=splits)
            yield fit._replace(history=place.history, splits=splits)
            if watch.stopped or (place.number >= len(self.betas) and not apart):
                return

    def _run(
        self,
        model: Any,
        blocks: Sequence[Counts],
        rng: np.random.Generator,
        observe: Observe,
        map: Map,
        place: Place,
        beta: float,
    ) -> tuple[Fit, list[int]]:
        """EM at one temperature, and the clusters that have come apart, K by K + 1 and so on."""
        em = replace(self.em, schedule=constant(beta, self._n_iter), heldout=None)
        start, run, k = place.state, place.run, place.state.rows[0].shape[1]
        if k == model.n_clusters:
            return em.fit(model, blocks, rng, observe, map, start=start, resume=run), []
        if run is None:
            start = doubled(model, start, rng)
        patient = replace(em, tol=SLOW * em.tol)
        fit = patient.fit(model, blocks, rng, observe, map, start=start, resume=run)
        components = model.factors(fit.params, fit.rows[0])[1]
        apart = drifted(components[:, :k], components[:, k:])[: model.n_clusters - k]
        parts = [(c,) if c in apart else (c, k + c) for c in range(k)]
        state = mixed(model, State(fit.params, fit.rows), parts + [(k + c,) for c in apart])
        return fit._replace(**state._asdict()), apart

    @property
    def _n_iter(self) -> int:
        return max(stage.max_iter for stage in self.em.schedule)


def doubled(model: Any, state: State, rng: np.random.Generator) -> State:
    """Two copies of every cluster, c and K + c, a little apart."""
    k = state.rows[0].shape[1]
    pairs = mixed(model, state, [(c % k,) for c in range(2 * k)])
    return pairs._replace(params=model.perturb(pairs.params, rng, PERTURBATION))


def mixed(model: Any, state: State, parts: Sequence[tuple[int, ...]]) -> State:
    """Clusters that join these parts; what is in several parts is divided evenly among them."""
    shares = np.zeros((state.rows[0].shape[1], len(parts)))
    for new, part in enumerate(parts):
        shares[list(part), new] = 1
    shares /= shares.sum(axis=1, keepdims=True)
    shares = shares.astype(state.rows[0].dtype)
    return State(model.mixed(state.params, shares), [rows @ shares for rows in state.rows])


def drifted(components: Array, copies: Array) -> list[int]:
    """The clusters that differ from their copies, those that differ most first.

    Parameters
    ----------
    components, copies : (M, K) arrays
        Columns are distributions.

    Returns
    -------
    apart : list of int

    Examples
    --------
    >>> import numpy as np
    >>> drifted(np.array([[0.5, 0.5], [0.5, 0.5]]), np.array([[0.5, 0.1], [0.5, 0.9]]))
    [1]
    """
    distances = np.abs(components - copies).sum(axis=0) / 2
    order = np.argsort(-distances, kind="stable")
    return order[distances[order] > DISTINCT].tolist()


def joined_by(splits: Sequence[Split], companion: int, new: int) -> list[Split]:
    """The same splits, with a new cluster wherever its companion is.

    Examples
    --------
    >>> joined_by([Split(0.1, ((0,), (1,)))], 1, 2)
    [Split(beta=0.1, parts=((0,), (1, 2)))]
    """
    return [
        Split(beta, tuple((*part, new) if companion in part else part for part in parts))
        for beta, parts in splits
    ]
