"""The minimum beside what engines reserve: each engine's own plan, and why one cannot."""

from dataclasses import replace

import pytest

from planner.answers.answer import answer
from planner.answers.figures import one_user_tokens, room_bytes
from planner.engine_comparison import EngineFigures, compare_engines, comparison_sentence, for_engine
from planner.engines import ENGINES
from planner.inputs.choices import Choices, choose

PLAN = Choices(model="llama-3.1-8b", device="rtx-4090", context=8_192, users=4, overhead="1.5GiB")


def compared(choices: Choices) -> dict[str, EngineFigures]:
    return {one.engine: one for one in compare_engines(choices, choose(choices).architecture)}


def test_every_engine_is_there_with_the_figures_of_its_own_plan() -> None:
    found = compared(PLAN)
    assert list(found) == list(ENGINES)
    for name, one in found.items():
        chosen = choose(for_engine(PLAN, name))
        own = answer(chosen.architecture, chosen.deployment, chosen.workload)
        assert one.problem == ""
        assert one.version == own.engine_version
        assert one.expected.one_user_tokens == one_user_tokens(own)
        assert one.expected.max_users == own.max_users
        assert one.expected.room_bytes == room_bytes(own)
        # Weights, runtime, room and what is left to others are the whole card.
        parts = one.weights_bytes + one.expected.runtime_bytes + one.expected.room_bytes + one.outside_bytes
        assert parts == one.memory_bytes


def test_the_minimum_is_weights_and_cache_alone_whatever_was_stated() -> None:
    least = compared(PLAN)["minimum"]
    # 23.64 GiB less 8,030,261,248 parameters of 2 bytes, by 131,072 B a token
    assert least.expected.runtime_bytes == 0
    assert least.expected.one_user_tokens == (least.memory_bytes - 2 * 8_030_261_248) // 131_072 == 71_123


def test_the_chosen_engine_keeps_its_version_settings_and_stated_runtime() -> None:
    own = replace(PLAN, engine="vllm", engine_version="0.11", set=("gpu_memory_utilization=0.5",), overhead="1GiB")
    found = compared(own)
    assert found["vllm"].version == "0.11"
    assert found["vllm"].outside_bytes >= found["vllm"].memory_bytes // 2 - 2**30
    assert found["sglang"].version != "0.11"


def test_an_engine_that_cannot_says_why_and_the_others_go_on() -> None:
    found = compared(replace(PLAN, kv_cache="q4_0"))
    assert "cannot keep its cache in q4_0" in found["vllm"].problem
    assert found["llama_cpp"].problem == ""


@pytest.mark.parametrize(
    ("choices", "words"),
    [
        (PLAN, "With weights and cache alone the card would hold **71,123 tokens** of Llama-3.1-8B"),
        (
            Choices(model="llama-3.2-1b", device="cpu-16gb", engine="llama_cpp"),
            "With weights and cache alone the machine would hold",
        ),
        (replace(PLAN, model="deepseek-v3"), "does not fit even at the least: it is 603.28 GiB too big."),
    ],
)
def test_the_sentence(choices: Choices, words: str) -> None:
    found = tuple(compared(choices).values())
    assert words in comparison_sentence(found, choose(choices).architecture.title)


def test_less_than_an_engine_has_is_explained_and_not_called_the_least() -> None:
    """On 24 and 12 GiB the minimum halves every layer; llama.cpp gives the larger card two thirds of them."""
    plan = Choices(model="gemma-3-27b", devices="24GiB,12GiB", weights="q4_k_m", context=8192)
    found = compare_engines(plan, choose(plan).architecture)
    tokens = {one.engine: one.expected.one_user_tokens for one in found if not one.problem}
    assert (tokens["llama_cpp"] or 0) > (tokens["minimum"] or 0)
    sentence = comparison_sentence(found, "Gemma-3-27B", are_unequal=True)
    assert sentence.startswith("Divided evenly, so that the smallest card decides, ")
    assert f"**{tokens['minimum']:,} tokens**" in sentence
    assert f"**{max(count or 0 for count in tokens.values()):,}**" in sentence
