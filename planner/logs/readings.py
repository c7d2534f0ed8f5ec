"""What a start-up log says: figures with unit, place and rank, the engine's own settings, and why it failed."""

from collections.abc import Mapping
from dataclasses import field

from planner.records import dataclass

ALLOCATED = "failed_buffer"
"""Among a start's settings, and none of an engine's: what the memory that was not there was for."""
LOCALAI = "localai"
"""The same: that LocalAI runs the engine, which has its options in files of its own."""
WEIGHTS, CACHE, COMPUTE = "model", "kv cache", "compute"
"""What that was, in llama.cpp's words."""
LOADED, PROFILED, GRAPHS = "weights", "trial pass", "cuda graph"
"""What it was by the functions in a traceback: weights, the pass that shows how much a step takes, or graphs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One printed figure.

    *unit*: ``bytes``, ``tokens``, ``blocks``, ``requests``, ``layers``, ``percent`` or ``share``, a part of one.
    *step* is one unit of the last printed digit: 0.01 GiB is 10,737,418 bytes. *rank* is the worker or device that
    printed it, as the log calls it; empty where there is one.
    """

    name: str
    value: int | float
    unit: str
    line: int
    step: int | float = 0
    rank: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why a start ended, with the engine's own *message*.

    *kind*: ``request`` (one does not fit), ``pool`` (nothing is left for the cache), ``free`` (the card is not free),
    ``states`` (too few blocks for recurrent states), ``buffer`` (one is larger than the driver allows), ``memory`` (an
    allocation failed), ``main_memory`` (less of the host's is free than it wants), ``other`` (the engine says that it
    failed, and not why).
    """

    kind: str
    message: str
    line: int

    def says_less_than(self, kind: str) -> bool:
        """Whether a later line of *kind* tells more: that memory ran out than nothing, and anything than that."""
        return self.kind in _LITTLE and (kind not in _LITTLE or _LITTLE.index(kind) > _LITTLE.index(self.kind))


_LITTLE = ("other", "memory")
"""Kinds of failure that do not say what was too small, the one that says least first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """One start of one engine with one model. *version* and *model* are empty where the log does not say.

    *last*: the newest release whose defaults print such lines; empty where any may. *day*: of its first line, and
    *sources*: which lines of the engine's source print what, ``server.go:499 loading model``; where lines say so.
    """

    engine: str
    line: int
    version: str = ""
    last: str = ""
    day: str = ""
    sources: tuple[str, ...] = ()
    model: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)
    readings: tuple[Reading, ...] = ()
    failure: Failure | None = None

    def named(self, name: str) -> tuple[Reading, ...]:
        """All readings called *name*, one a rank or more."""
        return tuple(reading for reading in self.readings if reading.name == name)

    def least(self, name: str) -> Reading | None:
        """The smallest reading called *name*: of pools, the one that decides."""
        return min(self.named(name), key=lambda reading: reading.value, default=None)

    def most(self, name: str) -> Reading | None:
        """The largest reading called *name*: of weights, the fullest rank's."""
        return max(self.named(name), key=lambda reading: reading.value, default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Readings:
    """Every start in a log, in order. *cut*: the log is longer than what is read."""

    starts: tuple[Start, ...]
    lines: int
    cut: bool = False
