"""What a command loads: a checkpoint or a GGUF that has the plan's format, or what stands for one."""

import pytest

from planner.catalogue.checkpoint_ids import identify
from planner.catalogue.downloads import checkpoint_id, pull_name, pulled, stored_as
from planner.errors import PlannerError
from planner.format_presets import formats, mix_names
from planner.inputs.choices import Choices, choose
from planner.launch import launch, parse_launch
from planner.presets import models


@pytest.mark.parametrize(
    ("weights", "source"),
    [
        ("q4_k_m", "qwen3:8b-q4_K_M"),
        ("q8_0", "qwen3:8b-q8_0"),
        # The library has no other type of it; the Hub has.
        ("q6_k", "hf.co/bartowski/Qwen_Qwen3-8B-GGUF:Q6_K"),
        ("iq1_s", "./qwen3-8b-IQ1_S.gguf"),
    ],
)
def test_ollama_is_given_what_it_can_pull_or_how_the_file_is_made(weights: str, source: str) -> None:
    choices = Choices(model="qwen3-8b", memory="24GiB", weights=weights, engine="ollama", context=8_192)
    written = launch(choices, choose(choices))
    assert written is not None
    assert f"\nFROM {source}\n" in written.text
    made = [
        "hf download Qwen/Qwen3-8B --local-dir qwen3-8b",
        "python convert_hf_to_gguf.py qwen3-8b --outfile qwen3-8b-BF16.gguf",
        "llama-quantize qwen3-8b-BF16.gguf qwen3-8b-IQ1_S.gguf IQ1_S",
    ]
    assert written.files == ("\n".join(made) if source.startswith("./") else "")


def test_every_file_that_is_known_is_found_again() -> None:
    """pulled ∘ pull_name is identity, over every model of the list and every type of GGUF file."""
    names = [preset.name for preset in models() if not preset.config.get("nominal_parameters")]
    pairs = [(name, weights) for name in names for weights in (*mix_names(), "checkpoint")]
    known = {pair: found for pair in pairs if (found := pull_name(*pair))}
    assert len(known) > 300
    assert [pair for pair, found in known.items() if pulled(found) != pair] == []


def test_a_format_that_needs_a_checkpoint_says_so() -> None:
    choices = Choices(model="llama-3.1-8b", memory="24GiB", weights="int8", engine="vllm")
    written = launch(choices, choose(choices))
    assert written is not None
    assert "vllm serve CHECKPOINT-OF-llama-3.1-8b-IN-int8 " in written.text
    assert written.notes == (
        "Name a checkpoint of llama-3.1-8b in int8 in place of CHECKPOINT-OF-llama-3.1-8b-IN-int8: vLLM does not make "
        "one while it loads.",
    )


@pytest.mark.parametrize("engine", ["vllm", "sglang", "lmdeploy", "tensorrt_llm", "transformers"])
def test_no_command_starts_the_publisher_s_checkpoint_in_place_of_another_format(engine: str) -> None:
    """Every format of the list, and GGUF's: the command read back is the plan, or the engine refuses the format."""
    for weights in (*formats(), "q4_k_m", "iq2_xs"):
        choices = Choices(model="llama-3.1-8b", memory="80GiB", weights=weights, engine=engine, context=4096)
        try:
            chosen = choose(choices)
            written = launch(choices, chosen)
        except PlannerError:
            continue
        stored = chosen.deployment.weights
        if stored.format is not None and stored.format.is_unquantized:
            continue
        assert written is not None
        again = parse_launch(engine, written.text, Choices(model="", memory="80GiB"))
        assert again.model in ("llama-3.1-8b", "meta-llama/Llama-3.1-8B")
        assert again.weights == stored.name, written.text


def test_ik_llama_cpp_is_given_a_file_that_is_downloaded() -> None:
    """Its --hf-repo takes no type behind a colon."""
    choices = Choices(model="llama-3.1-8b", memory="24GiB", weights="q4_k_m", engine="ik_llama_cpp", context=8_192)
    written = launch(choices, choose(choices))
    assert written is not None
    assert "--model llama-3.1-8b-Q4_K_M.gguf" in written.text
    assert "--hf-repo" not in written.text
    repository = "bartowski/Meta-Llama-3.1-8B-Instruct-GGUF"
    assert written.files == f"hf download {repository} --include '*Q4_K_M*.gguf' --local-dir ."


@pytest.mark.parametrize("engine", ["vllm", "sglang", "lmdeploy", "tensorrt_llm", "transformers"])
def test_a_checkpoint_that_has_the_format_is_named_and_read_back(engine: str) -> None:
    for weights, checkpoint in (
        ("int4-g128", "Qwen/Qwen2.5-7B-Instruct-GPTQ-Int4"),
        ("int4-g128-asym", "Qwen/Qwen2.5-7B-Instruct-AWQ"),
    ):
        choices = Choices(model="qwen2.5-7b-instruct", memory="12GiB", weights=weights, engine=engine, context=4096)
        written = launch(choices, choose(choices))
        assert written is not None
        assert checkpoint in written.text
        assert not any("Name a checkpoint" in note for note in written.notes)
        again = parse_launch(engine, written.text, Choices(model="", memory="12GiB"))
        assert (again.model, again.weights) == ("qwen2.5-7b-instruct", weights)


def test_every_checkpoint_that_is_known_is_of_the_model_and_the_format_that_its_name_says() -> None:
    """ISTA-DASLab's names say 4b-128g, as no other does."""
    known = [
        (preset.name, weights, found)
        for preset in models()
        for weights in ("int4-g128", "int4-g128-asym")
        if (found := checkpoint_id(preset.name, weights))
    ]
    assert len(known) > 150
    assert [row for row in known if stored_as(row[2]) != row[:2]] == []
    by_name = [row for row in known if not row[2].startswith("ISTA-DASLab/")]
    assert [row for row in by_name if identify(row[2]) != row[:2]] == []
