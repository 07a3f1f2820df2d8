"""Annealing through phase transitions: clusters split while the temperature falls."""

from __future__ import annotations

from builtins import map as serial_map
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import pdist

from skcooc.em.driver import EM, Fit, Observe, Record, Split, State, Watch, ignore
from skcooc.em.schedules import constant
from skcooc.em.sweep import Map
from skcooc.protocol import Array, Counts

Parts = tuple[tuple[int, ...], ...]

PERTURBATION = 1e-2  # relative size of the noise that breaks the symmetry of equal components
PATIENCE = 1e-2  # of the tolerance: small differences, from which splits grow, hardly move it
DISTINCT = 5e-2  # total variation between components from which they count as different


@dataclass(frozen=True)
class Annealing:
    """EM at a rising sequence of inverse temperatures, components being perturbed before each.

    Above a critical temperature all components are the same. Below it copies that have been pulled
    apart a little drift further: the cluster splits. See Rose, Gurewitz and Fox, Phys. Rev. Lett.
    65, 1990; Pereira, Tishby and Lee, ACL 1993; memo, section 5.1.

    Parameters
    ----------
    em : EM
        What is run at every temperature; its schedule gives the number of iterations.
    betas : sequence of float
        Rising inverse temperatures.
    """

    em: EM
    betas: Sequence[float]

    def begin(self, model: Any, blocks: Sequence[Counts], rng: np.random.Generator) -> State:
        """Where ``fit`` begins, unless it is told: with all components the same."""
        state = self.em.begin(model, blocks, rng)
        return state._replace(params=model.alike(state.params))

    def fit(
        self,
        model: Any,
        blocks: Sequence[Counts],
        rng: np.random.Generator,
        observe: Observe = ignore,
        map: Map = serial_map,
        start: State | None = None,
    ) -> Fit:
        """Run EM at every temperature; see EM.fit. The model is Annealable."""
        watch = Watch(observe)
        n_iter = max(stage.max_iter for stage in self.em.schedule)
        state = start or self.begin(model, blocks, rng)
        splits: list[Split] = []
        history: list[Record] = []
        whole: Parts = (tuple(range(state.rows[0].shape[1])),)
        for step, beta in enumerate(self.betas, start=1):
            em = replace(self.em, schedule=constant(beta, n_iter))
            if step < len(self.betas):
                em = replace(em, heldout=None, tol=PATIENCE * em.tol)
            state = state._replace(params=model.perturb(state.params, rng, PERTURBATION))
            fit = em.fit(model, blocks, rng, watch, map, start=state)
            state, history = State(fit.params, fit.rows), history + fit.history
            parts = groups(model.factors(fit.params, fit.rows[0])[1])
            splits += [Split(beta, into) for into in divided(whole, parts)]
            whole = parts
            if watch.stopped:
                break
        return fit._replace(history=history, splits=splits)


def groups(components: Array) -> Parts:
    """The components that are the same: chains of total variation less than .05.

    Parameters
    ----------
    components : (M, K) array
        Columns are distributions.

    Returns
    -------
    parts : tuple of tuples of int

    Examples
    --------
    >>> import numpy as np
    >>> groups(np.array([[0.1, 0.9, 0.11], [0.9, 0.1, 0.89]]))
    ((0, 2), (1,))
    """
    if components.shape[1] == 1:
        return ((0,),)
    distances = pdist(components.T, "cityblock") / 2
    labels = fcluster(linkage(distances, "single"), DISTINCT, "distance")
    parts = (np.flatnonzero(labels == label) for label in np.unique(labels))
    return tuple(sorted(tuple(part.tolist()) for part in parts))


def divided(before: Parts, after: Parts) -> list[Parts]:
    """The new parts of every part that is no longer whole.

    Examples
    --------
    >>> divided(((0, 1, 2), (3, 4)), ((0, 2), (1,), (3, 4)))
    [((0, 2), (1,))]
    """
    into = [
        tuple(tuple(k for k in part if k in whole) for part in after if set(part) & set(whole))
        for whole in before
    ]
    return [parts for parts in into if len(parts) > 1]
