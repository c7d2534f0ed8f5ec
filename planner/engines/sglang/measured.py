"""What one start of SGLang shows of the items that no rule gives exactly."""

from math import ceil

from planner.deployment import Deployment
from planner.engines.base import Rank
from planner.engines.measured_share import LOADED, SPLIT
from planner.engines.sglang.cells import fixed_state_bytes, own_rank, pools
from planner.engines.sglang.fraction import static_fraction
from planner.engines.sglang.printed import printed_pool_bytes
from planner.engines.sglang.runtime import BESIDE, CONTEXT, context_bytes
from planner.logs.readings import Start
from planner.measurements import MeasuredItem


def measured_items(start: Start, deployment: Deployment, rank: Rank, weights_bytes: int) -> tuple[MeasuredItem, ...]:
    """What was gone before loading, and what was loaded beyond *weights_bytes*, the tensors that are counted.

    Where tokens are printed, the second is what the pool that holds them leaves, so that a plan prints them again;
    else as the log has it.
    """
    items = []
    free, loaded = start.least("free"), start.most("weights")
    context = context_bytes(deployment)
    if free is not None:
        context = deployment.device.memory_bytes - int(free.value)
        items.append(
            MeasuredItem(
                name=CONTEXT,
                bytes=context,
                source="log: the card less what was free before loading",
                replaces=(CONTEXT,),
                depends_on=SPLIT,
            )
        )
    own = own_rank(rank)
    found = pools(own, deployment)
    pool_bytes = None
    if deployment.settings.integer("max_total_tokens") is None:
        pool_bytes = printed_pool_bytes(start, found)
    extra = None
    if pool_bytes is not None:
        free_bytes = deployment.device.memory_bytes - context_bytes(deployment)
        outside = ceil((1 - static_fraction(own.model, deployment)) * free_bytes)
        taken = weights_bytes + fixed_state_bytes(found, deployment) + context + outside
        extra = deployment.device.memory_bytes - taken - pool_bytes
    elif loaded is not None:
        extra = int(loaded.value) - weights_bytes
    if extra:
        source = "log: what was loaded beside the tensors that are counted, and rounding"
        depends_on = ("weights", "speculative_algorithm", *SPLIT)
        items.append(MeasuredItem(name=LOADED, bytes=extra, source=source, replaces=(BESIDE,), depends_on=depends_on))
    return tuple(items)
