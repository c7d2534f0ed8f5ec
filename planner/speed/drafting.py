"""Speculative decoding for many requests at once: checking several tokens each is no longer free."""

import math
from dataclasses import replace

from planner.architecture import Layer
from planner.draft import head_layer
from planner.errors import PlannerError
from planner.records import dataclass
from planner.speculation import MAX_DRAFT_TOKENS, DraftOverhead, check_draft, expected_tokens, speedup_range
from planner.speed.constants import SpeedConstants, step_seconds
from planner.speed.fit import predicted_s
from planner.speed.work import Model, decode_work, prepare_speed, verify_work


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchSpeculation:
    """What a draft is worth for *users* requests together. *speedup* below 1: it makes all of them slower.

    *low* and *high* of the speed-up hold nine of ten published ones; those of a user's pace the speed model's own range
    as well, as independent errors add.
    *verified_tokens* a pass computes for each: one more than *draft_tokens*, or those of a tree that is so deep.
    *step_s*: without a draft; *verify_s*: the pass that checks all drafted tokens; *draft_s*: drafting them;
    *besides_s*: what the host does between passes. Those three are one pass, which yields *expected_tokens*.
    """

    users: int
    acceptance: float
    draft_tokens: int
    verified_tokens: int
    draft_cost: float
    expected_tokens: float
    step_s: float
    verify_s: float
    draft_s: float
    besides_s: float
    speedup: float
    speedup_low: float
    speedup_high: float
    tokens_per_s_user: float
    tokens_per_s_user_low: float
    tokens_per_s_user_high: float

    @property
    def pass_s(self) -> float:
        """From one check to the next."""
        return self.verify_s + self.draft_s + self.besides_s


def speculate_together(
    model: Model,
    constants: SpeedConstants,
    *,
    acceptance: float,
    draft_tokens: int,
    users: int,
    context_tokens: int,
    overhead: DraftOverhead,
    draft_cost: float | None = None,
    draft: Model | None = None,
    verified_tokens: int | None = None,
) -> BatchSpeculation:
    """S = E · T(B) / (T of B · V tokens + γ · T of the draft + H(B)), V = γ + 1 for a chain of drafts.

    *overhead* gives H: what the host does between two passes. The draft is a *draft* model of its own, or a
    *draft_cost*: one drafted token as a share of a step without drafts. A tree of γ levels has more *verified_tokens*,
    its root among them; each level is then drafted for as many as it has on average.
    """
    if (draft is None) == (draft_cost is None):
        raise PlannerError("Give either a draft model or the cost of a drafted token; one of the two.")
    if draft_cost is not None:
        check_draft(draft_cost=draft_cost)
    step = decode_work(model, users, context_tokens)
    without = step_seconds(step, constants)
    step_s = without.value_s
    verified = _verified(draft_tokens, verified_tokens)
    verify_s = predicted_s(verify_work(model, users, context_tokens, verified - 1), constants)
    one_s = step_s * (draft_cost or 0.0)
    if draft is not None:
        width = -(-(verified - 1) // max(1, draft_tokens))
        one_s = predicted_s(verify_work(draft, users, context_tokens, max(1, width) - 1), constants)
    tokens = expected_tokens(acceptance, draft_tokens)
    besides_s = overhead.seconds(users) if draft_tokens else 0.0
    speedup = tokens * step_s / (verify_s + draft_tokens * one_s + besides_s) if draft_tokens else 1.0
    error = overhead.p90_error if draft_tokens else 0.0
    low, high = speedup_range(speedup, error, tokens)
    either = math.hypot(math.log1p(error), math.log(without.high_s / without.value_s))
    return BatchSpeculation(
        users=users,
        acceptance=acceptance,
        draft_tokens=draft_tokens,
        verified_tokens=verified,
        draft_cost=one_s / step_s,
        expected_tokens=tokens,
        step_s=step_s,
        verify_s=verify_s,
        draft_s=draft_tokens * one_s,
        besides_s=besides_s,
        speedup=speedup,
        speedup_low=low,
        speedup_high=high,
        tokens_per_s_user=speedup / step_s,
        tokens_per_s_user_low=speedup / step_s * math.exp(-either),
        tokens_per_s_user_high=min(speedup / step_s * math.exp(either), tokens / step.ceiling_s),
    )


def _verified(draft_tokens: int, verified_tokens: int | None) -> int:
    """What a pass computes for each request; raises PlannerError for fewer than a chain has, and for too many."""
    least = draft_tokens + 1
    if verified_tokens is not None and not least <= verified_tokens <= MAX_DRAFT_TOKENS:
        raise PlannerError(
            f"verified_tokens = {verified_tokens:,} is not possible: a pass checks {draft_tokens:,} drafted tokens and "
            f"makes its own, so give {least:,} to {MAX_DRAFT_TOKENS:,}; for a tree all that it has."
        )
    return least if verified_tokens is None or not draft_tokens else verified_tokens


def head_model(model: Model, layers: tuple[Layer, ...] = ()) -> Model:
    """A draft that is a layer of the model and its head, as EAGLE and MTP are: *layers*, else its own for either."""
    architecture = model.architecture
    layers = layers or architecture.mtp_layers or (head_layer(architecture),)
    alone = replace(architecture, layers=layers, mtp_layers=())
    return prepare_speed(alone, model.deployment, model.kernels, model.link)
