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


@pytest.mark.parametrize(
    "words",
    [
        ("--model", "qwen3-14b", "--weights", "q4_k_m", "--command", "llama-server -m /models/my-model.gguf -c 8192"),
        ("--command", "ollama run qwen3:14b-q4_K_M", "--context", "8192"),
        ("--command", "OLLAMA_NUM_PARALLEL=1 ollama run --verbose qwen3:14b-q4_K_M", "--context", "8192"),
    ],
)
def test_a_file_of_one_s_own_name_and_a_tag_to_run(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--device", "rtx-4090", *words]) == 0
    said = capsys.readouterr().out
    assert "Qwen3-14B on one GeForce RTX 4090: 1 user × 8,192 tokens" in said


def test_tokens_that_slots_do_not_divide_are_rounded_as_the_engine_does(capsys: pytest.CaptureFixture[str]) -> None:
    """4,096 on 3 slots are 1,365 each, of which llama.cpp makes 1,536: 3 · 1,536 · 147,456 bytes are 0.63 GiB."""
    command = "llama-server -m Qwen3-8B-Q4_K_M.gguf -c 4096 --parallel 3"
    assert main(["plan", "--device", "rtx-4090", "--users", "3", "--command", command]) == 0
    said = capsys.readouterr().out
    assert "3 users × 1,365 tokens need 0.63 GiB of cache" in said
