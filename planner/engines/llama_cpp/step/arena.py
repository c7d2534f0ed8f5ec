"""The arena out of which ggml hands out a step's results: one block of memory, used again and again.

Source: https://github.com/ggml-org/llama.cpp/blob/3f545becc/ggml/src/ggml-alloc.c, ggml_dyn_tallocr.
"""

from bisect import bisect_left

_ENDLESS = 1 << 62


class Arena:
    """Free blocks by offset; the last has no end. ``peak_bytes`` is how far it was ever used.

    A result takes the smallest free block that holds it, the endless one only when no other does, so holes stay: the
    peak can be larger than what is alive at any one time.
    """

    def __init__(self, alignment: int) -> None:
        self._alignment = alignment
        self._offsets = [0]
        self._sizes = [_ENDLESS]
        self.peak_bytes = 0

    def take(self, size: int) -> int:
        """The offset of a block for *size* bytes."""
        size = self._aligned(size)
        sizes = self._sizes
        best = len(sizes) - 1
        for index in range(best):
            if size <= sizes[index] <= sizes[best]:
                best = index
        offset = self._offsets[best]
        if sizes[best] == size:
            del self._offsets[best], sizes[best]
        else:
            self._offsets[best] += size
            sizes[best] -= size
        self.peak_bytes = max(self.peak_bytes, offset + size)
        return offset

    def give_back(self, offset: int, size: int) -> None:
        """Frees what ``take`` gave, and joins it with free neighbours."""
        size = self._aligned(size)
        if not size:
            return
        offsets, sizes = self._offsets, self._sizes
        index = bisect_left(offsets, offset)
        joins_next = offset + size == offsets[index] if index < len(offsets) else False
        if index and offsets[index - 1] + sizes[index - 1] == offset:
            sizes[index - 1] += size
            if joins_next:
                sizes[index - 1] += sizes[index]
                del offsets[index], sizes[index]
        elif joins_next:
            offsets[index] = offset
            sizes[index] += size
        else:
            offsets.insert(index, offset)
            sizes.insert(index, size)

    def _aligned(self, size: int) -> int:
        return -(-size // self._alignment) * self._alignment
