"""The long profile: python -m tests.fuzz --trials 400 --seed 0, or --minutes 30.

Trials run in child processes, so that one that hangs or crashes is found out. What is wrong is
printed as it can be tried again: python -m tests.fuzz --again "...".
"""

import argparse
import collections
import os
import select
import signal
import sys
import time
import traceback

from hypothesis import HealthCheck, Phase, given, seed, settings

from tests.fuzz.judging import Wrong
from tests.fuzz.models import MODELS, Model
from tests.fuzz.tables import Table
from tests.fuzz.trials import Fitting, again, trials

BATCH = 50  # trials of a child process
LIMIT = 120.0  # seconds that a trial may take, loops to be compiled among them


def batch(number: int, n_trials: int, say) -> None:
    """Run trials; print each before it begins and after it has ended."""

    quiet = {"database": None, "deadline": None, "suppress_health_check": list(HealthCheck)}

    @seed(number)
    @settings(max_examples=n_trials, phases=[Phase.generate], **quiet)
    @given(trials)
    def run(trial) -> None:
        say(f"try {trial!r}")
        try:
            say(f"end {type(trial).__name__} {trial.run()}")
        except Wrong as wrong:
            say(f"wrong {wrong}".replace("\n", " "))
        except Exception as error:
            say(f"wrong {traceback.format_exc()} {error!r}".replace("\n", " "))

    run()


def in_a_child(number: int, n_trials: int) -> collections.Counter:
    """Run trials in a process of its own, and count the outcomes."""
    read, write = os.pipe()
    if (pid := os.fork()) == 0:
        os.close(read)
        code = 1
        try:
            batch(number, n_trials, lambda line: os.write(write, f"{line}\n".encode()))
            code = 0
        finally:
            os._exit(code)
    os.close(write)
    found, trial = collections.Counter(), ""
    with open(read, encoding="utf-8") as pipe:
        for line in lines_of(pipe, pid):
            kind, _, rest = line.rstrip("\n").partition(" ")
            if kind == "try":
                trial = rest
            else:
                found[rest if kind == "end" else "WRONG"] += 1
            if kind == "wrong":
                report(number, rest, trial)
    _, status = os.waitpid(pid, 0)
    if status:
        found["WRONG"] += 1
        report(number, f"the process ended with status {status}: a hang, or a crash", trial)
    return found


def lines_of(pipe, pid: int):
    """Lines of a process as they come; kills it after a long silence."""
    while True:
        ready, _, _ = select.select([pipe], [], [], LIMIT)
        if not ready:
            os.kill(pid, signal.SIGKILL)
        line = pipe.readline()
        if not line:
            return
        yield line


def warm_up() -> None:
    """Load the compiled loops once, before processes are forked."""
    table = Table(((3.0, 1.0, 0.0), (0.0, 2.0, 4.0), (1.0, 1.0, 5.0), (2.0, 0.0, 1.0)))
    for name in MODELS:
        for beta in (0.9, "auto"):
            Fitting(Model(name, {"max_iter": 2, "random_state": 0, "beta": beta}), table).run()


def report(number: int, what: str, trial: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} WRONG in batch {number}: {what}\n    {trial}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--trials", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=0.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--again", help="a trial as it was printed")
    asked = parser.parse_args()
    if asked.again:
        print(again(asked.again))
        return 0
    warm_up()
    found, number, end = collections.Counter(), 0, time.monotonic() + 60 * asked.minutes
    while BATCH * number < asked.trials or time.monotonic() < end:
        found += in_a_child(1_000_000 * asked.seed + number, BATCH)
        number += 1
        print(f"{time.strftime('%H:%M:%S')} {found.total()} trials", flush=True)
    print(f"{found.total()} trials with seed {asked.seed}: {dict(sorted(found.items()))}")
    return int(bool(found["WRONG"]))


if __name__ == "__main__":
    sys.exit(main())
