"""vLLM's settings as one deployment has them, with what it derives from the card."""

from dataclasses import replace
from math import inf
from typing import Any

from planner.architecture import Architecture
from planner.deployment import Deployment, Device
from planner.errors import PlannerError
from planner.records import dataclass
from planner.settings.data import EngineSettings
from planner.units import GIB


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the arithmetic needs of the settings. *draft_tokens* are those of speculative decoding.

    *tokens_in_flight* may be computed before a window's oldest blocks are free again.
    """

    max_num_seqs: int
    max_num_batched_tokens: int
    tokens_in_flight: int
    draft_tokens: int
    drafts_with_mtp: bool
    state_blocks: int
    keeps_all_states: bool
    is_aligned: bool


def options(deployment: Deployment, has_attention: bool = True) -> Options:
    """Given settings first, then the card's defaults.

    *state_blocks* is what one request keeps of each recurrent layer: its state, one more while prefix caching aligns
    states with blocks, and one a drafted token. Prefixes are cached by default only where states are beside attention;
    a mamba_cache_mode that does not go with that gives way.
    """
    settings = deployment.settings
    card = _card_defaults(settings, deployment.device)
    drafts = settings.integer("num_speculative_tokens") or 0
    caches_prefixes = settings.flag("enable_prefix_caching")
    if caches_prefixes is None:
        caches_prefixes = has_attention and settings.rule("states_prefix_cached")
    usual_mode = "none"
    if caches_prefixes:
        usual_mode = "all" if settings.rule("all_states_by_default") and not drafts else "align"
    mode = settings.text("mamba_cache_mode") or usual_mode
    if settings.rule("cache_mode_follows") and (mode != "none") != caches_prefixes:
        mode = usual_mode
    step_tokens = settings.integer("max_num_batched_tokens") or card["max_num_batched_tokens"]
    usual = min(card["max_num_seqs"], step_tokens) if settings.rule("sequences_within_step") else card["max_num_seqs"]
    return Options(
        max_num_seqs=settings.integer("max_num_seqs") or usual,
        max_num_batched_tokens=step_tokens,
        tokens_in_flight=step_tokens * _steps_in_flight(deployment, drafts),
        draft_tokens=drafts,
        drafts_with_mtp=drafts > 0 and settings.text("speculative_method") == "mtp",
        state_blocks=(1 if mode == "none" else 2) + drafts,
        keeps_all_states=mode == "all",
        is_aligned=mode != "none",
    )


def chunks_unless_long(settings: EngineSettings) -> bool:
    """Whether a prompt that fits into no step is computed in several, whatever the longest is."""
    chosen = settings.flag("enable_chunked_prefill")
    if chosen is None or settings.rule("chunks_always"):
        return not settings.rule("whole_prompts")
    return chosen


def bars_chunks(architecture: Architecture, deployment: Deployment) -> bool:
    """Whether something stands against a version's computing prompts in several steps that does not do so by itself."""
    settings = deployment.settings
    mixers = (mixer for layer in architecture.layers for mixer in layer.mixers)
    return (
        bool(architecture.towers)
        or any(getattr(mixer, "window_tokens", None) for mixer in mixers)
        or bool(settings.integer("num_speculative_tokens"))
        or bool(settings.flag("enable_lora"))
        or deployment.device.vendor in settings.rule("chunked_prompts")["except"]
    )


def computes_whole(architecture: Architecture, deployment: Deployment, context_tokens: int) -> bool:
    """Whether the longest prompt, of *context_tokens*, is computed in one step."""
    settings = deployment.settings
    if chunks_unless_long(settings):
        return False
    is_short: bool = context_tokens <= settings.rule("chunked_prompts").get("above", inf)
    return is_short or settings.flag("enable_chunked_prefill") is False or bars_chunks(architecture, deployment)


def with_whole_prompts(architecture: Architecture, deployment: Deployment, context_tokens: int) -> Deployment:
    """*deployment* with the step of a version that computes a prompt at once: as long as the longest, if not given.

    So is what it profiles when it starts. The step is shorter where such a version computes prompts in chunks.
    Source: vllm/config.py, SchedulerConfig; vllm/engine/arg_utils.py, create_engine_config.
    """
    settings = deployment.settings
    is_first = settings.rule("whole_prompts")
    if "max_num_batched_tokens" in settings.given:
        return deployment
    deployment = _with_step(deployment, None)
    if computes_whole(architecture, deployment, context_tokens):
        least: int = settings.rule("chunked_prompts")["of_towers"] if is_first and architecture.towers else 0
        usual = max(context_tokens, options(deployment).max_num_batched_tokens, least)
    elif is_first:
        usual = settings.rule("chunked_prompts")["tokens"]
    else:
        return deployment
    return _with_step(deployment, usual)


def _with_step(deployment: Deployment, tokens: int | None) -> Deployment:
    settings = deployment.settings
    return replace(deployment, settings=replace(settings, values={**settings.values, "max_num_batched_tokens": tokens}))


def check(deployment: Deployment) -> None:
    """Refuses what vLLM has no way to do."""
    key, value = deployment.kv_cache_k.name, deployment.kv_cache_v.name
    if key != value:
        raise PlannerError(
            f"vLLM keeps keys and values in one format; {key} and {value} were asked, give one --kv-cache."
        )
    known = deployment.settings.rule("cache_formats")
    if key not in known:
        raise PlannerError(
            f"vLLM {deployment.settings.version} cannot keep its cache in {key}; choose one of: {', '.join(known)}."
        )
    if (weights := deployment.weights.name.partition("-")[0]) in deployment.settings.rule("weights_not_read"):
        raise PlannerError(
            f"vLLM {deployment.settings.version} reads no weights in {weights}: give --weights in another format, or a "
            "later --engine-version."
        )
    if deployment.settings.text("mamba_cache_mode") == "all" and not deployment.settings.rule("keeps_all_states"):
        raise PlannerError(
            f"vLLM {deployment.settings.version} has no mamba_cache_mode = all; choose one of: align, none."
        )


def _steps_in_flight(deployment: Deployment, drafts: int) -> int:
    """One a pipeline stage, and one more where the next is planned before the last has ended.

    Source: vllm/config/vllm.py, max_concurrent_batches.
    """
    settings, stages = deployment.settings, deployment.pipeline_parallel
    splits = settings.rule("steps_ahead")
    if splits == "none":
        return 1
    plans_ahead = settings.flag("async_scheduling")
    if plans_ahead is None:
        plans_ahead = not (drafts and settings.text("speculative_method") == "ngram")
    return stages + (plans_ahead and (stages == 1 or splits == "all_stages"))


def _card_defaults(settings: EngineSettings, device: Device) -> dict[str, Any]:
    for row in settings.rule("card_defaults"):
        excepted = any(name in device.name for name in row.get("except", ()))
        if device.memory_bytes >= row["minimum_gib"] * GIB and not excepted:
            found: dict[str, Any] = row
            return found
    raise AssertionError("the last row has no minimum")
