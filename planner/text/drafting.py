"""What a draft is worth, as text for a terminal. No figure is computed here."""

from collections.abc import Sequence

from planner.answers.words import if_it_did
from planner.catalogue.performance_presets import speculation_overhead
from planner.draft_trade import DraftPoint, fastest
from planner.speculation import Speculation
from planner.speed.drafting import BatchSpeculation
from planner.text.speculation import if_words_were_same
from planner.units import counted, format_bytes, format_figure, format_pace, format_seconds


def speculation_text(result: Speculation) -> str:
    """Faster or slower in a sentence with its range, then what would be better."""
    error = speculation_overhead().formula_p90_error
    return "\n".join(
        [
            f"{_verdict(result)}: a pass yields {result.expected_tokens:.2f} tokens "
            f"and takes {1 + result.draft_cost * result.draft_tokens:.2f} times as long.",
            "",
            f"  best draft length      {_best(result)}",
            f"  break-even acceptance  {_break_even(result)}",
            "Note: for one request alone; with more of them, checking several tokens is no longer free.",
            f"Note: nine of ten published speed-ups lay within {error:.0%} of this formula, which the range is.",
        ]
    )


def batch_speculation_text(
    result: BatchSpeculation, warnings: Sequence[str], fits: bool = True, same_words: bool = True
) -> str:
    """Faster or slower for all requests together, as if it did where it does not fit or has other words than the model;
    where the time of a pass goes."""
    overhead = speculation_overhead()
    first = f"{_word(result.speedup)} for {_requests(result.users)}: {_range(result)} times the speed without a draft."
    return "\n".join(
        [
            if_it_did(if_words_were_same(first, same_words), fits),
            "",
            f"  each of them              {format_pace(result.tokens_per_s_user)} tokens/s "
            f"({format_pace(result.tokens_per_s_user_low)} to {format_pace(result.tokens_per_s_user_high)})",
            f"  a step without a draft    {format_seconds(result.step_s):>8}  yields 1 token",
            f"  drafting {result.draft_tokens:<9,}        {format_seconds(result.draft_s):>8}",
            f"  checking {result.verified_tokens:<9,}        {format_seconds(result.verify_s):>8}  "
            + ("the tree, its root included" if _is_tree(result) else "its own token included"),
            f"  the host between passes   {format_seconds(result.besides_s):>8}  "
            f"{format_seconds(overhead.pass_s)} and {format_seconds(overhead.request_s)} a request, {overhead.source}",
            f"  a pass, all three         {format_seconds(result.pass_s):>8}  yields {result.expected_tokens:.2f} "
            f"tokens: {result.expected_tokens:.2f} × {format_seconds(result.step_s)} ÷ {format_seconds(result.pass_s)} "
            f"= {result.speedup:.2f}",
            *(f"Note: {warning}" for warning in warnings),
            f"Note: nine of ten published speed-ups lay within {overhead.p90_error:.0%} of this model, which the range "
            "is." + (" Their drafts were chains: of trees too little is published." if _is_tree(result) else ""),
        ]
    )


def _requests(users: int) -> str:
    return "one request" if users == 1 else f"{users:,} requests together"


def _is_tree(result: BatchSpeculation) -> bool:
    return result.verified_tokens > result.draft_tokens + 1


def draft_points_text(points: Sequence[DraftPoint], users: int) -> str:
    """What the best draft gives and takes in a sentence, then every draft in a line."""
    best = fastest(points)
    if best is points[0]:
        first = f"None of these drafts makes {counted(users, 'request')} faster."
    else:
        first = f"{best.draft} gives {_range(best)} times the speed{_lost(points[0], best, users)}."
    lines = [
        if_it_did(first, best.fits),
        "",
        f"  {'draft':24} {'drafted':>7} {'speed':>6} {'range':>12} {'tokens/s each':>14} {'range':>14} "
        f"{'draft takes':>12} {'longest context':>16}",
    ]
    for point in points:
        drafted = f"{point.draft_tokens}" if point.draft_tokens else "–"
        speeds = f"{point.speedup_low:.2f} to {point.speedup_high:.2f}" if point.draft_tokens else "–"
        rates = f"{format_figure(point.tokens_per_s_user_low)} to {format_figure(point.tokens_per_s_user_high)}"
        lines.append(
            f"  {point.draft:24} {drafted:>7} {point.speedup:>5.2f}× {speeds:>12} "
            f"{format_pace(point.tokens_per_s_user):>14} {rates:>14} "
            f"{format_bytes(point.draft_bytes):>12} {_tokens(point):>16}" + ("" if point.fits else "  does not fit")
        )
    lines += [f"Note: {warning}" for point in points for warning in point.warnings]
    return "\n".join([*lines, "Note: ranges are those of published speed-ups, and of the speed model."])


def _lost(plain: DraftPoint, best: DraftPoint, users: int) -> str:
    """What *best* takes of the context; nothing where there is none to take."""
    if best.lost_tokens is None or not plain.max_context_tokens:
        return ""
    if not best.lost_tokens:
        return f" and takes no context: {plain.max_context_tokens:,} tokens stay{_each(users)}"
    return f" and takes {best.lost_tokens:,} of {plain.max_context_tokens:,} tokens of context{_each(users)}"


def _each(users: int) -> str:
    return "" if users == 1 else f" for each of {users:,}"


def _tokens(point: DraftPoint) -> str:
    return "any length" if point.max_context_tokens is None else f"{point.max_context_tokens:,}"


def _range(found: Speculation | BatchSpeculation | DraftPoint) -> str:
    return f"{found.speedup:.2f} ({found.speedup_low:.2f} to {found.speedup_high:.2f})"


def _word(speedup: float) -> str:
    return "Faster" if speedup > 1 else "Slower" if speedup < 1 else "No faster, no slower"


def _verdict(result: Speculation) -> str:
    if result.speedup == 1:
        return _word(result.speedup)
    return f"{_word(result.speedup)}, {_range(result)} times the speed without a draft"


def _best(result: Speculation) -> str:
    if result.best_draft_tokens is None:
        limit = "without end" if result.best_speedup is None else f"towards {result.best_speedup:.2f} times"
        return f"the longer the better, {limit}"
    if result.best_draft_tokens == 0:
        return "none: at this acceptance and cost no draft helps"
    return f"{counted(result.best_draft_tokens, 'token')}, {result.best_speedup:.2f} times"


def _break_even(result: Speculation) -> str:
    if result.break_even_acceptance is None:
        return "none: drafting a token costs more than making it"
    return f"{result.break_even_acceptance:.2f}; below it the draft makes it slower"
