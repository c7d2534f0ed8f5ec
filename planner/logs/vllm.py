"""vLLM's memory lines, from 0.2 to 0.32; its ``GB`` of old is GiB.

Source: vllm/v1/worker/gpu_worker.py, vllm/v1/core/kv_cache_utils.py, vllm/worker/worker.py, and public reports.
"""

from planner.logs.commands import options_of, same_names
from planner.logs.patterns import VERSION, Format, pairs_of, pattern
from planner.logs.ranks import rank
from planner.logs.readings import ALLOCATED

SETTINGS = (
    *("model", "dtype", "quantization", "kv_cache_dtype", "max_model_len", "max_seq_len", "block_size"),
    *("tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size", "enable_expert_parallel"),
    *("gpu_memory_utilization", "kv_cache_memory_bytes", "num_gpu_blocks_override", "cpu_offload_gb"),
    *("max_num_seqs", "max_num_batched_tokens", "enforce_eager", "enable_prefix_caching", "skip_mm_profiling"),
    *("load_format", "enable_chunked_prefill"),
    *("mamba_cache_mode", "mamba_ssm_cache_dtype", "disable_hybrid_kv_cache_manager"),
    *("language_model_only", "async_scheduling", "enable_lora", "max_loras", "max_lora_rank", "fully_sharded_loras"),
    *("num_speculative_tokens", "method"),
)
ARGUMENTS = pairs_of(*SETTINGS)
SHORT = {
    "-tp": "tensor_parallel_size",
    "-pp": "pipeline_parallel_size",
    "-dp": "data_parallel_size",
    "-ep": "enable_expert_parallel",
}
COMMAND = options_of(same_names(*SETTINGS) | SHORT)
SERVE = options_of(same_names(*SETTINGS) | SHORT, positional="model")
FIRST_ENGINE = "0.7.3"
"""The last release whose default was the first of vLLM's engines, which prints lines of its own."""
MODELS_S = "0.21.0"
"""The last release whose refusal spells models's so. Source: vllm/v1/core/kv_cache_utils.py of 0.21.0 and 0.22.0."""
_REST = "(?P<pairs__>.*)"
_SOURCES = (
    *("gpu_worker", "kv_cache_utils", "gpu_model_runner", "model_runner", "llm_engine"),
    *("gpu_executor", "distributed_gpu_executor", "executor_base"),
)
"""Files of vLLM whose lines tell its release: [gpu_worker.py:298] Available KV cache memory."""
_VERSION_IN_TEXT = rf"\b(?i:vllm)(?i:[ _-]version|-openai)?[`*]{{0,2}}[ =:_-]{{1,3}}[`*v]{{0,2}}{VERSION}"
_BANNER = "(?<![█▄▀])[█▄▀][█▄▀ ]{2,60}"

FORMAT = Format(
    engine="vllm",
    rank=rank,
    words=("vllm", "vLLM", "EngineCore", "EngineCore_DP0", "VllmWorker", "VllmWorkerProcess"),
    patterns=(
        pattern(
            "VLLM_PP_LAYER_PARTITION", r"VLLM_PP_LAYER_PARTITION=[\"']?(?P<set__pp_layer_partition>\d[\d,]{0,100})"
        ),
        pattern("core", r"(?P<said__>ERROR) [^\[]{0,40}\[(?:\S{0,60}/)?(?P<source__>core\.py:\d{1,5})\]"),
        *(
            pattern(name, rf"(?<!\w)(?P<source__>{name}\.py:\d{{1,5}})\] {{1,3}}(?P<said__>\S.{{0,60}})")
            for name in _SOURCES
        ),
        # vLLM's own hints name it too: it is set before a command, or by what it says that it does.
        *(
            pattern(
                "VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS",
                rf"{before}VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS="
                rf"(?P<set__estimate_cudagraphs>[01]){behind}",
            )
            for before, behind in (("", r" .{0,400}?\bvllm serve "), (r"memory profiling is disabled \(", ""))
        ),
        pattern("vLLM", r"vLLM API server version <version__>", begins=True),
        pattern("version", _BANNER + r"version +<version__>"),
        pattern("model", _BANNER + r"model +(?P<model__>\S{1,300})"),
        pattern("args", r"\bargs: Namespace\((?P<pairs__>.*)", begins=True, pairs=ARGUMENTS),
        pattern(
            "engine",
            r"Initializing an? (?:V[01] )?LLM engine(?: \(v?<version__>\))? with config:? (?P<pairs__>.*)",
            begins=True,
            pairs=ARGUMENTS,
        ),
        pattern("args", r"non-default args: (?P<pairs__>.*)", begins=True, pairs=ARGUMENTS),
        pattern("Using", r"Using max model len <set__max_model_len>"),
        pattern(
            "prefill",
            r"Chunked prefill is enabled with max_num_batched_tokens=<set__max_num_batched_tokens>",
        ),
        pattern("Starting", r"Starting to load model (?P<model__>[^\s.](?:\S{0,300}[^\s.])?)\.\.\.", is_weak=True),
        pattern("LLM", r"\bLLM\((?P<pairs__>.*)", is_weak=True, pairs=ARGUMENTS),
        *(
            pattern(name, rf"^ {{1,16}}(?P<pairs__>{name} ?= ?[^=].{{0,200}}),? *$", is_weak=True, pairs=ARGUMENTS)
            for name in SETTINGS
        ),
        pattern("took", r"Loading model weights took <weights__gib> Gi?B"),
        pattern("took", r"Model loading took <weights__gib> Gi?B"),
        pattern("Checkpoint", r"Checkpoint size: <checkpoint__gib> GiB"),
        pattern(
            "total_gpu_memory",
            r"total_gpu_memory=<card__gib>GiB,? initial_memory_usage=SIZEGiB,? peak_torch_memory=SIZEGiB,? "
            r"memory_usage_post_profile=SIZEGi?B,? non_torch_memory=<non_torch__gib>GiB,? "
            r"kv_cache_size=<pool__gib>GiB,? gpu_memory_utilization=<set__gpu_memory_utilization>",
            last=FIRST_ENGINE,
        ),
        pattern(
            "total_gpu_memory",
            r"total_gpu_memory \(<card__gib>GiB\) x gpu_memory_utilization "
            r"\(<set__gpu_memory_utilization>\) = <budget__gib>GiB",
            last=FIRST_ENGINE,
        ),
        pattern(
            "take",
            r"model weights take <weights__gib>GiB; non_torch_memory takes <non_torch__gib>GiB; "
            r"PyTorch activation peak memory takes <activations__gib>GiB; "
            r"the rest of the memory reserved for KV Cache is <pool__gib>GiB",
            last=FIRST_ENGINE,
        ),
        # A checkpoint may ask for the format of its cache, where the engine is told auto.
        pattern("resolved", r"query dtypes: .{0,160}?kv_cache_dtype=torch\.(?P<set__kv_cache_dtype>float8\w{1,20})"),
        pattern("blocks", r"# (?:GPU|CUDA|cuda|rocm|cpu|xpu) blocks: <blocks__blocks>"),
        pattern("CPU", r"blocks: \d{1,9}, # CPU blocks: \d", last=FIRST_ENGINE),
        pattern("Available", r"Available KV cache memory: <pool__gib> GiB"),
        pattern("size", r"GPU KV cache size: <pool_tokens__tokens> tokens"),
        pattern(
            "concurrency",
            r"Maximum concurrency for <set__max_model_len> tokens per request: <concurrency__requests>x",
        ),
        pattern(
            "num_gpu_blocks_override",
            r"Overriding num_gpu_blocks=(?!0\b)<blocks__blocks> with "
            r"num_gpu_blocks_override=<set__num_gpu_blocks_override>",
        ),
        pattern("capturing", r"Graph capturing finished in \d+ secs?, took <graphs__gib> GiB"),
        pattern(
            "startup",
            r"Free memory on device (?:\S{1,20} )?\(<free__gib>/<card__gib> GiB\) on startup\. Desired GPU "
            r"memory utilization is \(<set__gpu_memory_utilization>, <budget__gib> GiB\)",
        ),
        pattern(
            "activation",
            r"Actual usage is <weights__gib> GiB for weight, <activations__gib> GiB for peak activation, "
            r"<non_torch__gib> GiB for non-torch memory, and <graphs__gib> GiB for CUDAGraph memory",
        ),
        pattern(
            "activation",
            r"Actual usage is <consumed__gib> GiB for consumed memory \(weights \+ non-torch\), "
            r"<activations_and_estimate__gib> GiB for peak activation, and <graphs__gib> GiB for CUDAGraph",
        ),
        pattern(
            "usage",
            r"Actual usage: <weights__gib> GiB for weights, <activations__gib> GiB for peak activation, "
            r"<non_torch__gib> GiB for non-torch memory, <graphs__gib> GiB for NPU graph memory",
        ),
        pattern(
            "utilize",
            r"--kv-cache-memory(?:-bytes)?=<largest_pool__bytes>` \(SIZE GiB\) to fully utilize",
        ),
        pattern("fit", r"--kv-cache-memory(?:-bytes)?=<suggested_pool__bytes>` \(SIZE GiB\) to fit in"),
        pattern("Current", r"Current kv cache memory in use is <pool__gib> GiB"),
        pattern("Current", r"Current kv cache memory in use is <pool__bytes> bytes"),
        pattern(
            "increasing",
            r"increasing --gpu-memory-utilization from <set__gpu_memory_utilization> to ",
        ),
        pattern("current", r"The current --gpu-memory-utilization=<set__gpu_memory_utilization> is"),
        pattern("Estimated", r"Estimated CUDA graph memory: <graph_estimate__gib> GiB total"),
        pattern("pool", r"CUDA graph pool memory: <graphs__gib> GiB \(actual\)"),
        # 0.10 prints what was free with all its digits, and no space before the second unit. A command has it exactly.
        pattern(
            "reserved",
            r"Initial free memory <free__gib>\d* GiB, reserved (?P<set__kv_cache_memory_bytes><pool__gib> ?GiB) memory "
            r"for KV Cache",
            is_weak=True,
        ),
        pattern("Setting", r"Setting (?:attention|kv cache) block size to <block__tokens>"),
        pattern("Padding", r"Padding mamba page size by <state_padding__percent>%"),
        pattern(
            "padding",
            r"Add <padding__layers> padding layers, may waste at most <layer_padding__percent>%",
        ),
        pattern(
            "Encoder",
            r"Encoder cache will be initialized with a budget of <encoder__tokens> tokens",
        ),
        pattern(
            "stored",
            r"(?:max seq len \(<set__max_model_len>\) is larger than the )?maximum number of tokens that can be "
            r"stored in KV cache \(<pool_tokens__tokens>\)",
            fails="request",
            last=FIRST_ENGINE,
        ),
        pattern("models", r"with the models's max seq len", last=MODELS_S),
        pattern(
            "needed",
            r"(?:max seq len \(<set__max_model_len>\), {1,4})?\(?<request__gib> GiB KV cache is needed, which is "
            r"larger than the available KV cache memory \(<pool__gib> GiB\)",
            fails="request",
        ),
        *(
            pattern(word, rf"{word} maximum model length(?: is|:) <longest_start__tokens>", fails="request")
            for word in ("estimated", "Estimated")
        ),
        # As people write it down.
        pattern(
            "needed",
            r"(?:max seq len \(<set__max_model_len>\), {1,4})?\(?<request__gib> GiB KV cache (?:is )?needed,? but only "
            r"<pool__gib> GiB (?:is |are )?available",
            fails="request",
        ),
        pattern("No", r"No available memory for the cache blocks", fails="pool"),
        pattern(
            "startup",
            r"(?:Free memory on device (?:\S{1,20} )?\(<free__gib>/<card__gib> GiB\) )?on startup is less than "
            r"desired GPU memory utilization \(<set__gpu_memory_utilization>, <budget__gib> GiB\)",
            fails="free",
        ),
        pattern("profiling", r"Error in memory profiling\. Initial free memory <free__gib> GiB", fails="free"),
        pattern("profiling", r"Error in memory profiling\. Initial used memory", fails="free"),
        pattern(
            "exceeds",
            r"(?:max_num_seqs \(<set__max_num_seqs>\) )?exceeds available Mamba cache blocks "
            r"\(<blocks__blocks>\)",
            fails="states",
        ),
        pattern(
            "warming",
            rf"out of memory occurred when (?P<set__{ALLOCATED}>warming up sampler)"
            r"(?: with <set__max_num_seqs> dummy)?",
            fails="memory",
        ),
        *(
            pattern(line.split()[-1], line, fails="other")
            for line in ("EngineCore failed to start", "EngineCore hit an exception", "Engine process failed to start")
        ),
        pattern("startup", r"Application startup complete", recovers=True),
        pattern("speculative_config", r"(?P<pairs__>\bmodel='[^']{1,300}', speculative_config=.*)", pairs=ARGUMENTS),
        pattern("engine", r"LLM engine \(v?<version__>\)", is_weak=True),
        pattern("serve", r"vllm serve +(?P<model__>[^\s-]\S{0,300})" + _REST, is_weak=True, pairs=COMMAND),
        pattern("serve", r"vllm serve +(?=-)" + _REST, is_weak=True, pairs=SERVE),
        pattern("entrypoints", r"vllm\.entrypoints\.\S{1,60}" + _REST, is_weak=True, pairs=COMMAND),
        pattern("openai", r"vllm-openai\S{0,80}" + _REST, is_weak=True, pairs=COMMAND),
        # An image of another maker, whose own command starts the server.
        pattern(
            "docker",
            rf"docker run .{{0,1000}}? \S{{0,120}}/\S{{0,60}}vllm\S{{0,60}}?(?::v?{VERSION})? {{1,8}}(?=--model)"
            + _REST,
            is_weak=True,
            pairs=COMMAND,
        ),
        pattern("vllm", _VERSION_IN_TEXT, is_weak=True),
        pattern("vLLM", _VERSION_IN_TEXT, is_weak=True),
    ),
)
