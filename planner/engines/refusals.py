"""What an engine refuses to start with: its own checks of settings and of cache formats, by its version's rules."""

from collections.abc import Iterator, Mapping
from typing import Any

from planner.architecture import Architecture, LatentAttention, distinct_layers
from planner.deployment import Deployment
from planner.errors import PlannerError

NOTHING: Mapping[str, Any] = {}


def check_settings(
    architecture: Architecture, deployment: Deployment, title: str, derived: Mapping[str, Any] = NOTHING
) -> None:
    """Raises PlannerError with the first refusal of the engine called *title*, naming the setting.

    *derived* are values that it puts in place of settings that are not given. The rules are data: by setting
    ``settings_one_of``, ``settings_multiple_of`` and ``settings_at_least`` (of a number or another setting) and
    ``settings_below``; the lists ``settings_powers_of_two`` and ``not_with_pipeline``; by format of the cache
    ``cache_capability``, the first numbers of the compute capabilities that its kernels are for; and
    ``cache_not_latent``, the formats that latent attention has no kernel for; and by format ``weights_capability``,
    the least for the kernels of weights.
    """
    values = {**deployment.settings.values, **derived}
    refusals = (
        *_of_settings(deployment, values),
        *_of_cache(architecture, deployment),
        *_of_weights(architecture, deployment),
    )
    if refusals:
        raise PlannerError(f"{title} {deployment.settings.version} refuses {refusals[0]}.")


def _of_settings(deployment: Deployment, values: Mapping[str, Any]) -> Iterator[str]:
    rules = deployment.settings.rules

    def limits(rule: str) -> Iterator[tuple[str, Any, Any, str]]:
        """A setting, its value, its limit and what the limit is called; none where either is not known."""
        for name, limit in (rules.get(rule) or {}).items():
            number = values.get(limit) if isinstance(limit, str) else limit
            if values.get(name) is not None and number is not None:
                yield name, values[name], number, f"{limit} = {number:,}" if isinstance(limit, str) else f"{number}"

    for name, value, allowed, _ in limits("settings_one_of"):
        if value not in allowed:
            yield f"{name} = {value:,}: choose one of: {', '.join(map(str, allowed))}"
    for name, value, number, words in limits("settings_multiple_of"):
        if value > 0 and value % number:
            yield f"{name} = {value:,}: it must be a multiple of {words}"
    for name, value, number, words in limits("settings_at_least"):
        if value < number:
            yield f"{name} = {value:,}: it must be at least {words}"
    for name, value, number, words in limits("settings_below"):
        if value >= number:
            yield f"{name} = {value:g}: it must be below {words}"
    for name in rules.get("settings_powers_of_two") or ():
        if (value := values.get(name)) is not None and value & (value - 1):
            yield f"{name} = {value:,}: it must be a power of two"
    for name in rules.get("not_with_pipeline") or ():
        if deployment.pipeline_parallel > 1 and values.get(name) is not None:
            stages = f"pipeline_parallel = {deployment.pipeline_parallel}"
            yield f"{name} = {values[name]} with {stages}: leave one of them out"


def _of_weights(architecture: Architecture, deployment: Deployment) -> Iterator[str]:
    capability, device = deployment.device.compute_capability, deployment.device
    known = deployment.settings.rules.get("weights_capability") or {}
    if capability is None or capability >= max(known.values(), default=0):
        return
    tensors = (tensor for layer, _ in distinct_layers(architecture.layers) for tensor in layer.tensors)
    for name in dict.fromkeys(deployment.weights.format_of(tensor.role, tensor.stored).name for tensor in tensors):
        least = known.get(name) or known.get(name.partition("-")[0])
        if least is not None and capability < least:
            yield (
                f"weights in {name} on {device.title}, of compute capability {capability:.1f}: its kernels are for "
                f"{least:.1f} and later; give other --weights, such as int4-g128"
            )


def _of_cache(architecture: Architecture, deployment: Deployment) -> Iterator[str]:
    rules, name, device = deployment.settings.rules, deployment.kv_cache_k.name, deployment.device
    kernels = (rules.get("cache_capability") or {}).get(name)
    if kernels and device.compute_capability is not None and int(device.compute_capability) not in kernels:
        needed = ", ".join(f"{major}.x" for major in kernels)
        yield (
            f"a cache in {name} on {device.title}, of compute capability {device.compute_capability:.1f}: it has "
            f"kernels for {needed} alone; leave --kv-cache out"
        )
    if name in (rules.get("cache_not_latent") or ()) and any(
        isinstance(mixer, LatentAttention)
        for layer, _ in distinct_layers(architecture.layers)
        for mixer in layer.mixers
    ):
        yield f"a cache in {name} for latent attention: choose another --kv-cache, such as fp8"
