"""1 … 64 requests, each with a cache of 64 tokens, one step: throughput, latency, and where the knee is."""

import copy
import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

from measure.experiments.base import Report, Settings, Table, rows_of
from measure.pictures import lines
from measure.records import Case, Record
from measure.running import needed_for, start
from measure.setup import Setup
from measure.worker import Message

NAME = "batching"
CACHE_TOKENS = 64
BATCHES, QUICK_BATCHES = (1, 2, 4, 8, 16, 32, 64), (1, 4, 16, 32)
REPEATS, PROMPT_REPEATS = 5, 2
KNEE_GAIN = 1.25
"""A doubling of requests that raises throughput by less than this is past the knee."""


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
    seconds = running.seconds(lambda: running.forward(last, caches.pop()), REPEATS)
    yield {"kind": "prompt", **running.pass_row(batch, CACHE_TOKENS, 0, prompt_s, memory)}
    yield {
        "kind": "step",
        "cache_tokens": CACHE_TOKENS,
        "predicted_cache_bytes": running.prediction.cache_bytes(batch, CACHE_TOKENS),
        "measured_cache_bytes": memory["cache_bytes"],
        "step_s": seconds,
        "tokens_per_s": batch / seconds,
        **running.pass_row(batch, 1, CACHE_TOKENS, seconds, {}),
    }


def report(records: Sequence[Record], setup: Setup) -> Report:
    rows, prompts = rows_of(records, "step"), rows_of(records, "prompt")
    for row in rows:
        row |= {
            "throughput_ratio": row["tokens_per_s"] / rows[0]["tokens_per_s"],
            "latency_ratio": row["step_s"] / rows[0]["step_s"],
        }
    lesson = "No batch was measured"
    if len(rows) > 1:
        last = rows[-1]
        lesson = (
            f"{last['requests']} requests at once make {last['throughput_ratio']:.1f} times as many tokens a second as "
            f"{rows[0]['requests']}, and each waits {last['latency_ratio']:.1f} times as long; {_knee(rows)}"
        )
    wrong = [row for row in rows if row["predicted_cache_bytes"] != row["measured_cache_bytes"]]
    chart = lines(rows, ("step_s", "seconds a step"), ("tokens_per_s", "tokens a second"))
    return Report(
        tables=(Table(rows=rows, chart=chart), Table(name="prompts", rows=prompts)),
        lesson=f"{lesson}.",
        disagreements=tuple(
            f"cache of {row['requests']} requests: {row['measured_cache_bytes'] - row['predicted_cache_bytes']:+,} B"
            for row in wrong
        ),
    )


def _knee(rows: list[dict[str, float]]) -> str:
    """From which batch on doubling it gains little; steps of any factor are reckoned a doubling."""
    for before, after in pairwise(rows):
        doublings = math.log2(after["requests"] / before["requests"])
        gain = (after["tokens_per_s"] / before["tokens_per_s"]) ** (1 / doublings)
        if gain < KNEE_GAIN:
            return f"the knee is at about {before['requests']}, where twice the requests gain {100 * (gain - 1):.0f}%"
    return "the knee lies beyond"
