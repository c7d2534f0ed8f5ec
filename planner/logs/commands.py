"""What a command that stands in a log sets: the words of ``vllm serve``, ``llama-server`` and their like."""

import re
from collections.abc import Callable, Mapping

_OPTION = re.compile(
    r"(?<!\S)(--?[A-Za-z][\w.-]{0,63})"
    r"""(?:[ =]{1,4}(?!-[A-Za-z-])("[^"]{0,400}"|'[^']{0,400}'|[^\s"']{1,400}))?"""
)
_SWITCH = re.compile(r"--(?:enable|disable|no|trust|enforce|skip|async|fully|language)[-_]")
"""Options without a value, by how their names begin: of those of vLLM serve all that people use."""
_NAME = re.compile(r"[\w./~$][\w./~${}:-]{2,}$")
_QUOTES = "\"'`,"


def options_of(names: Mapping[str, str], positional: str = "") -> Callable[[str], Mapping[str, str]]:
    """Reads the options of a command: settings by the engine's own *names* for them.

    A word that is no option, nor the value of one, is the setting *positional*, where the command has such a word.

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
        word = _word_of_its_own(text) if positional and positional not in found else ""
        return found | {positional: word} if word else found

    return read


def _word_of_its_own(text: str) -> str:
    """The first word of *text* that stands behind no option with a value; empty where there is none.

    >>> _word_of_its_own('--tensor-parallel-size 2 --enforce-eager Qwen/Qwen3-8B --port 80')
    'Qwen/Qwen3-8B'
    """
    before = ""
    for word in text.split():
        if not word.startswith("-") and (not before or "=" in before or _SWITCH.match(before)):
            return word.strip(_QUOTES) if _NAME.match(word.strip(_QUOTES)) else ""
        before = word if word.startswith("-") else ""
    return ""


def same_names(*settings: str) -> dict[str, str]:
    """The options that are called as their settings are."""
    return {f"--{name.replace('_', '-')}": name for name in settings}
