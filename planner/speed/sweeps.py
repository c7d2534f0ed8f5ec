"""Speed over one quantity at a time, for pictures: users, context, prompt; and a step's two phases side by side."""

from planner.errors import PlannerError
from planner.records import dataclass
from planner.search import largest
from planner.speed.answer import MAX_BATCH, Rate, prompt_seconds, rate_of
from planner.speed.constants import Parts, Seconds, SpeedConstants, parts, step_seconds
from planner.speed.work import Model, decode_work, kv_bytes_read, weight_bytes_read

STEPS_PER_OCTAVE = 4
MOST_BEYOND = 4
"""A knee at so many times the users that memory holds is still drawn."""
SHORTEST_TOKENS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """*users* requests of *context_tokens* decoding together: the time between two tokens of each, and both rates."""

    users: int
    context_tokens: int
    step: Seconds
    each: Rate
    together: Rate


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstToken:
    """The time until the first token of an answer to *prompt_tokens*, for a request that does not wait."""

    prompt_tokens: int
    time: Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """What one token costs while a prompt is read (*users* 0) or answers are written, and where a step's time goes.

    *cache_share* is how much of the reading is cache; the rest is weights.
    """

    users: int
    token: Seconds
    step_parts: Parts
    cache_share: float

    @property
    def shares(self) -> dict[str, float]:
        """Shares of a step's time, adding up to 1: fixed work, weights and cache read, arithmetic."""
        each, whole = self.step_parts, self.step_parts.total_s
        return {
            "fixed": (each.layers_s + each.links_s) / whole,
            "weights": each.read_s * (1 - self.cache_share) / whole,
            "cache": each.read_s * self.cache_share / whole,
            "arithmetic": each.arithmetic_s / whole,
        }

    @property
    def bound(self) -> str:
        """The largest of the shares: what would have to become faster first."""
        return max(self.shares, key=lambda name: self.shares[name])


@dataclass(frozen=True, slots=True, kw_only=True)
class UserRange:
    """How many users are served, and how many at the slow and at the fast end of the constants' range."""

    value: int
    low: int
    high: int


def pace_at(model: Model, constants: SpeedConstants, users: int, context_tokens: int) -> Pace:
    """One point of every picture."""
    step = step_seconds(decode_work(model, users, context_tokens), constants)
    return Pace(
        users=users, context_tokens=context_tokens, step=step, each=rate_of(1, step), together=rate_of(users, step)
    )


def by_users(
    model: Model, constants: SpeedConstants, context_tokens: int, most_users: int, also: tuple[int, ...] = ()
) -> tuple[Pace, ...]:
    """From one user to *most_users*, by quarters of a doubling; *also* names batches that must be among them."""
    sizes = {*spaced(1, min(most_users, MAX_BATCH)), *(size for size in also if 1 <= size <= most_users)}
    return tuple(pace_at(model, constants, users, context_tokens) for users in sorted(sizes))


def drawn_users(asked: int, knee_users: int, most_users: int | None) -> int:
    """How far a picture over users goes: beyond what is asked and what memory holds, but not far beyond the knee.

    A knee that lies beyond memory is drawn where the part that fits stays a quarter of the picture.
    """
    if not most_users:
        return max(2 * asked, 2 * knee_users)
    knee_in_sight = knee_users if knee_users <= MOST_BEYOND * most_users else 0
    return max(2 * asked, min(2 * most_users, 6 * knee_users), knee_in_sight)


def by_context(
    model: Model, constants: SpeedConstants, users: int, longest_tokens: int, also: tuple[int, ...] = ()
) -> tuple[Pace, ...]:
    """The same users with short and long texts."""
    lengths = {*spaced(min(SHORTEST_TOKENS, longest_tokens), longest_tokens), *also}
    return tuple(pace_at(model, constants, users, tokens) for tokens in sorted(lengths))


def by_prompt(
    model: Model, constants: SpeedConstants, longest_tokens: int, also: tuple[int, ...] = ()
) -> tuple[FirstToken, ...]:
    """Time to the first token over the prompt, each computed whole and alone."""
    lengths = {*spaced(min(SHORTEST_TOKENS, longest_tokens), longest_tokens), *also}
    return tuple(
        FirstToken(prompt_tokens=tokens, time=prompt_seconds(model, constants, tokens)[1]) for tokens in sorted(lengths)
    )


def fast_enough_users(
    model: Model, constants: SpeedConstants, context_tokens: int, tokens_per_s_user: float
) -> UserRange:
    """The most users who all still get *tokens_per_s_user*, whatever memory says; 0 where one alone does not."""
    if not 0 < tokens_per_s_user < float("inf"):
        raise PlannerError(f"{tokens_per_s_user:g} tokens a second are no target: give a number above 0, such as 20.")

    def most(end: str) -> int:
        def enough(users: int) -> bool:
            step = step_seconds(decode_work(model, users, context_tokens), constants)
            seconds: float = getattr(step, end)
            return seconds * tokens_per_s_user <= 1

        return largest(enough, MAX_BATCH)

    return UserRange(value=most("value_s"), low=most("high_s"), high=most("low_s"))


def phases(
    model: Model, constants: SpeedConstants, users: int, context_tokens: int, prompt_tokens: int
) -> tuple[Phase, ...]:
    """Reading a prompt, and writing for one user and for *users* together: the time and the parts of one token."""
    whole, seconds = prompt_seconds(model, constants, prompt_tokens)
    reading = Phase(
        users=0,
        token=_divided(seconds, prompt_tokens),
        step_parts=whole,
        cache_share=0.0,
    )
    return (reading, *(_writing(model, constants, count, context_tokens) for count in dict.fromkeys((1, users))))


def spaced(least: int, most: int) -> list[int]:
    """Whole numbers from *least* to *most*, both included, by quarters of a doubling.

    >>> spaced(1, 10)
    [1, 2, 3, 4, 5, 6, 7, 8, 10]
    """
    found, step = [least], 0
    while found[-1] < most:
        step += 1
        found.append(min(most, round(least * 2 ** (step / STEPS_PER_OCTAVE))))
    return list(dict.fromkeys(found))


def _writing(model: Model, constants: SpeedConstants, users: int, context_tokens: int) -> Phase:
    work = decode_work(model, users, context_tokens)
    cache = users * kv_bytes_read(model, context_tokens)
    return Phase(
        users=users,
        token=_divided(step_seconds(work, constants), users),
        step_parts=parts(work, constants),
        cache_share=cache / (cache + weight_bytes_read(model, users)),
    )


def _divided(seconds: Seconds, count: int) -> Seconds:
    return Seconds(
        value_s=seconds.value_s / count,
        low_s=seconds.low_s / count,
        high_s=seconds.high_s / count,
        ceiling_s=seconds.ceiling_s / count,
    )
