"""What a command that stands in a log sets: the words of ``vllm serve``, ``llama-server`` and their like."""

import re
from collections.abc import Callable, Mapping

_OPTION = re.compile(
    r"(?<!\S)(--?[A-Za-z][\w.-]{0,63})"
    r"""(?:[ =]{1,4}(?!-[A-Za-z-])("[^"]{0,400}"|'[^']{0,400}'|[^\s"']{1,400}))?"""
)
_QUOTES = "\"'`,"


def options_of(names: Mapping[str, str]) -> Callable[[str], Mapping[str, str]]:
    """Reads the options of a command: settings by the engine's own *names* for them.

    An option is also known by its setting's name, ``--max-num-seqs`` as max_num_seqs; one without a value is ``True``,
    and of one that stands twice the last counts. Python's parsers also take the first words of one: ``--max-model``.
    Source: each engine's argument parser.
    """
    settings = frozenset(names.values())

    def read(text: str) -> Mapping[str, str]:
        found: dict[str, str] = {}
        for option, value in _OPTION.findall(text):
            name = names.get(option) or option.lstrip("-").replace("-", "_")
            if name not in settings and "_" in name:
                meant = [setting for setting in settings if setting.startswith(name)]
                name = meant[0] if len(meant) == 1 else name
            if name in settings:
                found[name] = value.strip(_QUOTES) if value else "True"
        return found

    return read


def same_names(*settings: str) -> dict[str, str]:
    """The options that are called as their settings are."""
    return {f"--{name.replace('_', '-')}": name for name in settings}
