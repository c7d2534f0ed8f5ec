"""Public readings of vLLM start-ups, and how each is run through the planner: from model, flags and settings alone."""

import json
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from planner.answers.answer import Answer, answer
from planner.architecture import Architecture
from planner.inputs.choices import Choices, Chosen, choose
from planner.units import GIB, parse_bytes
from tests.checkpoints import CASES, read, read_case
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
    *no_prediction*: why the pool itself cannot be predicted, *far*: why it is predicted badly.
    *other_weights*: why those of the named model and format are not what was loaded. *checkpoint*
    names one of ``checkpoints.json``, *quantization* is a checkpoint's own where the report names one that is not
    there, from *quantization_source*; *weights* is then only what its name says.
    *other_rank*: the printed pool is one rank's, and the printed blocks or tokens are those of another, which had less.
    *complete*: the report shows the whole command, or the engine's own list of arguments that are not defaults.
    *held_out*: it was predicted before any rule or figure was changed for it.
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
    checkpoint: str = ""
    quantization: dict[str, Any] = field(default_factory=dict)
    quantization_source: str = ""
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
    other_rank: bool = False
    complete: bool = False
    held_out: bool = False
    no_prediction: str = ""
    far: str = ""
    other_weights: str = ""
    skip: str = ""
    disagrees: str = ""

    @property
    def is_shape(self) -> bool:
        return self.model.startswith("shape:")

    @property
    def architecture(self) -> Architecture | None:
        """What a preset's name alone does not say; ``None`` for a preset as it is."""
        if self.is_shape:
            return _shape(self.model)
        if self.checkpoint:
            return _checkpoint(self.checkpoint)
        return read(self.model, self.quantization) if self.quantization else None

    def choices(self, **settings: int) -> Choices:
        """This start-up as the planner is asked for it, with *settings* of vLLM on top."""
        given = {**self.set, **settings}
        return Choices(
            model="" if self.is_shape else self.model,
            device=self.device,
            memory=None if self.device else self.memory,
            weights=None if self.checkpoint or self.quantization else self.weights,
            kv_cache=self.kv_cache,
            engine="vllm",
            engine_version=self.engine_version,
            set=tuple(f"{key}={value}" for key, value in given.items()),
            context=self.context,
            tensor_parallel=self.tensor_parallel,
            pipeline_parallel=self.pipeline_parallel,
        )

    def chosen(self, **settings: int) -> Chosen:
        found = choose(self.choices(**settings), self.architecture)
        if not self.device or self.memory is None:
            return found
        card = replace(found.deployment.device, memory_bytes=parse_bytes(self.memory, "memory"))
        return replace(found, deployment=replace(found.deployment, device=card))

    def run(self, **settings: int) -> Answer:
        """The plan of this start-up."""
        return plan_of(self.chosen(**settings))

    def with_pool(self, shift_bytes: int = 0) -> Answer:
        """The plan with the pool that was printed, moved by *shift_bytes* within its rounding."""
        return self.run(kv_cache_memory_bytes=round(self.printed["pool_gib"] * GIB) + shift_bytes)


@cache
def readings() -> tuple[Reading, ...]:
    return tuple(Reading(**row) for row in json.loads(FILE.read_text(encoding="utf-8")))


def plan_of(chosen: Chosen) -> Answer:
    return answer(chosen.architecture, chosen.deployment, chosen.workload)


@cache
def _checkpoint(name: str) -> Architecture:
    return read_case(CASES[name])


@cache
def _shape(name: str) -> Architecture:
    return shape(name.removeprefix("shape:"))
