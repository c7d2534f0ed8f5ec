"""The server whose speed is planned: one replica of the set-up, with its share of the users and without its draft."""

from dataclasses import dataclass, replace

from planner.answers.answer import answer
from planner.inputs.choices import Choices, choose
from planner.units import counted
from ui import own_config
from ui.page import NoAnswer
from ui.scenario import Scenario


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerPlan(Scenario):
    """*notes* say what of the set-up is left out."""

    notes: tuple[str, ...] = ()


def one_server(plan: Scenario) -> ServerPlan:
    """*plan*, which has an answer, as the commands about speed can say it; the same where nothing is left out."""
    assert plan.chosen is not None
    choices, deployment = plan.choices, plan.chosen.deployment
    users = -(-plan.chosen.workload.users // deployment.replicas)
    alone = replace(
        choices,
        device_count=None,
        tensor_parallel=deployment.tensor_parallel if deployment.tensor_parallel > 1 else None,
        pipeline_parallel=deployment.pipeline_parallel if deployment.pipeline_parallel > 1 else None,
        expert_parallel=None,
        replicas=1,
        users=users,
        draft_model=None,
        draft_tokens=None,
        draft_weights=None,
        **_one_kind(choices),
    )
    notes = []
    if deployment.replicas > 1:
        notes.append(f"One of {deployment.replicas:,} replicas, with its share: {counted(users, 'user')}.")
    if choices.draft_model is not None:
        notes.append("Without the draft of the set-up: Speculation says what a draft changes.")
    if deployment.expert_parallel > 1:
        notes.append("As fast as with every expert cut over all cards: whole experts on each are not planned.")
    chosen = choose(alone, own_config.architecture())
    found = answer(chosen.architecture, chosen.deployment, chosen.workload)
    return ServerPlan(choices=alone, chosen=chosen, answer=found, verdict=plan.verdict, notes=tuple(notes))


def check_one_kind(plan: Scenario) -> None:
    """Raises NoAnswer for cards that differ, and for copies of the attention alone."""
    assert plan.chosen is not None
    if plan.choices.devices is not None:
        raise NoAnswer(
            f"How fast {plan.choices.devices} are together is not planned, for each card has layers of its own and "
            "waits for the others: choose one kind of card."
        )
    ranks = plan.chosen.deployment.data_parallel
    if ranks > 1:
        raise NoAnswer(
            f"How fast {ranks:,} data-parallel ranks are together is not planned: leave data_parallel at 1, and count "
            "whole copies as replicas."
        )


def _one_kind(choices: Choices) -> dict[str, str | None]:
    """Several cards of one name are that card; their number is in the split already."""
    names = {word.strip() for word in (choices.devices or "").split(",")}
    if choices.devices is None or len(names) > 1 or choices.devices[:1].isdigit():
        return {}
    return {"devices": None, "device": names.pop()}
