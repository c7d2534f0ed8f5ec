"""NVIDIA ModelOpt: one algorithm for all, or MIXED_PRECISION with one by module.

Source: https://github.com/NVIDIA/TensorRT-Model-Optimizer/tree/5a4242fa modelopt/torch/export/quant_utils.py and
unified_export_hf.py, and published files. Scales of integers are 32-bit floats there, and those by which AWQ smooths an
input go into the norm before it, where there is one.
"""

from planner.formats import NumberFormat, Scale
from planner.readers.quantization import layouts
from planner.readers.quantization.cache import Formats, cache_format
from planner.readers.quantization.compressed_tensors import config_groups
from planner.readers.quantization.scheme import Named, StoredScheme, choices, projections
from planner.readers.quantization.settings import Settings

_MIXED = "MIXED_PRECISION"
_WITHOUT_NORM = ("o_proj", "down_proj", "experts")
"""What no norm stands directly before, so that AWQ's smoothing scales stay in the file."""


def modelopt(settings: Settings, formats: Formats) -> StoredScheme:
    """A ModelOpt config, from ``config.json`` or its sibling ``hf_quant_config.json``."""
    wanted = settings.get("kv_cache_quant_algo") or settings.get("kv_cache_scheme")
    cache, warnings = cache_format(wanted, formats)
    skipped: Named = (settings.names("exclude_modules", "ignore"), None)
    algorithm = settings.text("quant_algo")
    if algorithm == _MIXED:
        pairs = quantized_layers(settings) or config_groups(settings).named
        scheme = StoredScheme(choices=choices(skipped, *pairs), cache_format=cache, warnings=warnings)
    else:
        number_format = _algorithm(settings, algorithm) if algorithm else None
        smoothed = _algorithm(settings, algorithm, smoothed=True) if algorithm else None
        scheme = StoredScheme(
            defaults=projections(number_format),
            choices=choices(skipped, *((_WITHOUT_NORM, smoothed),) * (smoothed != number_format)),
            cache_format=cache,
            leaves_weights=number_format is None,
            warnings=warnings,
        )
    return scheme


def quantized_layers(settings: Settings) -> list[Named]:
    """The modules of the ``quantized_layers`` map by their format, one pair a format."""
    by_algorithm: dict[tuple[str, int | None, bool], tuple[list[str], NumberFormat]] = {}
    for name, layer in settings.variants("quantized_layers").items():
        algorithm = layer.text("quant_algo")
        smoothed = not set(_WITHOUT_NORM).isdisjoint(name.split("."))
        key = (algorithm, layer.optional_integer("group_size", minimum=-1), smoothed)
        if key not in by_algorithm:
            by_algorithm[key] = ([], _algorithm(layer, algorithm, smoothed))
        by_algorithm[key][0].append(name)
    return list(by_algorithm.values())


def _algorithm(settings: Settings, name: str, smoothed: bool = False) -> NumberFormat:
    """The layout that ModelOpt's export gives an algorithm's weights, scales of activations included.

    *smoothed*: AWQ's scale for each input column is in the file too.
    """
    scalar, tile = layouts.scalar(), layouts.FLOAT_BYTES
    columns = Scale(rows=0, columns=1, bytes=layouts.HALF_BYTES)
    smoothing = (columns,) if smoothed else ()
    match name:
        case "FP8":
            return layouts.bytewise("fp8", scalar, scalar)
        case "FP8_PER_CHANNEL_PER_TOKEN":
            return layouts.bytewise("fp8-row", Scale(columns=0, bytes=tile))
        case "FP8_PB_WO" | "FP8_PB_REAL":
            return layouts.bytewise("fp8-block", Scale(rows=128, columns=128, bytes=tile))
        case "NVFP4" | "W4A8_NVFP4_FP8":
            return layouts.four_bit_floats(_group_size(settings, 16), scalar, scalar)
        case "W4A16_NVFP4":
            return layouts.four_bit_floats(_group_size(settings, 16), scalar)
        case "NVFP4_AWQ":
            return layouts.four_bit_floats(_group_size(settings, 16), scalar, scalar, *smoothing)
        case "MXFP4" | "W4A8_MXFP4_FP8":
            return layouts.four_bit_floats(_group_size(settings, 32))
        case "MXFP8":
            return layouts.bytewise("mxfp8", Scale(columns=_group_size(settings, 32), bytes=1))
        case "W4A16_AWQ":
            return layouts.nibbles("int4-awq", Scale(columns=_group_size(settings, 128), bytes=tile), *smoothing)
        case "W4A8_AWQ":
            group = Scale(columns=_group_size(settings, 128), bytes=tile)
            return layouts.nibbles("int4-awq", group, scalar, scalar, *smoothing)
        case "W8A16":
            return layouts.bytewise("int8-row", Scale(columns=0, bytes=tile))
        case "W8A8_SQ_PER_CHANNEL":
            return layouts.bytewise("int8-row", Scale(columns=0, bytes=tile), scalar, columns)
    raise settings.wrong("quant_algo", name, "one of ModelOpt's known algorithms")


def _group_size(settings: Settings, default: int) -> int:
    return default if settings.get("group_size") is None else settings.group_size()
