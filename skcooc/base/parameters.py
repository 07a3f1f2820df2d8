"""What is said of the parameters and attributes that all estimators share."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from numbers import Integral, Real
from typing import Any, TypeAlias

from sklearn.utils._param_validation import Interval, StrOptions

from skcooc.em import SOLVERS

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
SIZES = (  # what is meant by n_topics, num_topics and k of other libraries
    *("n_components", "n_row_components", "n_column_components"),
    *("n_clusters", "n_row_clusters", "n_column_clusters"),
)
Size: TypeAlias = Any  # a number of components, or "auto", which is none before fit
FALLING = Interval(Real, 0, 1, closed="neither")
ANNEALING: list[Any] = [FALLING, Interval(Real, 1, None, closed="neither"), None]

NAMED = "\n".join(
    f'"{name}": {(kind.__doc__ or "").partition(".")[0]}.' for name, kind in SOLVERS.items()
)
PARAMETERS = {
    "max_iter : int": """\
Largest number of EM iterations: 500 in aspect models, which at beta = 1 took 250 on abstracts and
messages (K = 32); 200 in the others, which took at most 120.""",
    "tol : float": "EM stops when the free energy falls by less than this, relative to its size.",
    "n_init : int": """\
Number of random starts; the one with the least free energy is kept, or with the least validation
perplexity where ``early_stopping=True``.""",
    "solver : float in (0, 2) or str": f"""\
A number is the step size eta of over-relaxed EM; 1.0 is plain EM, which needs more iterations. A
step that raises the free energy is undone. A name is that of a solver. In aspect models "momentum"
took a third of the iterations that 1.8 took; in clusterings neither was better.
{NAMED}""",
    'smoothing : float in [0, 1) or "auto"': """\
Weight s of the add-one unigram in probabilities that are scored. "auto" estimates it where
observations are held out in ``fit``, and takes .001 elsewhere. It matters much where components
are many.""",
    "validation_fraction : float in (0, 1)": """\
Share of the observations held out where ``beta="auto"`` or ``early_stopping=True``; of every batch
of a stream where ``beta="auto"``.""",
    "early_stopping : bool": """\
Whether to stop when the perplexity of held-out observations no longer falls, and to return to the
best parameters. These have not seen the held-out observations.""",
    "n_jobs : int or None": """\
Number of threads, in joblib's conventions. Results do not depend on it.""",
    "warm_start : bool": """\
Whether a further call of ``fit`` goes on from the parameters, and from the temperature that an
earlier call found, once, without further random starts. Rows keep their states by position where X
has as many as before. If the call before had True, too, and X and all parameters but ``max_iter``,
``tol`` and ``n_init`` are the same, the steps go on as if it had not ended, with their momentum:
ten iterations and ten more are twenty. For that the estimator keeps the last steps, which are up to
two arrays more of the shape of ``embedding_``, and two of that of ``components_``.""",
    "random_state : int, RandomState instance or None": """\
Seed of the starts and of the division into training and held-out observations.""",
}

ATTRIBUTES = {
    "row_distribution_ : (N,) array": """\
P(x_i). As all attributes with something for each row, a dask array where X was one.""",
    "component_distribution_ : (K,) array": """\
P(z_k) = sum_i P(x_i) P(z_k given x_i): share of the observations. ``weights_``, of a row without
observations, can differ.""",
    "column_embedding_ : (M, K) array": """\
P(z_k given y_j), which is to columns what ``embedding_`` is to rows: by Bayes' rule proportional to
``component_distribution_[k] * components_[k, j]``, and ``component_distribution_`` where a column
was never seen.""",
    "row_components_ : (K, N) array": """\
P(x_i given z_k), which is to rows what ``components_`` is to columns; ``row_distribution_`` where a
component has no observations.""",
    "unigram_ : (M,) array": "Add-one distribution of the columns, used for smoothing.",
    "beta_ : float": "Inverse temperature used.",
    "smoothing_ : float": "Smoothing used.",
    "tuning_ : list of Trial": """\
The temperatures tried: each has ``beta``, ``validation.perplexity`` and ``validation.smoothing``,
``prior`` and ``exponents`` where these were tried, and ``n_components`` where the search has a
number of its own. Empty where none was searched.""",
    "n_iter_ : int": """\
Number of EM iterations of the final fit, in all its parts, including those that early stopping
discards.""",
    "converged_ : bool": "Whether ``tol`` was reached, or early stopping stopped.",
    "objective_ : float": "Free energy, less the log prior, at the last E-step, in nats.",
    "history_ : list of Record": """\
``beta``, ``free_energy``, ``validation_perplexity`` and ``seconds`` of every iteration.""",
    "n_parameters_ : int": """\
Number of free parameters of P(x, y), with those that rows have of their own.""",
    "n_features_in_ : int": "Number M of columns.",
    "feature_names_in_ : (M,) array of str": """\
Names of the columns, where the data has names that are strings.""",
    "row_names_in_ : (N,) array": """\
Names of the rows fitted, where the data has them: those of `Dyads`, or the index of a data frame
in memory, if it holds strings. Only where rows are kept.""",
}


def meant(name: str, valid: Sequence[str]) -> str:
    """What may be meant by a parameter that is not valid, and which parameters are."""
    near = get_close_matches(name, valid, cutoff=0.7)
    if not near and (name.lower() == "k" or name.startswith(("n_", "num_"))):
        near = [size for size in SIZES if size in valid]
    hint = f"Did you mean {' or '.join(near)}? " if near else ""
    return f"{hint}Valid parameters are: {valid}."


def completed(
    docstring: str | None,
    section: str,
    paragraphs: Mapping[str, str],
    defaults: Mapping[str, object],
) -> str | None:
    """A docstring whose section has a paragraph for every name; None where Python leaves them out.

    >>> of_beta = {"beta : float": "Inverse temperature."}
    >>> doc = "A model.\\n\\n    Parameters\\n    ----------\\n    k : int\\n        Size.\\n    "
    >>> print(completed(doc, "Parameters", of_beta, {"beta": 1.0}))
    A model.
    <BLANKLINE>
        Parameters
        ----------
        k : int
            Size.
        beta : float, default=1.0
            Inverse temperature.
    <BLANKLINE>
    """
    if docstring is None or f"    {section}\n" not in docstring:
        return docstring
    before, after = docstring.split(f"    {section}\n", 1)
    end = re.search(r"\n\n(?=    [A-Z][\w ]+\n    ---)|\n    $", after)
    own, rest = (after[: end.start()], after[end.start() :]) if end else (after, "")
    for name, text in paragraphs.items():
        if not re.search(rf"^    (\w+, )*{name.split(' : ')[0]}(, \w+)* : ", own, flags=re.M):
            default = defaults.get(name.split(" : ")[0], completed)
            shown = "" if default is completed else f", default={default!r}".replace("'", '"')
            own += f"\n    {name}{shown}\n        " + text.replace("\n", "\n        ")
    return f"{before}    {section}\n{own}{rest}"
