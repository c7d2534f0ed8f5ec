"""Answers about speed as text for a terminal. No figure is computed here."""

from planner.multiply_accumulates import CacheArithmetic
from planner.speculation import Speculation
from planner.units import format_bytes


def speculation_text(result: Speculation) -> str:
    """Faster or slower in a sentence, then what would be better."""
    return "\n".join(
        [
            f"{_verdict(result)}: a pass yields {result.expected_tokens:.2f} tokens "
            f"and takes {1 + result.draft_cost * result.draft_tokens:.2f} times as long.",
            "",
            f"  best draft length      {_best(result)}",
            f"  break-even acceptance  {_break_even(result)}",
            "Note: for one request alone; with more of them, checking several tokens is no longer free.",
        ]
    )


def arithmetic_text(result: CacheArithmetic) -> str:
    """With and without a cache, side by side."""
    return "\n".join(
        [
            f"One head of width {result.head_dim:,} over {result.tokens:,} tokens: "
            f"{result.ratio:,.1f} times the arithmetic without a cache.",
            "",
            f"  {'':14} {'multiply-accumulates':>24} {'scores of the last step':>26}",
            f"  {'with a cache':14} {result.cached:>24,} {format_bytes(result.cached_score_bytes):>26}",
            f"  {'without':14} {result.recomputed:>24,} {format_bytes(result.recomputed_score_bytes):>26}",
        ]
    )


def _verdict(result: Speculation) -> str:
    if result.speedup == 1:
        return "No faster, no slower"
    pace = f"{result.speedup:.2f} times the speed without a draft"
    return f"Faster, {pace}" if result.speedup > 1 else f"Slower, {pace}"


def _best(result: Speculation) -> str:
    if result.best_draft_tokens is None:
        limit = "without end" if result.best_speedup is None else f"towards {result.best_speedup:.2f} times"
        return f"the longer the better, {limit}"
    if result.best_draft_tokens == 0:
        return "none: at this acceptance and cost no draft helps"
    return f"{result.best_draft_tokens:,} tokens, {result.best_speedup:.2f} times"


def _break_even(result: Speculation) -> str:
    if result.break_even_acceptance is None:
        return "none: drafting a token costs more than making it"
    return f"{result.break_even_acceptance:.2f}; below it the draft makes it slower"
