"""The estimators, each in the forms that the shared tests try: one line for a new model."""

from skcooc import AspectModel

FAST = {"max_iter": 40, "tol": 1e-3, "random_state": 0}

ESTIMATORS = [
    AspectModel(),
    AspectModel(3, beta=0.9),
    AspectModel(3, early_stopping=True),
    AspectModel(3, beta=0.9, tempering="likelihood", n_init=2, relaxation=1.5),
    AspectModel(3, component_prior=0.01, smoothing=0.1),
]
