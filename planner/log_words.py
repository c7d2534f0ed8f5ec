"""What happened in a log, in words: one title, one sentence, and each reading as a person would call it."""

from collections.abc import Callable, Mapping

from planner.log_comparison import Compared, Match
from planner.log_report import LogReport
from planner.log_try import Try
from planner.units import format_bytes, format_count

READINGS: Mapping[str, str] = {
    "pool": "Room for the cache",
    "pool_tokens": "Tokens that it holds",
    "concurrency": "Requests at once",
    "request": "One request needs",
    "longest_start": "Longest that starts",
    "card": "The card",
    "free": "Free on the card",
    "budget": "The engine's share",
    "weights": "Weights",
    "file": "Weights in the file",
    "activations": "Activation peak",
    "activations_and_estimate": "Activation peak, graphs estimated",
    "non_torch": "Libraries beside PyTorch",
    "consumed": "Weights and libraries",
    "graph_estimate": "CUDA graphs, estimated",
    "graphs": "CUDA graphs",
    "block": "Tokens in a block",
    "cache": "Cache",
    "cache_total": "Cache of all devices",
    "states": "Recurrent states",
    "compute": "Compute buffer",
    "output": "Output buffer",
    "offloaded": "Layers on the card",
    "offloadable": "Layers there are",
    "allocation": "It asked for",
    "projected": "It expected to use",
    "suggested_pool": "Cache to stay in the share",
    "largest_pool": "Cache to fill the card",
    "required": "It wanted on the card",
    "estimated_weights": "Weights, as it expected",
    "estimated_cache": "Cache, as it expected",
    "estimated_compute": "Compute buffer, as it expected",
    "left": "Left when it failed",
    "free_after_load": "Free after loading",
    "free_after_pool": "Free beside the caches",
    "printed_tokens": "Tokens, as it sums up",
    "full_tokens": "Tokens of layers that keep all",
    "window_tokens": "Tokens of windows",
    "conv_states": "Convolutions of states",
    "ssm_states": "Recurrent parts of states",
    "context": "Execution context",
    "buffers": "Runtime buffers",
    "decoder": "Decoder buffers",
    "unaccounted": "Beside all buffers",
}
"""By the names of readings, where the name itself is not what a person would say."""
CONTEXTS = ("max_model_len", "max_seq_len", "n_ctx", "context_length")


def reading_name(name: str) -> str:
    """``Room for the cache`` for ``pool``."""
    return READINGS.get(name, name.replace("_", " ").capitalize())


def reading_value(value: int | float, unit: str) -> str:
    """A figure with its unit, as the log's and the planner's are shown alike."""
    if unit == "bytes":
        return format_bytes(round(value))
    text = f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"
    return f"{text}%" if unit == "percent" else text


def range_words(row: Compared) -> str:
    """``0.40 – 1.30 GiB``, the ends of what is predicted; nothing where they are one."""
    if row.low is None or row.high is None or row.low == row.high:
        return ""
    low, high = reading_value(row.low, row.unit), reading_value(row.high, row.unit)
    number, _, unit = low.partition(" ")
    return f"{number if unit == high.partition(' ')[2] else low} – {high}"


def log_title(report: LogReport) -> str:
    """What happened, with the figure that matters most."""
    if report.failure is not None:
        return _FAILED.get(report.failure.kind, _did_not_start)(_figures(report), report)
    figures = _figures(report)
    if "pool_tokens" in figures:
        return f"It started, with room for {format_count(int(figures['pool_tokens']))} tokens"
    if "pool" in figures:
        return f"It started, with {_size(figures['pool'])} for the cache"
    if "cache" in figures or "cache_total" in figures:
        return f"It started, with {_size(figures.get('cache') or figures['cache_total'])} of cache"
    number = len(report.readings)
    return f"{number} figure{'s' if number > 1 else ''}, and no failure"


def log_sentence(report: LogReport) -> str:
    """The figures behind the title: for a failed start why, for one that runs how well it was foreseen."""
    if report.failure is not None:
        return f"{failure_words(report)} {tries_words(report.would_start)}".strip()
    compared = [row for row in report.readings if row.match is not Match.NONE]
    if not compared:
        return "These are the engine's own figures."
    good = sum(row.match is not Match.OUTSIDE for row in compared)
    return f"**{good} of {len(compared)}** figures that are predicted are as printed, or inside the predicted range."


def failure_words(report: LogReport) -> str:
    """Why a start failed, in its figures; nothing for one that did not."""
    if report.failure is None or report.failure.kind not in _WHY:
        return ""
    return _WHY[report.failure.kind](_figures(report), report)


def try_words(one: Try) -> str:
    """What a change brings."""
    tokens, at_once = one.max_context_tokens, one.max_concurrency
    if one.choices is None:
        return "By the figures that the log prints." if one.starts else "It may not be enough: the log prints no more."
    if tokens is None:
        return "Room for any length."
    if one.starts:
        many = f", {at_once:,.1f} such requests at once" if at_once is not None and at_once >= 1.1 else ""
        return f"Room for {tokens:,} tokens{many}."
    if one.shorter_option:
        return f"Not enough alone: like this it starts, with {tokens:,} tokens at most."
    return f"Not enough alone: up to {tokens:,} tokens." if tokens else "Not enough alone."


def difference_words(row: Compared) -> str:
    """``equal``, ``inside``, or by how much the reading is more or less."""
    if row.difference is None:
        return ""
    if row.match is not Match.OUTSIDE:
        return row.match.value
    sign = "+" if row.difference > 0 else "−"
    return f"{sign}{reading_value(abs(row.difference), row.unit)}"


def _figures(report: LogReport) -> Mapping[str, int | float]:
    return {row.name: row.value for row in report.readings}


def _context(report: LogReport) -> str:
    """What the server was asked to hold, in tokens."""
    text = next((report.settings[name] for name in CONTEXTS if name in report.settings), "").replace(",", "")
    return f"{int(text):,}" if text.isascii() and text.isdigit() and len(text) < 16 else "its whole context of"


def _size(value: int | float) -> str:
    return format_bytes(round(value))


Figures = Mapping[str, int | float]


def _request_title(figures: Figures, report: LogReport) -> str:
    if "request" in figures and "pool" in figures:
        return f"It did not start: {_size(figures['request'] - figures['pool'])} of cache short"
    if "pool_tokens" in figures:
        return f"It did not start: there is room for {format_count(int(figures['pool_tokens']))} tokens"
    return _did_not_start(figures, report)


def _request_why(figures: Figures, report: LogReport) -> str:
    asked = f"Your server asked for room for one request of **{_context(report)} tokens**"
    if "request" in figures and "pool" in figures:
        return f"{asked} ({_size(figures['request'])}); **{_size(figures['pool'])}** is left."
    return f"{asked}, and the cache holds fewer."


def _pool_title(figures: Figures, report: LogReport) -> str:
    pool = figures.get("pool", 0)
    if pool < 0:
        return f"It did not start: {_size(-pool)} short before any cache"
    return "It did not start: nothing is left for the cache"


def _pool_why(figures: Figures, report: LogReport) -> str:
    weights = f" of **{_size(figures['weights'])}**" if "weights" in figures else ""
    return f"Weights{weights} and what the engine itself needs take all of its share of the card."


def _free_title(figures: Figures, report: LogReport) -> str:
    if "free" in figures and "budget" in figures:
        return f"It did not start: {_size(figures['budget'] - figures['free'])} of the card are taken by others"
    return "It did not start: others take the card"


def _free_why(figures: Figures, report: LogReport) -> str:
    if {"free", "card", "budget"} <= figures.keys():
        return (
            f"It wanted **{_size(figures['budget'])}** of the card's {_size(figures['card'])}, and only "
            f"**{_size(figures['free'])}** were free: another program holds the rest."
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
    return "It ran out of memory" if asked is None else f"It ran out of memory, asking for {_size(asked)} more"


def _memory_why(figures: Figures, report: LogReport) -> str:
    weights = f"The weights took **{_size(figures['weights'])}**. " if "weights" in figures else ""
    return f"{weights}What it asked for next was not there."


def _did_not_start(figures: Figures, report: LogReport) -> str:
    return "It did not start"


def tries_words(tries: tuple[Try, ...]) -> str:
    """What stands before the changes."""
    if not tries:
        return ""
    enough = sum(one.starts for one in tries)
    if not enough:
        return "No single change that was tried is enough; these bring it nearer:"
    return "This makes it start:" if enough == 1 else "Any one of these makes it start:"


_Words = Callable[[Figures, LogReport], str]
_FAILED: Mapping[str, _Words] = {
    "request": _request_title,
    "pool": _pool_title,
    "free": _free_title,
    "states": _states_title,
    "memory": _memory_title,
}
_WHY: Mapping[str, _Words] = {
    "request": _request_why,
    "pool": _pool_why,
    "free": _free_why,
    "states": _states_why,
    "memory": _memory_why,
}
"""By the kind of failure."""
