"""Several models in one log: a draft beside its model, and one start for each that Ollama loads."""

from planner.inputs.choices import Choices
from planner.logs.read import read_log
from planner.startups.report import LogReport, report_log
from planner.units import GIB

NOTHING = Choices(model="", engine="")

# Source: github.com/shun8686/for_debug, a start on two NPUs; one rank's lines.
DRAFTED = (
    "[2026-01-04 07:26:40] server_args=ServerArgs(model_path='Qwen/Qwen3-30B-A3B-w8a8', dtype='bfloat16', "
    "mem_fraction_static=0.86, tp_size=2, page_size=128, chunked_prefill_size=-1, mamba_ssm_dtype='float32', "
    "speculative_algorithm='EAGLE3', speculative_num_draft_tokens=4)\n"
    "[2026-01-04 07:26:52 TP0] Load weight begin. avail mem=60.79 GB\n"
    "[2026-01-04 07:28:05 TP0] Load weight end. type=Qwen3MoeForCausalLM, dtype=torch.bfloat16, avail mem=45.18 GB, "
    "mem usage=15.61 GB.\n"
    "[2026-01-04 07:28:05 TP0] KV Cache is allocated. #tokens: 802688, K size: 18.38 GB, V size: 18.38 GB\n"
    "[2026-01-04 07:28:05 TP0] Memory pool end. avail mem=8.40 GB\n"
    "[2026-01-04 07:28:40 TP0] Load weight begin. avail mem=6.27 GB\n"
    "[2026-01-04 07:28:41 TP0] Load weight end. type=LlamaForCausalLMEagle3, dtype=torch.bfloat16, avail mem=5.88 GB, "
    "mem usage=0.39 GB.\n"
    "[2026-01-04 07:28:41 TP0] KV Cache is allocated. #tokens: 802688, K size: 0.38 GB, V size: 0.38 GB\n"
    "[2026-01-04 07:28:41 TP0] Memory pool end. avail mem=5.12 GB\n"
)

# Source: github.com/Nithin2311/grpo-machine-unlearning, Ollama 0.19 on one GeForce RTX 3090.
LISTENS = (
    'time=2026-04-02T13:12:01Z level=INFO source=routes.go:1800 msg="Listening on 127.0.0.1:11434 (version 0.19.0)"\n'
    'time=2026-04-02T13:12:02Z level=INFO source=types.go:42 msg="inference compute" id=GPU-f7223551 filter_id="" '
    'library=CUDA compute=8.6 name=CUDA0 description="NVIDIA GeForce RTX 3090" total="24.0 GiB" available="23.6 GiB"\n'
)
RUNNER = (
    'time=1 level=INFO source=server.go:432 msg="starting runner" cmd="/usr/local/bin/ollama runner {} --port 43141"\n'
    'time=1 level=INFO source=sched.go:491 msg="gpu memory" id=GPU-f7223551 library=CUDA available="{}" free="{}"\n'
    'time=1 level=INFO source=server.go:499 msg="loading model" "model layers"={} requested=-1\n'
)
LAID = (
    'time=1 level=INFO source=device.go:240 msg="model weights" device=CUDA0 size="{}"\n'
    'time=1 level=INFO source=device.go:251 msg="kv cache" device=CUDA0 size="{}"\n'
    'time=1 level=INFO source=device.go:272 msg="total memory" size="{}"\n'
)
REQUEST = (
    'time=1 level=INFO source=runner.go:1284 msg=load request="{{Operation:{} LoraPath:[] Parallel:1 BatchSize:512 '
    "FlashAttention:Enabled KvSize:32768 KvCacheType: NumThreads:128 GPULayers:{}[ID:GPU-f7223551 Layers:{}(0..32)] "
    'MultiUserCache:false ProjectorPath: MainGPU:0 UseMmap:false}}"\n'
)
VOCABULARY = "llama_model_loader: loaded meta data with 34 key-value pairs and 771 tensors from blobs/sha256-ac3d1ba8\n"
BUFFERS = (
    "llama_model_load_from_file_impl: using device CUDA0 (NVIDIA GeForce RTX 3090) (0000:61:00.0) - 24130 MiB free\n"
    + VOCABULARY
    + "print_info: file type   = Q4_K - Medium\n"
    "print_info: general.name     = Qwen2.5 Coder 32B Instruct\n"
    "load_tensors: offloaded 49/65 layers to GPU\n"
    "load_tensors:        CUDA0 model buffer size = 13613.88 MiB\n"
    "llama_context: n_ctx         = 32768\n"
    "llama_kv_cache:      CUDA0 KV buffer size =  6272.00 MiB\n"
)
CODER = (
    VOCABULARY
    + RUNNER.format("--model blobs/sha256-ac3d1ba8", "23.1 GiB", "23.6 GiB", 65)
    + LAID.format("13.3 GiB", "6.1 GiB", "29.3 GiB")
    + REQUEST.format("commit", 49, 49)
    + BUFFERS
)
OTHER = (
    RUNNER.format("--ollama-engine --model blobs/sha256-dec52a44", "20.6 GiB", "21.1 GiB", 33)
    + REQUEST.format("fit", 20, 20)
    + REQUEST.format("commit", 33, 33)
    + LAID.format("5.6 GiB", "2.2 GiB", "9.3 GiB")
)


def report(log: str, number: int | None = None, given: Choices = NOTHING) -> LogReport:
    return report_log(read_log(log), given, number)


def printed(found: LogReport) -> dict[str, float]:
    return {row.name: round(row.value / GIB, 2) if row.unit == "bytes" else row.value for row in found.readings}


def test_what_a_draft_prints_is_never_the_model_s() -> None:
    found = report(DRAFTED)
    figures = printed(found)
    assert (figures["free"], figures["draft_free"]) == (60.79, 6.27)
    assert (figures["free_after_load"], figures["draft_free_after_load"]) == (45.18, 5.88)
    assert (figures["weights"], figures["draft_weights"]) == (15.61, 0.39)
    tokens = next(row for row in found.readings if row.name == "pool_tokens")
    assert tokens.low is not None
    assert tokens.high is not None
    assert tokens.low <= 802_688 <= tokens.high


def test_figures_that_are_no_measurement_still_make_a_table() -> None:
    """A draft's line alone, as a log that is cut leaves it: 6.27 GiB is no card's that holds 802,688 tokens."""
    found = report(DRAFTED.replace("avail mem=60.79 GB", "avail mem=6.27 GB"))
    assert found.profile is None
    assert printed(found)["pool_tokens"] == 802_688
    assert "no profile is made" in " ".join(found.notes)


def test_a_start_for_each_model_that_ollama_loads() -> None:
    coder, other = read_log(LISTENS + CODER + OTHER).starts
    figures = {reading.name: reading.value for reading in coder.readings}
    assert (figures["offloaded"], figures["offloadable"]) == (49, 65)
    assert [round(r.value / 2**20, 2) for r in coder.named("weights")] == [13613.88]
    assert [round(r.value / GIB, 1) for r in coder.named("estimated_weights")] == [13.3]
    assert [(round(r.value / GIB, 1), r.rank) for r in other.named("weights")] == [(5.6, "CUDA0")]
    assert [r.value for r in other.named("offloaded")] == [33]
    assert (other.settings["n_ctx"], other.version) == ("32768", "0.19.0")


def test_a_second_model_of_ollama_s_own_engine_is_a_start_too() -> None:
    first, second = read_log(LISTENS + OTHER + OTHER.replace("5.6 GiB", "7.7 GiB")).starts
    assert [round(r.value / GIB, 1) for r in (*first.named("weights"), *second.named("weights"))] == [5.6, 7.7]


def test_one_card_under_two_names_is_one() -> None:
    """A driver's id and llama.cpp's name; what was free on it at two times differs."""
    log = LISTENS + CODER.replace('free="23.6 GiB"', 'free="21.1 GiB"')
    choices = report(log).choices
    assert choices is not None
    assert (choices.device, choices.devices, choices.pipeline_parallel) == ("rtx-3090", None, None)
    assert choices.context == 32_768
    # Without its name it is the card with what llama.cpp found free on it.
    unnamed = report(CODER.replace("NVIDIA GeForce RTX 3090", "a card")).choices
    assert unnamed is not None
    assert (unnamed.memory, unnamed.devices) == ("24130MiB", None)
