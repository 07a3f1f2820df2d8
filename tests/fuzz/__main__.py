"""The long profile: python -m tests.fuzz --trials 400 --seed 0, or --minutes 30.

What is wrong is printed as it can be tried again: python -m tests.fuzz --again "...". A trial that
hangs ends the run with the lines where it was; one that crashes it is the last one printed.
"""

import argparse
import collections
import faulthandler
import sys
import time
import traceback

from hypothesis import HealthCheck, Phase, given, seed, settings

from tests.fuzz.judging import Wrong
from tests.fuzz.trials import again, trials

BATCH = 50  # trials between two reports
LIMIT = 120.0  # seconds that a trial may take, loops to be compiled among them


def batch(number: int) -> collections.Counter:
    """Run trials, and count the outcomes."""
    quiet = {"database": None, "deadline": None, "suppress_health_check": list(HealthCheck)}
    found = collections.Counter()

    @seed(number)
    @settings(max_examples=BATCH, phases=[Phase.generate], **quiet)
    @given(trials)
    def run(trial) -> None:
        print(f"{trial!r}", file=sys.stderr, flush=True)
        faulthandler.dump_traceback_later(LIMIT, exit=True)
        try:
            found[f"{type(trial).__name__} {trial.run()}"] += 1
        except Exception as error:
            found["WRONG"] += 1
            told = str(error) if isinstance(error, Wrong) else traceback.format_exc()
            print(f"WRONG in batch {number}: {told}\n    {trial!r}", flush=True)

    run()
    faulthandler.cancel_dump_traceback_later()
    return found


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
    faulthandler.enable()
    found, number, end = collections.Counter(), 0, time.monotonic() + 60 * asked.minutes
    while BATCH * number < asked.trials or time.monotonic() < end:
        found += batch(1_000_000 * asked.seed + number)
        number += 1
        print(f"{time.strftime('%H:%M:%S')} {found.total()} trials", flush=True)
    print(f"{found.total()} trials with seed {asked.seed}: {dict(sorted(found.items()))}")
    return int(bool(found["WRONG"]))


if __name__ == "__main__":
    sys.exit(main())
