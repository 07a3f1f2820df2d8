"""How a model is fitted to counts: recipes, tuning, restarts, streams, fold-in."""

from skcooc.fitting.recipe import FixedModel, ModelFamily, Recipe, Settings
