"""compressed-tensors: groups of modules, each with its own bits, type and strategy.

Source: https://github.com/vllm-project/compressed-tensors quantization/quant_args.py, quant_config.py and compressors/.
"""

from planner.formats import NumberFormat, Scale
from planner.readers.quantization import layouts
from planner.readers.quantization.cache import Formats, cache_format
from planner.readers.quantization.integers import SKIPPED
from planner.readers.quantization.scheme import Named, StoredScheme, choices, projections
from planner.readers.quantization.settings import Settings
from planner.records import dataclass
from planner.units import shorten

_MIXED = "mixed-precision"
_UNCOMPRESSED = "dense"
_BYTEWISE = ("float-quantized", "naive-quantized", "int-quantized")
_PACKED = "pack-quantized"


@dataclass(frozen=True, slots=True, kw_only=True)
class Groups:
    """*default* is for every projection; *named* is by module. *leaves_weights*: groups say that they have none."""

    default: NumberFormat | None
    named: list[Named]
    leaves_weights: bool
    warnings: tuple[str, ...]


def compressed_tensors(settings: Settings, formats: Formats) -> StoredScheme:
    cache, warnings = cache_format(settings.get("kv_cache_scheme"), formats)
    groups = config_groups(settings)
    written = settings.table("config_groups") or {}
    return StoredScheme(
        defaults=projections(groups.default),
        choices=choices((settings.names(*reversed(SKIPPED)), None), *groups.named),
        cache_format=cache,
        leaves_weights=groups.leaves_weights or (cache is not None and not written),
        warnings=(*warnings, *groups.warnings),
    )


def config_groups(settings: Settings) -> Groups:
    """The ``config_groups``: targets are classes (``Linear``), names or patterns; a group without any is for all."""
    default: NumberFormat | None = None
    named: list[Named] = []
    strange: list[str] = []
    groups = settings.variants("config_groups")
    for group in groups.values():
        number_format = _group_format(group)
        targets = group.names("targets") if group.has("targets") else ("Linear",)
        modules = [target for target in targets if not _is_class(target)]
        strange += [target for target in targets if _is_class(target) and number_format and "Linear" not in target]
        if any(target.endswith("Linear") for target in targets if _is_class(target)):
            default = default or number_format
        if modules:
            named.append((modules, number_format))
    plain = [_is_plain(group) for group in groups.values()]
    return Groups(
        default=default, named=named, leaves_weights=bool(plain) and all(plain), warnings=_strange_classes(strange)
    )


def _strange_classes(names: list[str]) -> tuple[str, ...]:
    if not names:
        return ()
    shown = ", ".join(shorten(name) for name in dict.fromkeys(names))
    return (f"The quantization_config is for modules of class {shown} too: these are counted unquantised.",)


def _is_plain(group: Settings) -> bool:
    """Whether *group* says that its weights are as they were trained: only activations or a cache are quantised."""
    return group.inner("weights") is None or group.text("format") == _UNCOMPRESSED


def _is_class(target: str) -> bool:
    return target[:1].isupper() and target.isidentifier()


def _group_format(group: Settings) -> NumberFormat | None:
    weights = group.inner("weights")
    if weights is None or _is_plain(group):
        return None
    layout = group.text("format")
    if layout == _MIXED:  # each group's own follows from its weights
        layout = ""
    bits, kind = weights.bits("num_bits", 2, 3, 4, 8), weights.choice("type", "int", "float") or "int"
    inputs = group.inner("input_activations")
    static = inputs is not None and _is_static(inputs)
    if kind == "float" and bits == 4:
        return _four_bit_floats(weights, layout, static)
    scale = _scale(weights)
    activations = (layouts.scalar(layouts.HALF_BYTES),) if static else ()
    symmetric = not weights.has("symmetric") or weights.flag("symmetric")
    if kind == "int" and (layout == _PACKED or (not layout and bits < 8)):
        indexed = bool(scale.columns) and weights.has("actorder")
        return layouts.with_scales(
            layouts.packed(bits, scale, zero_points=not symmetric, indices=indexed), *activations
        )
    if layout and layout not in _BYTEWISE and not layout.startswith("mxfp8"):
        raise group.wrong("format", layout, f"{_PACKED}, {', '.join(_BYTEWISE)}, nvfp4- or mxfp4-pack-quantized")
    zeros = () if symmetric else (Scale(rows=scale.rows, columns=scale.columns, bytes=1),)
    return layouts.bytewise(_bytewise_name(kind, bits, scale), scale, *zeros, *activations)


def _is_static(inputs: Settings) -> bool:
    """Whether the file has a scale for activations: also where only a block's own is found at run time, ``local``."""
    return inputs.get("dynamic") == "local" or not inputs.flag("dynamic")


def _four_bit_floats(weights: Settings, layout: str, static: bool) -> NumberFormat:
    group_size = weights.group_size() if weights.has("group_size") else 16
    if layout.startswith("mxfp4") or group_size == 32:
        return layouts.four_bit_floats(group_size)
    return layouts.four_bit_floats(group_size, layouts.scalar(), *((layouts.scalar(),) if static else ()))


def _scale(weights: Settings) -> Scale:
    """The tile of one scale; scales are kept in the model's own 16 bits."""
    strategy = weights.text("strategy") or ("group" if weights.has("group_size") else "tensor")
    size = layouts.HALF_BYTES
    match strategy:
        case "tensor":
            return Scale(rows=0, columns=0, bytes=size)
        case "channel":
            return Scale(columns=0, bytes=size)
        case "group" | "tensor_group":
            return Scale(columns=weights.group_size(), bytes=size)
        case "block":
            rows, columns = weights.integers("block_structure", length=2, minimum=1)
            return Scale(rows=rows, columns=columns, bytes=size)
    raise weights.wrong("strategy", strategy, "tensor, channel, group, tensor_group or block")


def _bytewise_name(kind: str, bits: int, scale: Scale) -> str:
    name = "fp8" if kind == "float" else f"int{bits}"
    if scale.rows == 0:
        return name
    return f"{name}-{'row' if not scale.columns else 'block' if scale.rows > 1 else f'g{scale.columns}'}"
