"""Public measurements of speed against the model: ``python -m tests.speed_readings``.

Constants are fitted without the card that they are tried on; where an engine was measured on one card only, without the
device count that they are tried on. ``--constants`` prints presets/speed.toml's constants as fitted to all readings.
"""

import csv
import json
import sys
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from statistics import mean, median

from planner import performance_presets, presets
from planner.batching.continuous import ContinuousServer
from planner.batching.server import Schedule, Server
from planner.batching.step_time import TICKS_PER_S
from planner.batching.trace import Trace
from planner.choices import Choices, choose
from planner.speed.answer import prompt_seconds, step_time
from planner.speed.constants import SpeedConstants, parts
from planner.speed.fit import Measured, calibrate, fit, predicted_s
from planner.speed.work import Model, Work, decode_work, has_experts, operations_per_token, prepare_speed
from tests import draft_readings

Group = tuple[str, str, bool]
"""Engine, family of devices, whether the model has experts."""

DATA = Path(__file__).parent / "data"
START = SpeedConstants(
    engine="",
    family="",
    layer_s=45e-6,
    link_s=0.0,
    read_efficiency=0.85,
    median_error=0.0,
    p90_error=0.0,
    source="",
    calibrated_median_error=0.0,
    calibrated_p90_error=0.0,
)
SOURCES = {
    "llama_cpp": "fitted to llama.cpp discussions 4167, 15013, 15396 and others since 2023, tests/data/llama_bench.csv",
    "llama_cpp_vulkan": "fitted to llama.cpp discussion 10879, tests/data/llama_bench.csv",
    "llama_cpp_2024": "fitted to XiongjieDai/GPU-Benchmarks-on-LLM-Inference of May 2024, tests/data/llama_bench.csv",
    "llamafile": "fitted to LocalScore's crowd-sourced rows, tests/data/llama_bench.csv",
    "vllm": "fitted to the public rows of ai-dynamo/aiconfigurator and vLLM's blog, tests/data/serving_speed.csv",
    "tensorrt_llm": "fitted to the public rows of ai-dynamo/aiconfigurator, tests/data/serving_speed.csv",
    "sglang": "fitted to Qwen's speed benchmark and the EAGLE-3 paper, tests/data/serving_speed.csv",
    "nim": "fitted to NVIDIA's NIM benchmarks, tests/data/serving_speed.csv",
}
FEW = 5
"""Fewer errors than this say nothing of nine in ten."""
TOLD = 0.05
"""Steps that spend less of their time computing do not tell how fast that goes: one user's answers."""
STEP_TOKENS = 8_192
SEVERAL = 3
"""With fewer cards than this in a family, its fixed time a layer is that of its maker's cards together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One measured step. *group* shares constants, *unit* is left out together, *rig* is one machine and format."""

    engine: str
    family: str
    experts: bool
    unit: Hashable
    rig: Hashable
    measured: Measured

    @property
    def group(self) -> Group:
        return self.engine, self.family, self.experts

    @property
    def is_possible(self) -> bool:
        """Whether reading the bytes at the full rate takes no longer than was measured."""
        return self.measured.seconds >= self.measured.work.ceiling_s


def rows_of(name: str) -> list[dict[str, str]]:
    with (DATA / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def bench_readings() -> list[Reading]:
    """llama-bench rows of one stream; rows of a batch share one prompt and meet fewer experts, so they are left out."""
    found = []
    for row in rows_of("llama_bench.csv"):
        if not row["tokens_per_s"] or not row["bandwidth_bytes_per_s"] or row["batch"] != "1":
            continue
        layers = int(row["layers"])
        read_bytes = int(row["read_bytes"]) + int(row["context_tokens"]) * int(row["kv_bytes_per_token"])
        card = row["card"].rsplit(" x", 1)[0]  # layers on several cards take turns: one card's bandwidth at a time
        found.append(
            Reading(
                engine=row["engine"],
                family=row["family"],
                experts=row["experts"] == "yes",
                unit=card,
                rig=(row["engine"], row["card"]),
                measured=Measured(
                    work=Work(
                        layers=layers,
                        linked_layers=0,
                        token_layers=0,  # one stream: the same as layers
                        read_bytes=read_bytes,
                        read_s=read_bytes / int(row["bandwidth_bytes_per_s"]),
                        arithmetic_s=0.0,
                    ),
                    seconds=1 / float(row["tokens_per_s"]),
                ),
            )
        )
    return found


@cache
def model_for(model: str, card: str, weights: str, kv_cache: str, tensor_parallel: int) -> Model:
    chosen = choose(
        Choices(model=model, device=card, weights=weights, kv_cache=kv_cache, tensor_parallel=tensor_parallel)
    )
    return prepare_speed(chosen.architecture, chosen.deployment, performance_presets.eight_bit_formats())


def serving_readings() -> list[Reading]:
    """Times per token of busy servers: each step also computes prompt ÷ answer tokens of new prompts a sequence."""
    found = []
    for row in rows_of("serving_speed.csv"):
        if row["metric"] != "time_per_token_s" or not row["concurrency"].isdigit():
            continue
        prompt, output = int(row["prompt_tokens"]), int(row["output_tokens"])
        model = model_for(row["model"], row["card"], row["weights"], row["kv_cache"], int(row["tensor_parallel"]))
        experts = has_experts(model.architecture)
        work = decode_work(model, int(row["concurrency"]), prompt + output // 2, prompt / output)
        found.append(
            Reading(
                engine=row["engine"],
                family=performance_presets.device_family(row["card"]),
                experts=experts,
                unit=(row["card"], row["tensor_parallel"]),
                rig=(row["engine"], row["model"], row["card"], row["weights"], row["tensor_parallel"]),
                measured=Measured(work=work, seconds=float(row["seconds"])),
            )
        )
    return found


def prefill_readings() -> list[Reading]:
    """llama-bench's prompts on devices whose arithmetic rate is known."""
    found = []
    for row in rows_of("llama_bench.csv"):
        device = presets.find_device(row["device"]) if row["device"] else None
        if not row["prompt_tokens_per_s"] or device is None or not device.fp16_flops_per_s or row["experts"]:
            continue
        if row["family"] != performance_presets.device_family(device.name) or row["context"].startswith("mixed"):
            continue
        words = row["context"].split()
        tokens = int(words[0].removeprefix("tg")) if words[0].startswith("tg") else 512
        model = model_for(row["model"].lower(), device.name, "fp16", "fp16", 1)
        layers, read_bytes = int(row["layers"]), int(row["read_bytes"])
        found.append(
            Reading(
                engine=row["engine"],
                family=row["family"],
                experts=False,
                unit=row["card"],
                rig=(row["engine"], row["card"]),
                measured=Measured(
                    work=Work(
                        layers=layers,
                        linked_layers=0,
                        token_layers=layers * tokens,
                        read_bytes=read_bytes,
                        read_s=read_bytes / int(row["bandwidth_bytes_per_s"]),
                        arithmetic_s=tokens * operations_per_token(model) / device.fp16_flops_per_s,
                    ),
                    seconds=tokens / float(row["prompt_tokens_per_s"]),
                ),
            )
        )
    return found


def first_token_errors() -> tuple[list[float], list[float]]:
    """Of the simulator's and of a lone prompt's time to the first token, against servers with so many users at a time.

    Prompts and answers of one run are equally long, so that requests stay in step: nobody's prompt is alone. What the
    first request of each user waited is left out, since all of them came at once. Steps have 8,192 tokens, the default
    of vLLM and TensorRT-LLM on these cards; nothing is fitted.
    """
    together, alone = [], []
    for row in rows_of("serving_speed.csv"):
        if row["metric"] != "time_to_first_token_s" or not row["concurrency"].isdigit():
            continue
        prompt, output, users = (int(row[key]) for key in ("prompt_tokens", "output_tokens", "concurrency"))
        model = model_for(row["model"], row["card"], row["weights"], row["kv_cache"], int(row["tensor_parallel"]))
        constants = performance_presets.find_speed_constants(
            row["engine"], row["card"], has_experts(model.architecture)
        )
        count = max(6 * users, 8)
        run = ContinuousServer(
            Trace(arrivals_s=(0.0,) * count, prompt_tokens=(prompt,) * count, output_tokens=(output,) * count),
            Server(schedule=Schedule.CHUNKED, slots=users, max_num_batched_tokens=STEP_TOKENS),
            step_time(model, constants, users, prompt + output // 2),
            closed_loop_users=users,
        ).run()
        waits = [first - arrival for first, arrival in zip(run.first_tokens, run.arrivals, strict=True)][users:]
        measured_s = float(row["seconds"])
        together.append(mean(waits) / TICKS_PER_S / measured_s - 1)
        alone.append(prompt_seconds(model, constants, prompt)[1].value_s / measured_s - 1)
    return together, alone


def error(reading: Reading, constants: SpeedConstants) -> float:
    return predicted_s(reading.measured.work, constants) / reading.measured.seconds - 1


def quantile(errors: Iterable[float], share: float) -> float:
    """Of the errors' sizes, by nearest rank; 0 of none."""
    ordered = sorted(map(abs, errors))
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


@dataclass(slots=True, kw_only=True)
class Result:
    """Errors of one group: unseen, and with one row of the same machine and format as calibration."""

    constants: SpeedConstants
    unseen: list[float]
    calibrated: list[float]


def maker(family: str) -> str:
    return family.partition("-")[0]


def fitted(group: Group, readings: Sequence[Reading], unit: Hashable) -> SpeedConstants | None:
    """Constants for *group* from everything but *unit*: its own family, else its maker's cards, else any."""
    engine, family, experts = group
    others = [r for r in readings if r.engine == engine and r.experts == experts and r.unit != unit]
    own = [r for r in others if r.family == family]
    kin = [r for r in others if maker(r.family) == maker(family)] or others
    if not kin:
        return None
    base = fitted_to(kin, START)
    if not own:
        return base
    return fitted_to(own, base, keep_layer=len({r.unit for r in own}) < SEVERAL)


def fitted_to(readings: Sequence[Reading], base: SpeedConstants, keep_layer: bool = False) -> SpeedConstants:
    """*base* fitted to *readings*, its share of the arithmetic rate kept where they do not tell it."""
    steps = [reading.measured for reading in readings]
    computing = max(step.work.arithmetic_s / step.seconds for step in steps) / base.arithmetic_efficiency
    return fit(steps, base, keep_layer=keep_layer, keep_arithmetic=computing < TOLD)


def evaluate(readings: Sequence[Reading]) -> dict[Group, Result]:
    """Every group's constants, and the errors on units that their fit had not seen."""
    possible = [reading for reading in readings if reading.is_possible]
    groups: dict[Group, list[Reading]] = defaultdict(list)
    for reading in possible:
        groups[reading.group].append(reading)
    results = {}
    for group, members in sorted(groups.items()):
        whole = fitted(group, possible, unit=None)
        assert whole is not None
        result = Result(constants=whole, unseen=[], calibrated=[])
        for unit in sorted({reading.unit for reading in members}, key=str):
            constants = fitted(group, possible, unit)
            if constants is None:
                continue
            held = [reading for reading in members if reading.unit == unit]
            result.unseen += [error(reading, constants) for reading in held]
            result.calibrated += calibrated_errors(held, constants)
        results[group] = result
    return results


def calibrated_errors(held: Sequence[Reading], constants: SpeedConstants) -> list[float]:
    """Errors of a machine's other rows when the quickest one calibrates: the lightest load, the smallest model."""
    errors = []
    for rig in sorted({reading.rig for reading in held}, key=str):
        rows = sorted((r for r in held if r.rig == rig), key=lambda reading: reading.measured.seconds)
        if len(rows) > 1:
            own = calibrate(constants, [rows[0].measured])
            errors += [error(reading, own) for reading in rows[1:]]
    return errors


def prefill_efficiency(engine: str, family: str, constants: SpeedConstants) -> tuple[float, float] | None:
    """The median share of the arithmetic rate that prompts reach, and the error of nine in ten.

    Few readings lie on their own median: the error is then that of all the engine's cards by their families' others.
    """
    rows = [r for r in prefill_readings() if (r.engine, r.family) == (engine, family)]
    share = _prompt_share(rows, constants)
    if share is None:
        return None
    own = replace(constants, arithmetic_efficiency=share)
    errors = [error(reading, own) for reading in rows]
    return share, quantile(errors if len(errors) >= FEW else _prompts_unseen(engine), 0.9)


def _prompt_share(rows: Iterable[Reading], constants: SpeedConstants) -> float | None:
    shares = []
    for reading in rows:
        known = parts(reading.measured.work, constants)
        rest = reading.measured.seconds - (known.total_s - known.arithmetic_s)
        if rest > 0:
            shares.append(min(1.0, reading.measured.work.arithmetic_s / rest))
    return median(shares) if shares else None


@cache
def _prompts_unseen(engine: str) -> list[float]:
    """Errors of *engine*'s prompts with the share of the family's other cards, or of other families without any."""
    rows = [r for r in prefill_readings() if r.engine == engine]
    constants = fitted_to([r for r in bench_readings() if r.engine == engine and r.is_possible], START)
    kin = _prompts_without(rows, constants, lambda one, other: one.family == other.family and one.unit != other.unit)
    return kin or _prompts_without(rows, constants, lambda one, other: one.family != other.family)


def _prompts_without(
    rows: Sequence[Reading], constants: SpeedConstants, counts: Callable[[Reading, Reading], bool]
) -> list[float]:
    """Errors of each of *rows* that has others which *counts* takes, with the share of these."""
    errors = []
    for reading in rows:
        share = _prompt_share([other for other in rows if counts(reading, other)], constants)
        if share is not None:
            errors.append(error(reading, replace(constants, arithmetic_efficiency=share)))
    return errors


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of the table: *chosen* says which groups count, *limit* the threshold on the median."""

    title: str
    chosen: Callable[[Group], bool]
    limit: float | None = None


RECENT = ("nvidia-ada", "nvidia-blackwell", "apple", "apple-ultra")
BENCH_LINES = (
    Line(
        title="llama-bench, dense: Ada, Blackwell, Apple",
        chosen=lambda g: not g[2] and g[1] in RECENT and g[0] != "llamafile",
        limit=0.05,
    ),
    Line(title="llama-bench and LocalScore, dense: all families", chosen=lambda g: not g[2], limit=0.08),
    Line(title="– current llama.cpp", chosen=lambda g: not g[2] and g[0] == "llama_cpp"),
    Line(title="– llama.cpp with Vulkan", chosen=lambda g: not g[2] and g[0] == "llama_cpp_vulkan"),
    Line(title="– llama.cpp of May 2024", chosen=lambda g: not g[2] and g[0] == "llama_cpp_2024"),
    Line(title="– LocalScore (llamafile), crowd-sourced", chosen=lambda g: not g[2] and g[0] == "llamafile"),
    Line(title="llama-bench, experts", chosen=lambda g: g[2]),
)
SERVING_LINES = (
    Line(title="vLLM, dense 70B", chosen=lambda g: g[0] == "vllm" and not g[2], limit=0.10),
    Line(title="serving, dense: all engines", chosen=lambda g: not g[2], limit=0.13),
    Line(title="serving, experts: all engines", chosen=lambda g: g[2], limit=0.15),
    Line(title="– vLLM, experts", chosen=lambda g: g[2] and g[0] == "vllm"),
    Line(title="– TensorRT-LLM, experts", chosen=lambda g: g[2] and g[0] == "tensorrt_llm"),
)


def family_lines(groups: Iterable[Group]) -> list[Line]:
    """One line a family of devices; crowd-sourced rows have one of their own already."""
    families = sorted({family for engine, family, _ in groups if engine != "llamafile"})
    return [
        Line(title=f"– on {family}", chosen=lambda g, family=family: g[1] == family and g[0] != "llamafile")
        for family in families
    ]


def table() -> list[str]:
    """The table of METHOD.md."""
    lines = [
        "| Readings | Rows | Median | 90% | Limit | One calibration row: median | 90% |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for readings, kinds in ((bench_readings(), BENCH_LINES), (serving_readings(), SERVING_LINES)):
        results = evaluate(readings)
        for kind in (*kinds, *family_lines(results)):
            chosen = [result for group, result in results.items() if kind.chosen(group)]
            unseen = [error for result in chosen for error in result.unseen]
            own = [error for result in chosen for error in result.calibrated]
            shown = [
                f"{quantile(errors, part):.1%}" if errors else "–" for errors in (unseen, own) for part in (0.5, 0.9)
            ]
            limit = "" if kind.limit is None else f"{kind.limit:.0%}"
            cells = [kind.title, str(len(unseen)), *shown[:2], limit, *shown[2:]]
            lines.append(f"| {' | '.join(cells)} |")
        if kinds is SERVING_LINES:
            titles = ("– time to first token, simulated", "– time to first token, as if alone")
            for title, errors in zip(titles, first_token_errors(), strict=True):
                cells = [title, str(len(errors)), f"{quantile(errors, 0.5):.1%}", f"{quantile(errors, 0.9):.1%}"]
                lines.append(f"| {' | '.join(cells)} |  | – | – |")
        impossible = sum(not reading.is_possible for reading in readings)
        lines.append(f"| set aside: faster than their bytes can be read | {impossible} | | | | | |")
    return lines


def constants_toml() -> str:
    """Every group's constants with their errors, and each engine's for families that it was not measured on."""
    blocks = []
    for readings in (bench_readings(), serving_readings()):
        results = evaluate(readings)
        pairs = sorted({(engine, experts) for engine, _, experts in results})
        members = {pair: [r for r in readings if r.is_possible and (r.engine, r.experts) == pair] for pair in pairs}
        across = [error for rows in members.values() for error in _other_families(rows)]
        for (engine, family, experts), result in results.items():
            blocks.append(_block(engine, family, experts, result, results, across))
        for engine, experts in pairs:
            kin = {g: r for g, r in results.items() if (g[0], g[2]) == (engine, experts)}
            own = members[engine, experts]
            whole = Result(
                constants=fitted_to(own, START),
                unseen=_other_families(own) or across,
                calibrated=[error for result in kin.values() for error in result.calibrated],
            )
            blocks.append(_block(engine, "any", experts, whole, kin, across))
    return "\n".join(blocks)


def _other_families(readings: Sequence[Reading]) -> list[float]:
    """Errors on each family with constants from the others; none where there is but one."""
    errors = []
    for family in sorted({reading.family for reading in readings}):
        others = [reading for reading in readings if reading.family != family]
        if others:
            constants = fitted_to(others, START)
            errors += [error(reading, constants) for reading in readings if reading.family == family]
    return errors


def _block(
    engine: str, family: str, experts: bool, result: Result, kin: Mapping[Group, Result], across: Sequence[float]
) -> str:
    """A group's table; errors of few readings are those of the engine's groups together, else those of all *across*."""
    unseen, own = result.unseen, result.calibrated
    if len(unseen) < FEW:
        unseen = [error for g, r in kin.items() if (g[0], g[2]) == (engine, experts) for error in r.unseen]
    if len(unseen) < FEW:
        unseen = [*across]
    if len(own) < FEW:
        own = [error for g, r in kin.items() if (g[0], g[2]) == (engine, experts) for error in r.calibrated]
    found = result.constants
    prefill = prefill_efficiency(engine, family, found)
    values: dict[str, object] = {
        "engine": engine,
        "family": family,
        "experts": experts,
        "layer_s": _digits(found.layer_s),
        "link_s": _digits(found.link_s),
        "token_s": _digits(found.token_s),
        "read_efficiency": _digits(found.read_efficiency),
        "arithmetic_efficiency": _digits(found.arithmetic_efficiency),
        "median_error": _digits(quantile(unseen, 0.5)),
        "p90_error": _digits(quantile(unseen, 0.9)),
        "readings": found.readings,
    }
    if own:
        values["calibrated_median_error"] = _digits(quantile(own, 0.5))
        values["calibrated_p90_error"] = _digits(quantile(own, 0.9))
    if prefill:
        values["prefill_efficiency"], values["prefill_p90_error"] = map(_digits, prefill)
    values["source"] = SOURCES[engine]
    name = f"{engine}/{family}" + ("/experts" if experts else "")
    return "\n".join([f'["{name}"]', *(f"{key} = {_toml(value)}" for key, value in values.items()), ""])


def _digits(value: float) -> float:
    return float(f"{value:.3g}")


def _toml(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else json.dumps(value)


if __name__ == "__main__":
    print(constants_toml() if "--constants" in sys.argv[1:] else "\n".join([*table(), "", *draft_readings.table()]))
