"""A fitted estimator whose components are made of those of another."""

from __future__ import annotations

import copy

import numpy as np

from skcooc.base import attributes
from skcooc.base.estimator import E
from skcooc.em import State
from skcooc.protocol import Array
from skcooc.simplex import normalise


def merged_components(self: E, shares: Array, mass: Array, parameter: str) -> E:
    """Return a copy with L components, each a mass-weighted sum of the K fitted ones.

    Component k, of mass (K,), has the shares (K, L) in the new ones; ``parameter`` is the name of
    their number. Attributes of the fit itself, such as the history, are dropped.
    """
    shares = shares.astype(self.components_.dtype)
    params, rows = self._state
    model, params = self._fitted_model.merge(params, mass.astype(shares.dtype), shares)
    rows = normalise(np.asarray(rows) @ shares, axis=1, otherwise=params.weights)
    new = copy.copy(self).set_params(**{parameter: shares.shape[1]})
    known = {
        "_fitted_parameters": new.get_params(deep=False),
        "tuning_": self.tuning_,
        "_unfinished": None,
        "_stream": None,
        "_passes": None,
        "_heldout_predictions": None,
    }
    found = attributes.prediction_attributes(
        model,
        State(params, rows),
        self.beta_,
        self.smoothing_,
        self.unigram_,
        self.row_distribution_,
    )
    attributes.set_fitted_attributes(
        new, attributes.input_attributes(self) | attributes.size_attributes(new) | known | found
    )
    return new
