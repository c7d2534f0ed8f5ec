"""Advice that is followed brings what its sentence says: every model, by engine and card, sampled by a fixed seed."""

import random
import re
from collections.abc import Iterator
from dataclasses import replace

import pytest

from planner import presets
from planner.advice import Fix, fixes
from planner.answers.answer import Answer, answer
from planner.errors import PlannerError
from planner.inputs.choices import Choices, choose
from planner.launch import LAUNCHERS, expresses, launch, parse_launch
from planner.starting import start, starts

CARDS = ("rtx-4060", "rtx-4080", "rtx-4090", "a100-80gb")
CONTEXTS = (None, 2_048, 8_192, 32_768, 131_072)
HELD = re.compile(r"([\d,]+) tokens")
OF_NO_COMMAND = {"weights": None, "kv_cache": None, "draft_model": None, "draft_tokens": None, "draft_weights": None}
"""What a command says itself, so that reading it back must bring it."""


def ask(choices: Choices) -> Answer:
    chosen = choose(choices)
    return answer(chosen.architecture, chosen.deployment, chosen.workload)


def sampled(engine: str, count: int) -> Iterator[Choices]:
    """*count* plans that do not fit."""
    chance = random.Random(engine)
    names = [preset.name for preset in presets.models()]
    while count:
        choices = Choices(
            model=chance.choice(names),
            device=chance.choice(CARDS),
            engine=engine,
            context=chance.choice(CONTEXTS),
            users=chance.choice((1, 1, 4, 40)),
            device_count=chance.choice((None, None, 2)),
        )
        try:
            fits = ask(choices).fits
        except PlannerError:
            continue
        if not fits:
            count -= 1
            yield choices


def follow(choices: Choices) -> None:
    architecture = choose(choices).architecture
    before = ask(choices)
    for fix in fixes(choices, architecture, before):
        _check(fix)
    found = start(choices, architecture, before)
    if found is not None and found.command is not None and not found.spills:
        assert starts(ask(found.choices)), found.choices.command()


def _check(fix: Fix) -> None:
    said = fix.choices.command()
    assert ask(fix.choices).fits is fix.enough, said
    if (held := HELD.match(fix.result)) and (tokens := int(held[1].replace(",", ""))):
        assert ask(replace(fix.choices, context=tokens)).deciding.spare_bytes >= 0, (said, fix.result)
    chosen = choose(fix.choices)
    command = launch(fix.choices, chosen) if fix.enough else None
    if command is None or not expresses(fix.choices, chosen, command):
        return
    like = replace(fix.choices, set=(), context=None, **OF_NO_COMMAND)  # type: ignore[arg-type]
    assert starts(ask(parse_launch(fix.choices.engine, command.text, like))), (said, command.text)


@pytest.mark.parametrize("engine", LAUNCHERS)
def test_advice_that_is_followed_brings_what_it_says(engine: str) -> None:
    for choices in sampled(engine, 12):
        follow(choices)


@pytest.mark.slow
@pytest.mark.parametrize("engine", LAUNCHERS)
def test_advice_on_many_plans_brings_what_it_says(engine: str) -> None:
    for choices in sampled(engine, 300):
        follow(choices)


def test_transformers_keeps_its_cache_in_the_numbers_of_its_weights() -> None:
    """GPT-2 XL is published in 32 bit: 48 layers × 2 × 1,600 × 4 bytes a token, and half of it in 16 bit."""
    for weights, token_bytes in ((None, 614_400), ("fp32", 614_400), ("bf16", 307_200), ("nf4", 307_200)):
        choices = Choices(model="gpt2-xl", device="rtx-4090", engine="transformers", weights=weights, context=1_000)
        assert ask(choices).kv_request_bytes == 1_000 * token_bytes


def test_a_cache_that_a_script_does_not_keep_has_no_command_and_is_not_advised() -> None:
    choices = Choices(model="pythia-2.8b", device="rtx-4060", engine="transformers", context=8_192)
    smaller = replace(choices, kv_cache="fp8")
    command = launch(smaller, choose(smaller))
    assert command is not None
    assert not expresses(smaller, choose(smaller), command)
    before = ask(choices)
    assert before.loads
    assert not before.fits
    assert not [fix for fix in fixes(choices, choose(choices).architecture, before) if fix.change.startswith("Cache")]
