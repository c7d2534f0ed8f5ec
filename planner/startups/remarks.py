"""What is said of a start beside its figures: why no change is sure, and what one that went on had to do."""

from collections.abc import Sequence
from dataclasses import replace

from planner.answers.answer import answer
from planner.calibration import CalibrationProfile
from planner.inputs.choices import Chosen
from planner.logs.readings import LOCALAI, Start
from planner.startups.comparison import Compared
from planner.units import format_bytes

SAME_REQUEST = 0.02
"""The log's and the plan's bytes of one request differ by less where both mean the same model and flags."""


def still_fits(start: Start, chosen: Chosen, profile: CalibrationProfile | None) -> str:
    """Why no change is sure: by the plan, with what was measured, there is room for the cache."""
    if start.failure is None or start.failure.kind != "pool":
        return ""
    found = answer(chosen.architecture, replace(chosen.deployment, profile=profile), chosen.workload)
    if not found.fits:
        return ""
    return (
        "By the plan there is room for the cache, so something takes memory that the log does not show, such as a "
        "setting or another program: no change is sure."
    )


def over_recommended(start: Start) -> str:
    """Metal gives more than it recommends, warns, and may fail once it computes."""
    used, recommended = start.most("in_use"), start.most("card")
    if used is None or recommended is None or used.value <= recommended.value:
        return ""
    return (
        f"It started, and takes {format_bytes(used.value - recommended.value)} more than the "
        f"{format_bytes(recommended.value)} that Metal recommends: it may fail or swap when it computes. Fewer layers "
        "on the GPU, a shorter context or a smaller file stay below."
    )


def went_on(start: Start) -> str:
    """What LMDeploy does where its cache holds fewer tokens than were asked for: it starts, with those."""
    cut = start.most("longest_start")
    if start.engine != "lmdeploy" or cut is None or start.failure is not None:
        return ""
    return (
        f"It started, and takes requests of up to {cut.value:,} tokens: a larger --cache-max-entry-count, or "
        "--quant-policy 8 with half the bytes a token, makes room for longer ones."
    )


def run_by_another(start: Start) -> str:
    """Where the options of llama.cpp stand when LocalAI runs it.

    Source: LocalAI's documentation, model configuration and the options of the llama.cpp backend.
    """
    if LOCALAI not in start.settings or start.engine != "llama_cpp":
        return ""
    return (
        "LocalAI has these in the model's YAML file: gpu_layers for --n-gpu-layers, context_size for --ctx-size, batch "
        "for --batch-size, cache_type_k and cache_type_v, flash_attention; and under options fit_params:true for --fit "
        "on and parallel:1 for --parallel 1."
    )


def other_states(start: Start, rows: Sequence[Compared]) -> str:
    """SGLang's recurrent states are half of the plan's, or twice: their numbers have another width."""
    row = next((row for row in rows if row.name == "ssm_states"), None)
    if start.engine != "sglang" or row is None or not row.predicted:
        return ""
    for ratio, words, name in ((0.5, "half", "bfloat16"), (2.0, "twice", "float32")):
        if abs(row.value / row.predicted - ratio) <= SAME_REQUEST * ratio:
            return (
                f"Its recurrent states are {words} of what the plan's format takes, {format_bytes(row.value)} and not "
                f"{format_bytes(row.predicted)}: give --set mamba_ssm_dtype={name}."
            )
    return ""
