"""What a draft takes of a device: its weights, its cache, and what checking several tokens at once needs."""

from dataclasses import replace

from planner.architecture import Layer
from planner.deployment import Deployment
from planner.draft import Draft
from planner.engines.base import Engine, Rank
from planner.engines.split import split_heads
from planner.kv_cache import KVCacheSpec, state_bytes
from planner.line_item import Basis, Kind, LineItem
from planner.shares import shares
from planner.weights import model_bytes

LOGITS_BYTES = 4
"""Logits are sampled from in 32 bits."""


def draft_weights_item(draft: Draft, deployment: Deployment) -> LineItem:
    """One device's share: the draft is split as the model is, and lies whole on the last pipeline stage."""
    return LineItem(
        name="draft weights",
        kind=Kind.WEIGHTS,
        bytes=model_bytes(draft.layers, draft.tensors, draft.weights, shares(deployment)),
        basis=Basis.ASSUMED if draft.is_assumed else Basis.EXACT,
        source=draft.source,
    )


def draft_specs(
    engine: Engine, draft: Draft, layers: tuple[Layer, ...], deployment: Deployment, is_last: bool
) -> tuple[KVCacheSpec, ...]:
    """What one request keeps beside the model's cache on a device that holds *layers* of the model.

    The draft's own cache on the last stage; and a copy of every recurrent state for each drafted token, to go back to
    when it is rejected. Source: vllm/v1/kv_cache_interface.py (num_speculative_blocks), llama.cpp (n_rs_seq).
    """
    specs: tuple[KVCacheSpec, ...] = ()
    if is_last and draft.layers:
        rank = Rank(layers=draft.layers, tensors=draft.tensors, towers=())
        specs = engine.cache_specs(rank, replace(deployment, pipeline_parallel=1, draft=None))
        layers = (*layers, *draft.layers)
    kept = draft.draft_tokens * state_bytes(split_heads(layers, deployment.tensor_parallel), deployment.kv_cache_k)
    return (*specs, *([KVCacheSpec(fixed_bytes=kept)] if kept else ()))


def logits_item(draft: Draft, vocab_size: int, requests: int) -> LineItem:
    """A row of logits for every drafted token, beside the one that a request has anyway."""
    return LineItem(
        name="logits of drafts",
        kind=Kind.RUNTIME,
        bytes=LOGITS_BYTES * draft.draft_tokens * requests * vocab_size,
        basis=Basis.RULE,
        source=f"{requests:,} × {draft.draft_tokens} drafted tokens × {vocab_size:,} logits × {LOGITS_BYTES} B",
    )
