"""The few models most worth running on one device, each in the best of its formats that can be had and fits."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import date, timedelta
from functools import cache
from itertools import chain, islice

from planner import presets
from planner.advice import as_fit_chooses
from planner.budget import Case, RankBudget, holds, plan
from planner.capacity import max_context_tokens
from planner.catalogue.downloads import of_the_hub
from planner.errors import PlannerError
from planner.finding.which import (
    COARSE_BITS,
    OnDevice,
    check_device,
    is_coarse,
    may_fit,
    on_its_device,
    prepared,
)
from planner.inputs.choices import DEFAULT_CONTEXT_TOKENS, Choices, choose
from planner.launch import settable
from planner.line_item import OTHERS
from planner.presets import ModelPreset, load_preset
from planner.records import dataclass
from planner.tried_formats import how_to_get, preset_names
from planner.tuning import with_setting

SHOWN = 15
LARGER = 3
"""How many models with a part in main memory are shown beside them."""
RECENT = timedelta(days=730)
LONGER = 4
"""How many times the context that was asked for is tried as a longer one."""
LARGEST = 3
"""Models of more than so many times the card's memory, at four bits a parameter, are not tried."""
PLACED = {"n_cpu_moe": "experts of {} layers in main memory", "n_gpu_layers": "{} layers on the card"}
"""In words what --fit chooses."""
MOST_OUTSIDE = 0.6
"""Of a larger model no greater share is put into main memory: beyond that it only crawls."""


_KNOWN, _OF_THE_HUB, _UNKNOWN, _COARSE = range(4)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pick:
    """*match* fits; *get* is what its file is pulled by, empty where nobody is known to publish it.

    *setting* puts a part of the model into main memory, as llama.cpp's --fit would choose; empty where all is on the
    card. *context_tokens* is the longest context that stays on the card, by memory and by what the model was made for.
    """

    match: OnDevice
    get: str
    context_tokens: int | None
    setting: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fit:
    """A pick before anybody searched for its longest context, which costs most and is asked of few."""

    match: OnDevice
    get: str
    setting: str
    users: int
    ranks: tuple[RankBudget, ...]


def picks_for(choices: Choices, weights: Sequence[str], count: int = SHOWN) -> list[Pick]:
    """The models that serve *choices*, most useful first: those that can be had, of the last two years the largest.

    After these come models of which no file is known, and last formats under four bits. Where nothing fits surely,
    what probably does. *weights*: the better first. Raises PlannerError for an engine that does not run on the device.
    """
    return _picks(choices, weights, count, Case.WORST) or _picks(choices, weights, count, Case.EXPECTED)


def _picks(choices: Choices, weights: Sequence[str], count: int, case: Case) -> list[Pick]:
    device = check_device(choices)
    found: dict[int, list[_Fit]] = {_KNOWN: [], _OF_THE_HUB: [], _UNKNOWN: [], _COARSE: []}
    for _, preset in _in_order(choices.engine, tuple(weights)):
        tried = [
            name for name in preset_names(choices.engine, preset, weights) if may_fit(preset, name, choices, device)
        ]
        fit = _best(choices, preset, tried, case)
        if fit is not None and fit.get not in [other.get for other in found[_KNOWN] if other.get]:
            found[_rank(choices, fit)].append(fit)
        if len(found[_KNOWN]) == count:
            break
    return [_pick(fit, case) for fit in islice(chain.from_iterable(found.values()), count)]


def larger_for(choices: Choices, weights: Sequence[str], than: OnDevice) -> list[Pick]:
    """A few models larger *than* one that fits, with a part of them in main memory; only engines that read GGUF."""
    if not _can_offload(choices):
        return []
    most = LARGEST * check_device(choices).memory_bytes * 8 / COARSE_BITS
    candidates = (
        preset
        for useful, preset in _in_order(choices.engine, tuple(weights))
        if all(useful) and than.parameters < _size(preset) <= most and preset.name != than.name
    )
    return list(islice(_offloaded(choices, weights, candidates), LARGER))


def longer_context(choices: Choices, pick: Pick) -> tuple[int, int] | None:
    """A context longer than stays on the card, and the bytes that lie in main memory with it, as --fit would choose.

    ``None`` where no such context is worth asking for, or the engine keeps nothing there.
    """
    most = LONGER * (choices.context or DEFAULT_CONTEXT_TOKENS)
    tokens = min(most, pick.match.model_limit_tokens or most)
    if not _can_offload(choices) or pick.context_tokens is None or tokens <= pick.context_tokens:
        return None
    asked = replace(choices, model=pick.match.name, weights=pick.match.weights, context=tokens)
    chosen = as_fit_chooses(asked, load_preset(pick.match.name))
    return None if chosen is None else (tokens, _host_bytes(chosen[1]))


def placed(pick: Pick, engine: str) -> str:
    """What of *pick* lies where: the setting for it, or in words where *engine* places it without one."""
    name, _, number = pick.setting.partition("=")
    return pick.setting if not number or settable(engine, name) else PLACED[name].format(number)


@cache
def _in_order(engine: str, weights: tuple[str, ...]) -> tuple[tuple[tuple[bool, bool], ModelPreset], ...]:
    """Every model that might do, most useful first, as far as that is known without a plan: whether it can be had, and
    whether it is recent; among equals the largest first, and of these the newest."""
    models = [preset for preset in presets.models() if not preset.config.get("nominal_parameters")]
    newest = max(preset.release for preset in models if isinstance(preset.release, date))

    def usefulness(preset: ModelPreset) -> tuple[bool, bool]:
        names = preset_names(engine, preset, weights)
        can_be_had = any(how_to_get(engine, preset.name, name) for name in names)
        return can_be_had, isinstance(preset.release, date) and preset.release >= newest - RECENT

    def order(pair: tuple[tuple[bool, bool], ModelPreset]) -> tuple[tuple[bool, bool], int, str]:
        useful, preset = pair
        return useful, _size(preset), str(preset.release)

    return tuple(sorted(((usefulness(preset), preset) for preset in models), key=order, reverse=True))


def _size(preset: ModelPreset) -> int:
    return preset.published_parameters or 0


def _best(choices: Choices, preset: ModelPreset, weights: Sequence[str], case: Case) -> _Fit | None:
    """Of the formats that fit the first that can be had, unless only one under four bits can; else the first.

    A file of Ollama's library comes before one that Ollama would get from the Hub.
    """
    first: _Fit | None = None
    had: _Fit | None = None
    for name in weights:
        fit = _fitting(choices, preset, name, case=case)
        if fit is None:
            continue
        first = first or fit
        if fit.get and (not is_coarse(fit.match) or is_coarse(first.match)):
            if not _is_second(choices, fit):
                return fit
            had = had or fit
    return had or first


def _fitting(
    choices: Choices, preset: ModelPreset, weights: str, setting: str = "", case: Case = Case.WORST
) -> _Fit | None:
    """*preset* in *weights* where it fits by *case*, in memory and in the context it was made for."""
    architecture = load_preset(preset.name)
    limit = architecture.max_position_embeddings
    if limit is not None and limit < (choices.context or DEFAULT_CONTEXT_TOKENS):
        return None
    settings = (*choices.set, setting) if setting else choices.set
    try:
        chosen, ranks = prepared(replace(choices, model=preset.name, weights=weights, set=settings), architecture)
    except PlannerError:
        return None
    workload = chosen.workload
    if not holds(ranks, workload.context_tokens, workload.users, case):
        return None
    get = how_to_get(choices.engine, preset.name, weights)
    return _Fit(match=on_its_device(chosen, ranks), get=get, setting=setting, users=workload.users, ranks=ranks)


def _pick(fit: _Fit, case: Case = Case.WORST) -> Pick:
    limit, longest = fit.match.model_limit_tokens, max_context_tokens(fit.ranks, fit.users, case)
    context = longest if limit is None else limit if longest is None else min(longest, limit)
    return Pick(match=fit.match, get=fit.get, context_tokens=context, setting=fit.setting)


def _offloaded(choices: Choices, weights: Sequence[str], candidates: Iterable[ModelPreset]) -> Iterator[Pick]:
    """Each of *candidates* in the smallest format that can be had and is not coarse, with a part in main memory."""
    for preset in candidates:
        tried = preset_names(choices.engine, preset, weights)
        names = [name for name in tried if how_to_get(choices.engine, preset.name, name)]
        for name in reversed(names):
            asked, architecture = replace(choices, model=preset.name, weights=name), load_preset(preset.name)
            try:
                if is_coarse(on_its_device(*prepared(with_setting(asked, "n_gpu_layers", 0), architecture))):
                    continue
                chosen = as_fit_chooses(asked, architecture)
            except PlannerError:
                break
            fit = chosen and _fitting(choices, preset, name, chosen[1].set[-1])
            if fit and _is_bearable(fit):
                yield _pick(fit)
            break


def _is_bearable(fit: _Fit) -> bool:
    """Experts are read few at a time, so that all of them may lie outside; of whole layers only some."""
    match = fit.match
    name, _, number = fit.setting.partition("=")
    if name == "n_cpu_moe":
        return int(number) > 0
    return match.host_bytes <= MOST_OUTSIDE * (match.weights_bytes + match.host_bytes)


def _host_bytes(choices: Choices) -> int:
    chosen = choose(choices)
    items = plan(chosen.architecture, chosen.deployment, chosen.workload).host_items
    return sum(item.bytes for item in items if item.name != OTHERS)


def _can_offload(choices: Choices) -> bool:
    return "n_gpu_layers" in presets.engine_data(choices.engine).settings


def _is_second(choices: Choices, fit: _Fit) -> bool:
    """Whether Ollama would get it from the Hub, and not from its own library."""
    return choices.engine == "ollama" and of_the_hub(fit.get)


def _rank(choices: Choices, fit: _Fit) -> int:
    """Which group a pick belongs to."""
    if is_coarse(fit.match):
        return _COARSE
    if not fit.get:
        return _UNKNOWN
    return _OF_THE_HUB if _is_second(choices, fit) else _KNOWN
