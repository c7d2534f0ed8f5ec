"""What stays on a card under the engine's own rule: --fit keeps a margin free, in plans and in offers alike."""

from dataclasses import replace

import pytest

from planner.answers.answer import Answer, answer
from planner.answers.verdict import verdict
from planner.budget import State
from planner.finding.picks import Pick, picks_for
from planner.inputs.choices import Choices, choose
from planner.starting import start
from planner.tried_formats import default_weights
from planner.units import GIB, MIB

DEVICES = ("rtx-4060", "rtx-4090", "rx-7900-xtx", "apple-m2-16gb")


def ask(choices: Choices) -> Answer:
    chosen = choose(choices)
    return answer(chosen.architecture, chosen.deployment, chosen.workload)


def plan_of(pick: Pick, engine: str, context: int) -> Answer:
    match = pick.match
    return ask(
        Choices(model=match.name, device=match.device_name, engine=engine, weights=match.weights, context=context)
    )


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("engine", ["ollama", "llama_cpp"])
def test_the_context_that_is_offered_is_the_longest_that_a_plan_is_sure_of(engine: str, device: str) -> None:
    for pick in picks_for(Choices(model="", device=device, engine=engine), default_weights(engine), count=3):
        longest, limit = pick.context_tokens, pick.match.model_limit_tokens
        assert longest is not None
        found = plan_of(pick, engine, longest)
        assert (found.state, found.free_bytes >= 0) == (State.FITS, True), pick
        # What is left free beside --fit's margin counts as free no more.
        assert sum(item.bytes for item in found.items if item.name == "outside the pool") == found.margin_bytes == GIB
        assert longest == limit or plan_of(pick, engine, longest + 1).state is not State.FITS, pick


PLAN = Choices(model="llama-3.1-8b", weights="q4_k_m", memory="8GiB", engine="llama_cpp", context=8192)


def with_(**given: object) -> Answer:
    return ask(replace(PLAN, **given))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("engine", "version", "margin_bytes"),
    [
        ("llama_cpp", "2025-12-14", 0),
        ("llama_cpp", "2025-12-15", GIB),
        ("ollama", "2026-05-28", 0),
        ("ollama", "2026-05-29", GIB),
        ("ik_llama_cpp", None, 0),
    ],
)
def test_versions_with_fit_keep_its_margin(engine: str, version: str | None, margin_bytes: int) -> None:
    assert with_(engine=engine, engine_version=version).margin_bytes == margin_bytes


@pytest.mark.parametrize("setting", ["n_gpu_layers=20", "n_cpu_moe=4", "cpu_moe=true", "fit=off"])
def test_fit_has_no_say_in_what_is_placed_by_hand(setting: str) -> None:
    assert with_(set=(setting,)).margin_bytes == 0


def test_the_margin_may_be_set_and_is_part_of_a_stated_overhead() -> None:
    assert with_(set=("fit_target=512MiB",)).margin_bytes == 512 * MIB
    assert with_(overhead="1.5GiB").margin_bytes == 0


def test_a_plan_within_the_margin_starts_with_a_part_in_main_memory() -> None:
    """It fits to the last GiB where every layer is placed by hand; by itself the engine moves layers."""
    longest = with_(set=("n_gpu_layers=99",)).max_context_tokens
    assert longest is not None
    found = with_(context=longest)
    assert (found.fits, found.loads) == (False, True)
    words = verdict(found)
    assert words.title.endswith("too much to stay on the card")
    assert "It starts all the same" in words.sentence
    chosen = choose(PLAN)
    begun = start(replace(PLAN, context=longest), chosen.architecture)
    assert begun is not None
    assert begun.title == "It starts with a part in main memory"
    assert any(text.startswith("n_gpu_layers=") for text in begun.choices.set)
