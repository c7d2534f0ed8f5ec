"""What a page says about schedules: who waits for whom, and what is left unused; ``**`` marks what to stress."""

from collections.abc import Sequence

from planner.batching.gains import Gain, Range
from planner.batching.outcome import Outcome, Spread
from planner.batching.server import Schedule
from planner.batching.targets import FIRST_TOKEN, PACE, Sustained, Target
from planner.paging import PublishedPaging, mean_last_block_waste
from planner.serving.question import ServingOption
from planner.units import counted, counted_words, format_figure, format_seconds

NAMES = {
    Schedule.STATIC: "Whole batches",
    Schedule.CONTINUOUS: "Refilled at once",
    Schedule.CHUNKED: "Refilled, prompts in chunks",
}
TERMS = {Schedule.STATIC: "static", Schedule.CONTINUOUS: "continuous", Schedule.CHUNKED: "chunked prefill"}
MINUTE_S = 60
SAME = 1.05
"""Less than this is the same work."""


def schedules_title(static: Outcome, refilled: Outcome, all_keep_up: bool = False) -> str:
    """What refilling a free slot at once brings over waiting for the whole batch.

    Where *all_keep_up* with what comes, all do the same work in the end, and only how long it takes differs.
    """
    work = refilled.output_tokens_per_s / static.output_tokens_per_s
    sooner = static.latency.mean_s / refilled.latency.mean_s
    if work >= SAME and not all_keep_up:
        return f"Refilling slots at once: {times(work)} times the work"
    if sooner >= SAME:
        return f"Refilling slots at once: answers {times(sooner)} times sooner"
    return "Refilling slots at once changes nothing here"


def schedules_sentence(
    static: Outcome, refilled: Outcome, slots: int, coming: str, schedule: Schedule, in_steps: bool
) -> str:
    """How the requests come, and how long an answer takes in whole batches and by *schedule*."""
    chunks = ", prompts in chunks" if schedule is Schedule.CHUNKED else ""
    return (
        f"{counted(refilled.requests, 'request')}, {counted(refilled.output_tokens, 'token')} of answers, "
        f"{slots:,} at a time{', each in a slot' if slots > 1 else ''}. {coming} "
        f"On average an answer is there after **{time_words(static.latency.mean_s, in_steps)}** when a whole batch "
        f"must finish first, after **{time_words(refilled.latency.mean_s, in_steps)}** when a free slot is refilled "
        f"at once{chunks}."
    )


def coming_sentence(rate_per_s: float | None, users: int | None, in_steps: bool, why: str = "") -> str:
    """How requests come: so many a minute and *why* so many, from *users* who ask again, or all at the start.

    >>> coming_sentence(2.0, None, False, "as you said"), coming_sentence(None, 4, False)
    ('They come at 120 requests a minute, as you said.', '4 users ask again whenever they are answered.')
    """
    if users is not None:
        return f"{counted(users, 'user')} {'asks' if users == 1 else 'ask'} again whenever they are answered."
    if rate_per_s is None:
        return "All of them are there at the start."
    return f"They come at {requests_words(rate_per_s, in_steps)}{f', {why}' if why else ''}."


def pool_sentence(outcome: Outcome) -> str:
    """What the paged cache holds and wastes, beside a server that reserves the longest request for each."""
    pool = outcome.pool
    if pool is None:
        return ""
    blocks = f"{pool.peak_blocks:,} blocks of {pool.block_tokens} tokens at most"
    if pool.pool_blocks is not None:
        blocks += f", {pool.peak_blocks / pool.pool_blocks:.0%} of the {pool.pool_blocks:,} that memory leaves"
    sentence = (
        f"The cache took {blocks}. **{pool.useful_share:.1%}** of their places held a token; had each request reserved "
        f"{pool.reserved_tokens:,} tokens from its start, **{pool.reserved_share:.1%}** would have. A request leaves "
        f"{mean_last_block_waste(pool.block_tokens):g} places of its last block empty on average."
    )
    if pool.shared_blocks:
        sentence += f" The shared beginning saved {pool.saved_block_share:.0%} of the blocks."
    if outcome.preemptions:
        sentence += (
            f" **{counted(outcome.preemptions, 'time')} the pool was full** and the youngest request had to give way"
        )
        copied = ", ".join(f"{use.evictions:,} to {use.name}" for use in outcome.tiers)
        sentence += f": copied {copied}, the others computed again." if copied else ", to be computed again."
    return sentence


def published_sentence(found: PublishedPaging) -> str:
    """What the paper on paging found, to set the figures here beside."""
    return (
        f"Published: servers that reserve used {found.reserved_low:.1%} – {found.reserved_high:.1%} of their places, "
        f"one that pages {found.paged:.1%} ({found.source})."
    )


def sustained_title(found: Sustained) -> str:
    """How many requests a second meet the target."""
    if found.rate_per_s == 0:
        return "Too slow for this patience, even for one request at a time"
    return f"Up to {requests_words(found.rate_per_s)} within your patience"


def sustained_sentence(found: Sustained, slow: Sustained, fast: Sustained, target: Target) -> str:
    """What ends it, over the speed model's range, and how that compares with a server that is simply full."""
    asked = []
    if target.first_token_s is not None:
        asked.append(f"the first token within {format_seconds(target.first_token_s)}")
    if target.token_s is not None:
        asked.append(f"then at least {format_figure(1 / target.token_s)} tokens a second")
    ends = {FIRST_TOKEN: "the wait for the first token", PACE: "the pace between tokens"}
    sentence = f"For 95 of 100 requests: {' and '.join(asked)}. "
    if found.rate_per_s == 0:
        return f"{sentence}{_capital(ends.get(found.limit, found.limit))} is missed already."
    return (
        f"{sentence}It ends at **{requests_words(found.rate_per_s)}** "
        f"({rate_figure(slow.rate_per_s)} – {rate_figure(fast.rate_per_s)} over the speed model's range), by "
        f"{ends.get(found.limit, 'what the server can do at all')}. With everybody waiting it would do "
        f"{requests_words(found.saturated_per_s)}."
    )


def requests_words(rate_per_s: float, in_steps: bool = False) -> str:
    """``145 requests a minute``, on all of a page alike; a step, where time counts in steps, takes a second.

    >>> requests_words(2.414), requests_words(0.0916), requests_words(0.5, in_steps=True)
    ('145 requests a minute', '5.5 requests a minute', '0.5 requests a step')
    """
    return f"{counted_words(rate_figure(rate_per_s, in_steps), 'request')} a {rate_unit(in_steps)}"


def rate_figure(rate_per_s: float, in_steps: bool = False) -> str:
    """The same without its unit."""
    return rate_words(rate_per_s if in_steps else MINUTE_S * rate_per_s)


def rate_unit(in_steps: bool) -> str:
    """In what a page counts requests."""
    return "step" if in_steps else "minute"


def cluster_title(options: Sequence[ServingOption], cards: int) -> str:
    """The best way to use several cards."""
    best = options[0]
    if not best.fits:
        return f"No split of {cards:,} cards holds the model and the longest request"
    if best.rate_per_s == 0:
        return f"{cards:,} cards are too slow for this patience, even for one request at a time"
    if best.is_chance:
        return f"{cards:,} cards hardly meet this patience, even for one request at a time"
    return f"{cards:,} cards: up to {requests_words(best.rate_per_s)}, as {option_name(best)}"


def cluster_sentence(options: Sequence[ServingOption]) -> str:
    """How many users that is, and what is left with one node lost."""
    best = options[0]
    if best.rate_per_s == 0 or best.is_chance:
        return "More cards of the kind do not help a single request: ask for less, or take faster ones."
    left = (
        "nothing is left"
        if best.rate_lost_per_s == 0
        else f"**{requests_words(best.rate_lost_per_s)}** are left, {counted(best.users_lost, 'user')}"
    )
    return (
        f"That is **{counted(best.users, 'user')}** at once, waiting, answered or reading, and "
        f"{rate_words(best.output_tokens_per_s)} tokens of answers a second. With one node lost {left}."
    )


def option_name(option: ServingOption) -> str:
    """``4 replicas of 1 card``; prompts and answers apart where they are."""
    cards = "1 card" if option.tensor_parallel == 1 else f"{option.tensor_parallel} cards"
    if option.prefill_replicas:
        rest = option.replicas - option.prefill_replicas
        return f"{option.prefill_replicas} for prompts and {rest} for answers, of {cards}"
    return f"1 replica of {cards}" if option.replicas == 1 else f"{option.replicas:,} replicas of {cards}"


def repeated_words(requests: int, repeats: int) -> str:
    """That few requests stand for many."""
    return (
        f"{counted(requests, 'request')}, repeated in the same rhythm until there are {repeats:,}, so that the server "
        "is full for a while: other requests would give other figures."
    )


def gain_words(found: Gain) -> str:
    """One assumption's ratios with their ranges."""
    return (
        f"{found.assumption.words}: {range_words(found.throughput)} times the throughput, latency "
        f"{range_words(found.latency)} times lower"
    )


def range_words(found: Range) -> str:
    """``1.5 (1.1 – 2.4)``."""
    return f"{found.mean:.1f} ({found.low:.1f} – {found.high:.1f})"


def spread_words(spread: Spread | None, name: str, in_steps: bool) -> str:
    """One percentile of a quantity."""
    return "–" if spread is None else time_words(getattr(spread, name), in_steps)


def time_words(seconds: float, in_steps: bool) -> str:
    """Seconds, or steps where a step takes one.

    >>> time_words(1.2, in_steps=True), time_words(88, in_steps=True), time_words(1.2, in_steps=False)
    ('1 step', '88 steps', '1.20 s')
    """
    if not in_steps:
        return format_seconds(seconds)
    return "1 step" if round(seconds) == 1 else f"{seconds:,.0f} steps"


def times(ratio: float) -> str:
    """A ratio with one digit behind the point; whole from ten on."""
    return f"{ratio:.1f}" if ratio < 9.95 else f"{ratio:,.0f}"


def rate_words(rate: float) -> str:
    """Requests or tokens a second, or a step, with three digits."""
    return f"{rate:,.0f}" if rate >= 100 else f"{rate:.3g}"


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]
