"""The answer in words: one title and one sentence a state, the same in the terminal and on the page."""

from planner.answer import Answer
from planner.budget import OUTSIDE, State
from planner.deciding import Where
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
        case State.NO if answer.no_build:
            return _no_build(answer)
        case State.FITS:
            return _fits(answer)
        case State.NO | State.TIGHT if spills(answer):
            return _spills(answer)
        case State.TIGHT:
            return _tight(answer)
        case State.UNCERTAIN:
            return _uncertain(answer)
        case State.NO if refusals(answer) and (answer.deciding.spare_bytes >= 0 or _sets_too_much(answer)):
            return _refused(answer)
        case State.NO if answer.deciding.where is Where.HOST:
            return _host_short(answer)
        case State.NO if answer.deciding.where is Where.SHARED:
            return _shared_short(answer)
        case State.NO if room_bytes(answer) >= 0:
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


def shared_need_bytes(answer: Answer) -> int:
    """What card side and host side need of the one memory that they share; what the engine leaves free is no need."""
    return answer.host_bytes + sum(item.bytes for item in answer.items if item.name != OUTSIDE)


def spills(answer: Answer) -> bool:
    """Whether the engine by itself would put a part into main memory, since not all of it stays on the card."""
    memory = answer.deciding
    return bool(answer.margin_bytes) and memory.where is Where.CARD and memory.spare_bytes < 0 and not answer.no_build


def room_words(answer: Answer) -> str:
    """The room in tokens, or that nothing in the cache grows."""
    tokens = one_user_tokens(answer)
    return "room for any length" if tokens is None else f"room for {tokens:,} tokens"


def _no_build(answer: Answer) -> Verdict:
    """Whatever memory says, the engine does not run there."""
    runs, _, others = answer.no_build.partition("; ")
    return Verdict(
        state=answer.state,
        title=f"No: {runs}",
        sentence=f"{others[:1].upper()}{others[1:]} The figures below are as if it did run.",
        short="**does not run there**",
    )


def _fits(answer: Answer) -> Verdict:
    spare = format_bytes(answer.deciding.spare_bytes) + _whose(answer)
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


def _spills(answer: Answer) -> Verdict:
    """Not all of it stays on the card, which is slower and no reason for the engine not to start."""
    over = format_bytes(-answer.deciding.spare_bytes)
    allowed, margin = answer.memory_bytes - answer.margin_bytes, format_bytes(answer.margin_bytes)
    return Verdict(
        state=answer.state,
        title=f"No: {over} too much to stay on the card",
        sentence=(
            f"{answer.model} on {_cards(answer)}: --fit keeps {margin} free, so that **{format_bytes(allowed)}** are "
            f"left, and {asked(answer)} take **{format_bytes(allowed - answer.deciding.spare_bytes)}** with weights "
            "and runtime. It starts all the same, with a part in main memory, which is slower."
        ),
        short=f"**spills**, {over} too much for the card",
    )


def _sets_too_much(answer: Answer) -> bool:
    """Whether weights and runtime fit, but not the pool that settings give a size."""
    return not answer.loads and answer.report is not None and answer.report.pool_bytes > 0


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


def _shared_short(answer: Answer) -> Verdict:
    """Card and processor share one memory, and it does not hold the parts of both."""
    offered = answer.shared_memory_bytes or 0
    by = format_bytes(-answer.deciding.spare_bytes)
    need = format_bytes(shared_need_bytes(answer))
    return Verdict(
        state=answer.state,
        title=f"No: the memory of the machine is {by} short",
        sentence=(
            f"{answer.model}: the parts for the graphics and for the processor need **{need}** together; both lie in "
            f"one memory of **{format_bytes(offered)}**."
        ),
        short=f"**does not fit**, memory {by} short",
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
    """It holds at the low end of what is assumed, and not at the high end."""
    memory = answer.deciding
    spare, short = format_bytes(memory.spare_high_bytes), format_bytes(-memory.spare_low_bytes)
    if memory.spare_bytes >= 0:
        title = f"Probably: {spare} to spare{_whose(answer)}, or {short} short"
    else:
        title = f"Probably not: {short} short{_whose(answer)}, or {spare} to spare"
    return Verdict(
        state=answer.state,
        title=title,
        sentence=(
            f"{_need(answer)} **{format_bytes(cache_bytes(answer))}** of cache{_beside(answer)}. What decides is "
            f"{memory.item}, assumed between {format_bytes(memory.item_low_bytes)} and "
            f"{format_bytes(memory.item_high_bytes)}.{_or_spills(answer)}"
        ),
        short=f"**probably{'' if memory.spare_bytes >= 0 else ' not'}**, {room_words(answer)}",
    )


def _or_spills(answer: Answer) -> str:
    is_moved = answer.margin_bytes and answer.deciding.where is Where.CARD
    return " If it is short, --fit moves a part to main memory." if is_moved else ""


def _whose(answer: Answer) -> str:
    """Of which memory is spoken, where it is not a card's."""
    words = {Where.CARD: "", Where.HOST: " in main memory", Where.SHARED: " in the machine's one memory"}
    return words[answer.deciding.where]


def _beside(answer: Answer) -> str:
    """What lies beside the card, where that decides."""
    if answer.deciding.where is Where.CARD:
        return ""
    offered = answer.host_memory_bytes if answer.deciding.where is Where.HOST else answer.shared_memory_bytes
    return (
        f", and beside the card **{format_bytes(answer.host_bytes)}** lie in main memory; it has "
        f"**{format_bytes(offered or 0)}**{' for both' if answer.deciding.where is Where.SHARED else ''}"
    )


def if_it_did(sentence: str, fits: bool) -> str:
    """*sentence*, which begins with a speed, a price or a gain; of what does not fit, that first.

    >>> if_it_did("One user gets 60 tokens/s.", fits=False)
    'It does not fit. If it did: one user gets 60 tokens/s.'
    """
    return sentence if fits else f"It does not fit. If it did: {sentence[:1].lower()}{sentence[1:]}"


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
