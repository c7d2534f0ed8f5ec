"""What the library costs once it is loaded: ``python -m bench.library``."""

import time
from collections.abc import Callable
from statistics import median

from planner import presets
from planner.budget import plan
from planner.finding.table import table
from planner.inputs.choices import Choices, choose

PLAN_LIMIT_US = 100
TABLE_LIMIT_S = 1.0
MODELS = ("llama-3.1-8b", "gemma-3-27b", "deepseek-v3", "mixtral-8x7b", "gpt-oss-120b")
WEIGHTS = ("fp16", "int8", "int4-g128", "nf4")
SIZES = tuple(f"{gib}GiB" for gib in range(1, 501))


def median_s(run: Callable[[], object], rounds: int) -> float:
    """Median wall-clock seconds of ``run``, called once before unmeasured."""
    run()
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return median(times)


def main() -> None:
    chosen = choose(Choices(model="llama-3.1-8b", device="rtx-4090"))
    plan_us = 1e6 * median_s(lambda: plan(chosen.architecture, chosen.deployment, chosen.workload), 2_000)
    print(f"plan(), warm       {plan_us:6.1f} µs   the aim is under {PLAN_LIMIT_US} µs")

    cells = len(MODELS) * len(WEIGHTS) * len(SIZES)
    models = [presets.load_preset(name) for name in MODELS]
    table_s = median_s(lambda: table(models, SIZES, WEIGHTS, Choices(model="")), 3)
    print(f"a table            {table_s:6.2f} s    {cells:,} cells; the aim is under {TABLE_LIMIT_S:g} s")


if __name__ == "__main__":
    main()
