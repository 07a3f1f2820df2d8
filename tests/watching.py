"""Callbacks: what they have to have, and what most of those of tests do not use."""


class Watcher:
    """Sees nothing; for what is done at the end of a task there is one method to write."""

    def setup(self, estimator, context): ...

    def teardown(self, estimator, context): ...

    def on_fit_task_begin(self, estimator, context): ...
