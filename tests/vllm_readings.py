"""Public readings of vLLM start-ups, and how each is run through the planner: from model, flags and settings alone."""

import json
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from planner.answer import Answer, answer
from planner.architecture import Architecture
from planner.choices import Choices, choose
from planner.units import GIB
from tests.shapes import shape

FILE = Path(__file__).parent / "data" / "vllm_readings.json"
ROUNDING_BYTES = GIB // 200
"""Half of the last digit of a size printed as 0.01 GiB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One start-up: *printed* is what vLLM said, all else is what the report says of model, card and flags.

    *inferred* names what the report leaves out and was found by trying the few possibilities. *circular*: the layers
    themselves were worked out from the reading. *exact*: figures follow to the last digit. *skip* and *disagrees*
    say why a reading is not run, or does not come out. *pool_only*: it has nothing that follows from the pool;
    *no_prediction*: why the pool itself cannot be predicted.
    """

    id: str
    source: str
    evidence: str
    reported_model: str
    reported_version: str | None
    reported_device: str | None
    printed: dict[str, Any]
    model: str = ""
    device: str | None = None
    memory: str | None = None
    weights: str | None = None
    kv_cache: str | None = None
    engine_version: str | None = None
    tensor_parallel: int = 1
    pipeline_parallel: int = 1
    context: int | None = None
    set: dict[str, Any] = field(default_factory=dict)
    inferred: tuple[str, ...] = ()
    exact: bool = False
    circular: bool = False
    pool_only: bool = False
    no_prediction: str = ""
    skip: str = ""
    disagrees: str = ""

    @property
    def is_shape(self) -> bool:
        return self.model.startswith("shape:")

    def run(self, **settings: int) -> Answer:
        """The plan of this start-up, with *settings* of vLLM on top."""
        given = {**self.set, **settings}
        choices = Choices(
            model="" if self.is_shape else self.model,
            device=self.device,
            memory=self.memory,
            weights=self.weights,
            kv_cache=self.kv_cache,
            engine="vllm",
            engine_version=self.engine_version,
            set=tuple(f"{key}={value}" for key, value in given.items()),
            context=self.context,
            tensor_parallel=self.tensor_parallel,
            pipeline_parallel=self.pipeline_parallel,
        )
        chosen = choose(choices, _shape(self.model) if self.is_shape else None)
        return answer(chosen.architecture, chosen.deployment, chosen.workload)

    def with_pool(self, shift_bytes: int = 0) -> Answer:
        """The plan with the pool that was printed, moved by *shift_bytes* within its rounding."""
        return self.run(kv_cache_memory_bytes=round(self.printed["pool_gib"] * GIB) + shift_bytes)


@cache
def readings() -> tuple[Reading, ...]:
    return tuple(Reading(**row) for row in json.loads(FILE.read_text(encoding="utf-8")))


@cache
def _shape(name: str) -> Architecture:
    return shape(name.removeprefix("shape:"))
