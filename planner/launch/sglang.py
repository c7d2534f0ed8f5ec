"""``python -m sglang.launch_server`` from a plan, and back. Source of the options: python/sglang/srt/server_args.py."""

from collections.abc import Iterator
from dataclasses import replace

from planner.choices import Choices, Chosen
from planner.engines.sglang.options import shares_experts, tp_size
from planner.errors import PlannerError
from planner.launch.base import Launch, hub_id, known_name, option_of, options_of, shell, whole_number, words_of

COMMAND = ["python", "-m", "sglang.launch_server"]
CACHE_DTYPES = {"bf16": "bfloat16", "fp8": "fp8_e4m3"}
"""Our formats by SGLang's names; a cache in fp16 or fp32 follows from the model's own dtype."""
DTYPES = {"fp16": "float16", "fp32": "float32"}
QUANTIZATIONS = {"fp8": "fp8"}
"""What SGLang quantises itself while it loads; other formats need a checkpoint that has them."""
VALUES = (
    *("mem_fraction_static", "max_total_tokens", "max_running_requests", "chunked_prefill_size", "max_prefill_tokens"),
    *("cuda_graph_max_bs", "page_size", "swa_full_tokens_ratio", "mamba_full_memory_ratio", "max_mamba_cache_size"),
    *("mamba_ssm_dtype", "speculative_num_draft_tokens"),
)
SWITCHES = ("disable_radix_cache", "disable_hybrid_swa_memory", "disable_piecewise_cuda_graph")
SPLITS = {"--tp-size": "tp", "--pp-size": "pp", "--dp-size": "dp", "--ep-size": "ep"}
LONG = {
    "--tp": "--tp-size",
    "--tensor-parallel-size": "--tp-size",
    "--pipeline-parallel-size": "--pp-size",
    "--dp": "--dp-size",
    "--data-parallel-size": "--dp-size",
    "--ep": "--ep-size",
    "--expert-parallel-size": "--ep-size",
}
"""Other spellings of the splits."""


def launch(choices: Choices, chosen: Chosen) -> Launch:
    """The command with every option that the plan sets; what the plan leaves to SGLang is left to it here too."""
    words = [*COMMAND, "--model-path", hub_id(choices.model), *_options(choices, chosen)]
    weights = chosen.deployment.weights
    is_made = weights.format is None or weights.name in QUANTIZATIONS
    note = f"Name a checkpoint of {choices.model} in {weights.name}: SGLang does not make one while it loads."
    return Launch(text=shell(words), language="sh", notes=() if is_made else (note,))


def _options(choices: Choices, chosen: Chosen) -> Iterator[str]:
    deployment = chosen.deployment
    yield from ("--context-length", str(chosen.workload.context_tokens))
    sizes = tp_size(deployment), deployment.pipeline_parallel, deployment.data_parallel, deployment.expert_parallel
    for option, size in zip(SPLITS, sizes, strict=True):
        if size > 1:
            yield from (option, str(size))
    if shares_experts(deployment):
        yield "--enable-dp-attention"
    cache = deployment.kv_cache_k.name
    if choices.kv_cache or choices.kv_cache_k:
        yield from ("--dtype", DTYPES[cache]) if cache in DTYPES else ("--kv-cache-dtype", CACHE_DTYPES[cache])
    if deployment.weights.name in QUANTIZATIONS:
        yield from ("--quantization", QUANTIZATIONS[deployment.weights.name])
    yield from _settings(chosen)


def _settings(chosen: Chosen) -> Iterator[str]:
    settings = chosen.deployment.settings
    algorithm = settings.text("speculative_algorithm")
    if algorithm:
        yield from ("--speculative-algorithm", algorithm.upper())
    if algorithm in ("nextn", "eagle"):
        steps = (settings.integer("speculative_num_draft_tokens") or 1) - 1
        yield from ("--speculative-num-steps", str(max(1, steps)), "--speculative-eagle-topk", "1")
    for name in VALUES:
        if name in settings.given:
            yield from (option_of(name), str(settings.values[name]))
    for name in SWITCHES:
        if settings.flag(name):
            yield option_of(name)


def parse(text: str, like: Choices) -> Choices:
    """*like* with what the command says; card, users and all else that no such command has stay as they are."""
    words = words_of(text)
    if words[1:3] != COMMAND[1:]:
        raise PlannerError("This is not a command that begins with python -m sglang.launch_server.")
    flags = {"--model-path": "model", "--model": "model", "--context-length": "context", "--dtype": "dtype"}
    flags |= {"--kv-cache-dtype": "cache", "--quantization": "weights", "--speculative-algorithm": "algorithm"}
    flags |= SPLITS | {long: SPLITS[option] for long, option in LONG.items()}
    flags |= {option_of(name): f"set.{name}" for name in VALUES}
    flags |= dict.fromkeys(("--speculative-num-steps", "--speculative-eagle-topk", "--host", "--port"), "ignored")
    switches = {option_of(name): f"set.{name}=true" for name in SWITCHES}
    switches |= {"--enable-dp-attention": "attention=1", "--trust-remote-code": "ignored=1"}
    found, sizes = replace(like, engine="sglang", set=()), dict.fromkeys(SPLITS.values(), 1)
    shares = False
    for name, value in options_of(words[3:], flags, switches):
        if name.startswith("set."):
            found = replace(found, set=(*found.set, f"{name.removeprefix('set.')}={value}"))
        elif name == "algorithm":
            found = replace(found, set=(*found.set, f"speculative_algorithm={value}"))
        elif name in sizes:
            sizes[name] = whole_number(value, name)
        elif name == "attention":
            shares = True
        elif name == "ignored":
            pass
        else:
            found = replace(found, **_choice(name, value))  # type: ignore[arg-type]
    return _split(found, sizes, shares)


def _split(found: Choices, sizes: dict[str, int], shares: bool) -> Choices:
    """Sizes as a plan has them: with data-parallel attention ``tp_size`` counts all devices, replicas among them."""
    tensor, replicas, experts = sizes["tp"], sizes["dp"], sizes["ep"]
    if shares and replicas > 1:
        if tensor % replicas:
            raise PlannerError(f"--tp-size {tensor} is not a multiple of --dp-size {replicas}.")
        experts, tensor = (tensor if experts == 1 else experts), tensor // replicas
    return replace(
        found,
        tensor_parallel=tensor if tensor > 1 else found.tensor_parallel,
        pipeline_parallel=sizes["pp"] if sizes["pp"] > 1 else found.pipeline_parallel,
        data_parallel=replicas if replicas > 1 else found.data_parallel,
        expert_parallel=experts if experts > 1 else found.expert_parallel,
    )


def _choice(name: str, value: str) -> dict[str, object]:
    match name:
        case "model":
            return {"model": value}
        case "cache":
            ours = {theirs: ours for ours, theirs in CACHE_DTYPES.items()} | {"fp8_e5m2": "fp8", "bf16": "bf16"}
            return {} if value == "auto" else {"kv_cache": known_name(ours, value, "--kv-cache-dtype")}
        case "dtype":
            ours = {theirs: ours for ours, theirs in DTYPES.items()} | {"half": "fp16"}
            return {"kv_cache": ours[value]} if value in ours else {}
        case "weights":
            ours = {theirs: ours for ours, theirs in QUANTIZATIONS.items()}
            return {"weights": ours[value]} if value in ours else {}
        case "context":
            return {name: whole_number(value, name)}
        case _:
            raise PlannerError(f"sglang.launch_server has no use for the word {value[:40]!r}.")
