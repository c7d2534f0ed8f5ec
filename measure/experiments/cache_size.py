"""Cache tensors against the formula, for batch × tokens and every kind of attention that the library has.

Small copies of published models: their layers' cache geometry is the published one, only depth, experts, vocabulary and
windows are cut. Weights are random; bytes do not depend on them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import torch
from transformers import DynamicCache

from measure.experiments.base import Report, Settings, Table, rows_of
from measure.instruments import find_instrument
from measure.models import find_source, load
from measure.pictures import identity
from measure.prediction import predict
from measure.records import Case, Record
from measure.running import loading_bytes
from measure.setup import Setup
from measure.tensors import cache_of, held_tensors, model_tensors, module_states, storage_bytes, tensor_bytes
from measure.worker import Message
from planner import presets
from planner.architecture import (
    Architecture,
    Attention,
    CompressedAttention,
    CrossAttention,
    LatentAttention,
    Mixer,
    Recurrence,
)

NAME = "cache-size"

MODELS = (
    "qwen2.5-0.5b",
    "smollm-135m",
    "qwen3-0.6b-base",
    "gemma-2b",
    "gemma-2-2b",
    "gemma-3-270m",
    "phi-1",
    "granite-3.1-1b-a400m",
    "granite-4.0-350m",
    "granite-swash-2b",
    "starcoder2-3b",
    "stablelm-2-1.6b",
    "bloom-560m",
    "distilgpt2",
    "opt-125m",
    "pythia-160m",
    "santacoder",
    "olmo-1b",
    "olmo-2-1b",
    "olmoe-1b-7b",
    "exaone-4.0-1.2b",
    "ernie-4.5-0.3b",
    "hunyuan-0.5b",
    "afm-4.5b",
    "nemotron-mini-4b",
    "trinity-nano",
    "deepseek-v2-lite",
    "deepseek-v4-flash",
    "glm-4.7-flash",
    "minicpm3-4b",
    "youtu-llm-2b",
    "qwen3-30b-a3b",
    "gpt-oss-20b",
    "kolibri-1",
    "lfm2-350m",
    "mamba-130m",
    "falcon-h1-0.5b",
    "qwen3.5-0.8b",
    "qwen3-coder-next",
    "recurrentgemma-2b",
    "phi-3-mini-4k",
    "gemma-4-e4b",
    "llama-4-scout",
    "kimi-linear-48b-a3b",
    "minimax-text-01",
    "nemotron-h-8b",
    "rwkv-4-7b",
    "xlstm-7b",
)
"""The smallest preset of each kind of layer that the library has, and of the most used families."""
NOT_READ = {
    "llama-3.2-11b-vision": "its cross-attention keeps an image's keys and values, and the prompts here are text",
    "yuan2-2b": "transformers has no class of it",
}
"""Presets of the kinds that no model above has, and why each is not read."""
SHAPES = ((1, 1), (1, 48), (1, 96), (3, 33))
"""Batch × tokens: below and above a small copy's window of 64."""
QUICK = (
    "qwen2.5-0.5b",
    "gemma-2b",
    "gemma-3-270m",
    "opt-125m",
    "deepseek-v2-lite",
    "lfm2-350m",
    "mamba-130m",
    "falcon-h1-0.5b",
    "qwen3.5-0.8b",
)
_WORKING_BYTES = 2**28


def cases(setup: Setup) -> list[Case]:
    if setup.model:
        return [Case(experiment=NAME, name=setup.model, settings={"model": setup.model, "scale": setup.scale})]
    names = QUICK if setup.quick else MODELS
    return [Case(experiment=NAME, name=name, settings={"model": name, "scale": "small"}) for name in names]


def needed_bytes(settings: Settings, setup: Setup) -> int:
    source = find_source(_chosen(settings, setup))
    return loading_bytes(source, predict(source.architecture, setup.dtype)) + _WORKING_BYTES


def run(settings: Settings, setup: Setup) -> Iterator[Message]:
    loaded = load(_chosen(settings, setup))
    prediction = predict(loaded.source.architecture, setup.dtype)
    instrument = find_instrument(setup.device)
    kinds = attention_kinds(loaded.source.architecture)
    for batch, tokens in SHAPES:
        prompt = torch.ones((batch, tokens), dtype=torch.long, device=instrument.device)
        with torch.no_grad(), instrument.watch() as watched:
            cache = filled_cache(loaded.model, prompt)
        held = [*held_tensors(cache), *module_states(loaded.model)]
        yield {
            "model": loaded.source.title,
            "kinds": kinds,
            "attention": loaded.attention,
            "batch": batch,
            "tokens": tokens,
            "predicted_bytes": prediction.cache_bytes(batch, tokens),
            "measured_bytes": tensor_bytes(held),
            "storage_bytes": storage_bytes(held),
            "left_bytes": watched.left_bytes,
            "weights_bytes": storage_bytes(model_tensors(loaded.model)),
            "changes": loaded.source.changes,
        }


def filled_cache(model: Any, prompt: torch.Tensor) -> Any:
    """The cache that a pass over *prompt* returns; one of its own is handed to a model that returns none."""
    cache = cache_of(model(input_ids=prompt, use_cache=True, logits_to_keep=1))
    if cache is None:
        cache = DynamicCache(config=model.config)
        model(input_ids=prompt, use_cache=True, logits_to_keep=1, cache=cache)
    return cache


def report(records: Sequence[Record], setup: Setup) -> Report:
    rows = [_compared(row) for row in rows_of(records)]
    wrong = [row for row in rows if row["difference_bytes"]]
    models = {row["model"] for row in rows}
    exact = models - {row["model"] for row in wrong}
    views = [row for row in rows if row["storage_bytes"] > row["measured_bytes"]]
    asked = max(len(models), len(records))
    lesson = f"The cache of {len(exact)} of {asked} architectures is what its formula says, to the byte"
    if views:
        most = max(views, key=lambda row: row["storage_bytes"] / row["measured_bytes"])
        lesson += (
            "; right after a prompt longer than its window a sliding layer still keeps all of the prompt, up to "
            f"{most['storage_bytes'] / most['measured_bytes']:.1f} times as much ({most['model']})"
        )
    chart = identity(rows, "predicted_bytes", "measured_bytes", "cache, bytes", "model")
    return Report(
        tables=(Table(rows=rows, chart=chart), Table(name="not-read", rows=[] if setup.model else _not_read())),
        lesson=f"{lesson}.",
        disagreements=tuple(
            f"{row['model']}, {row['batch']} × {row['tokens']} tokens: {row['difference_bytes']:+,} B" for row in wrong
        ),
    )


def _not_read() -> list[dict[str, Any]]:
    found = ((presets.find_model(name), reason) for name, reason in NOT_READ.items())
    return [
        {"model": one.title, "kinds": attention_kinds(presets.load_preset(one.name)), "reason": why}
        for one, why in found
    ]


def _chosen(settings: Settings, setup: Setup) -> Setup:
    return replace(setup, model=settings["model"], scale=settings["scale"])


def _compared(row: dict[str, Any]) -> dict[str, Any]:
    return row | {"difference_bytes": row["measured_bytes"] - row["predicted_bytes"]}


def attention_kinds(architecture: Architecture) -> str:
    """The kinds of cache in a model, as words."""
    kinds = []
    for layer in architecture.layers:
        for mixer in layer.mixers:
            kind = _kind(mixer)
            if kind not in kinds:
                kinds.append(kind)
    return " + ".join(kinds)


def _kind(mixer: Mixer) -> str:
    match mixer:
        case Attention():
            heads, kv_heads = mixer.num_attention_heads, mixer.num_key_value_heads
            shared = "multi-head" if kv_heads == heads else "multi-query" if kv_heads == 1 else "grouped"
            return shared if mixer.window_tokens is None else f"{mixer.window_kind} {shared}"
        case LatentAttention():
            return "latent"
        case CompressedAttention():
            return "compressed"
        case CrossAttention():
            return "cross"
        case Recurrence():
            return mixer.kind.replace("_", " ")
        case _:
            return "shared"
