"""An engine's settings and rules by version: figures from ``presets/engines/``, and what a user set among them."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from datetime import date
from typing import Any

from planner.errors import PlannerError
from planner.records import dataclass
from planner.settings.setting import Setting
from planner.settings.versions import BUILD, DATE, Dated, Version, day_of, is_day, parse_version, value_at
from planner.units import shorten

_NAME_ENDS = re.compile(r"[:,(]")
"""Where in a title the engine's name ends and what is said of it begins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineData:
    """All that is known of one engine's versions.

    *newest* is used when no version is given; rules up to *latest* are known from source, not from readings.
    *release_parts* numbers of a version are a release, within which measurements are alike. An engine that numbers its
    *builds* and names no versions has its rules by day: some builds with theirs, in order. One built on such has
    *releases*, each with the day of what it is built on; one not listed has that of the last before. It runs on devices
    of *vendors*, but *not_on* those named there. *settable*: the settings that a command or a file of its own can give
    where that is not all of them; the others say what it does by itself.
    """

    name: str = ""
    title: str = ""
    newest: str = ""
    latest: str = ""
    release_parts: int = 2
    settings: Mapping[str, Setting] = field(default_factory=dict)
    rules: Mapping[str, tuple[Dated, ...]] = field(default_factory=dict)
    builds: tuple[tuple[int, date], ...] = ()
    releases: tuple[tuple[Version, date], ...] = ()
    vendors: tuple[str, ...] = ()
    not_on: tuple[str, ...] = ()
    settable: tuple[str, ...] = ()

    def can_set(self, setting: str) -> bool:
        """Whether its user can give *setting*."""
        return not self.settable or setting in self.settable

    def has(self, setting: str, version: Version) -> bool:
        """Whether *version* is none from before *setting*."""
        introduced = self.settings[setting].introduced
        return not introduced or version >= parse_version(introduced)

    def runs_on(self, device: str, vendor: str) -> bool:
        """Whether it runs on *device*; of a device without a *vendor* nothing is known that would forbid it."""
        return not self.vendors or not vendor or (vendor in self.vendors and device not in self.not_on)

    def takes(self, capability: float | None, version: str | None = None) -> bool:
        """Whether builds of *version*, the newest where none is given, are for cards of this compute capability."""
        entries = self.rules.get("least_capability", ())
        if capability is None or not entries:
            return True
        least: float = value_at(entries, self.number(version or self.newest))
        return capability >= least

    def number(self, version: str) -> Version:
        """*version* as rules are ordered; a build between two whose days are known lies in proportion between them.

        Raises PlannerError for one that this engine does not number so, or older than any rule that is known.
        """
        build = BUILD.fullmatch(version.strip())
        if build is not None and self.builds:
            return day_of(int(build[1]), self.builds)
        dated = bool(self.builds) or DATE.fullmatch(self.newest) is not None
        number = self._parsed(version, dated)
        if self.releases and not is_day(number) and number >= self.releases[0][0]:
            day = max(day for release, day in self.releases if release <= number)
            return day.year, day.month, day.day
        if is_day(number) != dated:
            raise PlannerError(
                f"engine_version {shorten(version)!r} is not how the rules of {self.title} are ordered: write "
                f"{self._words(dated)}"
            )
        if dated and not (1 <= number[1] <= 12 and 1 <= number[2] <= 31):
            raise PlannerError(f"engine_version {shorten(version)!r} is no day: write it as year-month-day.")
        rules = (entry.since for entries in self.rules.values() for entry in entries)
        oldest = min(rules, key=parse_version, default=version)
        if number < parse_version(oldest):
            raise PlannerError(
                f"engine_version {shorten(version)!r} is older than the rules of {self.title} that are known here: "
                f"ask for {oldest} or later."
            )
        return number

    def _parsed(self, version: str, dated: bool) -> Version:
        try:
            return parse_version(version)
        except PlannerError:
            raise PlannerError(
                f"engine_version {shorten(version)!r} is not a version of {_NAME_ENDS.split(self.title)[0].strip()}: "
                f"write {self._words(dated)}"
            ) from None

    def _words(self, dated: bool) -> str:
        """How a version is written, by one that is known."""
        if not dated:
            return f"a release, such as {self.newest}, the newest whose figures were checked."
        if not self.releases:
            build = f", or its number, such as {self.newest}" if BUILD.fullmatch(self.newest) else ""
            return f"the day of the build, such as 2025-11-07{build}."
        first = ".".join(map(str, self.releases[0][0]))
        return f"a release, {first} or later, or the day of its llama.cpp, such as 2025-11-07."

    def is_later(self, version: str) -> bool:
        """Whether *version* is of a release, build or day after all that is known."""
        build, last = BUILD.fullmatch(version.strip()), BUILD.fullmatch(self.newest)
        if build is not None and self.builds:
            return int(build[1]) > max(self.builds[-1][0], int(last[1]) if last else 0)
        if self.releases and not is_day(release := parse_version(version)):
            return release > self.releases[-1][0]
        asked, known = self.number(version), self.number(self.latest)
        parts = len(asked) if is_day(asked) else self.release_parts
        return asked[:parts] > known[:parts]


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSettings:
    """Settings and rules of one version, of one *release*, with what the user set. *stated*: the version was given.

    A setting is ``None`` where the engine derives it. *title* is the engine's; *known* is the version whose rules they
    are: another than the one that was asked for where that is later than all that is known. *fixed*: the settings
    that the engine gives its user no way to change; *lacking*: those of *given* that this version has no option for,
    with the first that has one.
    """

    title: str = ""
    version: str = ""
    known: str = ""
    release: str = ""
    stated: bool = False
    values: Mapping[str, Any] = field(default_factory=dict)
    given: frozenset[str] = frozenset()
    fixed: frozenset[str] = frozenset()
    lacking: Mapping[str, str] = field(default_factory=dict)
    rules: Mapping[str, Any] = field(default_factory=dict)

    @property
    def followed(self) -> str:
        """Whose rules a plan follows, in a sentence; empty for an engine without versions."""
        if not self.version:
            return ""
        if self.known != self.version:
            return (
                f"Rules and defaults of {self.title} {self.known}, the newest that is known here; {self.version} may "
                "differ."
            )
        said = "" if self.stated else ", the newest whose figures were checked; --engine-version names another"
        return f"Rules and defaults of {self.title} {self.version}{said}."

    def rule(self, name: str) -> Any:
        """The rule *name* as this version has it."""
        return self.rules[name]

    def integer(self, name: str) -> int | None:
        value: int | None = self.values[name]
        return value

    def number(self, name: str) -> float:
        value: float = self.values[name]
        return value

    def flag(self, name: str) -> bool | None:
        value: bool | None = self.values[name]
        return value

    def text(self, name: str) -> str | None:
        value: str | None = self.values[name]
        return value


def settle(data: EngineData, engine: str, version: str | None, given: Iterable[str]) -> EngineSettings:
    """The settings of *version*, or of the newest one known, with ``KEY=VALUE`` of *given* in place of its defaults.

    Raises PlannerError for a version that is none, and for a setting that the engine does not have.
    """
    if version is not None and not data.newest:
        raise PlannerError(f"Engine {engine!r} has no versions; leave --engine-version out.")
    number = data.number(version or data.newest or "0.0")
    values = {name: value_at(setting.defaults, number) for name, setting in data.settings.items()}
    chosen = {
        name: value for name, value in _pairs(data, engine, given) if value != values[name] or data.has(name, number)
    }
    lacking = {name: data.settings[name].introduced for name in chosen if not data.has(name, number)}
    return EngineSettings(
        title=_NAME_ENDS.split(data.title)[0].strip(),
        version=version or data.newest,
        known=data.latest if version is not None and data.is_later(version) else version or data.newest,
        release=".".join((version or data.newest).split(".")[: data.release_parts]),
        stated=version is not None,
        values=values | chosen,
        given=frozenset(chosen),
        lacking=lacking,
        fixed=frozenset(name for name in data.settings if not data.can_set(name)),
        rules={name: value_at(entries, number) for name, entries in data.rules.items()},
    )


def _pairs(data: EngineData, engine: str, given: Iterable[str]) -> Iterator[tuple[str, Any]]:
    for text in given:
        name, equals, value = text.partition("=")
        key = name.strip().replace("-", "_")
        if not equals:
            raise PlannerError(f"--set {shorten(text)!r} is not KEY=VALUE, such as max_num_seqs=64.")
        if key not in data.settings:
            known = ", ".join(sorted(data.settings)) or "none"
            raise PlannerError(f"Engine {engine!r} has no setting {shorten(key)!r}; it knows: {known}.")
        yield key, data.settings[key].parse(value)
