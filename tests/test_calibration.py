"""Profiles: what they replace, where they hold, and that a plan with one leaves the pool that was printed."""

from dataclasses import replace
from pathlib import Path

import pytest

from planner.answer import Answer, answer
from planner.calibration import CalibrationProfile
from planner.choices import Choices, Chosen, choose
from planner.errors import PlannerError
from planner.export import to_json
from planner.line_item import Basis
from planner.log_profile import profile_from
from planner.logs.read import read_log
from planner.units import GIB
from planner.verdict import room_bytes

CHOICES = Choices(
    model="llama-3.1-8b",
    memory="79.15GiB",
    engine="vllm",
    engine_version="0.9.1",
    context=8_192,
    set=("gpu_memory_utilization=0.9", "max_num_seqs=256", "max_num_batched_tokens=2048"),
)
LOG = (
    "Model loading took 14.99 GiB and 3.0 seconds\n"
    "model weights take 14.99GiB; non_torch_memory takes 0.09GiB; PyTorch activation peak memory takes 1.23GiB; the "
    "rest of the memory reserved for KV Cache is 54.93GiB.\n"
)


def profile(log: str = LOG, choices: Choices = CHOICES) -> CalibrationProfile:
    (start,) = read_log(log).starts
    found = profile_from(start, choose(choices))
    assert found is not None
    return found


def run(chosen: Chosen, found: CalibrationProfile | None) -> Answer:
    deployment = replace(chosen.deployment, profile=found)
    return answer(chosen.architecture, deployment, chosen.workload)


def test_a_plan_with_the_profile_leaves_the_printed_pool_to_the_byte() -> None:
    found = run(choose(CHOICES), profile())
    assert room_bytes(found) == round(54.93 * GIB)
    assert {item.name: item.basis for item in found.items if item.name != "cache"} == {
        "weights": Basis.EXACT,
        "activation peak": Basis.MEASURED,
        "non-torch memory": Basis.MEASURED,
        "weights as loaded": Basis.MEASURED,
        "outside the pool": Basis.RULE,
    }
    sizes = {item.name: item.bytes for item in found.items}
    assert sizes["activation peak"] == round(1.23 * GIB)
    # ceil(0.9 · 79.15 GiB) − weights − 1.23 − 0.09 − 54.93
    loaded = -(-round(79.15 * GIB) * 9 // 10) - sizes["weights"] - sum(round(x * GIB) for x in (1.23, 0.09, 54.93))
    assert sizes["weights as loaded"] == pytest.approx(loaded, abs=2)


def test_what_is_not_printed_is_one_item_that_the_sum_gives() -> None:
    found = profile("Model loading took 14.99 GiB\nAvailable KV cache memory: 54.93 GiB")
    (together, _) = found.items
    assert together.name == "activation peak, non-torch memory"
    assert together.replaces == ("activation peak", "encoder peak", "non-torch memory")
    assert room_bytes(run(choose(CHOICES), found)) == round(54.93 * GIB)


def test_other_context_users_and_cache_keep_the_measured_items() -> None:
    other = replace(CHOICES, context=32_768, users=4, kv_cache="fp8")
    found = run(choose(other), profile())
    assert room_bytes(found) == round(54.93 * GIB)
    assert not [warning for warning in found.warnings if "profile" in warning]


def test_fewer_sequences_make_their_items_assumed_again_and_say_so() -> None:
    other = replace(CHOICES, set=("gpu_memory_utilization=0.9", "max_num_seqs=16", "max_num_batched_tokens=2048"))
    found = run(choose(other), profile())
    assert {item.name: item.basis for item in found.items}["activation peak"] is Basis.ASSUMED
    assert {item.name: item.basis for item in found.items}["non-torch memory"] is Basis.MEASURED
    assert (
        "The profile's activation peak was measured with max_num_seqs = 256; with 16 it is assumed again."
        in found.warnings
    )


@pytest.mark.parametrize(
    ("change", "both"),
    [
        ({"model": "qwen3-8b"}, ("llama-3.1-8b", "qwen3-8b")),
        ({"engine_version": "0.11.2"}, ("0.9", "0.11")),
        ({"memory": "23.64GiB"}, ("79.15 GiB", "23.64 GiB")),
        ({"engine": "transformers", "engine_version": None, "set": ()}, ("vllm", "transformers")),
    ],
)
def test_another_model_version_card_or_engine_is_refused_with_both_sides(
    change: dict[str, object], both: tuple[str, str]
) -> None:
    with pytest.raises(PlannerError) as refused:
        run(choose(replace(CHOICES, **change)), profile())  # type: ignore[arg-type]
    assert all(side in str(refused.value) for side in both)


def test_a_patch_release_and_another_drivers_memory_are_the_same() -> None:
    run(choose(replace(CHOICES, engine_version="0.9.2", memory="79.25GiB")), profile())


def test_a_named_card_and_its_printed_size_are_one_card() -> None:
    run(choose(replace(CHOICES, memory=None, device="h100-sxm")), profile())


def test_a_profile_is_a_file(tmp_path: Path) -> None:
    path = tmp_path / "profile.json"
    path.write_text(to_json(profile()), encoding="utf-8")
    chosen = choose(replace(CHOICES, profile=str(path)))
    assert chosen.deployment.profile == profile()
    assert room_bytes(answer(chosen.architecture, chosen.deployment, chosen.workload)) == round(54.93 * GIB)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[]", "an object of keys"),
        ("{}", "subject: Field required"),
        ('{"subject": {"model": "a"}, "items": []}', "subject.engine: Field required"),
        (to_json(profile()).replace('"items"', '"other": 1, "items"', 1), "other: Unexpected keyword argument"),
    ],
)
def test_a_bad_file_is_refused_by_path(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "bad.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(PlannerError, match=problem):
        choose(replace(CHOICES, profile=str(path)))


def test_a_missing_file_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(PlannerError, match=r"none\.json cannot be read"):
        choose(replace(CHOICES, profile=str(tmp_path / "none.json")))


def test_the_version_of_0_27_prints_sums() -> None:
    choices = replace(CHOICES, engine_version="0.28", set=("gpu_memory_utilization=0.9",))
    log = (
        "Model loading took 14.99 GiB memory and 3.0 s\nEstimated CUDA graph memory: 0.80 GiB total\n"
        "Actual usage is 15.25 GiB for consumed memory (weights + non-torch), 1.60 GiB for peak activation, and "
        "0.55 GiB for CUDAGraph memory.\nAvailable KV cache memory: 54.30 GiB\n"
    )
    sizes = {item.name: round(item.bytes / GIB, 2) for item in profile(log, choices).items}
    assert sizes["activation peak"] == 0.8
    assert sizes["non-torch memory"] == 0.26
    assert sizes["CUDA graphs"] == 0.8
    assert room_bytes(run(choose(choices), profile(log, choices))) == round(54.30 * GIB)
