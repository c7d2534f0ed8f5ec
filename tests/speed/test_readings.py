"""Public measurements of speed: within their limits, each row counted once, and the constants as they are fitted."""

from collections import Counter

import pytest

from planner import presets
from planner.catalogue import performance_presets
from planner.preset_files import PRESETS
from planner.speed.constants import parts
from planner.speed.fit import predicted_s
from planner.speed.work import decode_work
from tests import draft_readings
from tests.speed_readings import bench, counts, far_off, ranges, serving, table
from tests.speed_readings.constants import constants_toml
from tests.speed_readings.reading import DATA, model_for, rows_of

METHOD = (DATA.parents[1] / "planner" / "METHOD.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def figures() -> dict[str, list[str]]:
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.table()[2:]]
    return {row[0]: row[1:] for row in rows}


@pytest.mark.slow
def test_public_measurements_stay_within_their_limits(figures: dict[str, list[str]]) -> None:
    """Constants fitted without the card that they are tried on."""
    limited = {title: cells for title, cells in figures.items() if cells[3]}
    assert len(limited) == 5
    for title, (_, unseen, _, limit, *_) in limited.items():
        assert float(unseen.rstrip("%")) <= float(limit.rstrip("%")), title


@pytest.mark.slow
def test_one_measured_row_brings_the_median_within_six_percent(figures: dict[str, list[str]]) -> None:
    for title, (*_, own, _) in figures.items():
        if not title.startswith("–"):
            assert float(own.rstrip("%")) <= 6, title


@pytest.mark.slow
def test_a_line_says_whose_rows_it_counts(figures: dict[str, list[str]]) -> None:
    """vLLM's large dense model is one, and the line has its rows and no others."""
    large = [r for r in serving.serving_readings() if r.engine == "vllm" and r.model == table.LARGE]
    assert int(figures["vLLM, dense 70B"][0]) == len(large) == 120
    others = {r.model for r in serving.serving_readings() if r.engine == "vllm" and not r.experts} - {table.LARGE}
    assert others == {"llama-3.1-8b", "qwen3.6-27b"}


@pytest.mark.slow
def test_the_tables_of_method_md_are_what_the_readings_give() -> None:
    assert "\n".join(table.table()) in METHOD
    assert "\n".join(ranges.table()) in METHOD
    assert "\n".join(far_off.table()) in METHOD
    assert "\n".join(counts.table()) in METHOD


@pytest.mark.slow
def test_the_stored_constants_are_the_fitted_ones() -> None:
    text = (PRESETS / "speed.toml").read_text(encoding="utf-8")
    head, _, tables = text.partition("\n[")
    assert all(line.startswith("#") or not line for line in head.splitlines())
    assert f"[{tables}".strip() == constants_toml().strip()


@pytest.mark.slow
def test_every_row_is_in_one_class() -> None:
    """And as many are predicted as the table's lines count."""
    both = [*rows_of(bench.FILE), *rows_of(bench.MORE)]
    for rows, classes, (_, results) in (
        (both, [*counts.bench_classes(), *counts.bench_classes(bench.MORE)], table.bench()),
        (rows_of(serving.FILE), counts.serving_classes(), table.serving()),
    ):
        counted = Counter(classes)
        assert sum(counted.values()) == len(rows)
        assert counted[counts.PREDICTED] == sum(len(result.unseen) for result in results.values())
        assert counted[counts.FITTED] == 0
    assert len(draft_readings.classes()) == len(rows_of("speculation.csv"))


@pytest.mark.slow
def test_ranges_hold_nine_of_ten_measurements_that_they_had_not_seen() -> None:
    """Give or take two of a hundred."""
    for line in ranges.table()[2:]:
        title, _, held = (cell.strip() for cell in line.strip("|").split("|"))
        assert int(held.rstrip("%")) >= 88, title


def test_no_public_prompt_is_faster_than_its_ceiling() -> None:
    prompts = bench.prefill_readings()
    assert len(prompts) == 297
    assert [prompt for prompt in prompts if not prompt.is_possible] == []


def test_several_users_of_llama_cpp_compute_at_the_share_of_prompts() -> None:
    """Five rows of a dense model on one card, from which nothing was fitted."""
    model = model_for("qwen2.5-coder-7b", "dgx-spark", "q8_0", "fp16", 1, "llama_cpp")
    constants = performance_presets.find_speed_constants("llama_cpp", "dgx-spark", experts=False)
    rows = [row for row in rows_of(bench.FILE) if row["model"] == "Qwen2.5-Coder-7B" and row["batch"] != "1"]
    assert [int(row["batch"]) for row in rows] == [2, 4, 8, 16, 32]
    for row in rows:
        users = int(row["batch"])
        planned = predicted_s(decode_work(model, users, 512), constants)
        assert 0.82 < planned / (users / float(row["tokens_per_s"])) < 1


def test_several_users_of_llama_cpp_with_one_prompt_meet_fewer_experts() -> None:
    """Fifteen rows of models with experts on one card, from which nothing was fitted."""
    found = {}
    for row in rows_of(bench.FILE):
        if row["batch"] != "1" and row["experts"]:
            weights = bench.FORMATS.get(row["quant"], "q8_0")
            model = model_for(row["model"].lower(), "dgx-spark", weights, "fp16", 1, "llama_cpp")
            constants = performance_presets.find_speed_constants("llama_cpp", "dgx-spark", experts=True)
            users = int(row["batch"])
            planned = predicted_s(decode_work(model, users, 512), constants)
            found[row["model"], users] = planned / (users / float(row["tokens_per_s"]))
    assert len(found) == 15
    assert all(0.72 < times < 1.57 for times in found.values())
    assert all(times < 1 for (_, users), times in found.items() if users <= 4)


def test_a_row_that_is_not_predicted_says_why() -> None:
    reasons = Counter(row["reason"] for row in rows_of(serving.FILE))
    assert reasons.pop("") > 1_000
    assert all(number and len(reason.split()) > 1 for reason, number in reasons.items())


def test_readings_above_the_ceiling_are_servers_with_more_than_they_hold_and_one_claim() -> None:
    """Caches of 512 requests that alone take longer to read than a step; and a card faster than its bytes."""
    aside = [reading for reading in serving.serving_readings() if not reading.is_possible]
    assert Counter((reading.card, reading.model) for reading in aside) == {
        ("h100-sxm", "gpt-oss-120b"): 8,
        ("rtx-4090", "llama-3.1-8b"): 1,
    }


@pytest.mark.parametrize("engine", performance_presets.servers())
def test_a_card_apart_is_planned_as_any_server_was_measured_there(engine: str) -> None:
    """Rather than as that engine is on other cards, which is twice as fast; llama.cpp's kernels are of another kind."""
    assert performance_presets.find_speed_constants(engine, "h20", experts=False).family == "nvidia-hopper-h20"
    assert performance_presets.find_speed_constants("llama_cpp", "h20", experts=False).family == "any"


def test_the_cards_whose_readings_stand_apart_compute_less_than_they_read() -> None:
    """Fewer operations a byte than the 64 rows to which kernels round up; no other card with matrix units is so."""
    without_units = {"gtx-1660", "p40"}
    balance = {
        name: device.fp16_flops_per_s / device.bandwidth_bytes_per_s
        for name, device in presets.devices().items()
        if device.vendor == "nvidia" and device.fp16_flops_per_s and device.bandwidth_bytes_per_s
    }
    assert {name for name, operations in balance.items() if operations < 64} == {"h20", *without_units}


@pytest.mark.parametrize("engine", ["llama_cpp", "llama_cpp_2024", "llama_cpp_vulkan", "llamafile"])
def test_a_plan_times_one_user_as_the_table_does(engine: str) -> None:
    """Rows of one user were fitted to the bytes that they read: a plan of one adds no arithmetic to that time."""
    model = model_for("llama-2-7b", "apple-m4-pro-48gb", "fp16", "fp16", 1, engine)
    constants = performance_presets.find_speed_constants(engine, model.deployment.device.name, False)
    assert parts(decode_work(model, 1, 64), constants).arithmetic_s == pytest.approx(0, abs=1e-12)
