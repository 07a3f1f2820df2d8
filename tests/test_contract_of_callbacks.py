"""What every estimator promises to callbacks: they see it, stop it, and leave no trace."""

import numpy as np
import pytest
from sklearn.callback import ProgressBar, ScoringMonitor

from skcooc import Dyads
from tests.contract import (
    X,
    every_class,
    every_estimator,
    fitted,
    quick,
)
from tests.watching import Watcher

pytestmark = [
    pytest.mark.usefixtures("few_starts"),
    pytest.mark.filterwarnings("ignore:EM did not converge", "ignore:All .* components"),
]


class Stop(Watcher):
    """Stops after a number of iterations."""

    def __init__(self, after):
        self.after, self.seen = after, 0

    def on_fit_task_end(self, estimator, context):
        self.seen += context.task_name == "iteration"
        return self.seen >= self.after


class Interrupt(Stop):
    """The user loses patience."""

    def on_fit_task_end(self, estimator, context):
        if super().on_fit_task_end(estimator, context):
            raise KeyboardInterrupt


class Watch(Stop):
    """Asks for the estimator as if the fit had ended."""

    def __init__(self):
        self.scores = []

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        if fitted_estimator is not None:
            self.scores.append(fitted_estimator.score(Dyads(X)))
            assert fitted_estimator.transform(X).shape == fitted_estimator.embedding_.shape


@every_estimator
def test_callbacks_stop_cleanly(estimator):
    model = quick(estimator, n_init=1, tol=0).set_callbacks(Stop(after=2)).fit(X)
    assert model.n_iter_ == 2
    assert not model.converged_
    np.testing.assert_allclose(model.transform(X).sum(axis=1), 1)


@every_estimator
def test_callbacks_see_fitted_estimators(estimator):
    watch = Watch()
    model = quick(estimator, max_iter=8).set_callbacks(watch).fit(X)
    assert len(watch.scores) >= model.n_iter_
    assert watch.scores[-1] > watch.scores[0] - 0.02  # a start may be good already


@every_class
def test_progress_bar_and_monitor_run(estimator, capsys):
    model = quick(estimator)
    model.set_callbacks(ProgressBar()).fit(X)
    assert type(model).__name__ in capsys.readouterr().out
    monitor = ScoringMonitor(scoring=lambda model, X, y=None: model.score(X))
    model.set_callbacks(monitor).fit(X)


@every_estimator
def test_interrupted_fits_leave_no_trace(estimator):
    model = quick(estimator).set_callbacks(Interrupt(after=2))
    with pytest.raises(KeyboardInterrupt):
        model.fit(X)
    assert not hasattr(model, "components_")
    assert not hasattr(model, "n_features_in_")
    done = fitted(estimator)
    before = dict(vars(done))
    done.set_callbacks(Interrupt(after=2))
    with pytest.raises(KeyboardInterrupt):
        done.fit(X[:, :10])
    after = {name: value for name, value in vars(done).items() if name != "_skl_callbacks"}
    assert after.keys() == before.keys()
    assert all(after[name] is before[name] for name in before)
