"""The two inverse questions: which devices serve this model, and which models does this device run."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from typing import Any

from planner import format_presets, presets
from planner.answers.answer import warnings_for
from planner.architecture import Architecture
from planner.budget import MemoryBudget, RankBudget, State, budget_for, on_device, prepare
from planner.capacity import max_context_tokens, max_users
from planner.catalogue.native_files import READ_GGUF, keeps_experts, native_names, tried_names, weight_bits
from planner.catalogue.quality import quality_words
from planner.deciding import Deciding, deciding
from planner.deployment import CPU, MINIMUM, Device, Workload
from planner.errors import PlannerError
from planner.formats import CHECKPOINT
from planner.inputs.choices import Choices, Chosen, choose, choose_cards
from planner.line_item import OTHERS
from planner.records import dataclass
from planner.tried_formats import default_weights, engines_on, preset_names, runs_on
from planner.weights import parameters

COARSE_BITS = 4
"""A format of fewer bits in the layers' matrices costs so much that a smaller model in a better one comes first."""
_SURE_SHARE = 0.9
"""Of what a publisher counts, so much is loaded in any case; the rest may be layers for prediction, or towers."""
Prepared = tuple[Chosen, tuple[RankBudget, ...]]
"""What was chosen, and the budgets of its devices for searches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OnDevice:
    """A model in one format on one device.

    *model_limit_tokens* is the longest context that the model was made for, where that is known. *host_bytes* lie in
    the machine's own memory. *is_native*: the file is as published.
    *matrix_bits*: whole bits of most of its layers' weights. *fits*: as expected, whatever *state* says of the worst.
    *on_cpu*: the device is a machine without a card. *warnings* are what a plan of it would say.
    """

    model: str
    name: str
    parameters: int
    weights: str
    device: str
    device_name: str
    memory_bytes: int
    weights_bytes: int
    free_bytes: int
    host_bytes: int
    state: State
    deciding: Deciding
    model_limit_tokens: int | None
    is_native: bool
    matrix_bits: int
    fits: bool
    on_cpu: bool
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Match(OnDevice):
    """The same with what it holds: *max_context_tokens* for the asked users, *max_users* at the asked context."""

    max_context_tokens: int | None
    max_users: int | None


def devices_for(choices: Choices, architecture: Architecture, weights: Sequence[str]) -> list[Match]:
    """Every card that does what *choices* ask of *architecture*, smallest first, each in its first fitting format."""
    weights = tried_names(choices.engine, architecture, weights)
    storable = _storable(replace(choices, device=None, memory="1GiB", devices=None), architecture, weights)
    matches = []
    for device in sorted(presets.devices().values(), key=lambda device: device.memory_bytes):
        if device.vendor == CPU or not runs_on(choices.engine, device, choices.engine_version):
            continue
        unread = {*default_weights(choices.engine)} - {*default_weights(choices.engine, device)}
        for chosen, ranks in storable:
            if chosen.deployment.weights.name in unread:
                continue
            with suppress(PlannerError):  # its kernels may not be for this card
                match = _fitting(chosen, on_device(ranks, device), device)
                if match is not None:
                    matches.append(match)
                    break
    return matches


def models_for(choices: Choices, weights: Sequence[str], first_only: bool = False) -> list[Match]:
    """Every preset model and format that the device of *choices* serves as asked, the largest weights first.

    *first_only*: of each model only the first of *weights* that fits, so list the better ones first. Raises
    PlannerError for an engine that does not run on the device.
    """
    device = check_device(choices)
    found: list[Match] = []
    for preset in presets.models():
        if preset.config.get("nominal_parameters"):
            continue
        tried = [
            name for name in preset_names(choices.engine, preset, weights) if may_fit(preset, name, choices, device)
        ]
        possible = _possible(replace(choices, model=preset.name), presets.load_preset(preset.name), tried)
        tries = (_fitting(chosen, ranks, chosen.deployment.device) for chosen, ranks in possible)
        found += islice((match for match in tries if match is not None), 1 if first_only else None)
    return sorted(found, key=lambda match: -match.weights_bytes)


def check_device(choices: Choices) -> Device:
    """The smallest device of *choices*, so that a wrong name or figure is said once and not for every model."""
    Workload(context_tokens=1 if choices.context is None else choices.context, users=choices.users)
    cards = choose_cards(choices)
    for device in cards:
        if not runs_on(choices.engine, device, choices.engine_version):
            others = ", ".join(engines_on(device)) or MINIMUM
            data = presets.engine_data(choices.engine)
            has_older = choices.engine_version is None and data.runs_on(device.name, device.vendor)
            older = " in its newest release: give an earlier --engine-version, or" * has_older or ":"
            raise PlannerError(f"{choices.engine} does not run on {device.title}{older} choose one of: {others}.")
    return min(cards, key=lambda card: card.memory_bytes)


def formats_for(choices: Choices, architecture: Architecture, weights: Sequence[str]) -> list[Match]:
    """*architecture* in each of *weights* on the device of *choices*, whether it fits or not.

    Left out are formats that the model cannot be stored in; raises PlannerError where none is left.
    """
    return [
        _match(chosen, ranks, chosen.deployment.device, budget_for(ranks, chosen.workload))
        for chosen, ranks in _storable(choices, architecture, weights)
    ]


def files_for(choices: Choices, architecture: Architecture) -> list[Match]:
    """*architecture* as published and in every smaller format that is usual to download, the largest first.

    Of formats that come out equally large, the first by name stands for all.
    """
    engine = choices.engine
    mixes = format_presets.usual_mixes() if engine == MINIMUM or engine in READ_GGUF else ()
    named = tried_names(engine, architecture, default_weights(engine, check_device(choices)))
    smaller = (mix for mix in mixes if mix not in named and not keeps_experts(mix, architecture))
    found = formats_for(choices, architecture, (*named, *smaller))
    published = min((match.weights_bytes for match in found if match.is_native), default=None)
    by_size: dict[int, Match] = {}
    for match in found:
        if published is None or match.is_native or match.weights_bytes < published:
            by_size.setdefault(match.weights_bytes, match)
    return sorted(by_size.values(), key=lambda match: -match.weights_bytes)


def may_fit(preset: presets.ModelPreset, weights: str, choices: Choices, device: Device) -> bool:
    """Whether a plan is worth making: not where most parameters in the format's fewest bits are too many alone.

    Settings may put weights elsewhere, so that nothing is sure with any.
    """
    mix, number_format = format_presets.find_mix(weights), format_presets.formats().get(weights)
    formats = (mix.format, *(rule.format for rule in mix.rules)) if mix else (number_format,)
    bits = [one.bits_per_element for one in formats if one is not None]
    if choices.set or not bits or preset.published_parameters is None:
        return True
    return _SURE_SHARE * preset.published_parameters * min(bits) / 8 <= device.memory_bytes * choices.card_count


def _storable(choices: Choices, architecture: Architecture, weights: Sequence[str]) -> list[Prepared]:
    """At least one; raises PlannerError with what is wrong with the first of *weights* otherwise."""
    possible = list(_possible(choices, architecture, weights))
    return possible or [prepared(replace(choices, weights=weights[0]), architecture)]


def _possible(choices: Choices, architecture: Architecture, weights: Sequence[str]) -> Iterator[Prepared]:
    for name in weights:
        with suppress(PlannerError):
            yield prepared(replace(choices, weights=name), architecture)


def prepared(choices: Choices, architecture: Architecture) -> Prepared:
    """Raises PlannerError as ``choose`` does."""
    chosen = choose(choices, architecture)
    return chosen, prepare(architecture, chosen.deployment)


def _fitting(chosen: Chosen, ranks: tuple[RankBudget, ...], device: Device) -> Match | None:
    """Of what does not fit nobody asks for the longest context, whose search costs most."""
    budget = budget_for(ranks, chosen.workload)
    return _match(chosen, ranks, device, budget) if budget.state is State.FITS else None


def _match(chosen: Chosen, ranks: tuple[RankBudget, ...], device: Device, budget: MemoryBudget) -> Match:
    workload = chosen.workload
    return Match(
        **_facts(chosen, ranks, device, budget),
        max_context_tokens=max_context_tokens(ranks, workload.users) if budget.loads else 0,
        max_users=max_users(ranks, workload.context_tokens) if budget.loads else 0,
    )


def on_its_device(chosen: Chosen, ranks: tuple[RankBudget, ...]) -> OnDevice:
    """What is known of it without a search."""
    return OnDevice(**_facts(chosen, ranks, chosen.deployment.device, budget_for(ranks, chosen.workload)))


def _facts(chosen: Chosen, ranks: tuple[RankBudget, ...], device: Device, budget: MemoryBudget) -> dict[str, Any]:
    """The fields of ``OnDevice``."""
    scheme = chosen.deployment.weights
    return {
        "model": chosen.architecture.title,
        "name": chosen.architecture.name,
        "parameters": parameters(chosen.architecture),
        "weights": scheme.name,
        "device": device.title,
        "device_name": device.name,
        "memory_bytes": budget.rank.memory_bytes,
        "weights_bytes": budget.weights_bytes,
        "free_bytes": budget.free_bytes,
        "host_bytes": sum(item.bytes for item in budget.host_items if item.name != OTHERS),
        "state": budget.state,
        "deciding": deciding(ranks, chosen.workload, budget.state),
        "model_limit_tokens": chosen.architecture.max_position_embeddings,
        "matrix_bits": weight_bits(scheme, chosen.architecture),
        "fits": budget.fits,
        "on_cpu": chosen.deployment.on_cpu,
        "is_native": scheme.name in native_names(chosen.deployment.engine, chosen.architecture),
        "warnings": warnings_for(chosen.architecture, chosen.deployment, chosen.workload),
    }


def is_coarse(match: OnDevice) -> bool:
    """Whether its layers' matrices have too few bits, whatever a large embedding keeps; never as published."""
    return not match.is_native and match.matrix_bits < COARSE_BITS


def match_quality(match: OnDevice) -> tuple[str, str]:
    """What the file costs in quality, and where that was read; a model as it is published costs nothing."""
    return quality_words(CHECKPOINT if match.is_native else match.weights, match.parameters)
