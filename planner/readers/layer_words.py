"""A hybrid's layers by name: one word a layer, from a list in the file or from the family's rule."""

from collections.abc import Callable

from planner.errors import UnsupportedModel
from planner.readers.values import Values
from planner.units import format_count

FULL = "full_attention"
LINEAR = "linear_attention"
_MOST_LAYERS = 4096


def layer_words(values: Values, rule: str) -> list[str]:
    """What each layer is called, by *rule* where the file has no ``layer_types`` of its own.

    Rules speak of ``full_attention`` and ``linear_attention``; what these are in a family is its ``layer_kinds``.
    """
    if values.has("layer_types") and rule != "unrotated":
        words = values.strings("layer_types", values.optional_integer("num_hidden_layers"))
    else:
        words = _RULES[rule](values)
    if values.is_set("ple_layer_ids"):
        with_memory = frozenset(values.integers("ple_layer_ids", minimum=1))
        words = [f"ngram_{word}" if index in with_memory else word for index, word in enumerate(words, start=1)]
    if not 1 <= len(words) <= _MOST_LAYERS:
        raise UnsupportedModel(
            f"{values.where}: {format_count(len(words))} layers are listed; "
            f"a model has from 1 to {format_count(_MOST_LAYERS)}."
        )
    return words


def _written(values: Values) -> list[str]:
    """No rule: the file has to say."""
    raise UnsupportedModel(
        f"{values.where}: {values.spelled('layer_types')} is missing, and nothing else says what the layers are; "
        "add it."
    )


def _every_layer(values: Values) -> list[str]:
    return [LINEAR] * values.integer("num_hidden_layers")


def _first_apart(values: Values) -> list[str]:
    """The first layer has a name of its own: RWKV-7."""
    return ["first_layer", *[LINEAR] * (values.integer("num_hidden_layers") - 1)]


def _mid_step(values: Values) -> list[str]:
    """The middle layer of every few is full; of fewer layers than half of that, the last one: PLaMo 2."""
    number, step = values.integer("num_hidden_layers"), values.integer("mamba_step", minimum=2)
    if number <= step // 2:
        return _words(values, lambda index: index == number - 1)
    return _words(values, lambda index: index % step == step // 2)


def _interval(values: Values) -> list[str]:
    """Every n-th layer is full: Qwen3-Next."""
    every = values.integer("full_attention_interval")
    return _words(values, lambda index: (index + 1) % every == 0)


def _interval_and_rest(values: Values) -> list[str]:
    """Every n-th layer is full, and so are those after the last of these: Ring."""
    every, number = values.integer("full_attention_interval"), values.integer("num_hidden_layers")
    return _words(values, lambda index: (index + 1) % every == 0 or index >= number // every * every)


def _local_layers(values: Values) -> list[str]:
    """Windowed layers by their index where the file lists them, else all but every n-th: Inkling."""
    number = values.integer("num_hidden_layers")
    if values.has("local_layer_ids"):
        local = frozenset(values.integers("local_layer_ids"))
    else:
        every = values.integer("sliding_window_pattern")
        local = frozenset(index for index in range(number) if (index + 1) % every)
    return ["hybrid_sliding" if index in local else "hybrid" for index in range(number)]


def _unrotated(values: Values) -> list[str]:
    """Every n-th layer has no rotary positions, or those that a list gives 0: Mistral Large 4."""
    number = values.integer("num_hidden_layers")
    every = values.optional_integer("no_rope_layer_interval") or 4
    rotated = (
        values.switches("no_rope_layers", number)
        if values.has("no_rope_layers")
        else [(index + 1) % every != 0 for index in range(number)]
    )
    return ["rotated" if has_positions else "unrotated" for has_positions in rotated]


def _second_of_four(values: Values) -> list[str]:
    """The first layer and the second of every four are full, the others windowed: dots 3."""
    number = values.integer("num_hidden_layers")
    return [FULL if index == 0 or index % 4 == 1 else "sliding_attention" for index in range(number)]


def _period(values: Values) -> list[str]:
    """One full layer in every period, at an offset: Jamba."""
    period, offset = values.integer("attn_layer_period"), values.integer("attn_layer_offset", minimum=0)
    return _words(values, lambda index: index % period == offset)


def _indices(values: Values) -> list[str]:
    """Full layers by their index from 0: Bamba, LFM2."""
    return _words(values, frozenset(values.integers("attn_layer_indices")).__contains__)


def _one_based(values: Values) -> list[str]:
    """Full layers by their number from 1: Kimi-Linear."""
    full = frozenset(values.integers("full_attn_layers", minimum=1))
    return _words(values, lambda index: index + 1 in full)


def _switches(values: Values) -> list[str]:
    """A list of 0 and 1 with 1 for a full layer: MiniMax-Text-01."""
    switches = values.switches("attn_type_list", values.integer("num_hidden_layers"))
    return [FULL if switch else LINEAR for switch in switches]


def _compress_ratios(values: Values) -> list[str]:
    """A list of block lengths, with more of them than layers where prediction layers have theirs: DeepSeek-V4."""
    number, ratios = values.integer("num_hidden_layers"), values.integers("compress_ratios")
    if len(ratios) < number:
        raise values.uneven("compress_ratios", len(ratios), number)
    return [str(ratio) for ratio in ratios[:number]]


def _characters(values: Values) -> list[str]:
    """A string with one character a layer: Nemotron-H."""
    words = list(values.text("hybrid_override_pattern"))
    if not words:
        raise UnsupportedModel(
            f"{values.where}: neither {values.spelled('layer_types')} nor {values.spelled('hybrid_override_pattern')} "
            "says what the layers are; add one."
        )
    number = values.optional_integer("num_hidden_layers")
    if number is not None and number != len(words):
        raise UnsupportedModel(
            f"{values.where}: {values.spelled('hybrid_override_pattern')} has {format_count(len(words))} layers and "
            f"{values.spelled('num_hidden_layers')} is {format_count(number)}."
        )
    return words


def _cycle(values: Values) -> list[str]:
    """A short list that repeats: RecurrentGemma."""
    number, words = values.integer("num_hidden_layers"), values.strings("block_types")
    if not words:
        raise values.wrong("block_types", words, "a list of layer kinds")
    return [words[index % len(words)] for index in range(number)]


def _words(values: Values, is_full: Callable[[int], bool]) -> list[str]:
    return [FULL if is_full(index) else LINEAR for index in range(values.integer("num_hidden_layers"))]


_RULES: dict[str, Callable[[Values], list[str]]] = {
    "written": _written,
    "every": _every_layer,
    "first_apart": _first_apart,
    "mid_step": _mid_step,
    "interval": _interval,
    "interval_and_rest": _interval_and_rest,
    "local_layers": _local_layers,
    "unrotated": _unrotated,
    "second_of_four": _second_of_four,
    "period": _period,
    "indices": _indices,
    "one_based": _one_based,
    "switches": _switches,
    "compress_ratios": _compress_ratios,
    "characters": _characters,
    "cycle": _cycle,
}
RULES = tuple(_RULES)
