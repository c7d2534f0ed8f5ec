"""What transformers itself builds and caches, on the meta device: exact shapes, no memory. ``python -m tests.oracle``

For one preset of each model_type: parameters and cache bytes at several lengths, ours beside the library's.
"""

import argparse
import gc
import sys
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
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
CORRECTION_BIAS = "e_score_correction_bias"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Parameters, and the bytes of all cache tensors by tokens of one request in bf16."""

    parameters: int
    cache_bytes: Mapping[int, int]


def library_reading(config: Mapping[str, Any], lengths: Sequence[int]) -> Reading:
    """What the model class of *config* has and keeps. Raises whatever the library raises."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    from measure.tensors import cache_of, held_tensors, tensor_bytes

    model_config = AutoConfig.for_model(**{key: value for key, value in config.items() if key != "quantization_config"})
    with torch.device("meta"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = AutoModelForCausalLM.from_config(model_config, dtype=torch.bfloat16)
        total = sum(tensor.numel() for tensor in model.parameters())
        # Learned and stored like a parameter, but a buffer to the library.
        total += sum(buffer.numel() for name, buffer in model.named_buffers() if name.endswith(CORRECTION_BIAS))
        sizes = {}
        for tokens in lengths:
            prompt = torch.zeros((1, tokens), dtype=torch.long, device="meta")
            with torch.no_grad():
                output = model(input_ids=prompt, use_cache=True, logits_to_keep=1)
            sizes[tokens] = tensor_bytes(held_tensors(cache_of(output)))
    return Reading(parameters=total, cache_bytes=sizes)


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


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.oracle", description=__doc__)
    parser.add_argument("models", nargs="*", help="preset names; default: one of each model_type")
    names = parser.parse_args().models
    wrong = 0
    for preset in [presets.find_model(name) for name in names] or one_of_each():
        start = time.perf_counter()
        try:
            theirs = library_reading(preset.published_config, LENGTHS)
        except Exception as error:  # the library refuses in many ways: what it does not have is no finding of ours
            print(f"{preset.name:32} not in the library: {type(error).__name__}: {str(error)[:80]!r}")
            continue
        try:
            architecture = read_config(preset.published_config, presets.knowledge())
            ours = our_reading(architecture, LENGTHS)
        except PlannerError as error:
            print(f"{preset.name:32} refused: {error}")
            continue
        gaps = {n: ours.cache_bytes[n] - theirs.cache_bytes[n] for n in LENGTHS}
        cache = "equal" if not any(gaps.values()) else ", ".join(f"{n}: {gap:+,}" for n, gap in gaps.items())
        said = _explained(architecture, ours, theirs)
        wrong += said.startswith(("differs by +", "differs by -")) or cache != "equal"
        seconds = time.perf_counter() - start
        print(f"{preset.name:32} parameters {said:24} cache {cache}  ({seconds:.0f} s)", flush=True)
        gc.collect()
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
