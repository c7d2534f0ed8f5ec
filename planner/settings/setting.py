"""One option of an engine by its own name, and how its value is written."""

import re
from collections.abc import Iterable
from typing import Any

from planner.errors import PlannerError
from planner.records import dataclass
from planner.settings.versions import Dated
from planner.units import parse_bytes, shorten, ungrouped

_FLAGS = {
    **dict.fromkeys(("true", "1", "yes", "on", "enabled"), True),
    **dict.fromkeys(("false", "0", "no", "off", "disabled"), False),
}
_SWITCH = {True: "on", False: "off"}
_MAX_DIGITS = 15
_INTS, _MAX_INTS = re.compile(r"(\d{1,4})(?:-(\d{1,4}))?", re.ASCII), 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One option by the engine's own name. *type*: ``int``, ``float``, ``bool``, ``bytes``, ``choice`` or ``ints``.

    Without *defaults* it is not set: the engine derives it, as *meaning* says. *introduced* is the version that has it
    first, by *introduced_source*; empty for one that all versions have which are known here.
    """

    name: str
    type: str
    meaning: str
    choices: tuple[str, ...] = ()
    minimum: float = 0
    maximum: float = 10**12
    defaults: tuple[Dated, ...] = ()
    introduced: str = ""
    introduced_source: str = ""

    def parse(self, text: str) -> Any:
        """The value written as *text*; raises PlannerError with what is possible."""
        value = self._read(text.strip())
        if value is None:
            raise PlannerError(f"{self.name} = {shorten(text)!r} is not possible: it must be {self.expected}.")
        return value

    @property
    def expected(self) -> str:
        """What may be written, in words."""
        match self.type:
            case "choice":
                return f"one of: {', '.join(self.choices)}"
            case "bool":
                return "true or false"
            case "bytes":
                return "a size such as 8GiB" + (", and not 0" if self.minimum else "")
            case "ints":
                return "whole numbers and ranges of them, such as 12,20-23"
            case "int":
                return f"a whole number between {self.minimum:,.0f} and {self.maximum:,.0f}"
            case _:
                return f"a number between {self.minimum:g} and {self.maximum:g}"

    def _choice(self, text: str) -> str | None:
        """One of the choices; of *on* and *off* by any word for them: logs have others than commands."""
        if text in self.choices or text not in _FLAGS:
            return text if text in self.choices else None
        word = _SWITCH[_FLAGS[text]]
        return word if word in self.choices else None

    def _read(self, text: str) -> Any:
        match self.type:
            case "choice":
                return self._choice(text.lower())
            case "bool":
                return _FLAGS.get(text.lower())
            case "bytes":
                size = parse_bytes(text, self.name)
                return size if size >= self.minimum else None
            case "ints":
                return parse_ints(text)
        try:
            value = int(ungrouped(text)) if self.type == "int" else float(text)
        except ValueError:
            return None
        return value if len(text) <= _MAX_DIGITS and self.minimum <= value <= self.maximum else None


def parse_ints(text: str) -> tuple[int, ...] | None:
    """The numbers of ``12,20-23``, at most a thousand of four digits; ``None`` for anything else.

    >>> parse_ints("12,20-23")
    (12, 20, 21, 22, 23)
    """
    found: list[int] = []
    for part in text.split(","):
        match = _INTS.fullmatch(part.strip())
        if match is None or len(found) > _MAX_INTS:
            return None
        found += range(int(match[1]), int(match[2] or match[1]) + 1)
    return tuple(found) if 0 < len(found) <= _MAX_INTS else None


def ints_text(numbers: Iterable[int]) -> str:
    """The way back, with neighbours as ranges.

    >>> ints_text((12, 20, 21, 22, 23))
    '12,20-23'
    """
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)
