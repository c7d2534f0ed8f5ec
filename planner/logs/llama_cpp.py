"""llama.cpp's buffer lines, those of ik_llama.cpp and of Ollama, which runs it. A reading's rank is its device.

Source: src/llama-model.cpp, src/llama-kv-cache.cpp, src/llama-context.cpp, common/fit.cpp, Ollama's device.go, and
public reports from 2023 to 2026.
"""

from planner.logs.patterns import Format, Pattern, pattern

_CONTEXT = r"(?:llama_new_context_with_model|llama_init_from_model|llama_context|sched_reserve): +"
_TYPES = r"K \((?P<set__cache_type_k>\w{1,12})\): *SIZE MiB, V \((?P<set__cache_type_v>\w{1,12})\)"
_DEVICE = r"(?:RPC\d?\[)?(?P<rank__>[^\s\[\]]{1,60})\]?"
_IEC = r'"(?P<{0}__printed>SIZE) (?P<unit__>[KMG]?i?B)"'

_BREAKDOWN = (
    r"- (?P<rank__>[^\s(]{1,40}) \([^|]{1,80}\) *\| *<card__mib> = *-?\d{1,9} \+ \( *<used__mib> = *<weights__mib> \+ *"
    r"<context__mib> \+ *<compute__mib>\) \+ *<unaccounted__mib> \|"
)


def _context(name: str) -> Pattern:
    return pattern(name, rf"{_CONTEXT}{name} *= (?P<set__{name}>[\w-]{{1,20}})")


def _metadata(name: str) -> Pattern:
    return pattern(name, rf"(?:llm_load_print_meta|print_info): {name} *= (?P<set__{name}>\d{{1,12}})")


FORMAT = Format(
    engine="llama_cpp",
    patterns=(
        pattern("build", r"\bbuild: <version__> \("),
        pattern(
            "meta",
            r"loaded meta data with \d+ key-value pairs and \d+ tensors from (?P<model__>.{1,400}?)"
            r"(?: \(version .{1,40})?$",
            begins=True,
        ),
        pattern(
            "name",
            r"(?:general\.name +str +|print_info: general\.name *)= (?P<set__name>.{1,120})",
        ),
        pattern("ftype", r"model ftype *= (?P<set__file_type>.{1,60})"),
        pattern("file", r"print_info: file type *= (?P<set__file_type>.{1,60})"),
        pattern("file", r"print_info: file size *= <file__printed> (?P<unit__>[MG]iB)"),
        pattern("model", r"llm_load_print_meta: model size *= <file__printed> (?P<unit__>[MG]iB)"),
        *(_metadata(name) for name in ("n_layer", "n_ctx_train", "n_swa", "n_expert")),
        *(
            _context(name)
            for name in ("n_seq_max", "n_ctx", "n_ctx_seq", "n_batch", "n_ubatch", "flash_attn", "kv_unified")
        ),
        pattern(
            "device",
            rf"using device {_DEVICE} \((?P<set__device>.{{1,80}}?)\)(?: \(.{{0,60}}?\))? - <free__mib> MiB free",
            begins=True,
        ),
        pattern("capability", r"Device \d{1,3}: (?P<set__device>[^,]{1,80}), compute capability"),
        pattern("offloaded", r"offloaded <offloaded__layers>/<offloadable__layers> layers to GPU"),
        pattern(
            "load_tensors",
            rf"load_tensors: +{_DEVICE} model buffer size = *<weights__mib> MiB",
        ),
        pattern("llm_load_tensors", rf"llm_load_tensors: +{_DEVICE} buffer size = *<weights__mib> MiB"),
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
            r"size = *<cache_total__mib> MiB \( *<cells__tokens> cells, *\d{1,6} layers,[^)]{1,30}\), " + _TYPES,
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
        pattern("llama_memory_breakdown_print", _BREAKDOWN),
        pattern("common_memory_breakdown_print", _BREAKDOWN),
        pattern("reduced", r"context size reduced from \d{1,12} to <set__n_ctx>"),
        pattern(
            "cudaMalloc",
            r"allocating <allocation__mib> MiB on device \d{1,3}: cudaMalloc failed: out of memory",
            fails="memory",
        ),
        pattern(
            "failed",
            r"failed to allocate \S{1,40} buffer of size <allocation__bytes>",
            fails="memory",
        ),
        pattern("ErrorOutOfDeviceMemory", r"ErrorOutOfDeviceMemory", fails="memory"),
        pattern("Listening", r"Listening on .{1,60} \(version <version__>\)", engine="ollama"),
        pattern(
            "offload",
            r"layers\.offload=<offloaded__layers> .{0,400}?memory\.required\.full=" + _IEC.format("required"),
            engine="ollama",
        ),
        *(
            pattern(
                words.split()[0],
                rf'source=device\.go:\d{{1,6}} msg="{words}"(?: device=(?P<rank__>\S{{1,40}}))? size='
                + _IEC.format(name),
                engine="ollama",
            )
            for words, name in (
                ("model weights", "weights"),
                ("kv cache", "cache"),
                ("compute graph", "compute"),
                ("total memory", "total"),
            )
        ),
        pattern(
            "gpu",
            r'msg="gpu memory" id=(?P<rank__>\S{1,60}) .{0,80}?free=' + _IEC.format("free"),
            engine="ollama",
        ),
    ),
)
