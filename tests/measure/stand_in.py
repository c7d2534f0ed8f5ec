"""A CUDA allocator to test the instrument without a card: rounds to 512 B and reserves segments of 2 MiB or more."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

BLOCK, SEGMENT = 512, 2 * 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class Properties:
    name: str = "Stand-in 8 GiB"
    uuid: str = "00000000-0000-0000-0000-000000000000"
    driver_version: str = "1.6.33578"
    total_memory: int = 8 * 2**30


@dataclass(slots=True, kw_only=True)
class StandIn:
    """The calls of ``torch.cuda`` that the instrument uses. *context_bytes* are the driver's, whatever is allocated."""

    total_bytes: int = 8 * 2**30
    context_bytes: int = 300 * 2**20
    is_there: bool = True
    tells_free: bool = True
    allocated: int = 0
    requested: int = 0
    reserved: int = 0
    peak: int = 0
    requested_peak: int = 0
    fraction: float = 1.0
    calls: list[str] = field(default_factory=list)

    @contextmanager
    def allocation(self, size: int) -> Iterator[None]:
        rounded = -(-size // BLOCK) * BLOCK
        self.allocated += rounded
        self.requested += size
        self.reserved = max(self.reserved, -(-self.allocated // SEGMENT) * SEGMENT)
        self.peak = max(self.peak, self.allocated)
        self.requested_peak = max(self.requested_peak, self.requested)
        yield
        self.allocated -= rounded
        self.requested -= size

    def set_per_process_memory_fraction(self, fraction: float, index: int) -> None:
        self.fraction = fraction

    def is_available(self) -> bool:
        return self.is_there

    def get_device_properties(self, index: int) -> Properties:
        return Properties()

    def synchronize(self, index: int) -> None:
        self.calls.append("synchronize")

    def empty_cache(self) -> None:
        self.calls.append("empty_cache")
        self.reserved = -(-self.allocated // SEGMENT) * SEGMENT

    def reset_peak_memory_stats(self, index: int) -> None:
        self.peak, self.requested_peak = self.allocated, self.requested

    def memory_allocated(self, index: int) -> int:
        return self.allocated

    def max_memory_allocated(self, index: int) -> int:
        return self.peak

    def memory_reserved(self, index: int) -> int:
        return self.reserved

    def mem_get_info(self, index: int) -> tuple[int, int]:
        if not self.tells_free:
            raise RuntimeError("The device doesn't support querying the available free memory.")
        return self.total_bytes - self.context_bytes - self.reserved, self.total_bytes

    def memory_stats(self, index: int) -> dict[str, int]:
        return {"requested_bytes.all.current": self.requested, "requested_bytes.all.peak": self.requested_peak}
