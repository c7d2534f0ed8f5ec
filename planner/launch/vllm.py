"""``vllm serve`` from a plan, and back. Source of the options: vllm/engine/arg_utils.py."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from planner import presets
from planner.deployment import Deployment
from planner.draft import EAGLE, NGRAM, Draft
from planner.errors import NotItsCommand, PlannerError
from planner.inputs.choices import Choices, Chosen
from planner.launch.base import Launch, in_full, option_of, options_of, shell, whole_number
from planner.launch.drafting import draft_checkpoint, draft_notes, draft_of, has_files
from planner.launch.pasted import arguments, ignored
from planner.launch.several import several_options
from planner.launch.spelling import WEIGHTS, Spelling, checkpoint_notes, loaded, of_checkpoint, setting_options
from planner.launch.variables import stated, variables
from planner.settings.data import EngineSettings
from planner.settings.versions import parse_version, value_at

SPELLING = Spelling(
    caches={"bf16": "bfloat16", "fp8": "fp8", "nvfp4-kv": "nvfp4"},
    dtypes={"fp16": "float16", "fp32": "float32"},
    weights={"fp8": "fp8", "nf4": "bitsandbytes"},
    read={
        **dict.fromkeys(("fp8_e4m3", "fp8_e5m2", "fp8_inc", "fp8_ds_mla"), "fp8"),
        "float16": "fp16",
        "nvfp4_4over6": "nvfp4-kv",
    },
)
SPLITS = {
    "tensor_parallel": "--tensor-parallel-size",
    "pipeline_parallel": "--pipeline-parallel-size",
    "data_parallel": "--data-parallel-size",
}
STARTS = (("vllm", "serve"), ("python", "-m", "vllm.entrypoints.openai.api_server"))
SHORT = {"-tp": "tensor_parallel", "-pp": "pipeline_parallel", "-dp": "data_parallel"}
METHOD, MODEL, TOKENS, QUANTIZATION = "method", "model", "num_speculative_tokens", "quantization"
"""Keys of --speculative-config. Source: vllm/config/speculative.py."""
DRAFT_MODEL = "draft_model"
SWITCHES = (
    "enforce_eager",
    "enable_prefix_caching",
    "enable_chunked_prefill",
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
    *("cpu_offload_gb", "max_loras", "max_lora_rank", "load_format"),
)
CHUNKED = "enable_chunked_prefill"
CHUNKS = option_of(CHUNKED)
"""An option that takes a value in the first engine, --enable-chunked-prefill=False; later ones have a --no- option."""
LONGEST = "--max-model-len"
LARGE = ("max_num_batched_tokens", "kv_cache_memory_bytes")
"""Settings that may be written as LONGEST may: 32k."""


def launch(choices: Choices, chosen: Chosen) -> Launch:
    """The command with every option that the plan sets; what the plan leaves to vLLM is left to it here too."""
    deployment, model = chosen.deployment, loaded(choices, chosen, SPELLING.made)
    program = [*variables(deployment), *STARTS[0]]
    named = [model]
    if not deployment.settings.rule("serves"):
        program, named = [*variables(deployment), *STARTS[1]], ["--model", model]
    text = shell([*program, *named, *_options(choices, chosen)], len(program))
    return Launch(text=text, language="sh", notes=tuple(_notes(choices, chosen)))


def _options(choices: Choices, chosen: Chosen) -> Iterator[str]:
    deployment = chosen.deployment
    yield from (LONGEST, str(chosen.workload.context_tokens))
    for name, option in SPLITS.items():
        if getattr(deployment, name) > 1:
            yield from (option, str(getattr(deployment, name)))
    if deployment.expert_parallel > 1:
        yield "--enable-expert-parallel"
    eight_bits = {"fp8": deployment.settings.rule("fp8_cache_name")}
    yield from replace(SPELLING, caches={**SPELLING.caches, **eight_bits}).options(choices, chosen)
    yield from setting_options(deployment, VALUES)
    settings = deployment.settings
    for name in SWITCHES:
        if name in settings.given and not _is_off_anyway(settings, name):
            off = f"{CHUNKS}=False" if name == CHUNKED and settings.rule("whole_prompts") else option_of(f"no_{name}")
            yield option_of(name) if settings.values[name] else off
    if config := _drafts(choices, deployment):
        yield from ("--speculative-config", json.dumps(config))
    yield from several_options(deployment)


def _is_off_anyway(settings: EngineSettings, name: str) -> bool:
    """Whether a version has *name* off by itself, and no option that says so."""
    if settings.rule("says_no"):
        return False
    default = value_at(presets.engine_data("vllm").settings[name].defaults, parse_version(settings.known))
    return settings.values[name] is default is False


def _drafts(choices: Choices, deployment: Deployment) -> dict[str, Any]:
    """What drafts: vLLM's own settings say it, or the plan's draft."""
    settings, draft = deployment.settings, deployment.draft
    if draft is not None:
        return _draft(choices, draft)
    tokens = settings.integer(TOKENS)
    return {METHOD: settings.text("speculative_method"), TOKENS: tokens} if tokens else {}


def _draft(choices: Choices, draft: Draft) -> dict[str, Any]:
    config: dict[str, Any] = {METHOD: draft.name if draft.name in (EAGLE, NGRAM) else DRAFT_MODEL}
    if has_files(draft):
        config[MODEL] = draft_checkpoint(choices, draft)
    if draft.weights.name in SPELLING.weights:
        config[QUANTIZATION] = SPELLING.weights[draft.weights.name]
    return config | {TOKENS: draft.draft_tokens}


def _notes(choices: Choices, chosen: Chosen) -> Iterator[str]:
    deployment = chosen.deployment
    yield from checkpoint_notes(choices, chosen, "vLLM", SPELLING.made)
    yield from SPELLING.notes(choices, deployment, "vLLM")
    shared = deployment.tensor_parallel * deployment.data_parallel
    if deployment.expert_parallel not in (1, shared):
        yield f"vLLM shares experts over all {shared} devices of a stage; the plan says {deployment.expert_parallel}."
    draft, settings = deployment.draft, deployment.settings
    if draft is not None and draft.architecture is not None and not settings.rule("draft_models"):
        yield f"vLLM {settings.version} starts with no smaller model as a draft: use a version that does."
    yield from draft_notes(choices, deployment, SPELLING.weights)


def parse(text: str, like: Choices) -> Choices:
    """*like* with what the command says; card, users and all else that no such command has stay as they are."""
    words = arguments("vllm", text, STARTS)
    if words is None:
        raise NotItsCommand("This is not a command that begins with vllm serve.")
    flags = SPELLING.flags | {LONGEST: "context", "--speculative-config": "drafts", "--model": ""}
    flags |= {option: name for name, option in SPLITS.items()} | SHORT
    flags |= {option_of(name): f"set.{name}" for name in VALUES}
    switches = dict.fromkeys(("--enable-expert-parallel", "-ep"), "experts=1")
    beside, beside_switches = ignored("vllm")
    flags, switches = flags | beside, switches | beside_switches
    for name in SWITCHES:
        switches |= {option_of(name): f"set.{name}=true", option_of(f"no_{name}"): f"set.{name}=false"}
    found = replace(like, engine="vllm", set=stated("vllm", text))
    shares_experts, stored, loads = False, dict[str, str](), ""
    for name, value in options_of(_switched(map(_dashed, words)), flags, switches):
        if name == "ignored":
            continue
        if name.startswith("set."):
            setting = name.removeprefix("set.")
            found = replace(found, set=(*found.set, f"{setting}={in_full(value) if setting in LARGE else value}"))
        elif name == "context":
            found = replace(found, context=_longest(value))
        elif name == "drafts":
            found = _with_drafts(found, value)
        elif name == "experts":
            shares_experts = True
        elif name in SPELLING.flags:
            stored[name] = value
        elif name == "":
            loads, found = value, replace(found, **of_checkpoint(value))  # type: ignore[arg-type]
        else:
            found = replace(found, **{name: whole_number(value, name)})  # type: ignore[arg-type]
    found = replace(found, **SPELLING.said(stored, loads))  # type: ignore[arg-type]
    shared = (found.tensor_parallel or 1) * (found.data_parallel or 1)
    return replace(found, expert_parallel=shared) if shares_experts else found


def _dashed(word: str) -> str:
    """An option as vLLM spells it: it takes ``--max_model_len`` too."""
    name, equals, value = word.partition("=")
    return f"{name.replace('_', '-')}{equals}{value}" if name.startswith("--") else word


def _switched(words: Iterable[str]) -> Iterator[str]:
    """The words with a value of CHUNKS in the option's name, however it stands beside it."""
    said = ""
    for word in words:
        name, equals, value = word.partition("=")
        if said and word.lower() in ("true", "false"):
            name, equals, value = said, "=", word
        elif said:
            yield said
        said = ""
        if name == CHUNKS and not equals:
            said = name
        elif name == CHUNKS and value.lower() in ("true", "false"):
            yield CHUNKS if value.lower() == "true" else option_of(f"no_{CHUNKED}")
        else:
            yield word
    if said:
        yield said


def _longest(value: str) -> int:
    if value in ("auto", "-1"):
        raise PlannerError(f"{LONGEST} {value} is as long as memory allows: name the number of tokens to plan for.")
    return whole_number(in_full(value), LONGEST)


def _with_drafts(found: Choices, value: str) -> Choices:
    try:
        config = json.loads(value)
    except (ValueError, RecursionError):
        config = None
    if not isinstance(config, dict):
        raise PlannerError("--speculative-config is not a JSON object.")
    if MODEL in config:
        tokens = whole_number(str(config.get(TOKENS)), TOKENS)
        stored = SPELLING.said({WEIGHTS: str(config.get(QUANTIZATION))}).get("weights", found.draft_weights)
        return replace(found, **draft_of(str(config[MODEL]), tokens), draft_weights=stored)  # type: ignore[arg-type]
    keys = {METHOD: "speculative_method", TOKENS: TOKENS}
    return replace(found, set=(*found.set, *(f"{keys[key]}={config[key]}" for key in keys if key in config)))
