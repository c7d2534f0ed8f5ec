"""The answer in words: one title and one sentence a state, the same in the terminal and on the page."""

from planner.answer import Answer
from planner.budget import State
from planner.formats import CHECKPOINT
from planner.line_item import Kind
from planner.records import dataclass
from planner.units import format_bytes, format_size, words_for_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """*title* answers, *sentence* gives its figures, *short* is the title in few words. ``**`` marks what to stress."""

    state: State
    title: str
    sentence: str
    short: str


def verdict(answer: Answer) -> Verdict:
    """What to say first about *answer*."""
    match answer.state:
        case State.FITS:
            return _fits(answer)
        case State.TIGHT:
            return _tight(answer)
        case State.UNCERTAIN:
            return _uncertain(answer)
        case State.NO if refusals(answer) and answer.free_bytes >= 0:
            return _refused(answer)
        case State.NO if answer.loads and answer.free_bytes >= 0:
            return _host_short(answer)
        case State.NO if answer.loads:
            return _short(answer)
        case _:
            return _too_big(answer)


def asked(answer: Answer) -> str:
    """The request in words: ``4 users × 8,192 tokens``."""
    users = "1 user" if answer.users == 1 else f"{answer.users:,} users"
    return f"{users} × {answer.context_tokens:,} tokens"


def room_bytes(answer: Answer) -> int:
    """What the card has for caches once weights and runtime are in."""
    return answer.free_bytes + cache_bytes(answer)


def cache_bytes(answer: Answer) -> int:
    """What the requests keep together."""
    return sum(item.bytes for item in answer.items if item.kind is Kind.CACHE)


def refusals(answer: Answer) -> tuple[str, ...]:
    """Why the engine would not start, in its own terms."""
    return () if answer.report is None else answer.report.refusals


def one_user_tokens(answer: Answer) -> int | None:
    """The longest context for one user; engines print the pool's tokens in another sense."""
    return answer.pool_tokens if answer.report is None else answer.report.longest_start_tokens


def room_words(answer: Answer) -> str:
    """The room in tokens, or that nothing in the cache grows."""
    tokens = one_user_tokens(answer)
    return "room for any length" if tokens is None else f"room for {tokens:,} tokens"


def _fits(answer: Answer) -> Verdict:
    spare = format_bytes(answer.free_bytes)
    longest = one_user_tokens(answer)
    tokens = "any length" if longest is None else f"**{longest:,} tokens**"
    return Verdict(
        state=answer.state,
        title=f"Yes, it fits, with {spare} to spare",
        sentence=(
            f"{answer.model} on {_cards(answer)}: {_need(answer)} **{format_bytes(cache_bytes(answer))}** of cache; "
            f"there is room for **{format_bytes(room_bytes(answer))}**, that is {tokens} for one user."
        ),
        short=f"**fits**, {room_words(answer)}",
    )


def _tight(answer: Answer) -> Verdict:
    left = one_user_tokens(answer) or 0
    return Verdict(
        state=answer.state,
        title=f"It loads, but only {_tokens(left)} left",
        sentence=(
            f"The weights take **{format_bytes(answer.weights_bytes)}**{_and_runtime(answer)} of "
            f"{_offer(answer)}. What remains holds **{_count(left)}**, "
            f"about {words_for_tokens(left):,} words of prompt and answer together. You asked for {_request(answer)}."
        ),
        short=f"**too tight**, {room_words(answer)}",
    )


def _refused(answer: Answer) -> Verdict:
    """Memory holds the request, and the engine does not start all the same."""
    return Verdict(
        state=answer.state,
        title="No: the engine would refuse to start",
        sentence=f"{answer.model} on {_cards(answer)}. {refusals(answer)[0]}",
        short="**does not start**",
    )


def _host_short(answer: Answer) -> Verdict:
    """The card holds its part, and the machine's own memory does not hold the rest."""
    offered = answer.host_memory_bytes or 0
    by = format_bytes(answer.host_bytes - offered)
    return Verdict(
        state=answer.state,
        title=f"No: main memory is {by} short",
        sentence=(
            f"{answer.model}: beside the card **{format_bytes(answer.host_bytes)}** lie in the machine's own memory; "
            f"it has **{format_bytes(offered)}** to give."
        ),
        short=f"**does not fit**, main memory {by} short",
    )


def _short(answer: Answer) -> Verdict:
    short = format_bytes(-answer.free_bytes)
    return Verdict(
        state=answer.state,
        title=f"No: {short} short",
        sentence=(
            f"{answer.model} on {_cards(answer)}: {_need(answer)} **{format_bytes(cache_bytes(answer))}** of cache; "
            f"the card has room for **{format_bytes(room_bytes(answer))}**."
        ),
        short=f"**does not fit**, {short} short",
    )


def _too_big(answer: Answer) -> Verdict:
    """Without any request the card is too small: by the weights alone, or by weights and runtime together."""
    over = answer.weights_bytes - answer.memory_bytes
    with_runtime = -room_bytes(answer)
    whose = "the weights alone are" if over > 0 else "weights and runtime are"
    by = format_bytes(over if over > 0 else with_runtime)
    return Verdict(
        state=answer.state,
        title=f"No: {whose} {by} too big",
        sentence=(
            f"{answer.model} weighs **{format_bytes(answer.weights_bytes)}**{_a_device(answer)} {_stored(answer)}"
            f"{_plus_runtime(answer)}; {_cards(answer)} offers **{format_bytes(answer.memory_bytes)}**."
        ),
        short=f"**does not fit**, {by} too big",
    )


def _uncertain(answer: Answer) -> Verdict:
    low = sum(item.low_bytes for item in answer.items)
    high = sum(item.high_bytes for item in answer.items)
    widest = max(answer.items, key=lambda item: item.high_bytes - item.low_bytes)
    spare = format_bytes(answer.memory_bytes - low)
    short = format_bytes(high - answer.memory_bytes)
    return Verdict(
        state=answer.state,
        title=f"Probably: {spare} to spare, or {short} short",
        sentence=(
            f"{_need(answer)} **{format_bytes(cache_bytes(answer))}** of cache. What decides is {widest.name}, "
            f"assumed between {format_bytes(widest.low_bytes)} and {format_bytes(widest.high_bytes)}."
        ),
        short=f"**probably**, {room_words(answer)}",
    )


def as_if(answer: Answer) -> str:
    """What stands before speeds and prices of what does not fit."""
    title = verdict(answer).title.removeprefix("No: ")
    return f"{title[:1].upper()}{title[1:]}. These figures are as if it did fit."


def beyond_limit(answer: Answer) -> bool:
    """Whether memory allows a longer context than the model was made for."""
    limit, longest = answer.model_limit_tokens, answer.max_context_tokens
    return limit is not None and (longest is None or longest > limit)


def _cards(answer: Answer) -> str:
    if answer.devices:
        return f"{answer.device} (the fullest of {' and '.join(answer.devices)})"
    return f"one {answer.device}" if answer.device_count == 1 else f"each of {answer.device_count} × {answer.device}"


def _offer(answer: Answer) -> str:
    """``the 8 GiB card``, or ``the 23.64 GiB that one GeForce RTX 4090 offers``."""
    size = format_size(answer.memory_bytes)
    if answer.device == f"{size} card" and answer.device_count == 1:
        return f"the {answer.device}"
    return f"the {size} that {_cards(answer)} offers"


def _a_device(answer: Answer) -> str:
    return "" if answer.device_count == 1 else " a card"


def _stored(answer: Answer) -> str:
    return f"as published ({answer.stored_as})" if answer.weights == CHECKPOINT else f"in {answer.weights}"


def _need(answer: Answer) -> str:
    verb = "needs" if answer.users == 1 else "need"
    return f"{asked(answer)} {verb}"


def _request(answer: Answer) -> str:
    tokens = f"{answer.context_tokens:,}"
    return tokens if answer.users == 1 else f"{answer.users:,} × {tokens}"


def _runtime_bytes(answer: Answer) -> int:
    return sum(item.bytes for item in answer.items if item.kind is Kind.RUNTIME)


def _and_runtime(answer: Answer) -> str:
    runtime = _runtime_bytes(answer)
    return f" and the runtime **{format_bytes(runtime)}**" if runtime else ""


def _plus_runtime(answer: Answer) -> str:
    runtime = _runtime_bytes(answer)
    return f" and the runtime takes **{format_bytes(runtime)}**" if runtime else ""


def _count(tokens: int) -> str:
    return "1 token" if tokens == 1 else f"{tokens:,} tokens"


def _tokens(tokens: int) -> str:
    return "1 token is" if tokens == 1 else f"{tokens:,} tokens are"
