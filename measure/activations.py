"""The memory of one forward pass of transformers above weights, by formula, for models of plain attention layers.

Which tensors live together was read in transformers 5.24, models/llama/modeling_llama.py and
integrations/sdpa_attention.py; the last layer's moment counts, when the cache of all layers is there.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from planner.architecture import Architecture, Attention

FP32_BYTES = 4
POSITION_BYTES = 8
GATE = "gate_proj"
"""The mark of a gated feed-forward, whose moment the formula knows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What the formula needs of a model; *element_bytes* of weights, activations and cache alike."""

    layers: int
    hidden: int
    intermediate: int
    heads: int
    kv_heads: int
    head_dim: int
    vocabulary: int
    element_bytes: int


def shape_of(architecture: Architecture, config: Mapping[str, Any], element_bytes: int) -> Shape | None:
    """The shape where all layers are the same: full attention, then a dense gated feed-forward. Else ``None``."""
    mixers = {mixer for layer in architecture.layers for mixer in layer.mixers}
    mixer = next(iter(mixers)) if len(mixers) == 1 else None
    intermediate = config.get("intermediate_size")
    tensors = [tensor for layer in architecture.layers for tensor in layer.tensors]
    is_gated = any(GATE in tensor.name for tensor in tensors) and all(tensor.active < 0 for tensor in tensors)
    is_plain = isinstance(mixer, Attention) and mixer.window_tokens is None and isinstance(intermediate, int)
    if not (is_plain and is_gated) or any(
        tensor.active >= 0 for layer in architecture.layers for tensor in layer.tensors
    ):
        return None
    return Shape(
        layers=len(architecture.layers),
        hidden=architecture.hidden_size,
        intermediate=intermediate,
        heads=mixer.num_attention_heads,
        kv_heads=mixer.num_key_value_heads,
        head_dim=mixer.head_dim,
        vocabulary=architecture.vocab_size,
        element_bytes=element_bytes,
    )


def pass_bytes(
    shape: Shape, batch: int, new: int, tokens: int, *, eager: bool, cached: bool, all_logits: bool = False
) -> int:
    """Peak above weights of a pass of *new* tokens of *batch* requests that are *tokens* long with them.

    The largest of three moments: attention and feed-forward of the last layer, beside the embedded input and the
    layer's, the tables of the rotary embedding, the positions and, eagerly, the mask; and the logits, those of the last
    position unless *all_logits*.
    """
    size = shape.element_bytes
    rows = batch * new * size
    mask = batch * new * tokens * size if eager else 0
    common = 2 * rows * shape.hidden + 2 * new * shape.head_dim * size + POSITION_BYTES * new + mask
    layer_cache = 2 * batch * tokens * shape.kv_heads * shape.head_dim * size
    cache = layer_cache * shape.layers if cached else 0
    attention = cache + _attention(shape, batch, new, tokens, eager=eager) - (layer_cache if cached else 0)
    # Eager attention returns its weights too, which are held until the layer ends.
    returned = score_matrix_bytes(shape, batch, new, tokens) if eager else 0
    feed_forward = cache + returned + rows * (2 * shape.hidden + 3 * shape.intermediate)
    # By then the layers' own tensors are gone, but for the final norm's output.
    logits = cache + rows * shape.hidden + batch * (new if all_logits else 1) * shape.vocabulary * size
    return max(common + attention, common + feed_forward, logits)


def score_matrix_bytes(shape: Shape, batch: int, new: int, tokens: int) -> int:
    """Scores of all heads of one layer, in the activations' format."""
    return batch * shape.heads * new * tokens * shape.element_bytes


def _attention(shape: Shape, batch: int, new: int, tokens: int, *, eager: bool) -> int:
    """The last layer's moment, its keys and values among it; a decode step holds its older keys twice for a while.

    Normed input, rotated queries, keys and values, both repeated for each query head: eager attention does so always,
    SDPA's kernel for the CPU when there are several queries. SDPA adds its output. Eager attention adds the
    scores, and the scores again through their softmax, which is taken in fp32, so that 16-bit scores are copied to it
    first; then the output and its copy in another order.
    """
    size = shape.element_bytes
    queries = batch * new * shape.heads * shape.head_dim * size
    own = 2 * batch * tokens * shape.kv_heads * shape.head_dim * size
    repeated = 2 * batch * tokens * shape.heads * shape.head_dim * size
    grouped = shape.heads != shape.kv_heads
    held = batch * new * shape.hidden * size + queries + own
    if not eager:
        return held + queries + (repeated if grouped and new > 1 else own // 2)
    scores = score_matrix_bytes(shape, batch, new, tokens)
    softmax = 2 * scores * FP32_BYTES // size if size < FP32_BYTES else scores
    return held + (repeated if grouped else 0) + scores + max(softmax, 2 * queries)
