"""What PyTorch, drivers and tools print, whichever engine runs: the card, and memory that was not there.

Source: torch/csrc, c10/cuda/CUDACachingAllocator.cpp, torch/utils/collect_env.py, nvidia-smi, and public reports.
"""

from planner.logs.patterns import Format, pattern
from planner.logs.ranks import rank
from planner.logs.readings import ALLOCATED, GRAPHS, LOADED, PROFILED

_CARD = r"(?P<set__device>(?:NVIDIA|AMD|Tesla|GeForce|Quadro|RTX|Radeon|Intel)[\w .()+/-]{2,60}?)"

# Functions of vLLM and SGLang in which a traceback ends, and what they allocate. Source: vllm/model_executor/layers,
# vllm/v1/worker/gpu_worker.py, vllm/worker/worker.py, python/sglang/srt/model_executor/model_runner.py.
_WORK = {
    **dict.fromkeys(("create_weights", "load_weights", "process_weights_after_loading", "load_model"), LOADED),
    **dict.fromkeys(("profile_run", "determine_num_available_blocks", "determine_available_memory"), PROFILED),
    "capture_model": GRAPHS,
}
_OTHER = r"Process \d{1,9} has <others__printed> (?P<unit__>[KMG]iB) memory in use"

FORMAT = Format(
    engine="transformers",
    rank=rank,
    is_anyones=True,
    patterns=(
        pattern("Tried", r"Tried to allocate <allocation__printed> (?P<unit__>[KMG]iB)", fails="memory"),
        pattern("OutOfMemoryError", r"OutOfMemoryError: \w{2,5} out of memory", fails="memory"),
        pattern("error", r"(?:CUDA|HIP) error: out of memory", fails="memory"),
        *(
            pattern(spelt, rf"has a total {spelt} of {line}")
            for spelt in ("capacity", "capacty")
            for line in (
                "<card__gib> GiB",
                "SIZE GiB of which <left__printed> (?P<unit__>[KMG]iB|bytes) is free",
            )
        ),
        pattern("allocated", r"<torch_allocated__printed> (?P<unit__>[KMG]iB) is allocated by PyTorch"),
        pattern("private", r"allocated in private pools \(e\.g\., CUDA Graphs\)", sets={ALLOCATED: GRAPHS}),
        *(pattern(name, rf"line \d{{1,6}}, in {name}\b", sets={ALLOCATED: work}) for name, work in _WORK.items()),
        pattern("capacity", r"\(GPU \d{1,3}; <card__gib> GiB total capacity"),
        pattern("capacity", r"already allocated; <left__printed> (?P<unit__>[KMG]iB|bytes) free"),
        # Named beside itself, a process is another; a container's own has a number that the container does not know.
        pattern("Process", rf"{_OTHER}.{{0,800}}?this process has"),
        pattern("Process", rf"this process has SIZE [KMG]iB memory in use\. {_OTHER}"),
        pattern("GPU", rf"\bGPU \d{{1,3}}: {_CARD}(?: \(UUID.{{0,60}})?$", is_weak=True),
        pattern("NVIDIA", rf"\|? {{1,4}}\d{{1,3}} {{1,4}}{_CARD} {{1,20}}(?:On|Off) ", is_weak=True),
        pattern("NVIDIA", rf"\b\d{{1,3}}: {_CARD} <card__mib>MiB$", is_weak=True),
        pattern("GPU", rf"GPU(?:s| type)?: (?:\d{{1,2}} ?[x×] )?{_CARD}(?:$|[,(])", is_weak=True),
        *(
            pattern(
                word, rf"\b{word}(?: name)?\W{{0,4}}: {{1,4}}`?(?P<model__>[\w.-]{{2,60}}/[\w.-]{{2,80}})", is_weak=True
            )
            for word in ("model", "Model", "MODEL")
        ),
    ),
)
