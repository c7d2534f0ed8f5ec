"""The answers to "what can I run?" as rows for tables and JSON."""

from typing import TYPE_CHECKING

from planner.export import Row
from planner.finding.which import Match, match_quality
from planner.tried_formats import how_to_get

if TYPE_CHECKING:
    from planner.finding.picks import Pick  # only questions without a model need it


def device_row(match: Match) -> Row:
    """A device that serves the model; the model is the same in every row."""
    return {
        "device": match.device_name,
        "title": match.device,
        "memory_bytes": match.memory_bytes,
        "weights": match.weights,
        **_capacity(match),
    }


def model_row(match: Match) -> Row:
    """A model and format that the device serves; the device is the same in every row."""
    return {
        "model": match.model,
        "weights": match.weights,
        **_capacity(match),
        "model_limit_tokens": match.model_limit_tokens,
    }


def pick_row(pick: "Pick") -> Row:
    """For tables and JSON. *host_bytes* lie in main memory beside what is on the card."""
    match = pick.match
    words, model = match_quality(match)
    return {
        "model": match.model,
        "weights": match.weights,
        "get": pick.get or None,
        "weights_bytes": match.weights_bytes,
        "context_tokens": pick.context_tokens,
        "host_bytes": match.host_bytes,
        "quality": words,
        "quality_read_on": model or None,
        "setting": pick.setting or None,
    }


def file_row(engine: str, match: Match) -> Row:
    """One model's file on the asked device, whether it fits or not; the device is the same in every row."""
    words, model = match_quality(match)
    return {
        "weights": match.weights,
        "get": how_to_get(engine, match.name, match.weights) or None,
        "weights_bytes": match.weights_bytes,
        "state": match.state,
        "free_bytes": match.free_bytes,
        "max_context_tokens": match.max_context_tokens,
        "max_users": match.max_users,
        "quality": words,
        "quality_read_on": model or None,
        "warnings": " ".join(match.warnings),
    }


def _capacity(match: Match) -> Row:
    return {
        "weights_bytes": match.weights_bytes,
        "free_bytes": match.free_bytes,
        "max_context_tokens": match.max_context_tokens,
        "max_users": match.max_users,
        "warnings": " ".join(match.warnings),
    }
