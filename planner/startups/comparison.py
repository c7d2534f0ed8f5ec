"""A start's readings beside what the planner says for the same model, card and flags, each difference explained."""

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from enum import StrEnum
from math import ceil

from planner.answers.answer import Answer
from planner.answers.figures import room_bytes
from planner.inputs.choices import Chosen
from planner.line_item import Kind
from planner.logs.devices import LLAMA_CPP, is_host
from planner.logs.readings import Reading, Start
from planner.records import dataclass
from planner.settings.data import EngineSettings
from planner.startups.buffers import predict_buffers
from planner.startups.pools import POOL_ENGINES, predict_pools
from planner.startups.prediction import Prediction, Predictions, ask, exact, of_card, of_items
from planner.tuning import SET_POOL
from planner.units import format_bytes

NOTHING = "the planner has no such figure"
ADDED_UP = ("weights", "cache", "states", "cache_total")
"""llama.cpp's buffers that each device, and each of a model's caches, prints by itself."""
LEAST = ("pool", "blocks", "pool_tokens", "concurrency", "suggested_pool", "largest_pool")
"""Figures of which the smallest of all ranks decides."""
MADE_OF_IT = "the card's size was worked out from it, so that it foretells nothing"
IN_MAIN_MEMORY = "in main memory: only what lies on cards is predicted here"


class Match(StrEnum):
    """How a reading lies to its prediction: as printed, within its range, outside of it; or there is none."""

    EQUAL = "equal"
    INSIDE = "inside"
    OUTSIDE = "outside"
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """One reading and its prediction. *difference* is reading − prediction; *low* and *high* are its ends.

    All are in *unit*; ``None`` where nothing is predicted. Of several ranks the one that decides is shown.
    """

    name: str
    value: int | float
    unit: str
    predicted: int | float | None
    difference: int | float | None
    why: str
    line: int
    rank: str = ""
    low: int | float | None = None
    high: int | float | None = None
    match: Match = Match.NONE


def compare(start: Start, chosen: Chosen | None, made_of: Set[str] = frozenset()) -> tuple[Compared, ...]:
    """Every kind of reading once, in the order of the log; without *chosen* nothing is predicted.

    Nor is what is *made_of*: the readings that the card of *chosen* was worked out from.
    """
    predicted = {} if chosen is None else PREDICT.get(start.engine, _nothing)(start, chosen)
    circular = predicted.keys() & made_of
    predictions = {name: one for name, one in predicted.items() if name not in circular}
    names = dict.fromkeys(reading.name for reading in start.readings)
    is_planned = chosen is not None and chosen.deployment.on_cpu
    deciding = {name: _deciding(start, name) for name in names}
    rows = (
        _compared(reading, _ranks(start, name), _predicted(reading, predictions.get(name), is_planned))
        for name, reading in deciding.items()
    )
    said = (replace(row, why=MADE_OF_IT) if row.name in circular else row for row in rows)
    every = (*said, *(_compared(reading, 0, None) for name in names for reading in _beside_cards(start, name)))
    # Without a plan it is not the planner that lacks the figure.
    return every if chosen is not None else tuple(replace(row, why="") for row in every)


def _predicted(reading: Reading, found: Prediction | None, on_cpu: bool) -> Prediction | None:
    """What lies in main memory is predicted only where there is no card beside it."""
    return found if on_cpu or not is_host(reading.rank) else None


def _ranks(start: Start, name: str) -> int:
    """How many workers or devices print *name*; a line that is said again in an error is none of its own."""
    return len({reading.rank for reading in start.named(name) if reading.rank})


def _deciding(start: Start, name: str) -> Reading:
    """Of pools and what is free the smallest, of all else the largest; buffers of several cards are added up."""
    is_least = "free" in name or name in LEAST
    found = start.least(name) if is_least else start.most(name)
    assert found is not None
    if start.engine in LLAMA_CPP and name in ADDED_UP:
        every = _summed_up(start, name) or start.named(name)
        on_cards = [reading for reading in every if reading.rank and not is_host(reading.rank)]
        if on_cards:
            return replace(_together(on_cards), rank="")
        return _together(every)
    return found


def _summed_up(start: Start, name: str) -> list[Reading]:
    """The figures of llama.cpp's table of all that it allocated, whose lines say again what buffers came to."""
    lines = {reading.line for reading in start.named("unaccounted")}
    return [reading for reading in start.named(name) if reading.line in lines]


def _together(readings: Sequence[Reading]) -> Reading:
    return replace(readings[-1], value=sum(reading.value for reading in readings))


def _beside_cards(start: Start, name: str) -> Iterator[Reading]:
    """What lies in main memory of buffers that cards have too, as a figure of its own."""
    if start.engine in LLAMA_CPP and name in ADDED_UP:
        on_host = [reading for reading in start.named(name) if is_host(reading.rank)]
        if on_host and len(on_host) < len(start.named(name)):
            yield replace(_together(on_host), name=f"{name}_in_main_memory")


def _compared(reading: Reading, ranks: int, predicted: Prediction | None) -> Compared:
    if predicted is None:
        why = IN_MAIN_MEMORY if is_host(reading.rank) else NOTHING
        difference, value, match = None, None, Match.NONE
    else:
        value, difference = predicted.value, reading.value - predicted.value
        match = _match(reading, predicted)
        why = _why(reading, predicted, match)
    return Compared(
        name=reading.name,
        value=reading.value,
        unit=reading.unit,
        predicted=value,
        difference=difference,
        why=why if ranks < 2 or not reading.rank else f"{why}; of {ranks} lines that of {reading.rank}",
        line=reading.line,
        rank=reading.rank,
        low=None if predicted is None else predicted.low,
        high=None if predicted is None else predicted.high,
        match=match,
    )


def _match(reading: Reading, predicted: Prediction) -> Match:
    """Within what the last printed digit leaves open."""
    slack = reading.step / 2 + 1e-9 * abs(reading.value)
    if abs(reading.value - predicted.value) <= slack:
        return Match.EQUAL
    return Match.INSIDE if predicted.low - slack <= reading.value <= predicted.high + slack else Match.OUTSIDE


def _why(reading: Reading, predicted: Prediction, match: Match) -> str:
    if match is Match.EQUAL:
        return f"as printed: {predicted.basis}"
    if match is Match.INSIDE:
        return f"within the range: {predicted.basis}"
    if reading.name == "weights":
        more = format_bytes(abs(round(reading.value - predicted.value)))
        return f"{more} {'more' if reading.value > predicted.value else 'less'} than the tensors that are counted"
    return f"outside the range: {predicted.basis}"


def _nothing(start: Start, chosen: Chosen) -> Predictions:
    return {}


def _vllm(start: Start, chosen: Chosen) -> Predictions:
    """From flags alone what takes memory and the pool; from the printed pool what follows from it."""
    found = ask(chosen)
    taken = _taken(start, found, chosen)
    return {**taken, **_from_pool(start, chosen, found, taken)}


def _taken(start: Start, found: Answer, chosen: Chosen) -> Predictions:
    device, share = chosen.deployment.device, chosen.deployment.settings.number("gpu_memory_utilization")
    room = room_bytes(found)
    spread = [sum(abs(getattr(i, end) - i.bytes) for i in found.items) for end in ("high_bytes", "low_bytes")]
    named: dict[str, tuple[str, ...]] = {
        "activations": ("activation peak", "encoder peak"),
        "non_torch": ("non-torch memory",),
        "graph_estimate": ("CUDA graphs",),
        "activations_and_estimate": ("activation peak", "encoder peak", "CUDA graphs"),
    }
    weights = [item for item in found.items if item.kind is Kind.WEIGHTS]
    predictions = {
        name: of_items([item for item in found.items if item.name in wanted]) for name, wanted in named.items()
    }
    predictions["weights"] = of_items(weights)
    predictions["consumed"] = of_items([*weights, *(item for item in found.items if item.name == "non-torch memory")])
    predictions["card"] = card = of_card(device, device.memory_bytes)
    printed = start.most("card")
    rounding = 0 if printed is None else printed.step / 2
    low, value, high = (ceil(size * share) for size in (card.low - rounding, card.value, card.high + rounding))
    predictions["budget"] = Prediction(value=value, low=low, high=high, basis=f"{share:g} of the card")
    if (stated := chosen.deployment.settings.integer(SET_POOL)) is not None:
        predictions["pool"] = exact(stated, f"{SET_POOL}, as it is set")
        return {name: one for name, one in predictions.items() if one is not None}
    predictions["pool"] = Prediction(
        value=room,
        low=room - spread[0],
        high=room + spread[1],
        basis="what weights and assumed items leave of the share",
    )
    return {name: one for name, one in predictions.items() if one is not None}


def _from_pool(start: Start, chosen: Chosen, found: Answer, predicted: Predictions) -> Predictions:
    """Tokens, concurrency, blocks and refusals; between the two ends of a pool that is printed in rounded form."""
    pool = start.least("pool")
    if pool is None or pool.value <= 0:
        room = predicted["pool"]
        ends = (found, *(_with_pool(chosen, max(0, round(size))) for size in (room.low, room.high)))
        basis = "from the flags alone, since no pool is printed"
    else:
        sizes = (int(pool.value), int(pool.value - pool.step // 2), int(pool.value + pool.step // 2))
        ends = (_with_pool(chosen, sizes[0]), _with_pool(chosen, sizes[1]), _with_pool(chosen, sizes[2]))
        is_of_one = len(start.named("pool")) == 1 and chosen.deployment.device_count > 1
        whose = ", which is one card's: the smallest decides" * is_of_one
        basis = f"from the printed pool of {format_bytes(sizes[0])}{whose}"
    figures: dict[str, Callable[[Answer], int | float | None]] = {
        "pool_tokens": lambda each: each.pool_tokens,
        "concurrency": lambda each: each.max_concurrency,
        "blocks": lambda each: each.report.num_blocks if each.report else None,
        "block": lambda each: each.report.block_size if each.report else None,
        "longest_start": lambda each: each.report.longest_start_tokens if each.report else None,
        "request": lambda each: each.report.request_bytes if each.report else None,
    }
    predictions = {}
    for name, figure in figures.items():
        value, low, high = (figure(each) for each in ends)
        if value is not None and low is not None and high is not None:
            predictions[name] = Prediction(value=value, low=low, high=high, basis=basis)
    return predictions


def _with_pool(chosen: Chosen, pool_bytes: int) -> Answer:
    """The plan with the pool stated: what the start printed for it follows, whatever the card."""
    settings: EngineSettings = chosen.deployment.settings
    stated = replace(settings, values={**settings.values, SET_POOL: pool_bytes})
    return ask(replace(chosen, deployment=replace(chosen.deployment, settings=stated, profile=None)))


PREDICT: Mapping[str, Callable[[Start, Chosen], Predictions]] = {
    "vllm": _vllm,
    **dict.fromkeys(POOL_ENGINES, predict_pools),
    **dict.fromkeys(LLAMA_CPP, predict_buffers),
}
"""By engine, what is predicted for the names of its readings."""
