"""1 … 64 requests, each with a cache of 64 tokens, one step: throughput, latency, and where the knee is.

A step's time is the median of its repetitions, with the fastest and the slowest beside it: other programs' work shows
in the spread. A profile takes the fastest.
"""

import copy
import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import median
from typing import Any

from measure.experiments.base import TOO_FEW, Report, Settings, Table, rows_of
from measure.pictures import Chart, spread
from measure.records import Case, Record
from measure.running import needed_for, start, times
from measure.setup import Setup
from measure.worker import Message

NAME = "batching"
CACHE_TOKENS = 64
BATCHES, QUICK_BATCHES = (1, 2, 4, 8, 16, 32, 64), (1, 2, 4, 8, 16, 32)
REPEATS, PROMPT_REPEATS = 11, 2
KNEE_GAIN = 1.25
"""The knee: from there on, twice the requests never raise throughput by this factor again."""


def cases(setup: Setup) -> list[Case]:
    batches = QUICK_BATCHES if setup.quick else BATCHES
    return [Case(experiment=NAME, name=f"{batch} requests", settings={"batch": batch}) for batch in batches]


def needed_bytes(settings: Settings, setup: Setup) -> int:
    return needed_for(setup, settings["batch"], CACHE_TOKENS + 1)


def run(settings: Settings, setup: Setup) -> Iterator[Message]:
    running, batch = start(setup), settings["batch"]
    prompt, last = running.prompt(batch, CACHE_TOKENS), running.prompt(batch, 1, seed=1)
    cache, memory = running.watched_pass(prompt)
    prompt_s = running.seconds(lambda: running.forward(prompt), PROMPT_REPEATS)
    caches = [copy.deepcopy(cache) for _ in range(REPEATS + 1)]
    seconds = times(running.instrument, lambda: running.forward(last, caches.pop()), REPEATS)
    yield {"kind": "prompt", **running.pass_row(batch, CACHE_TOKENS, 0, prompt_s, memory)}
    yield {
        "kind": "step",
        "cache_tokens": CACHE_TOKENS,
        "predicted_cache_bytes": running.prediction.cache_bytes(batch, CACHE_TOKENS),
        "measured_cache_bytes": memory["cache_bytes"],
        "step_s": median(seconds),
        "fastest_step_s": seconds[0],
        "slowest_step_s": seconds[-1],
        "tokens_per_s": batch / median(seconds),
        **running.pass_row(batch, 1, CACHE_TOKENS, seconds[0], {}),
    }


def report(records: Sequence[Record], setup: Setup) -> Report:
    rows, prompts = rows_of(records, "step"), rows_of(records, "prompt")
    for row in rows:
        row |= {
            "throughput_ratio": row["tokens_per_s"] / rows[0]["tokens_per_s"],
            "latency_ratio": row["step_s"] / rows[0]["step_s"],
        }
    lesson = f"{TOO_FEW}."
    if len(rows) > 1:
        last = rows[-1]
        lesson = (
            f"{last['requests']} requests at once make {last['throughput_ratio']:.1f} times as many tokens a second as "
            f"{rows[0]['requests']}, and each of them waits {last['latency_ratio']:.1f} times as long; {_knee(rows)}."
        )
    wrong = [row for row in rows if row["predicted_cache_bytes"] != row["measured_cache_bytes"]]
    return Report(
        tables=(Table(rows=rows, chart=_chart(rows)), Table(name="prompts", rows=prompts)),
        lesson=lesson,
        disagreements=tuple(
            f"cache of {row['requests']} requests: {row['measured_cache_bytes'] - row['predicted_cache_bytes']:+,} B"
            for row in wrong
        ),
    )


def _knee(rows: Sequence[dict[str, Any]]) -> str:
    """From which batch on no doubling gains much; steps of any factor are reckoned as doublings."""
    knee, gain = None, 1.0
    for before, after in reversed(list(pairwise(rows))):
        doublings = math.log2(after["requests"] / before["requests"])
        gained = (after["tokens_per_s"] / before["tokens_per_s"]) ** (1 / doublings)
        if gained >= KNEE_GAIN:
            break
        knee, gain = before["requests"], gained
    if knee is None:
        return f"twice the requests still gain more than {100 * (KNEE_GAIN - 1):.0f}% there, so the knee lies beyond"
    return (
        f"the knee is at {knee}: from there on twice the requests gain less than {100 * (KNEE_GAIN - 1):.0f}%, next "
        f"{100 * (gain - 1):.0f}%"
    )


def _chart(rows: Sequence[dict[str, Any]]) -> Chart:
    """Throughput and latency as multiples of the first batch's, with the spread of the repetitions."""
    found = []
    for row in rows:
        share = {end: row[f"{end}_step_s"] / row["step_s"] for end in ("fastest", "slowest")}
        throughput, latency = row["throughput_ratio"], row["latency_ratio"]
        found += [
            {"requests": row["requests"], "what": "tokens a second", "times": throughput,
             "low": throughput / share["slowest"], "high": throughput / share["fastest"]},
            {"requests": row["requests"], "what": "seconds a step", "times": latency,
             "low": latency * share["fastest"], "high": latency * share["slowest"]},
        ]  # fmt: skip
    return spread(found, ("requests", "requests at once"), ("times", "times that of the first"), "what")
