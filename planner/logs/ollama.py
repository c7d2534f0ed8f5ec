"""Ollama's own lines beside those of llama.cpp, which it runs: estimates, devices, and buffers of its other engine.

Source: Ollama's server/sched.go, llm/memory.go, ml/device.go and discover/types.go, and public reports.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

from planner.logs.commands import options_of
from planner.logs.patterns import VERSION, Pattern, pattern
from planner.logs.readings import Reading

_SIZE = r'"?<{0}__printed> (?P<unit__>[KMG]?i?B)'
_RUNNER = options_of(
    {
        "--ctx-size": "n_ctx",
        "--batch-size": "n_batch",
        "--n-gpu-layers": "n_gpu_layers",
        "--parallel": "n_seq_max",
        "--flash-attn": "flash_attn",
        "--kv-cache-type": "cache_type_k",
        "--ollama-engine": "ollama_engine",
    }
)
_ESTIMATES = {
    "required": r"memory\.required\.full=",
    "estimated_cache": r"memory\.required\.kv=",
    "estimated_weights": r"memory\.weights\.total=",
    "estimated_compute": r"memory\.graph\.full=",
    "estimated_projector": r"projector\.weights=",
    "estimated_projector_graph": r"projector\.graph=",
}
"""What Ollama works out before it loads a model, over all devices and main memory."""
MOST_CARDS = 16
"""In one machine, as llama.cpp has it: ``GGML_CUDA_MAX_DEVICES``."""
LAID = "laid_"
_BUFFERS = {
    f"{LAID}weights": "model weights",
    f"{LAID}cache": "kv cache",
    f"{LAID}compute": "compute graph",
    "total": "total memory",
}
"""What it lays on each device: the buffers of its own engine, and no more than a plan of those of llama.cpp's."""
_WHERE = r"(?: (?:device|buffer|backend)=(?P<rank__>[^\s\"]{1,40}))?.{0,80}? size="
_WANTED, _FREE = (_SIZE.format(name).removeprefix('"?') for name in ("main_memory", "main_memory_free"))
_OUT_OF_MEMORY = r"(?=.{0,200}?(?:out of memory|unable to allocate|failed to allocate|signal: killed))"
_PROCESS = r"(?:llama runner|llama-server) process has terminated"
"""What it answers a request with too, as JSON."""
_SPEAKS = (
    ("ollama", r"(?:^|\s)ollama(?:\[\d{1,9}\]|\.listener| *\|)|\.ollama[/\\]models|github\.com/ollama/"),
    (
        "go",
        r"(?:time=(?P<day__>20\d\d-\d\d-\d\d)\S{0,40} )?level=[A-Z]{4,5} source=(?P<source__>\w{1,40}\.go:\d{1,5})"
        r"(?: msg=\"?(?P<said__>[a-zA-Z ]{1,40}))?",
    ),
    ("Ollama_Models", r"Ollama_Models"),
)


def _own(word: str, regex: str, **options: object) -> Pattern:
    return pattern(word, regex, engine="ollama", **options)


PATTERNS = (
    _own("Listening", r"Listening on .{1,60} \(version <version__>\)"),
    *(
        _own(word, rf"\b{word}(?: version)?(?: is)?[ =:]{{1,3}}v?{VERSION}", is_weak=True)
        for word in ("ollama", "Ollama")
    ),
    _own("terminated", rf"{_PROCESS}: {_OUT_OF_MEMORY}", fails="memory"),
    _own("terminated", _PROCESS, fails="other"),
    _own("resource", r"model failed to load, this may be due to resource limitations", fails="other"),
    _own("requires", rf"model requires more system memory \({_WANTED}\) than is available", fails="main_memory"),
    _own("available", r"model requires more system memory .{3,40}? than is available \(" + _FREE),
    _own("requested", rf'msg="model request too large for system" requested="{_WANTED}"', fails="main_memory"),
    _own("free", r'msg="model request too large for system" .{1,120}? free="' + _FREE),
    *(_own(word, regex) for word, regex in _SPEAKS),
    _own("architecture", r"architecture=(?P<set__architecture>[\w.-]{1,40}) file_type=(?P<set__file_type>\S{1,20})"),
    _own(
        "layers",
        r"layers\.requested=-?\d{1,6} layers\.model=<offloadable__layers> layers\.offload=<offloaded__layers> ",
    ),
    *(_own(line.partition("\\")[0], line + _SIZE.format(name)) for name, line in _ESTIMATES.items()),
    *(
        _own("memory", rf'memory\.available="\[(?:SIZE [KMG]?i?B ){{{before}}}<free__printed> (?P<unit__>[KMG]iB)[\] ]')
        for before in range(MOST_CARDS)
    ),
    _own("layers", r'layers\.split="?(?P<set__tensor_split>\d{1,4}(?:,\d{1,4}){1,15})"?(?!\S)'),
    *(
        _own(
            words.split()[0],
            rf'source=(?:device|ggml|backend)\.go:\d{{1,6}} msg="{words}"{_WHERE}' + _SIZE.format(name),
        )
        for name, words in _BUFFERS.items()
    ),
    _own("gpu", r'msg="gpu memory" id=(?P<rank__>\S{1,60}) .{0,120}? free=' + _SIZE.format("free")),
    *(
        _own("inference", rf'msg="inference compute" id=(?P<rank__>\S{{1,60}}) .{{0,300}}? {line}')
        for line in (
            'name="(?P<set__device>[^"]{1,80})"',
            'description="(?P<set__device>[^"]{1,80})"',
            "total=" + _SIZE.format("card"),
            "available=" + _SIZE.format("free"),
        )
    ),
    *(
        _own("updating", rf'msg="updating \w{{2,8}} memory data" gpu=(?P<rank__>\S{{1,60}}) .{{0,300}}?{line}')
        for line in (
            'name="(?P<set__device>[^"]{1,80})"',
            r"now\.total=" + _SIZE.format("card"),
            r"now\.free=" + _SIZE.format("free"),
        )
    ),
    _own("starting", r'msg="starting \w{2,10}(?: |-)?server" cmd="(?P<pairs__>.*)', pairs=_RUNNER),
    _own("starting", r'msg="starting runner" cmd="(?P<pairs__>.*)', pairs=_RUNNER),
    _own("starting", r'msg="starting runner" cmd=".{1,200}? -{1,2}model ', begins=True, launches=True),
    _own(
        "runner",
        r"runner\.name=(?:\S{1,80}/)?(?P<model__>[\w.-]{1,80}:[\w.-]{1,80}) .{0,400}?runner\.parallel=<set__n_seq_max>",
    ),
    _own("runner", r"runner\.num_ctx=<set__n_ctx>(?!\S)"),
    _own("model", r'msg="loading model" "model layers"=<offloadable__layers> '),
    _own(
        "commit",
        r"Operation:commit .{0,80}?Parallel:<set__n_seq_max> BatchSize:<set__n_batch> "
        r"(?:FlashAttention:(?P<set__flash_attn>\w{2,9}) )?.{0,60}?KvSize:<set__n_ctx> "
        r"KvCacheType:(?P<set__cache_type_k>\w{0,12}) .{0,60}?GPULayers:(?:<offloaded__layers>\[|\[\])",
    ),
)


def finish(readings: Iterable[Reading]) -> tuple[Reading, ...]:
    """A start's readings once all are there."""
    return name_buffers(number_cards(readings))


def number_cards(readings: Iterable[Reading]) -> Iterator[Reading]:
    """What is free on each of several cards stands in one line, without their names."""
    every = tuple(readings)
    lines = Counter(reading.line for reading in every if reading.name == "free" and not reading.rank)
    seen = Counter[int]()
    for reading in every:
        if reading.name == "free" and not reading.rank and lines[reading.line] > 1:
            yield replace(reading, rank=f"GPU{seen[reading.line]}")
            seen[reading.line] += 1
        else:
            yield reading


def name_buffers(readings: Iterable[Reading]) -> tuple[Reading, ...]:
    """What is laid on each device as it was said last: an estimate where llama.cpp prints its buffers as well."""
    every = tuple(readings)
    last = {(reading.name, reading.rank): reading for reading in every}
    has_buffers = any(reading.name == "weights" for reading in every)
    found = []
    for reading in every:
        if not reading.name.startswith(LAID):
            found.append(reading)
        elif last[reading.name, reading.rank] is reading:
            name = reading.name.removeprefix(LAID)
            found.append(replace(reading, name=f"estimated_{name}" if has_buffers else name))
    return tuple(found)
