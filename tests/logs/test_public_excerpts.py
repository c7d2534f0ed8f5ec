"""Logs as people reported them: whose they are, every figure, why they failed, what is asked and what is offered."""

import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from planner.inputs.choices import Choices
from planner.logs.read import read_log
from planner.startups.comparison import Compared
from planner.startups.report import LogReport, report_log
from planner.units import GIB, MIB

EXCERPTS = Path(__file__).parents[1] / "data" / "log_excerpts.toml"
UNITS = {"GiB": GIB, "MiB": MIB, "bytes": 1}
ASKED = re.compile(r"give (--[\w-]+)(?: and (--[\w-]+))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Excerpt:
    """One row of the file, by its own names."""

    source: str
    engine: str
    log: str
    figures: dict[str, str]
    version: str = ""
    model: str = ""
    failure: str = ""
    asks: list[str] = field(default_factory=list)
    given: dict[str, Any] = field(default_factory=dict)
    starts: list[str] = field(default_factory=list)
    may: list[str] = field(default_factory=list)
    doubts: str = ""

    def report(self, **given: Any) -> LogReport:
        stated = {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}
        return report_log(read_log(self.log), Choices(**{"model": "", "engine": ""} | stated))


def excerpts() -> list[Excerpt]:
    return [Excerpt(**row) for row in tomllib.loads(EXCERPTS.read_text(encoding="utf-8"))["excerpt"]]


each = pytest.mark.parametrize("excerpt", excerpts(), ids=lambda excerpt: excerpt.source)


def is_printed(row: Compared, text: str) -> bool:
    """Whether *row* is the figure that *text* says, to its last digit."""
    number, _, unit = text.replace(",", "").partition(" ")
    if unit in UNITS:
        return row.unit == "bytes" and row.value == round(float(number) * UNITS[unit])
    return row.unit == unit and row.value == float(number)


@each
def test_whose_it_is_and_every_figure(excerpt: Excerpt) -> None:
    found = excerpt.report()
    assert (found.engine, found.version) == (excerpt.engine, excerpt.version)
    rows = {row.name: row for row in found.readings}
    assert rows.keys() == excerpt.figures.keys()
    assert [name for name, text in excerpt.figures.items() if not is_printed(rows[name], text)] == []


@each
def test_why_it_failed_and_what_is_asked_for(excerpt: Excerpt) -> None:
    found = excerpt.report()
    assert (found.failure.kind if found.failure else "") == excerpt.failure
    asked = ASKED.search(found.missing) if found.lacks else None
    assert [option for option in (asked.groups() if asked else ()) if option] == excerpt.asks
    if excerpt.model and "--model" not in excerpt.asks and found.choices:
        assert found.choices.model == excerpt.model


@each
def test_what_is_offered_once_it_is_said(excerpt: Excerpt) -> None:
    found = excerpt.report(**excerpt.given)
    for options, are_sure in ((excerpt.starts, True), (excerpt.may, False)):
        offered = {one.option for one in found.would_start if one.starts == are_sure}
        assert set(options) <= offered
    assert not excerpt.doubts or found.notes[0].startswith(excerpt.doubts)
    if excerpt.doubts:
        assert not any(one.choices or one.starts for one in found.would_start)
    elif not excerpt.failure:
        assert found.would_start == ()


def test_a_refusal_of_any_release_is_answered_with_the_length_that_starts() -> None:
    """vLLM 0.2 to 0.32 say it in three ways, on NVIDIA, AMD, Intel, TPU and CPU: the flag comes first."""
    refused = [row for row in excerpts() if row.engine == "vllm" and row.failure == "request"]
    told = [row for row in refused if {"longest_start", "pool_tokens"} & row.figures.keys()]
    assert len(told) >= 12
    for row in told:
        longest = row.figures.get("longest_start") or row.figures["pool_tokens"]
        first, *_ = row.report().would_start
        assert (first.option, first.starts) == (f"--max-model-len {longest.split()[0].replace(',', '')}", True)


def test_the_excerpts_are_of_every_engine_and_of_many_kinds() -> None:
    rows = excerpts()
    assert len(rows) >= 60
    assert {row.engine for row in rows} >= {"vllm", "sglang", "tensorrt_llm", "llama_cpp", "ik_llama_cpp", "ollama"}
    assert {row.failure for row in rows} == {"", "request", "pool", "free", "memory", "buffer", "other"}
