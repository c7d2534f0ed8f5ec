"""presets/speed.toml: every group's constants with their errors, and each engine's for families that it was not
measured on."""

import json
from collections.abc import Sequence

from planner.catalogue import performance_presets
from planner.speed.constants import SpeedConstants
from tests.speed_readings.fitting import SEVERAL, fitted
from tests.speed_readings.prefill import NUMBERS, prompts_of
from tests.speed_readings.ranges import nearest_errors, other_models
from tests.speed_readings.reading import Group, Reading, Unseen, error, factor, quantile, range_for
from tests.speed_readings.table import bench, serving

BOTH = "tests/data/llama_bench.csv and llama_bench_more.csv"
SOURCES = {
    "llama_cpp": f"fitted to llama.cpp discussions 4167, 15013, 15396 and others since 2023, {BOTH}",
    "llama_cpp_vulkan": f"fitted to llama.cpp discussion 10879, {BOTH}",
    "llama_cpp_2024": "fitted to XiongjieDai/GPU-Benchmarks-on-LLM-Inference of May 2024, tests/data/llama_bench.csv",
    "llamafile": "fitted to LocalScore's crowd-sourced rows, tests/data/llama_bench.csv",
    "vllm": "fitted to ai-dynamo/aiconfigurator's public rows, vLLM's blog and others, tests/data/serving_speed.csv",
    "tensorrt_llm": "fitted to the public rows of ai-dynamo/aiconfigurator, tests/data/serving_speed.csv",
    "sglang": "fitted to Qwen's speed benchmark and the EAGLE-3 paper, tests/data/serving_speed.csv",
    "nim": "fitted to NVIDIA's NIM benchmarks, tests/data/serving_speed.csv",
}
ANY = "any"
"""In place of a family: all without constants of their own."""


def constants_toml() -> str:
    blocks = []
    for readings, results in (bench(), serving()):
        possible = [reading for reading in readings if reading.is_possible]
        pairs = sorted({(engine, experts) for engine, _, experts in results})
        across = [found for pair in pairs for found in _other_families(*pair, possible)]
        for group, result in results.items():
            unseen = nearest_errors(group, readings, results, lambda one: one.unseen)
            if group[1] in performance_presets.families_apart():
                unseen = other_models(group, possible)
            own = nearest_errors(group, readings, results, lambda one: one.calibrated)
            blocks.append(_block(group, result.constants, unseen, own, _models(group, possible)))
        for engine, experts in pairs:
            group = engine, ANY, experts
            constants = fitted(group, possible, card=None)
            assert constants is not None
            unseen = _other_families(engine, experts, possible) or across
            own = nearest_errors(group, readings, results, lambda one: one.calibrated)
            blocks.append(_block(group, constants, unseen, own, _models(group, possible)))
    return "\n".join(blocks)


def _other_families(engine: str, experts: bool, possible: Sequence[Reading]) -> list[Unseen]:
    """Errors of an engine on each family with constants from the others; none where there is but one."""
    apart = performance_presets.families_apart()
    own = [r for r in possible if (r.engine, r.experts) == (engine, experts) and r.family not in apart]
    errors = []
    for family in sorted({reading.family for reading in own}):
        rest = [reading for reading in possible if (reading.engine, reading.family) != (engine, family)]
        constants = fitted((engine, ANY, experts), rest, card=None)
        if constants is not None and len({reading.family for reading in own}) > 1:
            errors += [(family, error(reading, constants)) for reading in own if reading.family == family]
    return errors


def _models(group: Group, possible: Sequence[Reading]) -> list[str]:
    """Whose steps a server's constants for models with experts are fitted to; ranges of others count models."""
    engine, family, experts = group
    rows = [row for row in possible if row.engine == engine and family in (row.family, ANY)]
    return sorted({row.model for row in rows if experts and row.experts and not row.is_alone})


def _block(
    group: Group, found: SpeedConstants, unseen: Sequence[Unseen], own: Sequence[Unseen], models: Sequence[str]
) -> str:
    """A group's table: errors on cards *unseen*, with one row of *own*, and a note where it is of few *models*."""
    engine, family, experts = group
    values: dict[str, object] = {
        "engine": engine,
        "family": family,
        "experts": experts,
        "layer_s": _digits(found.layer_s),
        "read_efficiency": _digits(found.read_efficiency),
        "arithmetic_efficiency": _digits(found.arithmetic_efficiency),
        "hidden_rows": found.hidden_rows,
        "link_efficiency": _digits(found.link_efficiency),
        "expert_rows": found.expert_rows,
        "median_error": _digits(_median(unseen)),
        "p90_error": _digits(range_for(unseen)),
        "readings": found.readings,
        "calibrated_median_error": _digits(_median(own)),
        "calibrated_p90_error": _digits(range_for(own)),
    }
    if not experts or found.expert_rows == 1:
        del values["expert_rows"]
    if not found.hidden_rows:
        del values["hidden_rows"]
    is_told = not found.hidden_rows
    for numbers in NUMBERS:
        prompts = prompts_of(group, numbers, found)
        if prompts is not None:
            if not is_told:
                # One user's answers do not tell how fast arithmetic goes; prompts do.
                values["arithmetic_efficiency"], is_told = _digits(prompts.share), True
            values[f"prefill_{numbers}_efficiency"] = _digits(prompts.share)
            values[f"prefill_{numbers}_p90_error"] = _digits(prompts.range)
    values["source"] = SOURCES[engine]
    if 0 < len(models) < SEVERAL:
        values["note"] = (
            f"Of models with experts only {' and '.join(models)} had public readings to rest on: a layer of others, or "
            "in other formats, may take two or three times as long."
        )
    name = f"{engine}/{family}" + ("/experts" if experts else "")
    return "\n".join([f'["{name}"]', *(f"{key} = {_toml(value)}" for key, value in values.items()), ""])


def _median(errors: Sequence[Unseen]) -> float:
    return quantile((factor(found) for _, found in errors), 0.5)


def _digits(value: float) -> float:
    return float(f"{value:.3g}")


def _toml(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else json.dumps(value)
