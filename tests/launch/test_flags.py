"""A launch command says all of a plan: read back, it gives the same budget."""

import argparse
import shlex
from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from planner.catalogue.native_files import READ_GGUF as GGUF_READERS
from planner.commands.options import choices_from
from planner.commands.plan import add_arguments
from planner.errors import PlannerError
from planner.inputs.choices import Choices, choose
from planner.launch import LAUNCHERS, launch, parse_launch
from planner.launch.spelling import PLAIN
from planner.presets import engine_data, models
from planner.settings.setting import Setting
from tests.launch_plans import (
    CARD,
    LLAMA_CPP,
    LMDEPLOY,
    OWN_DRAFTS,
    SGLANG,
    SMALL,
    TENSORRT_LLM,
    TRANSFORMERS,
    VLLM,
    ask,
    comparable,
    drafts,
    without_command,
)


@settings(max_examples=100)
@given(
    drafts(VLLM, SMALL, *OWN_DRAFTS)
    | drafts(SGLANG, SMALL, *OWN_DRAFTS)
    | drafts(TENSORRT_LLM, SMALL, *OWN_DRAFTS)
    | drafts(LLAMA_CPP.filter(lambda choices: choices.engine != "ollama"), SMALL, *OWN_DRAFTS)
    | drafts(TRANSFORMERS, SMALL, "ngram")
    | LLAMA_CPP
    | LMDEPLOY
)
def test_a_command_read_back_gives_the_same_budget(choices: Choices) -> None:
    """parse ∘ launch keeps every byte, the printed tokens and the state."""
    try:
        before, chosen = ask(choices), choose(choices)
    except PlannerError:
        assume(False)
    written = launch(choices, chosen)
    assert written is not None
    assume(not any("command does not" in note for note in written.notes))
    after = ask(parse_launch(choices.engine, written.text, without_command(choices)))
    assert comparable(after) == comparable(before)


@pytest.mark.parametrize(
    ("engine", "version", "setting", "option", "is_said"),
    [
        ("vllm", "0.16.0", "language_model_only=true", "--language-model-only", False),
        ("vllm", "0.17.0", "language_model_only=true", "--language-model-only", True),
        ("vllm", "0.10.1", "kv_cache_memory_bytes=4GiB", "--kv-cache-memory-bytes", False),
        ("llama_cpp", "2025-07-15", "kv_unified=true", "--kv-unified", False),
        ("llama_cpp", "2025-07-16", "kv_unified=true", "--kv-unified", True),
        ("llama_cpp", "2025-12-14", "fit=false", "--fit", False),
        ("llama_cpp", "2025-12-15", "fit=false", "--fit off", True),
        ("llama_cpp", "2025-08-29", "flash_attn=on", "--flash-attn \\", True),
        ("llama_cpp", "2025-08-30", "flash_attn=on", "--flash-attn on", True),
        ("llama_cpp", "2025-08-04", "n_cpu_moe=2", r"blk\.(0|1)\.ffn_", True),
        ("llama_cpp", "2025-08-05", "n_cpu_moe=2", "--n-cpu-moe 2", True),
    ],
)
def test_a_command_has_the_options_of_its_version(
    engine: str, version: str, setting: str, option: str, is_said: bool
) -> None:
    """First releases and days by the engines' sources; what a version has no option for is said beside the command."""
    asked = Choices(model="qwen3-30b-a3b", device="h100-sxm", engine=engine, engine_version=version, set=(setting,))
    chosen = choose(asked)
    written = launch(asked, chosen)
    assert written is not None
    assert (option in written.text) is is_said
    is_usual = setting == "fit=false"
    assert any("has no option for" in note for note in written.notes) is not (is_said or is_usual)


def planned(words: Sequence[str]) -> Choices:
    """What ``kvbudget plan`` takes *words* for."""
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return choices_from(parser.parse_args(words))


@given(
    drafts(VLLM, SMALL, *OWN_DRAFTS)
    | drafts(SGLANG, SMALL, *OWN_DRAFTS)
    | drafts(TENSORRT_LLM, SMALL, *OWN_DRAFTS)
    | drafts(LLAMA_CPP, SMALL, *OWN_DRAFTS)
    | LMDEPLOY
    | TRANSFORMERS
)
def test_the_same_plan_as_a_kvbudget_command_is_the_same_plan(choices: Choices) -> None:
    """Every choice is in ``kvbudget plan``, and read back as it was."""
    program, command, *words = shlex.split(choices.command())
    assert (program, command) == ("kvbudget", "plan")
    assert planned(words) == choices


ROOMY = "300GiB"
MATRIX_MODELS = [
    preset.name for preset in models() if not preset.config.get("nominal_parameters") and preset.licence != "unknown"
][::10]


@pytest.mark.parametrize("engine", LAUNCHERS)
@pytest.mark.parametrize("kv_cache", [None, "fp8", "q8_0"])
def test_every_engine_s_command_for_forty_models_is_read_back(engine: str, kv_cache: str | None) -> None:
    """Whatever an engine takes, its command says: models of every family, in its own formats."""
    reads_gguf = engine in ("llama_cpp", "ik_llama_cpp", "ollama")
    read = 0
    for name in MATRIX_MODELS:
        for weights in ("q4_k_m", "iq2_m") if reads_gguf else (None, "fp8"):
            choices = Choices(
                model=name, memory=ROOMY, engine=engine, weights=weights, kv_cache=kv_cache, context=1_024, users=2
            )
            try:
                before, chosen = ask(choices), choose(choices)
            except PlannerError:
                continue
            written = launch(choices, chosen)
            assert written is not None
            if not before.fits or any("this script keeps one" in note for note in written.notes):
                continue
            read += 1
            after = ask(parse_launch(engine, written.text, without_command(choices)))
            if chosen.architecture.stored_as == after.weights == "fp32":  # the checkpoint as it is
                # What a command says is exact, whatever the file's own format was read from.
                items = zip(after.items, before.items, strict=True)
                held = tuple(replace(mine, basis=its.basis) for mine, its in items)
                after = replace(after, weights=before.weights, items=held)
            assert comparable(after) == comparable(before), name
    supported = {None: True, "fp8": not reads_gguf and engine not in ("lmdeploy", "transformers"), "q8_0": reads_gguf}
    assert (read > 20) == supported[kv_cache]


def values_of(setting: Setting) -> tuple[str, ...]:
    """Two that it takes, or all choices."""
    if setting.choices:
        return setting.choices
    numbers = [n for n in (1, 2, 64, 4_096) if setting.minimum <= n <= setting.maximum][-2:]
    match setting.type:
        case "bool":
            return ("true", "false")
        case "bytes":
            return ("3GiB", "8GiB")
        case "ints":
            return ("3,5-7",)
        case "float":
            return (f"{setting.minimum:g}", "0.5")
    return tuple(map(str, numbers))


NEEDS = {
    "speculative_method": "num_speculative_tokens=2",
    "speculative_algorithm": "speculative_num_draft_tokens=3",
    "speculative_num_draft_tokens": "speculative_algorithm=nextn",
    "max_loras": "enable_lora=true",
    "max_lora_rank": "enable_lora=true",
    "fully_sharded_loras": "enable_lora=true",
}
"""Settings that count only beside another."""
ONE_CARD = ("tensor_split", "pp_layer_partition")
"""Settings of several cards, which the plans above have."""
DENSE_ALONE = ("tensorrt_llm", "lmdeploy")
"""Engines whose rules for states are not known."""
HYBRID = Choices(model="qwen3.6-35b-a3b", memory=ROOMY, context=1_024)
"""Attention, states, experts, a vision tower and layers that draft: every setting has something to change."""


@pytest.mark.parametrize("engine", LAUNCHERS)
def test_a_command_says_every_setting_that_the_engine_has(engine: str) -> None:
    """Enumerated from the engine's data: what its user can set is in the command, and read back as it was."""
    data = engine_data(engine)
    for setting in data.settings.values():
        if not data.can_set(setting.name) or setting.name in ONE_CARD:
            continue
        said = 0
        for value in values_of(setting):
            given = (f"{setting.name}={value}", *filter(None, [NEEDS.get(setting.name, "")]))
            weights = "q4_k_m" if engine in GGUF_READERS else None
            model = "llama-3.1-8b" if engine in DENSE_ALONE else HYBRID.model
            choices = replace(HYBRID, model=model, engine=engine, weights=weights, set=given)
            try:
                before, chosen = ask(choices), choose(choices)
            except PlannerError:
                continue
            written = launch(choices, chosen)
            assert written is not None
            parsed = parse_launch(engine, written.text, without_command(choices))
            assert comparable(ask(parsed)) == comparable(before), given
            read = choose(parsed).deployment.settings.values[setting.name]
            asked = chosen.deployment.settings.values[setting.name]
            assert read == asked or not read or asked == "auto", given
            said += 1
        assert said, setting.name


@pytest.mark.parametrize("engine", ["vllm", "sglang", "tensorrt_llm", "lmdeploy", "transformers"])
@pytest.mark.parametrize("model", ["qwen3-0.6b", "gpt-oss-20b", "opt-1.3b"])
def test_numbers_that_are_not_quantised_are_read_back_or_said_to_be_others(engine: str, model: str) -> None:
    """Weights and cache are in one dtype: a command that cannot say a plan's two says so, and never another plan's."""
    for weights, cache in product((None, *PLAIN), repeat=2):
        choices = Choices(model=model, memory=ROOMY, engine=engine, weights=weights, kv_cache=cache, context=1_024)
        try:
            before, written = ask(choices), launch(choices, choose(choices))
        except PlannerError:
            continue
        assert written is not None
        if any("does not say" in note or "this script keeps" in note for note in written.notes):
            continue
        after = ask(parse_launch(engine, written.text, replace(without_command(choices), weights=None)))
        assert (after.weights_bytes, after.kv_bytes_per_token) == (before.weights_bytes, before.kv_bytes_per_token)


def test_options_count_in_any_order() -> None:
    """The cache's own format comes before the one that follows from the whole model's."""
    for options in ("--kv-cache-dtype fp8 --dtype half", "--dtype half --kv-cache-dtype fp8"):
        read = parse_launch("vllm", f"vllm serve Qwen/Qwen3-0.6B {options}", Choices(model="", memory=CARD))
        assert read.kv_cache == "fp8"


@pytest.mark.parametrize(
    ("engine", "text", "problem"),
    [
        ("vllm", "vllm serve a/b --unheard-of 3", "--unheard-of"),
        ("vllm", "vllm serve a/b --max-model-len many", "not a whole number"),
        ("vllm", "vllm serve a/b --max-model-len", "has no value"),
        ("vllm", "vllm serve 'a/b", "not complete"),
        ("vllm", "python serve.py", "vllm serve"),
        ("vllm", "vllm serve a/b --speculative-config []", "JSON object"),
        ("sglang", "python -m sglang.launch_server --model-path a/b --unheard-of 3", "--unheard-of"),
        ("sglang", "python -m sglang.launch_server --tp 3 --dp 2 --enable-dp-attention", "not a multiple"),
        ("sglang", "python -m sglang.launch_server stray", "no use for"),
        ("sglang", "python serve.py", "sglang.launch_server"),
        ("tensorrt_llm", "trtllm-serve a/b --unheard_of 3", "--unheard_of"),
        ("tensorrt_llm", "cat > o.yaml <<'END'\nunheard_of: 3\nEND\ntrtllm-serve a/b", "unheard_of"),
        ("tensorrt_llm", "python serve.py", "trtllm-serve"),
        ("lmdeploy", "lmdeploy serve api_server a/b --session-len many", "not a whole number"),
        ("lmdeploy", "lmdeploy chat a/b", "api_server"),
        ("llama_cpp", "llama-server stray", "no use for"),
        ("ollama", "ollama serve", "line FROM with a model"),
        ("transformers", "import torch", "no line MODEL"),
        ("minimum", "", "say with --engine whose it is, one of: vllm"),
    ],
)
def test_what_is_not_understood_is_one_sentence(engine: str, text: str, problem: str) -> None:
    with pytest.raises(PlannerError, match=problem):
        parse_launch(engine, text, Choices(model="llama-3.1-8b", memory=CARD, engine=engine))


@given(st.sampled_from(sorted(LAUNCHERS)), st.text(max_size=80))
def test_any_text_is_read_or_refused(engine: str, text: str) -> None:
    like = Choices(model="llama-3.1-8b", memory=CARD, engine=engine)
    prefix = {
        "vllm": "vllm serve ",
        "sglang": "python -m sglang.launch_server ",
        "llama_cpp": "llama-server ",
        "ollama": "FROM ",
    }.get(engine, "")
    try:
        assert parse_launch(engine, prefix + text, like).memory == CARD
    except PlannerError as refused:
        assert str(refused).endswith(".")


@pytest.mark.parametrize(
    ("words", "value"),
    [
        ("--enable-chunked-prefill=False", "false"),
        ("--enable-chunked-prefill False", "false"),
        ("--no-enable-chunked-prefill", "false"),
        ("--enable-chunked-prefill True", "true"),
        ("--enable-chunked-prefill", "true"),
    ],
)
def test_vllms_chunks_are_read_with_a_value_or_without(words: str, value: str) -> None:
    """Up to 0.7 the option has a value, from 0.8 on a --no- option stands beside it; written as the version has it."""
    found = parse_launch("vllm", f"vllm serve meta-llama/Llama-3.1-8B {words} --max-model-len 4096", Choices(model=""))
    assert (found.model, found.context, found.set) == (
        "meta-llama/Llama-3.1-8B",
        4_096,
        (f"enable_chunked_prefill={value}",),
    )
    for version, off in (("0.6.4", "--enable-chunked-prefill=False"), ("0.20", "--no-enable-chunked-prefill")):
        choices = replace(found, device="h100-sxm", engine_version=version)
        written = launch(choices, choose(choices))
        assert written is not None
        assert written.text.endswith(off if value == "false" else "--enable-chunked-prefill")
