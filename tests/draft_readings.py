"""Published speed-ups of drafts against the model: the plain formula for one request, the speed model for many."""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from planner import performance_presets
from planner.batching.outcome import percentile
from planner.choices import Choices, choose
from planner.speculation import DraftOverhead, speedup
from planner.speed.drafting import head_model, speculate_together
from planner.speed.work import has_experts, prepare_speed

READINGS = Path(__file__).parent / "data" / "speculation.csv"
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
        if "Table 2" in row["source"]
    ]


def acceptance_of(name: str) -> float:
    acceptance = performance_presets.drafts()[name].acceptance_per_token()
    assert acceptance is not None
    return acceptance


def published() -> list[Draft]:
    """Rows that state batch and length and not the draft's cost, of heads whose acceptance a chain has shown."""
    eagle = acceptance_of("eagle-llama-3.1-8b-mt-bench-2")
    known = {
        ("EAGLE", "table 3"): ("llama-3.1-8b", "h100-sxm", "vllm", eagle),
        ("EAGLE-3", "table 3"): ("llama-3.1-8b", "h100-sxm", "vllm", acceptance_of("eagle-3-gpt-oss-20b-mt-bench-3")),
        ("EAGLE", "table 5"): ("llama-3.1-8b", "rtx-3090", "vllm", eagle),
        ("EAGLE", "PR 16035"): ("llama-3.1-8b", "h100-sxm", "vllm", None),
        ("EAGLE", "PR 24343"): ("llama-3.1-8b", "a100-40gb", "vllm", None),
        ("EAGLE fr-spec", "PR 24343"): ("llama-3.1-8b", "a100-40gb", "vllm", None),
        ("MTP", "Qwen3.6-27B"): ("qwen3.6-27b", "strix-halo-128gb", "llama_cpp", None),
        ("MTP", "Qwen3.6-35B-A3B"): ("qwen3.6-35b-a3b", "strix-halo-128gb", "llama_cpp", None),
    }
    chains = {
        ("EAGLE", "2"): eagle,
        ("EAGLE", "4"): acceptance_of("eagle-llama-3.1-8b-mt-bench-4"),
        ("EAGLE", "32"): acceptance_of("eagle-llama-3.1-8b-mt-bench-32"),
        ("EAGLE fr-spec", "1"): acceptance_of("eagle-fr-spec-llama-3.1-8b-mt-bench-1"),
        ("MTP", "2"): acceptance_of("mtp-qwen3.6-27b-q8-strix-halo-2"),
        ("MTP", "3"): acceptance_of("mtp-qwen3.6-27b-q8-strix-halo-3"),
    }
    drafts = []
    for row in _rows():
        if not (row["batch"].isdigit() and row["draft_tokens"].isdigit() and row["speedup"]) or row["draft_cost"]:
            continue
        place = f"{row['source']} {row['target']}"
        match = next((found for key, found in known.items() if key[0] == row["method"] and key[1] in place), None)
        if match is not None:
            model, device, engine, acceptance = match
            drafts.append(
                Draft(
                    model=model,
                    device=device,
                    engine=engine,
                    acceptance=acceptance or chains[row["method"], row["draft_tokens"]],
                    draft_tokens=int(row["draft_tokens"]),
                    batch=int(row["batch"]),
                    speedup=float(row["speedup"]),
                )
            )
    return drafts


def nine_of_ten(errors: Sequence[float]) -> float:
    """The least share to both sides that holds nine of ten of *errors*, relative ones of what was predicted."""
    sides = sorted(max(1 + error, 1 / (1 + error)) - 1 for error in errors)
    return percentile(sides, 0.9)


def errors_together() -> list[float]:
    """Of the speed model against the speed-ups of many requests."""
    factor = performance_presets.speculation_overhead().factor
    return [predicted(draft, factor) / draft.speedup - 1 for draft in published()]


def predicted(draft: Draft, factor: float) -> float:
    """By the speed model, with *factor* for what engines spend besides."""
    eight_bit = performance_presets.eight_bit_formats()
    chosen = choose(Choices(model=draft.model, device=draft.device))
    model = prepare_speed(chosen.architecture, chosen.deployment, eight_bit)
    constants = performance_presets.find_speed_constants(draft.engine, draft.device, has_experts(model.architecture))
    return speculate_together(
        model,
        constants,
        acceptance=draft.acceptance,
        draft_tokens=draft.draft_tokens,
        users=draft.batch,
        context_tokens=500,
        overhead=DraftOverhead(factor=factor, source="", p90_error=0.0, formula_p90_error=0.0),
        draft=head_model(model, eight_bit),
    ).speedup


def said_rightly(drafts: Sequence[Draft]) -> int:
    """How many of *drafts* the model says faster or slower of as the publication does."""
    factor = performance_presets.speculation_overhead().factor
    return sum((predicted(draft, factor) > 1) == (draft.speedup > 1) for draft in drafts)


def table() -> list[str]:
    """The table of METHOD.md."""
    errors, drafts = list(map(abs, formula_errors())), published()
    right, slower = said_rightly(drafts), sum(draft.speedup < 1 for draft in drafts)
    found = (
        f"{median(errors):.1%} off in the median, {max(errors):.0%} at most",
        f"faster or slower said rightly of {right} ({right / len(drafts):.0%})",
    )
    return [
        "| Published speed-ups of drafts | Rows | Found | Limit |",
        "|---|---:|---|---|",
        f"| one request: acceptance, length and cost stated | {len(errors)} | {found[0]} | {ERROR_LIMIT:.0%} |",
        f"| many: cost by the speed model | {len(drafts)}, {slower} slow-downs | {found[1]} | {RIGHT_LIMIT:.0%} |",
    ]
