"""What kind of attention each layer has, from patterns in the file or in the class, under Hugging Face's names."""

from planner.errors import UnsupportedModel
from planner.readers.decoder import Decoder
from planner.readers.layer_words import FULL
from planner.readers.values import Values
from planner.units import shorten

SLIDING = "sliding_attention"
CHUNKED = "chunked_attention"
LATENT = "latent_attention"
CROSS = "cross_attention"
SPARSE = "sparse_attention"
_KINDS = {
    FULL: FULL,
    SLIDING: SLIDING,
    CHUNKED: CHUNKED,
    "attention": FULL,
    "minimax_m3_sparse": SPARSE,
    "window_attention": SLIDING,
}


def attention_kinds(decoder: Decoder, number: int) -> list[str]:
    """The kind of each of *number* layers."""
    values, kinds = decoder.values, _self_attention_kinds(decoder, number)
    if values.is_set("cross_attention_layers"):
        crossed = frozenset(values.integers("cross_attention_layers"))
        return [CROSS if index in crossed else kind for index, kind in enumerate(kinds)]
    if values.has("sparse_layers"):
        sparse = values.switches("sparse_layers", number)
        return [SPARSE if chosen else kind for chosen, kind in zip(sparse, kinds, strict=True)]
    return kinds


def _self_attention_kinds(decoder: Decoder, number: int) -> list[str]:
    values, structure = decoder.values, decoder.structure
    if structure.attention == "latent" and values.get("use_mla") is not False:
        return [LATENT] * number
    window = window_tokens(decoder)
    if values.has("layer_types"):
        return _written_kinds(decoder, number, window)
    if window is None:
        return [FULL] * number
    windowed = CHUNKED if structure.window_kind == "chunked" else SLIDING
    return [windowed if is_windowed else FULL for is_windowed in _windowed(decoder, number)]


def window_tokens(decoder: Decoder) -> int | None:
    """Tokens that a windowed layer keeps; None where nothing is windowed."""
    return decoder.values.optional_integer("sliding_window") if decoder.is_on(decoder.structure.windowed) else None


def _written_kinds(decoder: Decoder, number: int, window: int | None) -> list[str]:
    values = decoder.values
    kinds = values.strings("layer_types", number)
    for kind in kinds:
        if kind not in _KINDS:
            raise UnsupportedModel(
                f"{values.where}: {values.spelled('layer_types')} has {shorten(kind)!r}, a kind of layer that is not "
                "understood here."
            )
    if window is None and any(_KINDS[kind] in (SLIDING, CHUNKED) for kind in kinds):
        if not decoder.is_on(decoder.structure.windowed):
            return [FULL] * number
        raise UnsupportedModel(
            f"{values.where}: {values.spelled('layer_types')} has windowed layers, but "
            f"{values.spelled('sliding_window')} is missing."
        )
    return [_KINDS[kind] for kind in kinds]


def _windowed(decoder: Decoder, number: int) -> list[bool]:
    """Which layers have a window: the file's own list of 0 and 1 first, else the class's rule."""
    values = decoder.values
    if values.get("windowed_layers"):
        return values.switches("windowed_layers", number)
    match decoder.structure.windows:
        case "all":
            return [True] * number
        case str() as rule if rule.startswith("pattern"):
            return _by_pattern(values, rule, number)
        case "upper":
            first = values.integer("max_window_layers", minimum=0)
            return [index >= first for index in range(number)]
        case "alternating_lower":
            end = values.integer("max_window_layers", minimum=0)
            return [index % 2 == 0 and index < end for index in range(number)]
        case _:
            return [False] * number


def _by_pattern(values: Values, rule: str, number: int) -> list[bool]:
    """All but every n-th layer, or a string such as ``LLLG`` that repeats: L a local layer, G a global one."""
    pattern = values.get("sliding_window_pattern")
    if not isinstance(pattern, str):
        every = values.integer("sliding_window_pattern")
        skipped = {"pattern_from_first": 0, "pattern_from_last": 1 - number}.get(rule, 1)
        windowed = [(index + skipped) % every != 0 for index in range(number)]
        if rule == "pattern_and_first":
            return [False, *windowed[1:]]
        return [*windowed[:-1], False] if rule == "pattern_and_last" else windowed
    if not pattern or set(pattern) - set("LG"):
        raise values.wrong("sliding_window_pattern", pattern, "a whole number or a string of L and G")
    return [pattern[index % len(pattern)] == "L" for index in range(number)]
