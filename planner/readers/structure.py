"""What a family's model class builds, as switches: everything that its config files do not say."""

from planner.readers.layer_words import RULES
from planner.records import dataclass

Switch = bool | str
"""A literal, or the name of the config key that decides."""

CHOICES: dict[str, tuple[str, ...]] = {
    "layers": ("attention", "blocks", *RULES),
    "attention": ("standard", "latent"),
    "qk_norm_width": ("head", "all"),
    "feed_forward": ("gated", "plain"),
    "windows": (
        "none",
        "all",
        "pattern",
        "pattern_from_first",
        "pattern_and_first",
        "pattern_and_last",
        "pattern_from_last",
        "upper",
        "alternating_lower",
    ),
    "loops": ("none", "stacks", "middle", "span", "steps", "windowed_steps"),
    "window_kind": ("sliding", "chunked"),
    "mtp": ("none", "copies", "shared", "shared_dense", "shared_latent", "shared_windowed", "pattern", "qwen"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerKind:
    """What a family's word for a layer means: its *mixer*, and its *feed_forward* where the word decides that too."""

    mixer: str
    feed_forward: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Structure:
    """Switches of a decoder. A field's default is the plain Llama layer.

    *layers* is the rule that names each layer where the file does not: ``attention`` everywhere, ``blocks``
    where ``block_configs`` lists them one by one, else a hybrid's.

    *windows* is the rule where the file has no pattern of its own: ``pattern`` makes each ``sliding_window_pattern``-th
    layer full (``pattern_from_first`` counts from the first, ``pattern_from_last``
    from the last, ``pattern_and_first`` and ``pattern_and_last`` add one), ``upper`` windows the
    layers from ``max_window_layers`` up, ``alternating_lower`` every other layer below it. *windowed* says whether
    windows are on at all.
    """

    layers: str = "attention"
    attention: str = "standard"
    qkv_bias: Switch = False
    o_bias: Switch = False
    qk_norm: Switch = False
    qk_norm_width: str = "head"
    qk_norm_bias: Switch = False
    keys_as_values: Switch = False
    """Full-attention layers have no value projection: values are made from the keys."""
    sinks: Switch = False
    feed_forward: str = "gated"
    mlp_bias: Switch = False
    intermediate_multiple: int | str = 0
    """The feed-forward width in hidden sizes where the file gives none, or the key that says it."""
    intermediate_divisor: int = 1
    """What the file's feed-forward width counts too often: 2 where it holds gate and up projection together."""
    double_wide_shared: Switch = False
    """Layers that share another layer's cache have a feed-forward part twice as wide."""
    norms_per_layer: int = 2
    norms_by_part: Switch = False
    """Half of a layer's norms go with its mixer and half with its feed-forward part, where it has one."""
    norm_bias: Switch = False
    final_norm: Switch = True
    embedding_norm: Switch = False
    position_embeddings: Switch = False
    position_offset: int = 0
    head_bias: Switch = False
    own_head: bool = False
    """The class ties no head to its embedding, whatever the file says."""
    windows: str = "none"
    windowed: Switch = True
    window_kind: str = "sliding"
    mixture: bool = False
    """A mixture of experts: a file that does not say how many is refused, not read as a dense model."""
    router_bias: Switch = False
    expert_bias: Switch = False
    correction_bias: Switch = False
    shared_expert_gate: Switch = False
    dense_beside_experts: Switch = False
    experts_outside_mlp: Switch = False
    """Files keep a layer's experts beside its ``mlp``, which is the dense part alone."""
    attention_inputs: int = 1
    """How many hidden states attention reads side by side: 2 where the embedding goes in beside the layer's input."""
    output_gate: Switch = False
    """The query projection is twice as wide: half of it gates the attention's output."""
    state_norms: Switch = False
    """A state-space mixer normalises inside: Mamba its three small projections, Mamba-2 its output."""
    weighted_streams: Switch = True
    """The streams of hyper-connections are weighed before the head, not averaged."""
    state_in_fp32: Switch = False
    """Lightning attention's state is kept in 32 bits, not in the cache's format."""
    index_in_fp32: Switch = False
    """The class keeps the sparse-attention indexer's keys in 32 bits, whatever the cache's format."""
    mixed_streams: Switch = True
    """The streams of hyper-connections are mixed with each other, not only read and written."""
    low_rank_gates: Switch = True
    """Kimi Delta Attention's two gates go through one head's width."""
    loops: str = "none"
    """Which layers a token goes through more than once, see ``loops.py``."""
    mtp: str = "none"
    """Prediction layers as files store them: with copies of embedding and head, sharing them, or dense beside that;
    ``shared_latent`` ones have latent attention and one residual stream."""
    extra_embedding_rows: int = 0
    """Tokens that can be read but not written."""
