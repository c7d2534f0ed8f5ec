"""A checkpoint's id says which preset it is, and in which format."""

import pytest

from planner.checkpoint_ids import identify
from planner.errors import PlannerError
from planner.model_files import load_model


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


def test_an_id_that_is_no_preset_is_refused_with_the_preset_it_is_like() -> None:
    with pytest.raises(PlannerError, match="--model qwen3-235b-a22b --weights nvfp4"):
        load_model("nvidia/Qwen3-235B-A22B-NVFP4")
