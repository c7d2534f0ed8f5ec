"""A table for a person: how to read it, by two of its own cells, and its cells as Markdown."""

from collections.abc import Sequence

from planner.export import to_markdown
from planner.finding.bands import SCALES, Band, Show, band, cell_text
from planner.finding.table import TableRow
from planner.units import format_bytes, format_count, format_rate, format_size, words_for_tokens


def reading(cells: Sequence[TableRow], show: Show = Show.TOKENS, context_tokens: int = 0) -> str:
    """Two cells whose weights are about equal and whose room is not; ``**`` and ``*`` mark what to stress.

    The first is one that loads and leaves too little, or else one that does not load. *context_tokens* is what each
    user has where the table shows users.
    """
    good = [cell for cell in cells if band(cell, show) >= Band.LITTLE]
    poor = [cell for cell in cells if band(cell, show) is Band.TIGHT] or [cell for cell in cells if not cell.loads]
    chosen = poor[:1]
    if good and poor:
        others = [cell for cell in good if cell.model != poor[0].model] or good
        chosen.append(
            min(others, key=lambda cell: (abs(cell.weights_bytes - poor[0].weights_bytes), cell.memory_bytes))
        )
    return " ".join(_sentence(cell, show, context_tokens) for cell in chosen or good[:1])


def _sentence(cell: TableRow, show: Show, context_tokens: int) -> str:
    weighs = f"{cell.model} in {cell.weights} weighs {format_bytes(cell.weights_bytes)}"
    card = f"a card of {format_size(cell.memory_bytes)}"
    if not cell.loads:
        return f"{weighs}: on {card} it is {format_bytes(cell.short_bytes)} too big with its runtime."
    room = _tokens(cell) if show is Show.TOKENS else _users(cell, context_tokens)
    if band(cell, show) is Band.TIGHT:
        return f"{weighs}: it *loads* on {card}, but keeps only {room}."
    return f"{weighs}: on {card} it keeps {room}."


def _tokens(cell: TableRow) -> str:
    count = cell.max_context_tokens
    if count is None:
        return "a conversation of any length"
    return f"**{format_count(count)}** tokens, about {words_for_tokens(count):,} words"


def _users(cell: TableRow, context_tokens: int) -> str:
    """Room for no user at all is said in tokens: that is what they lack."""
    each = f"of {format_count(context_tokens)} tokens"
    if cell.max_users is None:
        return f"any number of users {each}"
    if cell.max_users == 0:
        return f"{_tokens(cell)}: less than one user {each}"
    return f"**{format_count(cell.max_users)}** {'user' if cell.max_users == 1 else 'users'} {each}"


def heading(cells: Sequence[TableRow], show: Show = Show.TOKENS, context_tokens: int = 0) -> str:
    """What the cells say and what they count with, for a table that stands alone."""
    what = "Tokens of context left for one user" if show is Show.TOKENS else f"Users of {context_tokens:,} tokens"
    caches = ", ".join(dict.fromkeys(cell.kv_cache for cell in cells))
    stated = {cell.overhead_bytes for cell in cells if cell.overhead_bytes is not None}
    runtime = "".join(f"; {format_bytes(size)} of runtime" for size in stated)
    return f"{what}; cache in {caches}{runtime}"


def as_markdown(cells: Sequence[TableRow], show: Show = Show.TOKENS, context_tokens: int = 0) -> str:
    """What the cells say and under which cache, then a row a model and format, a column a memory size."""
    rows: dict[tuple[str, str], dict[str, str]] = {}
    for cell in cells:
        first = {
            "Model": cell.model,
            "Weights": cell.weights,
            "A token costs": format_rate(cell.kv_bytes_per_token),
        }
        rows.setdefault((cell.model, cell.weights), first)[format_size(cell.memory_bytes)] = cell_text(cell, show)
    words = SCALES[show].words
    table = to_markdown(list(rows.values()), right=[*list(next(iter(rows.values()), {}))[2:]])
    key = f"{words[Band.OVER]}, by this much; {words[Band.TIGHT]}."
    said = "".join(f"\n{note}\n" for note in notes(cells))
    return f"{heading(cells, show, context_tokens)}.\n\n{table}\n{key}\n{said}"


def notes(cells: Sequence[TableRow]) -> list[str]:
    """What plans of the cells would say, each sentence once; of which models, unless it holds for all."""
    models = dict.fromkeys(cell.model for cell in cells)
    of: dict[str, dict[str, None]] = {}
    for cell in cells:
        for warning in cell.warnings:
            of.setdefault(warning, {})[cell.model] = None
    return [
        said if len(named) == len(models) or any(name in said for name in named) else f"{', '.join(named)}: {said}"
        for said, named in of.items()
    ]
