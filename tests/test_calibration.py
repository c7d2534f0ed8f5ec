"""Profiles: what they replace, where they hold, and that a plan with one leaves the pool that was printed."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from planner.answers.answer import Answer, answer
from planner.answers.figures import room_bytes
from planner.calibration import CalibrationProfile, Subject
from planner.cli import main
from planner.errors import PlannerError
from planner.export import to_json
from planner.inputs.choices import Choices, Chosen, choose
from planner.inputs.profile_files import load_profile, read_profile
from planner.line_item import Basis
from planner.logs.read import read_log
from planner.measurements import MeasuredItem, MeasuredSpeed
from planner.preset_files import PRESETS
from planner.startups.profile import profile_from
from planner.units import GIB

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
    assert together.replaces == ("activation peak", "encoder peak", "non-torch memory", "loader's buffers")
    assert room_bytes(run(choose(CHOICES), found)) == round(54.93 * GIB)


def test_other_context_users_and_cache_keep_the_measured_items() -> None:
    other = replace(CHOICES, context=32_768, users=4, kv_cache="fp8")
    found = run(choose(other), profile())
    assert room_bytes(found) == round(54.93 * GIB)
    assert not [warning for warning in found.warnings if "profile" in warning]


def test_fewer_sequences_carry_their_items_over_and_say_so() -> None:
    other = replace(CHOICES, set=("gpu_memory_utilization=0.9", "max_num_seqs=16", "max_num_batched_tokens=2048"))
    found = run(choose(other), profile())
    assert {item.name: item.basis for item in found.items}["activation peak"] is Basis.ASSUMED
    assert {item.name: item.basis for item in found.items}["non-torch memory"] is Basis.MEASURED
    assert (
        "The profile measured activation peak with max_num_seqs = 256; with 16 this is carried over, as what is "
        "assumed changes." in found.warnings
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


NUMBERS = [
    (("items", 0, "bytes"), -(10**10)),
    (("items", 1, "bytes_per_token"), -1e6),
    (("items", 1, "error"), -0.1),
    *((("speed", name), value) for name in ("read_bytes_per_s", "operations_per_s") for value in (0, -1)),
    *((("speed", name), -1) for name in ("layer_s", "median_error", "worst_error")),
    *((("passes", 0, name), -1) for name in ("seconds", "peak_bytes", "read_bytes", "cached_tokens")),
    (("passes", 0, "layers"), 0),
    (("subject", "memory_bytes"), 0),
    *((path, 10**400) for path in (("items", 0, "bytes"), ("passes", 0, "read_bytes"), ("speed", "layer_s"))),
]
"""Numbers that no machine's profile can have."""


def edited(path: tuple[str | int, ...], value: object) -> bytes:
    """The shipped profile with another *value* at *path*."""
    (shipped,) = (PRESETS / "calibration").glob("*.json")
    whole = json.loads(shipped.read_text(encoding="utf-8"))
    inner = whole
    for key in path[:-1]:
        inner = inner[key]
    assert path[-1] in inner
    inner[path[-1]] = value
    return json.dumps(whole).encode()


@pytest.mark.parametrize(("path", "value"), NUMBERS)
def test_a_number_that_nothing_can_have_is_refused(path: tuple[str | int, ...], value: float) -> None:
    with pytest.raises(PlannerError, match="which nothing that was measured can have"):
        read_profile(edited(path, value), "edited.json")


@pytest.mark.parametrize(
    ("path", "value", "problem"),
    [
        (("items", 0, "bytes"), True, r"items\.0\.bytes: Input should be a valid integer"),
        (("items", 0, "bytes"), "386855424", r"items\.0\.bytes: Input should be a valid integer"),
        (("speed", "layer_s"), "0.001", r"speed\.layer_s: Input should be a valid number"),
        (("items", 0, "name"), "weights", "has weights as a measured item"),
        (("items", 0, "replaces"), ["cache"], "has cache as a measured item"),
        (("items", 0, "name"), "activations", "measures activations twice"),
        (("items", 0, "replaces"), ["activations"], "measures activations twice"),
        (("items", 0, "bytes"), 1, "context and libraries are 100% from its own passes in the median"),
        (("items", 1, "bytes_per_token"), 1e6, "activations are .*% from its own passes in the median"),
        (("speed", "read_bytes_per_s"), 1e6, "its times are .*% from its own passes in the median"),
    ],
)
def test_what_no_measurement_leaves_in_a_profile_is_refused(
    path: tuple[str | int, ...], value: object, problem: str
) -> None:
    with pytest.raises(PlannerError, match=problem):
        read_profile(edited(path, value), "edited.json")


def test_a_profiles_words_never_act_on_a_terminal() -> None:
    assert read_profile(edited(("items", 0, "source"), "a\x1b[31m"), "edited.json").items[0].source == "a\ufffd[31m"


def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.json")
    with pytest.raises(PlannerError, match=r"pipe\.json is no regular file"):
        load_profile(tmp_path / "pipe.json")


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


MACHINE = CalibrationProfile(
    subject=Subject(
        model="", engine="transformers", engine_version="5.24", device="Xeon", memory_bytes=24 * GIB, is_machine=True
    ),
    conditions={"model": "llama-3.2-1b", "kv_cache": "fp32"},
    items=(
        MeasuredItem(
            name="context and libraries", bytes=400_000_000, source="test", replaces=("context and libraries",)
        ),
        MeasuredItem(
            name="activations",
            bytes=200_000,
            bytes_per_token=23_040.0,
            source="test",
            replaces=("activations",),
            depends_on=("model", "kv_cache"),
        ),
    ),
    speed=MeasuredSpeed(layer_s=1e-3, read_bytes_per_s=10e9, operations_per_s=None, median_error=0.05, worst_error=0.2),
)
LOCAL = Choices(
    model="llama-3.2-1b", memory="20GiB", engine="transformers", weights="fp32", kv_cache="fp32", context=1_000, users=2
)


def test_a_machines_own_profile_counts_what_grows_with_tokens_at_once() -> None:
    found = run(choose(LOCAL), MACHINE)
    sizes = {item.name: item.bytes for item in found.items}
    assert sizes["context and libraries"] == 400_000_000
    assert sizes["activations"] == 200_000 + 2 * 1_000 * 23_040
    without = run(choose(replace(LOCAL, overhead="0")), None)
    assert without.free_bytes - found.free_bytes == 400_000_000 + 200_000 + 2 * 1_000 * 23_040
    assert found.max_context_tokens < without.max_context_tokens
    assert len([item for item in found.items if item.name in sizes]) == len(sizes)


def test_activations_of_another_model_are_assumed_again_and_that_is_said() -> None:
    found = run(choose(replace(LOCAL, model="qwen2.5-0.5b")), MACHINE)
    assert [item.name for item in found.items if item.basis is Basis.MEASURED] == ["context and libraries"]
    assert (
        "The profile measured activations with model = llama-3.2-1b; with qwen2.5-0.5b this is assumed again."
        in found.warnings
    )


@pytest.mark.parametrize(
    ("change", "both"),
    [
        ({"memory": "25GiB"}, ("24 GiB", "25 GiB")),
        ({"memory": None, "device": "rtx-4090"}, ("Xeon", "rtx-4090")),
        ({"engine": "minimum"}, ("transformers", "minimum")),
    ],
)
def test_a_machine_offers_what_is_free_of_its_memory_and_is_no_other(
    change: dict[str, object], both: tuple[str, str]
) -> None:
    with pytest.raises(PlannerError) as refused:
        run(choose(replace(LOCAL, **change)), MACHINE)  # type: ignore[arg-type]
    assert all(side in str(refused.value) for side in both)


def test_speed_follows_what_a_machine_reached(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "machine.json"
    path.write_text(to_json(MACHINE), encoding="utf-8")
    words = ["speed", "--model", "llama-3.2-1b", "--memory", "20GiB", "--weights", "fp32", "--context", "1"]
    assert main([*words, "--engine", "transformers", "--profile", str(path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    # 16 layers of a millisecond each, and every byte at 10 GB/s.
    seconds = 16 * 1e-3 + (found["weights_read_bytes"] + found["kv_read_bytes"]) / 10e9
    assert found["step"]["value_s"] == pytest.approx(seconds, rel=1e-6)
    assert found["source"] == "measured on Xeon, 0 passes"
