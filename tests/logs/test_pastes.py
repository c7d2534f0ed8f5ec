"""What people paste: from the middle of a sentence on, the last lines alone, or with figures of another plan."""

import pytest

from planner.catalogue.checkpoint_ids import identify
from planner.inputs.choices import Choices
from planner.logs.read import read_log
from planner.startups.report import LogReport, report_log
from planner.startups.text import log_text
from planner.startups.words import said_once

NOTHING = Choices(model="", engine="")
POOL = "Available KV cache memory: 4.00 GiB\n"


def report(log: str, given: Choices = NOTHING) -> LogReport:
    return report_log(read_log(log), given, None)


SENTENCES = {
    "request": (
        "To serve at least one request with the models's max seq len (131072), (18.00 GiB KV cache is needed, which is "
        "larger than the available KV cache memory (3.99 GiB). Based on the available memory, the ",
        "estimated maximum model length is 29040. Try increasing it.",
        "--max-model-len 29040",
    ),
    "stored": (
        "ValueError: The model's max seq len (29000) is larger than the ",
        "maximum number of tokens that can be stored in KV cache (23648). Try increasing it.",
        "--max-model-len 23648",
    ),
    "states": (
        "ValueError: max_num_seqs (1024) ",
        "exceeds available Mamba cache blocks (172). Each decode sequence requires one",
        "--max-num-seqs 172",
    ),
    "free": (
        "ValueError: Free memory on device (3.22/4.0 GiB) ",
        "on startup is less than desired GPU memory utilization (0.9, 3.6 GiB). Decrease it.",
        "",
    ),
}
CUTS = [
    pytest.param(sentence, start, option, id=f"{kind}-{start}")
    for kind, (head, tail, option) in SENTENCES.items()
    for sentence in [head + tail]
    for start in [0, *(place + 1 for place, sign in enumerate(head) if sign == " ")]
]


@pytest.mark.parametrize(("sentence", "start", "option"), CUTS)
def test_a_sentence_cut_at_any_word_before_its_figure_is_a_failure(sentence: str, start: int, option: str) -> None:
    found = report(sentence[start:])
    assert found.failure is not None
    assert not option or option in [one.option for one in found.would_start]


def test_nothing_is_suggested_above_the_engine_s_own_figure() -> None:
    """A cache of 1,478 blocks; by the printed pool there may be one more. Source: vllm-project/vllm#10517."""
    found = report(
        "INFO worker.py:232] Memory profiling results: total_gpu_memory=23.58GiB initial_memory_usage=0.35GiB "
        "peak_torch_memory=17.97GiB memory_usage_post_profile=0.35Gib non_torch_memory=0.35GiB kv_cache_size=2.89GiB "
        "gpu_memory_utilization=0.90\n"
        "model='meta-llama/Llama-3.1-8B-Instruct', speculative_config=None\n"
        "# GPU blocks: 1478, # CPU blocks: 2048\n"
        "ValueError: The model's max seq len (29000) is larger than the maximum number of tokens that can be stored in "
        "KV cache (23648).\n"
    )
    lengths = [one for one in found.would_start if one.option.startswith("--max-model-len")]
    assert {one.option for one in lengths} == {"--max-model-len 23648"}
    shown = said_once(found.would_start)
    enough = {one.option.split(" ")[0] for one in shown if one.starts and one.option}
    assert not enough & {one.option.split(" ")[0] for one in shown if not one.starts}


@pytest.mark.parametrize(
    ("name", "preset", "weights"),
    [
        ("RedHatAI/Qwen3.8-27B-INT4", "qwen3.8-27b", "int4-g128"),
        ("models/Qwen3-Coder-480B-A35B-Instruct-w8a8-QuaRot", "qwen3-coder-480b-a35b", "int8-row"),
        ("Qwen3-32B-w8a8-MindIE", "qwen3-32b", "int8-row"),
        ("Qwen/Qwen3-8B-FP8-KV", "qwen3-8b", "fp8"),
        ("qwen3.5-9b-q4km.gguf", "qwen3.5-9b", "q4_k_m"),
        ("qwen3.5-9b-ud-q4kxl.gguf", "qwen3.5-9b", None),
    ],
)
def test_a_format_in_a_name_however_it_goes_on(name: str, preset: str, weights: str | None) -> None:
    assert identify(name, is_tuned=True) == (preset, weights)


def test_what_drafts_is_no_format_s_maker() -> None:
    assert identify("Qwen3-8B-AWQ-eagle") is None


STARTED = (
    "(APIServer pid=1) INFO vLLM API server version 0.25.1\n"
    "(APIServer pid=1) INFO non-default args: {{'model': 'Qwen/Qwen3-8B', 'max_model_len': 32768}}\n"
    "(EngineCore pid=7) INFO Model loading took {weights} GiB memory and 9.1 seconds\n"
    "{backend}"
    "(EngineCore pid=7) INFO Available KV cache memory: 76.4 GiB\n"
    "(EngineCore pid=7) INFO GPU KV cache size: {tokens} tokens\n"
)
BACKEND = (
    "(EngineCore pid=7) INFO [flashinfer.py:780] FlashInfer resolved query dtypes: prefill=torch.bfloat16, "
    "decode=torch.bfloat16, decode_backend=flashinfer-native, kv_cache_dtype=torch.float8_e4m3fn, arch=sm121\n"
)


def test_weights_that_are_another_format_s_are_said_and_make_no_profile() -> None:
    found = report(STARTED.format(weights="5.70", backend="", tokens="556,336"))
    assert found.notes[0].startswith("The weights are 5.70 GiB by the log and 15.26 GiB by the plan")
    assert found.profile is None


def test_a_cache_s_format_by_the_line_of_its_attention() -> None:
    """76.4 GiB are 1,112,670 tokens of 73,728 bytes in 8 bit.

    Source of the line: github.com/sostrowsk/dgx-spark-local-llm, whose checkpoint asks for the format.
    """
    told = report(STARTED.format(weights="15.27", backend=BACKEND, tokens="1,112,656")).choices
    assert told is not None
    assert told.kv_cache == "fp8"
    doubted = report(STARTED.format(weights="15.27", backend="", tokens="1,112,656"))
    assert "give --kv-cache fp8" in doubted.notes[0]


def test_a_session_that_is_cut_short_has_started() -> None:
    """Source: InternLM/lmdeploy#4366, where only a warning says so."""
    found = report("[TM][WARNING] `session_len` truncated to 4928 due to limited KV cache memory\n")
    assert (found.failure, found.would_start) == (None, ())
    assert "takes requests of up to 4,928 tokens" in found.notes[0]


def test_the_engine_s_own_words_are_quoted() -> None:
    """Source: vllm-project/vllm#14452. 594.88 MiB were left of 1.74 GiB: a third of 1,024 requests, 256."""
    found = report(
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.74 GiB. GPU 0 has a total capacity of 23.57 "
        "GiB of which 594.88 MiB is free.\n"
        "RuntimeError: CUDA out of memory occurred when warming up sampler with 1024 dummy requests. Please try "
        "lowering `max_num_seqs` or `gpu_memory_utilization` when initializing the engine.\n"
    )
    assert found.failure is not None
    assert (found.failure.line, found.would_start[0].option) == (2, "--max-num-seqs 256")


def test_of_an_option_that_stands_twice_the_last_counts() -> None:
    """As in the engines' own parsers."""
    start = read_log(
        "$ vllm serve Qwen/Qwen3-8B --max-model-len 4096 -tp 2 --max-model-len 8192 -tp 4\n" + POOL
    ).starts[0]
    assert (start.settings["max_model_len"], start.settings["tensor_parallel_size"]) == ("8192", "4")


def test_a_number_that_the_engine_does_not_take_is_said() -> None:
    found = report("$ vllm serve Qwen/Qwen3-8B --gpu-memory-utilization 1.7\n" + POOL)
    assert found.choices is not None
    assert not any("utilization" in text for text in found.choices.set)
    assert "gpu_memory_utilization = 1.7, which the log sets, is no value of it, and does not count." in found.notes


def test_counts_have_their_units() -> None:
    """TensorRT-LLM's request is so many blocks, vLLM's so many GiB."""
    said = "Max KV cache blocks per sequence: 65 [window size=2051], tokens per block=32, primary blocks=116617\n"
    text = log_text(report(said))
    assert "65 blocks" in text
    assert "2,051 tokens" in text


def test_no_figure_is_the_beginning_of_a_longer_one() -> None:
    said = "estimated maximum model length is 99999999999999999999999.\n"
    assert not read_log(POOL + said).starts[0].named("longest_start")


def test_sglang_s_share_by_what_it_loaded() -> None:
    """Source: sgl-project/sglang#7691. 21.73 GiB are left of 188.32: 0.885 of them are weights."""
    found = report(
        "[DP0 TP0] Load weight end. type=DeepseekV3ForCausalLM, avail mem=21.73 GB, mem usage=166.59 GB.\n"
        "[DP0 TP0] max_total_tokens=131072 is larger than the profiled value -561981. Use the profiled value instead.\n"
        "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.\n"
    )
    assert found.failure is not None
    assert (found.failure.line, found.would_start[0].option) == (3, "--mem-fraction-static 0.91")


def test_sglang_s_share_by_its_own_word_alone() -> None:
    said = "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static. Current value: {}\n"
    found = report(said.format("self.server_args.mem_fraction_static=0.2"))
    assert [(one.option, one.starts) for one in found.would_start] == [("--mem-fraction-static 0.85", False)]


def test_a_tag_of_ollama_s_library_names_model_and_file() -> None:
    """Source: ollama/ollama#10873; 8,192 tokens are what both requests have together."""
    found = report(
        'level=ERROR source=sched.go:489 msg="error loading llama server" error="llama runner process has terminated: '
        'cudaMalloc failed: out of memory"\n'
        'level=DEBUG source=sched.go:491 msg="triggering expiration for failed load" '
        "runner.name=registry.ollama.ai/library/qwen3:14b runner.inference=cuda runner.devices=1 "
        'runner.size="11.2 GiB" runner.parallel=2 runner.pid=13316 runner.num_ctx=8192\n',
        Choices(model="", engine="", device="rtx-3060-12gb"),
    )
    assert found.failure is not None
    assert found.failure.message.endswith("cudaMalloc failed: out of memory")
    assert found.choices is not None
    assert (found.choices.model, found.choices.weights, found.choices.context) == ("qwen3-14b", "q4_k_m", 4_096)


def test_a_gguf_without_a_known_type_is_asked_about() -> None:
    found = report(
        "common_fit: loading model 'qwen3.5-9b-ud-q4kxl.gguf'\nload_tensors: CUDA0 model buffer size = 9 MiB\n"
    )
    assert found.choices is None
    assert "'qwen3.5-9b-ud-q4kxl.gguf' is quantised: give --weights" in found.missing


def test_the_first_words_of_an_option_are_it() -> None:
    """As Python's parsers have it, where only one option begins so."""
    log = "vllm serve Qwen/Qwen3-8B --max-num-batched-token 16384 --max-num 4\nGPU KV cache size: 290,864 tokens\n"
    assert read_log(log).starts[0].settings == {"max_num_batched_tokens": "16384"}


@pytest.mark.parametrize(
    ("log", "model"),
    [
        (
            "python -m sglang.bench_one_batch --model-path ibm-granite/granite-4.0-h-micro --batch 4\n"
            "Load weight begin. avail mem=15.24 GB\n",
            "ibm-granite/granite-4.0-h-micro",
        ),
        (
            "Failed to load model: /models/Qwen3-8B-Q4_K_M.gguf.\n"
            "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 4455.34 MiB on device 0: cudaMalloc failed: out of "
            "memory\n",
            "/models/Qwen3-8B-Q4_K_M.gguf",
        ),
    ],
)
def test_what_a_benchmark_or_a_program_around_the_engine_loads(log: str, model: str) -> None:
    assert read_log(log).starts[0].model == model


@pytest.mark.parametrize(
    "command",
    [
        "vllm serve --tensor-parallel-size 2 Qwen/Qwen3-8B",
        "vllm serve --trust-remote-code --tensor_parallel_size=2 --gpu_memory_utilization=0.98  Qwen/Qwen3-8B",
        "CUDA_VISIBLE_DEVICES=0,1 vllm serve -tp 2 --enforce-eager Qwen/Qwen3-8B --port 8000",
        'llm = LLM(model="Qwen/Qwen3-8B", tensor_parallel_size=2)',
        'llm = LLM(\n    model="Qwen/Qwen3-8B",\n    tensor_parallel_size=2,\n)',
    ],
)
def test_a_model_behind_the_options_or_in_python(command: str) -> None:
    (start,) = read_log(f"{command}\nValueError: No available memory for the cache blocks.\n").starts
    assert start.model == "Qwen/Qwen3-8B"
    assert start.settings["tensor_parallel_size"] == "2"


def test_a_refusal_as_people_write_it_down() -> None:
    (start,) = read_log(
        "To serve at least one request with max seq len (131072), 14.0 GiB KV cache needed but only 13.48 GiB "
        "available. Estimated maximum model length: 126208."
    ).starts
    assert start.failure is not None
    assert start.failure.kind == "request"
    assert [(row.name, row.unit) for row in start.readings] == [
        *(("request", "bytes"), ("pool", "bytes"), ("longest_start", "tokens"))
    ]
    assert start.named("longest_start")[0].value == 126_208


def test_more_than_metal_recommends_is_said() -> None:
    """5,738.22 of 5,461.34 MiB are 277 too many (ggml-org/llama.cpp#5207); 5,400 are none."""
    line = "ggml_backend_metal_buffer_type_alloc_buffer: allocated buffer, size =    82.52 MiB, ( {} /  5461.34)\n"
    cache = "llama_kv_cache_init:      Metal KV buffer size =   400.00 MiB\n"
    over, below = report(line.format("5738.22") + cache), report(line.format("5400.00") + cache)
    assert any("0.27 GiB more than the 5.33 GiB that Metal recommends" in note for note in over.notes)
    assert not any("Metal recommends" in note for note in below.notes)


def test_an_image_of_another_maker_that_starts_vllm_itself() -> None:
    """vllm-project/vllm: substratusai's image for GH200; its tag is the release."""
    log = (
        "sudo docker run --gpus all -p 8000:8000 --ipc=host -e A=b  substratusai/vllm-gh200:v0.8.3     --model "
        "meta-llama/Llama-3.1-8B-Instruct --gpu-memory-utilization 0.975 --cpu-offload-gb 4\n"
        "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization`\n"
    )
    (start,) = read_log(log).starts
    assert (start.version, start.model) == ("0.8.3", "meta-llama/Llama-3.1-8B-Instruct")
    assert start.settings["gpu_memory_utilization"] == "0.975"
