"""Price tables as people edit them: TOML with a line a device, or CSV out of a spreadsheet; read, and written again."""

import csv
import io
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

from planner import presets
from planner.cost import read_price
from planner.csv_rows import columns, decimal, read_rows, separators
from planner.errors import BadFile, UnknownName
from planner.preset_files import nearest
from planner.units import shorten

COLUMNS = ("device", "price_per_hour")
MAX_BYTES = 2**20
_LINES = "write a line a device, each once, such as rtx-4090 = 0.40"


def load_prices(path: Path) -> dict[str, float]:
    """Prices an hour of one device by its name. Raises BadFile with what is wrong, UnknownName for no such device."""
    shown = shorten(str(path))
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        raise BadFile(f"{shown} cannot be read: {getattr(error, 'strerror', None) or error}.") from error
    return parse_prices(content, shown, is_csv=path.suffix.lower() == ".csv")


def parse_prices(content: bytes, shown: str, is_csv: bool) -> dict[str, float]:
    """The same from a file's bytes; *shown* is its name in complaints."""
    if len(content) > MAX_BYTES:
        raise BadFile(f"{shown} is larger than 1 MiB, and so no price table.")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadFile(f"{shown} is not text: {_LINES}.") from error
    found: dict[str, tuple[str, float]] = {}
    for place, name, written in _csv_entries(text, shown) if is_csv else _toml_entries(text, shown):
        price = read_price(name, written, shown)
        device = _device(name, f"{shown}, {place}")
        if device in found:
            first, before = found[device]
            raise BadFile(
                f"{shown} says two prices of {device}: {before:g} ({first}) and {price:g} ({place}); keep one of them."
            )
        found[device] = place, price
    if not found:
        raise BadFile(f"{shown} has no prices: {_LINES}.")
    return {name: price for name, (_, price) in found.items()}


def _device(name: str, place: str) -> str:
    """The short name of the device called *name*; *place* is where a complaint says that it stands."""
    try:
        return presets.find_device(name).name
    except UnknownName as error:
        near = nearest(name, list(presets.devices()))
        hint = f"nearest: {', '.join(near)}; " if near else ""
        raise UnknownName(f"{place}: device {shorten(name)!r} is not known; {hint}see kvbudget devices.") from error


def of_known_speed(prices: Mapping[str, float]) -> tuple[dict[str, float], tuple[str, ...]]:
    """*prices* of the devices whose speed can be planned, and a sentence that names the others where there are any.

    Raises BadFile where no device is left.
    """
    unknown = [name for name in prices if presets.find_device(name).bandwidth_bytes_per_s is None]
    if not unknown:
        return dict(prices), ()
    why = f"The bandwidth of {', '.join(unknown)} is not known, and so not what a token costs there"
    if len(unknown) == len(prices):
        raise BadFile(f"{why}: name a device from 'kvbudget devices' that has one.")
    return {name: price for name, price in prices.items() if name not in unknown}, (f"{why}: left out.",)


def prices_toml(prices: Mapping[str, float]) -> str:
    """A table that ``parse_prices`` reads back."""
    return "".join(f"{name} = {price!r}\n" for name, price in prices.items())


def _toml_entries(text: str, shown: str) -> Iterator[tuple[str, str, object]]:
    """Where each price stands, its device and the price, as they are written."""
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadFile(f"{shown} cannot be read: {error}; {_LINES}.") from error
    for name, price in table.items():
        yield f"as {shorten(name)}", name, price


def _csv_entries(text: str, shown: str) -> Iterator[tuple[str, str, object]]:
    try:
        header, rows = read_rows(io.StringIO(text))
        found = columns(header, COLUMNS)
        if found is None:
            raise BadFile(f"{shown} needs the columns {' and '.join(COLUMNS)}, once each, between {separators()}.")
        for number, row in enumerate(rows, start=2):
            if row:
                name, price = (row[place] if place < len(row) else "" for place in found)
                yield f"row {number}", shorten(name.strip()), _number(price)
    except csv.Error as error:
        raise BadFile(f"{shown} is not a CSV file: {error}.") from error


def _number(text: str) -> object:
    try:
        return decimal(text)
    except ValueError:
        return shorten(text)
