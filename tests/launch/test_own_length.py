"""A command that names no length: what its engine takes then."""

import pytest

from planner.cli import main


@pytest.mark.parametrize(
    ("command", "tokens", "note"),
    [
        ("vllm serve Qwen/Qwen3-8B", "40,960", "vLLM takes the model's, 40,960 tokens, and so does the plan"),
        ("vllm serve Qwen/Qwen3-8B --max-model-len 4096", "4,096", ""),
        ("python -m sglang.launch_server --model-path Qwen/Qwen3-8B", "8,192", "up to the model's 40,960 tokens"),
        ("llama-server -hf Qwen/Qwen3-8B-GGUF:Q4_K_M", "8,192", "llama.cpp takes up to the model's 40,960 tokens"),
    ],
)
def test_vllm_keeps_room_for_the_model_s_whole_length(
    command: str, tokens: str, note: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """40,960 tokens of Qwen3-8B are 5.62 GiB of cache, more than weights leave of an L4: vLLM would not start."""
    code = main(["plan", "--device", "l4", "--command", command])
    said = capsys.readouterr().out
    assert f"1 user × {tokens} tokens" in said
    assert (code == 0) is (tokens != "40,960")
    assert ("The command names no length" in said) is bool(note)
    assert note in said


def test_a_stated_length_comes_first(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--device", "l4", "--command", "vllm serve Qwen/Qwen3-8B", "--context", "16384"]) == 0
    assert "names no length" not in capsys.readouterr().out
