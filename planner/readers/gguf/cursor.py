"""Forward reading of a GGUF header in windows: a header of any size takes little memory, and no tensor is touched."""

import struct
from typing import BinaryIO

from planner.errors import BadFile
from planner.units import MIB, format_count

MAX_HEADER_BYTES = 256 * MIB
_WINDOW_BYTES = MIB
_SCALARS = {1: "B", 2: "H", 4: "I", 8: "Q"}


class Cursor:
    """A position in the header of *file*, which is *size* bytes long and called *what* in errors.

    Raises BadFile where a read would pass the end of the file or the limit of a header.
    """

    __slots__ = ("_at", "_base", "_data", "_file", "_size", "order", "what")

    def __init__(self, file: BinaryIO, size: int, what: str) -> None:
        self._file, self._size, self.what = file, size, what
        self._data, self._base, self._at = b"", 0, 0
        self.order = "<"

    @property
    def position(self) -> int:
        return self._base + self._at

    @property
    def left(self) -> int:
        """Bytes from here to the end of the file, below zero where a length led past it."""
        return self._size - self.position

    def take(self, count: int) -> bytes:
        """The next *count* bytes."""
        if self._at + count > len(self._data):
            self._fill(count)
        self._at += count
        return self._data[self._at - count : self._at]

    def skip(self, count: int) -> None:
        """Pass over *count* bytes without reading them."""
        self._at += count
        self._check(0)

    def unsigned(self, width: int) -> int:
        """An unsigned number of *width* bytes."""
        if self._at + width > len(self._data):
            self._fill(width)
        (value,) = struct.unpack_from(self.order + _SCALARS[width], self._data, self._at)
        self._at += width
        return int(value)

    def skip_strings(self, count: int) -> None:
        """Pass over *count* strings, each its length in eight bytes and then its own bytes."""
        unpack = struct.Struct(self.order + "Q").unpack_from
        data, at = self._data, self._at
        last = len(data) - 8
        for _ in range(count):
            if at > last:
                self._at = at
                self._fill(8)
                data, at = self._data, self._at
                last = len(data) - 8
            at += 8 + unpack(data, at)[0]
        self._at = at
        self._check(0)

    def _fill(self, count: int) -> None:
        """A window from here on that holds at least *count* bytes."""
        self._check(count)
        self._base, self._at = self.position, 0
        self._file.seek(self._base)
        self._data = self._file.read(min(max(count, _WINDOW_BYTES), self._size - self._base))
        if len(self._data) < count:
            raise self._cut_short()

    def _check(self, count: int) -> None:
        end = self.position + count
        if end > self._size:
            raise self._cut_short()
        if end > MAX_HEADER_BYTES:
            raise BadFile(f"{self.what} has a header of more than {format_count(MAX_HEADER_BYTES // MIB)} MiB.")

    def _cut_short(self) -> BadFile:
        return BadFile(f"{self.what} is cut short: its header goes on after its {format_count(self._size)} bytes.")
