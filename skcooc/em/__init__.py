"""Expectation maximisation and its variants, for any model that follows the protocol."""

from skcooc.em.annealing import (
    Annealing,
    Falling,
    Growing,
    Splitting,
    Widening,
    cooled,
    falling,
    narrowed,
    of_the_start,
    rising,
)
from skcooc.em.bursts import Bursts
from skcooc.em.legs import Fit, Leg, Record, Run, Split, State, fit
from skcooc.em.search import TemperatureRange
from skcooc.em.solvers import SOLVERS, OverRelaxation, make_solver

__all__ = [
    "SOLVERS",
    "Annealing",
    "Bursts",
    "Falling",
    "Fit",
    "Growing",
    "Leg",
    "OverRelaxation",
    "Record",
    "Run",
    "Split",
    "Splitting",
    "State",
    "TemperatureRange",
    "Widening",
    "cooled",
    "falling",
    "fit",
    "make_solver",
    "narrowed",
    "of_the_start",
    "rising",
]
