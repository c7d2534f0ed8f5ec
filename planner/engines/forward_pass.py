"""The memory of one forward pass of transformers above weights, by formula.

Which tensors live together was read in transformers 5.24, models/llama/modeling_llama.py and
integrations/sdpa_attention.py; the last layer's moment counts, when the cache of all layers is there.
"""

from planner.architecture import Architecture, Attention, LatentAttention, Layer, distinct_layers
from planner.records import dataclass

FP32_BYTES = 4
POSITION_BYTES = 8
GATE, DOWN, OUTPUT = "gate_proj", "down_proj", "o_proj"
"""The marks of a gated feed-forward, whose moment the formula knows, of its inner width, and of the heads' outputs."""


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


def plain_shape(architecture: Architecture, element_bytes: int) -> Shape | None:
    """The shape where all layers are the same: full attention, then a dense gated feed-forward. Else ``None``."""
    mixers = {mixer for layer in architecture.layers for mixer in layer.mixers}
    mixer = next(iter(mixers)) if len(mixers) == 1 else None
    layers = [layer for layer, _ in distinct_layers(architecture.layers)]
    gates = {tensor.rows for layer in layers for tensor in layer.tensors if GATE in tensor.name and tensor.rows > 1}
    is_dense = all(tensor.active < 0 for layer in layers for tensor in layer.tensors)
    if not isinstance(mixer, Attention) or mixer.window_tokens is not None or len(gates) != 1 or not is_dense:
        return None
    return Shape(
        layers=len(architecture.layers),
        hidden=architecture.hidden_size,
        intermediate=next(iter(gates)),
        heads=mixer.num_attention_heads,
        kv_heads=mixer.num_key_value_heads,
        head_dim=mixer.head_dim,
        vocabulary=architecture.vocab_size,
        element_bytes=element_bytes,
    )


def widest_shape(architecture: Architecture, layers: tuple[Layer, ...], element_bytes: int, ranks: int) -> Shape:
    """The formula's figures from the widest layer of any model, on one of *ranks* that share heads and inner width.

    A token passes through its chosen experts together, as wide as they are side by side.
    """
    kinds = [layer for layer, _ in distinct_layers(layers)]
    heads, kv_heads, head_dim = max(map(_heads, kinds), default=(1, 1, 0))
    hidden = architecture.hidden_size
    return Shape(
        layers=len(layers),
        hidden=hidden,
        intermediate=-(-max((_inner_width(layer, hidden) for layer in kinds), default=0) // ranks),
        heads=-(-heads // ranks),
        kv_heads=-(-kv_heads // ranks),
        head_dim=head_dim,
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
    cache = layer_cache_bytes(shape, batch, tokens) * shape.layers if cached else 0
    return cache + _beside_cache(shape, batch, new, tokens, eager=eager, cached=cached, all_logits=all_logits)


def activation_bytes(shape: Shape, batch: int, new: int, tokens: int, *, eager: bool) -> int:
    """The part of that peak which is not the cache of all layers."""
    return _beside_cache(shape, batch, new, tokens, eager=eager, cached=True, all_logits=False)


def layer_cache_bytes(shape: Shape, batch: int, tokens: int) -> int:
    """Keys and values of one layer."""
    return 2 * batch * tokens * shape.kv_heads * shape.head_dim * shape.element_bytes


def score_matrix_bytes(shape: Shape, batch: int, new: int, tokens: int) -> int:
    """Scores of all heads of one layer, in the activations' format."""
    return batch * shape.heads * new * tokens * shape.element_bytes


def _beside_cache(
    shape: Shape, batch: int, new: int, tokens: int, *, eager: bool, cached: bool, all_logits: bool
) -> int:
    size = shape.element_bytes
    rows = batch * new * size
    mask = batch * new * tokens * size if eager else 0
    common = 2 * rows * shape.hidden + 2 * new * shape.head_dim * size + POSITION_BYTES * new + mask
    # The last layer's keys and values are both its own tensors and part of the cache.
    own = layer_cache_bytes(shape, batch, tokens) if cached else 0
    attention = _attention(shape, batch, new, tokens, eager=eager) - own
    # Eager attention returns its weights too, which are held until the layer ends.
    returned = score_matrix_bytes(shape, batch, new, tokens) if eager else 0
    feed_forward = returned + rows * (2 * shape.hidden + 3 * shape.intermediate)
    # By then the layers' own tensors are gone, but for the final norm's output.
    logits = rows * shape.hidden + batch * (new if all_logits else 1) * shape.vocabulary * size
    return max(common + attention, common + feed_forward, logits)


def _attention(shape: Shape, batch: int, new: int, tokens: int, *, eager: bool) -> int:
    """The last layer's moment, its keys and values among it; a decode step holds its older keys twice for a while.

    Normed input, rotated queries, keys and values, both repeated for each query head: eager attention does so always,
    SDPA's kernel for the CPU when there are several queries. SDPA adds its output. Eager attention adds the
    scores, and the scores again through their softmax, which is taken in fp32, so that 16-bit scores are copied to it
    first; then the output and its copy in another order, which one query or one head does not need.
    """
    size = shape.element_bytes
    queries = batch * new * shape.heads * shape.head_dim * size
    own = layer_cache_bytes(shape, batch, tokens)
    repeated = 2 * batch * tokens * shape.heads * shape.head_dim * size
    grouped = shape.heads != shape.kv_heads
    held = batch * new * shape.hidden * size + queries + own
    if not eager:
        return held + queries + (repeated if grouped and new > 1 else own // 2)
    scores = score_matrix_bytes(shape, batch, new, tokens)
    softmax = 2 * scores * FP32_BYTES // size if size < FP32_BYTES else scores
    outputs = 2 * queries if new > 1 and shape.heads > 1 else queries
    return held + (repeated if grouped else 0) + scores + max(softmax, outputs)


def _heads(layer: Layer) -> tuple[int, int, int]:
    """Query heads, key-value heads and their width; a latent vector is expanded to a key and a value of every head."""
    found = (1, 1, 0)
    for mixer in layer.mixers:
        match mixer:
            case Attention():
                found = max(found, (mixer.num_attention_heads, mixer.num_key_value_heads, mixer.head_dim))
            case LatentAttention():
                heads = mixer.num_attention_heads
                outputs = max((t.columns for t in layer.tensors if OUTPUT in t.name), default=0)
                found = max(found, (heads, heads, outputs // heads))
    return found


def _inner_width(layer: Layer, hidden: int) -> int:
    """Inner elements of a token in the feed-forward part: of the dense one and of all chosen experts together.

    Four times the hidden size, as most have it, where no tensor says so.
    """
    downs = [tensor for tensor in layer.tensors if DOWN in tensor.name]
    dense = max((tensor.columns for tensor in downs if tensor.active < 0), default=0)
    return dense + sum(t.active * t.columns for t in downs if t.active > 0) or 4 * hidden
