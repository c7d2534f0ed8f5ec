"""Request traces from CSV files: this project's columns, those of the public Azure traces and of BurstGPT."""

import csv
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from math import isfinite

from planner.batching.trace import MAX_ARRIVAL_S, MAX_REQUEST_TOKENS, MAX_REQUESTS, Trace
from planner.csv_rows import columns, decimal, read_rows, separators
from planner.errors import BadFile
from planner.units import shorten


@dataclass(frozen=True, slots=True, kw_only=True)
class _Layout:
    """The names of the three columns that a trace needs."""

    arrival: str
    prompt: str
    output: str


_LAYOUTS = (
    _Layout(arrival="arrival", prompt="prompt", output="output"),
    _Layout(arrival="arrival_s", prompt="prompt_tokens", output="output_tokens"),
    _Layout(
        arrival="TIMESTAMP", prompt="ContextTokens", output="GeneratedTokens"
    ),  # github.com/Azure/AzurePublicDataset
    _Layout(arrival="Timestamp", prompt="Request tokens", output="Response tokens"),  # github.com/HPMLL/BurstGPT
)


def read_trace(lines: Iterable[str], file: str, limit: int = MAX_REQUESTS) -> Trace:
    """The first *limit* requests of a CSV text; *file* is its name in complaints.

    Columns go by their names whatever the case, between commas, semicolons or tabs. Arrivals are seconds or dates, and
    count from the first one. Rows without an answer (0 tokens) are failed requests: they are left out and counted.
    Raises BadFile naming the row at fault.
    """
    try:
        header, rows = read_rows(lines)
        requests, skipped = _read_rows(rows, _columns(header, file), file, limit)
    except csv.Error as error:
        raise BadFile(f"{shorten(file)} is not a CSV file: {error}.") from error
    except UnicodeDecodeError:
        raise BadFile(f"{shorten(file)} cannot be read: it is not UTF-8 text.") from None
    if not requests:
        raise BadFile(f"{shorten(file)} has no request with a prompt and an answer.")
    requests.sort()
    start = requests[0][0]
    return Trace(
        arrivals_s=tuple(arrival - start for arrival, _, _ in requests),
        prompt_tokens=tuple(prompt for _, prompt, _ in requests),
        output_tokens=tuple(output for _, _, output in requests),
        source=file,
        skipped=skipped,
    )


def _columns(header: Sequence[str], file: str) -> tuple[int, ...]:
    for layout in _LAYOUTS:
        found = columns(header, (layout.arrival, layout.prompt, layout.output))
        if found is not None:
            return found
    if not any(header):
        raise BadFile(f"{shorten(file)} is empty: a trace begins with the names of its columns, then a line a request.")
    known = "; ".join(f"{layout.arrival}, {layout.prompt}, {layout.output}" for layout in _LAYOUTS)
    raise BadFile(
        f"{shorten(file)} has none of the column sets that a trace may have: {known}. Name its columns so in the first "
        f"line, once each, between {separators()}."
    )


def _read_rows(
    rows: Iterator[list[str]], places: tuple[int, ...], file: str, limit: int
) -> tuple[list[tuple[float, int, int]], int]:
    requests: list[tuple[float, int, int]] = []
    skipped = 0
    for number, row in enumerate(rows, start=2):
        if not row:
            continue
        if len(requests) == limit:
            break
        try:
            if len(row) <= max(places):
                raise ValueError(f"it ends before column {max(places) + 1}")
            arrival = _seconds(row[places[0]])
            prompt, output = _tokens("prompt", row[places[1]]), _tokens("answer", row[places[2]])
        except ValueError as error:
            line = shorten(",".join(row))
            raise BadFile(f"{shorten(file)}, row {number}: {line!r} is not a request: {error}.") from error
        if prompt > 0 and output > 0:
            requests.append((arrival, prompt, output))
        else:
            skipped += 1
    return requests, skipped


def _tokens(name: str, text: str) -> int:
    """A whole number of tokens; raises ValueError saying what of the *name* is wrong."""
    try:
        tokens = int(text)
    except ValueError:
        raise ValueError(f"its {name} {shorten(text)!r} is no whole number of tokens") from None
    if not 0 <= tokens <= MAX_REQUEST_TOKENS:
        raise ValueError(
            f"its {name} has {shorten(f'{tokens:,}')} tokens, and 0 to {MAX_REQUEST_TOKENS:,} are possible"
        )
    return tokens


def _seconds(text: str) -> float:
    """Seconds as a number, or a date and time; one without a zone is UTC, for only differences count."""
    readers: tuple[Callable[[str], float], ...] = (decimal, _date_seconds)
    for reader in readers:
        try:
            seconds = reader(text)
        except ValueError:
            continue
        if isfinite(seconds):
            if abs(seconds) > MAX_ARRIVAL_S:
                raise ValueError(f"its arrival {shorten(text)!r} is more than {MAX_ARRIVAL_S:,} s away")
            return seconds
    raise ValueError(f"its arrival {shorten(text)!r} is neither seconds nor a date and time")


def _date_seconds(text: str) -> float:
    moment = datetime.fromisoformat(text)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
