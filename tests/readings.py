"""How well the pool is predicted from model, card and flags alone: ``python -m tests.readings``.

Prints every start-up that names all three, and the median and 90th percentile of the relative error.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from planner.errors import PlannerError
from planner.units import GIB
from planner.verdict import room_bytes
from tests.vllm_readings import Reading, readings

PERCENTILE = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """Bytes of the pool as printed and as predicted, and whether it lies between the low and the high end."""

    reading: Reading
    printed_bytes: int
    predicted_bytes: int
    low_bytes: int
    high_bytes: int

    @property
    def error(self) -> float:
        return self.predicted_bytes / self.printed_bytes - 1

    @property
    def is_covered(self) -> bool:
        return self.low_bytes <= self.printed_bytes <= self.high_bytes


def prediction(reading: Reading) -> Prediction | None:
    """The prediction of a start-up with a pool, a preset's weights and a card; ``None`` without one of them."""
    printed = reading.printed.get("pool_gib")
    if reading.skip or reading.no_prediction or reading.is_shape or printed is None or printed <= 0:
        return None
    found = reading.run()
    predicted = room_bytes(found)
    return Prediction(
        reading=reading,
        printed_bytes=round(printed * GIB),
        predicted_bytes=predicted,
        low_bytes=predicted - sum(item.high_bytes - item.bytes for item in found.items),
        high_bytes=predicted + sum(item.bytes - item.low_bytes for item in found.items),
    )


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that *share* of *values* do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, -(-int(share * 1000) * len(ordered) // 1000) - 1)]


def main() -> None:
    found = []
    for reading in readings():
        try:
            one = prediction(reading)
        except PlannerError as error:
            print(f"{reading.id:26} not run: {error}")
            continue
        if one is not None:
            found.append(one)
            print(
                f"{reading.id:26} {reading.model:30} {reading.device or reading.memory or '':22}"
                f" printed {one.printed_bytes / GIB:7.2f} GiB  predicted {one.predicted_bytes / GIB:7.2f}"
                f" ({one.low_bytes / GIB:.2f} – {one.high_bytes / GIB:.2f})  {one.error:+.1%}"
            )
    summarise("all", found)
    summarise("utilisation stated", [one for one in found if "gpu_memory_utilization" in one.reading.set])


def summarise(name: str, found: Sequence[Prediction]) -> None:
    errors = [abs(one.error) for one in found]
    print(
        f"vLLM, {name}: {len(found)} pools predicted; median error {median(errors):.1%}, "
        f"90th percentile {percentile(errors, PERCENTILE):.1%}; "
        f"{sum(one.is_covered for one in found)} between the low and the high end"
    )


if __name__ == "__main__":
    main()
