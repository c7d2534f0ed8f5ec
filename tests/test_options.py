"""Every option of every command, in each of its modes: it changes the answer, or one sentence refuses it."""

import argparse
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from planner.cli import main
from planner.commands import COMMANDS

CARD = ["--model", "llama-3.1-8b", "--device", "rtx-4090"]
FULL = ["--context", "1024", "--users", "69"]
"""The most users that the card holds: what takes a little more memory shows."""
DRAWN = ["--requests", "40", "--sigma", "0.5", "--prompt", "300", "--output", "40"]
STATED = ["--step-ms", "20", "--prompt-token-us", "10"]
DRAFT = ["--acceptance", "0.7", "--draft-tokens", "4"]
SERVER = ["--context", "1024", "--batch"]

MODES: dict[str, list[str]] = {
    "plan": ["plan", *CARD],
    "plan, an engine": ["plan", *CARD, "--engine", "vllm"],
    "plan, main memory": ["plan", *CARD, "--engine", "llama_cpp", "--set", "n_gpu_layers=8"],
    "plan, experts": ["plan", "--model", "qwen3-30b-a3b", "--device", "h100-sxm", "--data-parallel", "2"],
    "plan, a draft": ["plan", *CARD, "--draft-model", "eagle", "--draft-tokens", "4"],
    "plan, a draft model": ["plan", *CARD, "--draft-model", "llama-3.2-1b", "--draft-tokens", "4"],
    "plan, a size": ["plan", "--model", "llama-3.1-8b", "--memory", "24GiB"],
    "table": ["table", "--models", "llama-3.1-8b"],
    "table, formats": ["table", "--models", "llama-3.1-8b", "--weights", "int8"],
    "table, main memory": ["table", "--models", "llama-3.1-8b", "--engine", "llama_cpp", "--set", "n_gpu_layers=8"],
    "which card": ["which", "--model", "llama-3.1-8b", "--weights", "int8"],
    "inspect": ["inspect", "llama-3.1-8b"],
    "cache": ["cache", "llama-3.1-8b"],
    "speed": ["speed", *CARD, *FULL],
    "speed, an engine": ["speed", *CARD, *FULL, "--engine", "vllm"],
    "speed, formats": ["speed", *CARD, *FULL, "--weights", "int8"],
    "speed, cards": ["speed", *CARD, *FULL, "--tensor-parallel", "2"],
    "speed, chunks": ["speed", *CARD, *FULL, "--max-num-batched-tokens", "512"],
    "simulate": ["simulate", *DRAWN, *STATED],
    "simulate, over time": ["simulate", *DRAWN, *STATED, "--rate", "3"],
    "simulate, a workload": ["simulate", "--workload", "skewed-64", *STATED],
    "simulate, a trace": ["simulate", "--trace", "{folder}/trace.csv", *STATED],
    "simulate, a loop": ["simulate", *DRAWN, *STATED, "--closed-loop", "8"],
    "simulate, static": ["simulate", *DRAWN, *STATED, "--schedule", "static", "--rate", "3"],
    "simulate, chunks": ["simulate", *DRAWN, *STATED, "--schedule", "chunked", "--max-num-batched-tokens", "600"],
    "simulate, a pool": ["simulate", *DRAWN, *STATED, "--pool-blocks", "100"],
    "simulate, copies": ["simulate", *DRAWN, *STATED, "--pool-blocks", "100", "--host-us", "5", "--host-blocks", "60"],
    "simulate, seeds": [
        "simulate",
        "--workload",
        "skewed-64",
        *STATED,
        "--rate",
        "20",
        "--seeds",
        "5",
        "--pool-blocks",
        "16",
    ],
    "simulate, a model": ["simulate", *DRAWN, *CARD, "--slots", "400"],
    "speculate": ["speculate", *DRAFT, "--draft-cost", "0.1"],
    "speculate, a server": ["speculate", *DRAFT, "--draft-cost", "0.1", *CARD, *SERVER, "69"],
    "speculate, a draft model": ["speculate", *DRAFT, "--draft-model", "llama-3.2-1b", *CARD, *SERVER, "40"],
    "speculate, drafts": ["speculate", "--draft", "llama-3.2-1b=0.7", *CARD, *SERVER, "40"],
    "cost": ["cost", *CARD, "--price", "1", "--users", "55"],
    "cost, cards": ["cost", *CARD, "--price", "1", "--users", "206", "--tensor-parallel", "2"],
    "simulate, cards": ["simulate", *DRAWN, *CARD, "--slots", "400", "--tensor-parallel", "2"],
    "speculate, cards": ["speculate", *DRAFT, "--draft-cost", "0.1", *CARD, *SERVER, "258", "--tensor-parallel", "2"],
    "cost, a table": ["cost", "--model", "llama-3.1-8b", "--prices", "{folder}/prices.toml"],
    "capacity": ["capacity", *CARD, "--max-ttft", "1", *DRAWN, "--slots", "8"],
    "capacity, a trace": ["capacity", *CARD, "--max-ttft", "0.5", "--trace", "{folder}/trace.csv", "--slots", "8"],
    "capacity, a workload": ["capacity", *CARD, "--max-ttft", "1", "--workload", "skewed-64", "--slots", "8"],
    "capacity, cards": ["capacity", *CARD, "--max-ttft", "1", *DRAWN, "--slots", "8", "--device-count", "4"],
    "arithmetic": ["arithmetic", "--tokens", "10"],
    "log": ["log", "{folder}/server.log"],
    "log, no model": ["log", "{folder}/unknown.log"],
}
SLOW_MODES = {
    "which model": ["which", "--device", "rtx-3060", "--weights", "int8"],
    "cost, a rate": [
        *["cost", "--model", "llama-3.1-8b", "--prices", "{folder}/prices.toml"],
        *["--rate", "2", "--max-ttft", "2", "--slots", "64"],  # more than memory holds, so that its options count
    ],
}
VALUES = {
    "model": "llama-3.2-1b",
    "models": "llama-3.2-1b",
    "device": "h100-sxm",
    "memory": "40GiB",
    "devices": "rtx-4090,rtx-3060",
    "device_count": "2",
    "node_devices": "2",
    "weights": "fp8",
    "quantize": "all",
    "kv_cache": "fp8",
    "kv_cache_k": "fp8",
    "kv_cache_v": "fp8",
    "engine": "llama_cpp",
    "engine_version": "0.9",
    "set": "gpu_memory_utilization=0.7",
    "context": "4096",
    "host_memory": "1GiB",
    "profile": "none.json",
    "overhead": "30GiB",
    "users": "3",
    "tensor_parallel": "2",
    "interconnect": "pcie4-x8",
    "bandwidth": "500GB/s",
    "pipeline_parallel": "2",
    "data_parallel": "2",
    "replicas": "2",
    "expert_parallel": "2",
    "draft_model": "ngram",
    "draft_tokens": "3",
    "draft_weights": "int8",
    "launch": "vllm serve m --max-model-len 4096",
    "prompt": "333",
    "speed_engine": "llama_cpp",
    "measured": "30",
    "max_num_batched_tokens": "400",
    "trace": "{folder}/trace.csv",
    "workload": "skewed-64",
    "requests": "30",
    "output": "77",
    "sigma": "0.2",
    "longest": "310",
    "seed": "3",
    "rate": "400",
    "closed_loop": "5",
    "schedule": "static",
    "slots": "5",
    "block_tokens": "64",
    "pool_blocks": "50",
    "shared_prefix": "100",
    "host_us": "50",
    "host_blocks": "30",
    "disk_us": "90",
    "disk_blocks": "5",
    "reserved_tokens": "2000",
    "step_ms": "33",
    "sequence_ms": "2",
    "context_token_us": "3",
    "prompt_token_us": "30",
    "bars": "5",
    "seeds": "4",
    "acceptance": "0.4",
    "tokens_per_pass": "1.9",
    "draft_cost": "0.3",
    "verified_tokens": "20",
    "batch": "9",
    "draft": "ngram=0.5",
    "price": "2",
    "watts": "99",
    "currency": "EUR",
    "prices": "{folder}/prices.toml",
    "min_tokens_per_s": "90",
    "max_ttft": "0.1",
    "max_time_per_token": "0.001",
    "spare": "1",
    "think": "5",
    "link": "10GB",
    "tokens": "20",
    "start": "1",
    "head_dim": "128",
}
"""One value of each option, by the name under which a command finds it."""
FORM = {"help", "json", "format", "save", "online"}
"""What changes how or where an answer is written, or whether names may be looked up."""
ELSEWHERE = {
    ("table", "output"): "the name of a file",
    ("plan, experts", "device_count"): "the two cards of data parallel once more",
    ("plan, experts", "expert_parallel"): "whole experts on each, or a part of every one: as many bytes",
    ("plan, an engine", "display"): "a share of the whole card: a screen only decides whether it starts",
    ("speed, an engine", "display"): "the same",
    ("speculate", "pipeline_parallel"): "cards in a row take as long as one: it only decides whether all fits",
    ("capacity, a workload", "max_num_batched_tokens"): "all its prompts together are shorter than any step",
    ("simulate, a workload", "max_num_batched_tokens"): "the same",
    ("simulate", "at_once"): "without a trace they come so by themselves; beside --rate it is refused",
}
"""Options that change nothing that a mode shows, and are right not to."""


def options(command: str) -> Iterator[argparse.Action]:
    parser = argparse.ArgumentParser()
    import_module(COMMANDS[command][0]).add_arguments(parser)
    yield from (action for action in parser._actions if action.option_strings and action.dest not in FORM)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("files")
    rows = [f"{0.3 * index:.1f},{200 + 7 * index % 300},{20 + 13 * index % 90}" for index in range(60)]
    (place / "trace.csv").write_text("\n".join(["arrival_s,prompt_tokens,output_tokens", *rows]))
    refused = (
        "vLLM API server version 0.11.0\nnon-default args: {{'model': '{model}', 'max_model_len': 131072}}\n"
        "Model loading took 15.2683 GiB and 3.1 seconds\nAvailable KV cache memory: {pool} GiB\n"
    )
    for name, model in (("server", "Qwen/Qwen3-8B"), ("unknown", "me/mine")):
        starts = "".join(refused.format(model=model, pool=pool) for pool in ("4.99", "3.99"))
        (place / f"{name}.log").write_text(starts)
    (place / "prices.toml").write_text("rtx-4090 = 0.40\nh100-sxm = 2.50\n")
    return place


def outcome(words: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    code = main(words)
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def words_of(mode: str, folder: Path) -> list[str]:
    return [word.format(folder=folder) for word in {**MODES, **SLOW_MODES}[mode]]


def with_option(base: list[str], action: argparse.Action, folder: Path) -> list[str]:
    """*base* with the option, in place of what it says of it."""
    option = action.option_strings[0]
    added = [option] if action.nargs == 0 else [option, VALUES[action.dest].format(folder=folder)]
    kept = list(base)
    if option in kept and not isinstance(action, argparse._AppendAction):
        place = kept.index(option)
        del kept[place : place + len(added)]
    return [*kept, *added]


def left_out_in_silence(mode: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Options that neither change the answer nor are refused in a sentence."""
    base = words_of(mode, folder)
    plain = outcome([*base, "--json"], capsys)
    assert plain[0] != 2, plain[2]
    silent = []
    for action in options(base[0]):
        words = with_option(base, action, folder)
        if sorted(words) == sorted(base) or (mode, action.dest) in ELSEWHERE or (base[0], action.dest) in ELSEWHERE:
            continue
        code, said, sentence = outcome([*words, "--json"], capsys)
        if code == 2:
            assert sentence.count("\n") == 1, sentence
        elif (code, said) == plain[:2] and outcome(words, capsys)[1] == outcome(base, capsys)[1]:
            silent.append(action.option_strings[0])
    return silent


@pytest.mark.parametrize("mode", MODES)
def test_every_option_counts_or_is_refused(mode: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert left_out_in_silence(mode, folder, capsys) == []


@pytest.mark.slow
@pytest.mark.parametrize("mode", SLOW_MODES)
def test_every_option_of_a_long_search_counts_or_is_refused(
    mode: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert left_out_in_silence(mode, folder, capsys) == []


def test_every_command_with_options_is_here() -> None:
    listings = {name for name, (path, _) in COMMANDS.items() if path == "planner.commands.listing"}
    tried = {words[0] for words in (*MODES.values(), *SLOW_MODES.values())}
    assert set(COMMANDS) - listings - tried == {"check"}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            "simulate --requests 5 --step-ms 9 --model llama-3.1-8b",
            "--model has no effect with --step-ms, which states",
        ),
        ("simulate --workload skewed-64 --requests 5 --step-ms 9", "--requests has no effect with --workload"),
        ("simulate --workload skewed-64 --step-ms 9 --rate 0", "A rate of 0 requests per second is not possible"),
        ("capacity --model llama-3.1-8b --device rtx-4090 --max-ttft 1 --context 99", "--context has no effect where"),
        (
            "cost --model llama-3.1-8b --device rtx-4090 --price 1 --spare 1",
            "--spare has no effect for one kind of card",
        ),
        (
            "speculate --acceptance 0.7 --draft-tokens 0 --draft-cost 0.1",
            "--draft-tokens 0 drafts nothing: give 1 token",
        ),
        ("speculate --draft eagle=0.7", "--draft is weighed on a server: give --model and --device"),
        ("speculate --acceptance 0.7 --draft-tokens 4 --draft-cost 0.1 --context 9", "--context has no effect for one"),
        (
            "speed --model llama-3.1-8b --device rtx-4090 --prompt 9000",
            "A prompt of 9,000 tokens is longer than the 8,192",
        ),
        ("speed --model llama-3.1-8b --device rtx-4090 --measured 0", "0 measured tokens a second are not possible"),
        ("plan --model llama-3.1-8b --device rtx-4090 --quantize all", "--quantize has no effect without --weights"),
        (
            "plan --model llama-3.1-8b --device rtx-4090 --data-parallel 2 --expert-parallel 2",
            "--expert-parallel has no effect: Llama-3",
        ),
    ],
)
def test_what_has_no_effect_is_refused_with_the_reason(
    words: str, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, said = outcome(words.split(), capsys)
    assert code == 2
    assert said.removeprefix("Argument --measured: ").startswith(sentence)
