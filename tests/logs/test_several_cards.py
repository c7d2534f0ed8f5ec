"""Logs of several cards: ranks that share experts, stages, replicas of attention, and llama.cpp's cards together."""

from planner.inputs.choices import Choices
from planner.logs.read import read_log
from planner.startups.comparison import Compared, Match
from planner.startups.report import LogReport, report_log
from planner.units import GIB, MIB
from ui.sections.log_form import card_words


def report(text: str, **given: str) -> LogReport:
    return report_log(read_log(text), Choices(**{"model": "", "engine": ""} | given))


def rows(found: LogReport) -> dict[str, Compared]:
    return {row.name: row for row in found.readings}


VLLM = """\
(APIServer pid=1) INFO [api_server.py:1351] vLLM API server version 0.13.0
(APIServer pid=1) INFO [utils.py:253] non-default args: {{'model': '{model}', 'max_model_len': {length}, {split}}}
"""
POOL = "({worker} pid=1) INFO [gpu_worker.py:298] Available KV cache memory: {gib} GiB\n"
TOKENS = "({engine} pid=1) INFO [kv_cache_utils.py:1087] GPU KV cache size: {tokens:,} tokens\n"


def test_of_data_parallel_ranks_the_smallest_pool_decides_and_all_share_the_experts() -> None:
    split = "'tensor_parallel_size': 2, 'data_parallel_size': 2, 'enable_expert_parallel': True"
    text = VLLM.format(model="Qwen/Qwen3-30B-A3B", length=32_768, split=split)
    for worker, gib in (
        *(("Worker_DP0_TP0_EP0", 52.10), ("Worker_DP0_TP1_EP1", 52.12)),
        *(("Worker_DP1_TP0_EP2", 52.08), ("Worker_DP1_TP1_EP3", 52.10)),
    ):
        text += POOL.format(worker=worker, gib=gib)
    # 49,152 bytes a token of two heads of 128 in 48 layers, in blocks of 16; rounding is of 52.08 GiB.
    text += TOKENS.format(engine="EngineCore_DP0", tokens=1_138_000)
    text += TOKENS.format(engine="EngineCore_DP1", tokens=1_137_584)
    found = report(text)
    assert found.choices is not None
    split_by = found.choices.tensor_parallel, found.choices.data_parallel, found.choices.expert_parallel
    assert split_by == (2, 2, 4)
    assert rows(found)["pool"].rank == "DP1 TP0 EP2"
    assert (rows(found)["pool_tokens"].value, rows(found)["pool_tokens"].rank) == (1_137_584, "DP1")
    assert rows(found)["pool_tokens"].match is Match.INSIDE


def test_of_stages_the_smallest_pool_decides() -> None:
    text = VLLM.format(
        model="Qwen/Qwen3-32B", length=40_960, split="'tensor_parallel_size': 2, 'pipeline_parallel_size': 2"
    )
    for worker, gib in (("Worker_PP0_TP0", 4.10), ("Worker_PP0_TP1", 4.12), ("Worker_PP1_TP0", 3.08)):
        text += POOL.format(worker=worker, gib=gib)
    # 3.08 GiB / (32 layers of a stage × 2 × 4 heads of 128 × 2 bytes = 65,536) = 50,462 tokens: 3,153 blocks of 16.
    text += TOKENS.format(engine="EngineCore", tokens=50_448)
    found = report(text)
    assert found.choices is not None
    assert (found.choices.tensor_parallel, found.choices.pipeline_parallel) == (2, 2)
    assert rows(found)["pool"].rank == "PP1 TP0"
    assert rows(found)["pool_tokens"].match is Match.EQUAL


def test_sglang_s_tp_counts_the_replicas_of_attention() -> None:
    """61 layers of a latent vector of 576 in 16 bits, whole on every card: 70,272 bytes a token."""
    text = (
        "[2025-09-01 10:00:00] server_args=ServerArgs(model_path='deepseek-ai/DeepSeek-V3', dtype='auto', "
        "mem_fraction_static=0.85, chunked_prefill_size=1024, page_size=1, tp_size=8, dp_size=8, ep_size=1, "
        "enable_dp_attention=True)\n"
    )
    for rank in ("DP0 TP0", "DP1 TP1"):
        text += f"[2025-09-01 10:00:10 {rank}] Load weight begin. avail mem=138.50 GB\n"
        text += f"[2025-09-01 10:02:11 {rank}] KV Cache is allocated. #tokens: 431000, KV size: 28.21 GB\n"
    found = report(text)
    assert found.choices is not None
    assert (found.choices.tensor_parallel, found.choices.data_parallel) == (1, 8) or (
        found.choices.tensor_parallel is None and found.choices.data_parallel == 8
    )
    assert rows(found)["cache"].match is Match.EQUAL
    assert round(431_000 * 70_272 / GIB, 2) == 28.21


OLLAMA = (
    "level=INFO source=server.go:138 msg=offload library=cuda layers.requested=-1 layers.model=81 layers.offload=81 "
    'layers.split=41,40 memory.available="[{}]" memory.gpu_overhead="0 B" memory.required.full="43.9 GiB"\n'
    "print_info: general.name     = Llama 3.3 70B Instruct\n"
    "print_info: file type   = Q4_K - Medium\n"
    "llama_context: n_ctx         = 8192\n"
    "load_tensors:        CUDA0 model buffer size = 19979.10 MiB\n"
    "load_tensors:        CUDA1 model buffer size = 19979.10 MiB\n"
    "llama_kv_cache:      CUDA0 KV buffer size =  1312.00 MiB\n"
    "llama_kv_cache:      CUDA1 KV buffer size =  1248.00 MiB\n"
)


def test_ollama_names_what_is_free_on_each_card_in_one_line() -> None:
    """Equal to a GiB they are two cards of one kind; else each by its own size, with the layers as they were split."""
    alike, unlike = (report(OLLAMA.format(sizes)).choices for sizes in ("23.3 GiB 22.9 GiB", "23.3 GiB 15.2 GiB"))
    assert alike is not None
    assert unlike is not None
    assert (alike.memory, alike.pipeline_parallel) == (f"{int(22.9 * 1024)}MiB", 2)
    assert unlike.devices == f"{int(23.3 * 1024)}MiB,{int(15.2 * 1024)}MiB"
    assert "tensor_split=41,40" in unlike.set


def test_buffers_of_several_cards_are_added_up_and_predicted_so() -> None:
    """80 layers × 2 × 8 heads of 128 × 2 bytes × 8,192 tokens = 2,560 MiB, wherever the layers lie."""
    for sizes in ("23.3 GiB 22.9 GiB", "23.3 GiB 15.2 GiB"):
        found = rows(report(OLLAMA.format(sizes)))
        assert (found["cache"].value, found["cache"].predicted) == (2_560 * MIB, 2_560 * MIB)
        assert found["weights"].value == 2 * round(19_979.10 * MIB)
        assert found["weights"].predicted is not None
        assert abs(found["weights"].predicted / found["weights"].value - 1) < 0.0015


def test_cards_of_different_sizes_are_both_named() -> None:
    choices = report(OLLAMA.format("23.3 GiB 15.2 GiB")).choices
    assert choices is not None
    assert card_words(choices) == "23.30 GiB card and 15.20 GiB card"
