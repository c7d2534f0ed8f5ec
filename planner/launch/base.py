"""A command that starts what was planned, and what such a command says when it is read back."""

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence

from planner.errors import PlannerError
from planner.records import dataclass
from planner.units import shorten

MAX_COMMAND_CHARACTERS = 20_000
_MAX_DIGITS = 15
_SHORT = re.compile(r"(\d{1,12})(\.\d{1,6})?([kmgKMG])", re.ASCII)
_THOUSANDS = "kmg"


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """*text* to copy, in *language* (``sh`` or ``python``), and *notes* on what it cannot say.

    *files* are the commands that get what it loads, where it does not do so by itself.
    """

    text: str
    language: str
    notes: tuple[str, ...] = ()
    files: str = ""


def shell(words: Sequence[str], program: int = 1) -> str:
    """One command, an option and its value a line; its first *program* words are what is run."""
    lines: list[list[str]] = [list(words[:program])]
    for word in words[program:]:
        if word.startswith("-") and not word[1:2].isdigit():
            lines.append([])
        lines[-1].append(word)
    return " \\\n  ".join(shlex.join(line) for line in lines)


def words_of(text: str) -> list[str]:
    """The words of a shell command; comments and broken lines are fine. Raises PlannerError for what is none."""
    if len(text) > MAX_COMMAND_CHARACTERS:
        raise PlannerError(
            f"A command of {len(text):,} characters is not read; the limit is {MAX_COMMAND_CHARACTERS:,}."
        )
    try:
        return shlex.split(text.replace("\\\r\n", " ").replace("\\\n", " "), comments=True)
    except ValueError as error:
        raise PlannerError(f"The command {shorten(text)!r} is not complete: {str(error).lower()}.") from None


def options_of(
    words: Iterable[str], flags: Mapping[str, str], switches: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Each option with its value: of *flags* the word that follows, of *switches* what they stand for.

    Words that start with no dash come with an empty name. Raises PlannerError for an option that is in neither.
    """
    waiting = iter(words)
    for word in waiting:
        name, equals, value = word.partition("=") if word.startswith("-") else ("", "", word)
        if word.startswith("-") and name in flags:
            found = value if equals else next(waiting, None)
            if found is None:
                raise PlannerError(f"The option {name} has no value.")
            yield flags[name], found
        elif name in switches and not equals:
            key, _, meant = switches[name].partition("=")
            yield key, meant
        elif not word.startswith("-"):
            yield "", word
        else:
            raise PlannerError(f"The option {shorten(word)!r} is not known here; leave it out.")


def option_of(setting: str) -> str:
    """A setting's name as an option.

    >>> option_of("max_num_seqs")
    '--max-num-seqs'
    """
    return f"--{setting.replace('_', '-')}"


def known_name(known: Mapping[str, str], value: str, option: str) -> str:
    """What *value* of *option* is called here; raises PlannerError with the values that are known."""
    if value not in known:
        raise PlannerError(f"{option} {shorten(value)} is not known here; choose one of: auto, {', '.join(known)}.")
    return known[value]


def in_full(value: str) -> str:
    """*value* without the ending that vLLM and SGLang take after a large number: k, m, g are thousands, K, M, G 1,024s.

    Anything else stays as it is, as do 1,024s of a number that is not whole. Source: human_readable_int in
    vllm/engine/arg_utils.py and sglang/srt/utils/common.py.

    >>> in_full("32k"), in_full("32K"), in_full("25.6k"), in_full("1.5K"), in_full("8192")
    ('32000', '32768', '25600', '1.5K', '8192')
    """
    found = _SHORT.fullmatch(value)
    if found is None or (found[2] and found[3].isupper()):
        return value
    base = 1000 if found[3].islower() else 1024
    return str(int(float(found[1] + (found[2] or "")) * base ** (1 + _THOUSANDS.index(found[3].lower()))))


def whole_number(value: str, name: str) -> int:
    """A positive number of an option; raises PlannerError for anything else."""
    if not value.isascii() or not value.isdigit() or len(value) > _MAX_DIGITS:
        raise PlannerError(f"{name} = {value[:40]!r} is not a whole number.")
    return int(value)
