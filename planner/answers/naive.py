"""What the one-formula calculators say, to show where they go wrong."""

from planner.architecture import Architecture, Attention, LatentAttention
from planner.formats import NumberFormat


def one_formula_bytes_per_token(architecture: Architecture, number_format: NumberFormat) -> int | None:
    """The usual formula: 2 · layers · key-value heads · (hidden size / attention heads) · bytes.

    It takes one head count for every layer and knows no windows, latents, states or explicit head widths.
    ``None`` for a model without attention.
    """
    for layer in architecture.layers:
        for mixer in layer.mixers:
            if isinstance(mixer, Attention | LatentAttention):
                heads = mixer.num_attention_heads
                kv_heads = mixer.num_key_value_heads if isinstance(mixer, Attention) else heads
                width = kv_heads * architecture.hidden_size // heads
                return 2 * len(architecture.layers) * number_format.bytes_for(width)
    return None
