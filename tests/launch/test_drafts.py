"""A draft is part of the command of every engine that has it, and is named as left out by every other."""

from importlib.util import find_spec
from pathlib import Path

import pytest

from planner.inputs.choices import Choices, choose
from planner.launch import LAUNCHERS, launch, parse_launch
from planner.launch.base import Launch
from tests.launch_plans import ask, comparable, without_command

DRAFTS = ("qwen3-0.6b", "eagle", "ngram", "mtp")
CANNOT = {("transformers", "eagle"), ("transformers", "mtp"), ("ik_llama_cpp", "eagle"), ("ik_llama_cpp", "ngram")}
CANNOT |= {(engine, draft) for engine in ("lmdeploy", "ollama") for draft in DRAFTS} - {("ollama", "mtp")}


def planned(engine: str, draft: str, **more: object) -> Choices:
    predicts = "deepseek-v3" if engine in ("tensorrt_llm", "lmdeploy") else "qwen3.6-27b"
    model = predicts if draft == "mtp" else "qwen3-32b"
    return Choices(  # type: ignore[arg-type]
        **{
            "model": model,
            "memory": "141GB",
            "engine": engine,
            "draft_model": draft,
            "draft_tokens": 4,
            "context": 4096,
        }
        | more
    )


def written(choices: Choices) -> Launch:
    found = launch(choices, choose(choices))
    assert found is not None
    return found


@pytest.mark.parametrize("engine", LAUNCHERS)
@pytest.mark.parametrize("draft", DRAFTS)
def test_every_engine_s_command_drafts_or_says_that_it_does_not(engine: str, draft: str) -> None:
    choices = planned(engine, draft)
    command = written(choices)
    left_out = [note for note in command.notes if "this command does not" in note]
    if (engine, draft) in CANNOT:
        assert len(left_out) == 1
        return
    assert not left_out
    if engine != "ollama":
        after = ask(parse_launch(engine, command.text, without_command(choices)))
        assert comparable(after) == comparable(ask(choices))


@pytest.mark.parametrize(
    ("engine", "draft", "words"),
    [
        ("vllm", "qwen3-0.6b", '{"method": "draft_model", "model": "Qwen/Qwen3-0.6B", "num_speculative_tokens": 4}'),
        ("vllm", "eagle", '{"method": "eagle", "model": "EAGLE-HEAD", "num_speculative_tokens": 4}'),
        ("vllm", "ngram", '{"method": "ngram", "num_speculative_tokens": 4}'),
        ("vllm", "mtp", '{"method": "mtp", "num_speculative_tokens": 4}'),
        ("sglang", "qwen3-0.6b", "--speculative-algorithm STANDALONE"),
        ("sglang", "eagle", "--speculative-draft-model-path EAGLE-HEAD"),
        ("sglang", "ngram", "--speculative-algorithm NGRAM"),
        # Four drafted and the model's own are five of a step.
        ("sglang", "mtp", "--speculative-num-draft-tokens 5"),
        ("llama_cpp", "qwen3-0.6b", "--model-draft qwen3-0.6b.gguf"),
        ("llama_cpp", "ngram", "--spec-type ngram-simple"),
        ("llama_cpp", "mtp", "--spec-type draft-mtp"),
        ("ik_llama_cpp", "qwen3-0.6b", "--draft-max 4"),
        ("tensorrt_llm", "qwen3-0.6b", "decoding_type: DraftTarget\n  max_draft_len: 4"),
        ("tensorrt_llm", "mtp", "decoding_type: MTP\n  num_nextn_predict_layers: 4"),
        ("transformers", "qwen3-0.6b", "assistant_model=draft"),
        ("transformers", "ngram", "prompt_lookup_num_tokens=4"),
    ],
)
def test_what_a_command_says_of_its_draft(engine: str, draft: str, words: str) -> None:
    assert words in written(planned(engine, draft)).text


def test_llama_cpp_renamed_its_option_in_may_2026() -> None:
    """#22964: --draft-max is refused from then on; before, there was no --spec-type for a smaller model."""
    old = written(planned("llama_cpp", "qwen3-0.6b", engine_version="2025-11-07")).text
    new = written(planned("llama_cpp", "qwen3-0.6b")).text
    assert "--draft-max 4" in old
    assert "--spec-" not in old
    assert "--spec-draft-n-max 4" in new
    assert "--draft-max" not in new


def test_vllm_had_no_smaller_drafts_for_some_versions() -> None:
    notes = {
        version: written(planned("vllm", "qwen3-0.6b", engine_version=version)).notes
        for version in ("0.9", "0.11", "0.26")
    }
    assert notes == {
        "0.9": (),
        "0.11": ("vLLM 0.11 starts with no smaller model as a draft: use a version that does.",),
        "0.26": (),
    }


def test_vllm_quantises_a_draft_while_it_loads() -> None:
    choices = planned("vllm", "qwen3-0.6b", draft_weights="fp8")
    command = written(choices)
    assert '"quantization": "fp8"' in command.text
    assert command.notes == ()
    assert parse_launch("vllm", command.text, without_command(choices)).draft_weights == "fp8"


@pytest.mark.skipif(find_spec("xllamacpp") is None, reason="needs llama.cpp: pip install xllamacpp")
@pytest.mark.parametrize("draft", [None, *DRAFTS])
def test_llama_cpp_itself_knows_every_option(draft: str | None) -> None:
    """Each option stands in the parser of the build that the plan follows, whole and with a NUL at both ends."""
    import xllamacpp

    binary = next(Path(xllamacpp.__path__[0]).glob("*.so")).read_bytes()
    settings = ("n_parallel=2", "n_batch=512", "n_ubatch=256", "flash_attn=on", "kv_unified=true", "swa_full=true")
    more = ("n_gpu_layers=9", "n_cpu_moe=2", "no_kv_offload=true", "no_mmproj=true", "cache_ram=2GiB", "cpu_moe=true")
    choices = planned(
        "llama_cpp", draft or "ngram", kv_cache="q8_0", weights="q4_k_m", set=(*settings, *more), pipeline_parallel=2
    )
    words = written(choices).text.replace("\\\n", "").split()
    options = [word for word in words if word.startswith("--")]
    assert len(options) >= 15
    assert [option for option in options if b"\0" + option.encode() + b"\0" not in binary] == []
