"""The same tokens with and without a cache, and what each costs: a model generates, one head attends.

The head's multiply-accumulates are counted operator by operator and compared with the sums in
``planner.multiply_accumulates``.
"""

import time
from collections.abc import Iterator, Sequence
from itertools import islice
from statistics import median
from typing import Any

import torch
from torch.utils.flop_counter import FlopCounterMode

from measure.experiments.base import TOO_FEW, Report, Settings, Table, rows_of
from measure.instruments import find_instrument
from measure.pictures import lines
from measure.records import Case, Record
from measure.running import Running, needed_for, start, times
from measure.setup import Setup
from measure.worker import Message, Progress
from planner.multiply_accumulates import cached, recomputed, score_bytes

NAME = "cache-exactness"
PROMPT_TOKENS = 40
HEAD_DIM = 64
LENGTHS, QUICK_LENGTHS = (16, 48, 128), (16, 48)
STEPS, QUICK_STEPS = (256, 512, 1_024, 2_048, 4_096, 8_192), (256, 512, 1_024, 2_048)
COUNTED_STEPS = (16, 64, 256)
REPEATS = {"recomputed": 5, "cached": 51}
SCORES_AT_ONCE = 4
"""Scores, their mask, their scaled copy and their softmax."""


def cases(setup: Setup) -> list[Case]:
    lengths = QUICK_LENGTHS if setup.quick else LENGTHS
    steps = QUICK_STEPS if setup.quick else STEPS
    found = [{"kind": "generation", "tokens": tokens} for tokens in lengths]
    found += [{"kind": "head", "tokens": tokens} for tokens in steps]
    found += [{"kind": "sum", "tokens": tokens} for tokens in COUNTED_STEPS]
    return [Case(experiment=NAME, name=f"{each['kind']} {each['tokens']}", settings=each) for each in found]


def needed_bytes(settings: Settings, setup: Setup) -> int:
    if settings["kind"] == "generation":
        return needed_for(setup, 1, PROMPT_TOKENS + settings["tokens"])
    return SCORES_AT_ONCE * score_bytes(settings["tokens"], settings["tokens"]) if settings["kind"] == "head" else 0


def run(settings: Settings, setup: Setup) -> Iterator[Message]:
    match settings["kind"]:
        case "generation":
            yield from _generation(start(setup), settings["tokens"])
        case "head":
            yield _head_step(settings["tokens"], setup)
        case _:
            yield _head_sum(settings["tokens"])


def generated(running: Running, prompt: torch.Tensor, with_cache: bool) -> Iterator[tuple[int, float]]:
    """Greedy, without end: an id and the seconds of its step, the prompt's step first."""
    ids, cache, new = prompt, None, prompt
    while True:
        begin = time.perf_counter()
        logits, cache = running.forward(new if with_cache else ids, cache, use_cache=with_cache)
        new = logits.argmax(-1, keepdim=True)
        found = int(new)
        yield found, time.perf_counter() - begin
        ids = torch.cat([ids, new], dim=1)


def _generation(running: Running, tokens: int) -> Iterator[Message]:
    """Step by step both ways, so that what else runs here slows both."""
    prompt = running.prompt(1, PROMPT_TOKENS)
    running.forward(prompt)  # the first pass of a shape is slower
    both = zip(generated(running, prompt, with_cache=True), generated(running, prompt, with_cache=False), strict=True)
    with_, without = [], []
    for number, (one, other) in enumerate(islice(both, tokens)):
        with_.append(one)
        without.append(other)
        if number % 8 == 0:
            yield Progress(share=number / tokens)
    with_times, without_times = ([seconds for _, seconds in found] for found in (with_, without))
    yield {
        "kind": "generation",
        "model": running.loaded.source.title,
        "attention": running.attention,
        "prompt_tokens": PROMPT_TOKENS,
        "tokens": tokens,
        "same_tokens": sum(a == b for (a, _), (b, _) in zip(with_, without, strict=True)),
        "cached_s": sum(with_times),
        "recomputed_s": sum(without_times),
        "ratio": sum(without_times) / sum(with_times),
        "last_step_cached_s": with_times[-1],
        "last_step_recomputed_s": without_times[-1],
    }


def _head_step(tokens: int, setup: Setup) -> dict[str, Any]:
    """One step of one head at *tokens*, in fp32: all queries anew, or the newest one against cached keys."""
    instrument = find_instrument(setup.device)
    states = torch.randn(tokens, HEAD_DIM, generator=torch.Generator().manual_seed(setup.seed))
    keys = states.to(instrument.device)
    timing = {}
    sizes = {}
    for name, queries in (("recomputed", keys), ("cached", keys[-1:])):
        with instrument.watch() as watched:
            scores = queries @ keys.T
        sizes[name] = watched.left_bytes
        del scores
        # The fastest of few runs of microseconds is as much the clock's as the step's.
        found = times(instrument, lambda queries=queries: _attend(queries, keys), REPEATS[name])
        timing[name] = median(found)
    return {
        "kind": "head",
        "tokens": tokens,
        "predicted_score_bytes": score_bytes(tokens, tokens),
        "measured_score_bytes": sizes["recomputed"],
        "predicted_cached_score_bytes": score_bytes(1, tokens),
        "measured_cached_score_bytes": sizes["cached"],
        "cached_s": timing["cached"],
        "recomputed_s": timing["recomputed"],
        "ratio": timing["recomputed"] / timing["cached"],
    }


def _attend(queries: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
    return torch.softmax(queries @ keys.T / HEAD_DIM**0.5, dim=-1) @ keys


def _head_sum(tokens: int) -> dict[str, Any]:
    """All steps up to *tokens*, counted on tensors without memory."""
    keys = torch.empty(tokens, HEAD_DIM, device="meta")
    counts = {}
    for name in ("cached", "recomputed"):
        with FlopCounterMode(display=False) as counter:
            for step in range(1, tokens + 1):
                _attend(keys[step - 1 : step] if name == "cached" else keys[:step], keys[:step])
        counts[name] = counter.get_total_flops() // 2
    return {
        "kind": "sum",
        "tokens": tokens,
        "predicted_cached": cached(tokens, HEAD_DIM),
        "measured_cached": counts["cached"],
        "predicted_recomputed": recomputed(tokens, HEAD_DIM),
        "measured_recomputed": counts["recomputed"],
        "ratio": counts["recomputed"] / counts["cached"],
    }


def report(records: Sequence[Record], setup: Setup) -> Report:
    generations, heads, sums = (rows_of(records, kind) for kind in ("generation", "head", "sum"))
    different = [row for row in generations if row["same_tokens"] != row["tokens"]]
    said: list[str] = []
    if generations:
        same = "With and without a cache the tokens are the same"
        if different:
            same = f"In {len(different)} of {len(generations)} generations rounding led to other tokens without a cache"
        longest = max(generations, key=lambda row: row["tokens"])
        said.append(f"{same}, and {longest['tokens']} of them take {longest['ratio']:.1f} times as long without one")
    if heads:
        first, last = heads[0], heads[-1]
        said.append(
            f"a step of one attention head takes {first['ratio']:.0f} times as long at {first['tokens']:,} tokens "
            f"without a cache, and {last['ratio']:.0f} times at {last['tokens']:,}"
        )
    lesson = "; ".join(said) or TOO_FEW
    return Report(
        tables=(
            Table(rows=generations),
            Table(name="head", rows=heads, chart=_chart(heads)),
            Table(name="sum", rows=sums),
        ),
        lesson=f"{lesson[0].upper()}{lesson[1:]}.",
        disagreements=tuple(_disagreements([*heads, *sums])),
    )


def _chart(heads: list[dict[str, Any]]) -> Any:
    long = [
        {"tokens": row["tokens"], "seconds": row[f"{name}_s"], "how": name}
        for row in heads
        for name in ("cached", "recomputed")
    ]
    return lines(long, ("tokens", "tokens"), ("seconds", "seconds of one head's step"), "how", log_x=True, log_y=True)


def _disagreements(rows: list[dict[str, Any]]) -> Iterator[str]:
    for row in rows:
        for key, predicted in row.items():
            quantity = key.removeprefix("predicted_")
            if key.startswith("predicted_") and row[f"measured_{quantity}"] != predicted:
                difference = row[f"measured_{quantity}"] - predicted
                yield f"{quantity} at {row['tokens']:,} tokens: {difference:+,}"
