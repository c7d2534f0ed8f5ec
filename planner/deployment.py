"""What the user chose: the card, how the model is stored on it, and what it is asked to hold."""

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING

from planner.errors import PlannerError
from planner.formats import NumberFormat, QuantScheme
from planner.line_item import LineItem
from planner.records import dataclass
from planner.settings.data import EngineSettings

if TYPE_CHECKING:
    from planner.calibration import CalibrationProfile, Subject
    from planner.draft import Draft

MAX_TOKENS = 2**33
"""No request is longer; a bound so that absurd input is refused and searches end."""
MAX_USERS = 10**7
MAX_PARALLEL = 1024
CPU = "cpu"
"""The vendor of machines that compute with their processor: their main memory is the device's."""


MINIMUM = "minimum"
"""The engine that counts what no engine takes less than, and that is none itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """One accelerator, or a machine that computes with its processor.

    *memory_bytes* is what a process can see, *driver_bytes* what the driver reports.
    *machine_bytes*: all memory of a machine whose processor and accelerator share it, ``None`` where each has its own.
    *compute_capability* is NVIDIA's number for what a card's kernels can do, ``None`` for others' and where not known.
    *machine_devices*: how many of them the usual machine has, ``None`` where that is not known.
    *power_watts*: the most that it draws, its limit as shipped; *power_checked* is false where it was only recalled.
    *memory_basis*: ``measured`` in public readings, ``estimate`` from its class, ``nominal`` as sold, ``stated`` by the
    user.
    """

    name: str
    title: str
    memory_bytes: int
    vendor: str = ""
    compute_capability: float | None = None
    nominal_gb: int | float | None = None
    driver_bytes: int | None = None
    memory_high_bytes: int | None = None
    memory_basis: str = "stated"
    memory_source: str = "stated by the user"
    unified: bool = False
    machine_bytes: int | None = None
    bandwidth_bytes_per_s: int | None = None
    fp16_flops_per_s: int | None = None
    fp16_accumulate_flops_per_s: int | None = None
    fp8_flops_per_s: int | None = None
    fp4_flops_per_s: int | None = None
    int8_ops_per_s: int | None = None
    interconnect: str | None = None
    machine_devices: int | None = None
    machine_devices_source: str = ""
    spec_source: str = ""
    spec_checked: bool = False
    power_watts: int | None = None
    power_source: str = ""
    power_checked: bool = False
    note: str = ""
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """A model's storage and split over *tensor_parallel* × *pipeline_parallel* × *data_parallel* devices.

    The devices are equal unless *cards* lists them, numbered tensor first, then by stage; *device* is the smallest.
    *replicas* are copies of the whole, each with users of its own.
    *expert_parallel* devices share the experts, each with whole ones; 1 splits them like all else. *settings* are the
    engine's own, of one version. *overhead_bytes* replaces the engine's runtime items by one stated figure a device.
    *host_memory_bytes* is what the machine's own memory has to give, ``None`` if that is not asked. *profile* holds
    items measured on such a card. *draft* proposes tokens and shares the budget; ``None`` also where the engine's own
    settings say what drafts. *pool_bytes* states what caches are given, as a log does, whatever the card leaves.
    *desktop* is what a screen takes of the first card, ``None`` where it shows none. *interconnect* is the link that
    joins the devices by its name in links.toml, *bandwidth_bytes_per_s* how fast each reads its memory as the user
    states it; ``None`` for either takes the device's own. *no_build* says why the engine does not run on the device at
    all; empty where it does. *file_note* says which file a name without a format stands for.
    *counts_others*: other programs take their part of a memory that card and processor share; of a start that is known
    they were there as well, and did not keep it from starting.
    """

    device: Device
    weights: QuantScheme
    kv_cache_k: NumberFormat
    kv_cache_v: NumberFormat
    engine: str = MINIMUM
    tensor_parallel: int = 1
    pipeline_parallel: int = 1
    data_parallel: int = 1
    expert_parallel: int = 1
    interconnect: str | None = None
    bandwidth_bytes_per_s: int | None = None
    replicas: int = 1
    cards: tuple[Device, ...] = ()
    settings: EngineSettings = field(default_factory=EngineSettings)
    overhead_bytes: int | None = None
    host_memory_bytes: int | None = None
    profile: "CalibrationProfile | None" = None
    draft: "Draft | None" = None
    pool_bytes: int | None = None
    desktop: LineItem | None = None
    no_build: str = ""
    file_note: str = ""
    counts_others: bool = True

    def __post_init__(self) -> None:
        for name in ("tensor_parallel", "pipeline_parallel", "data_parallel", "expert_parallel", "replicas"):
            _check(name, getattr(self, name), MAX_PARALLEL)
        devices = self.tensor_parallel * self.data_parallel
        if self.expert_parallel > devices:
            raise PlannerError(
                f"expert_parallel = {self.expert_parallel:,} shares the experts over more devices than there are, "
                f"{devices:,}: raise tensor_parallel or data_parallel."
            )

    @property
    def device_count(self) -> int:
        """The devices of one replica."""
        return self.tensor_parallel * self.pipeline_parallel * self.data_parallel

    @property
    def on_cpu(self) -> bool:
        """Whether there is no card at all."""
        return self.device.vendor == CPU

    @property
    def shared_memory_bytes(self) -> int | None:
        """What card and processor share: all of a machine with one memory, or the part of it that was stated."""
        machine_bytes = self.device.machine_bytes
        if machine_bytes is None or self.host_memory_bytes is None:
            return machine_bytes
        return min(machine_bytes, self.host_memory_bytes)

    @property
    def stages(self) -> tuple[Device, ...]:
        """The smallest card of each pipeline stage: it decides what its stage can hold."""
        groups: list[list[Device]] = [[] for _ in range(self.pipeline_parallel)]
        for index, card in enumerate(self.cards):
            groups[index // self.tensor_parallel % self.pipeline_parallel].append(card)
        return tuple(min(group or [self.device], key=lambda card: card.memory_bytes) for group in groups)

    def conditions(self, identity: Mapping[str, str]) -> dict[str, str]:
        """All that a measured item may depend on, by the names that a user gives it; what is not set is left out.

        *identity* is the model's, as ``planner.weights.identity`` gives it.
        """
        caches = dict.fromkeys((self.kv_cache_k.name, self.kv_cache_v.name))
        split = ("tensor_parallel", "pipeline_parallel", "data_parallel", "expert_parallel")
        chosen = {name: getattr(self, name) for name in split} | dict(self.settings.values)
        return {**identity, "weights": self.weights.name, "kv_cache": "/".join(caches)} | {
            name: str(value).lower() for name, value in chosen.items() if value is not None
        }

    def subject(self, model: str) -> "Subject":
        """What a profile must be of to be used here."""
        from planner.calibration import Subject  # only for plans with a profile

        return Subject(
            model=model,
            engine=self.engine,
            engine_version=self.settings.release,
            device=self.device.name,
            memory_bytes=self.device.memory_bytes,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """*users* requests resident at once, each of *context_tokens* tokens, prompt and answer together."""

    context_tokens: int
    users: int = 1

    def __post_init__(self) -> None:
        _check("context", self.context_tokens, MAX_TOKENS)
        _check("users", self.users, MAX_USERS)


def _check(name: str, value: int, limit: int) -> None:
    if not 1 <= value <= limit:
        raise PlannerError(f"{name} = {value:,} is not possible: it must be between 1 and {limit:,}.")
