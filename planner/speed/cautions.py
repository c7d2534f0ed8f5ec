"""What a user should know of an answer about speed: where it is taken from far away, and what was assumed."""

from planner.machines import machine_devices
from planner.speed.constants import SpeedConstants
from planner.speed.names import engine_name
from planner.speed.work import Model
from planner.units import format_rate, format_seconds

SERVED_BY_OTHERS = ("ollama",)
"""Engines that serve with another's kernels, of which alone there are readings."""
LONG_EXCHANGE_S = 1e-5
"""Links that take longer for an exchange are known from few readings."""


def cautions(model: Model, constants: SpeedConstants) -> tuple[str, ...]:
    """A sentence for each."""
    found = []
    deployment = model.deployment
    if constants.family == "any":
        found.append(_from_other_kinds(model, constants))
    found += stated(model, constants)
    if deployment.engine in SERVED_BY_OTHERS:
        found.append(
            f"Measured was the benchmark of {engine_name(constants.engine)}, which neither samples nor serves: with "
            f"{deployment.engine} small models get less."
        )
    if model.link is not None and model.link.is_assumed:
        card = deployment.device.title
        found.append(
            f"What joins cards like {card} is not known, {model.link.title} is assumed; --interconnect says otherwise."
        )
    elif model.link is not None and model.link.exchange_s > LONG_EXCHANGE_S:
        found.append(
            f"How long cards take to exchange results over {model.link.title} is known from one machine alone."
        )
    size = machine_devices(deployment.device)
    if model.link is not None and size is not None and deployment.tensor_parallel > size:
        found.append(
            f"tensor_parallel = {deployment.tensor_parallel} is on {-(-deployment.tensor_parallel // size)} machines: "
            f"exchanges are timed over {model.link.title}, and the network between them is slower."
        )
    if constants.note:
        found.append(constants.note)
    if deployment.pipeline_parallel > 1:
        found.append(
            "Pipeline stages take turns: one batch is no faster on more of them; several at once are not modelled."
        )
    return tuple(found)


def stated(model: Model, constants: SpeedConstants) -> tuple[str, ...]:
    """Those that follow from what was asked: every answer about speed says them."""
    deployment = model.deployment
    found = []
    if deployment.bandwidth_bytes_per_s is not None:
        found.append(_stated_bandwidth(deployment.bandwidth_bytes_per_s, deployment.device.bandwidth_bytes_per_s))
    if constants.host_layer_s:
        found.append(_host(constants))
    return tuple(found)


def _from_other_kinds(model: Model, constants: SpeedConstants) -> str:
    """That no reading of the family is used, what the figures rest on instead, and what of it helps."""
    deployment, engine = model.deployment, engine_name(constants.engine)
    kind = "machines" if deployment.on_cpu else "cards"
    rest = (
        "other kinds and from what was measured here."
        if constants.calibrated_by
        else "other kinds, so the range is wide."
    )
    sentence = (
        f"No usable public measurement of {engine} on {kind} like {deployment.device.title} is known: how well it uses "
        f"one is taken from {rest}"
    )
    if constants.calibrated_by:
        return sentence
    if deployment.on_cpu:
        sentence += " Those are all cards; a processor gets less out of its memory, above all with experts."
    return f"{sentence} One measured point narrows it."


def _host(constants: SpeedConstants) -> str:
    layer_s, factor = constants.host_layer_s, 1 + constants.host_p90_error
    least, most = format_seconds(layer_s / factor), format_seconds(layer_s * factor)
    return (
        "Without CUDA graphs the host starts each layer's work itself, and no step is quicker than it does: about "
        f"{format_seconds(layer_s)} a layer ({least} to {most}, hosts differ). Graphs spare that wait."
    )


def _stated_bandwidth(stated: int, own: int | None) -> str:
    beside = "" if own is None else f", where the data sheet says {format_rate(own)}/s"
    return f"Memory is taken to be read at {format_rate(stated)}/s, as you stated{beside}."
