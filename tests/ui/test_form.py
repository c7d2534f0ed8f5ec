"""From fields to a plan and back, and from a link to fields."""

import pytest

from planner.choices import Choices
from planner.formats import NumberFormat
from ui import form
from ui.address import read_address
from ui.examples import EXAMPLES


@pytest.mark.parametrize(
    "choices",
    [
        *EXAMPLES.values(),
        Choices(model="qwen3-8b", device="h100-sxm", device_count=4, weights="q4_k", context=100, users=7),
        Choices(model="qwen3-8b", memory="9GiB", weights="int8", quantize="all", context=1, overhead="2GiB"),
        Choices(model="qwen3-8b", memory="9GiB", kv_cache="q8_0", context=1),
        Choices(model="qwen3-8b", memory="9GiB", context=1, engine="vllm", set=("max_num_seqs=64", "block_size=32")),
        Choices(model="qwen3-8b", memory="9GiB", context=1, engine="vllm", engine_version="0.11", overhead="1.5GiB"),
        Choices(model="qwen3-8b", memory="9GiB", context=1, engine="llama_cpp", engine_version="b9849"),
        Choices(model="qwen3-8b", memory="9GiB", kv_cache="fp8", kv_cache_k="q8_0", context=1),
        Choices(model="qwen3-8b", memory="9GiB", kv_cache_k="q8_0", kv_cache_v="q4_0", context=1),
    ],
)
def test_choices_survive_the_form(choices: Choices) -> None:
    """to_choices ∘ to_state is identity."""
    assert form.to_choices(form.to_state(choices)) == choices


def test_the_defaults_ask_for_the_first_plan() -> None:
    assert form.to_choices({}) == Choices(
        model="llama-3.1-8b", device="rtx-4090", context=8_192, users=4, overhead="1.5GiB"
    )


@pytest.mark.parametrize(
    ("engine", "stated", "overhead"),
    [
        ("minimum", "", "1.5GiB"),
        ("transformers", "", None),
        ("vllm", "", None),
        ("llama_cpp", "", None),
        ("minimum", "none", None),
        ("minimum", "2GiB", "2GiB"),
        ("vllm", "1.5GiB", "1.5GiB"),
    ],
)
def test_a_flat_figure_is_for_engines_without_items_of_their_own_and_for_those_who_state_one(
    engine: str, stated: str, overhead: str | None
) -> None:
    assert form.to_choices({"engine": engine, "overhead": stated}).overhead == overhead


def test_16_bit_is_said_to_a_checkpoint_that_asks_for_8() -> None:
    fp8 = NumberFormat(name="fp8", elements=1, bytes=1, cache=True)
    assert form.to_choices({}, own_cache=fp8).kv_cache == "bf16"


@pytest.mark.parametrize(
    ("link", "fields"),
    [
        ({"model": "8b", "utm_source": "x"}, None),
        ({"model": "LLAMA-3.1-8B"}, {"model": "Llama-3.1-8B"}),
        ({"memory": "8GiB"}, {"memory": "8GiB", "device": "Another size"}),
        ({"device": "4090", "memory": "8GiB"}, {"device": "GeForce RTX 4090", "memory": "8GiB"}),
        ({"weights": "nf4"}, {"weights": "other", "weights_format": "nf4"}),
        ({"weights": "Q4_K_M"}, {"weights": "other", "weights_format": "q4_k_m"}),
        ({"weights": "checkpoint"}, {"weights": "as published"}),
        ({"kv_cache": "bf16"}, {"kv_cache": "16 bit"}),
        ({"kv_cache": "q8_0"}, {"kv_cache": "other", "kv_cache_format": "q8_0"}),
        ({"kv_cache_k": "f16"}, {"kv_cache_k": "fp16"}),
        ({"context": "131,072", "users": "2"}, {"context": 131_072, "users": 2}),
        ({"overhead": ""}, {"overhead": ""}),
        ({"overhead": "none"}, {"overhead": "none"}),
        ({"engine": "llama.cpp"}, {"engine": "llama_cpp"}),
        ({"engine": "vllm", "set": "max_num_seqs=64"}, {"engine": "vllm", "set": "max_num_seqs=64"}),
        ({"engine": "excel"}, None),
        ({"set": "max_num_seqs=64"}, None),
        ({"engine_version": "0.11"}, None),
    ],
)
def test_a_link_is_read_by_names_and_aliases(link: dict[str, str], fields: dict[str, object] | None) -> None:
    found, problems = read_address(link)
    if fields is None:
        assert list(found) == []
        assert len(problems) == 1
    else:
        assert (found, problems) == (fields, [])


def test_titles_are_unique_since_a_link_names_models_and_cards_by_them() -> None:
    from planner import presets

    assert len(form.model_names()) == len(list(presets.models()))
    assert len(form.device_names()) == len(presets.devices())
