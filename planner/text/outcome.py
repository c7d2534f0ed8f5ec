"""What a server made of its requests, as text for a terminal. No figure is computed here."""

from collections.abc import Sequence

from planner.batching.outcome import Outcome, Spread
from planner.batching.queueing import Waiting, WhyNoFormula
from planner.batching.targets import Load
from planner.text.batching import rate_words
from planner.units import counted, counted_words, format_error, format_seconds


def outcome_text(
    outcome: Outcome,
    slots: int,
    load: Load | None,
    formula: Waiting | WhyNoFormula | None,
    ends: tuple[Outcome, Outcome] | None,
    error: float,
    skipped: int,
    warnings: Sequence[str],
) -> str:
    """Throughput in a sentence with its range, then how long requests took, then how slots and blocks were used.

    *load*: what comes, and what the *slots* take of it; ``None`` where nobody keeps coming.
    """
    lines = [
        f"{_server(outcome, slots, load)} an answer takes {format_seconds(outcome.latency.mean_s)} on average, its "
        f"first token {format_seconds(outcome.time_to_first_token.mean_s)}; {counted(outcome.requests, 'request')} in "
        f"{format_seconds(outcome.makespan_s)}: {outcome.output_tokens_per_s:,.1f} tokens/s, "
        f"{outcome.requests_per_s:,.2f} requests/s.",
        *_ends_lines(ends, error),
        "",
        f"  {'':22} {'mean':>10} {'p50':>10} {'p95':>10} {'p99':>10} {'longest':>10}",
        _spread_line("latency", outcome.latency),
        _spread_line("time to first token", outcome.time_to_first_token),
    ]
    if outcome.time_per_output_token is not None:
        lines.append(_spread_line("time per token", outcome.time_per_output_token))
    lines += [
        "",
        f"  requests inside        {outcome.mean_in_system:,.1f} on average: requests/s × mean latency (Little's law)",
        f"  slots taken            {outcome.slot_use:.1%}, each for {format_seconds(outcome.service_s)} on average",
        f"  waiting for a slot     {format_seconds(outcome.slot_wait_s)} on average",
    ]
    if load is not None:
        lines.insert(-1, f"  the most it takes      {_requests(load.most_per_s)}, with everybody waiting")
    if isinstance(formula, Waiting):
        lines[-1] += f"; {format_seconds(formula.mean_s)} by the formula of such queues (M/G/c)"
    if (pool := outcome.pool) is not None:
        lines += [
            f"  cache blocks           {pool.peak_blocks:,} at most, {pool.useful_share:.1%} of their places in use",
            f"  had it reserved        {pool.reserved_tokens:,} tokens a request: {pool.reserved_share:.1%} in use",
            f"  evictions              {_evictions(outcome)}",
        ]
        if pool.shared_blocks:
            lines.append(f"  saved by sharing       {pool.saved_block_share:.1%} of the blocks")
    if isinstance(formula, WhyNoFormula):
        lines.append(f"Note: no formula (M/G/c) says how long they wait: {formula}.")
    if skipped:
        lines.append(f"Note: left out of the trace, for they have no prompt or no answer: {counted(skipped, 'row')}.")
    return "\n".join([*lines, *(f"Note: {warning}" for warning in warnings)])


def _server(outcome: Outcome, slots: int, load: Load | None) -> str:
    """How many slots; and where they are too few for what comes, that their queue has no end."""
    words = f"With {counted(slots, 'slot')}"
    if load is None or not load.is_too_much or outcome.requests <= slots:
        return words
    if outcome.waits_for_pool and outcome.pool is not None and outcome.pool.pool_blocks is not None:
        words += f" and {counted(outcome.pool.pool_blocks, 'cache block')}"
    come, most = _requests(load.coming_per_s), rate_words(load.most_per_s)
    return f"{words} the queue only grows, since {come} come and {most} are the most that can be answered:"


def _requests(rate_per_s: float) -> str:
    return f"{counted_words(rate_words(rate_per_s), 'request')}/s"


def _evictions(outcome: Outcome) -> str:
    """How often the youngest request had to give way, and what became of its cache."""
    times = outcome.preemptions
    if not times:
        return "0, but some waited for room in the pool" if outcome.waits_for_pool else "0: the pool was never full"
    copied = [f"{use.evictions:,} copied to {use.name}" for use in outcome.tiers if use.evictions]
    again = times - sum(use.evictions for use in outcome.tiers)
    parts = [*copied, *([f"{again:,} computed again"] if again else [])]
    return f"{times:,} times the pool was full and the youngest gave way: {', '.join(parts)}"


def _ends_lines(ends: tuple[Outcome, Outcome] | None, error: float) -> list[str]:
    """Over the range of the speed model; steps that were stated have none."""
    if ends is None:
        return []
    fast, slow = ends
    return [
        f"Steps may be off by {format_error(error)}: {slow.output_tokens_per_s:,.1f} to "
        f"{fast.output_tokens_per_s:,.1f} tokens/s, answers within {format_seconds(fast.latency.p95_s)} to "
        f"{format_seconds(slow.latency.p95_s)} (95%)."
    ]


def _spread_line(name: str, spread: Spread) -> str:
    figures = (spread.mean_s, spread.p50_s, spread.p95_s, spread.p99_s, spread.max_s)
    return f"  {name:22}" + "".join(f" {format_seconds(figure):>10}" for figure in figures)
