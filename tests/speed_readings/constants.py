"""presets/speed.toml: every group's constants with their errors, and each engine's for families that it was not
measured on."""

import json
from collections.abc import Mapping, Sequence

from planner import performance_presets
from tests.speed_readings.fitting import Result, fitted
from tests.speed_readings.prefill import FEW, prefill_efficiency
from tests.speed_readings.reading import Group, Reading, error, quantile
from tests.speed_readings.table import bench, serving

SOURCES = {
    "llama_cpp": "fitted to llama.cpp discussions 4167, 15013, 15396 and others since 2023, tests/data/llama_bench.csv",
    "llama_cpp_vulkan": "fitted to llama.cpp discussion 10879, tests/data/llama_bench.csv",
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
            blocks.append(_block(group, result, results, across, possible))
        for engine, experts in pairs:
            group = engine, ANY, experts
            constants = fitted(group, possible, card=None)
            assert constants is not None
            own = _other_families(engine, experts, possible) or across
            kin = _of_engine(results, engine, experts)
            whole = Result(
                constants=constants,
                unseen=dict(enumerate(own)),
                calibrated={place: found for result in kin for place, found in result.calibrated.items()},
            )
            blocks.append(_block(group, whole, results, across, possible))
    return "\n".join(blocks)


def _other_families(engine: str, experts: bool, possible: Sequence[Reading]) -> list[float]:
    """Errors of an engine on each family with constants from the others; none where there is but one."""
    apart = performance_presets.families_apart()
    own = [r for r in possible if (r.engine, r.experts) == (engine, experts) and r.family not in apart]
    errors = []
    for family in sorted({reading.family for reading in own}):
        rest = [reading for reading in possible if (reading.engine, reading.family) != (engine, family)]
        constants = fitted((engine, ANY, experts), rest, card=None)
        if constants is not None and len({reading.family for reading in own}) > 1:
            errors += [error(reading, constants) for reading in own if reading.family == family]
    return errors


def _other_models(group: Group, possible: Sequence[Reading]) -> list[float]:
    """Errors of each model of a group with constants from the others: no other card says anything of these."""
    members = [reading for reading in possible if reading.group == group]
    errors = []
    for model in sorted({reading.model for reading in members}):
        rest = [reading for reading in possible if reading.group != group or reading.model != model]
        constants = fitted(group, rest, card=None)
        assert constants is not None
        errors += [error(reading, constants) for reading in members if reading.model == model]
    return errors


def _of_engine(results: Mapping[Group, Result], engine: str, experts: bool) -> list[Result]:
    """Results of an engine's families, those apart left out."""
    apart = performance_presets.families_apart()
    return [r for group, r in results.items() if (group[0], group[2]) == (engine, experts) and group[1] not in apart]


def _block(
    group: Group,
    result: Result,
    results: Mapping[Group, Result],
    across: Sequence[float],
    possible: Sequence[Reading],
) -> str:
    """A group's table; errors of few readings are those of the engine's groups together, else those of all *across*."""
    engine, family, experts = group
    unseen, own = [*result.unseen.values()], [*result.calibrated.values()]
    kin = _of_engine(results, engine, experts)
    everyone = list(results.values())
    if family in performance_presets.families_apart():
        unseen = _other_models(group, possible)
    if len(unseen) < FEW:
        unseen = [found for each in kin for found in each.unseen.values()]
    if len(unseen) < FEW:
        unseen = [*across]
    for wider in (kin, everyone):
        if len(own) < FEW:
            own = [found for each in wider for found in each.calibrated.values()]
    found = result.constants
    prefill = prefill_efficiency(engine, family, found)
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
        "median_error": _digits(quantile(unseen, 0.5)),
        "p90_error": _digits(quantile(unseen, 0.9)),
        "readings": found.readings,
        "calibrated_median_error": _digits(quantile(own, 0.5)),
        "calibrated_p90_error": _digits(quantile(own, 0.9)),
    }
    if not experts or found.expert_rows == 1:
        del values["expert_rows"]
    if not found.hidden_rows:
        del values["hidden_rows"]
    if prefill:
        values["prefill_efficiency"], values["prefill_p90_error"] = map(_digits, prefill)
    values["source"] = SOURCES[engine]
    name = f"{engine}/{family}" + ("/experts" if experts else "")
    return "\n".join([f'["{name}"]', *(f"{key} = {_toml(value)}" for key, value in values.items()), ""])


def _digits(value: float) -> float:
    return float(f"{value:.3g}")


def _toml(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else json.dumps(value)
