"""Expectation maximisation and its variants, for any model that follows the protocol."""

from skcooc.em.annealing import Annealing, Falling, cooled, falling, of_the_start, rising
from skcooc.em.bursts import Bursts
from skcooc.em.legs import Fit, Leg, Record, Run, Split, State, fit
from skcooc.em.solvers import SOLVERS, OverRelaxation, make_solver
from skcooc.em.splitting import Growing, Splitting
from skcooc.em.temperature import TemperatureRange
from skcooc.em.widening import Widening, narrowed

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
