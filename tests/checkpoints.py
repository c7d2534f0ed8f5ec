"""Published quantised checkpoints: a preset's layers, stored as the checkpoint's own config says."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from planner import presets
from planner.architecture import Architecture
from planner.format_presets import formats
from planner.formats import QuantScheme
from planner.known_checkpoints import KnownCheckpoint, known_checkpoints
from planner.readers.hf_config import read_config
from planner.weights import loaded_tensors, tensors_bytes

CASES: dict[str, dict[str, Any]] = json.loads(
    (Path(__file__).parent / "data" / "checkpoints.json").read_text(encoding="utf-8")
) | {known.name: asdict(known) for known in known_checkpoints()}
"""Those that are presets themselves, and those of ``presets/checkpoints.toml``."""


def stored_bytes(architecture: Architecture) -> int:
    """Every tensor that is loaded to answer, as it is stored."""
    return tensors_bytes(loaded_tensors(architecture), QuantScheme(format=None, rest=formats()["bf16"]))


def read(model: str, quantization: Mapping[str, object]) -> Architecture:
    config = {key: value for key, value in presets.find_model(model).config.items() if key != "quantization_config"}
    return read_config({**config, "quantization_config": dict(quantization)}, presets.knowledge(), name=model)


def read_case(case: Mapping[str, Any]) -> Architecture:
    """The checkpoint of *case*, its lists of modules written out as the file has them."""
    plain = presets.load_preset(case["model"])
    known = KnownCheckpoint(**{"name": "", "retrieved": None, **case})
    return read(case["model"], known.quantization_config(len(plain.layers) + len(plain.mtp_layers)))
