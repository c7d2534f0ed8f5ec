"""``vllm serve`` from a plan, and back. Source of the options: vllm/engine/arg_utils.py."""

import json
from collections.abc import Iterator
from dataclasses import replace

from planner.choices import Choices, Chosen
from planner.errors import PlannerError
from planner.launch.base import Launch, hub_id, known_name, option_of, options_of, shell, whole_number, words_of

CACHE_DTYPES = {"bf16": "bfloat16", "fp8": "fp8", "nvfp4-kv": "nvfp4"}
"""Our formats by vLLM's names; a cache in fp16 or fp32 follows from the model's own dtype."""
DTYPES = {"fp16": "float16", "fp32": "float32"}
QUANTIZATIONS = {"fp8": "fp8", "nf4": "bitsandbytes"}
"""What vLLM quantises itself while it loads; other formats need a checkpoint that has them."""
SPLITS = {
    "tensor_parallel": "--tensor-parallel-size",
    "pipeline_parallel": "--pipeline-parallel-size",
    "data_parallel": "--data-parallel-size",
}
DRAFTS = {"method": "speculative_method", "num_speculative_tokens": "num_speculative_tokens"}
SWITCHES = (
    "enforce_eager",
    "enable_prefix_caching",
    "disable_hybrid_kv_cache_manager",
    "skip_mm_profiling",
    "language_model_only",
    "async_scheduling",
    "enable_lora",
    "fully_sharded_loras",
)
VALUES = (
    *("gpu_memory_utilization", "kv_cache_memory_bytes", "num_gpu_blocks_override", "max_num_seqs"),
    *("max_num_batched_tokens", "block_size", "mamba_cache_mode", "mamba_ssm_cache_dtype"),
    *("cpu_offload_gb", "max_loras", "max_lora_rank"),
)


def launch(choices: Choices, chosen: Chosen) -> Launch:
    """The command with every option that the plan sets; what the plan leaves to vLLM is left to it here too."""
    words = ["vllm", "serve", hub_id(choices.model), *_options(choices, chosen)]
    return Launch(text=shell(words), language="sh", notes=tuple(_notes(choices, chosen)))


def _options(choices: Choices, chosen: Chosen) -> Iterator[str]:
    deployment = chosen.deployment
    yield from ("--max-model-len", str(chosen.workload.context_tokens))
    for name, option in SPLITS.items():
        if getattr(deployment, name) > 1:
            yield from (option, str(getattr(deployment, name)))
    if deployment.expert_parallel > 1:
        yield "--enable-expert-parallel"
    cache = deployment.kv_cache_k.name
    if choices.kv_cache or choices.kv_cache_k:
        yield from ("--dtype", DTYPES[cache]) if cache in DTYPES else ("--kv-cache-dtype", CACHE_DTYPES[cache])
    if deployment.weights.name in QUANTIZATIONS:
        yield from ("--quantization", QUANTIZATIONS[deployment.weights.name])
    yield from _settings(chosen)


def _settings(chosen: Chosen) -> Iterator[str]:
    settings = chosen.deployment.settings
    for name in VALUES:
        if name in settings.given:
            yield from (option_of(name), str(settings.values[name]))
    for name in SWITCHES:
        if name in settings.given:
            yield option_of(name) if settings.values[name] else option_of(f"no_{name}")
    if tokens := settings.integer("num_speculative_tokens"):
        drafts = {"method": settings.text("speculative_method"), "num_speculative_tokens": tokens}
        yield from ("--speculative-config", json.dumps(drafts))


def _notes(choices: Choices, chosen: Chosen) -> Iterator[str]:
    deployment = chosen.deployment
    weights = deployment.weights
    if weights.format is not None and weights.name not in QUANTIZATIONS:
        yield f"Name a checkpoint of {choices.model} in {weights.name}: vLLM does not make one while it loads."
    shared = deployment.tensor_parallel * deployment.data_parallel
    if deployment.expert_parallel not in (1, shared):
        yield f"vLLM shares experts over all {shared} devices of a stage; the plan says {deployment.expert_parallel}."


def parse(text: str, like: Choices) -> Choices:
    """*like* with what the command says; card, users and all else that no such command has stay as they are."""
    words = words_of(text)
    if words[:2] != ["vllm", "serve"]:
        raise PlannerError("This is not a command that begins with vllm serve.")
    flags = {"--max-model-len": "context", "--kv-cache-dtype": "cache", "--dtype": "dtype", "--quantization": "weights"}
    flags |= {option: name for name, option in SPLITS.items()}
    flags |= {option_of(name): f"set.{name}" for name in VALUES} | {"--speculative-config": "drafts", "--model": ""}
    switches = {"--enable-expert-parallel": "experts=1"}
    for name in SWITCHES:
        switches |= {option_of(name): f"set.{name}=true", option_of(f"no_{name}"): f"set.{name}=false"}
    found = replace(like, engine="vllm", set=())
    shares_experts = False
    for name, value in options_of(words[2:], flags, switches):
        if name.startswith("set."):
            found = replace(found, set=(*found.set, f"{name.removeprefix('set.')}={value}"))
        elif name == "drafts":
            found = replace(found, set=(*found.set, *_drafts(value)))
        elif name == "experts":
            shares_experts = True
        else:
            found = replace(found, **_choice(name, value))  # type: ignore[arg-type]
    shared = (found.tensor_parallel or 1) * (found.data_parallel or 1)
    return replace(found, expert_parallel=shared) if shares_experts else found


def _choice(name: str, value: str) -> dict[str, object]:
    match name:
        case "":
            return {"model": value}
        case "cache":
            ours = {theirs: ours for ours, theirs in CACHE_DTYPES.items()}
            return (
                {}
                if value == "auto"
                else {"kv_cache": known_name(ours, value.replace("_e4m3", ""), "--kv-cache-dtype")}
            )
        case "dtype":
            ours = {theirs: ours for ours, theirs in DTYPES.items()} | {"half": "fp16"}
            return {"kv_cache": ours[value]} if value in ours else {}
        case "weights":
            ours = {theirs: ours for ours, theirs in QUANTIZATIONS.items()}
            return {"weights": ours[value]} if value in ours else {}
        case _:
            return {name: whole_number(value, name)}


def _drafts(value: str) -> list[str]:
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise PlannerError("--speculative-config is not a JSON object.")
    return [f"{setting}={found[key]}" for key, setting in DRAFTS.items() if key in found]
