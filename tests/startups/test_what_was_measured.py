"""What a start printed counts for every change that is tried on it: its blocks, its cache, on another card too."""

from planner.inputs.choices import Choices
from planner.logs.read import read_log
from planner.startups.comparison import Compared, Match
from planner.startups.report import LogReport, report_log
from planner.startups.trial import Try
from planner.units import MIB

STATES = (
    "vLLM API server version 0.25.1\n"
    "vllm serve Qwen/Qwen3.6-27B-FP8 --gpu-memory-utilization 0.95\n"
    "ValueError: max_num_seqs (1024) exceeds available Mamba cache blocks (856).\n"
)
SHORT = (
    "vLLM API server version 0.8.3\n"
    "vllm serve Qwen/Qwen2.5-VL-7B-Instruct --max-model-len 8192\n"
    "ValueError: The model's max seq len (8192) is larger than the maximum number of tokens that can be stored in KV "
    "cache (2400). Try increasing `gpu_memory_utilization` or decreasing `max_model_len`.\n"
)
PROFILED = (
    "vLLM API server version 0.19.0\n"
    "vllm serve Qwen/Qwen3.5-35B-A3B-FP8 --max-model-len 2048\n"
    "Model loading took 34.71 GiB memory\n"
    "{line}"
    "Available KV cache memory: 34.56 GiB\n"
    "GPU KV cache size: 451,968 tokens\n"
)
TABLE = (
    "common_memory_breakdown_print: | memory breakdown [MiB] | total    free     self   model   context   compute    "
    "unaccounted |\n"
    "common_memory_breakdown_print: |   - CUDA0 (RTX 5090)   | 32111 = 31605 + ({used} = 16386 + {context} + "
    "{compute}) + {rest} |\n"
)
HYBRID = (
    "build_info: b8946-0f1bb602d\n"
    "llama_context: n_ctx         = 200192\n"
    "llama_context: flash_attn    = {flash}\n"
    "llama_kv_cache:      CUDA0 KV buffer size =  6647.00 MiB\n"
    "llama_kv_cache: size = 6647.00 MiB (200192 cells,  16 layers,  1/1 seqs), K (q8_0): 3323.50 MiB, V (q8_0): "
    "3323.50 MiB\n"
    "llama_memory_recurrent:      CUDA0 RS buffer size =   149.62 MiB\n"
)


def report(log: str, **given: str) -> LogReport:
    return report_log(read_log(log), Choices(**{"model": "", "engine": ""} | given))


def rows(found: LogReport) -> dict[str, Compared]:
    return {row.name: row for row in found.readings}


def try_with(found: LogReport, option: str) -> Try:
    return next(one for one in found.would_start if option in one.option)


def test_too_few_blocks_for_states_are_those_of_every_change() -> None:
    """An 8-bit cache doubles a block's tokens and not its bytes, so 856 stay; 0.03 of the card more make 905."""
    found = report(STATES, device="h100-sxm")
    assert found.would_start[0].option == "--max-num-seqs 856"
    assert "--max-num-seqs 856" in try_with(found, "--kv-cache-dtype fp8").option
    assert "--max-num-seqs 905" in try_with(found, "--gpu-memory-utilization 0.98").option


def test_another_card_of_the_same_size_holds_no_more() -> None:
    """The first engine's cache held 2,400 tokens on a 24 GB card: it holds as few on another of 24 GB."""
    found = report(SHORT, device="rtx-3090")
    others = [one for one in found.would_start if "3090 Ti" in one.change]
    assert all(not one.starts and (one.max_context_tokens or 0) < 8_192 for one in others)


def test_blocks_that_vllm_sets_itself_while_it_profiles_graphs_are_no_setting() -> None:
    """It begins with none then. A number of blocks that a user sets takes the place of one."""
    own = report(PROFILED.format(line="Overriding num_gpu_blocks=0 with num_gpu_blocks_override=512\n"))
    assert rows(own)["pool_tokens"].match is Match.EQUAL
    assert own.choices == report(PROFILED.format(line="")).choices
    users = report(PROFILED.format(line="Overriding num_gpu_blocks=7062 with num_gpu_blocks_override=512\n"))
    assert users.choices is not None
    assert "num_gpu_blocks_override=512" in users.choices.set


def test_of_llama_cpp_s_tables_of_a_card_the_last_counts() -> None:
    """--fit and drafts print one each: weights are not in memory twice."""
    first = TABLE.format(used=18058, context=1024, compute=648, rest=-17552)
    last = TABLE.format(used=19000, context=2000, compute=614, rest=300)
    found = rows(report(first + last))
    values = {name: found[name].value / MIB for name in ("weights", "context", "compute", "used", "unaccounted")}
    assert values == {"weights": 16386, "context": 2000, "compute": 614, "used": 19000, "unaccounted": 300}


def test_states_are_compared_by_themselves_where_they_are_printed_so() -> None:
    """16 layers × 2 × 4 heads × 256 elements in 34 bytes of 32 are 34,816 B a cell; one slot has one state."""
    found = rows(report(HYBRID.format(flash="enabled"), model="qwen3.6-27b", device="rtx-3090", weights="q4_k_m"))
    assert found["cache"].predicted == 200_192 * 34_816
    assert found["cache"].match is Match.EQUAL
    assert found["states"].match is Match.EQUAL


def test_flash_attention_is_read_by_each_of_its_words() -> None:
    for word, meant in (("0", "off"), ("1", "on"), ("enabled", "on"), ("disabled", "off")):
        log = HYBRID.format(flash=word).replace("q8_0", "f16")
        found = report(log, model="qwen3.6-27b", device="rtx-3090", weights="q4_k_m")
        assert not [note for note in found.notes if "flash_attn" in note]
        assert found.choices is not None
        assert f"flash_attn={meant}" in found.choices.set


def test_a_card_within_what_was_seen_of_it_is_within_the_range() -> None:
    """An L4 is 22.03 to 22.07 GiB in public reports."""
    log = (
        "ValueError: Free memory on device (19.77/22.05 GiB) on startup is less than desired GPU memory utilization "
        "(0.9, 19.84 GiB).\n"
    )
    found = rows(report(log, model="qwen3-8b", device="l4"))
    assert found["card"].match is Match.INSIDE
    assert found["budget"].match is Match.INSIDE


def test_a_card_that_is_too_small_for_what_was_there_is_not_the_log_s() -> None:
    """27 billion weights in 8 bit are more than an RTX 4090 has; the log's own number is what is left to say."""
    found = report(STATES, device="rtx-4090")
    assert [one.option for one in found.would_start] == ["--max-num-seqs 856"]
    assert any("too small for the rest alone: give --device" in note for note in found.notes)
