"""Paragraphs, constraints and names of the parameters that estimators share."""

from __future__ import annotations

import re
from collections.abc import Mapping
from inspect import cleandoc
from numbers import Integral, Real
from typing import Any, TypeAlias

from skcooc.em import SOLVERS
from skcooc.line_search import TemperatureRange
from skcooc.protocol.scikit_learn import Interval, StrOptions

CONSTRAINTS: dict[str, Any] = {
    "beta": [Interval(Real, 0, 1, closed="right"), StrOptions({"auto"})],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "tol": [Interval(Real, 0, None, closed="left")],
    "n_init": [Interval(Integral, 1, None, closed="left")],
    "solver": [Interval(Real, 0, 2, closed="neither"), StrOptions(set(SOLVERS))],
    "smoothing": [Interval(Real, 0, 1, closed="left"), StrOptions({"auto"})],
    "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
    "early_stopping": ["boolean"],
    "n_jobs": [Integral, None],
    "warm_start": ["boolean"],
    "random_state": ["random_state"],
}
Size: TypeAlias = Any  # a number of components, or "auto", which is none before fit
SIZE: list[Any] = [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})]
ASPECT_TEMPERATURES = TemperatureRange(0.5, 1.0)  # range in which beta of topics is tuned
FALLING = Interval(Real, 0, 1, closed="neither")
ANNEALING: list[Any] = [FALLING, Interval(Real, 1, None, closed="neither"), None]

SOLVER_LIST = "\n".join(
    f'- ``"{name}"``: {(kind.__doc__ or "").partition(".")[0]}.' for name, kind in SOLVERS.items()
)
PARAMETERS = {
    'proportions : {"uniform", "estimated"}': """\
Prior probabilities of the clusters.

- ``"uniform"``: the same for all clusters.
- ``"estimated"``: estimated from the data. This suits clusters of very different sizes, but at
  small beta it leaves some clusters empty.""",
    "coarsening : sequence of (N,) arrays of int or None": """\
Nested groups of neighbouring rows, from the finest to the coarsest, for multiscale optimisation.
Each array contains a group number for each row. See ``skcooc.image.grid_coarsening``.""",
    "max_iter : int": "Maximum number of EM iterations.",
    "tol : float": "Relative decrease of the free energy below which EM stops.",
    "n_init : int": "Number of initialisations. The fit with the lowest free energy is kept.",
    "solver : float in (0, 2) or str": f"""\
Acceleration of EM: the step size of over-relaxed EM (1 is plain EM), or a name.

{SOLVER_LIST}""",
    'smoothing : float in [0, 1) or "auto"': """\
Weight of the unigram (overall column frequencies, after adding one to each count) in scored
probabilities. "auto" estimates it on held-out tokens; without held-out tokens it is 0.001.""",
    "validation_fraction : float in (0, 1)": """\
Proportion of tokens to hold out for tuning and early stopping.""",
    "early_stopping : bool": """\
Whether to stop when held-out perplexity no longer falls.""",
    "n_jobs : int or None": "Number of threads, as in joblib. Results do not depend on it.",
    "warm_start : bool": "Whether ``fit`` continues from the previous fit.",
    "random_state : int, RandomState instance or None": """\
Seed of the initialisation and of the choice of held-out tokens.""",
}

ATTRIBUTES = {
    "row_distribution_ : (N,) array": "P(x_i).",
    "component_distribution_ : (K,) array": "P(z_k), the shares of the components in the tokens.",
    "column_embedding_ : (M, K) array": "P(z_k given y_j).",
    "row_components_ : (K, N) array": "P(x_i given z_k).",
    "unigram_ : (M,) array": """\
Overall column frequencies used for smoothing, after adding one to each count.""",
    "beta_, smoothing_ : float": "Values of ``beta`` and ``smoothing`` used in the fit.",
    "tuning_ : list of Trial": """\
Trials of the search for parameters set to "auto", each with the fields ``stage``, ``values``,
``validation`` and ``chosen``.""",
    "n_iter_ : int": "Number of EM iterations, including those of the initialisation.",
    "converged_ : bool": "Whether ``tol`` or early stopping ended the fit.",
    "objective_ : float": "Free energy minus the log prior, in nats.",
    "history_ : list of Record": """\
One record per iteration, with the fields ``beta``, ``free_energy``, ``validation_perplexity``,
``seconds`` and ``stage``. The stage is "start" in the initialisation and "fit" afterwards.""",
    "n_parameters_ : int": "Number of free parameters of all rows and of the columns with tokens.",
    "n_features_in_ : int": "Number M of columns.",
    "feature_names_in_ : (M,) array of str": "Names of the columns, if they are strings.",
    "row_names_in_, column_names_in_ : arrays": """\
Names of the rows and of the columns, of any type, if X has names.""",
}


def fill_docstring(
    docstring: str | None,
    section: str,
    paragraphs: Mapping[str, str],
    defaults: Mapping[str, object],
) -> str | None:
    r"""Add the missing paragraphs to a section; None stays None (python -OO).

    >>> of_beta = {"beta : float": "Inverse temperature."}
    >>> doc = "A model.\n\n    Parameters\n    ----------\n    k : int\n        Size.\n    "
    >>> print(fill_docstring(doc, "Parameters", of_beta, {"beta": 1.0}))
    A model.
    <BLANKLINE>
    Parameters
    ----------
    k : int
        Size.
    beta : float, default=1.0
        Inverse temperature.
    """  # noqa: D411
    if docstring is None:
        return None
    docstring = cleandoc(docstring)  # Python 3.13 takes the indentation away, earlier ones do not
    if f"{section}\n---" not in docstring:
        return docstring
    before, after = docstring.split(f"{section}\n", 1)
    end = re.search(r"\n\n(?=[A-Z][\w ]+\n---)", after)
    body, rest = (after[: end.start()], after[end.start() :]) if end else (after, "")
    gap = "\n\n" if "\n\n" in body else "\n"  # as between the section's own paragraphs
    for head, text in paragraphs.items():
        name = head.split(" : ")[0]
        if not re.search(rf"^(\w+, )*{name}(, \w+)* : ", body, flags=re.M):
            body += gap + head
            if name in defaults:
                body += f", default={defaults[name]!r}".replace("'", '"')
            body += "\n    " + text.replace("\n", "\n    ")
    return f"{before}{section}\n{body}{rest}"
