"""The longest prompt and the most requests that fit: predicted, then bracketed by running on either side of it.

A small limit takes the place of the device's size, so that the search is short and the machine is never filled: on a
CPU tensors above the weights fail beyond it, on a GPU it is the allocator's own limit for the process.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from measure.activations import pass_bytes, shape_of
from measure.experiments.base import TOO_FEW, Report, Settings, Table, rows_of
from measure.out_of_memory import is_out_of_memory
from measure.pictures import identity
from measure.records import Case, Record
from measure.running import Running, needed_for, start
from measure.setup import Setup
from measure.worker import Message, Progress
from planner.capacity import largest
from planner.errors import PlannerError
from planner.units import MIB

NAME = "capacity"
LIMITS, QUICK_LIMITS = (16 * MIB, 64 * MIB, 128 * MIB), (16 * MIB, 32 * MIB)
USER_TOKENS = 64
BRACKET = 0.02
"""The prediction is bracketed this close from both sides before the exact border is searched."""
MOST = 2**20


def cases(setup: Setup) -> list[Case]:
    limits = QUICK_LIMITS if setup.quick else LIMITS
    return [
        Case(experiment=NAME, name=f"{what} in {limit // MIB} MiB", settings={"what": what, "limit_bytes": limit})
        for what in ("tokens", "users")
        for limit in limits
    ]


def needed_bytes(settings: Settings, setup: Setup) -> int:
    return needed_for(setup, 1, 1) + 2 * int(settings["limit_bytes"])


def run(settings: Settings, setup: Setup) -> Iterator[Message]:
    running, limit_bytes, what = start(setup), settings["limit_bytes"], settings["what"]
    predicted = predicted_most(running, what, limit_bytes)
    running.forward(running.prompt(1, USER_TOKENS))
    below, above = int(predicted * (1 - BRACKET)), int(predicted * (1 + BRACKET)) + 1
    yield Progress(share=0.1)
    below_fits = below == 0 or fits(running, what, below, limit_bytes)
    yield Progress(share=0.2)
    above_fits = fits(running, what, above, limit_bytes)
    measured = None
    if below_fits and not above_fits:
        measured = below + largest(lambda more: fits(running, what, below + more, limit_bytes), above - below - 1)
    yield {
        "model": running.loaded.source.title,
        "attention": running.attention,
        "what": what,
        "limit_bytes": limit_bytes,
        "predicted_most": predicted,
        "below": below,
        "below_fits": below_fits,
        "above": above,
        "above_fits": above_fits,
        "measured_most": measured,
    }


def fits(running: Running, what: str, count: int, limit_bytes: int) -> bool:
    """Whether a prompt of *count* tokens, or as many requests of USER_TOKENS, runs within the limit."""
    ids = running.prompt(1, count) if what == "tokens" else running.prompt(count, USER_TOKENS)
    running.instrument.settle()
    try:
        with running.instrument.limited(limit_bytes):
            running.forward(ids)
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
        return False
    return True


def predicted_most(running: Running, what: str, limit_bytes: int) -> int:
    """The largest count whose peak by formula stays within the limit."""
    source = running.loaded.source
    shape = shape_of(source.architecture, source.config, running.prediction.element_bytes)
    if shape is None:
        raise PlannerError(f"{source.title} has layers whose activations no formula here knows: capacity needs one.")
    eager = running.attention == "eager"

    def peak_bytes(count: int) -> int:
        batch, tokens = (1, count) if what == "tokens" else (count, USER_TOKENS)
        return pass_bytes(shape, batch, tokens, tokens, eager=eager, cached=True)

    return largest(lambda count: peak_bytes(count) <= limit_bytes, MOST)


def report(records: Sequence[Record], setup: Setup) -> Report:
    rows = rows_of(records)
    for row in rows:
        measured = row["measured_most"]
        row["error"] = None if not measured else row["predicted_most"] / measured - 1
    outside = [row for row in rows if row["measured_most"] is None]
    errors = [abs(row["error"]) for row in rows if row["error"] is not None]
    lesson = TOO_FEW
    if errors:
        border = f"lies within {100 * max(errors):.2f}% of it" if max(errors) else "is the predicted one"
        lesson = (
            f"Under {len(errors)} of {len(records)} memory limits just below the predicted maximum "
            f"fits and just above does not; the exact border {border}"
        )
    found = [row for row in rows if row["measured_most"]]
    apart = [row for row in found if row["error"]]
    return Report(
        tables=(Table(rows=rows, chart=identity(found, "predicted_most", "measured_most", "most that fits", "what")),),
        lesson=f"{lesson}.",
        disagreements=(*map(_apart, apart), *map(_unbracketed, outside)),
    )


def _apart(row: dict[str, Any]) -> str:
    limit = f"{row['what']} in {row['limit_bytes']:,} B"
    return f"{limit}: {row['measured_most']:,} fit, {row['predicted_most']:,} predicted"


def _unbracketed(row: dict[str, Any]) -> str:
    below, above = (f"{row[side]} {'fits' if row[f'{side}_fits'] else 'fails'}" for side in ("below", "above"))
    return f"{row['what']} in {row['limit_bytes']:,} B: {below}, {above}"
