"""What one start shows of an engine that gives its cache a share of what is free: everything beside the weights."""

from planner.deployment import Deployment
from planner.engines import find_engine
from planner.engines.base import Rank
from planner.engines.free_share import FreeShare
from planner.logs.readings import Start
from planner.measurements import MeasuredItem

SPLIT = ("tensor_parallel", "pipeline_parallel", "data_parallel", "expert_parallel")
STEP = ("max_batch_size", "max_num_tokens")
LOADED = "weights as loaded"


def measured_items(start: Start, deployment: Deployment, rank: Rank, weights_bytes: int) -> tuple[MeasuredItem, ...]:
    """The engine's one runtime item as the log has it, so that a plan has the blocks that were printed.

    What is free after loading is printed in rounded form: where blocks or tokens are printed, it is what gives those.
    """
    engine = find_engine(deployment.engine)
    assert isinstance(engine, FreeShare)
    free_bytes = _free_bytes(start, engine, deployment, rank)
    if free_bytes is None:
        return ()
    size = deployment.device.memory_bytes - weights_bytes - free_bytes
    return (
        MeasuredItem(
            name=engine.runtime_name,
            bytes=size,
            source="log: the card less weights and what is free after loading",
            replaces=(engine.runtime_name,),
            depends_on=("weights", *STEP, *SPLIT),
        ),
    )


def _free_bytes(start: Start, engine: FreeShare, deployment: Deployment, rank: Rank) -> int | None:
    free, blocks = start.least("free_after_load"), _blocks(start, engine, deployment)
    if blocks is None or engine.most_blocks(deployment) is not None:
        return None if free is None else int(free.value)
    middle = blocks - 0.5 if engine.rounds_up(deployment) else blocks + 0.5
    return round(middle * engine.block_bytes(rank, deployment) / engine.share(deployment))


def _blocks(start: Start, engine: FreeShare, deployment: Deployment) -> int | None:
    blocks, tokens = start.least("blocks"), start.least("pool_tokens")
    if blocks is not None:
        return int(blocks.value)
    return None if tokens is None else int(tokens.value) // engine.block_tokens(deployment)
