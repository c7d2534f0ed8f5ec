"""A table in words: how to read it, by two of its own cells."""

from collections.abc import Sequence

from planner.bands import Band, Show, band
from planner.table import TableRow
from planner.units import format_bytes, format_count, format_size, words_for_tokens


def reading(cells: Sequence[TableRow]) -> str:
    """Two cells whose weights are about equal and whose room is not; ``**`` and ``*`` mark what to stress.

    The first is one that loads and leaves too little, or else one that does not load.
    """
    good = [cell for cell in cells if band(cell, Show.TOKENS) >= Band.LITTLE]
    poor = [cell for cell in cells if band(cell, Show.TOKENS) is Band.TIGHT] or [
        cell for cell in cells if not cell.loads
    ]
    if not good:
        return _sentence(poor[0]) if poor else ""
    if not poor:
        return _sentence(good[0])
    others = [cell for cell in good if cell.model != poor[0].model] or good
    nearest = min(others, key=lambda cell: (abs(cell.weights_bytes - poor[0].weights_bytes), cell.memory_bytes))
    return f"{_sentence(poor[0])} {_sentence(nearest)}"


def _sentence(cell: TableRow) -> str:
    weighs = f"{cell.model} in {cell.weights} weighs {format_bytes(cell.weights_bytes)}"
    size = format_size(cell.memory_bytes)
    if not cell.loads:
        return f"{weighs}: on a {size} card it is {format_bytes(cell.short_bytes)} too big with its runtime."
    if cell.max_context_tokens is None:
        return f"{weighs}: on a {size} card it keeps a conversation of any length."
    tokens = (
        f"**{format_count(cell.max_context_tokens)}** tokens, about {words_for_tokens(cell.max_context_tokens):,} words"
    )
    if band(cell, Show.TOKENS) is Band.TIGHT:
        return f"{weighs}: it *loads* on a {size} card, but keeps only {tokens}."
    return f"{weighs}: on a {size} card it keeps {tokens}."
