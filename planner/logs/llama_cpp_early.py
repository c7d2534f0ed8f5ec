"""What llama.cpp printed in 2023, before buffers had lines of their own. Its ``MB`` are MiB.

Source: llama.cpp, llama.cpp and ggml-metal.m of that year, and public reports.
"""

from planner.logs.patterns import pattern

_LOADS = "(?:llama_model_load_internal|llm_load_print_meta)"

PATTERNS = (
    pattern("loading", r"llama\.cpp: loading model from (?P<model__>.{1,400})$", begins=True),
    pattern("build", r"\bbuild = <version__> \("),
    pattern("n_ctx", _LOADS + r": n_ctx *= (?P<set__n_ctx>\d{1,12})$"),
    pattern("ftype", r"llama_model_load_internal: ftype *= \d{1,3} \((?P<set__file_type>[^)]{1,40})\)"),
    pattern("required", r"mem required *= *<main_memory__mib> MB"),
    pattern("self", r"kv self size *= *<cache_total__mib> MB"),
    pattern("compute", r"compute buffer total size = *<compute__mib> Mi?B"),
    pattern("VRAM", r"llm_load_tensors: VRAM used *[:=] *<vram__mib> Mi?B"),
)
