"""A report on a log for a terminal."""

from collections.abc import Iterator

from planner.startups.comparison import Compared
from planner.startups.report import LogReport
from planner.startups.trial import Try
from planner.startups.words import reading_value, said_once

COUNTS = ("tokens", "blocks", "layers")
_WIDTH = 14


def log_text(report: LogReport) -> str:
    """What was read beside what was predicted, and what would start."""
    which = f"start {report.start} of {report.starts}, " if report.starts > 1 else ""
    version = f" {report.version}" if report.version else ""
    lines = [f"{which}{report.engine}{version}{f', {report.model}' if report.model else ''}"]
    if report.failure is not None:
        lines.append(f"It failed in line {report.failure.line}: {report.failure.message}")
    if report.spill:
        lines.append(f"It started, and {report.spill}")
    if report.readings:
        lines += ["", *_readings(report.readings)]
    if report.would_start:
        lines += ["", "What would start:", *map(_try_line, said_once(report.would_start))]
    if report.command:
        lines += ["", "The same start as a plan:", f"  {report.command}"]
    lines += [f"Note: {note}" for note in report.notes]
    return "\n".join(lines)


def _readings(rows: tuple[Compared, ...]) -> Iterator[str]:
    width = max(len(row.name) for row in rows)
    if not any(row.why for row in rows):
        yield f"  {'':{width}} {'printed':>{_WIDTH}}"
        yield from (f"  {row.name:{width}} {_value(row, row.value):>{_WIDTH}}" for row in rows)
        return
    yield f"  {'':{width}} {'printed':>{_WIDTH}} {'predicted':>{_WIDTH}}"
    for row in rows:
        predicted = "–" if row.predicted is None else _value(row, row.predicted)
        yield f"  {row.name:{width}} {_value(row, row.value):>{_WIDTH}} {predicted:>{_WIDTH}}  {row.why}"


def _value(row: Compared, value: int | float) -> str:
    """With what is counted, where the name does not say it: a request is so many GiB, or so many blocks."""
    is_said = row.unit not in COUNTS or row.unit in row.name
    return reading_value(value, row.unit) + ("" if is_said else f" {row.unit}")


def _try_line(one: Try) -> str:
    if one.choices is None:
        room = "by what the log prints" if one.starts else "maybe, by what the log prints"
    else:
        room = "any length" if one.max_context_tokens is None else f"up to {one.max_context_tokens:,} tokens"
        room = room if one.starts else f"not enough alone, {room}"
    option = f"  {one.option}" if one.option else ""
    sign = "✓" if one.starts else "⊖" if one.choices is None else "✕"
    return f"  {sign} {one.change}: {room}{option}"
