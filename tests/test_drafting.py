"""Speculation for many requests at once: laws, and whether published drafts made things faster or slower."""

import csv
import json
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner import performance_presets
from planner.choices import Choices, choose
from planner.cli import main
from planner.errors import PlannerError
from planner.speed.drafting import BatchSpeculation, head_model, speculate_together
from planner.speed.work import Model, has_experts, prepare_speed
from tests.test_speed import CONSTANTS, dense, prepared

EIGHT_BIT = performance_presets.eight_bit_formats()


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
    path = Path(__file__).parent / "data" / "speculation.csv"
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
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


def predicted(draft: Draft, overhead: float) -> float:
    chosen = choose(Choices(model=draft.model, device=draft.device))
    model = prepare_speed(chosen.architecture, chosen.deployment, EIGHT_BIT)
    constants = performance_presets.find_speed_constants(draft.engine, draft.device, has_experts(model.architecture))
    return speculate_together(
        model,
        constants,
        acceptance=draft.acceptance,
        draft_tokens=draft.draft_tokens,
        users=draft.batch,
        context_tokens=500,
        overhead=overhead,
        draft=head_model(model, EIGHT_BIT),
    ).speedup


def test_the_stored_overhead_is_the_middle_of_the_light_readings() -> None:
    light = [predicted(draft, 1.0) / draft.speedup for draft in published() if draft.batch <= 8]
    assert len(light) == 17
    assert round(median(light), 2) == performance_presets.speculation_overhead()


def test_faster_or_slower_is_right_in_85_of_100_published_cases() -> None:
    """A third of them are slow-downs; the cost of each draft comes from the speed model."""
    drafts = published()
    overhead = performance_presets.speculation_overhead()
    right = [(predicted(draft, overhead) > 1) == (draft.speedup > 1) for draft in drafts]
    assert len(drafts) == 34
    assert sum(draft.speedup < 1 for draft in drafts) == 9
    assert sum(right) / len(right) >= 0.85


def together(model: Model, **options: float) -> BatchSpeculation:
    given = {"acceptance": 0.7, "draft_tokens": 4, "users": 8, "context_tokens": 1_000, "draft_cost": 0.1, **options}
    return speculate_together(model, CONSTANTS, overhead=1.0, **given)  # type: ignore[arg-type]


@given(st.integers(0, 16), st.integers(1, 500), st.floats(0, 1))
def test_a_draft_that_is_never_accepted_never_helps(draft_tokens: int, users: int, draft_cost: float) -> None:
    result = together(prepared(dense()), acceptance=0.0, draft_tokens=draft_tokens, users=users, draft_cost=draft_cost)
    assert result.speedup <= 1


def test_more_requests_make_checking_dearer() -> None:
    """From a few requests to where arithmetic bounds the step, the speed-up falls, in the end below 1."""
    speedups = [together(prepared(dense(40)), users=users, context_tokens=10).speedup for users in (1, 64, 512, 4_096)]
    assert speedups == sorted(speedups, reverse=True)
    assert speedups[0] > 1.5
    assert speedups[-1] < 1


def test_either_a_model_or_a_cost_is_given() -> None:
    with pytest.raises(PlannerError, match="one of the two"):
        together(prepared(dense()), draft_cost=None)  # type: ignore[arg-type]


def test_the_command_for_many_requests(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["speculate", "--acceptance", "0.7", "--draft-tokens", "3"]
    batch = ["--batch", "8", "--model", "llama-3.1-8b", "--device", "h100-sxm", "--draft-model", "head"]
    assert main([*words, *batch, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["expected_tokens"] == pytest.approx(1 + 0.7 + 0.49 + 0.343)
    time = performance_presets.speculation_overhead() * (printed["verify_s"] + printed["draft_s"])
    assert printed["speedup"] == pytest.approx(printed["expected_tokens"] * printed["step_s"] / time)
    assert main([*words, "--batch", "8"]) == 2
    assert capsys.readouterr().err.startswith("Many requests at once need --batch, --model and --device")
