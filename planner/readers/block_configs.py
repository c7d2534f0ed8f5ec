"""Nemotron-NAS: a search chose every layer's parts one by one, and ``block_configs`` lists what it left of each."""

from collections.abc import Mapping

from planner.errors import UnsupportedModel
from planner.readers.layer_words import FULL
from planner.readers.strange_keys import strange_keys
from planner.readers.values import Values
from planner.units import format_count

_ROUNDED_TO = 256
_READ = frozenset(
    (
        *("attention", "ffn", "no_op", "replace_with_linear", "n_heads_in_group", "ffn_mult", "intermediate_size"),
        *("window_length", "num_sink_tokens", "use_prefill_window_in_sink_attention", "unshifted_sink"),
        *("gated", "hidden_act", "sparsify"),
    )
)
"""What a block's parts are known to say; the last three lines of it add no weights and no cache."""


def block_values(values: Values) -> dict[str, object]:
    """``block_configs`` as one list a usual key.

    Layers are called ``mixer/feed-forward``, as in ``full_attention/dense`` or ``none/linear``. A group's size stands
    for the number of key-value heads, and a multiple of the hidden size for the feed-forward width.
    """
    number, heads, hidden = (values.integer(k) for k in ("num_hidden_layers", "num_attention_heads", "hidden_size"))
    words, groups, widths = [], [], []
    for index, block in enumerate(values.tables("block_configs", number)):
        attention, feed_forward = (_part(values, block, index, name) for name in ("attention", "ffn"))
        mixer, kind = _kind(attention, FULL), _kind(feed_forward, "dense")
        words.append(f"{mixer}/{kind}")
        groups.append(_key_value_heads(attention, heads) if mixer == FULL else heads)
        widths.append(_width(feed_forward, hidden) if kind == "dense" else hidden)
    return {"layer_types": words, "num_key_value_heads": groups, "intermediate_size": widths}


def _part(values: Values, block: Mapping[str, object], index: int, name: str) -> Values:
    layer = Values(block, values.model_type, place=f"{values.spelled('block_configs')}[{index}]")
    part = layer.table(name) or {}
    found = Values(part, values.model_type, place=layer.spelled(name))
    for table, owner in ((block, layer), (part, found)):
        for key in strange_keys(table, _READ, ()):
            raise UnsupportedModel(f"{owner.where}: key {owner.spelled(key)!r} is not understood here.")
    return found


def _kind(part: Values, usual: str) -> str:
    if part.flag("no_op"):
        return "none"
    return "linear" if part.flag("replace_with_linear") else usual


def _key_value_heads(attention: Values, heads: int) -> int:
    if attention.has("window_length"):
        raise UnsupportedModel(f"{attention.where}: key {attention.spelled('window_length')!r} is not understood here.")
    group = attention.integer("n_heads_in_group")
    if heads % group:
        raise attention.wrong("n_heads_in_group", group, f"a divisor of {format_count(heads)}, the number of heads")
    return heads // group


def _width(feed_forward: Values, hidden: int) -> int:
    """Two thirds of a part without a gate, rounded up: what weighs the same with one."""
    if feed_forward.has("intermediate_size"):
        return feed_forward.integer("intermediate_size")
    return -(-int(2 * feed_forward.number("ffn_mult") * hidden / 3) // _ROUNDED_TO) * _ROUNDED_TO
