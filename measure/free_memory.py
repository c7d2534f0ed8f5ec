"""A device's memory, asked in a process of its own: asking makes a context on a card, which would be read as used."""

from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any

from measure.experiments.base import Settings
from measure.instruments import find_instrument
from measure.instruments.base import DeviceMemory, Instrument
from measure.records import Case
from measure.setup import Setup
from measure.worker import Message, run_case
from planner.errors import PlannerError


def memory_reader(instrument: Instrument, setup: Setup) -> Callable[[], DeviceMemory]:
    """Answers what is there now; a CPU's memory can be asked for anywhere."""
    return instrument.now if instrument.kind == "cpu" else lambda: ask_elsewhere(setup)


def ask_elsewhere(setup: Setup) -> DeviceMemory:
    """As another process reads it. Raises PlannerError with its words where it cannot."""
    messages: list[Any] = list(run_case(__name__, Case(experiment=__name__, name="memory"), setup))
    if isinstance(messages[0], dict):
        return DeviceMemory(**messages[0])
    raise PlannerError(f"The memory of {setup.device} cannot be read: {messages[-1].reason.strip().splitlines()[-1]}")


def run(settings: Settings, setup: Setup) -> Iterator[Message]:
    """As an experiment has it: one row, the memory."""
    yield asdict(find_instrument(setup.device).now())
