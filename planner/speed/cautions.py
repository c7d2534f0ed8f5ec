"""What a user should know of an answer about speed: where it is taken from far away, and what was assumed."""

from planner.speed.constants import SpeedConstants
from planner.speed.names import engine_name
from planner.speed.work import Model

LONG_EXCHANGE_S = 1e-5
"""Links that take longer for an exchange are known from few readings."""


def cautions(model: Model, constants: SpeedConstants) -> tuple[str, ...]:
    """A sentence for each."""
    found = []
    if constants.family == "any":
        engine, card = engine_name(constants.engine), model.deployment.device.title
        found.append(
            f"No public measurement of {engine} on cards like {card} is known: how well it uses one is taken from "
            + (
                "other kinds and from what was measured here."
                if constants.calibrated_by
                else "other kinds, so the range is wide. One measured point narrows it."
            )
        )
    if model.link is not None and model.link.is_assumed:
        card = model.deployment.device.title
        found.append(
            f"What joins cards like {card} is not known, {model.link.title} is assumed; --interconnect says otherwise."
        )
    elif model.link is not None and model.link.exchange_s > LONG_EXCHANGE_S:
        found.append(
            f"How long cards take to exchange results over {model.link.title} is known from one machine alone."
        )
    if constants.note:
        found.append(constants.note)
    if model.deployment.pipeline_parallel > 1:
        found.append(
            "Pipeline stages take turns: one batch is no faster on more of them; several at once are not modelled."
        )
    return tuple(found)
