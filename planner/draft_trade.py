"""Context lost for speed gained: what each draft takes of the budget, and what it is worth at the same load."""

from collections.abc import Sequence
from dataclasses import replace

from planner.answers.answer import Answer, answer, draft_warnings
from planner.architecture import Architecture
from planner.catalogue.performance_presets import speculation_overhead
from planner.draft import Draft
from planner.errors import PlannerError
from planner.inputs.choices import Choices, choose, choose_draft
from planner.inputs.model_files import load_model
from planner.paced import MeasuredRate, paced
from planner.records import dataclass
from planner.speed.constants import SpeedConstants
from planner.speed.draft_map import LONGEST_DRAFT, Drafting
from planner.speed.drafting import BatchSpeculation, head_model
from planner.speed.work import Model, prepare_speed

NONE = "none"
"""The point without a draft."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftWish:
    """A draft to try, by the names of ``--draft-model``. *draft_tokens* ``None``: the length that is fastest here.

    *verified_tokens*: those of a tree, ``None`` for a chain.
    """

    name: str
    acceptance: float
    draft_tokens: int | None = None
    verified_tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftPoint:
    """One point of the picture: *max_context_tokens* of each user against *speedup*, that without a draft first.

    *draft_bytes* is what it takes of a device at the load asked for, *draft_request_bytes* the part of it that each
    request keeps. The longest context is the model's own where memory has room for more; *lost_tokens* of it; ``None``
    for either where memory sets no limit. *fits*: the context and users asked for are still there. *tokens_per_s_user*:
    with the draft, by the speed model.
    """

    draft: str
    acceptance: float
    draft_tokens: int
    draft_bytes: int
    draft_request_bytes: int
    max_context_tokens: int | None
    lost_tokens: int | None
    max_users: int | None
    fits: bool
    expected_tokens: float
    draft_cost: float
    speedup: float
    speedup_low: float
    speedup_high: float
    tokens_per_s_user: float
    tokens_per_s_user_low: float
    tokens_per_s_user_high: float
    warnings: tuple[str, ...] = ()


def draft_points(
    choices: Choices,
    wishes: Sequence[DraftWish],
    speed_engine: str,
    architecture: Architecture | None = None,
    measured: Sequence[MeasuredRate] = (),
) -> list[DraftPoint]:
    """The plan of *choices* without a draft and with each of *wishes*, at its users and context.

    *architecture* stands in for the model's name where a file was uploaded; *measured* are rates without a draft.
    Raises PlannerError for an acceptance that is no share, and for a draft that the model cannot have.
    """
    if choices.draft_model is not None:
        raise PlannerError("A plan that has a draft already is compared with none: leave --draft-model out.")
    architecture = architecture or load_model(choices.model, choices.online)
    chosen = choose(choices, architecture)
    ready = paced(chosen, speed_engine, measured)
    model, constants = ready.model, ready.constants
    plain = _answer(choices, architecture)
    users = ready.at_once.users
    nothing = _drafting(model, constants, plain, None).at(users, 0.0, 0)
    found = [_point(NONE, plain, plain, nothing, ())]
    for wish in wishes:
        asked = replace(choices, draft_model=wish.name, draft_tokens=wish.draft_tokens or 1)
        draft = choose_draft(asked, chosen.architecture, chosen.deployment.weights)
        assert draft is not None
        drafting = _drafting(model, constants, plain, draft_model(draft, model), wish.verified_tokens)
        lengths = range(1, LONGEST_DRAFT + 1) if wish.draft_tokens is None else (wish.draft_tokens,)
        worth = max(
            (drafting.at(users, wish.acceptance, tokens) for tokens in lengths),
            key=lambda found: found.speedup,
        )
        own = _answer(replace(asked, draft_tokens=worth.draft_tokens), architecture)
        found.append(
            _point(draft.name, plain, own, worth, draft_warnings(draft, chosen.architecture, chosen.deployment))
        )
    return found


def fastest(points: Sequence[DraftPoint]) -> DraftPoint:
    """The fastest of *points* but those that the model cannot check; the first is without a draft."""
    return max((point for point in points if not point.warnings), key=lambda point: point.speedup)


def draft_model(draft: Draft, model: Model) -> Model | None:
    """What drafting a token takes; ``None`` where nothing is computed to draft."""
    if draft.architecture is not None:
        deployment = replace(model.deployment, weights=draft.weights, draft=None)
        return prepare_speed(draft.architecture, deployment, model.kernels, model.link)
    return head_model(model, draft.layers) if draft.layers else None


def _answer(choices: Choices, architecture: Architecture) -> Answer:
    chosen = choose(choices, architecture)
    return answer(chosen.architecture, chosen.deployment, chosen.workload)


def _drafting(
    model: Model, constants: SpeedConstants, plain: Answer, drafter: Model | None, verified_tokens: int | None = None
) -> Drafting:
    return Drafting(
        model=model,
        constants=constants,
        context_tokens=plain.context_tokens,
        overhead=speculation_overhead(),
        draft=drafter,
        draft_cost=0.0 if drafter is None else None,
        verified_tokens=verified_tokens,
    )


def _longest(found: Answer) -> int | None:
    """What memory has room for, as far as the model was made for it or was asked to go; ``None`` without a limit."""
    room, made_for = found.max_context_tokens, found.model_limit_tokens
    return room if room is None or made_for is None else min(room, max(made_for, found.context_tokens))


def _point(name: str, plain: Answer, own: Answer, worth: BatchSpeculation, warnings: tuple[str, ...]) -> DraftPoint:
    before, after = _longest(plain), _longest(own)
    lost = None if before is None or after is None else before - after
    return DraftPoint(
        draft=name,
        acceptance=worth.acceptance,
        draft_tokens=worth.draft_tokens,
        draft_bytes=own.total_bytes - plain.total_bytes,
        draft_request_bytes=own.kv_request_bytes - plain.kv_request_bytes,
        max_context_tokens=after,
        lost_tokens=lost,
        max_users=own.max_users,
        fits=own.fits,
        expected_tokens=worth.expected_tokens,
        draft_cost=worth.draft_cost,
        speedup=worth.speedup,
        speedup_low=worth.speedup_low,
        speedup_high=worth.speedup_high,
        tokens_per_s_user=worth.tokens_per_s_user,
        tokens_per_s_user_low=worth.tokens_per_s_user_low,
        tokens_per_s_user_high=worth.tokens_per_s_user_high,
        warnings=warnings,
    )
