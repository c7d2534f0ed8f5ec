"""How wide a token's intermediate results are in a model's widest layer."""

from planner.architecture import Architecture, Attention, LatentAttention, distinct_layers
from planner.formats import Role
from planner.gguf_mixes import tensor_kind
from planner.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Widths:
    """Elements that one token has at most in any layer.

    *attention*: in its queries and their outputs, over *heads*; *keys_and_values*: in what the cache keeps of it;
    *expanded*: in keys and values of every head made of a latent; *intermediate*: inside a dense feed-forward part;
    *experts*: in each chosen expert's output, twice, and one's inside. *window_tokens* is the widest window, ``None``
    without one.
    """

    heads: int
    attention: int
    intermediate: int
    experts: int
    keys_and_values: int
    expanded: int
    is_latent: bool
    window_tokens: int | None


def widths_of(architecture: Architecture) -> Widths:
    """The largest of each width over all layers."""
    heads = attention = expanded = intermediate = experts = keys_and_values = 0
    is_latent = False
    window_tokens: int | None = None
    for layer, _ in distinct_layers(architecture.layers):
        for tensor in layer.tensors:
            if "kv_b" in tensor.name:
                expanded = max(expanded, tensor.rows)
            if tensor_kind(tensor.name) == "ffn_down" and tensor.role is not Role.EXPERT:
                intermediate = max(intermediate, tensor.columns)
            elif tensor_kind(tensor.name) == "ffn_down":
                experts = max(experts, 2 * max(1, tensor.active) * architecture.hidden_size + tensor.columns)
        for mixer in layer.mixers:
            window = getattr(mixer, "window_tokens", None)
            if window is not None:
                window_tokens = max(window, window_tokens or 0)
            if isinstance(mixer, Attention):
                heads = max(heads, mixer.num_attention_heads)
                attention = max(attention, mixer.num_attention_heads * (mixer.head_dim + mixer.v_head_dim))
                width = mixer.num_key_value_heads * (mixer.head_dim + mixer.v_head_dim)
                keys_and_values = max(keys_and_values, width)
            elif isinstance(mixer, LatentAttention):
                is_latent = True
                heads = max(heads, mixer.num_attention_heads)
                width = 2 * mixer.kv_lora_rank + mixer.qk_rope_head_dim
                attention = max(attention, mixer.num_attention_heads * width)
                keys_and_values = max(keys_and_values, mixer.kv_lora_rank + mixer.qk_rope_head_dim)
    return Widths(
        heads=heads,
        attention=attention,
        intermediate=intermediate,
        experts=experts,
        keys_and_values=keys_and_values,
        expanded=expanded,
        is_latent=is_latent,
        window_tokens=window_tokens,
    )
