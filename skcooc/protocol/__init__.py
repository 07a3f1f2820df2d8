"""What counts, equations and predictions promise to each other: types, and hardly any code."""

from skcooc.protocol.counts import Block, Counts, FixedComponents, Map, Mixture, Triples
from skcooc.protocol.equations import Annealable, Clustering, Equations, FoldIn, Model, OnlineModel
from skcooc.protocol.models import Components, FactorModel, Predictor
from skcooc.protocol.types import (
    CSR,
    EVERYTHING,
    A,
    Array,
    Need,
    P,
    Params,
    RandomState,
    Rows,
    S,
    S_co,
    Statistics,
    T,
    TableLike,
)

__all__ = [
    "CSR",
    "EVERYTHING",
    "A",
    "Annealable",
    "Array",
    "Block",
    "Clustering",
    "Components",
    "Counts",
    "Equations",
    "FactorModel",
    "FixedComponents",
    "FoldIn",
    "Map",
    "Mixture",
    "Model",
    "Need",
    "OnlineModel",
    "P",
    "Params",
    "Predictor",
    "RandomState",
    "Rows",
    "S",
    "S_co",
    "Statistics",
    "T",
    "TableLike",
    "Triples",
]
