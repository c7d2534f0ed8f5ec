"""Whether a checkpoint is of the model that its config describes, and all of it: layers, projections, and the rest."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from math import prod

from planner.architecture import Architecture, Tensor
from planner.errors import BadFile
from planner.formats import Role
from planner.readers.checkpoint.layer import StoredKind
from planner.readers.quantization.module_names import Parts, canonical
from planner.units import counted, format_count

_CHECKED = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj", "embed_tokens", "lm_head")
# Two of these are one projection with a gate in some classes, and without in others.
_AMBIGUOUS = ("dense_h_to_4h", "c_fc", "fc1", "w1", "w2", "w3")
_MATRICES = (Role.LINEAR, Role.EXPERT, Role.EMBEDDING, Role.HEAD)
_PREDICTING = frozenset(("enorm", "hnorm", "eh_proj", "shared_head", "nextn"))
"""What only the layers for multi-token prediction have."""

_MOST_PACKED_BITS = 8

_Kinds = Mapping[StoredKind, int]


def check_layers(architecture: Architecture, layers: Mapping[int, _Kinds], outer: _Kinds, source: str) -> None:
    """Raise BadFile where something of the model is missing in its files, or of another shape than its config says."""
    # Stacks that run several times number their layers each from 0.
    has_loops = any(layer.mixers and not layer.tensors for layer in architecture.layers)
    expected: dict[int, Counter[Parts]] = {}
    found: dict[int, set[Parts]] = {}
    for index, layer in enumerate(architecture.layers):
        kinds = layers.get(index, {})
        if layer.tensors and not kinds:
            raise BadFile(_not_one_model(f"{source} has no tensors of layer {index}", architecture))
        if has_loops:
            continue
        if id(layer) not in expected:
            expected[id(layer)] = _described(layer.tensors)
        of_layer = _compared(kinds, expected[id(layer)], architecture, f"layer {index} of {source}")
        usual = found.setdefault(id(layer), of_layer)
        for module in sorted(usual ^ of_layer):
            raise BadFile(f"{source} has {'.'.join(module)} in some layers only: it is not the whole model.")
    _compared(outer, _described(architecture.tensors), architecture, source)
    for role, what in (
        (Role.EMBEDDING, "embedding"),
        (Role.HEAD, "head, and the config's is not tied to the embedding"),
    ):
        wanted = [tensor.elements for tensor in architecture.tensors if tensor.role is role]
        # A matrix of its size under a name that is not known may be it.
        if wanted and not any(
            kind.role is role or (kind.role is Role.LINEAR and _elements(kind) in (0, wanted[0])) for kind in outer
        ):
            raise BadFile(f"{source} has no {what}: it is not the whole model; give every file of it.")


def check_beyond(architecture: Architecture, beyond: Mapping[int, _Kinds], source: str) -> None:
    """Raise BadFile for layers after the model's last that are not for multi-token prediction.

    *beyond* counts from there. They are, if the config has so many, or their tensors are such as no other layer has.
    """
    for index, kinds in sorted(beyond.items()):
        names = {part for kind in kinds for part in kind.name.split(".")}
        if index >= len(architecture.mtp_layers) and names.isdisjoint(_PREDICTING):
            number = len(architecture.layers) + index
            raise BadFile(_not_one_model(f"{source} has tensors of layer {number}", architecture))


def _not_one_model(what: str, architecture: Architecture) -> str:
    return (
        f"{what}, and {architecture.name or 'the config'} has {counted(len(architecture.layers), 'layer')}: config "
        "and weights are not of one model."
    )


def _described(tensors: Iterable[Tensor]) -> Counter[Parts]:
    """Elements by module, of the modules that are compared."""
    described: Counter[Parts] = Counter()
    for tensor in tensors:
        modules = canonical(tuple(tensor.name.split(".")))
        if tensor.role in _MATRICES and len(modules) == 1 and modules[0][-1] in _CHECKED:
            described[modules[0]] += tensor.elements
    return described


def _compared(kinds: _Kinds, expected: Counter[Parts], architecture: Architecture, where: str) -> set[Parts]:
    """The *expected* modules that *kinds* have; raises where these are of other sizes."""
    found: defaultdict[tuple[Parts, ...], int] = defaultdict(int)
    hidden_bits: Counter[tuple[Parts, ...]] = Counter()
    for kind, count in kinds.items():
        parts = tuple(kind.name.split("."))
        modules = canonical(parts)
        if kind.role not in _MATRICES or not expected.keys() >= set(modules) or not set(parts).isdisjoint(_AMBIGUOUS):
            continue
        found[modules] += _elements(kind) * count
        if kind.shape is None:
            hidden_bits[modules] += 8 * kind.packed_bytes * count
    for modules, elements in found.items():
        wanted = sum(expected[module] for module in modules)
        if modules in hidden_bits:
            # Of a packing that hides its shape only the bits of an element can be told.
            left = max(0, wanted - elements)
            is_right = left <= hidden_bits[modules] <= _MOST_PACKED_BITS * left
        else:
            is_right = elements in (0, wanted) or (architecture.assumed and elements < wanted)
        if not is_right:
            bits = hidden_bits[modules]
            size = f"{format_count(bits)} bits" if bits else f"{format_count(elements)} elements"
            raise BadFile(
                f"{where} has {size} in {'.'.join(modules[0])}, where the config's dimensions make "
                f"{format_count(wanted)} elements: config and weights are not of one model."
            )
    return {module for modules in found for module in modules}


def _elements(kind: StoredKind) -> int:
    return 0 if kind.shape is None else prod(kind.shape)
