"""SGLang's releases: which one a log is of that names none."""

from datetime import date

from planner.settings.source_lines import releases_file


def release_of(day: str) -> str:
    """The newest release that was out on *day*; empty where none is known.

    >>> release_of("2026-02-01"), release_of("2024-01-01"), release_of("")
    ('0.5.8', '', '')
    """
    published = releases_file("sglang")["published"]
    out = [name for name, day_out in published.items() if day and day_out <= date.fromisoformat(day)]
    return out[-1] if out else ""
