"""What a file of Ollama's library lacks of the published model."""

from dataclasses import replace

from planner.architecture import Architecture
from planner.catalogue.downloads import lacks_towers
from planner.formats import QuantScheme
from planner.settings.data import EngineSettings


def text_alone(model: Architecture, weights: QuantScheme) -> str:
    """That the file of *model* in *weights* sees and hears nothing; empty where it has all that the model has."""
    if not model.towers or not lacks_towers(model.name, weights.name):
        return ""
    return f"Ollama's file of {model.title} has its text model alone, which sees and hears nothing."


def without_towers(settings: EngineSettings) -> EngineSettings:
    """*settings* of an engine that is given no towers to load."""
    return replace(settings, values={**settings.values, "no_mmproj": True})
