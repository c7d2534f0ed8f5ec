"""A GGUF header's metadata and tensors to an Architecture."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace

from planner.architecture import Architecture, Layer, Tower
from planner.errors import BadFile, UnsupportedModel
from planner.readers.gguf.header import GgufHeader, GgufTensor, Skipped
from planner.readers.gguf.knowledge import GgufKnowledge, GgufRule
from planner.readers.gguf.layers import LayerReader, LayerTensors
from planner.readers.gguf.tensors import bytes_by_format, layer_of, layer_tensors, tower_of
from planner.readers.gguf.values import GgufValues
from planner.units import counted, format_count, shorten

_MAX_LAYERS = 4096
_Named = list[tuple[str, GgufTensor]]


def read_model(header: GgufHeader, knowledge: GgufKnowledge, *, name: str, source: str) -> Architecture:
    """The architecture of a whole model's *header*, all parts of a split file together.

    Raises UnsupportedModel for an architecture that has no cache, or whose cache cannot be bounded.
    """
    values = GgufValues(header.metadata, _architecture(header))
    if values.architecture in knowledge.refused:
        raise UnsupportedModel(f"{values.where} {knowledge.refused[values.architecture]}.")
    rule = knowledge.rules.get(values.architecture)
    by_layer, outer, towers = _sorted_tensors(header)
    number, prediction = _layer_numbers(values, by_layer, header.what)
    if rule is None and not values.has("attention.head_count"):
        raise UnsupportedModel(f"{values.where} is not known, and the file does not give its attention's head counts.")
    reader = LayerReader(values, rule, number, values.integer("block_count"), knowledge.state_format)
    active = max(values.per_layer("expert_used_count", number) or [0]) or -1
    build = _LayerBuilder(reader, by_layer, active)
    layers = tuple(build.layer(index) for index in range(number))
    mtp_layers = tuple(build.layer(index) for index in prediction)
    layers += tuple(replace(layer, tensors=()) for layer in layers) * (_loops(values, rule, number) - 1)
    by_format = bytes_by_format(header.tensors)
    if rule is None:
        knowledge.keys.check_understood(values)
    strange = knowledge.keys.strange(values)
    bounded = (*reader.warnings, *((strange,) if strange else ()))
    return Architecture(
        name=name,
        title=_title(header) or name,
        model_type=values.architecture,
        hidden_size=values.integer("embedding_length", minimum=1),
        vocab_size=_vocab_size(header, values, outer),
        max_position_embeddings=values.optional_integer("context_length", minimum=1),
        layers=layers,
        tensors=layer_tensors(outer, active),
        cache_format=knowledge.cache_format,
        towers=tuple(
            Tower(kind=kind, tensors=layer_tensors(named, -1, tower=True)) for kind, named in sorted(towers.items())
        ),
        mtp_layers=mtp_layers,
        stored_as=max(by_format, key=lambda key: by_format[key]),
        source=source,
        assumed=rule is None or bool(bounded),
        warnings=(*_warnings(values, rule is None, header), *bounded, *filter(None, [knowledge.keys.idle(values)])),
    )


class _LayerBuilder:
    """Builds equal layers once."""

    def __init__(self, reader: LayerReader, by_layer: Mapping[int, _Named], active: int) -> None:
        self._reader, self._by_layer, self._active = reader, by_layer, active
        self._built: dict[Layer, Layer] = {}

    def layer(self, index: int) -> Layer:
        named = self._by_layer.get(index, [])
        names = {_stem(name): tensor for name, tensor in named}
        widths = {name: tensor.shape[1] for name, tensor in names.items() if len(tensor.shape) > 1}
        kind, mixers = self._reader.mixers(index, LayerTensors(names=names.keys(), widths=widths))
        layer = Layer(kind=kind, mixers=mixers, tensors=layer_tensors(named, self._active))
        return self._built.setdefault(layer, layer)


def _stem(name: str) -> str:
    return name.removesuffix(".weight")


def _architecture(header: GgufHeader) -> str:
    if header.metadata.get("general.type") == "adapter":
        raise BadFile(f"{header.what} is an adapter's ('general.type'), not a model's; plan the model that it is for.")
    architecture = header.metadata.get("general.architecture")
    if not isinstance(architecture, str) or not architecture:
        hint = "; it is a later part of a split file, name the first" if "split.no" in header.metadata else ""
        raise BadFile(f"{header.what} does not name its general.architecture{hint}.")
    return architecture


def _sorted_tensors(header: GgufHeader) -> tuple[dict[int, _Named], _Named, dict[str, _Named]]:
    """Tensors by layer, around the layers, and by tower."""
    by_layer: defaultdict[int, _Named] = defaultdict(list)
    towers: defaultdict[str, _Named] = defaultdict(list)
    outer: _Named = []
    for tensor in header.tensors:
        if place := layer_of(tensor.name):
            by_layer[place[0]].append((place[1], tensor))
        elif kind := tower_of(tensor.name):
            towers[kind].append((tensor.name, tensor))
        else:
            outer.append((tensor.name, tensor))
    return by_layer, outer, towers


def _layer_numbers(values: GgufValues, by_layer: Mapping[int, _Named], what: str) -> tuple[int, list[int]]:
    """How many layers answer, and which are for prediction: the declared last ones, where the file has them as such."""
    blocks = values.integer("block_count", minimum=1)
    if blocks > _MAX_LAYERS:
        raise UnsupportedModel(f"{values.where}: {values.spelled('block_count')} is {format_count(blocks)}.")
    if not by_layer:
        raise BadFile(f"{what} has no layers: it holds a vocabulary or an adapter, not a model.")
    if max(by_layer) >= blocks:
        raise BadFile(f"{what} has tensors of layer {max(by_layer)}, but {values.spelled('block_count')} is {blocks}.")
    declared = min(values.optional_integer("nextn_predict_layers") or 0, blocks - 1)
    for index in range(blocks - declared):
        if index not in by_layer and _has_tensors(values, index, blocks):
            raise BadFile(f"{what} has no tensors of layer {index}, but {values.spelled('block_count')} is {blocks}.")
    candidates = range(blocks - declared, blocks)
    prediction = [
        index for index in candidates if any(name.startswith("nextn.") for name, _ in by_layer.get(index, ()))
    ]
    plain = [index for index in candidates if index in by_layer and index not in prediction]
    number = max(plain, default=blocks - declared - 1) + 1
    return number, [index for index in prediction if index >= number]


def _has_tensors(values: GgufValues, index: int, blocks: int) -> bool:
    """Whether a layer must have any; those without heads and without a feed-forward part need not: Nemotron-NAS."""
    sizes = (values.per_layer(key, blocks, at_least=0) for key in ("attention.head_count", "feed_forward_length"))
    return any(size is None or size[index] for size in sizes)


def _loops(values: GgufValues, rule: GgufRule | None, number: int) -> int:
    """How often a token runs through the layers."""
    loops = (values.optional_integer("num_loops", minimum=1) or 1) if rule is not None and rule.loops else 1
    if number * loops > _MAX_LAYERS:
        raise UnsupportedModel(f"{values.where}: {counted(number, 'layer')} cannot run {counted(loops, 'time')}.")
    return loops


def _vocab_size(header: GgufHeader, values: GgufValues, outer: _Named) -> int:
    """Rows of the embedding, else the declared size or the number of tokens."""
    for name, tensor in outer:
        if name == "token_embd.weight" and len(tensor.shape) == 2:
            return tensor.shape[1]
    tokens = header.metadata.get("tokenizer.ggml.tokens")
    return tokens.length if isinstance(tokens, Skipped) else values.integer("vocab_size", minimum=1)


def _title(header: GgufHeader) -> str:
    name = header.metadata.get("general.name")
    return shorten(name) if isinstance(name, str) else ""


def _warnings(values: GgufValues, is_unknown: bool, header: GgufHeader) -> list[str]:
    warnings = []
    if is_unknown:
        warnings.append(
            f"{values.where} is not known: its cache is counted as attention over every token in every layer, "
            "the most that its head counts allow."
        )
    strange = sorted({tensor.type for tensor in header.tensors if tensor.format is None})
    if strange:
        warnings.append(
            f"Tensor types {', '.join(map(str, strange))} are not known: their bytes are taken from the file's offsets."
        )
    return warnings
