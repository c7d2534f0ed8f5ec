"""How many layers each pipeline stage has, by engine and version; and commands and logs that say it."""

import pytest

from planner.answers.answer import answer
from planner.budget import plan
from planner.engines.split import stage_layers
from planner.errors import PlannerError
from planner.inputs.choices import Choices, choose
from planner.launch import engine_of, launch, parse_launch
from planner.logs.read import read_log
from planner.startups.report import report_log

QWEN = Choices(model="qwen3-8b", memory="80GiB", context=1_024)
"""36 layers."""


def stages(engine: str, version: str | None, number: int, *settings: str) -> tuple[int, ...]:
    chosen = choose(
        Choices(
            **{name: getattr(QWEN, name) for name in ("model", "memory", "context")},
            engine=engine,
            engine_version=version,
            pipeline_parallel=number,
            set=settings,
        )
    )
    return stage_layers(chosen.architecture, chosen.deployment)


@pytest.mark.parametrize(
    ("engine", "version", "number", "layers"),
    [
        ("vllm", "0.7.3", 5, (7, 7, 7, 7, 8)),
        ("vllm", "0.8.2", 5, (7, 7, 7, 8, 7)),
        ("vllm", "0.7.3", 8, (4, 4, 4, 4, 4, 4, 4, 8)),
        ("vllm", "0.27", 8, (4, 4, 4, 5, 5, 5, 5, 4)),
        ("vllm", "0.27", 4, (9, 9, 9, 9)),
        ("sglang", "0.5.5", 8, (4, 4, 4, 4, 4, 4, 4, 8)),
        ("sglang", "0.5.9", 8, (4, 4, 4, 4, 5, 5, 5, 5)),
        ("tensorrt_llm", None, 8, (5, 5, 5, 5, 4, 4, 4, 4)),
        ("minimum", None, 5, (8, 7, 7, 7, 7)),
    ],
)
def test_the_layers_that_do_not_divide_are_where_the_engine_puts_them(
    engine: str, version: str | None, number: int, layers: tuple[int, ...]
) -> None:
    """36 layers on 5 stages leave 1, on 8 stages 4."""
    assert stages(engine, version, number) == layers


@pytest.mark.parametrize(("engine", "variable"), [("vllm", "VLLM"), ("sglang", "SGLANG")])
def test_a_partition_that_is_stated_is_in_the_command_and_read_back(engine: str, variable: str) -> None:
    """12 and 24 of 36 layers: the second card keeps twice as much of the cache."""
    choices = Choices(
        model="qwen3-8b",
        device="h100-sxm",
        engine=engine,
        pipeline_parallel=2,
        context=8_192,
        set=("pp_layer_partition=12,24",),
    )
    chosen = choose(choices)
    first, second = plan(chosen.architecture, chosen.deployment, chosen.workload).ranks
    assert 2 * first.cache_bytes(8_192, 1) == second.cache_bytes(8_192, 1)
    written = launch(choices, chosen)
    assert written is not None
    assert written.text.startswith(f"{variable}_PP_LAYER_PARTITION=12,24 ")
    bare = Choices(model="", device="h100-sxm")
    assert engine_of(written.text, bare) == engine
    read = parse_launch(engine, written.text, bare)
    assert read.set == ("pp_layer_partition=12,24",)
    again = choose(read)
    before = answer(chosen.architecture, chosen.deployment, chosen.workload)
    assert answer(again.architecture, again.deployment, again.workload).items == before.items


@pytest.mark.parametrize("stated", ["12,25", "36", "36,0", "12,12,12"])
def test_a_partition_of_other_layers_or_stages_is_refused(stated: str) -> None:
    with pytest.raises(PlannerError, match=r"36 layers, and pipeline_parallel = 2: name as many stages"):
        stages("vllm", None, 2, f"pp_layer_partition={stated}")


def test_a_log_says_it_in_its_command() -> None:
    """vllm-project/vllm#34076: 16 and 32 of 48 layers on two cards."""
    log = (
        "VLLM_PP_LAYER_PARTITION=16,32 CUDA_VISIBLE_DEVICES=0,1 vllm serve Qwen/Qwen3-Coder-30B-A3B-Instruct-FP8 "
        "--gpu-memory-utilization 0.9 --pipeline-parallel-size 2\n"
        "ValueError: To serve at least one request with the models's max seq len (262144), (24.0 GiB KV cache is "
        "needed, which is larger than the available KV cache memory (3.18 GiB). Based on the available memory, the "
        "estimated maximum model length is 34736.\n"
    )
    found = report_log(read_log(log), Choices(model="", engine="", engine_version="0.15.2"))
    assert "--set pp_layer_partition=16,32" in found.command


@pytest.mark.parametrize(
    ("command", "engine"),
    [
        ("export A=1; vllm serve Qwen/Qwen3-8B", "vllm"),
        ("docker run --gpus all vllm/vllm-openai:v0.19.0 --model Qwen/Qwen3-8B", "vllm"),
        ("python3 -m sglang.launch_server --model-path Qwen/Qwen3-8B", "sglang"),
        ("trtllm-serve Qwen/Qwen3-8B", "tensorrt_llm"),
        ("lmdeploy serve api_server Qwen/Qwen3-8B", "lmdeploy"),
        ("./llama-server -hf Qwen/Qwen3-8B-GGUF:Q4_K_M", "llama_cpp"),
        ("FROM qwen3:8b", "ollama"),
        ("vllm serve Qwen/Qwen3-8B --an-option-of-tomorrow", "vllm"),
    ],
)
def test_a_command_says_whose_it_is(command: str, engine: str) -> None:
    assert engine_of(command, Choices(model="")) == engine


def test_a_command_of_no_engine_is_refused() -> None:
    with pytest.raises(PlannerError, match="starts none of the engines that are known"):
        engine_of("python train.py", Choices(model=""))
