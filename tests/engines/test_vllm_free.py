"""vLLM looks how much of the card is free before it takes its share, and its own context has taken some by then."""

import pytest

from planner.advice import fixes
from planner.answers.answer import Answer, answer
from planner.errors import PlannerError
from planner.inputs.choices import Choices, choose


def asked(device: str, *settings: str, version: str | None = None, **other: object) -> Choices:
    return Choices(model="qwen3-8b", device=device, engine="vllm", engine_version=version, set=settings, **other)  # type: ignore[arg-type]


def ask(choices: Choices) -> Answer:
    chosen = choose(choices)
    return answer(chosen.architecture, chosen.deployment, chosen.workload)


@pytest.mark.parametrize(
    ("device", "share", "starts"),
    [
        ("l4", "1", False),
        ("l4", "0.99", False),
        ("l4", "0.98", True),
        ("h100-sxm", "0.99", True),
        ("h100-sxm", "1", False),
    ],
)
def test_no_share_that_leaves_less_than_a_context(device: str, share: str, starts: bool) -> None:
    """0.33 GiB are 1.5% of the 22.03 of an L4, and 0.42% of the 79.18 of an H100."""
    found = ask(asked(device, f"gpu_memory_utilization={share}"))
    assert found.fits is starts
    assert any("asks for more than is free of an empty card" in note for note in found.warnings) is not starts


def test_what_makes_it_start_is_the_usual_share() -> None:
    choices = asked("l4", "gpu_memory_utilization=1")
    found = fixes(choices, choose(choices).architecture, ask(choices))
    assert found[0].change == "Without gpu_memory_utilization"
    assert found[0].enough


@pytest.mark.parametrize("version", ["0.10.2", "0.20.0", "0.27.1", "0.32.0"])
@pytest.mark.parametrize(
    ("display", "share", "starts"), [(False, "0.99", False), (True, "0.98", False), (False, "0.98", True)]
)
def test_a_pool_that_is_given_asks_for_its_share_as_well(version: str, display: bool, share: str, starts: bool) -> None:
    """Of an L4's 22.03 GiB a context takes 0.33 and a desktop 0.29: 0.98 leaves 0.44, enough for one of the two.

    NVIDIA/xr-ai#462 and #519 set both and lower the share until it starts.
    """
    settings = (f"gpu_memory_utilization={share}", "kv_cache_memory_bytes=2GiB")
    choices = asked("l4", *settings, version=version, display=display)
    found = ask(choices)
    assert found.fits is starts
    if not starts:
        (freed, *_) = (fix for fix in fixes(choices, choose(choices).architecture, found) if fix.enough)
        assert freed.choices.set == ("kv_cache_memory_bytes=2GiB",)


@pytest.mark.parametrize(
    ("rank", "version", "refused"),
    [(7, "0.32.0", True), (1, "0.11.0", True), (1, "0.11.1", False), (128, "0.5.4", True), (128, "0.5.5", False)],
)
def test_ranks_of_adapters_that_a_release_takes(rank: int, version: str, refused: bool) -> None:
    choices = asked("h100-sxm", "enable_lora=true", f"max_lora_rank={rank}", version=version, context=4_096)
    if not refused:
        ask(choices)
        return
    with pytest.raises(PlannerError, match=rf"refuses max_lora_rank = {rank}: choose one of: "):
        ask(choices)
