"""What a page says about queues: what slots take at most, how long requests wait for one, and for whose prompt."""

from planner.batching.outcome import Outcome
from planner.batching.pauses import Pause
from planner.batching.queueing import Waiting, WhyNoFormula
from planner.text.batching import SAME, rate_figure, rate_unit, requests_words, time_words, times
from planner.units import format_seconds


def overrun_title(rate: float, most: float, in_steps: bool) -> str:
    """That more come than the slots can take, however they are refilled.

    >>> overrun_title(2.0, 0.25, in_steps=False)
    'Too many requests: 120 come a minute, and these slots take 15 at most'
    """
    come, taken = (rate_figure(each, in_steps) for each in (rate, most))
    return f"Too many requests: {come} come a {rate_unit(in_steps)}, and these slots take {taken} at most"


def limits_sentence(static: float, refilled: float, rate: float | None, in_steps: bool) -> str:
    """The most that each schedule takes, in requests a minute or a step, and whose queue grows without end at *rate*.

    ``None``: nobody keeps coming.
    """
    more = f"{times(refilled / static)} times as many" if refilled >= SAME * static else "about as many"
    most = (
        f"These slots can take **{requests_words(refilled, in_steps)}** when refilled at once, "
        f"{requests_words(static, in_steps)} in whole batches: {more}."
    )
    if rate is None or rate <= static:
        return most
    come = requests_words(rate, in_steps)
    if rate <= refilled:
        return (
            f"{most} **Whole batches cannot keep up** with the {come} that come: their queue grows for as long as "
            "requests come, and their figures are those of these requests alone."
        )
    return (
        f"{most} **Neither keeps up** with the {come} that come: both queues grow for as long as requests come, and "
        "all figures are those of these requests alone."
    )


def formula_sentence(outcome: Outcome, formula: Waiting | WhyNoFormula, in_steps: bool) -> str:
    """How long requests wait for a slot, and what the formula of such queues says of it, or why it says nothing."""
    waits = (
        f"A request waits **{time_words(outcome.slot_wait_s, in_steps)}** for its slot on average, and holds it for "
        f"{time_words(outcome.service_s, in_steps)}."
    )
    if isinstance(formula, WhyNoFormula):
        return f"{waits} The usual formula for queues (M/G/c) does not hold here: {formula}."
    return (
        f"{waits} The formula for such queues (M/G/c) says "
        f"{time_words(formula.mean_s, in_steps)}, slots {formula.utilisation:.0%} busy and {formula.share:.0%} of the "
        "requests waiting at all: good to a quarter, since steps take about equally long whoever is there."
    )


def pauses_title(longest: Pause) -> str:
    """Whether prompts in chunks make a difference."""
    if longest.whole_s < SAME * longest.chunked_s:
        return "Prompts in chunks: no difference here"
    return f"Prompts in chunks: pauses {times(longest.whole_s / longest.chunked_s)} times shorter"


def pauses_sentence(typical: Pause, longest: Pause, chunk_tokens: int) -> str:
    """What a whole prompt does to the others, and from which length on chunks help."""
    first = f"While a prompt is read in one step, every other answer pauses: **{format_seconds(typical.whole_s)}** "
    if typical.prompt_tokens == longest.prompt_tokens:
        first += f"for the typical one here, {typical.prompt_tokens:,} tokens. "
    else:
        first += (
            f"for the typical one here, {typical.prompt_tokens:,} tokens, **{format_seconds(longest.whole_s)}** for "
            f"the longest, {longest.prompt_tokens:,}. "
        )
    if longest.whole_s < SAME * longest.chunked_s:
        return (
            f"{first}All of them fit into a step of {chunk_tokens:,} tokens, so chunks change nothing: they matter for "
            "longer prompts, or with fewer tokens a step."
        )
    return (
        f"{first}In steps of {chunk_tokens:,} tokens no pause is longer than **{format_seconds(longest.chunked_s)}**, "
        "and a long prompt itself has its first token a little later. Answers as a whole take about as long either way."
    )
