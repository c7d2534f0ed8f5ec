"""What a GGUF reader is handed beside the file: tensor types by number, and rules by general.architecture."""

from collections.abc import Mapping
from dataclasses import fields

from planner.errors import BadPreset
from planner.formats import NumberFormat
from planner.readers.gguf.keys import GgufKeys, parse_gguf_keys
from planner.readers.gguf.states import STATES
from planner.records import dataclass

_WINDOW_KINDS = ("sliding", "chunked")


@dataclass(frozen=True, slots=True, kw_only=True)
class GgufRule:
    """What llama.cpp's code knows of one architecture and its files leave out; the default is full attention.

    *period* None: no windows; else layer i keeps a window unless it is the last of its period (*dense_first*: the
    first). *window_tokens* is the width where the file gives none, *window_block_count* the only size of model that has
    windows. *state* names the rule for recurrent layers, *parallel* says that these have attention too. *cached_layers*
    is how many layers, from the first, have caches of their own where the file does not say how many share.
    *compressed*: one key a layer in a window, and entries of blocks by ``attention.compress_ratios``. *indexed*: layers
    with experts keep a key more, by which blocks of tokens are chosen. *shares_layers*: ``attention.shared_kv_layers``
    of the last ones read earlier caches. *loops*: all layers run ``num_loops`` times, with a cache for each.
    """

    period: int | None = None
    dense_first: bool = False
    needs_pattern: bool = False
    ignores_window: bool = False
    window_tokens: int | None = None
    window_kind: str = "sliding"
    window_block_count: int | None = None
    cached_layers: int | None = None
    state: str = ""
    parallel: bool = False
    full_attention_interval: int | None = None
    compressed: bool = False
    indexed: bool = False
    shares_layers: bool = False
    loops: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GgufKnowledge:
    """*types* are formats by ggml's type number; an architecture in neither *rules* nor *refused* is unknown.

    *state_format* is what recurrent states are kept in, *cache_format* the cache unless asked otherwise.
    """

    types: Mapping[int, NumberFormat]
    rules: Mapping[str, GgufRule]
    refused: Mapping[str, str]
    keys: GgufKeys
    state_format: NumberFormat
    cache_format: NumberFormat


def parse_gguf_knowledge(table: Mapping[str, object], formats: Mapping[str, NumberFormat]) -> GgufKnowledge:
    """The knowledge in *table*, as presets/gguf.toml holds it; raises BadPreset by path."""
    architectures = _table(table, "architectures")
    types: dict[int, NumberFormat] = {}
    for number, name in _table(table, "types").items():
        if not number.isdecimal() or not isinstance(name, str) or name not in formats:
            raise BadPreset(f"gguf.toml: types.{number} must be the name of a format in formats.toml.")
        types[int(number)] = formats[name]
    full = architectures.get("full")
    if not isinstance(full, list) or not all(isinstance(name, str) for name in full):
        raise BadPreset("gguf.toml: architectures.full must be a list of names.")
    rules = dict.fromkeys(full, GgufRule())
    refused: dict[str, str] = {}
    for name, rule in _table(architectures, "rules").items():
        if name in rules:
            raise BadPreset(f"gguf.toml: {name} is in architectures.full and has a rule.")
        rules[name] = _rule(name, rule)
    for name, reason in _table(architectures, "refused").items():
        if name in rules or not isinstance(reason, str):
            raise BadPreset(f"gguf.toml: architectures.refused.{name} must be a reason, and {name} have no rule.")
        refused[name] = reason
    return GgufKnowledge(
        types=types,
        rules=rules,
        refused=refused,
        keys=parse_gguf_keys(_table(table, "keys")),
        state_format=formats["fp32"],
        cache_format=formats["fp16"],
    )


def _table(table: Mapping[str, object], key: str) -> Mapping[str, object]:
    value = table.get(key)
    if not isinstance(value, Mapping):
        raise BadPreset(f"gguf.toml: {key} must be a table.")
    return value


def _rule(name: str, table: object) -> GgufRule:
    path = f"gguf.toml: architectures.rules.{name}"
    if not isinstance(table, Mapping):
        raise BadPreset(f"{path} must be a table.")
    known = {entry.name: int if entry.default is None else type(entry.default) for entry in fields(GgufRule)}
    for key, value in table.items():
        if key not in known:
            raise BadPreset(f"{path}.{key} is not a known key.")
        if type(value) is not known[key]:
            raise BadPreset(f"{path}.{key} must be {known[key].__name__}.")
    rule = GgufRule(**table)
    if rule.state and rule.state not in STATES:
        raise BadPreset(f"{path}.state must be one of: {', '.join(STATES)}.")
    if rule.window_kind not in _WINDOW_KINDS:
        raise BadPreset(f"{path}.window_kind must be one of: {', '.join(_WINDOW_KINDS)}.")
    return rule
