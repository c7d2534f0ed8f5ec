"""The two inverse questions: which devices serve this model, and which models does this device run."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice

from planner import presets
from planner.architecture import Architecture
from planner.budget import RankBudget, State, budget_for, on_device, prepare
from planner.capacity import max_context_tokens, max_users
from planner.choices import Choices, Chosen, choose, choose_device
from planner.deployment import Device
from planner.errors import PlannerError
from planner.export import Row
from planner.formats import CHECKPOINT
from planner.records import dataclass
from planner.weights import parameters

WEIGHTS = (CHECKPOINT, "int8", "int4-g128")
GGUF_WEIGHTS = ("q8_0", "q6_k", "q5_k_m", "q4_k_m", "iq4_xs", "q3_k_m", "iq2_m")
ALL_WEIGHTS = (CHECKPOINT, "int8", *GGUF_WEIGHTS[:4], "int4-g128", *GGUF_WEIGHTS[4:])
"""The better first: the first that fits is the one to take."""
_Prepared = tuple[Chosen, tuple[RankBudget, ...]]
_READ_GGUF = ("llama_cpp", "ik_llama_cpp", "ollama")


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """A model in one format on one device. *max_context_tokens*: for the asked users; *max_users*: at that context.

    *model_limit_tokens* is the longest context that the model was made for, where that is known.
    """

    model: str
    parameters: int
    weights: str
    device: str
    device_name: str
    memory_bytes: int
    weights_bytes: int
    free_bytes: int
    state: State
    max_context_tokens: int | None
    max_users: int | None
    model_limit_tokens: int | None


def default_weights(engine: str) -> tuple[str, ...]:
    """What is tried when no format is named: what *engine* reads, the file types of GGUF among it or alone."""
    if engine in _READ_GGUF:
        return GGUF_WEIGHTS
    return ALL_WEIGHTS if engine == "minimum" else WEIGHTS


def devices_for(choices: Choices, architecture: Architecture, weights: Sequence[str]) -> list[Match]:
    """Every device that does what *choices* ask of *architecture*, smallest first, each in its first fitting format."""
    prepared = _storable(replace(choices, device=None, memory="1GiB"), architecture, weights)
    matches = []
    for device in sorted(presets.devices().values(), key=lambda device: device.memory_bytes):
        for chosen, ranks in prepared:
            match = _match(chosen, on_device(ranks, device), device)
            if match.state is State.FITS:
                matches.append(match)
                break
    return matches


def models_for(choices: Choices, weights: Sequence[str], first_only: bool = False) -> list[Match]:
    """Every preset model and format that the device of *choices* serves as asked, the largest weights first.

    *first_only*: of each model only the first of *weights* that fits, so list the better ones first.
    """
    choose_device(choices.device, choices.memory)  # a wrong name is said once, not for every model
    found: list[Match] = []
    for preset in presets.models():
        if preset.config.get("nominal_parameters"):
            continue
        possible = _possible(replace(choices, model=preset.name), presets.load_preset(preset.name), weights)
        tries = (_match(chosen, ranks, chosen.deployment.device) for chosen, ranks in possible)
        found += islice((match for match in tries if match.state is State.FITS), 1 if first_only else None)
    return sorted(found, key=lambda match: -match.weights_bytes)


def formats_for(choices: Choices, architecture: Architecture, weights: Sequence[str]) -> list[Match]:
    """*architecture* in each of *weights* on the device of *choices*, whether it fits or not.

    Left out are formats that the model cannot be stored in; raises PlannerError where none is left.
    """
    return [
        _match(chosen, ranks, chosen.deployment.device) for chosen, ranks in _storable(choices, architecture, weights)
    ]


def files_for(choices: Choices, architecture: Architecture) -> list[Match]:
    """*architecture* as published and in every smaller format that is usual to download, the largest first.

    Of formats that come out equally large, the first by name stands for all.
    """
    engine = choices.engine
    mixes = presets.mix_names() if engine == "minimum" or engine in _READ_GGUF else ()
    named = default_weights(engine)
    found = formats_for(choices, architecture, (*named, *(mix for mix in mixes if mix not in named)))
    published = next((match.weights_bytes for match in found if match.weights == CHECKPOINT), None)
    by_size: dict[int, Match] = {}
    for match in found:
        if published is None or match.weights == CHECKPOINT or match.weights_bytes < published:
            by_size.setdefault(match.weights_bytes, match)
    return sorted(by_size.values(), key=lambda match: -match.weights_bytes)


def _storable(choices: Choices, architecture: Architecture, weights: Sequence[str]) -> list[_Prepared]:
    """At least one; raises PlannerError with what is wrong with the first of *weights* otherwise."""
    possible = list(_possible(choices, architecture, weights))
    return possible or [_prepared(replace(choices, weights=weights[0]), architecture)]


def _possible(choices: Choices, architecture: Architecture, weights: Sequence[str]) -> Iterator[_Prepared]:
    for name in weights:
        with suppress(PlannerError):
            yield _prepared(replace(choices, weights=name), architecture)


def _prepared(choices: Choices, architecture: Architecture) -> _Prepared:
    chosen = choose(choices, architecture)
    return chosen, prepare(architecture, chosen.deployment)


def _match(chosen: Chosen, ranks: tuple[RankBudget, ...], device: Device) -> Match:
    budget = budget_for(ranks, chosen.workload)
    workload, scheme = chosen.workload, chosen.deployment.weights
    return Match(
        model=chosen.architecture.title,
        parameters=parameters(chosen.architecture),
        weights=scheme.name,
        device=device.title,
        device_name=device.name,
        memory_bytes=budget.rank.memory_bytes,
        weights_bytes=budget.weights_bytes,
        free_bytes=budget.free_bytes,
        state=budget.state,
        max_context_tokens=max_context_tokens(ranks, workload.users) if budget.loads else 0,
        max_users=max_users(ranks, workload.context_tokens) if budget.loads else 0,
        model_limit_tokens=chosen.architecture.max_position_embeddings,
    )


def device_row(match: Match) -> Row:
    """A device that serves the model; the model is the same in every row."""
    return {
        "device": match.device_name,
        "title": match.device,
        "memory_bytes": match.memory_bytes,
        "weights": match.weights,
        **_capacity(match),
    }


def model_row(match: Match) -> Row:
    """A model and format that the device serves; the device is the same in every row."""
    return {
        "model": match.model,
        "weights": match.weights,
        **_capacity(match),
        "model_limit_tokens": match.model_limit_tokens,
    }


def _capacity(match: Match) -> Row:
    return {
        "weights_bytes": match.weights_bytes,
        "free_bytes": match.free_bytes,
        "max_context_tokens": match.max_context_tokens,
        "max_users": match.max_users,
    }
