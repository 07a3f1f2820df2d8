"""The equations of the models: a frozen object each, with the papers' pure functions."""
