"""The kernels of attention that SGLang refuses for a model or on a card."""

from collections.abc import Mapping, Sequence
from typing import Any

from planner.architecture import Architecture, LatentAttention, distinct_layers
from planner.deployment import Deployment
from planner.errors import PlannerError


def check_attention(architecture: Architecture, deployment: Deployment) -> None:
    """Raises PlannerError where ``attention_backend`` has no kernels for the model's attention, or none on the card."""
    settings, device = deployment.settings, deployment.device
    name = settings.text("attention_backend")
    needs: Mapping[str, Any] | None = settings.rule("attention_needs").get(name)
    if needs is None:
        return
    refused = f"SGLang {settings.version} refuses attention_backend = {name}"
    vendor = needs.get("vendor")
    if vendor is not None:
        if device.vendor and device.vendor != vendor:
            raise PlannerError(f"{refused} on {device.title}: it is for {vendor.upper()}'s cards; leave it out.")
        return
    kind = "latent" if _is_latent(architecture) else "plain"
    kernels: Sequence[int] | None = needs.get(kind)
    if kernels is None:
        words = "latent attention, which this model has" if kind == "latent" else "models without latent attention"
        raise PlannerError(f"{refused} for {words}; leave it out.")
    if device.compute_capability is not None and int(device.compute_capability) not in kernels:
        needed = ", ".join(f"{major}.x" for major in kernels)
        raise PlannerError(
            f"{refused} on {device.title}, of compute capability {device.compute_capability:.1f}: it has kernels for "
            f"{needed} alone; leave it out."
        )


def _is_latent(architecture: Architecture) -> bool:
    return any(
        isinstance(mixer, LatentAttention)
        for layer, _ in distinct_layers(architecture.layers)
        for mixer in layer.mixers
    )
