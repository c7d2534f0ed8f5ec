"""A checkpoint's id says which preset it is, and in which format."""

import pytest

from planner import presets
from planner.catalogue.checkpoint_ids import identify
from planner.errors import PlannerError
from planner.inputs.model_files import load_model
from tests.checkpoints import stored_bytes


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
    with pytest.raises(PlannerError, match="it may be tuned from a preset: --model qwen3-8b --weights q4_k_m"):
        load_model("someone/qwen3-8b-of-mine-Q4_K_M")


def test_a_known_checkpoint_has_what_its_own_list_leaves_in_16_bit() -> None:
    """126 layers of Llama-3.1-405B: every attention of 2 x 16,384 x (16,384 + 1,024), and two MLPs, are in 16 bit."""
    found = load_model("meta-llama/llama-3.1-405b-instruct-fp8")
    attention = 2 * 16_384 * (16_384 + 1_024)
    kept = 126 * attention + 2 * 3 * 16_384 * 53_248 + 2 * 128_256 * 16_384 + 253 * 16_384
    scales = 4 * 124 * (2 * 53_248 + 16_384)
    assert stored_bytes(found) == 2 * kept + (405_853_388_800 - kept) + scales
    assert (found.name, found.stored_as) == ("meta-llama/Llama-3.1-405B-Instruct-FP8", "fp8-row")
    assert not found.stored_assumed


def test_a_format_that_only_a_name_says_is_assumed() -> None:
    """Every matrix of the layers in that format: 36 layers of Qwen3-8B, their embedding and head in 16 bit."""
    found = load_model("someone/Qwen3-8B-FP8")
    matrices = 36 * (4_096 * (2 * 4_096 + 2 * 1_024) + 3 * 4_096 * 12_288)
    assert stored_bytes(found) == matrices + 2 * (8_190_735_360 - matrices)
    assert (found.name, found.stored_as, found.stored_assumed) == ("someone/Qwen3-8B-FP8", "fp8", True)
    assert found.stored_doubt == "by its name"
    assert "someone/Qwen3-8B-FP8 is taken as qwen3-8b in fp8, by its name" in found.warnings[-1]
