"""Predictions for the figures of SGLang, TensorRT-LLM and LMDeploy, which divide one pool of what loading leaves."""

from collections.abc import Callable, Iterator

from planner.answers.answer import Answer
from planner.budget import OUTSIDE, RankBudget, prepare
from planner.inputs.choices import Chosen
from planner.line_item import Kind, LineItem
from planner.logs.readings import Start
from planner.startups.prediction import Prediction, Predictions, ask, exact, of_card, of_items
from planner.units import format_bytes

POOL_ENGINES = ("sglang", "tensorrt_llm", "lmdeploy")
FROM_FLAGS = "what weights and assumed items leave"
FROM_FREE = "by the engine's rule from what is printed as free"


def predict_pools(start: Start, chosen: Chosen) -> Predictions:
    """From flags alone what takes memory and the pool; from what is printed of pool and tokens what follows from it."""
    rank = min(prepare(chosen.architecture, chosen.deployment), key=lambda each: each.pool_bytes)
    found = dict(_taken(start, rank))
    found["pool"] = pool = _from_free(start, rank) or Prediction(
        value=rank.pool_bytes, low=rank.pool_low_bytes, high=rank.pool_high_bytes, basis=FROM_FLAGS
    )
    found |= _from_pool(start, chosen, rank, pool)
    if start.engine == "sglang":
        from planner.engines.sglang.printed import cache_figures  # only for SGLang's logs

        for name, size in cache_figures(start, rank.rank, chosen.deployment).items():
            found[name] = exact(size, "from the printed tokens and states")
    return found


def _taken(start: Start, rank: RankBudget) -> Iterator[tuple[str, Prediction]]:
    """The card, what is free on it before and after loading, and the weights."""
    deployment, memory_bytes = rank.deployment, rank.memory_bytes
    items = [item for item in rank.items if item.name != OUTSIDE]
    weights = [item for item in items if item.kind is Kind.WEIGHTS]
    context = [item for item in items if item.name == "context"]
    yield "card", of_card(deployment.device, memory_bytes)
    if (loaded := of_items(weights)) is not None:
        yield "weights", loaded
    if start.engine == "sglang":
        yield "free", _left(memory_bytes, context)
        yield "free_after_load", _left(memory_bytes, context + weights)
    else:
        yield "free_after_load", _left(memory_bytes, items)


def _left(memory_bytes: int, items: list[LineItem]) -> Prediction:
    """What *items* leave of the card: little where they turn out large."""
    return Prediction(
        value=memory_bytes - sum(item.bytes for item in items),
        low=memory_bytes - sum(item.high_bytes for item in items),
        high=memory_bytes - sum(item.low_bytes for item in items),
        basis=f"the card less {', '.join(dict.fromkeys(item.name for item in items)) or 'nothing'}",
    )


def _from_free(start: Start, rank: RankBudget) -> Prediction | None:
    """The pool that the engine's rule makes of what is free after loading, and for SGLang before: no plan is needed.

    ``None`` unless every rank's are printed: the smallest decide.
    """
    after, before = start.least("free_after_load"), start.least("free")
    is_whole = start.engine != "sglang"
    if after is None or (before is None and not is_whole):
        return None
    if len({reading.rank for reading in start.named("free_after_load")}) < rank.deployment.device_count:
        return None
    context_bytes = sum(item.bytes for item in rank.items if item.name == "context")

    def pool_bytes(steps: float) -> int:
        free_bytes = int(after.value + steps * after.step)
        # A share of all that was free is smaller where less was.
        memory_bytes = free_bytes if before is None else int(before.value - steps * before.step) + context_bytes
        memory_bytes = free_bytes if is_whole else memory_bytes
        return rank.engine.pool_bytes(rank.rank, rank.deployment, memory_bytes, memory_bytes - free_bytes)

    return Prediction(value=pool_bytes(0), low=pool_bytes(-0.5), high=pool_bytes(0.5), basis=FROM_FREE)


def _from_pool(start: Start, chosen: Chosen, rank: RankBudget, planned: Prediction) -> dict[str, Prediction]:
    """Tokens and blocks at the two ends of the pool: of one that is printed its rounding, else of its range."""
    pool = start.least("pool")
    if pool is None or pool.value <= 0:
        sizes, basis = (int(planned.value), int(planned.low), int(planned.high)), planned.basis
    else:
        sizes = (int(pool.value), int(pool.value - pool.step // 2), int(pool.value + pool.step // 2))
        basis = f"from the printed pool of {format_bytes(sizes[0])}"
    answers = [ask(chosen, size) for size in sizes]
    figures: dict[str, Callable[[Answer], int | float | None]] = {
        "pool_tokens": lambda each: each.pool_tokens,
        "printed_tokens": lambda each: each.pool_tokens,
        "full_tokens": lambda each: each.pool_tokens,
        "blocks": lambda each: each.report.num_blocks if each.report else None,
        "block": lambda each: each.report.block_size if each.report else None,
        "longest_start": lambda each: each.pool_tokens,
        "request": lambda each: each.report.blocks_per_request if each.report else None,
    }
    found = {}
    for name, figure in figures.items():
        value, low, high = (figure(each) for each in answers)
        if value is not None and low is not None and high is not None:
            found[name] = Prediction(value=value, low=low, high=high, basis=basis)
    if start.engine == "lmdeploy":
        # It prints what a block costs, not how many tokens it has; one token takes a block.
        found["block"] = exact(rank.request_bytes(1), "a block of all layers")
    return found
