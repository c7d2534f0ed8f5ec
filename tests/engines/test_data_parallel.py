"""What ranks of data parallelism have for themselves and what they share, worked out on paper for each engine."""

from dataclasses import replace

import pytest

from planner.answers.answer import Answer, answer
from planner.formats import Role
from planner.inputs.choices import Choices, choose
from planner.launch import launch, parse_launch
from tests.builders import attention, latent, layer, linear, model

# Matrices of 512 × 512 in 16 bits, a unit each: attention has one in both layers, the dense part one, each of 8 experts
# one, the expert for every token one, the head one.
UNIT = 512 * 512 * 2
ATTENTION = replace(linear(), name="self_attn.q_proj.weight")
DENSE = replace(linear(), name="mlp.up_proj.weight")
SHARED = replace(linear(), name="mlp.shared_experts.up_proj.weight")
EXPERTS = replace(linear(role=Role.EXPERT, count=8, active=2), name="mlp.experts.up_proj.weight")
HEAD = replace(linear(role=Role.HEAD), name="lm_head.weight")
MODEL = replace(
    model(
        layer(latent(8), tensors=(ATTENTION, DENSE)),
        layer(latent(8), tensors=(ATTENTION, EXPERTS, SHARED)),
        tensors=(HEAD,),
    ),
    vocab_size=512,
)
APART = "enable_dp_attention=true"


def ask(engine: str, *settings: str, version: str | None = None, **options: object) -> Answer:
    choices = Choices(
        model="",
        memory="8GiB",
        kv_cache="bf16",
        context=1_000,
        engine=engine,
        engine_version=version,
        set=settings,
        **options,  # type: ignore[arg-type]
    )
    chosen = choose(choices, MODEL)
    return answer(chosen.architecture, chosen.deployment, chosen.workload)


@pytest.mark.parametrize(
    ("engine", "settings", "split", "attention_parts", "dense", "shared", "head", "experts"),
    [
        # 13 units in all on one card
        ("sglang", (), {}, 1, 1, 1, 1, 8),
        ("sglang", (), {"tensor_parallel": 4}, 4, 4, 4, 4, 2),
        # whole replicas: tp 1, dp 4
        ("sglang", (), {"data_parallel": 4}, 1, 1, 1, 1, 8),
        # --tp-size 4 --dp-size 4 --enable-dp-attention: all but attention is divided by four, experts with it
        ("sglang", (APART,), {"data_parallel": 4}, 1, 4, 4, 4, 2),
        # --ep-size 4: two whole experts each
        ("sglang", (), {"data_parallel": 4, "expert_parallel": 4}, 1, 4, 4, 4, 2),
        # --tp-size 4 --dp-size 2: attention in halves
        ("sglang", (APART,), {"tensor_parallel": 2, "data_parallel": 2}, 2, 4, 4, 4, 2),
        # --tp-size 4 --ep-size 2: four experts each, in halves
        ("sglang", (), {"tensor_parallel": 4, "expert_parallel": 2}, 4, 4, 4, 4, 2),
        # experts are cut over all ranks, shared whole with expert parallelism; all else is a rank's own
        ("vllm", (), {"data_parallel": 4}, 1, 1, 1, 1, 2),
        ("vllm", (), {"data_parallel": 4, "expert_parallel": 4}, 1, 1, 1, 1, 2),
        ("vllm", (), {"tensor_parallel": 2, "data_parallel": 2}, 2, 2, 2, 2, 2),
        # and experts for every token are whole, since their tokens are divided
        ("vllm", (), {"tensor_parallel": 2, "data_parallel": 2, "expert_parallel": 4}, 2, 2, 1, 2, 2),
        ("tensorrt_llm", (), {"data_parallel": 4}, 1, 1, 1, 1, 2),
        ("minimum", (), {"data_parallel": 4}, 1, 1, 1, 1, 2),
        ("tensorrt_llm", (), {"data_parallel": 4, "expert_parallel": 2}, 1, 1, 1, 1, 2),
    ],
)
def test_what_a_rank_has_of_the_weights(
    engine: str,
    settings: tuple[str, ...],
    split: dict[str, int],
    attention_parts: int,
    dense: int,
    shared: int,
    head: int,
    experts: int,
) -> None:
    units = 2 / attention_parts + 1 / dense + 1 / shared + 1 / head + experts
    assert ask(engine, *settings, **split).weights_bytes == units * UNIT


def test_vllm_divides_experts_for_every_token_before_it_divides_their_tokens() -> None:
    split = {"tensor_parallel": 2, "data_parallel": 2, "expert_parallel": 4}
    assert ask("vllm", version="0.11.0", **split).weights_bytes == (2 / 2 + 1 / 2 + 1 / 2 + 1 / 2 + 2) * UNIT


def test_each_rank_keeps_the_caches_of_its_own_requests() -> None:
    """A latent vector is whole on every rank of tensor parallelism: 2 layers of 576 · 2 bytes a token."""
    one = 2 * 576 * 2 * 1_000
    every = ask("sglang", "mem_fraction_static=0.5", tensor_parallel=4, users=8)
    apart = ask("sglang", "mem_fraction_static=0.5", APART, data_parallel=4, users=8)
    caches = [next(item.bytes for item in found.items if item.name == "cache") for found in (every, apart)]
    assert caches == [8 * one, 2 * one]
    assert every.device_count == apart.device_count == 4
    assert any("tp_size is 4: 4 ranks attend apart" in note for note in apart.warnings)


def test_a_rank_that_attends_apart_runs_its_part_of_the_requests() -> None:
    def running(*settings: str, **split: int) -> str:
        found = ask("sglang", "mem_fraction_static=0.5", "max_running_requests=64", *settings, **split)
        return next(note for note in found.warnings if note.startswith("It would run"))

    assert running(APART, data_parallel=4) == "It would run at most 16 requests at once."
    assert running(data_parallel=4) == running(tensor_parallel=4) == "It would run at most 64 requests at once."


@pytest.mark.parametrize(
    ("engine", "command"),
    [
        ("sglang", "--tp-size 8 --dp-size 8 --enable-dp-attention"),
        ("sglang", "--tp-size 8 --dp-size 4 --enable-dp-attention"),
        ("sglang", "--tp-size 8 --dp-size 8 --ep-size 8 --enable-dp-attention"),
        ("sglang", "--tp-size 4 --dp-size 2 --ep-size 4"),
        ("vllm", "--data-parallel-size 8"),
        ("vllm", "--tensor-parallel-size 2 --data-parallel-size 4 --enable-expert-parallel"),
    ],
)
def test_a_command_comes_back_as_it_was_written(engine: str, command: str) -> None:
    """Nothing is added that nobody asked for."""
    start = {"sglang": "python -m sglang.launch_server --model-path", "vllm": "vllm serve"}[engine]
    given = Choices(model="", device="h200-sxm", engine=engine)
    choices = parse_launch(engine, f"{start} deepseek-ai/DeepSeek-V3 {command}", given)
    written = launch(choices, choose(choices))
    assert written is not None
    assert command in " ".join(written.text.replace("\\\n", " ").split())


def test_attention_of_eight_ranks_beside_the_experts_of_deepseek_v3() -> None:
    """61 latent vectors of 576 · 2 bytes a token either way: eight ranks hold eight times as many tokens as one."""
    fraction = "mem_fraction_static=0.9"
    choices = Choices(model="deepseek-v3", device="h200-sxm", engine="sglang", set=(fraction,))
    pools = []
    for chosen in (
        choose(replace(choices, tensor_parallel=8)),
        choose(replace(choices, data_parallel=8, set=(fraction, APART))),
    ):
        found = answer(chosen.architecture, chosen.deployment, chosen.workload)
        assert found.kv_bytes_per_token == 61 * 576 * 2
        assert found.pool_tokens is not None
        pools.append(found.pool_tokens * chosen.deployment.data_parallel)
    assert pools[1] > 5 * pools[0]


def test_heads_are_whole_on_a_rank_that_attends_apart() -> None:
    dense = replace(model(layer(attention(8, 2))), vocab_size=512)
    sizes = []
    for split in ({"tensor_parallel": 2}, {"data_parallel": 2}):
        settings = ("mem_fraction_static=0.5", *([APART] if "data_parallel" in split else []))
        chosen = choose(Choices(model="", memory="8GiB", engine="sglang", set=settings, **split), dense)
        sizes.append(answer(chosen.architecture, chosen.deployment, chosen.workload).kv_bytes_per_token)
    assert sizes == [2 * 64 * 2, 2 * 2 * 64 * 2]


def test_ranks_that_share_no_experts_are_engines_by_themselves() -> None:
    """What communicators take is there where ranks add up experts, and not beside copies of a dense model."""

    def communicators(model: str, **split: int) -> int:
        chosen = choose(Choices(model=model, device="h100-sxm", engine="vllm", **split))  # type: ignore[arg-type]
        found = answer(chosen.architecture, chosen.deployment, chosen.workload)
        return next(item.bytes for item in found.items if item.name == "non-torch memory")

    assert communicators("llama-3.1-8b", data_parallel=4) == communicators("llama-3.1-8b")
    assert communicators("qwen3-30b-a3b", data_parallel=4) == communicators("qwen3-30b-a3b", tensor_parallel=4)
