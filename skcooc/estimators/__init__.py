"""Estimators: the parameters, docstring and recipe of each model."""
