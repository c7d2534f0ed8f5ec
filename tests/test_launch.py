"""A launch command says all of a plan: read back, it gives the same budget."""

from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from planner.answer import Answer, answer
from planner.checkpoint_ids import identify
from planner.choices import Choices, choose
from planner.downloads import checkpoint_id, pull_name, pulled, stored_as
from planner.errors import PlannerError
from planner.format_presets import formats, mix_names
from planner.launch import LAUNCHERS, launch, parse_launch
from planner.presets import models

CARD = "79.15GiB"


def optional(values: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.none() | values


def chosen_settings(**values: st.SearchStrategy[object]) -> st.SearchStrategy[tuple[str, ...]]:
    """Some of *values* as ``KEY=VALUE``."""
    return st.fixed_dictionaries({}, optional=values).map(
        lambda found: tuple(f"{key}={str(value).lower()}" for key, value in found.items())
    )


def drafts(strategy: st.SearchStrategy[Choices], *names: str) -> st.SearchStrategy[Choices]:
    """*strategy* with one of *names* drafting, or nobody."""

    def add(choices: Choices, name: str | None, tokens: int) -> Choices:
        return choices if name is None else replace(choices, draft_model=name, draft_tokens=tokens)

    return st.builds(add, strategy, st.sampled_from([None, *names]), st.integers(min_value=1, max_value=9))


SMALL, OWN_DRAFTS = "qwen3-0.6b", ("eagle", "ngram", "mtp")
CONTEXTS = st.integers(min_value=1, max_value=60_000)
USERS = st.integers(min_value=1, max_value=9)
VLLM = st.builds(
    Choices,
    model=st.sampled_from(["llama-3.1-8b", "qwen3-30b-a3b", "qwen3.6-35b-a3b"]),
    memory=st.just(CARD),
    engine=st.just("vllm"),
    engine_version=st.sampled_from([None, "0.11", "0.26"]),
    weights=st.sampled_from([None, "fp8", "nf4", "int4-g128"]),
    kv_cache=st.sampled_from([None, "fp8", "bf16", "fp16"]),
    tensor_parallel=st.sampled_from([None, 1, 2]),
    pipeline_parallel=st.sampled_from([None, 2]),
    context=optional(CONTEXTS),
    users=USERS,
    set=chosen_settings(
        gpu_memory_utilization=st.sampled_from(["0.5", "0.95"]),
        max_num_seqs=st.integers(min_value=1, max_value=512),
        max_num_batched_tokens=st.integers(min_value=512, max_value=16_384),
        kv_cache_memory_bytes=st.integers(min_value=2**30, max_value=2**34),
        enforce_eager=st.booleans(),
        enable_prefix_caching=st.booleans(),
        skip_mm_profiling=st.booleans(),
        language_model_only=st.booleans(),
        async_scheduling=st.booleans(),
        enable_lora=st.booleans(),
        max_loras=st.integers(min_value=1, max_value=9),
        cpu_offload_gb=st.sampled_from(["0.5", "4"]),
        mamba_ssm_cache_dtype=st.sampled_from(["float32", "bfloat16"]),
    ),
)
LLAMA_CPP = st.builds(
    Choices,
    model=st.sampled_from(["llama-3.1-8b", "gemma-3-27b", "qwen3-30b-a3b"]),
    memory=st.just(CARD),
    engine=st.sampled_from(["llama_cpp", "ik_llama_cpp", "ollama"]),
    weights=st.sampled_from([None, "q4_k_m", "q8_0"]),
    kv_cache=st.sampled_from([None, "q8_0", "fp16"]),
    context=optional(CONTEXTS),
    users=USERS,
    set=chosen_settings(n_gpu_layers=st.integers(min_value=0, max_value=30), n_parallel=st.integers(1, 9)),
)
SGLANG = st.builds(
    Choices,
    model=st.sampled_from(["llama-3.1-8b", "qwen3-30b-a3b", "qwen3.6-35b-a3b", "gpt-oss-20b", "gemma-3-27b"]),
    memory=st.just(CARD),
    engine=st.just("sglang"),
    engine_version=st.sampled_from([None, "0.4.9", "0.5.6", "0.5.12", "0.5.20"]),
    weights=st.sampled_from([None, "fp8", "int4-g128"]),
    kv_cache=st.sampled_from([None, "fp8", "bf16", "fp16"]),
    tensor_parallel=st.sampled_from([None, 1, 2]),
    pipeline_parallel=st.sampled_from([None, 2]),
    data_parallel=st.sampled_from([None, 2]),
    expert_parallel=st.sampled_from([None, 2, 4]),
    context=optional(CONTEXTS),
    users=USERS,
    set=chosen_settings(
        mem_fraction_static=st.sampled_from(["0.5", "0.9"]),
        max_total_tokens=st.integers(min_value=1_000, max_value=1_000_000),
        max_running_requests=st.integers(min_value=1, max_value=512),
        chunked_prefill_size=st.integers(min_value=512, max_value=16_384),
        cuda_graph_max_bs=st.integers(min_value=1, max_value=512),
        page_size=st.sampled_from([1, 64]),
        max_mamba_cache_size=st.integers(min_value=1, max_value=100),
        swa_full_tokens_ratio=st.sampled_from(["0.1", "1.0"]),
        mamba_full_memory_ratio=st.sampled_from(["0.5", "2.0"]),
        mamba_ssm_dtype=st.sampled_from(["float32", "bfloat16"]),
        disable_radix_cache=st.booleans(),
        disable_hybrid_swa_memory=st.booleans(),
    ),
)
TENSORRT_LLM = st.builds(
    Choices,
    model=st.sampled_from(["llama-3.1-8b", "qwen3-30b-a3b", "deepseek-v2-lite"]),
    memory=st.just(CARD),
    engine=st.just("tensorrt_llm"),
    engine_version=st.sampled_from([None, "0.17"]),
    weights=st.sampled_from([None, "fp8"]),
    kv_cache=st.sampled_from([None, "fp8", "nvfp4-kv"]),
    tensor_parallel=st.sampled_from([None, 1, 2]),
    pipeline_parallel=st.sampled_from([None, 2]),
    data_parallel=st.sampled_from([None, 2]),
    expert_parallel=st.sampled_from([None, 2]),
    context=optional(CONTEXTS),
    users=USERS,
    set=chosen_settings(
        free_gpu_memory_fraction=st.sampled_from(["0.5", "0.95"]),
        max_tokens=st.integers(min_value=100, max_value=1_000_000),
        tokens_per_block=st.sampled_from([32, 64]),
        max_batch_size=st.integers(min_value=1, max_value=512),
        max_num_tokens=st.integers(min_value=512, max_value=16_384),
    ),
)
LMDEPLOY = st.builds(
    Choices,
    model=st.sampled_from(["llama-3.1-8b", "qwen3-30b-a3b", "deepseek-v2-lite"]),
    memory=st.just(CARD),
    engine=st.just("lmdeploy"),
    engine_version=st.sampled_from([None, "0.9.2"]),
    kv_cache=st.sampled_from([None, "fp16", "bf16"]),
    tensor_parallel=st.sampled_from([None, 1, 2, 16]),
    context=optional(CONTEXTS),
    users=USERS,
    set=chosen_settings(
        cache_max_entry_count=st.sampled_from(["0.5", "0.95", "3000"]),
        cache_block_seq_len=st.sampled_from([64, 128]),
        quant_policy=st.sampled_from([0, 4, 8]),
        max_batch_size=st.integers(min_value=1, max_value=512),
    ),
)
TRANSFORMERS = st.builds(
    Choices,
    model=st.sampled_from(["llama-3.1-8b", "gemma-3-27b"]),
    memory=st.just(CARD),
    engine=st.just("transformers"),
    weights=st.sampled_from([None, "nf4", "nf4-dq", "llm-int8"]),
    context=optional(CONTEXTS),
    users=USERS,
)


def ask(choices: Choices) -> Answer:
    chosen = choose(choices)
    return answer(chosen.architecture, chosen.deployment, chosen.workload)


def comparable(answer: Answer) -> Answer:
    """*answer* without its words, and what one request alone takes: llama.cpp's command sets its slots."""
    items = tuple(replace(item, source="") for item in answer.items)
    return replace(answer, items=items, kv_request_bytes=0, warnings=(), report=None)


def without_command(choices: Choices) -> Choices:
    """What no command has, and the weights, which are the checkpoint's."""
    return Choices(
        model="",
        memory=choices.memory,
        engine=choices.engine,
        engine_version=choices.engine_version,
        weights=choices.weights,
        users=choices.users,
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
    assume(not any("this command does not" in note for note in written.notes))
    after = ask(parse_launch(choices.engine, written.text, without_command(choices)))
    assert comparable(after) == comparable(before)


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
            assert comparable(after) == comparable(before), name
    supported = {None: True, "fp8": not reads_gguf and engine not in ("lmdeploy", "transformers"), "q8_0": reads_gguf}
    assert (read > 20) == supported[kv_cache]


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


@pytest.mark.parametrize(
    ("weights", "source"),
    [
        ("q4_k_m", "qwen3:8b-q4_K_M"),
        ("q8_0", "qwen3:8b-q8_0"),
        # The library has no other type of it; the Hub has.
        ("q6_k", "hf.co/bartowski/Qwen_Qwen3-8B-GGUF:Q6_K"),
        ("iq1_s", "./qwen3-8b-IQ1_S.gguf"),
    ],
)
def test_ollama_is_given_what_it_can_pull_or_how_the_file_is_made(weights: str, source: str) -> None:
    choices = Choices(model="qwen3-8b", memory="24GiB", weights=weights, engine="ollama", context=8_192)
    written = launch(choices, choose(choices))
    assert written is not None
    assert f"\nFROM {source}\n" in written.text
    made = [
        "hf download Qwen/Qwen3-8B --local-dir qwen3-8b",
        "python convert_hf_to_gguf.py qwen3-8b --outfile qwen3-8b-BF16.gguf",
        "llama-quantize qwen3-8b-BF16.gguf qwen3-8b-IQ1_S.gguf IQ1_S",
    ]
    assert written.files == ("\n".join(made) if source.startswith("./") else "")


def test_every_file_that_is_known_is_found_again() -> None:
    """pulled ∘ pull_name is identity, over every model of the list and every type of GGUF file."""
    names = [preset.name for preset in models() if not preset.config.get("nominal_parameters")]
    pairs = [(name, weights) for name in names for weights in (*mix_names(), "checkpoint")]
    known = {pair: found for pair in pairs if (found := pull_name(*pair))}
    assert len(known) > 300
    assert [pair for pair, found in known.items() if pulled(found) != pair] == []


def test_a_format_that_needs_a_checkpoint_says_so() -> None:
    choices = Choices(model="llama-3.1-8b", memory="24GiB", weights="int8", engine="vllm")
    written = launch(choices, choose(choices))
    assert written is not None
    assert "vllm serve CHECKPOINT-OF-llama-3.1-8b-IN-int8 " in written.text
    assert written.notes == (
        "Name a checkpoint of llama-3.1-8b in int8 in place of CHECKPOINT-OF-llama-3.1-8b-IN-int8: vLLM does not make "
        "one while it loads.",
    )


@pytest.mark.parametrize("engine", ["vllm", "sglang", "lmdeploy", "tensorrt_llm", "transformers"])
def test_no_command_starts_the_publisher_s_checkpoint_in_place_of_another_format(engine: str) -> None:
    """Every format of the list, and GGUF's: the command read back is the plan, or the engine refuses the format."""
    for weights in (*formats(), "q4_k_m", "iq2_xs"):
        choices = Choices(model="llama-3.1-8b", memory="80GiB", weights=weights, engine=engine, context=4096)
        try:
            chosen = choose(choices)
            written = launch(choices, chosen)
        except PlannerError:
            continue
        stored = chosen.deployment.weights
        if stored.format is not None and stored.format.is_unquantized:
            continue
        assert written is not None
        again = parse_launch(engine, written.text, Choices(model="", memory="80GiB"))
        assert again.model in ("llama-3.1-8b", "meta-llama/Llama-3.1-8B")
        assert again.weights == stored.name, written.text


def test_ik_llama_cpp_is_given_a_file_that_is_downloaded() -> None:
    """Its --hf-repo takes no type behind a colon."""
    choices = Choices(model="llama-3.1-8b", memory="24GiB", weights="q4_k_m", engine="ik_llama_cpp", context=8_192)
    written = launch(choices, choose(choices))
    assert written is not None
    assert "--model llama-3.1-8b-Q4_K_M.gguf" in written.text
    assert "--hf-repo" not in written.text
    repository = "bartowski/Meta-Llama-3.1-8B-Instruct-GGUF"
    assert written.files == f"hf download {repository} --include '*Q4_K_M*.gguf' --local-dir ."


@pytest.mark.parametrize("engine", ["vllm", "sglang", "lmdeploy", "tensorrt_llm", "transformers"])
def test_a_checkpoint_that_has_the_format_is_named_and_read_back(engine: str) -> None:
    for weights, checkpoint in (
        ("int4-g128", "Qwen/Qwen2.5-7B-Instruct-GPTQ-Int4"),
        ("int4-g128-asym", "Qwen/Qwen2.5-7B-Instruct-AWQ"),
    ):
        choices = Choices(model="qwen2.5-7b-instruct", memory="12GiB", weights=weights, engine=engine, context=4096)
        written = launch(choices, choose(choices))
        assert written is not None
        assert checkpoint in written.text
        assert not any("Name a checkpoint" in note for note in written.notes)
        again = parse_launch(engine, written.text, Choices(model="", memory="12GiB"))
        assert (again.model, again.weights) == ("qwen2.5-7b-instruct", weights)


def test_every_checkpoint_that_is_known_is_of_the_model_and_the_format_that_its_name_says() -> None:
    """ISTA-DASLab's names say 4b-128g, as no other does."""
    known = [
        (preset.name, weights, found)
        for preset in models()
        for weights in ("int4-g128", "int4-g128-asym")
        if (found := checkpoint_id(preset.name, weights))
    ]
    assert len(known) > 150
    assert [row for row in known if stored_as(row[2]) != row[:2]] == []
    by_name = [row for row in known if not row[2].startswith("ISTA-DASLab/")]
    assert [row for row in by_name if identify(row[2]) != row[:2]] == []


def test_nothing_runs_the_minimum() -> None:
    choices = Choices(model="llama-3.1-8b", memory="24GiB")
    assert launch(choices, choose(choices)) is None


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
        ("ollama", "ollama run llama3", "no line FROM"),
        ("transformers", "import torch", "no line MODEL"),
        ("minimum", "", "choose one of"),
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


def test_ollama_keeps_a_quantised_cache_only_with_flash_attention() -> None:
    choices = Choices(model="qwen3-8b", memory="8GiB", engine="ollama", weights="q4_k_m", kv_cache="q8_0", context=8192)
    written = launch(choices, choose(choices))
    assert written is not None
    assert "OLLAMA_FLASH_ATTENTION=1 OLLAMA_KV_CACHE_TYPE=q8_0 ollama serve" in written.text
    before, after = ask(choices), ask(parse_launch("ollama", written.text, without_command(choices)))
    assert (after.items, after.pool_tokens) == (before.items, before.pool_tokens)
