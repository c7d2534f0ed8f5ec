"""A checkpoint's own quantisation: which of its tensors are stored in which format."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache

from planner.architecture import Architecture, Layer, Tensor, main_format
from planner.errors import UnsupportedModel
from planner.formats import NumberFormat, Role
from planner.readers.quantization import compressed_tensors, floats, integers, modelopt, others, quark
from planner.readers.quantization.cache import Formats
from planner.readers.quantization.module_names import Parts, canonical
from planner.readers.quantization.module_sets import Place
from planner.readers.quantization.scheme import MATRICES, StoredScheme
from planner.readers.quantization.settings import Settings
from planner.units import format_bytes, shorten

_METHODS: Mapping[str, Callable[[Settings, Formats], StoredScheme]] = {
    "aqlm": others.aqlm,
    "auto-round": integers.auto_round,
    "awq": integers.awq,
    "bitnet": others.bitnet,
    "bitsandbytes": others.bitsandbytes,
    "compressed-tensors": compressed_tensors.compressed_tensors,
    "eetq": others.eetq,
    "exl2": others.exl2,
    "exl3": others.exl3,
    "fbgemm_fp8": floats.fbgemm_fp8,
    "fp8": floats.fp8,
    "gptq": integers.gptq,
    "hqq": integers.hqq,
    "mlx": integers.mlx,
    "modelopt": modelopt.modelopt,
    "mxfp4": floats.mxfp4,
    "quark": quark.quark,
    "torchao": others.torchao,
}
_ALIASES = {"intel/auto-round": "auto-round", "modelopt_fp4": "modelopt", "gptq_marlin": "gptq", "awq_marlin": "awq"}
_MISSING = "missing"


def apply_quantization(
    architecture: Architecture, quantization: Mapping[str, object], formats: Formats
) -> Architecture:
    """*architecture* with its tensors as a ``quantization_config``, or a file beside it, stores them.

    What is not understood is counted unquantised, an upper bound, with ``stored_assumed`` and a warning that says why.
    """
    method = _method(quantization)
    try:
        scheme = _read(method, quantization, formats)
        stored = _stored(architecture, scheme)
        if scheme.leaves_weights or _formats(stored) != _formats(architecture):
            return stored
        raise UnsupportedModel(
            f"quantization_config ({shorten(method)}) names none of this model's weights; give --weights a format to "
            "plan for it."
        )
    except UnsupportedModel as error:
        what = "The checkpoint's quantisation is not understood: its weights are counted unquantised, an upper bound."
        return replace(architecture, warnings=(*architecture.warnings, f"{what} {error}"), stored_assumed=True)


def _read(method: str, quantization: Mapping[str, object], formats: Formats) -> StoredScheme:
    reader = _METHODS.get(method)
    if method == _MISSING:
        raise UnsupportedModel(
            "quantization_config has no quant_method, and its other keys fit several; add it, such as 'gptq', 'awq' or "
            "'mlx', or give --weights a format to plan for it."
        )
    if reader is None:
        raise UnsupportedModel(
            f"quant_method {shorten(method)!r} is not known; give --weights a format to plan for it."
        )
    return reader(Settings(quantization, method), formats)


def _method(quantization: Mapping[str, object]) -> str:
    """The ``quant_method``, or which one the keys of a config without it belong to."""
    method = quantization.get("quant_method")
    if isinstance(method, str) and method:
        return _ALIASES.get(method.lower(), method.lower())
    if "quant_algo" in quantization or "kv_cache_quant_algo" in quantization:
        return "modelopt"
    if "load_in_4bit" in quantization or "load_in_8bit" in quantization:
        return "bitsandbytes"
    if "config_groups" in quantization:
        return "compressed-tensors"
    if "bits" in quantization and "group_size" in quantization and _is_mlx(quantization):
        return "mlx"
    return str(method or _MISSING)


def _is_mlx(quantization: Mapping[str, object]) -> bool:
    """Whether nothing is there but what MLX writes, and of that a mode or settings by module.

    Bits and a group size alone may be what is left of GPTQ or AWQ, whose embedding and head are larger.
    """
    own = {key: value for key, value in quantization.items() if key not in ("bits", "group_size", "quant_method")}
    return bool(own) and all(
        key == "mode" or (value is False and ("." in key or key == "lm_head")) or isinstance(value, dict)
        for key, value in own.items()
    )


def _stored(architecture: Architecture, scheme: StoredScheme) -> Architecture:
    number = len(architecture.layers)
    built: dict[tuple[int, ...], Layer] = {}
    layers = tuple(_layer(layer, scheme, built, index) for index, layer in enumerate(architecture.layers))
    most = main_format(layers)
    return replace(
        architecture,
        layers=layers,
        mtp_layers=tuple(
            _layer(layer, scheme, built, number + index, prediction=index)
            for index, layer in enumerate(architecture.mtp_layers)
        ),
        tensors=tuple(replace(tensor, stored=_format(tensor, scheme)) for tensor in _with_head(architecture, scheme)),
        cache_format=scheme.cache_format or architecture.cache_format,
        stored_as=architecture.stored_as if most is None else most.name,
        warnings=(
            *architecture.warnings,
            *scheme.warnings,
            *_copy_warning(architecture, scheme),
            *_skipped_in_vain(architecture, scheme),
        ),
    )


def _formats(architecture: Architecture) -> set[NumberFormat]:
    """Every format in which something of *architecture* is stored."""
    layers = {id(layer): layer for layer in (*architecture.layers, *architecture.mtp_layers)}.values()
    inside = (tensor for layer in layers for tensor in layer.tensors)
    return {tensor.stored for tensor in (*architecture.tensors, *inside)}


def _layer(
    layer: Layer, scheme: StoredScheme, built: dict[tuple[int, ...], Layer], index: int, prediction: int | None = None
) -> Layer:
    """*layer* as it is stored at *index*; layers that are stored alike stay one object."""
    formats = [_format(tensor, scheme, index, prediction) for tensor in layer.tensors]
    key = (id(layer), *map(id, formats))
    if key not in built:
        pairs = zip(layer.tensors, formats, strict=True)
        built[key] = replace(layer, tensors=tuple(replace(tensor, stored=stored) for tensor, stored in pairs))
    return built[key]


def _format(
    tensor: Tensor, scheme: StoredScheme, layer: int | None = None, prediction: int | None = None
) -> NumberFormat:
    if tensor.role not in MATRICES:
        return tensor.stored
    return scheme.format_of(tensor, Place(modules=_modules(tensor.name), layer=layer, prediction=prediction))


@lru_cache(maxsize=4096)
def _modules(name: str) -> tuple[Parts, ...]:
    return canonical(tuple(name.split(".")))


def _tied_embedding(architecture: Architecture) -> Tensor | None:
    """The embedding of a model that has no head besides."""
    tensors = architecture.tensors
    embedding = next((tensor for tensor in tensors if tensor.role is Role.EMBEDDING), None)
    return None if any(tensor.role is Role.HEAD for tensor in tensors) else embedding


def _with_head(architecture: Architecture, scheme: StoredScheme) -> tuple[Tensor, ...]:
    """The tensors outside the layers, and a head where the quantiser writes one although the model's is tied."""
    embedding = _tied_embedding(architecture)
    if not scheme.unties_head or embedding is None:
        return architecture.tensors
    return (*architecture.tensors, replace(embedding, name="lm_head.weight", role=Role.HEAD))


def _skipped_in_vain(architecture: Architecture, scheme: StoredScheme) -> tuple[str, ...]:
    """That what the file leaves unquantised in the layers is nothing that this model has."""
    skipped = [choice.modules for choice in scheme.choices if choice.format is None and choice.modules.in_layers]
    if (
        scheme.skips_unsaid
        or not skipped
        or any(place in modules for modules in skipped for place in _places(architecture))
    ):
        return ()
    return (
        "The quantization_config leaves modules unquantised, and none that it names is in this model's layers: all of "
        "them are counted quantised, so that the file may be larger.",
    )


def _places(architecture: Architecture) -> Iterator[Place]:
    """Where every tensor of the layers is, whatever it is for."""
    for index, layer in enumerate(architecture.layers):
        yield from (Place(modules=_modules(tensor.name), layer=index) for tensor in layer.tensors)
    for index, layer in enumerate(architecture.mtp_layers):
        number = len(architecture.layers) + index
        yield from (Place(modules=_modules(tensor.name), layer=number, prediction=index) for tensor in layer.tensors)


def _copy_warning(architecture: Architecture, scheme: StoredScheme) -> tuple[str, ...]:
    embedding = _tied_embedding(architecture)
    if not scheme.copies_head or embedding is None:
        return ()
    size = format_bytes(embedding.stored.bytes_for(embedding.columns, embedding.rows))
    return (f"Such files store a copy of the tied head ({size}) that the model does not load: not counted.",)
