"""From what a log says of model, card and flags to what ``plan`` would be asked."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from enum import StrEnum

from planner import presets
from planner.checkpoint_ids import identify
from planner.choices import Choices
from planner.engine_data import settle
from planner.engines import ENGINES
from planner.errors import PlannerError
from planner.logs.readings import Start
from planner.records import dataclass
from planner.units import GIB

CACHE_DTYPES = {
    "bfloat16": "bf16",
    "float16": "fp16",
    "half": "fp16",
    "f16": "fp16",
    "f32": "fp32",
    **dict.fromkeys(("fp8_e4m3", "fp8_e5m2", "float8_e4m3fn", "float8_e5m2"), "fp8"),
    "nvfp4": "nvfp4-kv",
}
"""Engines' names of cache formats where ours differ."""
COUNTS = {
    "tensor_parallel_size": "tensor_parallel",
    "pipeline_parallel_size": "pipeline_parallel",
    "data_parallel_size": "data_parallel",
    "tp_size": "tensor_parallel",
    "pp_size": "pipeline_parallel",
    "dp_size": "data_parallel",
    "ep_size": "expert_parallel",
}
CONTEXT = ("max_model_len", "max_seq_len", "context_length", "session_len", "n_ctx_seq", "n_ctx")
SLOTS = "n_seq_max"
DRAFT_METHODS = {"mtp": "mtp", "ngram": "ngram", "eagle": None, "eagle3": None, "draft_model": None}
_WHOLE = re.compile(r"\d{1,12}")


class Lack(StrEnum):
    """What a log does not say, or says of something that is not known here."""

    ENGINE = "engine"
    MODEL = "model"
    CARD = "card"


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """*choices* for the planner, or why there are none: *missing* says what to add, *lacks* is it in a word.

    *notes*: what was concluded.
    """

    choices: Choices | None
    missing: str = ""
    lacks: Lack | None = None
    notes: tuple[str, ...] = ()


def choices_from_log(start: Start, given: Choices) -> Told:
    """What *start* says, in *given*: what is stated there (model, card, weights, …) comes first."""
    if start.engine not in ENGINES:
        missing = f"The planner has no rules for {start.engine}: readings alone are shown."
        return Told(choices=None, missing=missing, lacks=Lack.ENGINE)
    model, weights, notes = given.model, given.weights, []
    if not model:
        named = identify(start.model)
        if named is None:
            shown = repr(start.model) if start.model else "no model that it names"
            missing = f"The log is of {shown}, which no preset has: give --model."
            return Told(choices=None, missing=missing, lacks=Lack.MODEL)
        model, found = named
        weights = weights or found or _made_while_loading(start)
        notes.append(f"{start.model} is taken as {model} in {weights or 'its own format'}.")
    device, memory = given.device, given.memory
    if device is None and memory is None:
        card = start.most("card")
        device = device_named(start.settings.get("device", ""))
        if device is None and card is not None:
            memory = f"{card.value / GIB:.2f}GiB"
            notes.append(f"The card has {memory}, as printed.")
        elif device is None and (size := _card_from_free(start)) is not None:
            memory = f"{size / GIB:.2f}GiB"
            notes.append(
                f"The log names no card: with what was free before loading it is taken to have {memory}; give --device "
                "for the card itself."
            )
        elif device is None:
            missing = "The log does not say how large the card is: give --device or --memory."
            return Told(choices=None, missing=missing, lacks=Lack.CARD, notes=tuple(notes))
    told = replace(given, model=model, weights=weights, device=device, memory=memory, engine=start.engine)
    told = replace(told, engine_version=given.engine_version or _version(start))
    return Told(choices=_with_settings(told, start), notes=tuple(notes))


def device_named(text: str) -> str | None:
    """The device that a driver calls *text*: by its title, or by an alias without the maker's names."""
    wanted = text.lower().removeprefix("nvidia ").strip()
    if not wanted:
        return None
    for device in presets.devices().values():
        if device.title.lower().removeprefix("nvidia ") == wanted or "-".join(_model_of(wanted)) in device.aliases:
            return device.name
    return None


def _model_of(name: str) -> list[str]:
    return [word for word in name.split() if word not in ("geforce", "amd", "radeon")]


def _card_from_free(start: Start) -> int | None:
    """SGLang's card: what was free before loading, and what is usually gone by then."""
    free = start.least("free")
    if start.engine != "sglang" or free is None:
        return None
    spread = settle(presets.engine_data(start.engine), start.engine, _version(start), ()).rule("context_gib")
    place = "parallel" if start.settings.get("tp_size", "1") != "1" else "single"
    return int(free.value + spread[place]["expected"] * GIB)


def _made_while_loading(start: Start) -> str | None:
    made: Mapping[str, str] = presets.checkpoint_names()["made_while_loading"]
    return made.get(start.settings.get("quantization", ""))


def _version(start: Start) -> str | None:
    """The version as the rules are ordered, ``None`` where the log says none or another kind of number."""
    text = f"b{start.version}" if start.version.isdigit() else start.version.lstrip("v")
    try:
        presets.engine_data(start.engine).number(text)
    except PlannerError:
        return None
    return text


def _with_settings(told: Choices, start: Start) -> Choices:
    """The log's settings as options of ``plan`` and ``--set``; what is stated there already stays."""
    found = dict(start.settings)
    if SLOTS in found:
        found["n_parallel"] = found.pop(SLOTS)
    if found.get("enable_dp_attention") == "True":
        found |= _attention_replicas(found)
    for theirs, ours in COUNTS.items():
        if getattr(told, ours) is None and _is_whole(found.get(theirs, "")) and int(found[theirs]) > 1:
            told = replace(told, **{ours: int(found[theirs])})  # type: ignore[arg-type]
    if start.engine == "sglang" and not _drafts_with_mtp(found, told.model):
        found.pop("speculative_algorithm", None)
    if found.get("enable_expert_parallel") == "True" and told.expert_parallel is None:
        told = replace(told, expert_parallel=(told.tensor_parallel or 1) * (told.data_parallel or 1))
    context = next((found[name].replace(",", "") for name in CONTEXT if name in found), "")
    if told.context is None and _is_whole(context):
        told = replace(told, context=int(context))
    dtype = found.get("kv_cache_dtype") or found.get("cache_type_k") or "auto"
    if told.kv_cache is None and told.kv_cache_k is None and dtype != "auto":
        name = CACHE_DTYPES.get(dtype, dtype)
        told = replace(told, kv_cache=name) if name in presets.formats() else told
    return replace(told, set=(*_settings(found, told), *told.set))


def _attention_replicas(found: Mapping[str, str]) -> dict[str, str]:
    """SGLang's sizes as a plan has them: its ``tp_size`` counts the replicas of attention, which share experts."""
    tensor, replicas = found.get("tp_size", ""), found.get("dp_size", "")
    if not _is_whole(tensor) or not _is_whole(replicas) or int(tensor) % int(replicas):
        return {}
    experts = found.get("ep_size", "1")
    return {"tp_size": str(int(tensor) // int(replicas)), "ep_size": tensor if experts == "1" else experts}


def _drafts_with_mtp(found: Mapping[str, str], model: str) -> bool:
    """Whether what drafts is known here: the text so far, or layers of the model itself."""
    algorithm, tokens = found.get("speculative_algorithm", "").lower(), found.get("speculative_num_draft_tokens", "")
    if not _is_whole(tokens):
        return False
    if algorithm == "ngram":
        return True
    try:
        return algorithm in ("eagle", "nextn") and bool(presets.load_preset(model).mtp_layers)
    except PlannerError:
        return False


def _settings(found: Mapping[str, str], told: Choices) -> Iterator[str]:
    """Each setting that the engine's rules know, as the log has it, unless ``--set`` names it."""
    known = presets.engine_data(told.engine).settings
    stated = {text.partition("=")[0].strip().replace("-", "_") for text in told.set}
    method = found.get("method", "")
    for name, text in found.items():
        if name not in known or name in stated or text in ("None", ""):
            continue
        if name == "num_speculative_tokens" and DRAFT_METHODS.get(method, "mtp") is None:
            continue
        try:
            known[name].parse(text)
        except PlannerError:
            continue
        yield f"{name}={text}"
    if "num_speculative_tokens" in found and DRAFT_METHODS.get(method):
        yield f"speculative_method={DRAFT_METHODS[method]}"


def _is_whole(text: str) -> bool:
    return _WHOLE.fullmatch(text) is not None and int(text) > 0
