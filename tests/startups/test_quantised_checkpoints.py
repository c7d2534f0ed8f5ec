"""Logs of checkpoints whose own list of modules is known are not read by their names."""

import pytest

from planner.logs.readings import Start
from planner.startups.model import model_of


@pytest.mark.parametrize(
    ("name", "model", "weights"),
    [
        ("nvidia/Qwen3.6-27B-NVFP4", "nvidia/Qwen3.6-27B-NVFP4", None),
        ("/models/Meta-Llama-3.1-405B-Instruct-FP8", "meta-llama/Llama-3.1-405B-Instruct-FP8", None),
        ("/models/Qwen3-8B-FP8", "Qwen/Qwen3-8B-FP8", None),
        ("someone/Qwen3-8B-FP8", "qwen3-8b", "fp8"),
    ],
)
def test_a_log_is_of_a_known_checkpoint_or_of_what_its_name_is_like(name: str, model: str, weights: str | None) -> None:
    assert model_of(Start(engine="vllm", line=1, model=name)) == (model, weights)
