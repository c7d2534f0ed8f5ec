"""Price tables as people edit them: TOML with a line a device, or CSV out of a spreadsheet; read, and written again."""

import csv
import io
import tomllib
from collections.abc import Mapping
from pathlib import Path

from planner import presets
from planner.cost import read_prices
from planner.errors import BadFile
from planner.units import shorten

COLUMNS = ("device", "price_per_hour")
MAX_BYTES = 2**20


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
        raise BadFile(f"{shown} is not text: write a line a device, such as rtx-4090 = 0.40.") from error
    prices = read_prices(_csv_table(text, shown) if is_csv else _toml_table(text, shown), shown)
    return {presets.find_device(name).name: price for name, price in prices.items()}


def prices_toml(prices: Mapping[str, float]) -> str:
    """A table that ``parse_prices`` reads back."""
    return "".join(f"{name} = {price!r}\n" for name, price in prices.items())


def _toml_table(text: str, shown: str) -> Mapping[str, object]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadFile(f"{shown} cannot be read: {error}.") from error


def _csv_table(text: str, shown: str) -> Mapping[str, object]:
    rows = csv.DictReader(io.StringIO(text))
    table: dict[str, object] = {}
    try:
        if not set(COLUMNS) <= set(rows.fieldnames or ()):
            raise BadFile(f"{shown} needs the columns {' and '.join(COLUMNS)}.")
        for row in rows:
            name, price = (row[column] or "" for column in COLUMNS)
            table[shorten(name.strip())] = _number(price)
    except csv.Error as error:
        raise BadFile(f"{shown} is not a CSV file: {error}.") from error
    return table


def _number(text: str) -> object:
    try:
        return float(text)
    except ValueError:
        return shorten(text)
