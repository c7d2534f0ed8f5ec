"""What ``ollama pull`` gets of a preset, beside a plan that counts the model as published."""

from dataclasses import replace

from planner.answers.answer import Answer, answer
from planner.answers.verdict import verdict
from planner.architecture import Architecture
from planner.catalogue.downloads import usual_file
from planner.catalogue.library_names import OLLAMA
from planner.errors import PlannerError
from planner.formats import CHECKPOINT
from planner.inputs.choices import Choices, choose
from planner.units import format_bytes


def pulled_instead(choices: Choices, architecture: Architecture, before: Answer) -> str:
    """A sentence on the file that Ollama's library has, for a plan that names no weights; empty for any other.

    The plan itself is of the weights as published: a preset's name means the same to every engine.
    """
    if choices.engine != OLLAMA or before.weights != CHECKPOINT or choices.weights is not None:
        return ""
    file = usual_file(choices.model)
    if file is None or file[1] == CHECKPOINT or file != usual_file(architecture.name):  # a config of one's own
        return ""
    tag, weights = file
    try:
        chosen = choose(replace(choices, weights=weights), architecture)
        found = answer(chosen.architecture, chosen.deployment, chosen.workload)
    except PlannerError:
        return ""
    return (
        f"Counted as published ({before.stored_as}). ollama pull {tag} gets {weights} instead, "
        f"{format_bytes(found.weights_bytes)} of weights; for it the answer is “{verdict(found).title}”, "
        f"with --weights {weights}."
    )
