"""What the first releases of vLLM have not: formats, options and prompts in several steps."""

import pytest

from planner.answers.answer import Answer, answer
from planner.errors import PlannerError
from planner.inputs.choices import Choices, choose
from planner.launch import launch, parse_launch
from planner.line_item import Kind
from planner.tuning import tunings
from planner.units import GIB

MODEL = "llama-3-8b"


def asked(version: str, **other: object) -> Choices:
    return Choices(model=MODEL, memory="79.15GiB", engine="vllm", engine_version=version, **other)  # type: ignore[arg-type]


def ask(choices: Choices) -> Answer:
    chosen = choose(choices)
    return answer(chosen.architecture, chosen.deployment, chosen.workload)


def peak_gib(version: str, tokens: int) -> float:
    return (
        next(item.bytes for item in ask(asked(version, context=tokens)).items if item.name == "activation peak") / GIB
    )


def test_a_long_prompt_comes_in_steps_of_512_from_0_5_3_on() -> None:
    """A million tokens of 0.5.0 wanted 28.00 GiB at once (vllm-project/vllm#5847): 2 × 14,336 B × 1,048,576."""
    assert 28 * GIB == 2 * 14_336 * 1_048_576
    assert peak_gib("0.5.2", 131_072) > 131_072 * 2 * 14_336 / GIB
    assert peak_gib("0.5.3", 131_072) == peak_gib("0.5.4", 131_072) < 2


@pytest.mark.parametrize(
    ("version", "name"), [("0.3.0", "fp8_e5m2"), ("0.4.1", "fp8"), ("0.11.0", "fp8"), ("0.32.0", "fp8")]
)
def test_a_cache_in_fp8_by_its_name_in_each_release(version: str, name: str) -> None:
    choices = asked(version, kv_cache="fp8", context=4_096)
    written = launch(choices, choose(choices))
    assert written is not None
    assert f"--kv-cache-dtype {name}" in written.text.split(" \\\n  ")


def test_there_was_none_before_0_3() -> None:
    with pytest.raises(PlannerError, match=r"vLLM 0\.2\.7 cannot keep its cache in fp8; choose one of: bf16, fp16"):
        ask(asked("0.2.7", kv_cache="fp8"))


@pytest.mark.parametrize(
    ("weights", "before", "since"), [("fp8", "0.3.3", "0.4.1"), ("nf4", "0.4.3", "0.5.0"), ("nvfp4", "0.7.3", "0.8.0")]
)
def test_weights_are_refused_by_releases_that_do_not_read_them(weights: str, before: str, since: str) -> None:
    with pytest.raises(
        PlannerError, match=f"reads no weights in {weights}: give --weights in another format, or a lat"
    ):
        ask(asked(before, weights=weights))
    assert any(item.kind is Kind.WEIGHTS for item in ask(asked(since, weights=weights)).items)


def test_an_option_that_is_off_anyway_is_not_written() -> None:
    """The first releases have --enforce-eager and no --no-enforce-eager; later ones say what the plan says."""
    for version, is_said in (("0.2.7", False), ("0.7.3", False), ("0.8.5", False), ("0.9.0", True), ("0.32.0", True)):
        choices = asked(version, context=4_096, set=("enforce_eager=false",))
        written = launch(choices, choose(choices))
        assert written is not None
        assert ("--no-enforce-eager" in written.text) is is_said
    choices = asked("0.32.0", context=4_096, set=("enable_prefix_caching=false",))
    written = launch(choices, choose(choices))
    assert written is not None
    assert "--no-enable-prefix-caching" in written.text


@pytest.mark.parametrize(("version", "is_offered"), [("0.3.3", False), ("0.5.0", True)])
def test_steps_are_offered_by_releases_that_have_them(version: str, is_offered: bool) -> None:
    choices = asked(version, context=131_072)
    found = dict(tunings(choices, choose(choices).architecture))
    assert ("enable_chunked_prefill" in found) is is_offered


@pytest.mark.parametrize(("version", "begins"), [("0.5.1", "python -m vllm.entrypoints"), ("0.5.2", "vllm serve ")])
def test_the_program_of_each_release(version: str, begins: str) -> None:
    choices = asked(version, context=4_096)
    chosen = choose(choices)
    written = launch(choices, chosen)
    assert written is not None
    assert written.text.startswith(begins)
    assert "meta-llama/Meta-Llama-3-8B" in written.text
    read = parse_launch("vllm", written.text, Choices(model="", memory="79.15GiB", engine_version=version))
    assert choose(read).architecture.name == chosen.architecture.name
