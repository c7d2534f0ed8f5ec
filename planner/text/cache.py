"""What conversations cost, in sentences; ``**`` marks what to stress. No figure is computed here."""

from collections.abc import Sequence

from planner.cache_comparison import CacheCost, Crossing, SharedTokens
from planner.multiply_accumulates import CacheArithmetic
from planner.units import GIB, MIB, counted, format_bytes, format_rate

_SCALES = (
    (10**18, "quintillion"),
    (10**15, "quadrillion"),
    (10**12, "trillion"),
    (10**9, "billion"),
    (10**6, "million"),
)


def headline(cost: CacheCost) -> str:
    """The answer in a line."""
    if not cost.bytes_per_token and cost.is_asked:
        return f"One user takes {format_bytes(cost.bytes)}, and a longer text no more"
    take = "takes" if cost.tokens == 1 else "take"
    return f"One user's {counted(cost.tokens, 'token')} {take} {format_bytes(cost.bytes)}"


def cost_sentence(cost: CacheCost) -> str:
    """How the model remembers, and what one more token costs it."""
    if not cost.bytes_per_token:
        return f"{cost.model}: {cost.attention}. After {cost.tokens:,} tokens one more costs nothing."
    exact = f"{cost.bytes_per_token:,} B" if isinstance(cost.bytes_per_token, int) else f"{cost.bytes_per_token:,.1f} B"
    return f"{cost.model}: {cost.attention}. One more token costs **{format_rate(cost.bytes_per_token)}** ({exact})."


def heads_sentence(variants: Sequence[CacheCost]) -> str:
    """What the other head counts would cost, as multiples of what the model does."""
    own = next(cost for cost in variants if cost.is_asked)
    parts = [f"**{cost.bytes / own.bytes:.3g} times**: {cost.attention}" for cost in variants if not cost.is_asked]
    return f"As it is, {own.attention}: {format_bytes(own.bytes)}. The same layers otherwise, {'; '.join(parts)}."


def crossing_sentence(found: Crossing, model: str, limit_tokens: int | None) -> str:
    """From where on the cache is the bigger part."""
    weights = f"all of {model}'s weights ({format_bytes(found.weights_bytes)})"
    if found.tokens is None:
        return f"Never: one user's cache stays below {weights}, however long the text."
    sentence = f"From **{found.tokens:,} tokens** on, one user's cache is bigger than {weights}."
    if limit_tokens is not None and found.tokens > limit_tokens:
        sentence += f" One user cannot get there: the model was made for {limit_tokens:,}. Several together can."
    return sentence


def shared_sentence(rows: Sequence[SharedTokens], model: str) -> str:
    """Whether it matters how the same tokens are shared out."""
    shares = [f"{row.users} × {row.tokens_each:,}" for row in rows]
    listed = f"{', '.join(shares[:-1])} and {shares[-1]}"
    total = f"{rows[0].users * rows[0].tokens_each:,} tokens"
    sizes = [row.bytes for row in rows]
    if min(sizes) == max(sizes):
        return f"{model}: {listed} all hold {total}, and all cost **{_size(sizes[0])}**. Only the sum counts."
    return (
        f"{model}: {listed} all hold {total}, and cost from **{format_bytes(min(sizes))}** to "
        f"**{format_bytes(max(sizes))}**. Each user has windows or states of their own, so a few long conversations "
        "are cheaper than many short ones."
    )


def _size(size: int) -> str:
    """In GiB, and in MiB too where that is a whole number below one GiB."""
    shown = format_bytes(size)
    return shown if size >= GIB or size % MIB or shown.endswith("MiB") else f"{shown} ({size // MIB} MiB)"


def arithmetic_sentence(work: CacheArithmetic) -> str:
    """The work that the cache saves at one length."""
    return (
        f"At {counted(work.tokens, 'token')} that is **{work.ratio:,.0f} times** the work: {in_words(work.recomputed)} "
        f"multiply-accumulates of one head instead of {in_words(work.cached)}. Its scores of the last step take "
        f"{format_rate(work.recomputed_score_bytes)} instead of {format_rate(work.cached_score_bytes)}."
    )


def in_words(number: int) -> str:
    """A large number to three digits.

    >>> in_words(1_074_003_968), in_words(768)
    ('1.07 billion', '768')
    """
    for scale, name in _SCALES:
        if number >= scale:
            value = number / scale
            return f"{value:,.0f} {name}" if value >= 1000 else f"{value:.3g} {name}"
    return f"{number:,}"
