"""SGLang's memory lines; its ``GB`` is GiB. One line a rank, ``TP0`` in the prefix.

Source: python/sglang/srt/model_executor/model_runner.py, mem_cache/memory_pool.py, and public reports.
"""

from collections.abc import Iterable
from dataclasses import replace

from planner.logs.commands import options_of, same_names
from planner.logs.patterns import VERSION, Format, pairs_of, pattern
from planner.logs.ranks import rank
from planner.logs.readings import ALLOCATED, Reading

SETTINGS = (
    *("model_path", "dtype", "quantization", "kv_cache_dtype", "context_length", "mem_fraction_static", "page_size"),
    *("tp_size", "pp_size", "dp_size", "ep_size", "enable_dp_attention", "attention_backend"),
    *("max_running_requests", "max_total_tokens", "chunked_prefill_size"),
    *("cuda_graph_max_bs", "disable_cuda_graph", "speculative_algorithm", "speculative_num_draft_tokens"),
    *("mamba_full_memory_ratio", "max_mamba_cache_size", "mamba_ssm_dtype"),
    *("swa_full_tokens_ratio", "disable_radix_cache"),
)
COMMAND = options_of(
    same_names(*SETTINGS)
    | {"--tp": "tp_size", "--dp": "dp_size", "--ep": "ep_size", "--pp": "pp_size", "--model": "model_path"}
    | {"--tensor-parallel-size": "tp_size", "--data-parallel-size": "dp_size"}
)
_FIRST = "free_at_first"
_TWICE = (
    *("free", "free_after_load", "weights", "free_after_pool", "graphs"),
    *("pool_tokens", "cache", "keys", "values"),
)
"""What a draft model prints after the model itself has."""

FORMAT = Format(
    engine="sglang",
    rank=rank,
    words=("sglang", "SGLang"),
    patterns=(
        pattern(
            "SGLANG_PP_LAYER_PARTITION", r"SGLANG_PP_LAYER_PARTITION=[\"']?(?P<set__pp_layer_partition>\d[\d,]{0,100})"
        ),
        pattern("server_args", r"server_args=ServerArgs\((?P<pairs__>.*)", begins=True, pairs=pairs_of(*SETTINGS)),
        *(
            pattern(word, rf"\b(?i:sglang)(?: [Vv]ersion)?[`*]{{0,2}}[ =:]{{1,3}}[`*v]{{0,2}}{VERSION}", is_weak=True)
            for word in ("sglang", "SGLang", "Sglang")
        ),
        *(
            pattern(word, rf"sglang[. ]{word}(?P<pairs__> .*)", is_weak=True, pairs=COMMAND)
            for word in ("launch_server", "serve", "bench_one_batch", "bench_offline_throughput")
        ),
        pattern("Load", r"\[(?P<day__>20\d\d-\d\d-\d\d) [\d:]{8}(?: [\w ]{1,30})?\] Load weight "),
        pattern("Init", r"Init torch begin\. (?i:avail) mem=<free_at_first__gib> GB"),
        pattern("begin", r"Load weight begin\. (?i:avail) mem=<free__gib> GB"),
        pattern(
            "end",
            r"Load weight end\..{0,120}?avail mem=<free_after_load__gib> GB, mem usage=<weights__gib> GB",
        ),
        pattern("end", r"Load weight end\..{0,120}?(?i:avail) mem=<free_after_load__gib> GB *$"),
        pattern("dtype", r"Using KV cache dtype: torch\.(?P<set__kv_cache_dtype>\w{1,40})"),
        pattern(
            "allocated",
            r"KV Cache is allocated\.(?: dtype: [\w.]{1,40},)? #tokens: <pool_tokens__tokens>,\s{1,4}"
            r"K size: <keys__gib> GB, V size: <values__gib> GB",
        ),
        pattern(
            "allocated",
            r"KV Cache is allocated\.(?: dtype: [\w.]{1,40},)? #tokens: <pool_tokens__tokens>, "
            r"KV size: <cache__gib> GB",
        ),
        pattern("allocated", r"KV Cache is allocated\. K size: <keys__gib> GB, V size: <values__gib> GB"),
        pattern(
            "Mamba",
            r"Mamba Cache is allocated\. max_mamba_cache_size: <states__requests>,\s{1,4}conv_state size: "
            r"<conv_states__gib> ?GB,\s{1,4}ssm_state size: <ssm_states__gib> ?GB"
            r"(?:,? intermediate_ssm_state_cache size: <draft_states__gib> ?GB)?",
        ),
        pattern(
            "full_layer_tokens",
            r"full_layer_tokens=<full_tokens__tokens>, swa_layer_tokens=<window_tokens__tokens>",
        ),
        pattern("pool", r"Memory pool end\. avail mem=<free_after_pool__gib> GB"),
        pattern("Capture", r"Capture cuda graph end\..{0,60}?mem usage=<graphs__gib> GB"),
        pattern(
            "max_total_num_tokens",
            r"max_total_num_tokens=<printed_tokens__tokens>(?:, chunked_prefill_size="
            r"<set__chunked_prefill_size>, max_prefill_tokens=<set__max_prefill_tokens>, "
            r"max_running_requests=<set__max_running_requests>, context_len=<set__context_length>)?",
        ),
        pattern(
            "increase",
            r"Not enought? memory\. Please try to increase --mem-fraction-static"
            r"(?:\. Current value: \S{0,40}?mem_fraction_static=<set__mem_fraction_static>)?",
            fails="pool",
        ),
        pattern(
            "unbalanced",
            r"memory capacity is unbalanced\. Some GPUs may be occupied by other processes"
            r"(?:\.? {1,4}\w{1,40}=<free__gib>)?",
            fails="free",
        ),
        pattern("profiled", r"larger than the profiled value -\d{1,12}", fails="pool", is_weak=True),
        pattern("profiled", r"larger than the profiled value -<tokens_short__tokens>"),
        pattern(
            "leave",
            r"weights leave no GPU memory for the KV cache under --mem-fraction-static=<set__mem_fraction_static>",
            fails="pool",
        ),
        pattern("viable", r"minimum viable = 1 - available/pre = <least_share__share>"),
        pattern("Raise", r"Raise --mem-fraction-static above <least_share__share>(?![\d.]*\s{1,4}\(minimum)"),
        pattern(
            "Hybrid",
            r"Hybrid \(mamba/linear-attention\) state cache is too small to serve any requests\.",
            fails="states",
        ),
        pattern("mamba_ratio", r"max_mamba_cache_size=<states__requests>, mamba_ratio=<kept_states__requests>"),
        pattern(
            "Capture", rf"Capture (?P<set__{ALLOCATED}>cuda graph) failed:? .{{0,80}}?out of memory", fails="memory"
        ),
        pattern("fired", r"The server is fired up and ready", recovers=True),
    ),
)


def name_drafts(readings: Iterable[Reading]) -> tuple[Reading, ...]:
    """The second of a rank's lines of one kind is its draft model's: ``draft_weights``, ``draft_pool_tokens``, …

    What was free before loading is what was left and what was loaded, or what was free at first, where no line says it.
    """
    seen: set[tuple[str, str]] = set()
    found = []
    for reading in readings:
        key = reading.name, reading.rank
        again = reading.name in _TWICE and key in seen
        seen.add(key)
        found.append(replace(reading, name=f"draft_{reading.name}") if again else reading)
    return (*_free_before(found), *(reading for reading in found if reading.name != _FIRST))


def _free_before(found: list[Reading]) -> Iterable[Reading]:
    by_rank: dict[str, dict[str, Reading]] = {}
    for reading in found:
        by_rank.setdefault(reading.rank, {})[reading.name] = reading
    for named in by_rank.values():
        after, weights, first = (named.get(name) for name in ("free_after_load", "weights", _FIRST))
        if "free" in named:
            continue
        if after is not None and weights is not None:
            yield replace(after, name="free", value=after.value + weights.value, step=after.step + weights.step)
        elif first is not None:
            yield replace(first, name="free")
