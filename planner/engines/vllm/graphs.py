"""Which CUDA graphs vLLM captures, and whether it takes them for larger than they are."""

from collections.abc import Iterable

from planner.architecture import Layer, distinct_layers
from planner.deployment import Deployment
from planner.formats import Role

GRAPH_VENDORS = ("", "nvidia", "amd")
LARGEST_BATCH = 512


def captured_graphs(max_num_seqs: int, draft_tokens: int) -> int:
    """Graphs of parts of a step, and of whole steps that only decode: 35 + 19 for 128 sequences.

    Sizes are 1, 2, 4, multiples of 8 up to 256 and of 16 above, up to twice the tokens that decode at once; whole steps
    have at most as many.
    Source: vllm/config/vllm.py, _set_cudagraph_sizes; printed as "Profiling CUDA graph memory: PIECEWISE=35, FULL=19".
    """
    decoded = max_num_seqs * (1 + draft_tokens)
    largest = min(2 * decoded, LARGEST_BATCH)
    sizes = [size for size in (1, 2, 4, *range(8, 256, 8), *range(256, LARGEST_BATCH + 1, 16)) if size <= largest]
    return len(sizes) + len([size for size in sizes if size <= decoded])


def estimates_graphs(deployment: Deployment) -> bool:
    """Whether what graphs will take is taken from the pool before they are captured."""
    settings = deployment.settings
    captures = deployment.device.vendor in GRAPH_VENDORS and not settings.flag("enforce_eager")
    return captures and bool(settings.flag("estimate_cudagraphs"))


def most_of_a_graph_gib(layers: Iterable[Layer], deployment: Deployment) -> float:
    """What the estimate has for each graph at most, where public starts show that it is far too large; else 0.

    vLLM takes what the second graph needs for what each later one does, though they use the same memory again.
    """
    rule = deployment.settings.rule("graphs_of_shared_experts")
    if deployment.data_parallel == 1 or not rule or not estimates_graphs(deployment):
        return 0
    tensors = (tensor for layer, _ in distinct_layers(layers) for tensor in layer.tensors)
    experts = (deployment.weights.format_of(t.role, t.stored).name for t in tensors if t.role is Role.EXPERT)
    is_known = any(name.partition("-")[0] in rule["formats"] for name in experts)
    gib: float = rule["high_gib"] if is_known else 0
    return gib


def estimate_notes(layers: Iterable[Layer], deployment: Deployment) -> list[str]:
    """What to do where the estimate may be far too large."""
    if not most_of_a_graph_gib(layers, deployment):
        return []
    return [
        "vLLM takes its estimate of CUDA graphs from the cache, and for experts of this format on data-parallel ranks "
        "it was 62 and 118 GiB in public starts, where the graphs take few: VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS=0 "
        "(--set estimate_cudagraphs=false) leaves it out."
    ]
