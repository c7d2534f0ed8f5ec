"""A checkpoint's id says which preset it is, and in which format."""

import pytest

from planner import presets
from planner.catalogue.checkpoint_ids import identify
from planner.errors import PlannerError
from planner.inputs.model_files import load_model


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("meta-llama/Llama-3.1-8B-Instruct", ("llama-3.1-8b", None)),
        ("neuralmagic/Meta-Llama-3.1-70B-Instruct-quantized.w8a8", ("llama-3.1-70b", "int8-row")),
        (r"C:\models\gemma-3-27b-it-Q4_0.gguf", ("gemma-3-27b", "q4_0")),
        ("unsloth/gemma-3-27b-it-bnb-4bit", ("gemma-3-27b", "nf4")),
        ("openai/gpt-oss-20b", ("gpt-oss-20b", None)),
        ("unsloth/gemma-3-27b-it-GGUF", ("gemma-3-27b", None)),
        ("tiiuae/Falcon-H1-7B-Base", ("falcon-h1-7b", None)),
        ("nobody/heard-of-it", None),
        ("", None),
    ],
)
def test_checkpoints_are_known_by_their_names(name: str, expected: tuple[str, str | None] | None) -> None:
    assert identify(name) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("/models/Qwen3-14B/", ("qwen3-14b", None)),
        ("/mnt/models/models--meta-llama--llama-3-1-70b-instruct", ("llama-3.1-70b", None)),
        ("/root/.cache/models--Qwen--Qwen3-8B/snapshots/b968826d9c46dd6066d109eabc6255188de91218", ("qwen3-8b", None)),
        ("/kaggle/input/gpt-oss-120b/transformers/default/1", ("gpt-oss-120b", None)),
        ("/opt/models/MiniMax-M2.7-Q6_K-00001-of-00005.gguf", ("minimax-m2.7", "q6_k")),
        ("TinyLlama-1.1B-Chat-v1.0.Q8_0.llamafile", ("tinyllama-1.1b", "q8_0")),
        ("Meta Llama 3.1 8B Instruct", ("llama-3.1-8b", None)),
    ],
)
def test_paths_and_titles_are_known_by_the_name_in_them(name: str, expected: tuple[str, str | None]) -> None:
    assert identify(name) == expected


def test_every_preset_is_known_by_its_own_names() -> None:
    """Ollama's tags too: ``qwen2.5:7b`` is the tuned model, ``qwen2.5-7b`` is not."""
    for preset in presets.models():
        for name in (preset.name, *preset.aliases):
            assert identify(name) == (preset.name, None), name


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("qwen3-8b-of-mine-Q4_K_M.gguf", ("qwen3-8b", "q4_k_m")),
        ("deepseek-ai/DeepSeek-R1-Distill-Of-Another", None),
        ("Qwen/Qwen3-8B-Embedding", None),
    ],
)
def test_a_tuned_model_is_its_preset_unless_it_says_another_shape(
    name: str, expected: tuple[str, str | None] | None
) -> None:
    assert identify(name) is None
    assert identify(name, is_tuned=True) == expected


def test_an_id_that_is_no_preset_is_refused_with_the_preset_it_is_like() -> None:
    with pytest.raises(PlannerError, match="--model qwen3-235b-a22b --weights nvfp4"):
        load_model("nvidia/Qwen3-235B-A22B-NVFP4")
