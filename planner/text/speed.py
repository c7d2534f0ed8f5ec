"""What a page says about speed: a title, a sentence, the reason. ``**`` marks what to stress; nothing is computed."""

from planner.answers.words import if_it_did
from planner.at_once import AtOnce
from planner.speed.alone import AloneAnswer
from planner.speed.answer import Rate, SpeedAnswer
from planner.speed.busy import Busy
from planner.speed.constants import Seconds
from planner.speed.names import MEASURED, engine_name, family_words
from planner.speed.sweeps import Phase, UserRange
from planner.units import counted, format_error, format_figure, format_seconds

_SHARED = ("weights", "fixed")
"""What a step does once for all users."""
BOUNDS = {
    "fixed": "getting each layer's work started, however little it is",
    "weights": "reading the weights from memory",
    "cache": "reading the cache from memory",
    "arithmetic": "arithmetic",
}


def speed_title(result: SpeedAnswer, fast: UserRange) -> str:
    """Whether the asked users are served fast enough, and how many could be."""
    memory, asked, most = result.max_users, result.users, result.most_users
    served = fast.value if most is None else min(most, fast.value)
    if memory == 0:
        pace = format_figure(result.tokens_per_s_user.value)
        return if_it_did(f"{pace} tokens a second for {'one user' if asked == 1 else 'each'}", fits=False)
    if fast.value == 0:
        pace = format_figure(result.curve[0].tokens_per_s_user)
        return f"Too slow even for one user: {pace} tokens a second"
    if served >= asked and (waiting := result.at_once.waiting):
        wait = "1 waits" if waiting == 1 else f"{waiting:,} wait"
        return f"Fast enough for {count_users(asked)} at once, {wait}: {result.at_once.setting}"
    if served >= asked:
        return f"Fast enough for {up_to(served)}"
    if memory is not None and memory < asked:
        return f"Memory holds only {memory:,} of {count_users(asked)}, fast enough for {up_to(served)}"
    return f"Too slow for {count_users(asked)} at once, fast enough for {up_to(served)}"


def speed_sentence(result: SpeedAnswer, fast: UserRange, target: float, served: Busy | None = None) -> str:
    """The asked users' figures with their range, then how many would still be served, then where memory ends.

    All of it while only answers are written, but for what each user of the busy server *served* gets.
    """
    user = result.tokens_per_s_user
    busy = (
        ""
        if served is None
        else f", {format_figure(served.tokens_per_s_user.value)} while new prompts come all the time"
    )
    sentence = (
        f"{who_gets(result.at_once)} **{format_figure(user.value)} tokens a second** ({rate_range(user)}) while only "
        f"answers are written{busy}; the first one after **{format_seconds(result.time_to_first_token.value_s)}**. "
    )
    if fast.value:
        spread = "" if fast.low == fast.high else f", between {fast.low:,} and {fast.high:,} over the range"
        sentence += f"At least {format_figure(target)} for each: {up_to(fast.value)}{spread}. "
    else:
        sentence += f"At least {format_figure(target)} for each was asked. "
    return sentence + memory_words(result.max_users)


def busy_title(served: Busy) -> str:
    """What each user gets where new prompts come all the time."""
    return f"With new prompts all the time: {format_figure(served.tokens_per_s_user.value)} tokens/s for each"


def busy_sentence(served: Busy, most_users: int, target: float) -> str:
    """What such a server is, its figures with their range, and *most_users*: who are still served fast enough."""
    each, together = served.tokens_per_s_user, served.tokens_per_s
    enough = up_to(most_users) if most_users else "not even one user"
    return (
        f"The figures above are of answers alone. A busy server takes a new prompt of {served.prompt_tokens:,} "
        f"tokens wherever an answer of {served.output_tokens:,} ends, and computes it between the tokens of the "
        f"others. {_each(served.users)} **{format_figure(each.value)} tokens a second** there "
        f"({rate_range(each)}), all together {format_figure(together.value)} ({rate_range(together)}): what the "
        f"page Cost counts. At least {format_figure(target)} for each: {enough}."
    )


def two_paces(served: Busy, alone: Rate) -> str:
    """What each user gets of a server that computes prompts as well, beside what the page Speed begins with."""
    busy, only = format_figure(served.tokens_per_s_user.value), format_figure(alone.value)
    return (
        f"{_each(served.users)} **{busy} tokens a second** while new prompts come all the time, the load counted here, "
        f"and {only} while only answers are written, with which the page Speed begins."
    )


def alone_title(result: AloneAnswer, fits: bool) -> str:
    """One user's pace, where nothing else is known."""
    return if_it_did(f"One user gets {format_figure(result.tokens_per_s_user.value)} tokens a second", fits)


def alone_sentence(result: AloneAnswer, asked_users: int) -> str:
    """Its range, its ceiling, and that no more users can be planned where more were asked."""
    user = result.tokens_per_s_user
    more = "" if asked_users == 1 else f" For {count_users(asked_users)} there is no answer."
    return (
        f"One user alone gets **{format_figure(user.value)} tokens a second** ({rate_range(user)}) at "
        f"{counted(result.context_tokens, 'token')}, never more than {format_figure(user.ceiling)}.{more} "
        f"{memory_words(result.max_users)}"
    )


def memory_words(most_users: int | None) -> str:
    """Where memory ends the curve."""
    if most_users is None:
        return "Memory sets no limit: nothing is kept that grows with users."
    if most_users == 0:
        return "Memory has no room for a single one: see Plan for what would help."
    return f"Memory is full at **{count_users(most_users)}**."


def knee_title(knee_users: int, most_users: int | None, ends: str = "memory") -> str:
    """What more users do, and whether the knee ends it, or what *ends* before: memory, or a setting of the engine."""
    if most_users and most_users < knee_users:
        return f"More users: {ends} ends before the knee"
    return "More users: more together, less for each"


def knee_mark(knee_users: int, most_users: int | None, ends: str = "memory") -> str:
    """The knee's label in the picture."""
    beyond = f", beyond {ends}" if most_users is not None and most_users < knee_users else ""
    return f"knee: {count_users(knee_users)}{beyond}"


def end_mark(ends: str) -> str:
    """The label where no more users are decoded together, for memory is full or a setting of the engine *ends* it."""
    return "memory full" if ends == "memory" else ends


def memory_mark(most_users: int, knee_users: int, knee_is_drawn: bool, ends: str = "memory") -> list[str]:
    """The same with its users, in lines; with the knee where the picture ends before it."""
    full = [f"{end_mark(ends)}: {count_users(most_users)}"]
    return full if knee_is_drawn else [f"knee only at {count_users(knee_users)}", *full]


def knee_sentence(knee_users: int, most_users: int | None, ends: str = "memory") -> str:
    """What the knee is, and whether memory or a setting *ends* before it."""
    where = (
        f"The knee is at **{count_users(knee_users)}**: from there on, twice the users bring less than a third more."
    )
    if most_users == 0:
        return where
    if most_users is not None and most_users < knee_users and ends != "memory":
        return (
            f"{where} {ends} = {most_users:,} ends before it: more users at once would cost the others little, and "
            "memory has room for them."
        )
    if most_users is not None and most_users < knee_users:
        return (
            f"{where} Memory ends before it, so every user that still fits is nearly free: "
            "a smaller cache format or shorter texts would bring more."
        )
    return f"{where} Before it a further user costs the others little; beyond it everybody waits for everybody."


def phases_title(reading: Phase, writing: Phase) -> str:
    """How much cheaper a token is read than written."""
    times = writing.token.value_s / reading.token.value_s
    return f"Reading a token is {format_figure(times)} times cheaper than writing one"


def phases_sentence(reading: Phase, writing: Phase) -> str:
    """Why the two phases differ: what each spends its time on."""
    return (
        "A prompt's tokens are computed together, an answer's one after the other. So the prompt (prefill) takes "
        f"**{format_seconds(reading.token.value_s)} a token**, most of it {BOUNDS[reading.bound]}; the answer (decode) "
        f"takes **{format_seconds(writing.token.value_s)} a token** for one user, most of it {BOUNDS[writing.bound]}"
        + (", which many users share." if writing.bound in _SHARED else ".")
    )


def phase_name(phase: Phase) -> str:
    """A phase in plain words."""
    return f"writing, {count_users(phase.users)}" if phase.users else "reading the prompt"


def error_sentence(result: SpeedAnswer, error: float, calibrated: bool) -> str:
    """What the shaded range is."""
    shaded = f"Shaded: {format_error(error)}"
    if result.family == MEASURED:
        return f"{shaded}, the most by which a pass of that machine was off that the profile had not seen."
    if calibrated:
        return f"{shaded}. Nine of ten measurements lay so near once one point of their machine was known."
    engine, family = engine_name(result.engine), family_words(result.family)
    return (
        f"{shaded}. Nine of ten public measurements lay so near, each of a card that the fit had not seen. How well "
        f"{engine} uses such a card is taken from its measurements on {family}. Faster than memory can be "
        "read is never drawn."
    )


def rate_range(rate: Rate) -> str:
    """``34 – 52``."""
    return f"{format_figure(rate.low)} – {format_figure(rate.high)}"


def seconds_range(seconds: Seconds) -> str:
    """``791 ms – 1.09 s``."""
    return f"{format_seconds(seconds.low_s)} – {format_seconds(seconds.high_s)}"


def count_users(number: int) -> str:
    """``1 user``, ``12 users``."""
    return "1 user" if number == 1 else f"{number:,} users"


def up_to(number: int) -> str:
    """``1 user``, ``up to 12 users``."""
    return "1 user" if number == 1 else f"up to {number:,} users"


def who_gets(at_once: AtOnce) -> str:
    """``Each of 8 users gets``; where not all are served together, how many of them are, and why no more."""
    if not at_once.waiting:
        return _each(at_once.asked)
    return f"{at_once.words}: {'that one gets' if at_once.users == 1 else f'each of the {at_once.users:,} gets'}"


def _each(users: int) -> str:
    return "One user gets" if users == 1 else f"Each of {users:,} users gets"
