"""The peak above the weights while 256 tokens are generated: with and without a cache, eager and SDPA attention.

Without a cache the last step is the longest and decides; it alone is run. With one, prompt and every step are. Two
predictions stand beside each reading: the formula of ``measure.activations``, and the same passes on tensors without
memory (PyTorch's FakeTensorMode).
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from typing import Any

from measure.activations import Shape, pass_bytes, score_matrix_bytes, shape_of
from measure.experiments.base import TOO_FEW, Report, Settings, Table, rows_of
from measure.fake import fake_peak_bytes
from measure.instruments.buckets import sort_into_buckets
from measure.models import find_source
from measure.pictures import lines
from measure.prediction import predict
from measure.records import Case, Record
from measure.rows import peak_ratios
from measure.running import needed_for, start
from measure.setup import Setup
from measure.tensors import held_tensors, model_tensors
from measure.worker import Message, Progress

NAME = "peak"
GENERATED, QUICK_GENERATED = 256, 64
FEW_GENERATED = 16
"""Beside which it shows how the ratio grows."""
PROMPTS, QUICK_PROMPTS = (40, 256, 1_024), (40, 256)
BATCHES, QUICK_BATCHES = (1, 4), (1,)


def cases(setup: Setup) -> list[Case]:
    generated = QUICK_GENERATED if setup.quick else GENERATED
    prompts, batches = (QUICK_PROMPTS, QUICK_BATCHES) if setup.quick else (PROMPTS, BATCHES)
    kinds = ("eager", "sdpa") if setup.attention == "auto" else (setup.attention,)
    shapes = [("last", batch, prompt, generated) for batch in batches for prompt in prompts]
    shapes += [("all", 1, prompts[0], FEW_GENERATED), *(("all", batch, prompts[0], generated) for batch in batches)]
    settings = [
        {
            "attention": attention,
            "logits": logits,
            "batch": batch,
            "prompt_tokens": prompt,
            "generated_tokens": count,
            "cached": cached,
        }
        for attention in kinds
        for logits, batch, prompt, count in shapes
        for cached in (True, False)
    ]
    return [Case(experiment=NAME, name=record_name(each), settings=each) for each in settings]


def needed_bytes(settings: Settings, setup: Setup) -> int:
    batch, tokens = settings["batch"], settings["prompt_tokens"] + settings["generated_tokens"]
    source = find_source(setup)
    shape = shape_of(source.architecture, source.config, predict(source.architecture, setup.dtype).element_bytes)
    whole = needed_for(setup, batch, tokens)
    if shape is None:
        return whole
    eager = settings["attention"] == "eager"
    every = settings["logits"] == "all"
    return whole + pass_bytes(shape, batch, tokens, tokens, eager=eager, cached=False, all_logits=every)


def run(settings: Settings, setup: Setup) -> Iterator[Message]:
    every, cached = settings["logits"] == "all", settings["cached"]
    setup = replace(setup, attention=settings["attention"])
    running = start(setup)
    source = running.loaded.source
    batch, prompt, generated = settings["batch"], settings["prompt_tokens"], settings["generated_tokens"]
    tokens = prompt + generated - 1
    running.forward(running.prompt(1, prompt))
    ids, step = running.prompt(batch, prompt if cached else tokens), running.prompt(batch, 1, seed=1)
    running.instrument.settle()
    with running.instrument.watch() as watched:
        cache = running.forward(ids, use_cache=cached, all_logits=every)[1]
        for number in range(generated - 1 if cached else 0):
            cache = running.forward(step, cache)[1]
            if number % 16 == 0:
                yield Progress(share=number / generated)
        held = list(held_tensors(cache))
        memory = running.instrument.now()
    buckets = sort_into_buckets(model_tensors(running.model), held, watched, memory)
    shape = shape_of(source.architecture, source.config, running.prediction.element_bytes)
    has_scores = shape is not None and settings["attention"] == "eager"
    yield {
        "model": source.title,
        **settings,
        "predicted_peak_bytes": None if shape is None else _predicted(shape, settings, tokens),
        "measured_peak_bytes": watched.peak_bytes,
        "predicted_cache_bytes": running.prediction.cache_bytes(batch, tokens) if cached else 0,
        "measured_cache_bytes": buckets.cache_bytes,
        "fake_peak_bytes": fake_peak_bytes(source, setup, settings),
        "scores_bytes": score_matrix_bytes(shape, batch, ids.shape[1], ids.shape[1]) if has_scores else 0,
        **asdict(buckets),
    }


def _predicted(shape: Shape, settings: Settings, tokens: int) -> int:
    eager, every = settings["attention"] == "eager", settings["logits"] == "all"
    batch, prompt = settings["batch"], settings["prompt_tokens"]
    if not settings["cached"]:
        return pass_bytes(shape, batch, tokens, tokens, eager=eager, cached=False, all_logits=every)
    first = pass_bytes(shape, batch, prompt, prompt, eager=eager, cached=True, all_logits=every)
    return max(first, pass_bytes(shape, batch, 1, tokens, eager=eager, cached=True))


def report(records: Sequence[Record], setup: Setup) -> Report:
    rows = rows_of(records)
    for row in rows:
        predicted = row["predicted_peak_bytes"]
        row["error"] = None if predicted is None else predicted / row["measured_peak_bytes"] - 1
    wrong = sorted((row for row in rows if row["error"]), key=lambda row: -abs(row["error"]))
    faked = [row for row in rows if row["fake_peak_bytes"] != row["measured_peak_bytes"]]
    kinds = [row | {"how": f"{row['attention']}, {'cached' if row['cached'] else 'uncached'}"} for row in rows]
    singles = [row for row in kinds if row["batch"] == 1 and row["logits"] == "last"]
    chart = lines(
        singles, ("prompt_tokens", "tokens of the prompt"), ("measured_peak_bytes", "peak above the weights, bytes"),
        "how", log_x=True, log_y=True,
    )  # fmt: skip
    return Report(
        tables=(Table(rows=rows, chart=chart),),
        lesson=_lesson(rows),
        disagreements=(*(_apart(row, "predicted") for row in wrong), *(_apart(row, "fake") for row in faked)),
    )


def _apart(row: dict[str, Any], by: str) -> str:
    """How far the prediction *by* the formula, or by tensors without memory, is from the reading."""
    found, measured = row[f"{by}_peak_bytes"], row["measured_peak_bytes"]
    how = "predicted" if by == "predicted" else "FakeTensorMode"
    return f"{record_name(row)}: {measured - found:+,} B, {how} {100 * (found / measured - 1):+.2g}%"


def record_name(row: Settings) -> str:
    cached = "cached" if row["cached"] else "uncached"
    shape = f"{row['batch']} × {row['prompt_tokens']} + {row['generated_tokens']}"
    return f"{row['attention']} {shape} {cached}, {row['logits']} logits"


def _lesson(rows: Sequence[dict[str, Any]]) -> str:
    eager, sdpa = (list(peak_ratios(rows, attention, "all").items()) for attention in ("eager", "sdpa"))
    if not (eager or sdpa):
        return f"{TOO_FEW}."
    tokens, ratio = (eager or sdpa)[-1]
    lesson = (
        f"Without a cache {tokens} tokens take {ratio:.1f} times as much memory beside the weights as with one: every "
        "step computes all positions and their logits again"
    )
    last = list(peak_ratios(rows, "eager" if eager else "sdpa", "last").values())
    if last:
        lesson += f" ({last[-1]:.1f} times where the last position's logits alone are computed)"
    if eager and sdpa:
        lesson += f"; {sdpa[-1][1]:.1f} times with SDPA, which holds no score matrix"
    return f"{lesson}."
