"""BitNet, bitsandbytes, EETQ, ExLlama's EXL2 and EXL3, AQLM and torchao."""

from planner.formats import NumberFormat, Scale
from planner.readers.quantization import layouts
from planner.readers.quantization.cache import Formats
from planner.readers.quantization.scheme import Named, StoredScheme, choices, projections
from planner.readers.quantization.settings import Settings


def bitsandbytes(settings: Settings, formats: Formats) -> StoredScheme:
    """LLM.int8, or 4-bit NF4 and FP4; ``bnb_4bit_use_double_quant`` says whether a block's absmax is quantised too."""
    kind = settings.text("bnb_4bit_quant_type") or "fp4"
    if settings.flag("load_in_8bit"):
        number_format = formats["llm-int8"]
    elif not settings.flag("load_in_4bit"):
        raise settings.wrong("load_in_4bit", settings.get("load_in_4bit"), "true, or load_in_8bit must be")
    elif kind not in ("nf4", "fp4"):
        raise settings.wrong("bnb_4bit_quant_type", kind, "nf4 or fp4")
    else:
        number_format = formats["nf4-dq" if settings.flag("bnb_4bit_use_double_quant") else kind]
    skipped = settings.names("llm_int8_skip_modules", "modules_to_not_convert")
    return StoredScheme(defaults=projections(number_format), choices=choices((skipped, None)))


def bitnet(settings: Settings, formats: Formats) -> StoredScheme:
    """BitNet: weights of −1, 0 and 1, four a byte, with a 16-bit scale; *online* ones as they were trained."""
    packed = layouts.average_bits("bitnet", 2, layouts.scalar(layouts.HALF_BYTES))
    is_online = settings.choice("quantization_mode", "offline", "online") == "online"
    number_format = None if is_online else packed
    skipped = settings.names("modules_to_not_convert")
    return StoredScheme(defaults=projections(number_format), choices=choices((skipped, None)), leaves_weights=is_online)


def eetq(settings: Settings, formats: Formats) -> StoredScheme:
    """EETQ: 8-bit integers with a 16-bit scale an output."""
    settings.choice("weights", "int8")
    number_format = layouts.bytewise("int8-row", Scale(columns=0, bytes=layouts.HALF_BYTES))
    skipped = settings.names("modules_to_not_convert")
    return StoredScheme(defaults=projections(number_format), choices=choices((skipped, None)))


def exl2(settings: Settings, formats: Formats) -> StoredScheme:
    """EXL2: bits vary by module; ``bits`` is their average, scales included."""
    return _exllama(settings, "exl2")


def exl3(settings: Settings, formats: Formats) -> StoredScheme:
    """EXL3: ``bits`` of trellis on average, and two 16-bit vectors a module."""
    return _exllama(settings, "exl3", *layouts.row_and_column_vectors())


def _exllama(settings: Settings, name: str, *scales: Scale) -> StoredScheme:
    head = layouts.average_bits(name, settings.number_within("head_bits", 1, 16, default=6), *scales)
    return StoredScheme(
        defaults=projections(layouts.average_bits(name, settings.number_within("bits", 1, 16), *scales)),
        choices=choices((("lm_head",), head)),
        unties_head=True,
    )


def aqlm(settings: Settings, formats: Formats) -> StoredScheme:
    number_format = layouts.aqlm(
        settings.bits("in_group_size", *range(1, 65)),
        settings.bits("out_group_size", *range(1, 65)),
        settings.bits("num_codebooks", *range(1, 65)),
        settings.bits("nbits_per_codebook", *range(1, 17)),
    )
    skipped = settings.names("linear_weights_not_to_quantize")
    return StoredScheme(defaults=projections(number_format), choices=choices((skipped, None)))


def torchao(settings: Settings, formats: Formats) -> StoredScheme:
    """torchao: a string with its arguments, or a serialised config class, one for all or one by module."""
    skipped: Named = (settings.names("modules_to_not_convert"), None)
    if isinstance(settings.get("quant_type"), str):
        arguments = settings.inner("quant_type_kwargs") or settings
        number_format = _torchao(settings, settings.text("quant_type"), arguments)
        return StoredScheme(defaults=projections(number_format), choices=choices(skipped))
    config = settings.required("quant_type").required("default")
    if config.text("_type") not in ("ModuleFqnToConfig", "FqnToConfig"):
        return StoredScheme(defaults=projections(_torchao_class(config)), choices=choices(skipped))
    data = config.required("_data")
    key = "module_fqn_to_config" if data.has("module_fqn_to_config") else "fqn_to_config"
    by_name = {
        name: None if value is None else _torchao_class(data.variant(f"{key}.{name}", value))
        for name, value in (data.table(key) or {}).items()
    }
    default = by_name.pop("_default", None)
    pairs = (((name,), number_format) for name, number_format in by_name.items())
    return StoredScheme(defaults=projections(default), choices=choices(skipped, *pairs))


def _torchao_class(config: Settings) -> NumberFormat:
    return _torchao(config, config.text("_type").removesuffix("Config"), config.inner("_data") or config)


def _torchao(settings: Settings, name: str, arguments: Settings) -> NumberFormat:
    """By a name in either spelling, ``int4_weight_only`` or ``Int4WeightOnly``; a row's scale is counted in 32 bit."""
    row = Scale(columns=0, bytes=layouts.FLOAT_BYTES)
    match name.replace("_", "").lower():
        case "int4weightonly":
            group_size = arguments.group_size() if arguments.has("group_size") else 128
            return layouts.grouped("torchao", 4, group_size, values=2)
        case "int8weightonly" | "int8dynamicactivationint8weight":
            return layouts.bytewise("int8-row", row)
        case "float8weightonly" | "float8dynamicactivationfloat8weight":
            return layouts.bytewise("fp8-row", row)
    raise settings.wrong("quant_type", name, "an int4, int8 or float8 type")
