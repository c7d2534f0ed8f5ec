"""vLLM's releases: which one a log is of that names none."""

from collections.abc import Collection

from planner.settings.source_lines import is_printed, printing, releases_file


def release_of(lines: Collection[str]) -> str:
    """The newest release that prints *lines*, each as ``core.py:708 ERROR``; empty where no release prints any.

    >>> release_of(("core.py:708 ERROR",)), release_of(("core.py:1 ERROR",)), release_of(())
    ('0.11.0', '', '')
    """
    releases = releases_file("vllm")["releases"]
    return printing("vllm", releases, lines)[-1] if is_printed("vllm", releases, lines) else ""
