"""Cards that are several machines: how many, what is said of it, and what starts on each."""

from dataclasses import replace

import pytest

from planner import presets
from planner.answers.answer import answer
from planner.inputs.choices import Choices, choose
from planner.launch import launch, parse_launch
from planner.machines import machine_devices, machines
from planner.paced import paced
from planner.speed.cautions import cautions

KIMI = Choices(model="kimi-k2", device="h200-sxm", engine="vllm")


@pytest.mark.parametrize(
    ("device", "split", "number"),
    [
        ("h200-sxm", {"tensor_parallel": 8}, 1),
        ("h200-sxm", {"tensor_parallel": 16}, 2),
        ("h200-sxm", {"tensor_parallel": 8, "pipeline_parallel": 3}, 3),
        # three ranks of 4: two on one machine, one on the next; ranks of 3 leave two cards of eight idle
        ("h200-sxm", {"tensor_parallel": 4, "data_parallel": 3}, 2),
        ("h200-sxm", {"pipeline_parallel": 3, "data_parallel": 3}, 2),
        ("h200-sxm", {"tensor_parallel": 8, "replicas": 4}, 1),
        # a tray of NVL72, and a machine whose memory card and processor share
        ("gb200", {"tensor_parallel": 8}, 2),
        ("dgx-spark", {"tensor_parallel": 2}, 2),
        ("rtx-4090", {"tensor_parallel": 16}, 1),
    ],
)
def test_machines_are_counted_by_the_cards_that_one_has(device: str, split: dict[str, int], number: int) -> None:
    choices = replace(KIMI, model="llama-3.1-8b", device=device, engine="minimum", **split)  # type: ignore[arg-type]
    assert machines(choose(choices).deployment) == number


def test_a_plan_says_what_crosses_between_machines() -> None:
    chosen = choose(replace(KIMI, tensor_parallel=16))
    warnings = answer(chosen.architecture, chosen.deployment, chosen.workload).warnings
    assert (
        "16 × NVIDIA H200 SXM are 2 machines of 8: tensor_parallel = 16 adds up what each layer computes over their "
        "network; tensor_parallel = 8 with pipeline_parallel = 2 does so within one."
    ) in warnings
    chosen = choose(replace(KIMI, device="rtx-4090", tensor_parallel=16))
    warnings = answer(chosen.architecture, chosen.deployment, chosen.workload).warnings
    assert any(text.startswith("How many GeForce RTX 4090 one machine has is not known here") for text in warnings)


@pytest.mark.parametrize(
    ("changed", "said", "note"),
    [
        (
            {"tensor_parallel": 16},
            "--nnodes 2 --node-rank 0 --master-addr HEAD-ADDRESS",
            "--node-rank 1 and --headless",
        ),
        (
            {"tensor_parallel": 8, "pipeline_parallel": 2, "engine_version": "0.11"},
            "--distributed-executor-backend ray",
            "ray start --head",
        ),
        (
            {"data_parallel": 24, "expert_parallel": 24},
            "--data-parallel-size-local 8 --data-parallel-address HEAD-ADDRESS",
            "--data-parallel-start-rank 8 or 16",
        ),
        (
            {"engine": "sglang", "tensor_parallel": 16},
            "--nnodes 2 --node-rank 0 --dist-init-addr HEAD-ADDRESS:20000",
            "start the same with --node-rank 1;",
        ),
        ({"engine": "sglang", "data_parallel": 16}, "--dp-size 16", "are on one machine: start 2 machines"),
        ({"engine": "tensorrt_llm", "tensor_parallel": 16}, "--gpus_per_node 8", "mpirun -n 16 trtllm-llmapi-launch"),
        ({"engine": "lmdeploy", "model": "llama-3.1-8b", "tensor_parallel": 16}, "--tp 16", "runs on 2 is not planned"),
    ],
)
def test_a_command_says_which_machine_it_is_for(changed: dict[str, object], said: str, note: str) -> None:
    choices = replace(KIMI, **changed)  # type: ignore[arg-type]
    chosen = choose(choices)
    written = launch(choices, chosen)
    assert written is not None
    assert said in " ".join(written.text.replace("\\\n", " ").split())
    assert any(note in text for text in written.notes)
    back = choose(parse_launch(choices.engine, written.text, replace(KIMI, engine_version=choices.engine_version)))
    assert back.deployment.device_count == chosen.deployment.device_count


def test_a_command_for_one_machine_says_nothing_of_others() -> None:
    choices = replace(KIMI, tensor_parallel=8)
    written = launch(choices, choose(choices))
    assert written is not None
    assert not any("machine" in text for text in (written.text, *written.notes))


def test_every_number_of_cards_has_a_source() -> None:
    for device in presets.devices().values():
        assert (device.machine_devices is None) == (device.machine_devices_source == "")
        assert device.machine_devices is None or not device.unified
    assert machine_devices(presets.find_device("dgx-spark")) == 1


@pytest.mark.parametrize(("ranks", "is_said"), [(8, False), (16, True)])
def test_a_speed_over_several_machines_says_what_its_exchanges_are_timed_over(ranks: int, is_said: bool) -> None:
    found = paced(choose(replace(KIMI, tensor_parallel=ranks)), "vllm")
    warnings = cautions(found.model, found.constants)
    assert any("is on 2 machines: exchanges are timed over" in text for text in warnings) == is_said
