"""Published speed-ups of drafts against the model: the plain formula for one request, the speed model for many."""

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import mean, median

from planner.batching.outcome import percentile
from planner.catalogue import performance_presets
from planner.inputs.choices import Choices, choose
from planner.speculation import DraftOverhead, speedup
from planner.speed.drafting import BatchSpeculation, head_model, speculate_together
from planner.speed.operations import has_experts
from planner.speed.work import prepare_speed

READINGS = Path(__file__).parent / "data" / "speculation.csv"
CHAT_TOKENS = 500
"""Prompt and answer of a request of MT-bench, about."""
ERROR_LIMIT = 0.15
"""Of the plain formula, in the median."""
RIGHT_LIMIT = 0.85
"""Share of speed-ups of many requests that are rightly said to be faster or slower."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A published speed-up with its batch and draft length; acceptance from the same method's chain of known length."""

    model: str
    device: str
    engine: str
    source: str
    acceptance: float
    draft_tokens: int
    batch: int
    speedup: float


def _rows() -> list[dict[str, str]]:
    with READINGS.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def formula_errors() -> list[float]:
    """Of the plain formula against Leviathan's twelve rows, T5-XXL on TPU v4: acceptance, length and cost are given."""
    return [
        speedup(float(row["acceptance"]), int(row["draft_tokens"]), float(row["draft_cost"])) / float(row["speedup"])
        - 1
        for row in _rows()
        if _states_all(row)
    ]


def acceptance_of(*names: str) -> float:
    """Of one published chain, or between those of a shorter and a longer one: it falls along a draft."""
    found = [performance_presets.drafts()[name].acceptance_per_token() for name in names]
    return mean(acceptance for acceptance in found if acceptance is not None)


@cache
def _setups() -> dict[tuple[str, str], tuple[str, str, str, float | None]]:
    """By method and words of the source: model, device, engine, acceptance where it is not the row's own length's."""
    short, long = "eagle-llama-3.1-8b-mt-bench-2", "eagle-llama-3.1-8b-mt-bench-4"
    third = acceptance_of("eagle-3-gpt-oss-20b-mt-bench-3")
    return {
        ("EAGLE", "table 3"): ("llama-3.1-8b", "h100-sxm", "sglang", acceptance_of(short, long)),
        ("EAGLE-3", "table 3"): ("llama-3.1-8b", "h100-sxm", "sglang", third),
        ("EAGLE", "table 5"): ("llama-3.1-8b", "rtx-3090", "vllm", acceptance_of(short)),
        ("EAGLE", "PR 16035"): ("llama-3.1-8b", "h100-sxm", "vllm", None),
        ("EAGLE", "PR 24343"): ("llama-3.1-8b", "a100-40gb", "vllm", None),
        ("EAGLE fr-spec", "PR 24343"): ("llama-3.1-8b", "a100-40gb", "vllm", None),
        ("MTP", "Qwen3.6-27B"): ("qwen3.6-27b", "strix-halo-128gb", "llama_cpp", None),
        ("MTP", "Qwen3.6-35B-A3B"): ("qwen3.6-35b-a3b", "strix-halo-128gb", "llama_cpp", None),
    }


_CHAINS = {
    ("EAGLE", "2"): "eagle-llama-3.1-8b-mt-bench-2",
    ("EAGLE", "4"): "eagle-llama-3.1-8b-mt-bench-4",
    ("EAGLE", "32"): "eagle-llama-3.1-8b-mt-bench-32",
    ("EAGLE fr-spec", "1"): "eagle-fr-spec-llama-3.1-8b-mt-bench-1",
    ("MTP", "2"): "mtp-qwen3.6-27b-q8-strix-halo-2",
    ("MTP", "3"): "mtp-qwen3.6-27b-q8-strix-halo-3",
}


def _states_all(row: dict[str, str]) -> bool:
    return all(row[key] for key in ("acceptance", "draft_tokens", "draft_cost", "speedup"))


def why_not(row: dict[str, str]) -> str:
    """Why a row's speed-up is not predicted; empty where it is."""
    if not row["speedup"]:
        return "no speed-up is stated"
    if _states_all(row):
        return ""
    if not row["batch"].isdigit():
        return "how many requests there were is not stated"
    if not row["draft_tokens"].isdigit():
        return "the length of the draft is not stated, or it is a tree"
    return "" if _setup(row) else "no acceptance of such a draft is known"


def _setup(row: dict[str, str]) -> tuple[str, str, str, float | None] | None:
    place = f"{row['source']} {row['target']}"
    return next((found for key, found in _setups().items() if key[0] == row["method"] and key[1] in place), None)


def published() -> list[Draft]:
    """Rows that state batch and length and not the draft's cost, of heads whose acceptance a chain has shown."""
    drafts = []
    for row in _rows():
        if why_not(row) or _states_all(row):
            continue
        setup = _setup(row)
        assert setup is not None
        model, device, engine, acceptance = setup
        drafts.append(
            Draft(
                model=model,
                device=device,
                engine=engine,
                source=f"{model} on {device}, {'many' if int(row['batch']) > 1 else 'one'}",
                acceptance=acceptance or acceptance_of(_CHAINS[row["method"], row["draft_tokens"]]),
                draft_tokens=int(row["draft_tokens"]),
                batch=int(row["batch"]),
                speedup=float(row["speedup"]),
            )
        )
    return drafts


def _host(tenths_of_ms: int = 0, tens_of_us: int = 0) -> DraftOverhead:
    return DraftOverhead(
        pass_s=round(tenths_of_ms * 1e-4, 4),
        request_s=round(tens_of_us * 1e-5, 5),
        source="",
        p90_error=0.0,
        formula_p90_error=0.0,
    )


@cache
def bare(draft: Draft) -> BatchSpeculation:
    """What the speed model gives without anything between the passes."""
    chosen = choose(Choices(model=draft.model, device=draft.device))
    model = prepare_speed(chosen.architecture, chosen.deployment, performance_presets.kernels_of(draft.engine))
    constants = performance_presets.find_speed_constants(draft.engine, draft.device, has_experts(model.architecture))
    return speculate_together(
        model,
        constants,
        acceptance=draft.acceptance,
        draft_tokens=draft.draft_tokens,
        users=draft.batch,
        context_tokens=CHAT_TOKENS,
        overhead=_host(),
        draft=head_model(model),
    )


def predicted(draft: Draft, overhead: DraftOverhead) -> float:
    found = bare(draft)
    return found.expected_tokens * found.step_s / (found.pass_s + overhead.seconds(draft.batch))


def fitted_overhead(drafts: Sequence[Draft]) -> DraftOverhead:
    """The host's times, in 0.1 ms a pass and 10 µs a request, with which *drafts* are least off on average."""
    choices = (_host(tenths, tens) for tenths in range(31) for tens in range(21))
    return min(choices, key=lambda chosen: mean(abs(predicted(draft, chosen) / draft.speedup - 1) for draft in drafts))


def nine_of_ten(errors: Sequence[float]) -> float:
    """The least share to both sides that holds nine of ten of *errors*, relative ones of what was predicted."""
    sides = sorted(max(1 + error, 1 / (1 + error)) - 1 for error in errors)
    return percentile(sides, 0.9)


def errors_together() -> list[float]:
    """Of the speed model against the speed-ups of many requests."""
    overhead = performance_presets.speculation_overhead()
    return [predicted(draft, overhead) / draft.speedup - 1 for draft in published()]


def is_right(draft: Draft, overhead: DraftOverhead) -> bool:
    """Whether the model says faster or slower as the publication does."""
    return (predicted(draft, overhead) > 1) == (draft.speedup > 1)


def said_rightly(drafts: Iterable[Draft]) -> int:
    """Of how many *drafts* the direction is said rightly."""
    overhead = performance_presets.speculation_overhead()
    return sum(is_right(draft, overhead) for draft in drafts)


def said_rightly_unseen(drafts: Sequence[Draft]) -> int:
    """The same with the host's times fitted without the model and card that they are tried on."""
    right = 0
    for source in sorted({draft.source for draft in drafts}):
        overhead = fitted_overhead([draft for draft in drafts if draft.source != source])
        right += sum(is_right(draft, overhead) for draft in drafts if draft.source == source)
    return right


def classes() -> list[str]:
    """The class of each row of the file."""
    found = []
    for row in _rows():
        reason = why_not(row)
        by = "the plain formula, nothing fitted" if _states_all(row) else "the speed model, which says faster or slower"
        found.append(f"not predicted: {reason}" if reason else f"predicted by {by}")
    return found


def table() -> list[str]:
    """The table of METHOD.md."""
    errors, drafts = list(map(abs, formula_errors())), published()
    slower = sum(draft.speedup < 1 for draft in drafts)
    lines = [
        "| Published speed-ups of drafts | Rows | Found | Limit |",
        "|---|---:|---|---|",
        f"| one request: acceptance, length and cost stated | {len(errors)} | {median(errors):.1%} off in the median, "
        f"{max(errors):.0%} at most | {ERROR_LIMIT:.0%} |",
    ]
    for title, right in (
        ("many: cost by the speed model", said_rightly(drafts)),
        ("the same, the host's times fitted without the model and card", said_rightly_unseen(drafts)),
    ):
        found = f"faster or slower said rightly of {right} ({right / len(drafts):.0%})"
        lines.append(f"| {title} | {len(drafts)}, {slower} slow-downs | {found} | {RIGHT_LIMIT:.0%} |")
    return lines
