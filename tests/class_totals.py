"""Write what the library counts for a family into its data file: ``python -m tests.class_totals FAMILY``.

Each case is the family's class defaults with few layers: parameters, and the cache of a short and of a long request.
"""

import argparse
import json
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from tests.library import can_build, completed, library_reading
from tests.readers.knowledge import unknown_rules

LENGTHS = (1, 128, 4_096)
LAYERS = 8
LOOPED = frozenset({"dory", "hrm_text", "inkling2_loop", "inkling2_loop_text"})
"""Run some of their layers several times, by their numbers: fewer layers do not fit."""
_INDEXER = {
    "indexer_budget": 2_048,
    "indexer_compress_ratio": 4,
    "indexer_head_dim": 128,
    "indexer_kv_heads": 1,
    "indexer_n_heads": 16,
}
_HYBRID = 2 * (3 * ["linear_attention"] + ["full_attention"])
USABLE: Mapping[str, Mapping[str, Any]] = {
    "bamba": {"attn_layer_indices": [3, 7]},
    "deepseek_v2": {"num_experts_per_tok": 6},
    "dots1": {"n_routed_experts": 16, "n_shared_experts": 2, "num_experts_per_tok": 6},
    "glm4_moe": {"head_dim": 128},
    "glm4v_moe": {"text_config": {"head_dim": 128}},
    "lfm2_moe": {"layer_types": 2 * (3 * ["conv"] + ["full_attention"])},
    "granitemoehybrid": {"layer_types": _HYBRID},
    "jetmoe": {
        "hidden_size": 64,
        "intermediate_size": 64,
        "kv_channels": 16,
        "num_attention_heads": 4,
        "num_hidden_layers": 2,
        "num_key_value_heads": 2,
        "vocab_size": 1_000,
    },
    "qwen4_exp": {"text_config": _INDEXER},
    "qwen4_exp_text": _INDEXER,
}
"""What stands in for defaults that the class itself cannot run with, or that no machine holds."""
CLASS_TOTALS = Path(__file__).parent / "data" / "class_totals.json"


def configs_of(family: str) -> list[dict[str, Any]]:
    """The configs of *family* in the data file."""
    cases: list[dict[str, Any]] = json.loads(CLASS_TOTALS.read_text(encoding="utf-8"))["totals"]
    return [case["config"] for case in cases if case["config"]["model_type"] == family]


def library_defaults(family: str) -> dict[str, Any]:
    """*family*'s class defaults in few layers, or in its own number where fewer do not fit; all of its keys."""
    try:
        shallow, whole = _defaults(family, LAYERS), _defaults(family, 0)
    except Exception:  # defaults that the class itself refuses
        return {"model_type": family}
    return shallow if family not in LOOPED and can_build(shallow) else whole


def shallow_config(family: str, layers: int = LAYERS) -> dict[str, Any]:
    """*family*'s class defaults with so many decoder *layers*, 0 for its own, without the keys that cost no memory."""
    return _structural(_defaults(family, layers))


def _defaults(family: str, layers: int) -> dict[str, Any]:
    from transformers import AutoConfig

    usual = AutoConfig.for_model(family).to_dict()
    cut: dict[str, Any] = {"num_hidden_layers": layers} if layers else {}
    nested = "text_config" in usual and "num_hidden_layers" in usual["text_config"]
    usable = USABLE.get(family, {}) if layers else {}
    given = {"text_config": cut | usable.get("text_config", {})} if nested else cut | usable
    try:
        config = AutoConfig.for_model(**completed({"model_type": family} | given)).to_dict()
    except Exception:  # a class whose other defaults only fit its own number of layers
        config = usual
    plain: dict[str, Any] = json.loads(json.dumps(config, default=str))
    return plain


def _structural(config: Mapping[str, Any]) -> dict[str, Any]:
    harmless = [pattern for pattern in unknown_rules().harmless if pattern != "model_type"]
    return {
        key: _structural(value) if isinstance(value, dict) else value
        for key, value in sorted(config.items())
        if not any(fnmatchcase(key, pattern) for pattern in harmless)
    }


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.class_totals", description=__doc__)
    parser.add_argument("families", nargs="+", metavar="FAMILY", help="a model_type of the library")
    data = json.loads(CLASS_TOTALS.read_text(encoding="utf-8"))
    for family in parser.parse_args().families:
        config = shallow_config(family)
        reading = library_reading(config, LENGTHS)
        if not reading.cache_bytes:  # some patterns need as many layers as the class has
            config = shallow_config(family, 0)
            reading = library_reading(config, LENGTHS)
        case = {"config": config, "parameters": reading.parameters}
        if reading.cache_bytes:
            case["cache_bytes"] = {str(tokens): size for tokens, size in reading.cache_bytes.items()}
        data["totals"] = [old for old in data["totals"] if old["config"] != config] + [case]
        print(
            f"{family:32} {reading.parameters:,} parameters, cache {dict(reading.cache_bytes) or 'not read'}",
            flush=True,
        )
    data["totals"].sort(key=lambda case: case["config"]["model_type"])
    lines = ",\n".join(json.dumps(case, sort_keys=True) for case in data["totals"])
    CLASS_TOTALS.write_text(
        f'{{\n"source": {json.dumps(data["source"])},\n"totals": [\n{lines}\n]\n}}\n', encoding="utf-8", newline="\n"
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
