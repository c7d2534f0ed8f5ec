"""Fixes are tried, not guessed: each does what it says."""

from dataclasses import replace

import pytest

from planner.advice import Fix, fixes
from planner.answers.answer import Answer, answer, fits
from planner.inputs.choices import Choices, choose

TIGHT = Choices(model="13b-class-mha", memory="8GiB", weights="int4-g128", overhead="1.5GiB", context=2_048)
CROWDED = Choices(model="llama-3.1-8b", device="rtx-4090", overhead="1.5GiB", context=8_192, users=40)
HUGE = Choices(model="deepseek-v3", device="rtx-4060", overhead="1.5GiB")


def asked(choices: Choices) -> Answer:
    chosen = choose(choices)
    return answer(chosen.architecture, chosen.deployment, chosen.workload)


def advised(choices: Choices) -> tuple[Fix, ...]:
    chosen = choose(choices)
    return fixes(choices, chosen.architecture, answer(chosen.architecture, chosen.deployment, chosen.workload))


@pytest.mark.parametrize("choices", [TIGHT, CROWDED, HUGE])
def test_each_fix_does_what_it_says(choices: Choices) -> None:
    before = asked(choices)
    for fix in advised(choices):
        after = asked(fix.choices)
        assert after.fits == fix.enough
        assert after.free_bytes > before.free_bytes


QWEN = Choices(model="qwen3-8b", device="l4", engine="vllm", context=8_192)
GRANITE = Choices(model="granite-4.0-h-tiny", device="h200", engine="vllm", context=8_192)


@pytest.mark.parametrize(
    ("choices", "expected"),
    [
        (TIGHT, False),
        (replace(TIGHT, context=337), True),
        (replace(QWEN, context=1_024), True),
        (replace(QWEN, context=1_000_000), False),
        (
            replace(GRANITE, set=("num_gpu_blocks_override=100", "max_num_seqs=101")),
            False,
        ),  # a state for each is refused
        (Choices(model="qwen3-8b", device="m4-max-128gb", engine="tensorrt_llm"), False),  # no build
    ],
)
def test_whether_a_plan_fits_is_known_without_its_searches(choices: Choices, expected: bool) -> None:
    chosen = choose(choices)
    assert fits(chosen.architecture, chosen.deployment, chosen.workload) is asked(choices).fits is expected


@pytest.mark.parametrize("choices", [TIGHT, CROWDED, HUGE])
def test_what_is_enough_comes_first(choices: Choices) -> None:
    enough = [fix.enough for fix in advised(choices)]
    assert enough == sorted(enough, reverse=True)


def test_the_smallest_card_that_is_enough() -> None:
    # 6.24 GiB of weights, 1.5 GiB of runtime and 2,048 · 819,200 B of cache are 9.31 GiB.
    first = advised(TIGHT)[0]
    assert (first.change, first.result) == ("A 10 GiB card", "2,958 tokens, 1.4 × what you asked")
    assert first.choices.memory == "10GiB"


def test_a_checkpoint_in_32_bits_is_served_in_16() -> None:
    """Gemma-2-9B: 9,241,705,984 numbers at two bytes each beside 1.3 GiB of cache are enough for 24 GB."""
    assert advised(Choices(model="gemma-2-9b", device="rtx-4090"))[0].change == "Weights in bf16"


@pytest.mark.parametrize(
    ("engine", "weights", "offered"),
    [
        ("minimum", None, ["int8", "int4-g128-asym"]),
        ("vllm", None, ["fp8", "int4-g128-asym"]),
        ("vllm", "fp8", ["int4-g128-asym"]),
        ("minimum", "int8", ["int4-g128-asym"]),
        *(
            (engine, weights, [])
            for engine in ("minimum", "vllm")
            for weights in ("int4-g128", "int4-g128-asym", "nvfp4")
        ),
        ("llama_cpp", "q8_0", ["q6_k", "q4_k_m", "q3_k_m"]),
        ("llama_cpp", "q5_k_m", ["q4_k_m", "q3_k_m"]),
        *(("llama_cpp", weights, ["q3_k_m"]) for weights in ("q4_0", "q4_k_m", "iq4_xs")),
        ("llama_cpp", "q3_k_m", []),
    ],
)
def test_weights_are_offered_in_fewer_bits_alone(engine: str, weights: str | None, offered: list[str]) -> None:
    found = advised(Choices(model="qwen3-8b", memory="3GiB", engine=engine, weights=weights, context=40_000))
    changes = [fix.change for fix in found if fix.change.startswith("Weights in ")]
    assert sorted(changes) == sorted(f"Weights in {name}" for name in offered)


def test_smaller_weights_say_what_they_cost_in_quality() -> None:
    """Of Llama-3-70B iq3_m raises the perplexity on WikiText-2 by 22%; bf16 in place of fp32 costs nothing."""
    found = advised(Choices(model="llama-3.3-70b", memory="34GiB", engine="llama_cpp", context=8_192))
    result = next(fix.result for fix in found if fix.change == "Weights in iq3_m")
    assert result.endswith("; quality: perplexity +22% (Llama-3-70B, WikiText-2)")
    assert "quality" not in advised(Choices(model="gemma-2-9b", device="rtx-4090"))[0].result


def test_a_smaller_wish_is_the_cheapest() -> None:
    assert [fix.change for fix in advised(CROWDED)[:1]] == ["7 users at once instead of 40"]


def test_as_many_cards_as_it_takes_up_to_eight_times() -> None:
    changes = [fix.change for fix in advised(CROWDED) if "×" in fix.change and "RTX 4090" in fix.change]
    # 40 GiB of cache and 14.96 of weights over 23.64 GiB cards, 1.5 GiB each taken: three cards, so four.
    assert changes == ["4 × GeForce RTX 4090"]


def test_where_nothing_is_enough_the_nearest_is_said_not_to_be() -> None:
    found = advised(HUGE)
    assert not any(fix.enough for fix in found)
    assert all(fix.result.startswith("Still ") for fix in found)
    assert "2 × GeForce RTX 4060" in [fix.change for fix in found]


def test_llama_cpp_moves_experts_or_layers_to_main_memory_as_fit_would() -> None:
    """The fewest that leave the margin of 1 GiB: one less would not."""
    for model, weights, setting in (("qwen3-30b-a3b", "q4_k_m", "n_cpu_moe"), ("qwen3-14b", "q6_k", "n_gpu_layers")):
        choices = Choices(model=model, memory="10GiB", weights=weights, engine="llama_cpp", context=8_192)
        fix = next(fix for fix in advised(choices) if setting in fix.change)
        assert fix.enough
        name, _, number = fix.choices.set[-1].partition("=")
        step = -1 if name == "n_cpu_moe" else 1
        chosen = choose(fix.choices)
        assert answer(chosen.architecture, chosen.deployment, chosen.workload).free_bytes >= 2**30
        more = choose(replace(fix.choices, set=(f"{name}={int(number) + step}",)))
        assert answer(more.architecture, more.deployment, more.workload).free_bytes < 2**30


@pytest.mark.parametrize(
    ("model", "settings", "name"),
    [
        ("qwen3-30b-a3b", ("n_gpu_layers=99", "n_cpu_moe=30"), "n_cpu_moe"),
        ("qwen3-30b-a3b", ("n_gpu_layers=99",), "n_cpu_moe"),
        ("qwen3-14b", ("n_gpu_layers=99",), "n_gpu_layers"),
    ],
)
def test_layers_that_the_user_placed_are_placed_anew(model: str, settings: tuple[str, ...], name: str) -> None:
    """-ngl 99 stands in most commands: it fits with fewer layers, or experts of more, as --fit would have chosen."""
    choices = Choices(
        model=model, weights="q4_k_m", device="rtx-4070-laptop", engine="llama_cpp", context=32_768, set=settings
    )
    chosen = choose(choices)
    found = fixes(choices, chosen.architecture, answer(chosen.architecture, chosen.deployment, chosen.workload))
    (placed,) = [fix for fix in found if f"({name}=" in fix.change]
    assert placed.enough
    alone = replace(choices, set=())
    bare = choose(alone)
    unplaced = fixes(alone, bare.architecture, answer(bare.architecture, bare.deployment, bare.workload))
    assert placed.change in {fix.change.removesuffix(", as --fit would choose") for fix in unplaced}
