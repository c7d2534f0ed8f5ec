"""Reads the address: what a link asked for, told from what is possible, before any widget does."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from planner import format_presets, presets
from planner.bandwidth import parse_bandwidth
from planner.catalogue.library_names import meant_by
from planner.catalogue.links import link_names
from planner.deployment import MAX_PARALLEL, MAX_TOKENS, MAX_USERS
from planner.draft import MAX_DRAFT_TOKENS
from planner.engines import find_engine
from planner.errors import PlannerError
from planner.formats import find_format
from planner.inputs.choices import Choices, choose_cards
from planner.inputs.custom import read_custom
from planner.inputs.format_choices import weights_in_name
from planner.inputs.model_files import known_model
from planner.readers.quantization.named import named_format
from planner.settings.data import settle
from planner.units import parse_bytes, shorten
from ui import form

WHOLE_NUMBERS = {
    "context": MAX_TOKENS,
    "users": MAX_USERS,
    "draft_pass": MAX_DRAFT_TOKENS,
    **dict.fromkeys((*form.OPTIONAL, "replicas"), MAX_PARALLEL),
}
FLAGS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
SIZES = ("memory", "overhead", "host_memory")
NOTES = "_address_notes"
"""Where the session keeps what a link asked for in vain, until the reader changes something."""


def read_address(query: Mapping[str, str]) -> tuple[dict[str, Any], list[str]]:
    """The fields that *query* sets, as the widgets spell them, and a sentence for each value that is not possible.

    Names, aliases and any case are understood for models and cards; other people's parameters are left alone.
    """
    fields: dict[str, Any] = {}
    problems: list[str] = []
    for key in form.DEFAULTS.keys() & query.keys():
        value = query[key].strip()
        if key == "model" and value not in form.model_names():
            value = meant_by(query.get("engine", "").lower(), value)
        try:
            fields |= _READERS[key](key, value)
        except PlannerError:
            problems.append(_problem(key, value))
    problems += _engine_problems(fields)
    if "memory" in fields and "device" not in query:
        fields["device"] = form.ANOTHER_SIZE
    return fields, sorted(problems)


def in_address(value: Any) -> str:
    """A field's value as the address has it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _engine_problems(fields: dict[str, Any]) -> Iterator[str]:
    """Version and settings must be the engine's own; what is not is taken out of *fields*."""
    data = presets.engine_data(fields.get("engine", form.DEFAULTS["engine"]))
    for key in ("engine_version", "set"):
        version, given = fields.get("engine_version") or None, form.split_settings(fields.get("set", ""))
        try:
            settle(data, data.name, version, given if key == "set" else ())
        except PlannerError:
            yield _problem(key, str(fields.pop(key)))


def _problem(key: str, value: str) -> str:
    default = form.DEFAULTS[key]
    now = f"it is back at {_shown(default)}" if default else "it is left out"
    return f"This link asked for **{key}** = {_quoted(value)}, which is not possible; {now}."


def model_state(name: str) -> dict[str, str]:
    """The fields for a model by its title, or by whatever it is called elsewhere; a file's tag says its weights too."""
    if name in form.model_names():
        return {"model": name}
    stored = weights_in_name(name)
    return {"model": known_model(name).title, **(form.weights_state(stored) if stored else {})}


def _model(key: str, value: str) -> dict[str, Any]:
    found = model_state(value)
    return found if key == "model" else {key: found["model"]}


def _device(key: str, value: str) -> dict[str, Any]:
    if value in form.device_names() or value == form.ANOTHER_SIZE:
        return {key: value}
    return {key: presets.find_device(value).title}


def _whole_number(key: str, value: str) -> dict[str, Any]:
    digits = value.replace(",", "").replace("_", "")
    if not (digits.isascii() and digits.isdigit() and len(digits) < 20 and 1 <= int(digits) <= WHOLE_NUMBERS[key]):
        raise PlannerError(f"{key} = {value} is not possible.")
    return {key: int(digits)}


def _size(key: str, value: str) -> dict[str, Any]:
    if (value and value != form.NONE) or key == "memory":
        parse_bytes(value, key)
    return {key: value}


def _weights(key: str, value: str) -> dict[str, Any]:
    if value in form.COMMON_WEIGHTS:
        return {key: value}
    if value == "checkpoint":
        return {key: form.AS_PUBLISHED}
    return form.weights_state(_weights_name(value))


def _weights_format(key: str, value: str) -> dict[str, Any]:
    return {key: _weights_name(value)}


def _weights_name(value: str) -> str:
    """The name of a format or GGUF file type; for a checkpoint's own, ``awq-4bit-g128``, the one of as many bits."""
    name = value.lower()
    if name in form.format_names("weights"):
        return name
    if (own := named_format(name)) is not None:
        known = (each for each in format_presets.formats().values() if each.weights)
        alike = {each.name for each in known if each.bits_per_element == own.bits_per_element}
        if len(alike) == 1:
            return alike.pop()
    return find_format(format_presets.formats(), value, "weights").name


def _cache_format(key: str, value: str) -> dict[str, Any]:
    return {key: find_format(format_presets.formats(), value, "cache").name}


def _cache(key: str, value: str) -> dict[str, Any]:
    if value in form.COMMON_CACHES:
        return {key: value}
    return form.cache_state(find_format(format_presets.formats(), value, "cache").name)


def _one_cache(key: str, value: str) -> dict[str, Any]:
    return {key: value} if value == form.SAME else _cache_format(key, value)


def _quantize(key: str, value: str) -> dict[str, Any]:
    if value not in form.QUANTIZE:
        raise PlannerError(f"{key} = {value} is not known.")
    return {key: value}


def _engine(key: str, value: str) -> dict[str, Any]:
    return {key: find_engine(value.lower().replace("-", "_").replace(".", "_")).name}


def _profile(key: str, value: str) -> dict[str, Any]:
    if value not in form.profile_names():
        raise PlannerError(f"{key} = {value} is not saved here.")
    return {key: value}


def _devices(key: str, value: str) -> dict[str, Any]:
    if value:
        choose_cards(Choices(model="", devices=value))
    return {key: value}


def _flag(key: str, value: str) -> dict[str, Any]:
    if value.lower() not in FLAGS:
        raise PlannerError(f"{key} = {value} is neither true nor false.")
    return {key: FLAGS[value.lower()]}


def _interconnect(key: str, value: str) -> dict[str, Any]:
    if value not in (form.USUAL, *link_names()):
        raise PlannerError(f"{key} = {value} is not known.")
    return {key: value}


def _bandwidth(key: str, value: str) -> dict[str, Any]:
    if value:
        parse_bandwidth(value)
    return {key: value}


def _draft(key: str, value: str) -> dict[str, Any]:
    return {key: value.lower()} if value.lower() in form.DRAFTS else _model(key, value)


def _draft_weights(key: str, value: str) -> dict[str, Any]:
    return {key: value if value == form.AS_PUBLISHED else _weights_name(value)}


def _as_written(key: str, value: str) -> dict[str, Any]:
    return {key: value}


def _custom(key: str, value: str) -> dict[str, Any]:
    if value:
        read_custom(value)
    return {key: value}


_READERS: Mapping[str, Callable[[str, str], dict[str, Any]]] = {
    "model": _model,
    "device": _device,
    "weights": _weights,
    "weights_format": _weights_format,
    "quantize": _quantize,
    "engine": _engine,
    "engine_version": _as_written,
    "set": _as_written,
    "profile": _profile,
    "custom": _custom,
    "devices": _devices,
    "display": _flag,
    "interconnect": _interconnect,
    "bandwidth": _bandwidth,
    "draft": _draft,
    "draft_weights": _draft_weights,
    "kv_cache": _cache,
    "kv_cache_format": _cache_format,
    "kv_cache_k": _one_cache,
    "kv_cache_v": _one_cache,
    **dict.fromkeys(SIZES, _size),
    **dict.fromkeys(WHOLE_NUMBERS, _whole_number),
}


def _quoted(value: str) -> str:
    """A stranger's text as code, so that nothing in it is read as markup."""
    return f"`{shorten(value).replace('`', '’')}`" if value else "nothing"


def _shown(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)
