"""The runtime's fitted figures, fitted again without any start-up on the card that is to be predicted."""

from collections.abc import Iterator
from functools import cache
from statistics import median

from planner.engines.vllm.encoder import kept_bytes
from planner.engines.vllm.runtime import place
from planner.engines.vllm.step import expert_bytes, forward_bytes, logits_bytes, output_bytes, runner
from planner.inputs.choices import Chosen
from planner.units import GIB
from tests.vllm_readings import Reading, readings


def shift_bytes(reading: Reading) -> int:
    """How much larger the pool of *reading* is with the sampler's copies and the libraries' size of other cards alone.

    Medians of what start-ups of the same rule print; as they are where no other card's do. The encoder's, the graphs'
    and the forward pass's figures rest on few start-ups each and are left as they are.
    """
    chosen = reading.chosen()
    settings = chosen.deployment.settings
    copies = [value for other, value in _copies(chosen) if _card(other) != _card(reading)]
    libraries = [value for other, value in _libraries(chosen) if _card(other) != _card(reading)]
    shift = 0.0
    if copies:
        forward, row = forward_bytes(*_of(chosen)), logits_bytes(*_of(chosen))
        fitted, output = settings.rule("sampler_copies")[runner(*_of(chosen))]["expected"], output_bytes(*_of(chosen))
        shift += max(forward, fitted * row + output) - max(forward, median(copies) * row + output)
    if libraries:
        shift += settings.rule("non_torch_gib")[place(chosen.deployment)]["expected"] * GIB - median(libraries) * GIB
    return round(shift)


def _card(reading: Reading) -> str:
    return reading.device or reading.memory or ""


def _of(chosen: Chosen) -> tuple:  # type: ignore[type-arg]
    return chosen.architecture, chosen.deployment


def _same_rule(chosen: Chosen, rule: str) -> Iterator[tuple[Reading, Chosen]]:
    """Start-ups that are run, and whose version has the *rule* that *chosen* has."""
    wanted = chosen.deployment.settings.rule(rule)
    for other, found in _run():
        if found.deployment.settings.rule(rule) == wanted:
            yield other, found


@cache
def _run() -> tuple[tuple[Reading, Chosen], ...]:
    return tuple((reading, reading.chosen()) for reading in readings() if not reading.skip)


def _copies(chosen: Chosen) -> Iterator[tuple[Reading, float]]:
    """Activation peaks in copies of the logits, where sampling is the larger step."""
    for other, found in _same_rule(chosen, "sampler_copies"):
        if "activation_gib" not in other.printed or runner(*_of(found)) != runner(*_of(chosen)):
            continue
        if (value := copies(other, found)) is not None:
            yield other, value


def copies(reading: Reading, found: Chosen) -> float | None:
    """The printed peak without what is kept beside, in logits; ``None`` where the forward pass is the larger step."""
    settings = found.deployment.settings
    row, output = logits_bytes(*_of(found)), output_bytes(*_of(found))
    experts = expert_bytes(*_of(found)) if settings.rule("expert_workspace")["kept"] else 0
    if settings.rule("sampler_copies")[runner(*_of(found))]["expected"] * row + output <= forward_bytes(*_of(found)):
        return None
    kept = kept_bytes(*_of(found)) if found.architecture.towers and settings.rule("encoder_kept") else 0
    return (reading.printed["activation_gib"] * GIB - experts - kept - output) / row


def _libraries(chosen: Chosen) -> Iterator[tuple[Reading, float]]:
    for other, found in _same_rule(chosen, "non_torch_gib"):
        if "non_torch_gib" in other.printed and place(found.deployment) == place(chosen.deployment):
            yield other, other.printed["non_torch_gib"]
