"""Answers about speed as text for a terminal. No figure is computed here."""

from planner.answers.words import if_it_did
from planner.multiply_accumulates import CacheArithmetic
from planner.speed.alone import AloneAnswer
from planner.speed.answer import SpeedAnswer
from planner.speed.busy import Busy
from planner.speed.names import MEASURED, engine_name, family_words
from planner.text.speed import who_gets
from planner.units import counted, format_bytes, format_figure, format_pace, format_rate, format_seconds


def speed_text(result: SpeedAnswer, fits: bool = True, served: Busy | None = None) -> str:
    """Tokens a second in a sentence, as if it did where it does not fit; then where a step's time goes; the curve.

    *served*: the same users at a busy server.
    """
    user, prompt = result.tokens_per_s_user, result.time_to_first_token
    share = result.step_parts.total_s / 100
    joined = f", joined by {result.link}" if result.link else ""
    first = (
        f"{who_gets(result.at_once)} {_range(user.value, user.low, user.high)} tokens/s; the first after "
        f"{format_seconds(prompt.value_s)} ({format_seconds(prompt.low_s)} to {format_seconds(prompt.high_s)})."
    )
    lines = [
        if_it_did(first, fits),
        *([] if served is None else [_busy(served)]),
        f"{result.model} on {result.device_count} × {result.device}{joined}; {_from(result)}.",
        "",
        f"  no faster than         {_ceiling(result)}",
        f"  all users together     {format_pace(result.tokens_per_s.value)} tokens/s",
        f"  a prompt of {result.prompt_tokens:<10,} {format_figure(result.prompt_tokens_per_s.value)} tokens/s",
        f"  a step's time goes to  reading {result.step_parts.read_s / share:.0f}%, "
        f"arithmetic {result.step_parts.arithmetic_s / share:.0f}%, "
        f"starting each layer {result.step_parts.layers_s / share:.0f}%, "
        f"exchange between cards {result.step_parts.links_s / share:.0f}%",
        f"  the knee               {counted(result.knee_users, 'user')}: beyond, twice as many bring less than a third "
        "more",
        f"  memory holds           {_most(result.max_users)}",
        "",
        f"  {'users':>8} {'tokens/s each':>14} {'together':>12}",
    ]
    lines += [
        f"  {p.users:>8,} {format_pace(p.tokens_per_s_user):>14} {format_pace(p.tokens_per_s):>12}"
        for p in result.curve
    ]
    return "\n".join([*lines, *(f"Note: {warning}" for warning in result.warnings)])


def alone_text(result: AloneAnswer, fits: bool = True) -> str:
    """The same for one user, where nothing else is known."""
    user = result.tokens_per_s_user
    lines = [
        if_it_did(f"One user gets {_range(user.value, user.low, user.high)} tokens/s.", fits),
        f"{result.model} on {result.device_count} × {result.device}; {_from(result)}.",
        "",
        f"  no faster than         {_ceiling(result)}",
        f"  memory holds           {_most(result.max_users)}",
        "",
    ]
    return "\n".join([*lines, *(f"Note: {warning}" for warning in result.warnings)])


def _busy(served: Busy) -> str:
    each, all_of_them = served.tokens_per_s_user, served.tokens_per_s
    return (
        f"Busy, with a new prompt of {served.prompt_tokens:,} for every {served.output_tokens:,} tokens of an answer: "
        f"{_range(each.value, each.low, each.high)} tokens/s each, "
        f"{_range(all_of_them.value, all_of_them.low, all_of_them.high)} together, their own prompts' time counted; "
        f"no faster than {format_pace(each.ceiling)} each at such lengths."
    )


def _ceiling(result: SpeedAnswer | AloneAnswer) -> str:
    return (
        f"{format_pace(result.tokens_per_s_user.ceiling)} tokens/s: {format_bytes(result.weights_read_bytes)} of "
        f"weights and {format_bytes(result.kv_read_bytes)} of cache a step"
    )


def _from(result: SpeedAnswer | AloneAnswer) -> str:
    """What the figures rest on."""
    if result.family == MEASURED:
        return result.source
    return f"as measured in public, {engine_name(result.engine)} on {family_words(result.family)}"


def _range(value: float, low: float, high: float) -> str:
    return f"{format_pace(value)} ({format_pace(low)} to {format_pace(high)})"


def _most(users: int | None) -> str:
    return "any number of users" if users is None else counted(users, "user")


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
