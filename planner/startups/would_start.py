"""What would make a start that failed succeed: the engine's own word, ours, and single changes, each tried."""

from collections.abc import Iterator
from dataclasses import replace

from planner.advice import fixes, offload
from planner.answers.answer import Answer
from planner.architecture import Architecture
from planner.calibration import CalibrationProfile
from planner.engines.llama_cpp.options import PLACEMENT
from planner.inputs.choices import Choices, choose
from planner.logs.devices import LLAMA_CPP
from planner.logs.readings import Start
from planner.measurements import MeasuredItem
from planner.startups.larger_shares import Change, larger_shares
from planner.startups.printed_changes import whole_blocks
from planner.startups.printed_pools import freed_words, taken_by_others
from planner.startups.shortage import Stage, beyond_refused, knows_what_was_left, shortage_bytes, stage_of
from planner.startups.trial import ENGINE, PLANNER, Failed, Try, card_of
from planner.startups.vllm_changes import beside_the_share, free_share_changes, smaller_step, vllm_changes
from planner.tuning import SET_POOL, SHARES, with_setting, without_settings
from planner.units import MIB, parse_bytes
from planner.weights import identity

PRINTS_HELD = ("vllm", "tensorrt_llm")
"""Engines that print how many tokens their cache holds where one request needs more."""
LARGER_CARD = 1.1
UNEXPLAINED = ("other", "buffer")
"""Kinds of failure that a plan which fits has no change for."""
BESIDE_BUFFERS_BYTES = 256 * MIB
"""What llama.cpp's libraries take beside its buffers when the first request comes: public memory breakdowns."""


def would_start(
    start: Start, choices: Choices, architecture: Architecture, profile: CalibrationProfile | None
) -> tuple[Try, ...]:
    """For a failed *start* of *choices*: changes that start first, within these in the order of what they cost.

    A change that is not enough is left out unless it makes room for more tokens. The *profile* of that very start keeps
    its measured items where they hold. Where the plan fits as it is, something took memory that it does not know: what
    makes more room may then be enough, and no more is said.
    """
    if start.failure is None:
        return ()
    failed = Failed(choices=choices, architecture=architecture, profile=profile)
    as_planned = before = failed.ask(choices)
    if start.failure.kind in UNEXPLAINED and before.fits:
        return ()
    if choices.engine in LLAMA_CPP and (missing := _missing_bytes(start, before)) is not None:
        failed = _with_missing(failed, before, missing + beyond_refused(start, before.items))
        before = failed.ask(choices)
    is_unknown = (before.fits and start.failure.kind in ("pool", "memory")) or _starts_by_plan(start, before)
    # With the cache in its place the engine had taken the length, whatever the plan says of it.
    is_late = choices.engine in SHARES and stage_of(start) is Stage.AFTER_POOL
    tried: dict[str, Try] = {}
    for kind, change, says, changed in _changes(start, failed, before):
        known = tried.get(kind)
        # A share that decides nothing but whether the engine starts at all leaves every figure as it was, and what lies
        # outside of the share may be in none.
        is_idle = start.failure.kind != "free" and not is_late and failed.is_idle(changed, before)
        if (known is None or not (known.starts or is_unknown or is_late)) and not is_idle:
            found = failed.attempt(change, says, changed)
            is_told = found is not None and (found.starts or _helps(found, before) or is_late)
            if found is not None and (is_told or (is_unknown and found.shorter_option)):
                tried[kind] = perhaps(found, is_late) if is_unknown or is_late else found
    freed = _freed(start, failed, as_planned)
    return (*sorted(tried.values(), key=lambda one: not one.starts), *freed)


def _freed(start: Start, failed: Failed, before: Answer) -> tuple[Try, ...]:
    """Where others hold what the engine wanted: without them it starts as it is."""
    taken = taken_by_others(start)
    if taken is None or not before.fits:
        return ()
    return (
        Try(
            change=freed_words(taken),
            option="",
            says=PLANNER,
            starts=True,
            max_context_tokens=before.max_context_tokens,
            max_concurrency=before.max_concurrency,
            command=failed.choices.command(),
            choices=failed.choices,
        ),
    )


def _starts_by_plan(start: Start, before: Answer) -> bool:
    """Whether SGLang, which starts with any cache, has one by the plan and had none by the log, whatever the length."""
    is_of_any_length = (
        start.engine == "sglang" and start.failure is not None and start.failure.kind in ("pool", "states")
    )
    return is_of_any_length and bool(before.max_context_tokens)


def perhaps(found: Try, is_alone: bool = False) -> Try:
    """The change without what the plan says of it; *is_alone*, without the context that it wants too."""
    option = found.option if found.starts or is_alone else found.shorter_option or found.option
    return Try(change=found.change, option=option, says=found.says, starts=False)


def _missing_bytes(start: Start, before: Answer) -> int | None:
    """What llama.cpp was short of; ``None`` where the log does not say it and the plan knows better.

    An allocation that failed was short of no more than it asked for. Where that is most of the card, as all weights are
    in one, it says nothing.
    """
    missing = shortage_bytes(start)
    if missing is None or knows_what_was_left(start):
        return missing
    return missing if before.fits and 2 * missing <= before.memory_bytes else None


def _helps(found: Try, before: Answer) -> bool:
    if found.max_context_tokens is None:
        return True
    return found.max_context_tokens > (0 if before.max_context_tokens is None else before.max_context_tokens)


def _with_missing(failed: Failed, before: Answer, missing_bytes: int) -> Failed:
    """The plan is at least as short as the engine was when an allocation failed, libraries that come later apart."""
    extra_bytes = before.free_bytes + missing_bytes + BESIDE_BUFFERS_BYTES
    profile = failed.profile
    chosen = choose(failed.choices, failed.architecture)
    if extra_bytes <= 0 or chosen.deployment.cards:
        return failed
    item = MeasuredItem(
        name="beyond what is counted", bytes=extra_bytes, source="log: memory that was asked for and not there"
    )
    if profile is None:
        deployment, name = chosen.deployment, chosen.architecture.name
        subject, conditions = deployment.subject(name), deployment.conditions(identity(chosen.architecture))
        profile = CalibrationProfile(subject=subject, conditions=conditions, items=())
    return replace(failed, profile=replace(profile, items=(*profile.items, item)))


def _changes(start: Start, failed: Failed, before: Answer) -> Iterator[Change]:
    """Of one kind the smaller change comes first."""
    choices, is_vllm = failed.choices, failed.choices.engine == "vllm"
    if is_vllm and start.failure is not None and start.failure.kind == "free":
        # What the engine may take at all is more than is free: nothing that the share is spent on changes that.
        yield from free_share_changes(start, failed)
        return
    is_beside = stage_of(start) is Stage.AFTER_POOL or (stage_of(start) is Stage.LOADING and before.fits)
    if choices.engine in SHARES and is_beside:
        # By the plan weights and cache are there: what else was asked for lies outside of the share.
        yield from beside_the_share(start, failed, before)
        return
    if stage_of(start) is Stage.WEIGHTS:
        yield from _smaller_weights(failed, before)
        return
    if is_vllm and stage_of(start) is Stage.TRIAL_PASS and not failed.peaks_with_a_prompt():
        yield from smaller_step(failed)
        yield from _smaller_weights(failed, before)
        return
    estimate, held, most = start.most("longest_start"), start.least("pool_tokens"), before.context_tokens
    if estimate is not None and estimate.value > 0:
        said, most = f"{estimate.value:,} tokens, as the engine says", int(estimate.value)
        yield "estimate", said, ENGINE, replace(choices, context=most)
    elif choices.engine in PRINTS_HELD and held is not None and start.failure and start.failure.kind == "request":
        most = whole_blocks(start, int(held.value))
        yield "estimate", f"{most:,} tokens, which its cache holds", ENGINE, replace(choices, context=most)
    # Above its own figure the engine would refuse again.
    longest, is_too_long = before.max_context_tokens, not _starts_by_plan(start, before)
    if is_too_long and longest and longest < before.context_tokens and longest <= most:
        ours = f"{longest:,} tokens instead of {before.context_tokens:,}"
        yield "context", ours, PLANNER, replace(choices, context=longest)
    if is_vllm:
        yield from vllm_changes(start, failed, before)
    elif choices.engine in SHARES:
        yield from larger_shares(failed)
    elif choices.engine in LLAMA_CPP:
        bare = without_settings(choices, *PLACEMENT)
        change, changed = offload(bare, failed.architecture, failed.fits)
        yield "placement", change, PLANNER, changed
    for fix in fixes(_placed(choices), failed.architecture, before):
        changed = replace(fix.choices, set=choices.set) if fix.choices.set == _placed(choices).set else fix.choices
        added = {text.partition("=")[0] for text in set(changed.set) - set(choices.set)}
        is_placement = not added.isdisjoint(PLACEMENT)
        is_idle = failed.peaks_with_a_prompt() and "max_num_seqs" in added
        # A larger pool than what was free allows is none: vllm_changes has that.
        is_idle = is_idle or added == {SET_POOL}
        if changed.context == choices.context and not (is_placement or is_idle) and _is_larger(changed, before):
            yield fix.change, fix.change, PLANNER, changed


def _placed(choices: Choices) -> Choices:
    """As *failed* asks it: --fit moves nothing of what a command places."""
    return with_setting(choices, "fit", "off") if choices.engine in LLAMA_CPP else choices


def _is_larger(changed: Choices, before: Answer) -> bool:
    """Whether a card that is named by its size alone is another one, and not this one as it is sold."""
    return changed.memory is None or (
        parse_bytes(changed.memory, "memory") == before.memory_bytes
        or parse_bytes(changed.memory, "memory") > LARGER_CARD * before.memory_bytes
    )


def _smaller_weights(failed: Failed, before: Answer) -> Iterator[Change]:
    """What makes the weights of a card less: another format, or another card or more of them."""
    for fix in fixes(failed.choices, failed.architecture, before, tunes=False):
        is_of_weights = fix.choices.weights != failed.choices.weights or card_of(fix.choices) != card_of(failed.choices)
        if is_of_weights and _is_larger(fix.choices, before):
            yield fix.change, fix.change, PLANNER, fix.choices
