"""Callbacks: what they have to have, and what most of those of tests do not use."""


class Watcher:
    """Sees nothing; for what is done at the end of a task there is one method to write."""

    def setup(self, estimator, context): ...

    def teardown(self, estimator, context): ...

    def on_fit_task_begin(self, estimator, context): ...


class Interruption(Watcher):
    """Interrupts a fit at the end of an iteration, or of a task whose name begins so."""

    def __init__(self, at, task=None):
        self.at, self.task, self.seen = at, task, 0

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        if self.task is None:
            self.seen += fitted_estimator is not None
        else:
            self.seen += context.task_name.startswith(self.task)
        if self.seen == self.at:
            raise KeyboardInterrupt


class Stop(Watcher):
    """Stops after a number of iterations."""

    def __init__(self, after):
        self.after, self.seen = after, 0

    def on_fit_task_end(self, estimator, context):
        self.seen += context.task_name == "iteration"
        return self.seen >= self.after


class At(Watcher):
    """Does something once, at the end of a task after so many."""

    def __init__(self, n_calls, act):
        self.n_calls, self.act = n_calls, act

    def on_fit_task_end(self, estimator, context):
        self.n_calls -= 1
        if self.n_calls == 0:
            self.act()
