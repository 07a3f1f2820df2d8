"""Equations of the models: frozen objects with the pure functions of the papers."""
