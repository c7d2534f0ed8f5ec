"""Why a start failed, in words: one title and one sentence for each kind of failure."""

from collections.abc import Callable, Mapping

from planner.startups.report import LogReport
from planner.units import GIB, format_bytes, format_count

CONTEXTS = ("max_model_len", "max_seq_len", "n_ctx", "context_length")

Figures = Mapping[str, int | float]
"""The values of readings, by name."""


def figures_of(report: LogReport) -> Figures:
    """What was read."""
    return {row.name: row.value for row in report.readings}


def failure_title(report: LogReport) -> str:
    """That it failed, with the figure that matters most."""
    kind = "" if report.failure is None else report.failure.kind
    return _FAILED.get(kind, _did_not_start)(figures_of(report), report)


def failure_words(report: LogReport) -> str:
    """Why a start failed, in its figures, as far as the log says it; nothing for one that did not."""
    if report.failure is None or report.failure.kind not in _WHY:
        return ""
    return _WHY[report.failure.kind](figures_of(report), report)


def _context(report: LogReport) -> str:
    """What the server was asked to hold."""
    text = next((report.settings[name] for name in CONTEXTS if name in report.settings), "").replace(",", "")
    is_said = text.isascii() and text.isdigit() and len(text) < 16
    return f"**{int(text):,} tokens**" if is_said else "its whole context"


def _request_title(figures: Figures, report: LogReport) -> str:
    if (short := _short_bytes(report)) is not None:
        return f"It did not start: {short / GIB:.2f} GiB of cache short"
    if held := _held_tokens(figures):
        return f"It did not start: there is room for {format_count(held)} tokens"
    return _did_not_start(figures, report)


def _request_why(figures: Figures, report: LogReport) -> str:
    asked = f"The server asked for room for one request of {_context(report)}"
    if _short_bytes(report) is not None:
        return f"{asked} ({format_bytes(figures['request'])}); **{format_bytes(figures['pool'])}** is left."
    held = _held_tokens(figures)
    return f"{asked}, and the cache holds {f'**{held:,} tokens**' if held else 'fewer'}."


def _held_tokens(figures: Figures) -> int:
    """What the cache holds: as printed, or so many blocks of so many tokens; 0 where neither is."""
    return int(figures.get("pool_tokens", figures.get("blocks", 0) * figures.get("block", 0)))


def _short_bytes(report: LogReport) -> int | float | None:
    """What the cache lacks for one request; ``None`` where one of the two is not printed in bytes."""
    sizes = {row.name: row.value for row in report.readings if row.unit == "bytes"}
    return sizes["request"] - sizes["pool"] if {"request", "pool"} <= sizes.keys() else None


def _pool_title(figures: Figures, report: LogReport) -> str:
    pool = figures.get("pool", 0)
    if pool < 0:
        return f"It did not start: {format_bytes(-pool)} short before any cache"
    return "It did not start: nothing is left for the cache"


def _pool_why(figures: Figures, report: LogReport) -> str:
    weights = f" of **{format_bytes(figures['weights'])}**" if "weights" in figures else ""
    return f"Weights{weights} and what the engine itself needs take all of its share of the card."


def _free_title(figures: Figures, report: LogReport) -> str:
    if "free" in figures and "budget" in figures:
        return f"It did not start: others hold {format_bytes(figures['budget'] - figures['free'])} that it wanted"
    return "It did not start: others take the card"


def _free_why(figures: Figures, report: LogReport) -> str:
    if {"free", "card", "budget"} <= figures.keys():
        return (
            f"It wanted **{format_bytes(figures['budget'])}** of the card's {format_bytes(figures['card'])}, and only "
            f"**{format_bytes(figures['free'])}** were free: another program holds the rest."
        )
    return "Another program holds the rest of the card."


def _states_title(figures: Figures, report: LogReport) -> str:
    blocks = figures.get("blocks")
    return _did_not_start(figures, report) if blocks is None else f"It did not start: room for {int(blocks):,} requests"


def _states_why(figures: Figures, report: LogReport) -> str:
    asked = report.settings.get("max_num_seqs", "")
    asked = asked if asked.isascii() and asked.isdigit() else ""
    return f"Each request keeps a state of its own, and {f'{asked} at once were' if asked else 'more were'} asked for."


def _memory_title(figures: Figures, report: LogReport) -> str:
    asked = figures.get("allocation")
    return "It ran out of memory" if asked is None else f"It ran out of memory, asking for {format_bytes(asked)} more"


def _memory_why(figures: Figures, report: LogReport) -> str:
    weights = f"The weights took **{format_bytes(figures['weights'])}**. " if "weights" in figures else ""
    return f"{weights}What it asked for next was not there."


def _main_memory_title(figures: Figures, report: LogReport) -> str:
    if {"main_memory", "main_memory_free"} <= figures.keys():
        short = figures["main_memory"] - figures["main_memory_free"]
        return f"It did not start: {format_bytes(short)} of main memory short"
    return "It did not start: too little main memory"


def _main_memory_why(figures: Figures, report: LogReport) -> str:
    if {"main_memory", "main_memory_free"} <= figures.keys():
        wanted, free = format_bytes(figures["main_memory"]), format_bytes(figures["main_memory_free"])
        return f"The model wants **{wanted}** of main memory beside the card, and **{free}** is free."
    return "The model wants more of main memory beside the card than is free."


def _buffer_title(figures: Figures, report: LogReport) -> str:
    return "It did not start: one buffer is larger than the driver allows"


def _buffer_why(figures: Figures, report: LogReport) -> str:
    asked = f" of **{format_bytes(figures['allocation'])}**" if "allocation" in figures else ""
    return f"The driver gives no buffer{asked} in one piece, however much is free: fewer layers or a smaller batch do."


def _other_why(figures: Figures, report: LogReport) -> str:
    return "The log ends before it says why, or says it in words that are not about memory."


def _did_not_start(figures: Figures, report: LogReport) -> str:
    return "It did not start"


_Words = Callable[[Figures, LogReport], str]
_FAILED: Mapping[str, _Words] = {
    "request": _request_title,
    "pool": _pool_title,
    "free": _free_title,
    "states": _states_title,
    "memory": _memory_title,
    "main_memory": _main_memory_title,
    "buffer": _buffer_title,
}
_WHY: Mapping[str, _Words] = {
    "request": _request_why,
    "pool": _pool_why,
    "free": _free_why,
    "states": _states_why,
    "memory": _memory_why,
    "main_memory": _main_memory_why,
    "buffer": _buffer_why,
    "other": _other_why,
}
"""By the kind of failure."""
