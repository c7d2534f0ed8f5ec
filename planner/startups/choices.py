"""From what a log says of model, card and flags to what ``plan`` would be asked."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from planner import format_presets, presets
from planner.engines import ENGINES
from planner.errors import PlannerError
from planner.inputs.choices import Choices, choose
from planner.launch.gguf import is_file
from planner.logs.devices import LLAMA_CPP
from planner.logs.ranks import workers
from planner.logs.readings import Start
from planner.records import dataclass
from planner.startups.cards import TooLarge, cards_of
from planner.startups.concluded_share import concluded_share
from planner.startups.lacks import (
    Lack,
    ask_for_card,
    ask_for_count,
    ask_for_model,
    ask_for_weights,
    no_rules,
    out_of_range,
)
from planner.startups.model import FULL, READS_PROJECTOR, lacks_projector, model_of, shown_name, stored_as
from planner.startups.releases import dated, for_card, is_of_llama_cpp, version_of

CACHE_DTYPES = {
    "bfloat16": "bf16",
    "float16": "fp16",
    "half": "fp16",
    "f16": "fp16",
    "f32": "fp32",
    **dict.fromkeys(("fp8_e4m3", "fp8_e5m2", "fp8_inc", "fp8_ds_mla", "float8_e4m3fn", "float8_e5m2"), "fp8"),
    **dict.fromkeys(("nvfp4", "nvfp4_4over6"), "nvfp4-kv"),
}
"""Engines' names of cache formats where ours differ."""
COUNTS = {
    "tensor_parallel_size": "tensor_parallel",
    "pipeline_parallel_size": "pipeline_parallel",
    "data_parallel_size": "data_parallel",
    "tp": "tensor_parallel",
    "tp_size": "tensor_parallel",
    "pp_size": "pipeline_parallel",
    "dp_size": "data_parallel",
    "ep_size": "expert_parallel",
}
CONTEXT = ("max_model_len", "max_seq_len", "context_length", "session_len", "n_ctx_seq", "n_ctx_per_seq", "n_ctx")
WHOLE_LENGTH = ("vllm", "sglang")
"""Engines that take a model's whole context where nobody says how long a request may be."""
SLOTS = "n_seq_max"
SGLANG_SHARE = "mem_fraction_static"
SERVER_ARGS = {"tp_size", "dp_size", "page_size", "dtype", "chunked_prefill_size"}
"""What SGLang's ``server_args`` always has, and hardly any command."""
DRAFT_METHODS = {"mtp": "mtp", "ngram": "ngram", "eagle": None, "eagle3": None, "draft_model": None}
WORKERS = {"TP": "tensor_parallel_size", "PP": "pipeline_parallel_size", "DP": "data_parallel_size"}
_WHOLE = re.compile(r"\d{1,12}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """*choices* for the planner, or why there are none: *missing* says what to add, *lacks* is it in a word.

    *notes*: what was concluded, of cards from the readings *made_of*.
    """

    choices: Choices | None
    missing: str = ""
    lacks: Lack | None = None
    notes: tuple[str, ...] = ()
    made_of: frozenset[str] = frozenset()


def choices_from_log(start: Start, given: Choices) -> Told:
    """What *start* says, in *given*: what is stated there (model, card, weights, …) comes first."""
    if start.engine not in ENGINES:
        return Told(choices=None, missing=no_rules(start), lacks=Lack.ENGINE)
    given = _with_counts(given, _stated(given))
    model, weights, notes = given.model, given.weights, []
    if not model:
        named = model_of(start)
        if named is None:
            return Told(choices=None, missing=ask_for_model(start, given), lacks=Lack.MODEL)
        model = named[0]
    weights = weights or stored_as(start, model)
    if weights is None and start.engine in LLAMA_CPP and not is_file(model):
        return Told(choices=None, missing=ask_for_weights(start, given), lacks=Lack.WEIGHTS)
    if not given.model and shown_name(start).lower() != model.lower():
        notes.append(f"{shown_name(start)} is taken as {model} in {weights or 'its own format'}.")
    told = replace(given, model=model, weights=weights, engine=start.engine)
    told = replace(told, engine_version=given.engine_version or version_of(start))
    if SGLANG_SHARE not in _stated(told) and (share := concluded_share(start, told.engine_version)):
        told = replace(told, set=(*told.set, f"{SGLANG_SHARE}={share:g}"))
        notes.append(f"SGLang's share is not printed: by the pool and what was free it is about {share:g}.")
    told = _with_settings(told, start)
    notes += filter(None, ["" if given.engine_version else dated(start, told.engine_version), *out_of_range(start)])
    try:
        cards = cards_of(start, told)
    except TooLarge as error:
        missing = ask_for_count(start, error.size_bytes)
        return Told(choices=None, missing=missing, lacks=Lack.COUNT, notes=tuple(notes))
    if cards is None:
        return Told(choices=None, missing=ask_for_card(start), lacks=Lack.CARD, notes=tuple(notes))
    asked = _as_asked(cards.choices, start, given)
    if (newest := for_card(asked)) is not None:
        asked = replace(asked, engine_version=newest)
        notes.append(f"The log does not say which release it is of: none after {newest} runs on this card.")
    return Told(choices=asked, notes=(*notes, *cards.notes), made_of=cards.made_of)


def _as_asked(told: Choices, start: Start, given: Choices) -> Choices:
    """SGLang's share as its option says it, where ``server_args`` shows it less what the kernels leave of it."""
    printed = start.settings.get(SGLANG_SHARE)
    if start.engine != "sglang" or printed is None or SGLANG_SHARE in _stated(given) or not told.device:
        return told
    if not start.settings.keys() >= SERVER_ARGS or presets.find_device(told.device).vendor != "amd":
        return told
    from planner.engines.sglang.engine import asked_share  # only for SGLang's logs

    chosen = choose(told)
    asked = f"{SGLANG_SHARE}={asked_share(chosen.architecture, chosen.deployment, float(printed)):.4g}"
    return replace(told, set=tuple(asked if text == f"{SGLANG_SHARE}={printed}" else text for text in told.set))


def _with_settings(told: Choices, start: Start) -> Choices:
    """The log's settings as options of ``plan`` and ``--set``; what is stated there already stays."""
    found = dict(start.settings)
    if SLOTS in found:
        found["n_parallel"] = found.pop(SLOTS)
    if (offloaded := _offloaded(start)) is not None:
        found["n_gpu_layers"] = str(offloaded)
    if found.get("enable_dp_attention") == "True":
        found |= _attention_replicas(found)
    if start.engine == "ollama" and is_of_llama_cpp(start):
        found.setdefault("ollama_engine", "false")
    told = _with_counts(told, found)
    if start.engine == "vllm" and not any(name in found for name in COUNTS):
        told = _with_counts(told, _workers(start))
    if start.engine in READS_PROJECTOR and lacks_projector(found, told.model):
        found.setdefault("no_mmproj", "true")
    if start.engine == "sglang" and not _drafts_with_mtp(found, told.model):
        found.pop("speculative_algorithm", None)
    if found.get("enable_expert_parallel") == "True" and told.expert_parallel is None:
        told = replace(told, expert_parallel=(told.tensor_parallel or 1) * (told.data_parallel or 1))
    if told.context is None and (context := _context(found) or _own_length(told)):
        told = replace(told, context=context)
    dtype = found.get("kv_cache_dtype") or found.get("cache_type_k") or "auto"
    if dtype == "auto":
        dtype = FULL.get(found.get("dtype", ""), dtype)
    if told.kv_cache is None and told.kv_cache_k is None and dtype != "auto":
        name = CACHE_DTYPES.get(dtype, dtype)
        told = replace(told, kv_cache=name) if name in format_presets.formats() else told
    return replace(told, set=(*_settings(found, told), *told.set))


def _with_counts(told: Choices, found: Mapping[str, str]) -> Choices:
    """*told* with the numbers of cards that *found* says by an engine's names, where nothing is said of them yet."""
    for theirs, ours in COUNTS.items():
        if getattr(told, ours) is None and _is_whole(found.get(theirs, "")) and int(found[theirs]) > 1:
            told = replace(told, **{ours: int(found[theirs])})  # type: ignore[arg-type]
    return replace(told, set=tuple(text for text in told.set if text.partition("=")[0].strip() not in COUNTS))


def _stated(given: Choices) -> dict[str, str]:
    """What ``--set`` says, by name."""
    return {name.strip(): value.strip() for name, _, value in (text.partition("=") for text in given.set)}


def _workers(start: Start) -> dict[str, str]:
    """The numbers of cards that the names of workers show: of ``PP1 TP3`` at least two times four."""
    found = workers(reading.rank for reading in start.readings)
    return {setting: str(found[name]) for name, setting in WORKERS.items() if name in found}


def _offloaded(start: Start) -> int | None:
    """llama.cpp's layers on cards, where some are not."""
    offloaded, offloadable = start.most("offloaded"), start.most("offloadable")
    if offloaded is None or offloadable is None or offloaded.value >= offloadable.value:
        return None
    return int(offloaded.value)


def _context(found: Mapping[str, str]) -> int | None:
    """Tokens of one request. llama.cpp's n_ctx alone is what all slots have together, unless they share it."""
    name = next((name for name in CONTEXT if name in found), "")
    text = found.get(name, "").replace(",", "")
    if not _is_whole(text):
        return None
    slots = found.get("n_parallel", "1")
    is_shared = name != "n_ctx" or found.get("kv_unified") == "true" or not _is_whole(slots)
    return int(text) if is_shared else max(1, int(text) // int(slots))


def _own_length(told: Choices) -> int | None:
    """What an engine that is told no length takes: the model's own. llama.cpp prints what it takes."""
    if told.engine not in WHOLE_LENGTH:
        return None
    try:
        return presets.load_preset(told.model).max_position_embeddings
    except PlannerError:
        return None


def _attention_replicas(found: Mapping[str, str]) -> dict[str, str]:
    """SGLang's ``tp_size`` as a plan has it: without the replicas of attention, which it counts."""
    tensor, replicas = found.get("tp_size", ""), found.get("dp_size", "")
    if not _is_whole(tensor) or not _is_whole(replicas) or int(tensor) % int(replicas):
        return {}
    return {"tp_size": str(int(tensor) // int(replicas))}


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
        text = "".join(text.split())
        try:
            value = known[name].parse(text)
        except PlannerError:
            continue
        yield f"{name}={text if str(value).lower() == text.lower() or not isinstance(value, str) else value}"
    if "num_speculative_tokens" in found and DRAFT_METHODS.get(method):
        yield f"speculative_method={DRAFT_METHODS[method]}"


def _is_whole(text: str) -> bool:
    return _WHOLE.fullmatch(text) is not None and int(text) > 0
