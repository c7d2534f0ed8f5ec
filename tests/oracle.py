"""What transformers itself builds and caches, on the meta device: exact shapes, no memory. ``python -m tests.oracle``

For one preset of each model_type: parameters and cache bytes at several lengths, ours beside the library's. Names are
presets, or families as ``tests/data/class_totals.json`` has them: a class's defaults with few layers.
"""

import argparse
import gc
import json
import sys
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from planner import presets
from planner.architecture import Architecture
from planner.budget import prepare
from planner.choices import Choices, choose
from planner.errors import PlannerError
from planner.readers.hf_config import read_config
from planner.weights import parameters, parameters_by_role

LENGTHS = (1, 128, 4_096, 8_192)
CACHE = "bf16"
CLASS_TOTALS = Path(__file__).parent / "data" / "class_totals.json"
LEARNED_BUFFERS = ("e_score_correction_bias", "tid2eid")
"""Stored like parameters, but buffers to the library: a bias of routers, a table from tokens to experts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Parameters, and the bytes of all cache tensors by tokens of one request in bf16.

    No bytes where the class wants more than tokens, or asks for values that the meta device does not have.
    """

    parameters: int
    cache_bytes: Mapping[int, int]


def library_reading(config: Mapping[str, Any], lengths: Sequence[int]) -> Reading:
    """What the model class of *config* has and keeps. Raises what the library raises where it cannot build it."""
    import torch
    from transformers import AutoConfig

    model_config = AutoConfig.for_model(**{key: value for key, value in config.items() if key != "quantization_config"})
    with torch.device("meta"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = _auto_class(model_config).from_config(model_config, dtype=torch.bfloat16)
        total = sum(tensor.numel() for tensor in model.parameters())
        total += sum(buffer.numel() for name, buffer in model.named_buffers() if name.endswith(LEARNED_BUFFERS))
        return Reading(parameters=total, cache_bytes=_cache_bytes(model, lengths))


def _auto_class(config: Any) -> Any:
    """The library's way to the class that generates text with *config*."""
    import transformers

    names = ("AutoModelForImageTextToText", "AutoModelForMultimodalLM", "AutoModelForCausalLM", "AutoModelForSeq2SeqLM")
    for auto in (getattr(transformers, name) for name in names):
        if type(config) in auto._model_mapping:
            return auto
    raise LookupError(f"no class generates text with {type(config).__name__}")


def _cache_bytes(model: Any, lengths: Sequence[int]) -> dict[int, int]:
    import torch

    from measure.tensors import cache_of, held_tensors, tensor_bytes

    sizes = {}
    for tokens in lengths:
        prompt = torch.zeros((1, tokens), dtype=torch.long, device="meta")
        try:
            with torch.no_grad():
                output = model(input_ids=prompt, use_cache=True)
        except Exception:  # in as many ways as there are classes
            return {}
        sizes[tokens] = tensor_bytes(held_tensors(cache_of(output)))
    return sizes


def our_reading(architecture: Architecture, lengths: Sequence[int]) -> Reading:
    """The same by the planner, under the rules of its ``transformers`` engine."""
    chosen = choose(Choices(model="", memory="1TiB", engine="transformers", kv_cache=CACHE), architecture)
    rank = prepare(architecture, chosen.deployment)[0]
    return Reading(
        parameters=parameters(architecture), cache_bytes={tokens: rank.request_bytes(tokens) for tokens in lengths}
    )


def one_of_each() -> Iterator[presets.ModelPreset]:
    """The smallest preset of each model_type."""
    smallest: dict[str, tuple[int, presets.ModelPreset]] = {}
    for preset in presets.models():
        model_type = preset.config.get("model_type")
        if isinstance(model_type, str):
            size = preset.published_parameters or 2**60
            if model_type not in smallest or size < smallest[model_type][0]:
                smallest[model_type] = size, preset
    yield from (preset for _, preset in sorted(smallest.values(), key=lambda entry: entry[1].family))


def _explained(architecture: Architecture, ours: Reading, theirs: Reading) -> str:
    """How the parameters compare: equal, or by which role they differ."""
    gap = theirs.parameters - ours.parameters
    if gap == 0:
        return "equal"
    for role, count in parameters_by_role(architecture).items():
        if abs(gap) == count:
            return f"differs by the {role} parameters"
    return f"differs by {gap:+,}"


def class_defaults(model_type: str) -> list[dict[str, Any]]:
    """The shallow configs of a family, as its class fills them in."""
    return [case["config"] for case in _totals() if case["config"]["model_type"] == model_type]


def _totals() -> list[dict[str, Any]]:
    totals: list[dict[str, Any]] = json.loads(CLASS_TOTALS.read_text(encoding="utf-8"))["totals"]
    return totals


def _cases(names: Sequence[str]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """What to compare: presets by name, families, or one of each model_type."""
    if not names:
        yield from ((preset.name, preset.published_config) for preset in one_of_each())
    for name in names:
        configs = class_defaults(name)
        yield from ((name, config) for config in configs or [presets.find_model(name).published_config])


def compare(name: str, config: Mapping[str, Any]) -> tuple[str, bool]:
    """A line on one config, and whether something in it is wrong."""
    try:
        theirs = library_reading(config, LENGTHS)
    except Exception as error:  # the library refuses in many ways: what it does not have is no finding of ours
        return f"not in the library: {type(error).__name__}: {str(error)[:80]!r}", False
    try:
        architecture = read_config(config, presets.knowledge())
        ours = our_reading(architecture, LENGTHS)
    except PlannerError as error:
        return f"refused: {error}", False
    gaps = {tokens: ours.cache_bytes[tokens] - size for tokens, size in theirs.cache_bytes.items()}
    cache = ", ".join(f"{tokens}: {gap:+,}" for tokens, gap in gaps.items()) if any(gaps.values()) else "equal"
    said = _explained(architecture, ours, theirs)
    is_wrong = said.startswith(("differs by +", "differs by -")) or cache != "equal"
    return f"parameters {said:24} cache {cache if gaps else 'not read'}", is_wrong


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.oracle", description=__doc__)
    parser.add_argument("models", nargs="*", help="presets or families; default: one preset of each model_type")
    wrong = 0
    for name, config in _cases(parser.parse_args().models):
        start = time.perf_counter()
        line, is_wrong = compare(name, config)
        wrong += is_wrong
        print(f"{name:32} {line}  ({time.perf_counter() - start:.0f} s)", flush=True)
        gc.collect()
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
