"""A config's architecture with the tensors that its checkpoint stores: weights then equal the files to the byte."""

import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace

from planner.architecture import Architecture, Layer, Tower, distinct_layers
from planner.errors import BadFile
from planner.formats import NumberFormat, Role
from planner.readers.checkpoint.checks import check_beyond, check_layers
from planner.readers.checkpoint.formats import stored_name
from planner.readers.checkpoint.layer import Reference, StoredKind, layer_tensors
from planner.readers.checkpoint.packed import Weight, weights
from planner.readers.checkpoint.roles import Part, Place, place_of, role_of
from planner.readers.safetensors import missing_sentence
from planner.readers.stored import SERVED_IN_16_BIT
from planner.readers.stored_tensors import StoredTensors
from planner.units import format_bytes

_MTP = "multi_token_prediction"
_MOOT = re.compile(
    r"part are not counted: they|(?:is|are) missing from the count|weights are counted unquantised"
    r"|store a copy of the tied head"
)
"""What the config's reader says of weights that only the files tell."""

_Kinds = Counter[StoredKind]


@dataclass(slots=True)
class _Sorted:
    """The checkpoint's weights by where they belong; bytes that nobody loads beside them."""

    outer: _Kinds = field(default_factory=Counter)
    layers: defaultdict[int, _Kinds] = field(default_factory=lambda: defaultdict(Counter))
    beyond: defaultdict[int, _Kinds] = field(default_factory=lambda: defaultdict(Counter))
    """Layers with numbers above the model's own."""
    mtp: defaultdict[int, _Kinds] = field(default_factory=lambda: defaultdict(Counter))
    towers: defaultdict[str, _Kinds] = field(default_factory=lambda: defaultdict(Counter))
    buffer_bytes: int = 0
    tied_head_bytes: int = 0


def with_file_tensors(architecture: Architecture, stored: StoredTensors) -> Architecture:
    """*architecture* with its tensors replaced by those of its own checkpoint.

    Layers keep their mixers; layers beyond the model's own are its MTP layers. Left out are buffers and a stored copy
    of a tied head, which are not loaded: a warning says how many bytes these are. Raises BadFile for a checkpoint that
    is incomplete or has not this model's layers.
    """
    if stored.missing_files:
        raise BadFile(missing_sentence(stored.source, stored.missing_files))
    found = _sort(architecture, stored)
    check_layers(architecture, found.layers, found.outer, stored.source)
    check_beyond(architecture, found.beyond, stored.source)
    for index, kinds in found.beyond.items():
        found.mtp[index] += kinds
    unknown: set[str] = set()
    layers = _layers(architecture.layers, found.layers, unknown)
    mtp = tuple(
        _layer(_mtp_layer(architecture, index), kinds, unknown)
        for index, (_, kinds) in enumerate(sorted(found.mtp.items()))
    )
    warnings = [sentence for sentence in architecture.warnings if not _MOOT.search(sentence)]
    result = replace(
        architecture,
        layers=layers,
        mtp_layers=mtp,
        tensors=layer_tensors(found.outer, Reference(architecture.tensors), unknown),
        towers=tuple(
            Tower(kind=kind, tensors=layer_tensors(kinds, Reference(()), unknown))
            for kind, kinds in sorted(found.towers.items())
        ),
        stored_assumed=False,
        stored_doubt="",
        source=f"headers of {stored.source}",
    )
    stored_as = stored_name(_sizes(result), architecture.stored_as)
    said = SERVED_IN_16_BIT in warnings
    if said != (stored_as == "fp32"):
        warnings = [sentence for sentence in warnings if not said or sentence != SERVED_IN_16_BIT]
        warnings += [] if said else [SERVED_IN_16_BIT]
    return replace(result, stored_as=stored_as, warnings=(*warnings, *_warnings(found, unknown, stored.source)))


def _sizes(architecture: Architecture) -> Counter[NumberFormat]:
    """Bytes of the text model by format."""
    sizes: Counter[NumberFormat] = Counter()
    around = Layer(kind="", mixers=(), tensors=architecture.tensors)
    for layer, count in ((around, 1), *distinct_layers(architecture.layers)):
        for tensor in layer.tensors:
            sizes[tensor.stored] += count * tensor.count * tensor.stored.bytes_for(tensor.columns, tensor.rows)
    return sizes


def _sort(architecture: Architecture, stored: StoredTensors) -> _Sorted:
    found = _Sorted()
    own, stacks = _own_layers(architecture), _stacks(architecture, stored)
    number = len(own)
    is_tied = not any(tensor.role is Role.HEAD for tensor in architecture.tensors)
    for weight, which in weights(stored.groups):
        place, ordinal = place_of(weight.name)
        kind, count = _kind(weight, place), len(which.packed)
        layers = Counter({0: count} if ordinal is None else which.numbers(ordinal))
        if place.part is Part.BUFFER:
            found.buffer_bytes += weight.bytes * count
        elif place.part is Part.TOWER:
            found.towers[place.kind][kind] += count
        elif place.part is Part.MTP:
            for index, in_layer in layers.items():
                found.mtp[index][kind] += in_layer
        elif place.part is Part.LAYER:
            first = stacks.get(_stack(weight.name), 0)
            for index, in_layer in layers.items():
                at = first + index
                kinds = found.layers[own[at]] if at < number else found.beyond[at - number]
                kinds[kind] += in_layer
        elif is_tied and kind.role is Role.HEAD:
            found.tied_head_bytes += weight.bytes * count
        else:
            found.outer[kind] += count
    return found


def _own_layers(architecture: Architecture) -> list[int]:
    """Where the layers stand that files number: those that run again have no weights of their own."""
    runs_again = any(layer.mixers and not layer.tensors for layer in architecture.layers)
    return [index for index, layer in enumerate(architecture.layers) if layer.tensors or not runs_again]


def _stacks(architecture: Architecture, stored: StoredTensors) -> dict[str, int]:
    """The first layer of each stack that a file numbers from 0: only models that loop have several (HRM)."""
    own = len(_own_layers(architecture))
    if own == len(architecture.layers):
        return {}
    names = dict.fromkeys(_stack(group.template) for group in stored.groups if "layers.#." in group.template)
    return {name: index * (own // len(names)) for index, name in enumerate(names)}


def _stack(name: str) -> str:
    return name.partition("layers.")[0]


def _kind(weight: Weight, place: Place) -> StoredKind:
    dimensions = 2 if weight.shape is None else len(weight.shape)
    return StoredKind(
        name=place.name,
        role=role_of(place.part, place.name, dimensions),
        dtype=weight.dtype,
        shape=weight.shape,
        bytes=weight.bytes,
        packed_bytes=weight.packed_bytes,
        is_packed=weight.is_packed,
    )


def _layers(layers: tuple[Layer, ...], found: dict[int, _Kinds], unknown: set[str]) -> tuple[Layer, ...]:
    """One layer each, equal ones as one object."""
    built: dict[tuple[int, frozenset[tuple[StoredKind, int]]], Layer] = {}
    result = []
    for index, layer in enumerate(layers):
        kinds = found.get(index, Counter())
        key = (id(layer), frozenset(kinds.items()))
        if key not in built:
            built[key] = _layer(layer, kinds, unknown)
        result.append(built[key])
    return tuple(result)


def _layer(layer: Layer, kinds: _Kinds, unknown: set[str]) -> Layer:
    return replace(layer, tensors=layer_tensors(kinds, Reference(layer.tensors), unknown))


def _mtp_layer(architecture: Architecture, index: int) -> Layer:
    """What the config knows of an MTP layer: its mixers, or nothing."""
    known = architecture.mtp_layers
    return known[min(index, len(known) - 1)] if known else Layer(kind=_MTP, mixers=(), tensors=())


def _warnings(found: _Sorted, unknown: set[str], source: str) -> list[str]:
    warnings = []
    for size, what in ((found.buffer_bytes, "buffers"), (found.tied_head_bytes, "a copy of the tied head")):
        if size:
            warnings.append(f"{source} stores {what} ({format_bytes(size)}) that the model does not load: not counted.")
    if unknown:
        some = ", ".join(sorted(unknown)[:3])
        warnings.append(
            f"{source}: how many parameters {some} pack does not follow from its headers or config; "
            "bytes are exact, the parameter count is too low."
        )
    return warnings
