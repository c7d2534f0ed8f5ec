"""What a page says about a draft: faster or slower, why, from when on; ``**`` marks what to stress."""

from collections.abc import Sequence

from planner.catalogue.published_drafts import PublishedAcceptance
from planner.draft import EAGLE, MTP, NGRAM
from planner.draft_trade import NONE, DraftPoint, fastest
from planner.presets import find_model
from planner.speculation import Speculation
from planner.speed.drafting import BatchSpeculation

PASSES = "Of 34 published speed-ups of many requests, nine of them slow-downs, this model says which way rightly in 33."


WHAT_A_DRAFT_IS = (
    "A draft guesses the next few tokens cheaply; the model checks all of them in one pass and keeps those that it "
    "would have written itself."
)


def verdict_title(speedup: float) -> str:
    """Faster or slower, as large for the one as for the other."""
    if round(speedup, 2) == 1:
        return "No faster, no slower with a draft"
    return f"{'Faster' if speedup > 1 else 'Slower'}: {speedup:.2f} times the speed"


def if_words_were_same(sentence: str, same_words: bool) -> str:
    """*sentence* about a speed; of a draft with another vocabulary, that first.

    >>> if_words_were_same("Faster: 1.19 times the speed", same_words=False)
    'Another vocabulary. If it were the same: faster: 1.19 times the speed'
    """
    return sentence if same_words else f"Another vocabulary. If it were the same: {sentence[:1].lower()}{sentence[1:]}"


def together_sentence(found: BatchSpeculation, break_even: float | None, best: BatchSpeculation) -> str:
    """What a pass costs, part by part, and yields; from when on that pays, and the length that pays best."""
    users = "one user" if found.users == 1 else f"{found.users:,} users together"
    return (
        f"For {users}, a pass takes as long as **{found.pass_s / found.step_s:.2f} steps** without a draft: drafting "
        f"{_tokens(found.draft_tokens)} {found.draft_s / found.step_s:.2f}, checking {_checked(found)} "
        f"{found.verify_s / found.step_s:.2f}, the host between passes {found.besides_s / found.step_s:.2f}. It yields "
        f"**{found.expected_tokens:.2f} tokens** instead of 1. {_pays(break_even)}; "
        f"{_best(found.acceptance, best.draft_tokens, best.speedup)}{either_way(found)}"
    )


def alone_sentence(result: Speculation) -> str:
    """The same by the plain formula."""
    best = result.best_draft_tokens
    said = (
        f"at {result.acceptance:.0%} the longer the better."
        if best is None
        else _best(result.acceptance, best, result.best_speedup or 1.0)
    )
    return (
        f"For one request alone, a draft of {_tokens(result.draft_tokens)} costs "
        f"{result.draft_tokens * result.draft_cost:.2f} passes and yields **{result.expected_tokens:.2f} tokens** "
        f"instead of 1. {_pays(result.break_even_acceptance)}; {said}{either_way(result)}"
    )


def speedup_range(found: Speculation | BatchSpeculation | DraftPoint) -> str:
    """``1.21 – 1.86``."""
    return f"{found.speedup_low:.2f} – {found.speedup_high:.2f}"


def either_way(found: Speculation | BatchSpeculation) -> str:
    """That the range holds both; nothing where it does not."""
    if found.speedup_low < 1 < found.speedup_high:
        return f" Over the range of published ones ({speedup_range(found)}) it may be either: try it."
    return ""


def users_sentence(points: Sequence[BatchSpeculation]) -> str:
    """Until how many users the draft pays."""
    slower = next((point for point in points if point.speedup < 1), None)
    first = points[0]
    if first.speedup < 1:
        return "It makes one user slower already, and more users do not change that."
    if slower is None:
        return (
            f"From {first.speedup:.2f} times for one user to **{points[-1].speedup:.2f} times** for "
            f"{points[-1].users:,}: it never makes them slower here."
        )
    return (
        f"{first.speedup:.2f} times for one user, and less for more: checking several tokens of many users is real "
        f"arithmetic. **From about {slower.users:,} users on it makes all of them slower.**"
    )


def trade_sentence(points: Sequence[DraftPoint], users: int, asked_tokens: int) -> str:
    """What the fastest of the drafts takes of the context."""
    plain, best = points[0], fastest(points)
    each = "one user" if users == 1 else f"each of {users:,} users"
    if best.draft == NONE:
        return "None of these drafts makes it faster, so none is worth its memory."
    if plain.max_context_tokens is None or best.max_context_tokens is None:
        return f"{_gives(best)}. Memory sets no limit to the context."
    if not plain.max_context_tokens:
        return f"{_gives(best)}. Without a draft there is no room for any context, so there is none to lose."
    lost = best.lost_tokens or 0
    sentence = _gives(best)
    if not lost:
        return f"{sentence} and takes no context: {each} keeps {plain.max_context_tokens:,} tokens."
    left = best.max_context_tokens
    enough = "" if left >= asked_tokens else f", **less than the {asked_tokens:,} asked for**"
    return f"{sentence} and takes {lost:,} tokens: {each} keeps {left:,} of {plain.max_context_tokens:,}{enough}."


def _gives(best: DraftPoint) -> str:
    return f"**{draft_name(best)}** gives {best.speedup:.2f} times the speed ({speedup_range(best)})"


def published_words(found: PublishedAcceptance) -> str:
    """``54% – 78% in 11 published readings, the middle 69%``."""
    if found.readings == 1:
        return f"{found.typical:.0%} in the one published reading"
    return f"{found.low:.0%} – {found.high:.0%} in {found.readings} published readings, the middle {found.typical:.0%}"


def draft_name(point: DraftPoint) -> str:
    """A draft as a person would call it."""
    names = {NONE: "no draft", EAGLE: "EAGLE head", MTP: "MTP layers", NGRAM: "n-gram"}
    return names[point.draft] if point.draft in names else find_model(point.draft).title


def _tokens(count: int) -> str:
    return "1 token" if count == 1 else f"{count:,} tokens"


def _checked(found: BatchSpeculation) -> str:
    """A chain, or how many a tree has."""
    is_chain = found.verified_tokens == found.draft_tokens + 1
    return "them" if is_chain else f"a tree of {found.verified_tokens:,}"


def _pays(break_even: float | None) -> str:
    if break_even is None:
        return "**It never pays** at this length, whatever is accepted"
    return f"**It pays from {break_even:.0%} acceptance** at this length"


def _best(acceptance: float, tokens: int, speedup: float) -> str:
    if not tokens:
        return f"at {acceptance:.0%} no length helps."
    return f"at {acceptance:.0%} the best length is {tokens} ({speedup:.2f} times)."
