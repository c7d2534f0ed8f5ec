"""Published quantised checkpoints: a preset's layers, stored as the checkpoint's own config says."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from planner import presets
from planner.architecture import Architecture
from planner.readers.hf_config import read_config

CASES: dict[str, dict[str, Any]] = json.loads(
    (Path(__file__).parent / "data" / "checkpoints.json").read_text(encoding="utf-8")
)


def read(model: str, quantization: Mapping[str, object]) -> Architecture:
    config = {key: value for key, value in presets.find_model(model).config.items() if key != "quantization_config"}
    return read_config({**config, "quantization_config": dict(quantization)}, presets.knowledge(), name=model)


def read_case(case: Mapping[str, Any]) -> Architecture:
    """The checkpoint of *case*, its lists of modules written out as the file has them."""
    plain = presets.load_preset(case["model"])
    number = len(plain.layers) + len(plain.mtp_layers)
    prefix = case.get("prefix", "model.layers")
    skipped = [
        *case.get("skipped", ()),
        *(f"{prefix}.{index}.{name}" for index in range(number) for name in case.get("skipped_in_each_layer", ())),
    ]
    quantized = {
        f"{prefix}.{index}.{name}": settings
        for index in range(number)
        for name, settings in case.get("quantized_in_each_layer", {}).items()
    }
    lists: dict[str, object] = {case["skip_key"]: skipped} if skipped else {}
    if quantized:
        lists["quantized_layers"] = {**case["quantized"], **quantized}
    return read(case["model"], {**case["quantization"], **lists})
