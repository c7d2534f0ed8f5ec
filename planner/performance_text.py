"""Answers about speed as text for a terminal. No figure is computed here."""

from collections.abc import Sequence

from planner.batching.outcome import Outcome, Spread
from planner.batching.queueing import Waiting
from planner.cost import Cost
from planner.cost_text import money
from planner.draft_trade import DraftPoint
from planner.multiply_accumulates import CacheArithmetic
from planner.performance_presets import speculation_overhead
from planner.speculation import Speculation
from planner.speed.answer import SpeedAnswer
from planner.speed.drafting import BatchSpeculation
from planner.speed.names import MEASURED, engine_name, family_words
from planner.units import format_bytes, format_rate, format_seconds


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


def speed_text(result: SpeedAnswer) -> str:
    """Tokens a second in a sentence, then where the time of a step goes, then the curve."""
    user, prompt = result.tokens_per_s_user, result.time_to_first_token
    each = "One user" if result.users == 1 else f"Each of {result.users:,} users"
    share = result.step_parts.total_s / 100
    lines = [
        f"{each} gets {_range(user.value, user.low, user.high)} tokens/s; the first after "
        f"{format_seconds(prompt.value_s)} ({format_seconds(prompt.low_s)} to {format_seconds(prompt.high_s)}).",
        f"{result.model} on {result.device_count} × {result.device}; {_from(result)}.",
        "",
        f"  no faster than         {user.ceiling:,.1f} tokens/s: {format_bytes(result.weights_read_bytes)} of weights "
        f"and {format_bytes(result.kv_read_bytes)} of cache a step",
        f"  all users together     {result.tokens_per_s.value:,.1f} tokens/s",
        f"  a prompt of {result.prompt_tokens:<10,} {result.prompt_tokens_per_s.value:,.0f} tokens/s",
        f"  a step's time goes to  reading {result.step_parts.read_s / share:.0f}%, "
        f"arithmetic {result.step_parts.arithmetic_s / share:.0f}%, "
        f"starting each layer {result.step_parts.layers_s / share:.0f}%, "
        f"each token in it {result.step_parts.tokens_s / share:.0f}%, "
        f"exchange between cards {result.step_parts.links_s / share:.0f}%",
        f"  the knee               {result.knee_users:,} users: beyond, twice as many bring less than a third more",
        f"  memory holds           {_count(result.max_users)} users",
        "",
        f"  {'users':>8} {'tokens/s each':>14} {'together':>12}",
    ]
    lines += [f"  {p.users:>8,} {p.tokens_per_s_user:>14,.1f} {p.tokens_per_s:>12,.1f}" for p in result.curve]
    return "\n".join([*lines, *(f"Note: {warning}" for warning in result.warnings)])


def _from(result: SpeedAnswer) -> str:
    """What the figures rest on."""
    if result.family == MEASURED:
        return result.source
    return f"as measured in public, {engine_name(result.engine)} on {family_words(result.family)}"


def _range(value: float, low: float, high: float) -> str:
    return f"{value:,.1f} ({low:,.1f} to {high:,.1f})"


def _count(users: int | None) -> str:
    return "any number" if users is None else f"{users:,}"


def arithmetic_text(result: CacheArithmetic) -> str:
    """With and without a cache, side by side."""
    return "\n".join(
        [
            f"One head of width {result.head_dim:,} over {result.tokens:,} tokens: "
            f"{result.ratio:,.1f} times the arithmetic without a cache.",
            "",
            f"  {'':14} {'multiply-accumulates':>24} {'scores of the last step':>26}",
            f"  {'with a cache':14} {result.cached:>24,} {format_rate(result.cached_score_bytes):>26}",
            f"  {'without':14} {result.recomputed:>24,} {format_rate(result.recomputed_score_bytes):>26}",
            "",
            "  d wide, T tokens: d·T(T+1) with a cache, d·T(T+1)(2T+1)/3 without, which is (2T+1)/3 times as much.",
            "  Scores in fp32: 4·T bytes with a cache, 4·T² without.",
        ]
    )


def cost_text(result: Cost, currency: str) -> str:
    """Prices of a million tokens in a sentence, then how they come about."""
    output, prompt, hour, request = (
        money(amount, currency)
        for amount in (result.output_per_million, result.prompt_per_million, result.price_per_hour, result.request)
    )
    lines = [
        f"A million tokens of answers cost {output}, a million of prompts {prompt}, at {hour} an hour for all cards.",
        "",
        f"  {result.users:,} users, {result.prompt_tokens:,} + {result.output_tokens:,} tokens a request",
        f"  answers   {result.output_tokens_per_s:,.0f} tokens/s",
        f"  prompts   {result.prompt_tokens_per_s:,.0f} tokens/s",
        f"  a request {request}",
    ]
    if (found := result.energy) is not None:
        lines += [
            f"  energy    {found.joules_per_output_token:.3g} J a token of an answer, its prompt included "
            f"({found.low_joules:.3g} to {found.high_joules:.3g}); {found.kwh_per_million_tokens:,.3g} kWh a million",
            f"  power     {found.power.watts:,.0f} W ({found.power.low_watts:,.0f} to {found.power.high_watts:,.0f}), "
            f"{found.power.basis}: {found.power.source}",
        ]
    unnamed = () if currency else ("Money is in the currency of --price; --currency gives it a name.",)
    notes = (*result.warnings, *unnamed, "For a server that is always this busy; an idle hour costs the same.")
    return "\n".join([*lines, *(f"Note: {note}" for note in notes)])


def batch_speculation_text(result: BatchSpeculation, warnings: Sequence[str]) -> str:
    """Faster or slower for all requests together, and where the time of a pass goes."""
    overhead = speculation_overhead()
    word = "Faster" if result.speedup > 1 else "Slower" if result.speedup < 1 else "No faster, no slower"
    return "\n".join(
        [
            f"{word} for {result.users:,} requests together: {result.speedup:.2f} times the speed without a draft.",
            "",
            f"  a step without a draft    {format_seconds(result.step_s):>8}  yields 1 token",
            f"  drafting {result.draft_tokens:<9,}        {format_seconds(result.draft_s):>8}",
            f"  checking them             {format_seconds(result.verify_s):>8}",
            f"  what engines spend more   {format_seconds(result.besides_s):>8}  assumed: {overhead.factor:g} times "
            f"drafting and checking, {overhead.source}",
            f"  a pass, all three         {format_seconds(result.pass_s):>8}  yields {result.expected_tokens:.2f} "
            f"tokens: {result.expected_tokens:.2f} × {format_seconds(result.step_s)} ÷ {format_seconds(result.pass_s)} "
            f"= {result.speedup:.2f}",
            *(f"Note: {warning}" for warning in warnings),
        ]
    )


def draft_points_text(points: Sequence[DraftPoint], users: int) -> str:
    """What the best draft gives and takes in a sentence, then every draft in a line."""
    best = max(points, key=lambda point: point.speedup)
    if best is points[0]:
        first = f"None of these drafts makes {users:,} requests faster."
    else:
        lost = "" if best.lost_tokens is None else f" and takes {best.lost_tokens:,} of {_tokens(points[0])}"
        first = f"{best.draft} gives {best.speedup:.2f} times the speed{lost} tokens of context for each of {users:,}."
    lines = [
        first,
        "",
        f"  {'draft':24} {'drafted':>7} {'speed':>6} {'tokens/s each':>14} {'draft takes':>12} {'longest context':>16}",
    ]
    for point in points:
        drafted = f"{point.draft_tokens}" if point.draft_tokens else "–"
        lines.append(
            f"  {point.draft:24} {drafted:>7} {point.speedup:>5.2f}× {point.tokens_per_s_user:>14,.1f} "
            f"{format_bytes(point.draft_bytes):>12} {_tokens(point):>16}" + ("" if point.fits else "  does not fit")
        )
    return "\n".join(lines)


def _tokens(point: DraftPoint) -> str:
    return "any length" if point.max_context_tokens is None else f"{point.max_context_tokens:,}"


def outcome_text(
    outcome: Outcome,
    formula: Waiting | None,
    ends: tuple[Outcome, Outcome] | None,
    error: float,
    skipped: int,
    warnings: Sequence[str],
) -> str:
    """Throughput in a sentence with its range, then how long requests took, then how slots and blocks were used."""
    lines = [
        f"{outcome.requests:,} requests in {format_seconds(outcome.makespan_s)}: "
        f"{outcome.output_tokens_per_s:,.1f} tokens/s, {outcome.requests_per_s:,.2f} requests/s.",
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
    if formula is not None:
        lines[-1] += f"; {format_seconds(formula.mean_s)} by the formula of such queues (M/G/c)"
    if (pool := outcome.pool) is not None:
        lines += [
            f"  cache blocks           {pool.peak_blocks:,} at most, {pool.useful_share:.1%} of their places in use",
            f"  had it reserved        {pool.reserved_tokens:,} tokens a request: {pool.reserved_share:.1%} in use",
            f"  evictions              {outcome.preemptions:,}"
            + "".join(f", {use.evictions:,} to {use.name}" for use in outcome.tiers),
        ]
        if pool.shared_blocks:
            lines.append(f"  saved by sharing       {pool.saved_block_share:.1%} of the blocks")
    if skipped:
        lines.append(f"Note: {skipped:,} rows of the trace have no answer and were left out.")
    return "\n".join([*lines, *(f"Note: {warning}" for warning in warnings)])


def _ends_lines(ends: tuple[Outcome, Outcome] | None, error: float) -> list[str]:
    """Over the range of the speed model; steps that were stated have none."""
    if ends is None:
        return []
    fast, slow = ends
    return [
        f"Steps may take {error:.0%} more or less: {slow.output_tokens_per_s:,.1f} to {fast.output_tokens_per_s:,.1f} "
        f"tokens/s, answers within {format_seconds(fast.latency.p95_s)} to {format_seconds(slow.latency.p95_s)} (95%)."
    ]


def _spread_line(name: str, spread: Spread) -> str:
    figures = (spread.mean_s, spread.p50_s, spread.p95_s, spread.p99_s, spread.max_s)
    return f"  {name:22}" + "".join(f" {format_seconds(figure):>10}" for figure in figures)


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
