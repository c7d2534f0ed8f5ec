"""Public readings of llama.cpp and its kin, and how each is run through the planner: from model, flags and settings."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from planner.architecture import Architecture, Attention, LatentAttention, Mixer, Tensor
from planner.budget import MemoryBudget, plan
from planner.formats import Role
from planner.inputs.choices import Choices, choose
from planner.inputs.model_files import load_model
from planner.kv_cache import fixed_bytes
from planner.line_item import Kind, LineItem
from planner.units import MIB
from tests.builders import BF16, layer

FILE = Path(__file__).parent / "data" / "llama_cpp_readings.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One start: *printed* is what it said, all else is what the report says of model, file and flags.

    *shape* describes a model without a preset, *expanded* the head widths of a latent model's file from before its
    latent was kept; *twice* is in the names of tensors that a file has a second time, in parts. *version* is a build,
    or a day that the report's own words allow. *circular*: its model was worked out from its figures. *skip* says why
    a reading is not run, *disagrees* why a figure does not come out.
    """

    id: str
    source: str
    reads: str
    engine: str
    version: str | None = None
    model: str = ""
    shape: dict[str, int] = field(default_factory=dict)
    expanded: tuple[int, ...] = ()
    twice: str = ""
    weights: str | None = None
    kv_cache_k: str | None = None
    kv_cache_v: str | None = None
    context: int | None = None
    set: dict[str, int | str] = field(default_factory=dict)
    printed: dict[str, float] = field(default_factory=dict)
    circular: bool = False
    skip: str = ""
    disagrees: dict[str, str] = field(default_factory=dict)

    def run(self) -> MemoryBudget:
        """The plan of this start, on a card that is large enough for anything."""
        choices = Choices(
            model=self.model,
            memory="8192GiB",
            weights=self.weights,
            kv_cache_k=self.kv_cache_k,
            kv_cache_v=self.kv_cache_v,
            engine=self.engine,
            engine_version=self.version,
            set=tuple(f"{key}={value}" for key, value in self.set.items()),
            context=self.context,
        )
        chosen = choose(choices, self._architecture())
        return plan(chosen.architecture, chosen.deployment, chosen.workload)

    def figure(self, name: str) -> float:
        """What the plan says where the reading has *name*, in MiB."""
        found = _planned(self.id)
        states = fixed_bytes(found.rank.specs) * int(self.set.get("n_parallel", 1))
        match name:
            case "kv_mib":
                size = _total(found.items, Kind.CACHE) + _total(found.host_items, Kind.CACHE) - states
            case "recurrent_mib":
                size = states
            case "context_mib":
                size = _total(found.items, Kind.CACHE)
            case "weights_card_mib":
                size = found.weights_bytes
            case "weights_file_mib":
                size = found.weights_bytes + _total(found.host_items, Kind.WEIGHTS)
            case "weights_host_mib":
                size = _total(found.host_items, Kind.WEIGHTS)
            case "compute_card_mib":
                size = _named(found.items, "compute buffer")
            case "compute_host_only_mib":
                size = _named(found.host_items, "compute buffer")
            case _:
                size = _named(found.host_items, "output buffer")
        return size / MIB

    def spread_mib(self, name: str) -> tuple[float, float]:
        """The low and the high end of the compute buffer."""
        found = _planned(self.id)
        items = found.items if name == "compute_card_mib" else found.host_items
        item = next(item for item in items if item.name == "compute buffer")
        return item.low_bytes / MIB, item.high_bytes / MIB

    @property
    def is_latent(self) -> bool:
        return any(isinstance(m, LatentAttention) for layer in self._architecture().layers for m in layer.mixers)

    def _architecture(self) -> Architecture:
        if not self.model:
            return _shape(self.shape)
        architecture = load_model(self.model)
        if self.twice:
            doubled = (
                replace(each, tensors=(*each.tensors, *(t for t in each.tensors if self.twice in t.name)))
                for each in architecture.layers
            )
            architecture = replace(architecture, layers=tuple(doubled))
        if not self.expanded:
            return architecture
        key_width, value_width = self.expanded

        def heads(mixer: Mixer) -> Mixer:
            number = mixer.num_attention_heads  # type: ignore[union-attr]
            return Attention(
                num_attention_heads=number, num_key_value_heads=number, head_dim=key_width, v_head_dim=value_width
            )

        layers = tuple(replace(layer, mixers=tuple(map(heads, layer.mixers))) for layer in architecture.layers)
        return replace(architecture, layers=layers)


@cache
def readings() -> tuple[Reading, ...]:
    return tuple(Reading(**row) for row in json.loads(FILE.read_text(encoding="utf-8")))


@cache
def _planned(name: str) -> MemoryBudget:
    return next(reading for reading in readings() if reading.id == name).run()


def _total(items: Iterable[LineItem], kind: Kind) -> int:
    return sum(item.bytes for item in items if item.kind is kind)


def _named(items: Iterable[LineItem], name: str) -> int:
    return sum(item.bytes for item in items if item.name == name)


def _shape(given: dict[str, int]) -> Architecture:
    """Layers that cache, and the widths that a step has; they weigh nothing that a reading is compared with."""
    hidden, vocab = given["hidden"], given["vocab"]
    attention = Attention(
        num_attention_heads=given["heads"],
        num_key_value_heads=given["kv_heads"],
        head_dim=given["key_width"],
        v_head_dim=given["value_width"],
    )
    inner = given["intermediate"]
    down = Tensor(name="mlp.down_proj.weight", role=Role.LINEAR, rows=hidden, columns=inner, stored=BF16)
    outer = (
        Tensor(name="embed_tokens.weight", role=Role.EMBEDDING, rows=vocab, columns=hidden, stored=BF16),
        Tensor(name="lm_head.weight", role=Role.HEAD, rows=vocab, columns=hidden, stored=BF16),
    )
    return Architecture(
        name="shape",
        title="Shape",
        model_type="llama",
        hidden_size=hidden,
        vocab_size=vocab,
        max_position_embeddings=None,
        layers=(layer(attention, tensors=(down,)),) * given["layers"],
        tensors=outer,
        cache_format=BF16,
    )
