"""AMD Quark: a config for all, others by module pattern.

Source: https://quark.docs.amd.com, quark/torch/quantization/config, and the layouts of its Hugging Face export.
"""

from planner.formats import NumberFormat, Scale
from planner.readers.quantization import layouts
from planner.readers.quantization.cache import Formats, cache_format
from planner.readers.quantization.scheme import Named, StoredScheme, choices, projections
from planner.readers.quantization.settings import Settings

_KEYS = ("k_proj", "kv_proj", "kv_a_proj_with_mqa")


def quark(settings: Settings, formats: Formats) -> StoredScheme:
    """``global_quant_config`` for all, ``layer_quant_config`` by pattern, ``exclude`` for what is left alone."""
    pairs: list[Named] = [(settings.names("exclude"), None)]
    wanted = ""
    for name, layer in settings.variants("layer_quant_config").items():
        pairs.append(((name,), _format(layer)))
        if name.endswith(_KEYS):
            wanted = _cache_wanted(layer) or wanted
    cache, warnings = cache_format(wanted, formats)
    return StoredScheme(
        defaults=projections(_format(settings.required("global_quant_config"))),
        choices=choices(*pairs),
        cache_format=cache,
        warnings=warnings,
    )


def _cache_wanted(layer: Settings) -> str:
    """What the output of a key projection is kept in."""
    output = layer.inner("output_tensors")
    dtype = output.text("dtype") if output else ""
    return "FP8" if dtype.startswith("fp8") else dtype


def _format(config: Settings) -> NumberFormat | None:
    weight = config.inner("weight")
    if weight is None:
        return None
    dtype, strategy = weight.text("dtype"), weight.text("qscheme")
    inputs = config.inner("input_tensors")
    static = inputs is not None and not inputs.flag("is_dynamic")
    activations = (layouts.scalar(),) if static else ()
    name = "fp8" if dtype.startswith("fp8_") else "int8"
    match dtype, strategy:
        case (("fp8_e4m3" | "fp8_e5m2" | "int8" | "uint8"), "per_tensor"):
            return layouts.bytewise(name, layouts.scalar(), *activations)
        case (("fp8_e4m3" | "fp8_e5m2" | "int8" | "uint8"), "per_channel"):
            return layouts.bytewise(f"{name}-row", Scale(columns=0, bytes=layouts.FLOAT_BYTES), *activations)
        case (("int4" | "uint4"), ("per_group" | "per_channel")):
            group_size = weight.group_size() if strategy == "per_group" else 0
            return layouts.with_scales(layouts.awq(4, group_size), *activations)
        case "fp4", "per_group":
            return layouts.four_bit_floats(weight.group_size())
    raise weight.wrong("dtype", f"{dtype} {strategy}", "fp8, int8, int4 or fp4 with a known qscheme")
