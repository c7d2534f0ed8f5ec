"""Expected outcomes that are not answers: each message is one sentence for the person who asked.

Anything else that is raised is a bug and keeps its traceback.
"""

from planner.printable import printable


class PlannerError(Exception):
    """Bad input: what was asked, what is missing or wrong, what to change. Fit for a terminal, whatever it quotes."""

    def __str__(self) -> str:
        return printable(super().__str__())


class UnknownName(PlannerError):
    """A model, device, format or engine that no preset has."""


class UnsupportedModel(PlannerError):
    """A model file whose layout is not understood well enough to count its bytes."""


class NotItsCommand(PlannerError):
    """A command that starts another engine, or none."""


class UnevenSplit(PlannerError):
    """A number of ranks among which an engine cannot share a model out; another number may do."""


class BadFile(PlannerError):
    """A file that cannot be read as what it claims to be."""


class Unreachable(PlannerError):
    """A server that could not be asked."""


class BadPreset(PlannerError):
    """Wrong data in presets/, reported by path: ``devices.toml: l4.memory_bytes``."""
