"""The buffers in which llama.cpp computes one step: a card's, and the host's part of it.

A card's buffer is one arena that is used again and again, so it is the largest of its stages and not their sum, and it
does not grow with the number of layers. Worst case of a prompt's step over the whole cache, from readings and from
https://github.com/ggml-org/llama.cpp/blob/3f545becc/src/llama-context.cpp, sched_reserve.
"""

from planner.architecture import Architecture
from planner.deployment import Deployment
from planner.engines.llama_cpp.options import Options, options
from planner.engines.llama_cpp.placement import Placement
from planner.engines.llama_cpp.widths import Widths
from planner.records import dataclass

FP32, FP16 = 4, 2
_COPIES = 3
"""With several cards the step's inputs are there four times, so that one card can work ahead of the next."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step: *tokens* of a prompt over *cells* of the cache, and *outputs* rows of logits."""

    tokens: int
    cells: int
    outputs: int


def step_of(chosen: Options, deployment: Deployment, tokens: int, requests: int) -> Step:
    cells = chosen.cells(tokens, requests)
    step_tokens = chosen.step_tokens(cells)
    slots = chosen.slots(requests) * chosen.states
    outputs = min(step_tokens, slots) if deployment.settings.rule("outputs") == "slots" else step_tokens
    return Step(tokens=step_tokens, cells=cells, outputs=outputs)


def step_bytes(
    architecture: Architecture, deployment: Deployment, placement: Placement, step: Step, copies_weights: bool
) -> int:
    """The buffer of a whole step: the largest of attention, feed-forward part and logits.

    mask            = tokens · cells · 4, or · 2 with flash attention; there, before 2026-05-28, · 6 in attention
    attention       = 4 · tokens · (heads · cells + 4 · hidden) + mask
    flash attention = 4 · tokens · (queries and their outputs + 2 · hidden) + mask + a 16-bit copy of a quantised cache
                    (ik_llama.cpp with latent attention: and a 16-bit copy of every head's keys and values)
    feed-forward    = 4 · tokens · (inner elements + 3 · hidden) + mask + a matrix that is copied from the host
    logits          = 4 · outputs · vocabulary + 4 · tokens · hidden + an output matrix that is copied from the host

    inner elements are 2 or 3 · intermediate by version, or 2 · hidden for each chosen expert and the width of one.
    *copies_weights*: the step runs on a card, and what lies in main memory is copied there.
    """
    chosen, widths = options(deployment), placement.widths
    staged_layer_bytes = placement.staged_layer_bytes if copies_weights else 0
    staged_output_bytes = placement.staged_output_bytes if copies_weights else 0
    hidden, tokens, cells = architecture.hidden_size, step.tokens, step.cells
    mask_bytes = tokens * cells * (FP16 if chosen.flash_attn else FP32)
    if chosen.flash_attn:
        attention = FP32 * tokens * (widths.attention + 2 * hidden) + _copy_bytes(deployment, widths, cells)
        attention += tokens * cells * (deployment.settings.rule("flash_mask_bytes") - FP16)
    else:
        attention = FP32 * tokens * (widths.heads * cells + 4 * hidden)
    if deployment.settings.rule("expands_latent") and deployment.settings.values["mla_attn"] > 1:
        attention += FP16 * cells * widths.expanded
    inner = max(deployment.settings.rule("inner_results") * widths.intermediate, widths.experts)
    feed_forward = FP32 * tokens * (inner + 3 * hidden) + staged_layer_bytes
    logits = FP32 * (step.outputs * architecture.vocab_size + tokens * hidden) + staged_output_bytes
    largest: int = max(attention + mask_bytes, feed_forward + mask_bytes, logits)
    if len(placement.cards) > 1 and placement.is_whole:
        largest += _COPIES * mask_bytes + 4 * FP32 * tokens * hidden
    return largest


def host_bytes(architecture: Architecture, deployment: Deployment, step: Step, window_cells: int) -> int:
    """The host's part of a step: embeddings of its tokens, and the masks of the whole cache and of windows."""
    factors = deployment.settings.rule("host_step")
    cell_bytes = factors["cells"] if options(deployment).flash_attn else FP32
    hidden_bytes: int = factors["hidden"] * architecture.hidden_size
    return step.tokens * (hidden_bytes + cell_bytes * (step.cells + min(step.cells, window_cells)))


def _copy_bytes(deployment: Deployment, widths: Widths, cells: int) -> int:
    """Keys and values of one layer in 16 bit, which some kernels make of a quantised cache."""
    is_plain = deployment.kv_cache_k.is_unquantized and deployment.kv_cache_v.is_unquantized
    if is_plain or deployment.device.vendor not in deployment.settings.rule("copies_quantized_cache"):
        return 0
    return FP16 * cells * widths.keys_and_values
