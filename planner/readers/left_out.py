"""Sizes that a file leaves to its model class, which a plan has to say: another class of that name has others."""

from planner.readers.family import Family
from planner.readers.text_config import TextConfig
from planner.readers.values import Values

_TIED = "tie_word_embeddings"
SIZES = frozenset(
    (
        *("num_key_value_heads", "swa_num_key_value_heads", "head_dim", "v_head_dim", "swa_head_dim"),
        *("sliding_window", "num_kv_shared_layers", "kv_lora_rank", "q_lora_rank", "qk_rope_head_dim"),
        *("global_head_dim", "index_head_dim", "vocab_size", "expansion_ratio", "intermediate_multiple_size"),
        *("num_experts", "moe_intermediate_size", "shared_expert_intermediate_size", "n_shared_experts"),
        *("state_size", "expand", "num_heads", "mamba_num_heads", "mamba_head_dim", "mamba_d_ssm", "n_groups"),
        *("linear_num_key_heads", "linear_num_value_heads", "linear_key_head_dim", "linear_value_head_dim"),
        *("linear_num_heads", "linear_head_dim", "first_k_dense_replace", "expert_layer_period", "attn_layer_offset"),
        *("hidden_size_per_layer_input", "vocab_size_per_layer_input", "ple_embed_dim", "ngram_vocab_size_base"),
        *("attn_layer_period", "block_multiple_of", "H_cycles", "L_cycles", "total_ut_steps"),
        *("n_recurrent_loops", "n_input_layers", "n_output_layers"),
        *("loop_num", "loop_num_passes", "loop_layer_index_start", "loop_layer_index_end"),
    )
)
"""Keys of which twice the class's value makes some model's weights or cache over a seventh larger or smaller."""


_LESS_BY_NULL = (
    *("head_dim", "global_head_dim", "v_head_dim", "index_head_dim", "n_shared_experts"),
    *("shared_expert_intermediate_size", "hidden_size_per_layer_input", "swa_num_key_value_heads"),
    *("dense_intermediate_size", "block_ffn_dim_multiplier", "mamba_head_dim", "index_kpool"),
)
"""Sizes of a class that a file undoes by null, and so makes the model smaller."""


def left_out(text: TextConfig, top: Values, values: Values, family: Family) -> tuple[str, ...]:
    """Warnings that name what *values* have from the wrapper's class or *family*'s, and what a null undoes.

    A wrapper's head is tied by the key at its *top*, or else by its text model's.
    """
    around = text.wrapper.stated if text.wrapper else ()
    filled = (
        *(key for key in text.fallback if not values.has(key)),
        *sorted(key for key in values.filled & SIZES if values.get(key)),
        *(key for key in family.stated if values.in_file(key) is None and not (key == _TIED and top.has(key))),
        *(key for key in around if not top.has(key)),
    )
    names = ", ".join(_shown(key, values.get(key)) for key in dict.fromkeys(filled))
    said = (f"Not in the file and taken from the class's defaults: {names}.",) if names else ()
    undone = [key for key in _LESS_BY_NULL if family.defaults.get(key) and values.is_null(key) and key not in filled]
    if not undone:
        return said
    usual = ", ".join(f"{key} (else {family.defaults[key]})" for key in undone)
    return (*said, f"Null in the file, though the class has values of its own: {usual}.")


def _shown(key: str, value: object) -> str:
    """*key* with what the class has for it, if that is one word."""
    if isinstance(value, bool):
        return f"{key} ({str(value).lower()})"
    return f"{key} ({value})" if isinstance(value, int) else key
