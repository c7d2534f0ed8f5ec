"""Settings that make a plan fit, and a command only beside a change that it says: by engine and change."""

from dataclasses import replace

import pytest

from planner import presets
from planner.advice import fixes
from planner.answers.answer import Answer, answer
from planner.inputs.choices import Choices, choose
from planner.launch import LAUNCHERS, expresses, launch, parse_launch, settable
from planner.starting import start
from planner.text.plan import plan_text
from planner.tuning import HIGHEST, SHARES, share_of, tunings, with_setting, without_settings

TIGHT = Choices(model="qwen3-8b", memory="18.5GiB", engine="vllm", engine_version="0.24", context=4_096)


def ask(choices: Choices) -> Answer:
    chosen = choose(choices)
    return answer(chosen.architecture, chosen.deployment, chosen.workload)


def changes(choices: Choices) -> dict[str, Choices]:
    architecture = choose(choices).architecture
    return {fix.change: fix.choices for fix in fixes(choices, architecture, ask(choices)) if fix.enough}


def test_a_larger_share_and_fewer_sequences_are_offered_where_they_are_enough() -> None:
    assert not ask(TIGHT).fits
    found = changes(TIGHT)
    first = next(iter(found.values()))
    assert first.set  # a setting costs nothing that was asked for, and comes first
    fewer = [change for change in found if change.startswith("max_num_seqs")]
    assert len(fewer) == 1
    assert ask(found[fewer[0]]).fits
    roomy = replace(TIGHT, memory="80GiB", context=200_000_000)
    assert not any(name in change for change in changes(roomy) for name in ("utilization", "max_num_seqs"))


def test_never_fewer_sequences_than_users() -> None:
    for _, options in tunings(replace(TIGHT, users=20), choose(TIGHT).architecture):
        for change, changed in options:
            if change.startswith("max_num_seqs"):
                assert int(changed.set[-1].partition("=")[2]) >= 20


@pytest.mark.parametrize("engine", [engine for engine in SHARES if engine != "sglang"])
def test_shares_grow_to_a_bound_and_by_their_own_names(engine: str) -> None:
    choices = Choices(model="qwen3-8b", memory="24GiB", engine=engine)
    architecture = choose(choices).architecture
    share = share_of(choices, architecture)
    options = dict(tunings(choices, architecture))[SHARES[engine]]
    tried = [share_of(changed, architecture) for _, changed in options]
    assert tried == sorted(tried)
    assert all(share < higher <= HIGHEST for higher in tried)


@pytest.mark.parametrize(
    ("engine", "version", "setting"),
    [
        ("vllm", "0.24", "kv_cache_memory_bytes=100MiB"),
        ("vllm", "0.24", "num_gpu_blocks_override=2"),
        ("sglang", "0.5.17", "max_total_tokens=1000"),
        ("tensorrt_llm", "1.2.1", "max_tokens=1000"),
        ("lmdeploy", "0.14", "cache_max_entry_count=2"),
    ],
)
def test_a_pool_that_is_set_too_small_is_better_left_out(engine: str, version: str, setting: str) -> None:
    choices = Choices(
        model="qwen3-0.6b", memory="24GiB", engine=engine, engine_version=version, context=4_096, set=(setting,)
    )
    name = setting.partition("=")[0]
    assert not ask(choices).fits
    assert changes(choices)[f"Without {name}"].set == ()


def test_no_larger_share_than_sglang_chooses_is_offered() -> None:
    """Activations and graphs live in the rest; a share that was set too low is better left out."""
    choices = Choices(model="qwen3-0.6b", memory="24GiB", engine="sglang", context=4_096)
    architecture = choose(choices).architecture
    assert not list(tunings(choices, architecture))
    low = replace(choices, set=("mem_fraction_static=0.1",))
    ((name, ((change, changed),)),) = tunings(low, architecture)
    assert (name, change, changed.set) == ("mem_fraction_static", "Without mem_fraction_static", ())


def test_settings_replace_what_was_set() -> None:
    once = with_setting(Choices(model="m", set=("max-num-seqs=8", "enforce_eager=true")), "max_num_seqs", 16)
    assert once.set == ("enforce_eager=true", "max_num_seqs=16")
    assert without_settings(once, "enforce_eager", "max_num_seqs").set == ()


@pytest.mark.parametrize("engine", LAUNCHERS)
@pytest.mark.parametrize(("model", "memory"), [("qwen3-14b", "16GiB"), ("gpt-oss-20b", "10GiB"), ("qwen3-8b", "7GiB")])
def test_a_command_beside_a_change_is_of_the_changed_plan(engine: str, model: str, memory: str) -> None:
    """Read back it has the change's weights and settings; what an engine does by itself it is not told."""
    choices = Choices(model=model, memory=memory, engine=engine, context=4_096)
    found = start(choices, choose(choices).architecture)
    assert found is not None
    if found.command is None or not found.change:
        return
    changed = choose(found.choices)
    if found.spills and not expresses(found.choices, changed, found.command):
        plain = launch(choices, choose(choices))
        assert plain is not None
        assert found.command.text == plain.text
        return
    read = choose(parse_launch(engine, found.command.text, replace(found.choices, weights=None, set=())))
    assert read.deployment.weights.name == changed.deployment.weights.name
    for name in changed.deployment.settings.given:
        assert read.deployment.settings.values[name] == changed.deployment.settings.values[name]


@pytest.mark.parametrize("engine", LAUNCHERS)
@pytest.mark.parametrize(
    ("model", "memory"), [("qwen3-14b", "16GiB"), ("gpt-oss-20b", "10GiB"), ("mixtral-8x7b", "24GiB")]
)
def test_no_change_names_a_setting_that_the_engine_does_not_have(engine: str, model: str, memory: str) -> None:
    choices = Choices(model=model, memory=memory, engine=engine, context=4_096)
    architecture = choose(choices).architecture
    for fix in fixes(choices, architecture, ask(choices)):
        for text in set(fix.choices.set) - set(choices.set):
            name = text.partition("=")[0]
            assert settable(engine, name) or f"{name}=" not in fix.change


def test_a_weight_format_without_a_checkpoint_has_no_command() -> None:
    """vLLM makes fp8 while it loads; int8 somebody has to make first."""
    choices = Choices(model="qwen3-14b", memory="24GiB", engine="vllm", context=4_096)
    for weights, is_said in (("fp8", True), ("int4-g128-asym", True), ("int8", False)):
        changed = replace(choices, weights=weights)
        command = launch(changed, choose(changed))
        assert command is not None
        assert expresses(changed, choose(changed), command) is is_said


def test_a_number_without_a_fraction_is_written_as_one() -> None:
    choices = Choices(
        model="qwen3-8b", memory="24GiB", engine="vllm", set=("cpu_offload_gb=4", "gpu_memory_utilization=0.9")
    )
    command = launch(choices, choose(choices))
    assert command is not None
    assert "--cpu-offload-gb 4\n" in command.text + "\n" or "--cpu-offload-gb 4 " in command.text
    assert "--gpu-memory-utilization 0.9" in command.text


@pytest.mark.parametrize("engine", SHARES)
def test_nothing_is_printed_where_there_is_no_room_for_a_pool(engine: str) -> None:
    choices = Choices(model="llama-3.3-70b", memory="24GiB", engine=engine)
    assert "prints" not in plan_text(choices, choose(choices).architecture, ask(choices))


def test_only_ollama_keeps_settings_from_its_user() -> None:
    """Its Modelfile and environment give four; the rest of llama.cpp's it hands over as it thinks best."""
    kept = {engine: data.settable for engine in LAUNCHERS if (data := presets.engine_data(engine)).settable}
    assert kept == {"ollama": ("n_parallel", "n_batch", "n_gpu_layers", "flash_attn")}


@pytest.mark.parametrize("device", ["rtx-4060-laptop", "apple-m2-8gb", "cpu-16gb"])
def test_no_note_advises_a_setting_that_the_engine_keeps_to_itself(device: str) -> None:
    choices = Choices(model="qwen3-30b-a3b", weights="q4_k_m", device=device, engine="ollama")
    found = ask(choices)
    assert found.report is not None
    architecture, settings = choose(choices).architecture, choose(choices).deployment.settings
    changes = (fix.change for fix in fixes(choices, architecture, found))
    fixed = {name for name in settings.fixed if "_" in name}  # --fit is also what llama.cpp does by itself
    assert {"n_cpu_moe", "cache_ram"} <= fixed
    said = [*found.report.notes, *found.report.refusals, *changes]
    assert not [text for text in said if any(name in text for name in fixed)]
