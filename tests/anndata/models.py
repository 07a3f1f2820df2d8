"""Models of cells."""

from skcooc import AspectModel


def model(**options):
    return AspectModel(3, beta=0.9, tol=0.01, random_state=0, **options)
