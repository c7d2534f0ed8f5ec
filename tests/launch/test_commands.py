"""The command of each engine, word for word."""

from planner.inputs.choices import Choices, choose
from planner.launch import launch, parse_launch
from tests.launch_plans import (
    ask,
    without_command,
)


def test_vllm() -> None:
    choices = Choices(
        model="qwen3.6-27b",
        device="h100-sxm",
        engine="vllm",
        kv_cache="fp8",
        context=131_072,
        tensor_parallel=2,
        set=("max_num_seqs=64", "num_speculative_tokens=3", "enforce_eager=true"),
    )
    written = launch(choices, choose(choices))
    assert written is not None
    assert written.text == (
        "vllm serve Qwen/Qwen3.6-27B \\\n  --max-model-len 131072 \\\n  --tensor-parallel-size 2 \\\n"
        "  --kv-cache-dtype fp8 \\\n  --max-num-seqs 64 \\\n  --enforce-eager \\\n"
        """  --speculative-config '{"method": "mtp", "num_speculative_tokens": 3}'"""
    )


def test_sglang_counts_all_devices_of_data_parallel_attention_as_its_tp() -> None:
    choices = Choices(
        model="deepseek-v3",
        device="h200",
        engine="sglang",
        kv_cache="fp8",
        context=65_536,
        data_parallel=8,
        expert_parallel=8,
        set=("mem_fraction_static=0.9", "speculative_algorithm=nextn", "speculative_num_draft_tokens=4"),
    )
    written = launch(choices, choose(choices))
    assert written is not None
    assert written.text == (
        "python -m sglang.launch_server \\\n  --model-path deepseek-ai/DeepSeek-V3 \\\n  --context-length 65536 "
        "\\\n  --tp-size 8 \\\n  --dp-size 8 \\\n  --ep-size 8 \\\n  --enable-dp-attention \\\n"
        "  --kv-cache-dtype fp8_e4m3 \\\n  --speculative-algorithm NEXTN \\\n  --speculative-num-steps 3 \\\n"
        "  --speculative-eagle-topk 1 \\\n  --mem-fraction-static 0.9 \\\n  --speculative-num-draft-tokens 4"
    )


def test_trtllm_serve_has_the_cache_s_settings_in_a_file() -> None:
    choices = Choices(
        model="llama-3.1-8b",
        device="h100-sxm",
        engine="tensorrt_llm",
        kv_cache="fp8",
        context=16_384,
        tensor_parallel=2,
        set=("free_gpu_memory_fraction=0.85", "max_batch_size=64"),
    )
    written = launch(choices, choose(choices))
    assert written is not None
    assert written.text == (
        "cat > options.yaml <<'END'\nkv_cache_config:\n  free_gpu_memory_fraction: 0.85\n  dtype: fp8\nEND\n"
        "trtllm-serve meta-llama/Llama-3.1-8B \\\n  --max_seq_len 16384 \\\n  --tp_size 2 \\\n"
        "  --max_batch_size 64 \\\n  --kv_cache_free_gpu_memory_fraction 0.85 \\\n"
        "  --extra_llm_api_options options.yaml"
    )


def test_lmdeploy() -> None:
    choices = Choices(
        model="llama-3.1-8b",
        device="rtx-4090",
        engine="lmdeploy",
        context=16_384,
        set=("quant_policy=8", "cache_max_entry_count=0.9"),
    )
    written = launch(choices, choose(choices))
    assert written is not None
    assert written.text == (
        "lmdeploy serve api_server meta-llama/Llama-3.1-8B \\\n  --backend turbomind \\\n"
        "  --session-len 16384 \\\n  --cache-max-entry-count 0.9 \\\n  --quant-policy 8"
    )


def test_llama_server_asks_for_the_context_of_all_slots() -> None:
    choices = Choices(
        model="llama-3.1-8b", memory="24GiB", weights="q4_k_m", engine="llama_cpp", context=8_192, set=("n_parallel=3",)
    )
    written = launch(choices, choose(choices))
    assert written is not None
    assert written.text == (
        "llama-server \\\n  --hf-repo bartowski/Meta-Llama-3.1-8B-Instruct-GGUF:Q4_K_M \\\n"
        "  --ctx-size 24576 \\\n  --n-gpu-layers 999 \\\n"
        "  --parallel 3"
    )


def test_ollama_takes_the_library_s_file_where_it_is_the_same() -> None:
    choices = Choices(model="llama-3.1-8b", memory="8GiB", weights="q4_k_m", engine="ollama", context=8_192)
    written = launch(choices, choose(choices))
    assert written is not None
    assert "FROM llama3.1:8b-instruct-q4_K_M\nPARAMETER num_ctx 8192\n" in written.text
    assert "OLLAMA_NUM_PARALLEL=1 ollama serve" in written.text


def test_nothing_runs_the_minimum() -> None:
    choices = Choices(model="llama-3.1-8b", memory="24GiB")
    assert launch(choices, choose(choices)) is None


def test_ollama_keeps_a_quantised_cache_only_with_flash_attention() -> None:
    choices = Choices(model="qwen3-8b", memory="8GiB", engine="ollama", weights="q4_k_m", kv_cache="q8_0", context=8192)
    written = launch(choices, choose(choices))
    assert written is not None
    assert "OLLAMA_FLASH_ATTENTION=1 OLLAMA_KV_CACHE_TYPE=q8_0 ollama serve" in written.text
    before, after = ask(choices), ask(parse_launch("ollama", written.text, without_command(choices)))
    assert (after.items, after.pool_tokens) == (before.items, before.pool_tokens)
