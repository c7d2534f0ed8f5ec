"""What happened in a log, in words: one title, one sentence, and each reading as a person would call it."""

from collections.abc import Mapping

from planner.startups.comparison import Compared, Match
from planner.startups.failures import failure_title, failure_words, figures_of
from planner.startups.report import LogReport
from planner.startups.trial import ENGINE, Try
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
    "repeating": "Of these, layers that repeat",
    "allocation": "It asked for",
    "projected": "It expected to use",
    "suggested_pool": "Cache to stay in the share",
    "largest_pool": "Cache to fill the card",
    "required": "It wanted on the card",
    "estimated_weights": "Weights, as it expected",
    "estimated_cache": "Cache, as it expected",
    "estimated_compute": "Compute buffer, as it expected",
    "estimated_projector": "Vision tower, as it expected",
    "estimated_projector_graph": "Compute buffer of the vision tower, as it expected",
    "left": "Left when it failed",
    "in_use": "In use on the card",
    "torch_allocated": "Held by PyTorch then",
    "others": "Held by another process",
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
    "main_memory": "Wanted of main memory",
    "main_memory_free": "Free main memory",
    "weights_in_main_memory": "Weights in main memory",
    "cache_in_main_memory": "Cache in main memory",
    "states_in_main_memory": "States in main memory",
    "vram": "Weights on the card",
    "least_share": "Smallest share, as it says",
    "tokens_short": "Tokens short",
    "kept_states": "States that a request keeps",
}
"""By the names of readings, where the name itself is not what a person would say."""


def reading_name(name: str) -> str:
    """``Room for the cache`` for ``pool``."""
    return READINGS.get(name, name.replace("_", " ").capitalize())


def reading_value(value: int | float, unit: str) -> str:
    """A figure with its unit, as the log's and the planner's are shown alike."""
    if unit == "bytes":
        return format_bytes(value)
    text = f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"
    return f"{text}%" if unit == "percent" else text


def range_words(row: Compared) -> str:
    """``0.40 – 1.30 GiB``, the ends of what is predicted; nothing where they are one."""
    if row.low is None or row.high is None:
        return ""
    low, high = reading_value(row.low, row.unit), reading_value(row.high, row.unit)
    if low == high:
        return ""
    number, _, unit = low.partition(" ")
    return f"{number if unit == high.partition(' ')[2] else low} – {high}"


def log_title(report: LogReport) -> str:
    """What happened, with the figure that matters most."""
    if report.failure is not None:
        return failure_title(report)
    figures = figures_of(report)
    if report.spill:
        return f"It started, with {figures['offloaded']:.0f} of {figures['offloadable']:.0f} layers on the card"
    if "pool_tokens" in figures:
        return f"It started, with room for {format_count(int(figures['pool_tokens']))} tokens"
    if "pool" in figures:
        return f"It started, with {format_bytes(figures['pool'])} for the cache"
    if "cache" in figures and figures.get("cache_in_main_memory"):
        spilt = format_bytes(figures["cache_in_main_memory"])
        return f"It started, with {format_bytes(figures['cache'])} of cache on the card and {spilt} in main memory"
    if "cache" in figures or "cache_total" in figures:
        return f"It started, with {format_bytes(figures.get('cache') or figures['cache_total'])} of cache"
    number = len(report.readings)
    return f"{number} figure{'s' if number > 1 else ''}, and no sign that memory ran out"


def log_sentence(report: LogReport) -> str:
    """The figures behind the title: for a failed start why, for one that runs how well it was foreseen."""
    if report.failure is not None:
        return f"{failure_words(report)} {tries_words(report.would_start)}".strip()
    compared = [row for row in report.readings if row.match is not Match.NONE]
    if report.spill:
        return report.spill
    if not compared:
        return "These are the engine's own figures."
    good = sum(row.match is not Match.OUTSIDE for row in compared)
    return f"**{good} of {len(compared)}** figures that are predicted are as printed, or inside the predicted range."


def try_words(one: Try) -> str:
    """What a change brings."""
    tokens, at_once = one.max_context_tokens, one.max_concurrency
    if one.choices is None:
        return "By the figures that the log prints." if one.starts else "It may be enough: the log prints no more."
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


def said_once(tries: tuple[Try, ...]) -> list[Try]:
    """*tries* with each option once, in the engine's own word; one that is not enough only where no more of it is."""
    said: dict[str, Try] = {}
    for one in sorted(tries, key=lambda each: each.says != ENGINE):
        said.setdefault(one.option or one.change, one)
    enough = {_flag(one) for one in tries if one.starts}
    return [one for one in tries if said[one.option or one.change] is one and (one.starts or _flag(one) not in enough)]


def _flag(one: Try) -> str:
    return one.option.partition(" ")[0] or one.change


def tries_words(tries: tuple[Try, ...]) -> str:
    """What stands before the changes."""
    if not tries:
        return ""
    shown = said_once(tries)
    enough = sum(one.starts for one in shown)
    if not enough and all(one.choices is None for one in tries):
        return "These may be enough, by the little that the log prints:"
    if not enough:
        return "No single change that was tried is enough; these bring it nearer:"
    if enough < len(shown):
        return f"{'The' if enough == 1 else 'Any'} one with a check mark makes it start:"
    return "This makes it start:" if enough == 1 else "Any one of these makes it start:"
