"""llama.cpp's buffer lines and those of ik_llama.cpp; Ollama's own have their file. A reading's rank is its device.

Source: src/llama-model.cpp, src/llama-kv-cache.cpp, src/llama-context.cpp, common/fit.cpp, Ollama's device.go, and
public reports from 2023 to 2026.
"""

from collections.abc import Iterable

from planner.logs import backends, llama_cpp_early, ollama
from planner.logs.commands import options_of
from planner.logs.devices import CARD
from planner.logs.patterns import Format, Pattern, pattern
from planner.logs.readings import ALLOCATED, LOCALAI, Reading

_CONTEXT = r"(?:llama_new_context_with_model|llama_init_from_model|llama_context|sched_reserve): +"
_TYPES = r"K \((?P<set__cache_type_k>\w{1,12})\): *SIZE MiB, V \((?P<set__cache_type_v>\w{1,12})\)"
_DEVICE = r"(?:RPC\d?\[)?(?P<rank__>[^\s\[\]]{1,60})\]?"
MAX_CARDS = 8


def _name(setting: str) -> str:
    """A card's name in a line, as *setting*."""
    return rf"(?P<set__{setting}>[^,()|\n]{{1,80}}?)"


_NAME = _name("device")

_BREAKDOWN = (
    r"- (?P<rank__>[^\s(]{1,40}) \([^|]{1,80}\) *\| *<card__mib> = *-?\d{1,9} \+ \( *<used__mib> = *<weights__mib> \+ *"
    r"<context__mib> \+ *<compute__mib>\) \+ *<unaccounted__mib> \|"
)


PER_SEQUENCE = "2025-11-02"
"""Until that day a slot's context was called n_ctx_per_seq: #16736."""
FIRST_NAMES = "2025-01-03"
"""Until that day functions of llama.cpp were named llm_load_…, and lines after them: #10902. ik_llama.cpp kept them."""


def _context(name: str, last: str = "") -> Pattern:
    return pattern(name, rf"{_CONTEXT}{name} *= (?P<set__{name}>[\w-]{{1,20}})", last=last)


def _metadata(name: str) -> Pattern:
    return pattern(name, rf"(?:llm_load_print_meta|print_info): {name} *= (?P<set__{name}>\d{{1,12}})")


_LOADS = r"(?:loading model|(?:create context with|failed to load) model),? '(?P<model__>[^']{1,400})'"
_IK = (
    ("ik_llama", r"\bik_llama\b"),
    ("KV", r"c\^KV \("),
    *(
        (name, rf"(?:llama_new_context_with_model|llama_init_from_model): {name} ")
        for name in ("mla_attn", "attn_max_b", "fused_moe")
    ),
)
"""What only ik_llama.cpp prints."""
OPTIONS = {
    **dict.fromkeys(("-c", "--ctx-size"), "n_ctx"),
    **dict.fromkeys(("-ngl", "--gpu-layers", "--n-gpu-layers"), "n_gpu_layers"),
    **dict.fromkeys(("-np", "--parallel"), "n_seq_max"),
    **dict.fromkeys(("-b", "--batch-size"), "n_batch"),
    **dict.fromkeys(("-ub", "--ubatch-size"), "n_ubatch"),
    **dict.fromkeys(("-fa", "--flash-attn"), "flash_attn"),
    **dict.fromkeys(("-ctk", "--cache-type-k"), "cache_type_k"),
    **dict.fromkeys(("-ctv", "--cache-type-v"), "cache_type_v"),
    **dict.fromkeys(("-ncmoe", "--n-cpu-moe"), "n_cpu_moe"),
    **dict.fromkeys(("-cmoe", "--cpu-moe"), "cpu_moe"),
    **dict.fromkeys(("-mm", "--mmproj"), "mmproj"),
    "--no-mmproj": "no_mmproj",
    **dict.fromkeys(("-m", "--model", "-hf", "-hfr", "--hf-repo"), "model"),
}
COMMAND = options_of(OPTIONS)

FORMAT = Format(
    engine="llama_cpp",
    words=("ggml_cuda_init", "llama_model_loader", "llama_model_load", "print_info", "load_tensors"),
    patterns=(
        pattern("build", r"\bbuild: <version__> \("),
        pattern("version", r"\bversion: (?P<version__>\d{3,6}) \([\da-f]{6,12}\)"),
        pattern("build_info", r"build_info: b?(?P<version__>\d{3,6})-"),
        pattern("build", r"\(build <version__>, commit "),
        pattern("build", r"\bbuild=<version__> commit="),
        pattern(
            "meta",
            r"loaded meta data with \d+ key-value pairs and \d+ tensors from (?P<model__>.{1,400}?)"
            r"(?: \(version .{1,40})?$",
            begins=True,
        ),
        *(pattern(word, _LOADS, is_weak=True) for word in ("loading", "create", "load")),
        pattern("LocalAI", rf"(?P<set__{LOCALAI}>LocalAI)\b", is_weak=True),
        pattern("modelID", rf"Failed to load model (?P<set__{LOCALAI}>modelID)=", is_weak=True),
        pattern("Failed", r"Failed to load model: (?P<model__>[^\s'\"]{1,400}?\.gguf)", is_weak=True),
        pattern(
            "name",
            r"(?:general\.name +str +|(?:print_info|llm_load_print_meta): general\.name *)= "
            r"(?P<set__name>[^\n]{1,120})",
        ),
        *(
            pattern(name, rf"general\.{name} +str +=(?P<set__{name}>[^\n]{{1,80}})")
            for name in ("architecture", "basename", "size_label")
        ),
        pattern("ftype", r"model ftype *= (?P<set__file_type>.{1,60})"),
        pattern("file", r"print_info: file type *= (?P<set__file_type>.{1,60})"),
        pattern("file", r"print_info: file size *= <file__printed> (?P<unit__>[MG]iB)"),
        pattern("model", r"llm_load_print_meta: model size *= <file__printed> (?P<unit__>[MG]iB)", last=FIRST_NAMES),
        *(_metadata(name) for name in ("n_layer", "n_ctx_train", "n_swa", "n_expert")),
        *(
            _context(name)
            for name in (*("n_seq_max", "n_ctx", "n_ctx_seq", "n_batch", "n_ubatch", "flash_attn", "kv_unified"),)
        ),
        _context("n_ctx_per_seq", last=PER_SEQUENCE),
        pattern(
            "device",
            rf"using device {_DEVICE} \((?P<set__device>.{{1,80}}?)\)(?: \(.{{0,60}}?\))? - <free__mib> MiB free",
            begins=True,
        ),
        *(
            pattern("Device", rf"Device {number}: {_name(f'{CARD}{number}')}, (?:compute capability|gfx)")
            for number in range(MAX_CARDS)
        ),
        pattern("Device", rf"Device \d{{1,3}}: {_NAME}, (?:compute capability|gfx)"),
        pattern("VRAM", r"(?P<rank__>Device \d{1,3}): .{1,200}?, VRAM: <card__mib> MiB"),
        pattern("MiB", rf"- (?P<rank__>[A-Z]{{2,8}}\d{{1,3}}) *: {_NAME} \(<card__mib> MiB, <free__mib> MiB free\)"),
        pattern(
            "total", rf"- (?P<rank__>[A-Z]{{2,8}}\d{{1,3}}) \({_NAME}\): *<card__mib> total, *<projected__mib> used"
        ),
        pattern("auto", r"set to auto, using n_parallel = <set__n_seq_max> and kv_unified = <set__kv_unified>"),
        *(
            pattern(word, rf"(?P<set__mmproj>{word}): ")
            for word in ("clip_model_loader", "clip_model_load", "clip_ctx")
        ),
        pattern("repeating", r"offloading <repeating__layers> repeating layers to GPU"),
        pattern("offloaded", r"offloaded <offloaded__layers>/<offloadable__layers> layers to GPU"),
        pattern(
            "load_tensors",
            rf"load_tensors: +{_DEVICE} model buffer size = *<weights__mib> MiB",
        ),
        pattern(
            "llm_load_tensors",
            rf"llm_load_tensors: +{_DEVICE} buffer size = *<weights__mib> MiB",
            last=FIRST_NAMES,
        ),
        pattern(
            "buffer",
            rf"(?:llama_kv_cache\w{{0,24}}|init): +{_DEVICE} KV buffer size = *<cache__mib> MiB",
        ),
        pattern("self", rf"KV self size *= *<cache_total__mib> MiB, {_TYPES}"),
        pattern(
            "self",
            r"KV self size *= *<cache_total__mib> MiB, c\^KV \((?P<set__cache_type_k>\w{1,12})\)",
        ),
        pattern(
            "cells",
            r"size = *<cache_total__mib> MiB \( *<cells__tokens> cells, *\d{1,6} layers,"
            r"(?: *(?P<set__n_seq_max>\d{1,5})(?:/\d{1,5})? seqs|[^)]{1,30})\), " + _TYPES,
        ),
        pattern("RS", rf"{_DEVICE} RS buffer size = *<states__mib> MiB"),
        pattern(
            "compute",
            rf"{_CONTEXT}{_DEVICE} compute buffer size = *<compute__mib> MiB",
        ),
        pattern("output", rf"{_DEVICE} +output buffer size = *<output__mib> MiB"),
        pattern(
            "projected",
            r"projected to use <projected__mib> MiB of device memory vs\. <free__mib> MiB",
        ),
        *(pattern(f"{of}_memory_breakdown_print", _BREAKDOWN) for of in ("llama", "common")),
        pattern("reduced", r"context size reduced from \d{1,12} to <set__n_ctx>"),
        pattern(
            "cudaMalloc",
            r"allocating <allocation__mib> MiB on device \d{1,3}: cudaMalloc failed: out of memory",
            fails="memory",
        ),
        pattern(
            "failed",
            r"failed to allocate (?:\S{1,40} )?buffer of size <allocation__bytes>",
            fails="memory",
        ),
        pattern("cache", rf"failed to allocate buffer for (?P<set__{ALLOCATED}>kv cache)", fails="memory"),
        pattern("compute", rf"failed to allocate (?P<set__{ALLOCATED}>compute) ", fails="memory"),
        pattern("loading", rf"error loading (?P<set__{ALLOCATED}>model): unable to allocate", fails="memory"),
        pattern("unable", r"unable to allocate \S{1,40} buffer", fails="memory"),
        pattern("loading", r"error loading model\b", fails="other"),
        pattern("failed", r"failed to (?:load model|create context)\b", fails="other"),
        pattern("ErrorOutOfDeviceMemory", r"ErrorOutOfDeviceMemory", fails="memory"),
        pattern("retrying", r"compute buffer allocation failed, retrying", recovers=True),
        pattern("listening", r"(?:server|HTTP server) is listening", recovers=True),
        *(
            pattern(word, rf"(?:^|[\s/\\`]){start}(?:\.exe)? (?P<pairs__>.*)", is_weak=True, pairs=COMMAND)
            for word, start in (("server", "llama-server"), ("cli", "llama-cli"), ("fit", "llama-fit-params"))
        ),
        *(pattern(word, line, engine="ik_llama_cpp") for word, line in _IK),
        *llama_cpp_early.PATTERNS,
        *backends.PATTERNS,
        *ollama.PATTERNS,
    ),
)


def last_tables(readings: Iterable[Reading]) -> tuple[Reading, ...]:
    """Of several tables of a device's memory the last: others are of what was tried before, or of a draft."""
    every = tuple(readings)
    tables = {(reading.rank, reading.line) for reading in every if reading.name == "unaccounted"}
    last = dict(sorted(tables, key=lambda table: table[1]))
    return tuple(
        reading for reading in every if (reading.rank, reading.line) not in tables or last[reading.rank] == reading.line
    )
