"""SGLang's settings as one deployment has them, with what it derives from model and card."""

from collections.abc import Mapping
from typing import Any

from planner.deployment import Deployment
from planner.errors import PlannerError
from planner.records import dataclass
from planner.settings.data import EngineSettings
from planner.shares import attends_apart
from planner.units import MIB


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the arithmetic needs of the settings.

    *draft_tokens* are those of speculative decoding; *max_running_requests* and *fixed_states* (how many recurrent
    states are kept) are for one rank, ``None`` where the pool decides: with data-parallel attention its part.
    """

    draft_tokens: int
    drafts_with_mtp: bool
    keeps_finished: bool
    max_running_requests: int | None
    fixed_states: int | None


def options(deployment: Deployment) -> Options:
    """Given settings first, then what SGLang puts in their place."""
    settings = deployment.settings
    replicas = deployment.data_parallel if attends_apart(deployment) else 1
    algorithm = settings.text("speculative_algorithm")
    drafts = settings.integer("speculative_num_draft_tokens") or 0
    running = settings.integer("max_running_requests")
    if running is None and algorithm:
        running = settings.rule("speculative_requests")
    states, keeps_finished = settings.integer("max_mamba_cache_size"), not settings.flag("disable_radix_cache")
    if states is None and not keeps_finished:
        states = running
    return Options(
        draft_tokens=drafts if algorithm else 0,
        drafts_with_mtp=algorithm in ("nextn", "eagle"),
        keeps_finished=keeps_finished,
        max_running_requests=None if running is None else max(1, running // replicas),
        fixed_states=None if states is None else max(1, states // replicas),
    )


def tp_size(deployment: Deployment) -> int:
    """SGLang's ``tp_size``: with data-parallel attention all devices of a stage."""
    return deployment.tensor_parallel * (deployment.data_parallel if attends_apart(deployment) else 1)


def check(deployment: Deployment) -> None:
    """Refuses what SGLang has no way to do."""
    settings = deployment.settings
    key, value = deployment.kv_cache_k.name, deployment.kv_cache_v.name
    if key != value:
        raise PlannerError(
            f"SGLang keeps keys and values in one format; {key} and {value} were asked, give one --kv-cache."
        )
    known = settings.rule("cache_formats")
    if key not in known:
        raise PlannerError(
            f"SGLang {settings.version} cannot keep its cache in {key}; choose one of: {', '.join(known)}."
        )
    draft = deployment.draft
    if draft is not None and draft.architecture is not None and not settings.rule("draft_models"):
        raise PlannerError(f"SGLang {settings.version} has no smaller model as a draft: give a later --engine-version.")
    for name, values in settings.rule("not_yet").items():
        if settings.text(name) in values:
            raise PlannerError(f"SGLang {settings.version} has no {name} = {settings.text(name)}: leave it out.")
    if settings.text("speculative_algorithm") and not settings.integer("speculative_num_draft_tokens"):
        raise PlannerError("speculative_algorithm needs --set speculative_num_draft_tokens=N, such as 4.")


def size_mib(deployment: Deployment) -> float:
    """The card's size as SGLang reads it from the driver."""
    return (deployment.device.driver_bytes or deployment.device.memory_bytes) / MIB


def card_row(settings: EngineSettings, card_mib: float) -> Mapping[str, Any] | None:
    """The sizes of a step on a card of this size, ``None`` where the version's are not known."""
    rows = settings.rule("card_defaults")
    return None if rows is None else next(row for row in rows if card_mib < row["below_mib"])
