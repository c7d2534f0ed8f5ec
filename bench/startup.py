"""What the command line's start costs: ``python -m bench.startup``.

A bare interpreter and a whole plan take turns, so that a busy moment of the machine falls on both alike; medians then
ignore the moments that fell on one.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from statistics import median

BARE = ("-c", "pass")
PLAN = ("-m", "planner", "plan", "--model", "llama-3.1-8b", "--device", "rtx-4090", "--json")
LIMIT_MS = 60  # above a bare interpreter's start
# Compiled modules are kept, as they are wherever the package is installed.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def run_ms(arguments: Sequence[str]) -> float:
    """Wall-clock milliseconds of one interpreter with these arguments; RuntimeError where it fails."""
    start = time.perf_counter()
    run = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False, env=ENVIRONMENT)
    elapsed_ms = 1_000 * (time.perf_counter() - start)
    if run.returncode != 0:
        raise RuntimeError(f"python {' '.join(arguments)} exited with {run.returncode}: {run.stderr.strip()}")
    return elapsed_ms


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.startup", description="Time of the command line's start.")
    parser.add_argument("--rounds", type=int, default=40, help="pairs of runs (default: 40)")
    rounds = parser.parse_args().rounds
    for arguments in (BARE, PLAN):  # compile and read from disk once, unmeasured
        run_ms(arguments)
    bare_ms, plan_ms = (
        median(times) for times in zip(*((run_ms(BARE), run_ms(PLAN)) for _ in range(rounds)), strict=True)
    )
    print(f"bare interpreter   {bare_ms:6.1f} ms   python {' '.join(BARE)}")
    print(f"one plan           {plan_ms:6.1f} ms   python {' '.join(PLAN)}")
    print(f"ratio              {plan_ms / bare_ms:6.2f}      the plan's start in bare starts, medians of {rounds} each")
    print(f"difference         {plan_ms - bare_ms:6.1f} ms   the aim is under {LIMIT_MS} ms")


if __name__ == "__main__":
    main()
