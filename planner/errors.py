"""Expected outcomes that are not answers: each message is one sentence for the person who asked.

Anything else that is raised is a bug and keeps its traceback.
"""


class PlannerError(Exception):
    """Bad input: what was asked, what is missing or wrong, and what to change."""


class UnknownName(PlannerError):
    """A model, device, format or engine that no preset has."""


class UnsupportedModel(PlannerError):
    """A model file whose layout is not understood well enough to count its bytes."""


class BadFile(PlannerError):
    """A file that cannot be read as what it claims to be."""


class BadPreset(PlannerError):
    """Wrong data in presets/, reported by path: ``devices.toml: l4.memory_bytes``."""
