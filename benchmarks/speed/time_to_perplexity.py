"""How many seconds until a model predicts held-out observations as well as tuned LDA at its best?

20 Newsgroups, K = 64. A tenth of the observations is the test part, a tenth of the others the
validation part, and all models are fitted to the rest. tomotopy's priors are chosen on the
validation part; its sampler then runs to the end, and is scored on its way, both by its last sample
and by the mean of its samples since half of the way. The best of these perplexities is the goal.
Every model is run in steps; scoring is not timed, nor is the tuning of tomotopy's priors, which is
given apart. AspectModel's seconds contain its search for the temperature. All get the smoothing
that the validation part asks for; the other peers have their defaults. (tomotopy optimises alpha
itself: where it starts made no difference.)
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from itertools import product
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from sklearn.decomposition import LatentDirichletAllocation, MiniBatchNMF

from benchmarks import corpora, reporting
from benchmarks.quality import methods, peers, tuned
from benchmarks.quality.peers import Factors
from benchmarks.shares import shares
from skcooc import AspectModel
from skcooc.metrics import best_smoothing, perplexity
from skcooc.model_selection import split_counts

DATA = {"newsgroups20": corpora.newsgroups20, "reuters5": corpora.reuters5}


class Step(NamedTuple):
    """A model on its way."""

    seconds: float  # of all steps so far
    factors: Factors


class Clock:
    """Adds up the seconds of what it is told to time."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self, action: Callable[..., Any], *arguments: Any) -> Any:
        """Do it, and return what it returns."""
        began = perf_counter()
        result = action(*arguments)
        self.seconds += perf_counter() - began
        return result


def gibbs_lda(
    X: Any, K: int, alpha: float, eta: float, options: argparse.Namespace
) -> Iterator[Step]:
    """tomotopy's sampler: the last sample, then the mean of those since half of the way."""
    clock, draws = Clock(), []
    model = clock(peers.gibbs_sampler, X, K, alpha / K, eta)
    for sweeps in range(options.every, options.sweeps + 1, options.every):
        clock(lambda: model.train(options.every, workers=options.jobs))
        draw = peers.posterior_means(model, X)
        yield Step(clock.seconds, draw)
        if sweeps > options.sweeps // 2:
            draws.append(draw)
            mixtures = np.hstack([d.mixtures for d in draws]) / len(draws)
            yield Step(clock.seconds, Factors(mixtures, np.vstack([d.components for d in draws])))


def best_priors(split: tuned.Split, options: argparse.Namespace) -> tuple[float, float]:
    """Sum of alpha, and eta, that validation prefers after a third of the sweeps."""
    tried = []
    for alpha, eta in product(options.document_priors, options.word_priors):
        model = peers.gibbs_sampler(
            split.inner, options.components, alpha / options.components, eta
        )
        model.train(options.sweeps // 3, workers=options.jobs)
        value, _ = tuned.validate(split, peers.posterior_means(model, split.inner))
        tried.append((value, alpha, eta))
        reporting.progress("tomotopy", f"alpha sum {alpha}, eta {eta}:", round(value, 1))
    return min(tried)[1:]


def aspect_model(X: Any, K: int, options: argparse.Namespace) -> list[Step]:
    """AspectModel: after every iteration of its final fit."""
    steps, clock = [], Clock()

    class Watch:
        """A callback; the clock stands still while the factors are copied."""

        def setup(self, estimator: Any, context: Any) -> None:
            self.began = perf_counter()

        def teardown(self, estimator: Any, context: Any) -> None:
            pass

        on_fit_task_begin = teardown

        def on_fit_task_end(
            self, estimator: Any, context: Any, *, fitted_estimator: Any = None
        ) -> bool:
            clock.seconds += perf_counter() - self.began
            if context.task_name == "iteration":
                fitted = fitted_estimator
                factors = Factors(fitted.embedding_.copy(), fitted.components_.copy())
                steps.append(Step(clock.seconds, factors))
            self.began = perf_counter()
            return False

    model = AspectModel(K, n_jobs=options.jobs, random_state=0).set_callbacks(Watch())
    model.fit(X)
    reporting.progress("AspectModel", f"beta {model.beta_:.3f}, {model.n_iter_} iterations")
    return steps


def sklearn_lda(X: Any, K: int, options: argparse.Namespace) -> Iterator[Step]:
    """scikit-learn's online variational Bayes, pass after pass."""
    clock = Clock()
    model = LatentDirichletAllocation(
        K, learning_method="online", batch_size=1000, total_samples=X.shape[0], n_jobs=1
    )
    while True:
        for first in range(0, X.shape[0], 1000):
            clock(model.partial_fit, X[first : first + 1000])
        components = shares(model.components_)
        yield Step(clock.seconds, Factors(model.transform(X), components))


def minibatch_nmf(X: Any, K: int, options: argparse.Namespace) -> Iterator[Step]:
    """scikit-learn's NMF with the Kullback-Leibler loss, pass after pass."""
    clock = Clock()
    model = MiniBatchNMF(K, beta_loss="kullback-leibler", batch_size=1000, random_state=0)
    while True:
        for first in range(0, X.shape[0], 1000):
            clock(model.partial_fit, X[first : first + 1000])
        yield Step(clock.seconds, peers.as_distributions(model.transform(X), model.components_))


def gensim_lda(X: Any, K: int, options: argparse.Namespace) -> Iterator[Step]:
    """gensim's online variational Bayes, pass after pass."""
    from gensim.matutils import Sparse2Corpus  # only this peer needs it
    from gensim.models import LdaModel

    clock, corpus = Clock(), Sparse2Corpus(X.T.tocsc())
    words = dict(enumerate(map(str, range(X.shape[1]))))
    model = LdaModel(
        id2word=words, num_topics=K, chunksize=1000, alpha="auto", eta="auto", eval_every=None
    )
    while True:
        clock(model.update, corpus)
        gamma = model.inference(list(corpus))[0]
        mixtures = shares(gamma, otherwise=1 / K)
        yield Step(clock.seconds, Factors(mixtures, model.get_topics()))


PEERS = {
    "scikit-learn LDA, online": sklearn_lda,
    "scikit-learn MiniBatchNMF": minibatch_nmf,
    "gensim LDA": gensim_lda,
}


class Curve:
    """Test perplexities over the seconds of one method."""

    def __init__(self, method: str, split: tuned.Split, test: Any) -> None:
        self.method, self.split, self.test = method, split, test
        self.points: list[tuple[float, float]] = []

    def add(self, step: Step) -> None:
        """Score a step; the smoothing is the one that is best for the validation part."""
        background = self.split.inner_background
        s = best_smoothing(self.split.valid, *step.factors, background=background)
        value = perplexity(self.test, *step.factors, background=background, smoothing=s)
        self.points.append((step.seconds, value))
        reporting.progress(self.method, f"{step.seconds:.1f} s: {value:.1f}")

    @property
    def best(self) -> float:
        """Least perplexity on the way."""
        return min(value for _, value in self.points)

    def seconds_to(self, goal: float) -> float:
        """Seconds until the goal is reached; NaN if never."""
        return next((seconds for seconds, value in self.points if value <= goal), float("nan"))


def within(steps: Iterator[Step], seconds: float) -> Iterator[Step]:
    """Steps until so many seconds have passed."""
    for step in steps:
        yield step
        if step.seconds > seconds:
            return


def curves(split: tuned.Split, test: Any, options: argparse.Namespace) -> Iterator[Curve]:
    """The goal's first, then ours, then the other peers until they have had as long as tomotopy."""
    X, K = split.inner, options.components
    tuning = Clock()
    alpha, eta = tuning(best_priors, split, options)
    goal = Curve(f"tomotopy LDA, alpha sum {alpha}, eta {eta}", split, test)
    for step in gibbs_lda(X, K, alpha, eta, options):
        goal.add(step)
    reporting.progress("tuning of its priors, scoring included:", round(tuning.seconds), "s")
    yield goal
    mine = Curve("skcooc AspectModel", split, test)
    for step in aspect_model(X, K, options):
        mine.add(step)
    yield mine
    for name in options.peers:
        curve = Curve(name, split, test)
        for step in within(PEERS[name](X, K, options), goal.points[-1][0]):
            curve.add(step)
        yield curve


def main() -> None:
    tuned.silence()
    warnings.simplefilter("ignore")
    parser = reporting.options(str(__doc__))
    parser.add_argument("--data", choices=DATA, default="newsgroups20")
    parser.add_argument("--components", type=int, default=64)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--sweeps", type=int, default=600)
    parser.add_argument("--every", type=int, default=20, help="sweeps of a step")
    parser.add_argument("--document-priors", type=float, nargs="+", default=[5.0])
    parser.add_argument("--word-priors", type=float, nargs="+", default=[0.01, 0.02, 0.05, 0.1])
    parser.add_argument("--peers", choices=PEERS, nargs="*", default=list(PEERS))
    options = parser.parse_args()
    X = DATA[options.data]().X.astype(np.float32)
    train, test = split_counts(X, 0.1, random_state=0)
    methods.warm_up()
    done: list[Curve] = []
    for curve in curves(tuned.divide(train, 0), test, options):
        done.append(curve)
        goal = done[0].best
        rows = [
            {"model": c.method, "best": c.best, "seconds to the goal": c.seconds_to(goal)}
            for c in done
        ]
        points = {c.method: c.points for c in done}
        reporting.save(options.output, {"data": options.data, "rows": rows, "curves": points})
    reporting.print_table(rows)


if __name__ == "__main__":
    main()
