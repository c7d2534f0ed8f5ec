"""Quantised checkpoints whose own list of modules is known: a preset's layers, stored as their config says."""

from collections.abc import Mapping
from dataclasses import field
from functools import cache
from typing import Any

from planner.preset_files import PRESETS, build
from planner.records import dataclass
from planner.toml_tables import TomlTables

FILE = "checkpoints.toml"


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownCheckpoint:
    """A repository of the Hub with the tensors of *model* in other formats.

    *quantization* is its ``quantization_config`` without the lists of modules, which differ by the number of a layer
    alone: *skipped* under the key *skip_key*, *quantized* under ``quantized_layers``, and those of each layer behind
    *prefix* and its number, in the first *layers* where not in all. *numbers* is what the files hold by the publisher's
    count, but for the kinds *left_out*; ``None`` where that is not known.
    """

    name: str
    model: str
    source: str
    retrieved: Any
    quantization: Mapping[str, Any]
    aliases: tuple[str, ...] = ()
    numbers: int | None = None
    left_out: tuple[str, ...] = ()
    layers: int | None = None
    prefix: str = "model.layers"
    skip_key: str = ""
    skipped: tuple[str, ...] = ()
    skipped_in_each_layer: tuple[str, ...] = ()
    quantized: Mapping[str, Any] = field(default_factory=dict)
    quantized_in_each_layer: Mapping[str, Any] = field(default_factory=dict)

    def quantization_config(self, layers: int) -> dict[str, Any]:
        """As the file has it, for a model of that many *layers*, those for prediction among them."""
        in_layers = [f"{self.prefix}.{number}" for number in range(self.layers or layers)]
        lists: dict[str, Any] = {}
        if skipped := [*self.skipped, *(f"{at}.{name}" for at in in_layers for name in self.skipped_in_each_layer)]:
            lists[self.skip_key] = skipped
        of_each = self.quantized_in_each_layer.items()
        if quantized := {**self.quantized, **{f"{at}.{name}": how for at in in_layers for name, how in of_each}}:
            lists["quantized_layers"] = quantized
        return {**self.quantization, **lists}


@cache
def _tables() -> TomlTables:
    return TomlTables(PRESETS / FILE, FILE)


def known_checkpoints() -> tuple[KnownCheckpoint, ...]:
    """Every one of them, in the order of the file."""
    return tuple(_known(name) for name in _tables())


def find_checkpoint(name: str) -> KnownCheckpoint | None:
    """The one with the id *name* or that alias, in any case; ``None`` for any other name."""
    wanted = name.lower()
    found = (_known(key) for key in _tables().mentioning(wanted))
    return next((known for known in found if wanted in map(str.lower, (known.name, *known.aliases))), None)


def find_copy(path: str) -> KnownCheckpoint | None:
    """The one that the folder at *path* is called after, where a single one is."""
    last = path.rstrip("/").rpartition("/")[2].lower()
    alike = [
        known
        for known in (known_checkpoints() if path.startswith("/") else ())
        if last in (each.rpartition("/")[2].lower() for each in (known.name, *known.aliases))
    ]
    return alike[0] if len(alike) == 1 else None


@cache
def _known(name: str) -> KnownCheckpoint:
    table = _tables().parse(name)
    if like := table.pop("same_as", None):
        table = {**_tables().parse(like), "aliases": [], **table}
    return build(KnownCheckpoint, table, f"{FILE}: {name}", name=name)
