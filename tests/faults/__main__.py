"""The long profile: python -m tests.faults --kills 200 --seed 0."""

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from sklearn.base import clone

from skcooc import AspectModel
from tests.faults import resources
from tests.faults.killing import ASPECTS, KINDS, chain, fitted, outcome, undisturbed

CHAIN = 12  # kills of one fit, at most


def kills(rng: np.random.Generator, n_kills: int, kinds: list[str]) -> None:
    """Kill each kind of fit ``n_kills`` times."""
    for kind in kinds:
        whole, n, n_chains = undisturbed(kind), 0, 0
        while n < n_kills:
            n, n_chains = n + chain(whole, rng, min(CHAIN, n_kills - n)), n_chains + 1
        say(f"{kind}: {n} kills in {n_chains} fits of {whole.seconds:.2f} s, all ended the same")


def files(rng: np.random.Generator, n_flips: int) -> None:
    """Damage checkpoints, write them twice at once, and on a full disk."""
    models = fitted(clone(ASPECTS)), fitted(AspectModel(4, beta=0.9, random_state=1))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        whole, refused = resources.meeting(path, list(models), 5.0)
        say(f"two writers of one path: {whole} reads whole, {refused} refused, none wrong")
        path.unlink(missing_ok=True)
        expected = outcome(resources.written(path, models[0]))
        say(f"{n_flips} flipped bits: {resources.flips(path, rng, n_flips)} found out")
        for limit in (0, 1000, 5000):
            said = resources.without_room(path, models[1], limit)
            assert said == "File too large", said
            assert outcome(resources.read_checkpoint(path)) == expected
            assert os.listdir(folder) == ["model"]
        say("no room on the disk: 3 of 3 errors, the old file whole, nothing left beside it")


def processes(n_workers: int) -> None:
    """Fit without memory or cache, in threads and forks, and on workers that die."""
    expected = outcome(fitted(clone(ASPECTS)))
    assert resources.without_memory() == expected
    say("no memory: MemoryError, the estimator as it was, the next fit right")
    assert resources.without_cache() == ""
    say("no folder for compiled loops: fitted")
    assert set(resources.after_threads(10)) == {expected}
    say("forks after threads: 10 of 10 the same")
    assert set(resources.side_by_side(8)) == {expected}
    say("fits in 8 threads at once: 8 of 8 the same")
    say(f"dead workers: {resources.dead_workers(n_workers)} of {n_workers} fits the same")


def say(line: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {line}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--kills", type=int, default=200, help="of each kind of fit")
    parser.add_argument("--kinds", nargs="*", choices=list(KINDS), help="all, if none is given")
    parser.add_argument("--flips", type=int, default=100)
    parser.add_argument("--workers", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    rng = np.random.default_rng(asked.seed)
    if not asked.kinds:
        files(rng, asked.flips)
        processes(asked.workers)
    kills(rng, asked.kills, asked.kinds or list(KINDS))


if __name__ == "__main__":
    sys.exit(main())
