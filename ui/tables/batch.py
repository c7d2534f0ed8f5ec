"""What each schedule made of the same requests, as a table to read and as rows to keep."""

from collections.abc import Mapping

from planner.batching.outcome import Outcome, work_share
from planner.batching.server import Schedule
from planner.export import Row
from planner.text.batching import NAMES, rate_figure, rate_unit, rate_words, spread_words, time_words
from planner.units import format_figure

_SPREADS = (("First token", "time_to_first_token"), ("Answer", "latency"), ("A token", "time_per_output_token"))
_PERCENTILES = (("mean", "mean_s"), ("half within", "p50_s"), ("95 of 100", "p95_s"), ("99 of 100", "p99_s"))
_KEY = (
    "All done after",
    "First token, 95 of 100",
    "Answer, mean",
    "Answer, 95 of 100",
    "A token, mean",
    "Slots at work",
)
_FIELDS = ("mean_s", "p50_s", "p90_s", "p95_s", "p99_s", "max_s")
_POOL = ("peak_blocks", "useful_share", "reserved_share", "saved_block_share")


def columns(outcomes: Mapping[Schedule, Outcome]) -> tuple[str, ...]:
    """A column a schedule."""
    return "", *(NAMES[schedule] for schedule in outcomes)


def cells(outcomes: Mapping[Schedule, Outcome], slots: int, in_steps: bool) -> list[tuple[str, ...]]:
    """A row a quantity; times are steps where a step takes one."""
    found = list(outcomes.values())
    rows: list[tuple[str, ...]] = [
        ("All done after", *(time_words(each.makespan_s, in_steps) for each in found)),
        (f"Tokens a {'step' if in_steps else 'second'}", *(rate_words(each.output_tokens_per_s) for each in found)),
        (f"Requests a {rate_unit(in_steps)}", *(rate_figure(each.requests_per_s, in_steps) for each in found)),
    ]
    for title, name in _SPREADS:
        for words, field in _PERCENTILES:
            values = (spread_words(getattr(each, name), field, in_steps) for each in found)
            rows.append((f"{title}, {words}", *values))
    pools = [each.pool for each in found]
    return [
        *rows,
        ("Slots held", *(f"{each.slot_use:.0%}" for each in found)),
        ("Slots at work", *(f"{work_share(each, slots):.0%}" for each in found)),
        ("Requests inside, mean", *(format_figure(each.mean_in_system) for each in found)),
        ("Evictions", *("–" if each.pool is None else f"{each.preemptions:,}" for each in found)),
        ("Blocks at most", *("–" if pool is None else f"{pool.peak_blocks:,}" for pool in pools)),
        ("Places in use", *("–" if pool is None else f"{pool.useful_share:.1%}" for pool in pools)),
        ("… had it reserved", *("–" if pool is None else f"{pool.reserved_share:.1%}" for pool in pools)),
        ("Saved by sharing", *("–" if pool is None else f"{pool.saved_block_share:.1%}" for pool in pools)),
    ]


def key_cells(outcomes: Mapping[Schedule, Outcome], slots: int, in_steps: bool) -> list[tuple[str, ...]]:
    """The rows that answer most questions."""
    return [row for row in cells(outcomes, slots, in_steps) if row[0] in _KEY]


def rows(outcomes: Mapping[Schedule, Outcome], slots: int) -> list[Row]:
    """A row a schedule, with units in the keys."""
    return [_row(schedule, outcome, slots) for schedule, outcome in outcomes.items()]


def _row(schedule: Schedule, outcome: Outcome, slots: int) -> Row:
    row: dict[str, object] = {
        "schedule": str(schedule),
        "requests": outcome.requests,
        "output_tokens": outcome.output_tokens,
        "makespan_s": outcome.makespan_s,
        "requests_per_s": outcome.requests_per_s,
        "output_tokens_per_s": outcome.output_tokens_per_s,
        "mean_in_system": outcome.mean_in_system,
        "slot_use": outcome.slot_use,
        "work_share": work_share(outcome, slots),
        "preemptions": outcome.preemptions,
    }
    for _, name in _SPREADS:
        spread = getattr(outcome, name)
        row |= {f"{name}_{field}": None if spread is None else getattr(spread, field) for field in _FIELDS}
    return row | {field: None if outcome.pool is None else getattr(outcome.pool, field) for field in _POOL}
