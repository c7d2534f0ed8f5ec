"""Grouped integers: GPTQ, AWQ, AutoRound, HQQ and MLX."""

from planner.formats import NumberFormat, Role
from planner.readers.quantization import layouts
from planner.readers.quantization.cache import Formats
from planner.readers.quantization.scheme import Named, StoredScheme, choices, projections
from planner.readers.quantization.settings import Settings

SKIPPED = ("modules_to_not_convert", "ignored_layers", "ignore")
_BITS = (2, 3, 4, 5, 6, 7, 8)
_GPTQ_BITS = (2, 3, 4, 8)
"""What transformers' GPTQConfig takes; AutoRound's takes all of the others."""
_UNQUANTIZED_BITS = 16
_MARLIN = ("marlin", "marlin_24")
_PACKINGS = ("gptq", "awq")


def gptq(settings: Settings, formats: Formats) -> StoredScheme:
    """GPTQ. In GPTQModel's ``dynamic``, ``-:pattern`` leaves modules alone, ``pattern`` gives them other settings."""
    pairs: list[Named] = []
    for pattern, rule in (settings.table("dynamic") or {}).items():
        modules = ("re:" + pattern.removeprefix("-:").removeprefix("+:"),)
        skips = pattern.startswith("-:") or rule is False
        pairs.append((modules, None if skips else _gptq(settings.variant(f"dynamic.{pattern}", rule))))
    number_format = _gptq(settings)
    pairs.append((settings.names(*SKIPPED), None))
    if settings.flag("lm_head"):
        pairs.append((("lm_head",), number_format))
    only = settings.names("modules_in_block_to_quantize")
    if only:
        return StoredScheme(choices=choices(*pairs, (only, number_format)))
    return StoredScheme(defaults=projections(number_format), choices=choices(*pairs))


def _gptq(settings: Settings) -> NumberFormat:
    key = "checkpoint_format" if settings.text("checkpoint_format") else "format"
    layout = settings.choice(key, "gptq", "gptq_v2", *_MARLIN)
    has_indices = not (layout in _MARLIN or settings.flag("is_marlin_format"))
    return layouts.gptq(settings.bits("bits", *_GPTQ_BITS), settings.group_size(), has_indices=has_indices)


def awq(settings: Settings, formats: Formats) -> StoredScheme:
    """AWQ, in its first files with ``w_bit`` and ``q_group_size``."""
    bits = settings.bits("bits" if settings.has("bits") else "w_bit", 4, 8)
    group_size = settings.group_size("group_size" if settings.has("group_size") else "q_group_size")
    return StoredScheme(
        defaults=projections(layouts.awq(bits, group_size)),
        choices=choices((settings.names(*SKIPPED), None)),
        copies_head=True,
    )


def auto_round(settings: Settings, formats: Formats) -> StoredScheme:
    """AutoRound; ``extra_config`` has other settings by module, 16 bits for what is left alone."""
    pairs: list[Named] = [(settings.names(*SKIPPED), None)]
    for name, extra in settings.variants("extra_config").items():
        pairs.append(((name,), None if extra.integer("bits") >= _UNQUANTIZED_BITS else _auto_round(extra)))
    return StoredScheme(defaults=projections(_auto_round(settings)), choices=choices(*pairs))


def _auto_round(settings: Settings) -> NumberFormat:
    kind = settings.text("data_type") or "int"
    if kind == "int":
        packing = settings.text("packing_format") or "auto_gptq"
        if not packing.endswith(_PACKINGS):
            raise settings.wrong("packing_format", packing, "auto_round:auto_gptq or auto_round:auto_awq")
        if packing.endswith("awq"):
            return layouts.awq(settings.bits("bits", 4, 8), settings.group_size())
        return layouts.gptq(settings.bits("bits", *_BITS), settings.group_size())
    if kind.startswith(("mx_fp", "nv_fp")) and settings.bits("bits", 4, 8) == 4:
        scalars = (layouts.scalar(), layouts.scalar()) if kind.startswith("nv_fp") else ()
        return layouts.four_bit_floats(settings.group_size(), *scalars)
    raise settings.wrong("data_type", kind, "int, mx_fp or nv_fp with 4 bits")


def hqq(settings: Settings, formats: Formats) -> StoredScheme:
    """HQQ: one ``weight_quant_params`` for all, or one by the name of the projection."""
    skipped: Named = (settings.names("skip_modules"), None)
    table = settings.inner("quant_config")
    if table is None:
        return StoredScheme(defaults=projections(_hqq(settings)), choices=choices(skipped))
    if table.has("weight_quant_params"):
        return StoredScheme(defaults=projections(_hqq(table.required("weight_quant_params"))), choices=choices(skipped))
    by_name = ((name, tag) for name, tag in settings.variants("quant_config").items())
    return StoredScheme(
        choices=choices(skipped, *(((name,), _hqq(tag.required("weight_quant_params"))) for name, tag in by_name))
    )


def _hqq(settings: Settings) -> NumberFormat:
    """A 16-bit scale and zero point a group; 8-bit ones, where chosen, take less."""
    return layouts.grouped("hqq", settings.bits("nbits", 1, 2, 3, 4, 8), settings.group_size(), values=2)


def mlx(settings: Settings, formats: Formats) -> StoredScheme:
    """MLX: embedding and head too, with a 16-bit scale and bias a group; other settings by module, false for none."""
    pairs: list[Named] = []
    for name, value in settings.items():
        if value is False:
            pairs.append(((name,), None))
        elif isinstance(value, dict):
            pairs.append(((name,), _mlx(settings.variant(name, value))))
    roles = (Role.EXPERT, Role.LINEAR, Role.EMBEDDING, Role.HEAD)
    return StoredScheme(defaults=dict.fromkeys(roles, _mlx(settings)), choices=choices(*pairs))


def _mlx(settings: Settings) -> NumberFormat:
    mode = settings.text("mode") or "affine"
    if mode in ("mxfp4", "nvfp4"):
        return layouts.four_bit_floats(settings.group_size())
    if mode != "affine":
        raise settings.wrong("mode", mode, "affine, mxfp4 or nvfp4")
    return layouts.grouped(
        "mlx", settings.bits("bits", 2, 3, 4, 5, 6, 8), settings.group_size(), values=2, in_words=False
    )
