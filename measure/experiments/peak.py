"""The peak above the weights while 256 tokens are generated: with and without a cache, eager and SDPA attention.

Without a cache the last step is the longest and decides; it alone is run. With one, prompt and every step are. Two
predictions stand beside each reading: the formula of ``measure.activations``, and the same passes on tensors without
memory (PyTorch's FakeTensorMode).
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from measure.activations import pass_bytes, score_matrix_bytes, shape_of
from measure.experiments.base import Report, Settings, Table, rows_of
from measure.instruments.cpu import StorageFollower
from measure.models import TORCH_DTYPES, find_source, library_config
from measure.pictures import lines
from measure.prediction import predict
from measure.records import Case, Record
from measure.running import Running, needed_for, start
from measure.setup import Setup
from measure.tensors import cache_of
from measure.worker import Message, Progress

NAME = "peak"
GENERATED, QUICK_GENERATED = 256, 64
PROMPTS, QUICK_PROMPTS = (40, 256, 1_024), (40, 256)
BATCHES, QUICK_BATCHES = (1, 4), (1,)
TOLERANCE = 0.01
"""A formula further off than this is named; rounding allocators add theirs on a GPU."""


def cases(setup: Setup) -> list[Case]:
    generated = QUICK_GENERATED if setup.quick else GENERATED
    found = []
    for attention in ("eager", "sdpa") if setup.attention == "auto" else (setup.attention,):
        for batch in QUICK_BATCHES if setup.quick else BATCHES:
            for prompt in QUICK_PROMPTS if setup.quick else PROMPTS:
                for cached in (True, False):
                    settings = {"attention": attention, "batch": batch, "prompt_tokens": prompt}
                    settings |= {"generated_tokens": generated, "cached": cached}
                    name = f"{attention} {batch} × {prompt} {'cached' if cached else 'uncached'}"
                    found.append(Case(experiment=NAME, name=name, settings=settings))
    return found


def needed_bytes(settings: Settings, setup: Setup) -> int:
    batch, tokens = settings["batch"], settings["prompt_tokens"] + settings["generated_tokens"]
    source = find_source(setup)
    shape = shape_of(source.architecture, source.config, predict(source.architecture, setup.dtype).element_bytes)
    whole = needed_for(setup, batch, tokens)
    if shape is None:
        return whole
    eager = settings["attention"] == "eager"
    return whole + pass_bytes(shape, batch, tokens, tokens, eager=eager, cached=False)


def run(settings: Settings, setup: Setup) -> Iterator[Message]:
    eager = settings["attention"] == "eager"
    setup = replace(setup, attention=settings["attention"])
    running = start(setup)
    batch, prompt, generated = settings["batch"], settings["prompt_tokens"], settings["generated_tokens"]
    tokens, cached = prompt + generated - 1, settings["cached"]
    running.forward(running.prompt(1, prompt))
    ids, step = running.prompt(batch, prompt if cached else tokens), running.prompt(batch, 1, seed=1)
    running.instrument.settle()
    with running.instrument.watch() as watched:
        _, cache = running.forward(ids, use_cache=cached)
        for number in range(generated - 1 if cached else 0):
            _, cache = running.forward(step, cache)
            if number % 16 == 0:
                yield Progress(share=number / generated)
        del cache
    shape = shape_of(running.loaded.source.architecture, running.loaded.source.config, running.prediction.element_bytes)
    yield {
        "model": running.loaded.source.title,
        "attention": settings["attention"],
        "cached": cached,
        "batch": batch,
        "prompt_tokens": prompt,
        "generated_tokens": generated,
        "predicted_peak_bytes": None if shape is None else _predicted(shape, batch, prompt, tokens, eager, cached),
        "measured_peak_bytes": watched.peak_bytes,
        "fake_peak_bytes": fake_peak_bytes(running, setup, batch, prompt, tokens, cached),
        "cache_bytes": running.prediction.cache_bytes(batch, tokens) if cached else 0,
        "scores_bytes": score_matrix_bytes(shape, batch, ids.shape[1], ids.shape[1]) if shape and eager else 0,
        "weights_bytes": running.prediction.weights_bytes,
    }


def _predicted(shape: Any, batch: int, prompt: int, tokens: int, eager: bool, cached: bool) -> int:
    if not cached:
        return pass_bytes(shape, batch, tokens, tokens, eager=eager, cached=False)
    first = pass_bytes(shape, batch, prompt, prompt, eager=eager, cached=True)
    return max(first, pass_bytes(shape, batch, 1, tokens, eager=eager, cached=True))


def fake_peak_bytes(running: Running, setup: Setup, batch: int, prompt: int, tokens: int, cached: bool) -> int:
    """The peak of the decisive passes on tensors that have shapes and no memory."""
    from transformers import AutoModelForCausalLM

    config = library_config(running.loaded.source)
    with FakeTensorMode(), torch.no_grad():
        dtype = TORCH_DTYPES[setup.dtype]
        model = AutoModelForCausalLM.from_config(config, dtype=dtype, attn_implementation=setup.attention).eval()
        longest = torch.ones((batch, tokens), dtype=torch.long)
        if not cached:
            with StorageFollower() as follower:
                model(input_ids=longest, use_cache=False, logits_to_keep=1)
            return follower.peak_bytes
        with StorageFollower() as follower:
            model(input_ids=longest[:, :prompt], use_cache=True, logits_to_keep=1)
        first = follower.peak_bytes
        with StorageFollower() as follower:
            cache = cache_of(model(input_ids=longest[:, :-1], use_cache=True, logits_to_keep=1))
            follower.start_peak_again()
            model(input_ids=longest[:, :1], cache=cache, use_cache=True, logits_to_keep=1)
        return max(first, follower.peak_bytes)


def report(records: Sequence[Record], setup: Setup) -> Report:
    rows = rows_of(records)
    for row in rows:
        predicted = row["predicted_peak_bytes"]
        row["error"] = None if predicted is None else predicted / row["measured_peak_bytes"] - 1
    wrong = [row for row in rows if row["error"] is not None and abs(row["error"]) > TOLERANCE]
    kinds = [row | {"how": f"{row['attention']}, {'cached' if row['cached'] else 'uncached'}"} for row in rows]
    singles = [row for row in kinds if row["batch"] == 1]
    chart = lines(
        singles, ("prompt_tokens", "tokens of the prompt"), ("measured_peak_bytes", "peak above the weights, bytes"),
        "how", log_x=True, log_y=True,
    )  # fmt: skip
    return Report(
        tables=(Table(rows=rows, chart=chart),),
        lesson=_lesson(rows),
        disagreements=tuple(
            f"{row['attention']}, {row['batch']} × {row['prompt_tokens']} tokens, "
            f"{'cached' if row['cached'] else 'uncached'}: predicted {row['error']:+.1%}"
            for row in wrong
        ),
    )


def _lesson(rows: Sequence[dict[str, Any]]) -> str:
    parts = []
    for attention in ("eager", "sdpa"):
        peaks = {
            (row["prompt_tokens"], row["cached"]): row["measured_peak_bytes"]
            for row in rows
            if row["attention"] == attention and row["batch"] == 1
        }
        ratios = [(n, peaks[n, False] / peak) for (n, cached), peak in peaks.items() if cached and (n, False) in peaks]
        if ratios:
            first = min(ratios)
            parts.append(
                f"{first[1]:.1f} times as much memory above the weights without a cache under {attention} attention"
            )
    if not parts:
        return "No pair of runs with and without a cache was measured."
    about_scores = "; SDPA never holds the score matrix" if len(parts) > 1 else ""
    return f"Generating takes {', '.join(parts)} after the shortest prompt{about_scores}."
