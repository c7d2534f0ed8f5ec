"""Eight- and four-bit floats by role: FP8 per tensor and block, FBGEMM's FP8, MXFP4."""

from planner.formats import NumberFormat, Role, Scale
from planner.readers.quantization import layouts
from planner.readers.quantization.cache import Formats
from planner.readers.quantization.integers import SKIPPED
from planner.readers.quantization.modelopt import quantized_layers
from planner.readers.quantization.scheme import StoredScheme, choices, projections
from planner.readers.quantization.settings import Settings

# What DeepSeek's own files leave in 16 bit without saying so, V3 and V4: their published counts have no scales for it.
_SKIPPED_BY_V3 = ("eh_proj", "indexer.weights_proj")
_SKIPPED_BY_V4 = (
    *("compressor.kv_proj", "compressor.gate_proj"),
    *("indexer.kv_proj", "indexer.gate_proj", "indexer.weights_proj"),
)


def fp8(settings: Settings, formats: Formats) -> StoredScheme:
    """FP8, with a scale a tile of ``weight_block_size`` or a tensor: float32, or E8M0 as DeepSeek-V4 has it.

    Configs of V4 are those with an ``expert_dtype``, which may make its experts MXFP4. With a map of
    ``quantized_layers``, what it does not name is FP8 all the same: ``ignore`` is then the map's own.
    """
    number_format = _fp8_format(settings)
    defaults = dict(projections(number_format))
    if settings.choice("expert_dtype", "fp4", "fp8") == "fp4":
        defaults[Role.EXPERT] = layouts.four_bit_floats(32)
    pairs = quantized_layers(settings)
    unsaid = _SKIPPED_BY_V4 if settings.has("expert_dtype") else _SKIPPED_BY_V3
    skipped = unsaid if pairs else settings.names(*SKIPPED) or unsaid
    return StoredScheme(defaults=defaults, choices=choices((skipped, None), *pairs), skips_unsaid=skipped is unsaid)


def _fp8_format(settings: Settings) -> NumberFormat:
    activations = (layouts.scalar(),) if settings.choice("activation_scheme", "dynamic", "static") == "static" else ()
    if not settings.has("weight_block_size"):
        return layouts.bytewise("fp8", layouts.scalar(), *activations)
    rows, columns = settings.integers("weight_block_size", length=2, minimum=1)
    name = "fp8-block" if rows == columns == 128 else f"fp8-block-{rows}x{columns}"
    scale_bytes = 1 if settings.has("expert_dtype") else layouts.FLOAT_BYTES
    return layouts.bytewise(name, Scale(rows=rows, columns=columns, bytes=scale_bytes), *activations)


def fbgemm_fp8(settings: Settings, formats: Formats) -> StoredScheme:
    """FBGEMM: a float32 scale an output row."""
    number_format = layouts.bytewise("fp8-row", Scale(columns=0, bytes=layouts.FLOAT_BYTES))
    return StoredScheme(defaults=projections(number_format), choices=choices((settings.names(*SKIPPED), None)))


def mxfp4(settings: Settings, formats: Formats) -> StoredScheme:
    """Expert weights only; their biases and everything else stay as they are.

    Source: OCP Microscaling Formats v1.0; transformers 5.24 integrations/mxfp4.py; the published gpt-oss files.
    """
    return StoredScheme(defaults={Role.EXPERT: formats["mxfp4"]}, choices=choices((settings.names(*SKIPPED), None)))
