"""The runtime's fitted figures, fitted again without the start-up that is to be predicted."""

from collections.abc import Iterator
from statistics import median

from planner.choices import Chosen
from planner.engines.vllm.options import options
from planner.engines.vllm.runtime import forward_bytes, logits_bytes, place
from planner.units import GIB
from tests.vllm_readings import Reading, readings


def shift_bytes(reading: Reading) -> int:
    """How much larger the pool of *reading* is with the sampler's copies and the libraries' size of all others.

    Medians of what start-ups of the same rule print. The encoder's, the graphs' and the forward pass's figures rest on
    two or three start-ups each and are left as they are.
    """
    chosen = reading.chosen()
    settings = chosen.deployment.settings
    copies = [value for other, value in _copies(chosen) if other is not reading]
    libraries = [value for other, value in _libraries(chosen) if other is not reading]
    shift = 0.0
    if copies:
        low, logits = forward_bytes(chosen.architecture, chosen.deployment), _logits_bytes(chosen)
        fitted = settings.rule("sampler_copies")["expected"]
        shift += max(low, fitted * logits) - max(low, median(copies) * logits)
    if libraries:
        shift += settings.rule("non_torch_gib")[place(chosen.deployment)]["expected"] * GIB - median(libraries) * GIB
    return round(shift)


def _same_rule(chosen: Chosen, rule: str) -> Iterator[tuple[Reading, Chosen]]:
    """Start-ups that are run, and whose version has the *rule* that *chosen* has."""
    wanted = chosen.deployment.settings.rule(rule)
    for other in readings():
        if not other.skip and (found := other.chosen()).deployment.settings.rule(rule) == wanted:
            yield other, found


def _copies(chosen: Chosen) -> Iterator[tuple[Reading, float]]:
    """Activation peaks in copies of the logits, where sampling is the larger step and no encoder runs."""
    fitted = chosen.deployment.settings.rule("sampler_copies")["expected"]
    for other, found in _same_rule(chosen, "sampler_copies"):
        logits = _logits_bytes(found)
        samples = fitted * logits > forward_bytes(found.architecture, found.deployment)
        if samples and "activation_gib" in other.printed and not found.architecture.towers:
            yield other, other.printed["activation_gib"] * GIB / logits


def _libraries(chosen: Chosen) -> Iterator[tuple[Reading, float]]:
    for other, found in _same_rule(chosen, "non_torch_gib"):
        if "non_torch_gib" in other.printed and place(found.deployment) == place(chosen.deployment):
            yield other, other.printed["non_torch_gib"]


def _logits_bytes(chosen: Chosen) -> int:
    return logits_bytes(chosen.architecture, options(chosen.deployment))
