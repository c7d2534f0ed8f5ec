"""Larger shares of a card for a start that failed, each tried: SGLang starts with any cache, others with one request's.

Source: SGLang's model_runner_kv_cache_mixin.py, profile_max_num_token, which looks for no request's length.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from planner.errors import PlannerError
from planner.inputs.choices import Choices
from planner.startups.trial import PLANNER, Failed
from planner.tuning import OF_THE_CARD, SHARES, UTILISATIONS, share_of, with_setting, without_settings

LARGEST_PERCENT = round(100 * UTILISATIONS[-1])
SPARE_PERCENT = 2
"""Of the card, above the smallest share that leaves a cache at all: that may be of a few tokens."""

Change = tuple[str, str, str, Choices]
"""Its kind, its words, who says so, and the changed choices."""


def named_share(failed: Failed) -> tuple[str, float, str]:
    """The setting for the cache's share, the share itself, and of what it is one."""
    choices = failed.choices
    whole = "of the card" if choices.engine in OF_THE_CARD else "of what is free"
    return SHARES[choices.engine], share_of(choices, failed.architecture), whole


def larger_shares(failed: Failed) -> Iterator[Change]:
    """A larger share for the cache; SGLang's is of weights and caches together."""
    if failed.choices.engine == "sglang" and not failed.fits(failed.choices):
        yield from _static_shares(failed)
        return
    name, share, whole = named_share(failed)
    for higher in UTILISATIONS:
        if share < higher:
            words = f"{higher:g} {whole} instead of {share:.3g}"
            yield "share", words, PLANNER, with_setting(failed.choices, name, higher)


def _static_shares(failed: Failed) -> Iterator[Change]:
    """The smallest that holds the context, or what SGLang takes by itself and the smallest, with what they hold."""
    name, share, whole = named_share(failed)
    percents = range(int(100 * share) + 1, LARGEST_PERCENT + 1)
    tried = [with_setting(failed.choices, name, percent / 100) for percent in percents]
    enough = _first(tried, failed.fits)
    if enough is not None:
        words = f"{percents[enough] / 100:g} {whole} instead of {share:.3g}"
        yield "share", words, PLANNER, tried[enough]
        return
    usual = without_settings(failed.choices, name)
    if usual != failed.choices and share_of(usual, failed.architecture) > share and (tokens := _held(failed, usual)):
        yield "usual share", f"Without {name}, {tokens:,} tokens", PLANNER, replace(usual, context=tokens)
    least = _first(tried, lambda changed: _held(failed, changed) > 0)
    if least is not None:
        least = min(least + SPARE_PERCENT, len(tried) - 1)
        tokens = _held(failed, tried[least])
        words = f"{percents[least] / 100:g} {whole} instead of {share:.3g}, {tokens:,} tokens"
        yield "share", words, PLANNER, replace(tried[least], context=tokens)


def _held(failed: Failed, changed: Choices) -> int:
    """The longest context of *changed*, up to the one that was asked for; 0 if none starts."""
    try:
        found = failed.ask(changed)
    except PlannerError:
        return 0
    return found.context_tokens if found.max_context_tokens is None else found.max_context_tokens


def _first(tried: Sequence[Choices], is_enough: Callable[[Choices], bool]) -> int | None:
    """Which of *tried*, each with more room than the one before, is the first that is enough."""
    found = bisect_left(tried, True, key=is_enough)
    return found if found < len(tried) else None
