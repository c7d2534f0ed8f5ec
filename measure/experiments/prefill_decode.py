"""Two phases: a prompt of P tokens in one pass, then steps against a cache of C tokens; cost per token of each."""

import copy
from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields

from measure.experiments.base import TOO_FEW, Report, Settings, Table, rows_of
from measure.fitting import measured_speed
from measure.models import narrow_source
from measure.pictures import lines
from measure.records import Case, Record
from measure.running import Running, needed_for, start
from measure.setup import Setup
from measure.worker import Message
from planner.measurements import MeasuredPass
from planner.units import format_figure

NAME = "prefill-decode"
PROMPTS, QUICK_PROMPTS = (8, 40, 128, 512, 1_024), (8, 40, 128, 256)
CACHES, QUICK_CACHES = (16, 128, 1_024, 2_048), (16, 512)
REPEATS = 5
PASS = tuple(field.name for field in fields(MeasuredPass))
STEPS = 4
"""Decode steps that are timed together; the cache grows by as many."""


def cases(setup: Setup) -> list[Case]:
    found = [{"phase": "prefill", "tokens": tokens} for tokens in (QUICK_PROMPTS if setup.quick else PROMPTS)]
    found += [{"phase": "decode", "tokens": tokens} for tokens in (QUICK_CACHES if setup.quick else CACHES)]
    found += [{"phase": "narrow", "tokens": QUICK_CACHES[0]}]
    return [Case(experiment=NAME, name=f"{each['phase']} {each['tokens']}", settings=each) for each in found]


def needed_bytes(settings: Settings, setup: Setup) -> int:
    return needed_for(setup, 1, settings["tokens"] + STEPS)


def run(settings: Settings, setup: Setup) -> Iterator[Message]:
    running, tokens = start(setup), settings["tokens"]
    memory: dict[str, int | None] = {}
    names = running.names()
    if settings["phase"] == "narrow":  # as many layers with nothing in them: tells their fixed time from reading
        running = start(setup, narrow_source(len(running.prediction.architecture.layers)))
    if settings["phase"] == "prefill":
        prompt = running.prompt(1, tokens)
        memory = running.watched_pass(prompt)[1]
        seconds, made, new, cached = running.seconds(lambda: running.forward(prompt), REPEATS), tokens, tokens, 0
    else:
        seconds, made, new, cached = _decode_seconds(running, tokens), 1, 1, tokens
    row = running.pass_row(1, new, cached, seconds, memory) | names
    yield {
        "phase": settings["phase"],
        "tokens": tokens,
        "seconds_per_token": seconds / made,
        "tokens_per_s": made / seconds,
        "read_bytes_per_s": round(row["read_bytes"] / seconds),
        "operations_per_s": round(row["operations"] / seconds),
        **row,
    }


def _decode_seconds(running: Running, tokens: int) -> float:
    """The seconds of one of STEPS steps against a cache of *tokens*, which grows anew for each repetition."""
    cache, last = running.forward(running.prompt(1, tokens))[1], running.prompt(1, 1, seed=1)
    caches = [copy.deepcopy(cache) for _ in range(REPEATS + 1)]

    def steps() -> None:
        cache = caches.pop()
        for _ in range(STEPS):
            _, cache = running.forward(last, cache)

    return running.seconds(steps, REPEATS) / STEPS


def report(records: Sequence[Record], setup: Setup) -> Report:
    """The phases, and the speed model's constants fitted to them, with what each pass takes by these."""
    rows = rows_of(records)
    passes = [MeasuredPass(**{key: row[key] for key in PASS}) for row in rows]
    fitted = measured_speed(passes)
    for row, one in zip(rows, passes, strict=True):
        row |= {
            "time_to_first_token_s": one.seconds if row["phase"] == "prefill" else None,
            "fitted_s": fitted.seconds(one) if fitted else None,
        }
    prefills, decodes = ([row for row in rows if row["phase"] == phase] for phase in ("prefill", "decode"))
    lesson = TOO_FEW
    if prefills and decodes:
        cheapest = min(prefills, key=lambda row: row["seconds_per_token"])
        first, last = decodes[0], decodes[-1]
        read_ms, written_ms = (1e3 * row["seconds_per_token"] for row in (cheapest, first))
        growth = last["seconds_per_token"] / first["seconds_per_token"]
        lesson = (
            f"A prompt's token costs {format_figure(read_ms)} ms and a generated one {format_figure(written_ms)} ms, "
            f"{written_ms / read_ms:.1f} times as much, since a prompt's tokens share one pass over the weights; a "
            f"step with {last['tokens']:,} tokens in the cache takes {growth:.2f} times as long as with "
            f"{first['tokens']:,}"
        )
    chart = lines(
        [*prefills, *decodes], ("tokens", "tokens of the prompt, or in the cache"),
        ("seconds_per_token", "seconds a token"), "phase", log_x=True, log_y=True,
    )  # fmt: skip
    constants = Table(name="constants", rows=[asdict(fitted)] if fitted else [])
    return Report(tables=(Table(rows=rows, chart=chart), constants), lesson=f"{lesson}.")
