"""vLLM's releases: which one a log is of that names none."""

from collections.abc import Collection

from planner.settings.source_lines import printing, releases_file


def release_of(lines: Collection[str]) -> str:
    """The newest release that prints *lines*, each as ``core.py:708 ERROR``; empty where no release prints any.

    >>> release_of(("core.py:708 ERROR",)), release_of(("core.py:1 ERROR",)), release_of(())
    ('0.11.0', '', '')
    """
    return next(iter(releases_of(lines)[-1:]), "")


def releases_of(lines: Collection[str]) -> list[str]:
    """All of them; none where two lines are of releases that have nothing in common, as a build between them may print.

    >>> releases_of(("core.py:1108 ERROR",)), releases_of(("core.py:1108 ERROR", "core.py:708 ERROR"))
    (['0.19.0', '0.19.1'], [])
    """
    releases = releases_file("vllm")["releases"]
    every = [those for line in lines if (those := printing("vllm", releases, line))]
    return [name for name in releases if every and all(name in those for those in every)]
