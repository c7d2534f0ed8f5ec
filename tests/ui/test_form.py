"""From fields to a plan and back, and from a link to fields."""

import argparse

import pytest

from planner.commands.plan import add_arguments
from planner.formats import NumberFormat
from planner.inputs.choices import Choices, choose
from ui import form
from ui.address import in_address, read_address
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
        ({"weights": "awq-4bit-g128"}, {"weights": "other", "weights_format": "int4-g128-asym"}),
        ({"weights": "gptq-3bit-g128"}, None),
        ({"weights": "checkpoint"}, {"weights": "as published"}),
        ({"model": "deepseek-r1"}, {"model": "DeepSeek-R1"}),
        (
            {"model": "deepseek-r1", "engine": "ollama"},
            {"model": "DeepSeek-R1-0528-Qwen3-8B", "engine": "ollama"},
        ),
        ({"model": "DeepSeek-R1", "engine": "ollama"}, {"model": "DeepSeek-R1", "engine": "ollama"}),
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


EVERYTHING = {
    "model": "qwen3-32b",
    "device": "rtx-4090",
    "memory": "9GiB",
    "device_count": 4,
    "devices": "rtx-4090,rtx-3090",
    "weights": "q4_k",
    "quantize": "all",
    "kv_cache": "q8_0",
    "kv_cache_k": "q8_0",
    "kv_cache_v": "q4_0",
    "engine": "vllm",
    "engine_version": "0.26",
    "set": ("max_num_seqs=64", "block_size=32"),
    "context": 4_096,
    "users": 3,
    "tensor_parallel": 2,
    "pipeline_parallel": 3,
    "expert_parallel": 4,
    "data_parallel": 5,
    "replicas": 2,
    "overhead": "2GiB",
    "host_memory": "32GiB",
    "display": True,
    "profile": "h100",
    "draft_model": "qwen3-0.6b",
    "draft_tokens": 5,
    "draft_weights": "fp8",
}
"""A value for every option of ``plan`` that has a field, none of them the usual one."""
NO_FIELD = {
    "online": "the page Your own model says whether a name is asked for on the Hub",
    "launch": "a command is read by the page My log",
    "json": "how the answer is printed",
    "help": "how the answer is printed",
}
NEEDS = {
    "quantize": {"weights": "int8"},
    "draft_tokens": {"draft_model": "qwen3-0.6b"},
    "draft_weights": {"draft_model": "qwen3-0.6b", "draft_tokens": 5},
    "draft_model": {"draft_tokens": 5},
    "engine_version": {"engine": "vllm"},
    "set": {"engine": "vllm"},
}
USUAL = {"model": "llama-3.1-8b", "context": 8_192, "users": 4}


def options_of_plan() -> set[str]:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return {action.dest for action in parser._actions}


def test_every_option_of_plan_has_a_field_or_a_reason_to_have_none() -> None:
    assert options_of_plan() == EVERYTHING.keys() | NO_FIELD.keys()


@pytest.mark.parametrize("option", EVERYTHING)
def test_every_option_survives_the_form_and_a_link(option: str) -> None:
    """A plan with the option, as fields, as an address and as a command: all ask for the same."""
    values = USUAL | NEEDS.get(option, {}) | {option: EVERYTHING[option]}
    if option not in ("memory", "devices"):
        values.setdefault("device", "rtx-4090")
    values.setdefault("overhead", form.usual_overhead(str(values.get("engine", "minimum"))))
    choices = Choices(**values)  # type: ignore[arg-type]
    state = form.to_state(choices)
    assert form.to_choices(state) == choices
    if option == "profile":
        return  # only those that are saved on the machine can be linked
    link = {key: in_address(value) for key, value in state.items() if value != form.defaults(choices.engine)[key]}
    found, problems = read_address(link)
    assert problems == []
    assert form.to_choices(found) == choices
    name = f"--{option.replace('_', '-')}"
    assert name in choices.command()


def test_a_machine_of_which_only_the_memory_is_said_keeps_it() -> None:
    """Its field stands beside that of any machine without a card, and the two give the same plan."""
    asked = Choices(model="qwen3-8b", device="cpu", host_memory="13GiB", engine="ollama", weights="q4_k_m", context=100)
    again = form.to_choices(form.to_state(asked))
    assert choose(again).deployment.device == choose(asked).deployment.device


def test_as_published_is_so_by_a_name_that_is_ollama_s_too() -> None:
    """Ollama pulls its own file by `command-r-plus`; in the form its weights are named all the same."""
    state = {"model": "Command-R+", "engine": "ollama"}
    assert form.to_choices(state).weights == "checkpoint"
    assert form.to_choices({**state, "model": "Llama-3.1-8B"}).weights is None
    assert form.to_choices({**state, "engine": "vllm"}).weights is None
