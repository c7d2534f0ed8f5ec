"""How a whole model remembers, in a few plain words: which layers keep every token, which a window, which a state."""

from collections import Counter
from collections.abc import Callable

from planner.answers.explain import sharing_words
from planner.architecture import (
    Architecture,
    Attention,
    CompressedAttention,
    CrossAttention,
    LatentAttention,
    Layer,
    Recurrence,
)


def attention_words(architecture: Architecture) -> str:
    """Such as ``four heads share (GQA)``, ``52 of 62 layers look back 1,024`` or ``1 layer in 4 keeps every token``.

    A window as long as the model's own limit is none.
    """
    layers, limit = architecture.layers, architecture.max_position_embeddings
    widths = Counter(width for layer in layers if (width := _window(layer, limit)))
    number = len(layers)
    growing = _count(layers, lambda layer: _keeps_all(layer, limit))
    if any(isinstance(mixer, CompressedAttention) for layer in layers for mixer in layer.mixers):
        return "tokens are compressed together"
    if _count(layers, _has_state):
        return _hybrid(growing, widths, number)
    if widths:
        return f"{_of(widths.total(), number, 'look', 'looks')} back {max(widths):,}"
    words, images = _sharing(layers), _count(layers, _sees_image)
    if images:
        return f"{words}, {_of(images, number, 'see', 'sees')} an image"
    silent = _count(layers, lambda layer: not layer.mixers)
    return f"{words}, {_of(silent, number, 'keep', 'keeps')} nothing" if silent else words


def _hybrid(growing: int, widths: Counter[int], number: int) -> str:
    if growing == number:
        return "every token and a state in all layers"
    if growing:
        return f"{_of(growing, number, 'keep', 'keeps')} every token"
    if widths:
        return f"{_of(widths.total(), number, 'look', 'looks')} back {max(widths):,}, the rest a state"
    return "a state of fixed size"


def _of(part: int, number: int, many: str, one: str) -> str:
    """``all layers``, ``half the layers``, ``1 layer in 4``, ``52 of 62 layers``, with the verb that goes with it."""
    if part == number:
        return f"all layers {many}"
    if 2 * part == number:
        return f"half the layers {many}"
    if number % part == 0:
        return f"1 layer in {number // part} {one}"
    return f"{part} of {number} layers {many}"


def _count(layers: tuple[Layer, ...], holds: Callable[[Layer], bool]) -> int:
    return sum(holds(layer) for layer in layers)


def _keeps_all(layer: Layer, limit: int | None) -> bool:
    return any(
        isinstance(mixer, Attention | LatentAttention) and not _is_bounded(mixer.window_tokens, limit)
        for mixer in layer.mixers
    )


def _window(layer: Layer, limit: int | None) -> int | None:
    """How far back *layer* looks, if that is its limit."""
    if _keeps_all(layer, limit):
        return None
    return max((m.window_tokens or 0 for m in layer.mixers if isinstance(m, Attention | LatentAttention)), default=None)


def _is_bounded(window: int | None, limit: int | None) -> bool:
    return window is not None and (limit is None or window + 1 < limit)


def _has_state(layer: Layer) -> bool:
    return any(isinstance(mixer, Recurrence) for mixer in layer.mixers)


def _sees_image(layer: Layer) -> bool:
    return any(isinstance(mixer, CrossAttention) for mixer in layer.mixers)


def _sharing(layers: tuple[Layer, ...]) -> str:
    for layer in layers:
        for mixer in layer.mixers:
            if isinstance(mixer, LatentAttention):
                return "one compressed vector (MLA)"
            if isinstance(mixer, Attention):
                return sharing_words(mixer)
    return "keeps nothing"
