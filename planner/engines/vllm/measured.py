"""What one start of vLLM shows of the items that no rule gives exactly."""

from math import ceil

from planner.deployment import Deployment
from planner.engines.base import Rank
from planner.engines.vllm.groups import grouping, request_specs
from planner.engines.vllm.report import null_block_bytes
from planner.engines.vllm.runtime import LOADER, PADDING, ROTARY
from planner.kv_cache import bytes_for
from planner.logs.readings import Start
from planner.measurements import MeasuredItem

SPLIT = ("tensor_parallel", "pipeline_parallel", "data_parallel", "expert_parallel")
STEP = ("max_num_seqs", "max_num_batched_tokens", "num_speculative_tokens", "skip_mm_profiling")
ACTIVATIONS, NON_TORCH, GRAPHS = "activation peak", "non-torch memory", "CUDA graphs"
REPLACES = {ACTIVATIONS: (ACTIVATIONS, "encoder peak"), NON_TORCH: (NON_TORCH, LOADER), GRAPHS: (GRAPHS,)}
"""The profiling run sees the larger of text and encoder: one peak is printed for both."""
DEPENDS_ON = {
    ACTIVATIONS: (*STEP, *SPLIT),
    NON_TORCH: ("load_format", *SPLIT),
    GRAPHS: ("max_num_seqs", "num_speculative_tokens", "enforce_eager", *SPLIT),
}
FOLLOWS = {ACTIVATIONS: STEP, NON_TORCH: ("load_format",), GRAPHS: ("max_num_seqs", "num_speculative_tokens")}
"""The settings by which the assumption changes as the item does."""
LOADED = "weights as loaded"
BESIDE_WEIGHTS = (PADDING, ROTARY)
LOADED_DEPENDS_ON = ("weights", "num_speculative_tokens", *SPLIT)


def measured_items(start: Start, deployment: Deployment, rank: Rank, weights_bytes: int) -> tuple[MeasuredItem, ...]:
    """Items with which the planner leaves the pool that *start* printed, to the byte.

    What is printed by itself is taken as printed. What is not, or what the rounding leaves where all is, comes from the
    sum: share of the card − weights − pool. *weights_bytes* are the exact ones of the rank, which stay as they are;
    what was loaded beyond them is an item of its own.
    """
    pool_bytes = _pool_bytes(start, deployment, rank)
    known = _printed(start, _loaded_bytes(start, weights_bytes))
    wanted = [ACTIVATIONS, NON_TORCH]
    settings = deployment.settings
    if settings.flag("estimate_cudagraphs") and not settings.flag("enforce_eager"):
        wanted.append(GRAPHS)
    items = [_item(name, known[name], "printed") for name in wanted if name in known]
    extra_bytes = _loaded_bytes(start, weights_bytes) - weights_bytes
    taken_bytes = weights_bytes + extra_bytes + sum(item.bytes for item in items)
    rest_bytes = None if pool_bytes is None else _rest_bytes(deployment, taken_bytes + pool_bytes)
    missing = [name for name in wanted if name not in known]
    if rest_bytes is not None and missing:
        items.append(_together(missing, rest_bytes, () if start.most("weights") else BESIDE_WEIGHTS))
    elif rest_bytes is not None:
        extra_bytes += rest_bytes
    if extra_bytes:
        source = "log: what was loaded beside the tensors that are counted, and rounding"
        items.append(
            MeasuredItem(
                name=LOADED, bytes=extra_bytes, source=source, replaces=BESIDE_WEIGHTS, depends_on=LOADED_DEPENDS_ON
            )
        )
    return tuple(items)


def _printed(start: Start, loaded_bytes: int) -> dict[str, int]:
    """The items that the log prints, by the planner's names. Of 0.27 and later from their sums."""
    names = {"activations": ACTIVATIONS, "non_torch": NON_TORCH, "graph_estimate": GRAPHS}
    found = {ours: int(reading.value) for name, ours in names.items() if (reading := start.most(name)) is not None}
    if (consumed := start.most("consumed")) is not None:
        found[NON_TORCH] = int(consumed.value) - loaded_bytes
    if (peak := start.most("activations_and_estimate")) is not None:
        found[ACTIVATIONS] = int(peak.value) - found.get(GRAPHS, 0)
    return found


def _loaded_bytes(start: Start, weights_bytes: int) -> int:
    reading = start.most("weights")
    return weights_bytes if reading is None else int(reading.value)


def _pool_bytes(start: Start, deployment: Deployment, rank: Rank) -> int | None:
    """The smallest pool that is printed; within its rounding what the length needs that is said to start.

    Without a printed pool from its blocks, as the first engine and a refusal of too many states print them, or from
    the tokens that it holds where one request needs more.
    """
    pool, longest, held = start.least("pool"), start.most("longest_start"), start.least("pool_tokens")
    if pool is None:
        if (blocks := start.least("blocks")) is not None:
            return int(blocks.value) * grouping(rank, deployment).block_bytes
        is_refused = held is not None and start.failure is not None and start.failure.kind == "request"
        return bytes_for(request_specs(rank, deployment), int(held.value)) if held is not None and is_refused else None
    if longest is not None:
        need_bytes = bytes_for(request_specs(rank, deployment), int(longest.value)) + null_block_bytes(rank, deployment)
        if pool.value < need_bytes <= pool.value + pool.step / 2:
            return need_bytes
    return int(pool.value)


def _rest_bytes(deployment: Deployment, taken_bytes: int) -> int | None:
    """What the share leaves beside *taken_bytes*, the pool among them; ``None`` where the pool was set."""
    settings = deployment.settings
    if any(settings.integer(name) is not None for name in ("kv_cache_memory_bytes", "num_gpu_blocks_override")):
        return None
    return ceil(deployment.device.memory_bytes * settings.number("gpu_memory_utilization")) - taken_bytes


def _item(name: str, size: int, how: str) -> MeasuredItem:
    return MeasuredItem(
        name=name,
        bytes=size,
        source=f"log: {how}",
        replaces=REPLACES[name],
        depends_on=DEPENDS_ON[name],
        follows=FOLLOWS[name],
    )


def _together(names: list[str], size: int, beside: tuple[str, ...]) -> MeasuredItem:
    """One item for several that the log prints only as what they leave, and for what it has *beside* them."""
    depends_on = dict.fromkeys(condition for name in names for condition in DEPENDS_ON[name])
    follows = dict.fromkeys(condition for name in names for condition in FOLLOWS[name])
    return MeasuredItem(
        name=", ".join(names),
        bytes=size,
        source="log: what weights and pool leave of the share",
        replaces=(*(item for name in names for item in REPLACES[name]), *beside),
        depends_on=tuple(depends_on),
        follows=tuple(follows),
    )
