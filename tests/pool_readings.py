"""Public start-ups of SGLang, TensorRT-LLM and LMDeploy, and how each is run: from model, flags and settings alone."""

import json
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from planner.answers.answer import Answer, answer
from planner.answers.figures import room_bytes
from planner.architecture import Architecture
from planner.inputs.choices import Choices, Chosen, choose
from planner.units import GIB
from tests.shapes import shape

FILE = Path(__file__).parent / "data" / "pool_readings.json"
STATES = "max_mamba_cache_size"
ROUNDING_GIB = 0.005
"""Half of the last digit of a size printed as 0.01 GiB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One start-up: *printed* is what the engine said, all else is what the report says of model, card and flags.

    *printed* has ``pool_gib``, ``tokens``, ``blocks``, ``free_gib`` (after loading; SGLang's before), ``states_gib``,
    ``weights_gib`` and ``requests``; a pool that is the sum of *halves* sizes is rounded as often. *inferred* names
    what the report leaves out and was concluded. *circular*: the layers were worked out from the reading. *exact*:
    figures follow to the last digit. *skip* and *disagrees* say why a reading is not run, or does not come out,
    *misses* by how much and why its pool is not predicted, *loads_more* what is loaded beyond what is counted.
    """

    id: str
    engine: str
    source: str
    evidence: str
    reported_model: str
    reported_version: str | None
    reported_device: str | None
    printed: dict[str, Any]
    model: str = ""
    model_type: str = ""
    device: str | None = None
    weights: str | None = None
    kv_cache: str | None = None
    engine_version: str | None = None
    tensor_parallel: int = 1
    context: int | None = None
    set: dict[str, Any] = field(default_factory=dict)
    halves: int = 1
    inferred: tuple[str, ...] = ()
    exact: bool = False
    circular: bool = False
    held_out: bool = False
    skip: str = ""
    disagrees: str = ""
    misses: str = ""
    loads_more: str = ""

    def choose(self, **changed: Any) -> Chosen:
        """The plan of this start-up, on its card or on one large enough for any pool that is stated."""
        is_shape = self.model.startswith("shape:")
        choices = Choices(
            model="" if is_shape else self.model,
            device=self.device,
            memory=None if self.device else "100TiB",
            weights=self.weights,
            kv_cache=self.kv_cache,
            engine=self.engine,
            engine_version=self.engine_version,
            set=tuple(f"{key}={value}" for key, value in self.set.items()),
            context=self.context,
            tensor_parallel=self.tensor_parallel,
        )
        return choose(replace(choices, **changed), _shape(self) if is_shape else None)

    def run(self, **changed: Any) -> Answer:
        chosen = self.choose(**changed)
        return answer(chosen.architecture, chosen.deployment, chosen.workload)

    def with_pool(self, shift_gib: float = 0) -> Answer:
        """The plan with the pool that was printed, moved by *shift_gib* within its rounding."""
        chosen = self.choose()
        pool_bytes = round((self.printed["pool_gib"] + shift_gib) * GIB)
        return answer(chosen.architecture, replace(chosen.deployment, pool_bytes=pool_bytes), chosen.workload)

    @property
    def is_predicted(self) -> bool:
        """Whether it names model, card and flags, and printed a pool or what is in it."""
        return not self.skip and self.device is not None and bool({"pool_gib", "tokens"} & self.printed.keys())

    def predicted(self) -> Answer:
        """From model, card and flags alone: without a number of states that was read off the log."""
        known = {
            key: value for key, value in self.set.items() if key != STATES or "number of states" not in self.inferred
        }
        return replace(self, set=known).run()

    def printed_bytes(self, found: Answer) -> int:
        """The pool as *found* would have it for the printed tokens, which are not rounded; else as printed."""
        if "tokens" not in self.printed:
            return round(self.printed["pool_gib"] * GIB)
        assert found.pool_tokens
        return round(room_bytes(found) * self.printed["tokens"] / found.pool_tokens)

    @property
    def rounding_gib(self) -> float:
        decimals = len(str(self.printed["pool_gib"]).partition(".")[2])
        return self.halves * (ROUNDING_GIB if decimals < 3 else ROUNDING_GIB / 10)


@cache
def readings() -> tuple[Reading, ...]:
    return tuple(Reading(**row) for row in json.loads(FILE.read_text(encoding="utf-8")))


def _shape(reading: Reading) -> Architecture:
    found = shape(reading.model.removeprefix("shape:"))
    return replace(found, model_type=reading.model_type or found.model_type)
