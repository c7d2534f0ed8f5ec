"""How many machines the devices of a plan are, and what of it crosses from one to another."""

from planner.deployment import Deployment, Device

ASKED_ABOVE = 8
"""More devices than these are hardly one machine; how many it has is asked where it is not known."""


def machine_devices(device: Device) -> int | None:
    """How many such devices one machine has, ``None`` where that is not known."""
    return 1 if device.unified else device.machine_devices


def machines(deployment: Deployment) -> int:
    """The machines of one replica; 1 where it is not known how many devices one has.

    Data-parallel ranks are not cut where one fits a machine.
    """
    size = machine_devices(deployment.device)
    if size is None or deployment.cards or deployment.on_cpu:
        return 1
    rank = deployment.tensor_parallel * deployment.pipeline_parallel
    if deployment.data_parallel > 1 and rank <= size:
        return -(-deployment.data_parallel // (size // rank))
    return -(-deployment.device_count // size)


def machine_words(deployment: Deployment) -> tuple[str, ...]:
    """That the devices are several machines, or that it is not known whether they are; nothing for one."""
    device, count, number = deployment.device, deployment.device_count, machines(deployment)
    size = machine_devices(device)
    if number == 1 or size is None:
        is_asked = size is None and count > ASKED_ABOVE and not deployment.cards
        asked = f"How many {device.title} one machine has is not known here; where {count:,} are several machines, "
        return (f"{asked}the command needs their number, and tensor_parallel is best within one.",) if is_asked else ()
    each = f" of {size}" if size > 1 else ""
    return (f"{count:,} × {device.title} are {number} machines{each}{_crossing(deployment, size)}.",)


def _crossing(deployment: Deployment, size: int) -> str:
    tensor, stages = deployment.tensor_parallel, deployment.pipeline_parallel
    if tensor <= size:
        return ""
    beyond = f": tensor_parallel = {tensor} adds up what each layer computes over their network"
    if size == 1 or tensor % size:
        return beyond
    return f"{beyond}; tensor_parallel = {size} with pipeline_parallel = {stages * tensor // size} does so within one"
