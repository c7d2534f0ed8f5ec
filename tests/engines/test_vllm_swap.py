"""The first engine's room in main memory, to which the caches of requests that give way are moved."""

import pytest

from planner.answers.answer import answer
from planner.inputs.choices import Choices, choose
from planner.units import GIB


@pytest.mark.parametrize(
    ("version", "split", "gib"),
    [("0.6.3", {}, 4), ("0.7.3", {"tensor_parallel": 2, "pipeline_parallel": 2}, 16), ("0.8", {}, 0), ("0.32", {}, 0)],
)
def test_every_card_has_four_gib_until_the_second_engine(version: str, split: dict[str, int], gib: int) -> None:
    choices = Choices(model="llama-3.1-8b", device="rtx-3090", engine="vllm", engine_version=version, **split)  # type: ignore[arg-type]
    chosen = choose(choices)
    found = answer(chosen.architecture, chosen.deployment, chosen.workload)
    swap_bytes = sum(item.bytes for item in found.host_items if item.name == "swap space")
    assert swap_bytes == gib * GIB
    if version == "0.6.3":
        # "# CPU blocks: 2048" is what such a start printed.
        assert swap_bytes == 2_048 * 16 * found.kv_bytes_per_token
