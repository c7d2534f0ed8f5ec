"""Commands as people paste them are read like those that are written here, and what contradicts them is refused."""

from dataclasses import replace

import pytest

from planner.commands.given import refuse_repeated
from planner.errors import PlannerError
from planner.inputs.choices import Choices, choose
from planner.launch import engine_of, launch, parse_launch
from planner.launch.pasted import (
    SWITCHES_WITHOUT_MEMORY,
    WITHOUT_MEMORY,
    by_name,
    refuse_contradictions,
    skipped,
    taken_as,
)

LIKE = Choices(model="", memory="79GiB")
PLAIN = {
    "vllm": "vllm serve Qwen/Qwen3-8B --max-model-len 8192",
    "sglang": "python -m sglang.launch_server --model-path Qwen/Qwen3-8B --context-length 8192",
    "tensorrt_llm": "trtllm-serve Qwen/Qwen3-8B --max_seq_len 8192",
    "lmdeploy": "lmdeploy serve api_server Qwen/Qwen3-8B --session-len 8192",
    "llama_cpp": "llama-server --model qwen3-8b-Q4_K_M.gguf --ctx-size 8192",
}
each = pytest.mark.parametrize("engine", PLAIN)


def read(engine: str, text: str) -> Choices:
    return parse_launch(engine, text, replace(LIKE, engine=engine))


@each
@pytest.mark.parametrize("before", ["CUDA_VISIBLE_DEVICES=0 HF_HOME=/data ", "sudo ", "nohup ", "env A=1 "])
def test_what_stands_before_a_command_changes_nothing(engine: str, before: str) -> None:
    assert read(engine, before + PLAIN[engine]) == read(engine, PLAIN[engine])


@each
def test_a_container_runs_the_same_command(engine: str) -> None:
    run = f"docker run --rm --gpus all -p 8000:8000 image:latest {PLAIN[engine]}"
    assert read(engine, run) == read(engine, PLAIN[engine])


@pytest.mark.parametrize(
    ("engine", "pasted"),
    [
        (
            "vllm",
            "docker run --gpus all -p 8000:8000 vllm/vllm-openai:latest --model Qwen/Qwen3-8B --max-model-len 8192",
        ),
        ("vllm", "python -m vllm.entrypoints.openai.api_server --model Qwen/Qwen3-8B --max_model_len=8192"),
        (
            "vllm",
            "/opt/venv/bin/python3.11 -m vllm.entrypoints.openai.api_server --model Qwen/Qwen3-8B --max-model-len 8192",
        ),
        ("sglang", "python3 -m sglang.launch_server --model-path Qwen/Qwen3-8B --context-length 8192"),
        ("llama_cpp", "./build/bin/llama-server -m qwen3-8b-Q4_K_M.gguf -c 8192"),
        (
            "llama_cpp",
            "podman run ghcr.io/ggml-org/llama.cpp:server-cuda -m qwen3-8b-Q4_K_M.gguf -c 8192 --port 8080",
        ),
    ],
)
def test_usual_spellings_are_one(engine: str, pasted: str) -> None:
    assert read(engine, pasted) == read(engine, PLAIN[engine])


@pytest.mark.parametrize(
    ("short", "long"),
    [
        ("-tp=2", "--tensor-parallel-size 2"),
        ("-tp 2 -pp 2", "--tensor-parallel-size 2 --pipeline-parallel-size 2"),
        ("-dp 2 -ep", "--data-parallel-size 2 --enable-expert-parallel"),
    ],
)
def test_vllm_s_short_options(short: str, long: str) -> None:
    assert read("vllm", f"{PLAIN['vllm']} {short}") == read("vllm", f"{PLAIN['vllm']} {long}")


@pytest.mark.parametrize(
    ("short", "long"),
    [
        ("-np 2", "--parallel 2"),
        ("-b 512 -ub 256", "--batch-size 512 --ubatch-size 256"),
        ("-ngl 20", "--n-gpu-layers 20"),
        ("-fa", "--flash-attn on"),
        ("-fa off", "--flash-attn off"),
        ("-ctk q8_0 -ctv q8_0", "--cache-type-k q8_0 --cache-type-v q8_0"),
    ],
)
def test_llama_server_s_short_options(short: str, long: str) -> None:
    assert read("llama_cpp", f"{PLAIN['llama_cpp']} {short}") == read("llama_cpp", f"{PLAIN['llama_cpp']} {long}")


@each
def test_an_option_without_memory_is_skipped_and_named(engine: str) -> None:
    words = [f"{option} 1" for option in WITHOUT_MEMORY[engine]] + list(SWITCHES_WITHOUT_MEMORY[engine])
    text = " ".join((PLAIN[engine], *words))
    assert read(engine, text) == read(engine, PLAIN[engine])
    assert skipped(engine, text) == (*WITHOUT_MEMORY[engine], *SWITCHES_WITHOUT_MEMORY[engine])


@each
def test_an_option_that_is_not_known_is_refused(engine: str) -> None:
    with pytest.raises(PlannerError, match="--quite-unheard-of"):
        read(engine, f"{PLAIN[engine]} --quite-unheard-of")


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"model": "llama-3.1-70b"}, "--model"),
        ({"model": "qwen3-8b", "context": 4_096}, "--context"),
        ({"model": "qwen3-8b", "set": ("gpu_memory_utilization=0.5",)}, "--set gpu_memory_utilization"),
    ],
)
def test_what_contradicts_the_command_is_refused(given: dict[str, object], named: str) -> None:
    stated = replace(LIKE, engine="vllm", **given)  # type: ignore[arg-type]
    said = parse_launch("vllm", f"{PLAIN['vllm']} --gpu-memory-utilization 0.8", stated)
    with pytest.raises(PlannerError, match=named):
        refuse_contradictions(stated, said)


def test_what_says_the_same_or_more_is_kept() -> None:
    stated = replace(LIKE, engine="vllm", model="qwen3-8b", context=8_192, set=("max_num_seqs=4",))
    said = refuse_contradictions(stated, parse_launch("vllm", f"{PLAIN['vllm']} --gpu-memory-utilization 0.8", stated))
    assert said.set == ("gpu_memory_utilization=0.8", "max_num_seqs=4")


@pytest.mark.parametrize(
    ("repository", "named"),
    [
        ("unsloth/Qwen3-8B-GGUF:Q4_K_M", ("qwen3-8b", "q4_k_m")),
        ("Qwen/Qwen3-8B-GGUF:Q8_0", ("qwen3-8b", "q8_0")),
        ("ggml-org/gemma-3-4b-it-GGUF", ("gemma-3-4b", "q4_k_m")),
    ],
)
def test_a_repository_of_gguf_files_is_its_model_whoever_uploaded_it(repository: str, named: tuple[str, str]) -> None:
    found = read("llama_cpp", f"llama-server -hf {repository} -c 8192")
    assert (found.model, found.weights) == named


# By vllm/engine/arg_utils.py and sglang/srt/server_args.py: k, m, g are thousands, K, M, G are 1,024s.
LARGE = {
    "vllm": ("--max-model-len", "--max-num-batched-tokens", "--kv-cache-memory-bytes"),
    "sglang": ("--context-length", "--max-total-tokens", "--max-prefill-tokens"),
}
LARGE_OPTIONS = [(engine, option) for engine, names in LARGE.items() for option in names]


@pytest.mark.parametrize(("engine", "option"), LARGE_OPTIONS)
@pytest.mark.parametrize(
    ("short", "number"),
    [("32k", 32_000), ("32K", 32_768), ("25.6k", 25_600), ("1m", 10**6), ("1M", 2**20), ("4G", 2**32)],
)
def test_a_large_number_may_be_short(engine: str, option: str, short: str, number: int) -> None:
    begin = PLAIN[engine].rsplit(" ", 2)[0]
    assert read(engine, f"{begin} {option} {short}") == read(engine, f"{begin} {option} {number}")


@pytest.mark.parametrize(
    ("engine", "words"),
    [
        ("vllm", "--max-model-len 1.5K"),
        ("vllm", "--max-model-len 32kb"),
        ("vllm", "--max-model-len auto"),
        ("vllm", "--tensor-parallel-size 2k"),
        ("sglang", "--context-length 1.5M"),
        ("lmdeploy", "--session-len 32k"),
        ("tensorrt_llm", "--max_seq_len 32k"),
    ],
)
def test_a_number_that_the_engine_does_not_take_is_refused(engine: str, words: str) -> None:
    with pytest.raises(PlannerError, match=r"whole number|number of tokens"):
        read(engine, f"{PLAIN[engine].rsplit(' ', 2)[0]} {words}")


@pytest.mark.parametrize(
    ("engine", "theirs", "ours"),
    [
        # CacheDType of vllm/config/cache.py, those that a plan can count.
        *(("vllm", name, "fp8") for name in ("fp8", "fp8_e4m3", "fp8_e5m2", "fp8_inc", "fp8_ds_mla")),
        *(("vllm", name, "nvfp4-kv") for name in ("nvfp4", "nvfp4_4over6")),
        *(("vllm", name, ours) for name, ours in (("bfloat16", "bf16"), ("float16", "fp16"), ("auto", None))),
        *(("sglang", name, "fp8") for name in ("fp8_e4m3", "fp8_e5m2")),
        *(("sglang", name, ours) for name, ours in (("bf16", "bf16"), ("bfloat16", "bf16"), ("auto", None))),
    ],
)
def test_every_name_of_a_cache_format_is_read(engine: str, theirs: str, ours: str | None) -> None:
    assert read(engine, f"{PLAIN[engine]} --kv-cache-dtype {theirs}").kv_cache == ours


@pytest.mark.parametrize(
    ("engine", "text", "weights"),
    [
        ("llama_cpp", "llama-server -hf unsloth/Qwen3-8B-GGUF:Q6_K -c 16384", "q6_k"),
        # Without a tag llama-server takes Q4_K_M: common/arg.cpp, --hf-repo.
        ("llama_cpp", "llama-server -hf unsloth/Qwen3-8B-GGUF", "q4_k_m"),
        ("ollama", "FROM hf.co/unsloth/Qwen3-8B-GGUF:Q8_0", "q8_0"),
    ],
)
def test_a_repository_that_is_a_preset_by_its_name_is_taken_as_that(engine: str, text: str, weights: str) -> None:
    said = by_name(read(engine, text))
    assert (said.model, said.weights) == ("qwen3-8b", weights)
    assert taken_as(text, said).endswith(f" is taken as qwen3-8b in {weights}, by its name.")


@pytest.mark.parametrize("repository", ["someone/Qwen3-8B-FP8-dynamic", "meta-llama/Llama-3.1-405B-Instruct-FP8"])
def test_a_quantised_repository_is_planned_and_started_as_itself(repository: str) -> None:
    """No other repository is named, and no format that is made of another while it loads."""
    text = f"vllm serve {repository} --max-model-len 4096"
    said = replace(by_name(read("vllm", text)), device="h200", memory=None, tensor_parallel=8)
    assert (said.model, said.weights) == (repository, None)
    assert taken_as(text, said) == ""
    started = launch(said, choose(said))
    assert started is not None
    assert started.text.split()[2] == repository
    assert "--quantization" not in started.text


@pytest.mark.parametrize("model", ["Qwen/Qwen3-8B", "someone/Qwen3-8B-of-mine", "someone/of-their-own", "qwen3-8b"])
def test_no_other_name_is_taken_for_a_preset(model: str) -> None:
    said = replace(LIKE, model=model)
    assert by_name(said) == said
    assert taken_as(f"vllm serve {model}", said) == ""
    online = replace(LIKE, model="RedHatAI/Qwen3-8B-FP8-dynamic", online=True)
    assert by_name(online) == online


def test_a_setting_with_two_values_is_refused() -> None:
    refuse_repeated(("max_num_seqs=4", "block_size=16", "max-num-seqs=4"), "--set")
    with pytest.raises(PlannerError, match="gives max_num_seqs twice, as 4 and as 8"):
        refuse_repeated(("max_num_seqs=4", "max-num-seqs=8"), "--set")


@pytest.mark.parametrize(
    ("command", "model", "weights", "context"),
    [
        ("ollama run qwen3:8b-q4_K_M", "qwen3-8b", "q4_k_m", None),
        ("ollama run --verbose gemma3:4b", "gemma-3-4b", "q4_k_m", None),
        ("ollama pull qwen3:4b-q8_0", "qwen3-4b", "q8_0", None),
        ("OLLAMA_CONTEXT_LENGTH=16384 ollama serve & ollama run llama3.1", "llama-3.1-8b", "q4_k_m", 16_384),
    ],
)
def test_what_ollama_is_told_to_run_is_read(command: str, model: str, weights: str, context: int | None) -> None:
    found = parse_launch("ollama", command, Choices(model="", device="rtx-4060-laptop"))
    assert (found.model, found.weights, found.context) == (model, weights, context)
    assert engine_of(command, Choices(model="")) == "ollama"
