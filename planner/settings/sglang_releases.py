"""SGLang's releases: which one a log is of that names none."""

from planner.settings.source_lines import out_by


def release_of(day: str) -> str:
    """The newest release that was out on *day*; empty where none is known.

    >>> release_of("2026-02-01"), release_of("2024-01-01"), release_of("")
    ('0.5.8', '', '')
    """
    out = out_by("sglang", day) if day else []
    return out[-1] if out else ""
