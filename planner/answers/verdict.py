"""The answer in words: one title and one sentence a state, the same in the terminal and on the page."""

from planner.answers.answer import Answer
from planner.answers.figures import cache_bytes, one_user_tokens, refusals, room_bytes, shared_need_bytes, spills
from planner.answers.words import (
    a_device,
    and_runtime,
    are_left,
    asked,
    beside,
    it_needs,
    its_cards,
    offer,
    or_spills,
    plus_runtime,
    request,
    room_words,
    stored,
    the_card,
    token_count,
    whose_memory,
)
from planner.budget import State
from planner.deciding import Where
from planner.records import dataclass
from planner.units import format_bytes, words_for_tokens

_REFUSES = "the engine would refuse to start"


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
    spare = format_bytes(answer.deciding.spare_bytes) + whose_memory(answer)
    longest = one_user_tokens(answer)
    tokens = "any length" if longest is None else f"**{longest:,} tokens**"
    return Verdict(
        state=answer.state,
        title=f"Yes, it fits, with {spare} to spare",
        sentence=(
            f"{_where(answer)}: {it_needs(answer)} **{format_bytes(cache_bytes(answer))}** of cache; "
            f"there is room for **{format_bytes(room_bytes(answer))}**, that is {tokens} for one user."
        ),
        short=f"**fits**, {room_words(answer)}",
    )


def _tight(answer: Answer) -> Verdict:
    left = one_user_tokens(answer) or 0
    return Verdict(
        state=answer.state,
        title=f"It loads, but only {are_left(left)} left",
        sentence=(
            f"The weights take **{format_bytes(answer.weights_bytes)}**{and_runtime(answer)} of "
            f"{offer(answer)}. What remains holds **{token_count(left)}**, "
            f"about {words_for_tokens(left):,} words of prompt and answer together. You asked for {request(answer)}."
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
            f"{_where(answer)}: --fit keeps {margin} free, so that **{format_bytes(allowed)}** are "
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
        title=f"No: {_REFUSES}",
        sentence=f"{_where(answer)}. {refusals(answer)[0]}",
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
            f"{_where(answer)}: {it_needs(answer)} **{format_bytes(cache_bytes(answer))}** of cache; "
            f"{the_card(answer)} has room for **{format_bytes(room_bytes(answer))}**."
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
            f"{answer.model} weighs **{format_bytes(answer.weights_bytes)}**{a_device(answer)} {stored(answer)}"
            f"{plus_runtime(answer)}; {its_cards(answer)} offers **{format_bytes(answer.memory_bytes)}**."
        ),
        short=f"**does not fit**, {by} too big",
    )


def _uncertain(answer: Answer) -> Verdict:
    """It holds at the low end of what is assumed, and not at the high end."""
    memory = answer.deciding
    spare, short = format_bytes(memory.spare_high_bytes), format_bytes(-memory.spare_low_bytes)
    if memory.spare_bytes >= 0:
        title = f"Probably: {spare} to spare{whose_memory(answer)}, or {short} short"
    else:
        title = f"Probably not: {short} short{whose_memory(answer)}, or {spare} to spare"
    return Verdict(
        state=answer.state,
        title=title,
        sentence=(
            f"{it_needs(answer)} **{format_bytes(cache_bytes(answer))}** of cache{beside(answer)}. What decides is "
            f"{memory.item}, assumed between {format_bytes(memory.item_low_bytes)} and "
            f"{format_bytes(memory.item_high_bytes)}.{or_spills(answer)}"
        ),
        short=f"**probably{'' if memory.spare_bytes >= 0 else ' not'}**, {room_words(answer)}",
    )


def as_if(answer: Answer) -> str:
    """What stands before speeds and prices of what does not fit."""
    title = verdict(answer).title.removeprefix("No: ")
    if answer.no_build:  # begins with the engine's name, as it is written
        return f"{title}. These figures are as if it did run."
    if title == _REFUSES:
        return f"{refusals(answer)[0]} These figures are as if it did start."
    return f"{title[:1].upper()}{title[1:]}. These figures are as if it did fit."


def _where(answer: Answer) -> str:
    return f"{answer.model} on {its_cards(answer)}"
