"""What would make a start that failed succeed: the engine's own word, ours, and single changes, each tried."""

from collections.abc import Iterator
from dataclasses import replace
from math import floor

from planner.advice import fixes
from planner.answer import Answer, answer
from planner.architecture import Architecture
from planner.calibration import CalibrationProfile
from planner.choices import Choices, choose
from planner.errors import PlannerError
from planner.launch import launch
from planner.logs.readings import Start
from planner.records import dataclass

UTILISATIONS = (0.92, 0.95, 0.98)
SHARES = {
    "sglang": "mem_fraction_static",
    "tensorrt_llm": "free_gpu_memory_fraction",
    "lmdeploy": "cache_max_entry_count",
}
"""By engine, the option for the share that its cache gets."""
SEQUENCES = (128, 64, 32, 16, 8, 4, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Try:
    """One change to the start in the log. *says*: ``engine`` for its own estimate, else ``planner``.

    *option* is what is written on the engine's command line, *starts* what the planner finds with it, and
    *max_context_tokens* and *max_concurrency* what there is then; *command* and *choices* plan it. Where it is not
    enough alone, *shorter_option* is the option together with the longest context that starts with it.
    """

    change: str
    option: str
    says: str
    starts: bool
    max_context_tokens: int | None
    max_concurrency: float | None
    command: str
    choices: Choices
    shorter_option: str = ""


def would_start(
    start: Start, choices: Choices, architecture: Architecture, profile: CalibrationProfile | None
) -> tuple[Try, ...]:
    """For a failed *start* of *choices*: changes that start first, within these in the order of what they cost.

    The *profile* of that very start keeps its measured items where they hold.
    """
    if start.failure is None:
        return ()
    tried: dict[str, Try] = {}
    for kind, change, says, changed in _changes(start, choices, architecture, profile):
        known = tried.get(kind)
        if known is None or not known.starts:
            found = _try(change, says, changed, choices, architecture, profile)
            tried |= {kind: found} if found is not None else {}
    return tuple(sorted(tried.values(), key=lambda one: not one.starts))


def _changes(
    start: Start, choices: Choices, architecture: Architecture, profile: CalibrationProfile | None
) -> Iterator[tuple[str, str, str, Choices]]:
    """Kind, words, who says so, and the changed choices. Of one kind the smaller change comes first."""
    if choices.engine == "vllm" and start.failure is not None and start.failure.kind == "free":
        # What the engine may take at all is more than is free: nothing that the share is spent on changes that.
        for kind, change, changed in _vllm_changes(start, choices, architecture):
            yield kind, change, "planner", changed
        return
    estimate = start.most("longest_start")
    if estimate is not None:
        said = f"{estimate.value:,} tokens, as the engine says"
        yield "estimate", said, "engine", replace(choices, context=int(estimate.value))
    before = _ask(choices, architecture, profile)
    longest = before.max_context_tokens
    if longest and longest < before.context_tokens:
        ours = f"{longest:,} tokens instead of {before.context_tokens:,}"
        yield "context", ours, "planner", replace(choices, context=longest)
    if choices.engine == "vllm":
        for kind, change, changed in _vllm_changes(start, choices, architecture):
            yield kind, change, "planner", changed
    elif choices.engine in SHARES:
        for change, changed in _larger_shares(choices, architecture):
            yield "share", change, "planner", changed
    for fix in fixes(choices, architecture, before):
        if fix.choices.context == choices.context:
            yield fix.change, fix.change, "planner", fix.choices


def _larger_shares(choices: Choices, architecture: Architecture) -> Iterator[tuple[str, Choices]]:
    """Words and choices of a larger share for the cache; SGLang's is of weights and caches together."""
    name = SHARES[choices.engine]
    chosen = choose(choices, architecture)
    if choices.engine == "sglang":
        from planner.engines.sglang import Sglang  # only for SGLang's logs
        from planner.engines.sglang.fraction import static_fraction

        share = static_fraction(Sglang().ranks(architecture, chosen.deployment)[0].model, chosen.deployment)
    else:
        share = chosen.deployment.settings.number(name)
    whole = "of the card" if choices.engine == "sglang" else "of what is free"
    for higher in UTILISATIONS:
        if share < higher:
            yield f"{higher:g} {whole} instead of {share:.3g}", _with(choices, name, higher)


def _vllm_changes(start: Start, choices: Choices, architecture: Architecture) -> Iterator[tuple[str, str, Choices]]:
    """Kind, words and choices of what only vLLM has."""
    settings = choose(choices, architecture).deployment.settings
    share, blocks, free, card = settings.number("gpu_memory_utilization"), *_figures(start)
    kind = "" if start.failure is None else start.failure.kind
    if kind == "states" and blocks:
        yield "sequences", f"At most {blocks:,} requests at once", _with(choices, "max_num_seqs", blocks)
    if kind == "free" and free and card:
        lower = floor(100 * free / card) / 100
        yield "share", f"{lower:g} of the card, which is free", _with(choices, "gpu_memory_utilization", lower)
        return
    limit = free / card if free and card else 1.0
    for higher in UTILISATIONS:
        if share < higher <= limit:
            yield (
                "share",
                f"{higher:g} of the card instead of {share:g}",
                _with(choices, "gpu_memory_utilization", higher),
            )
    asked = settings.integer("max_num_seqs")
    for number in SEQUENCES:
        if asked is None or number < asked:
            requests = "1 request" if number == 1 else f"{number} requests"
            yield "sequences", f"At most {requests} at once", _with(choices, "max_num_seqs", number)
    if settings.rule("graphs_in_budget") and not settings.flag("enforce_eager"):
        yield "eager", "Without CUDA graphs, which is slower", _with(choices, "enforce_eager", "true")


def _figures(start: Start) -> tuple[int | None, float | None, float | None]:
    """Blocks for states, free memory and the card's, as printed."""
    readings = start.least("blocks"), start.least("free"), start.most("card")
    blocks, free, card = (None if reading is None else reading.value for reading in readings)
    return None if blocks is None else int(blocks), free, card


def _with(choices: Choices, name: str, value: object) -> Choices:
    kept = (text for text in choices.set if text.partition("=")[0].strip().replace("-", "_") != name)
    return replace(choices, set=(*kept, f"{name}={value}"))


def _try(
    change: str,
    says: str,
    changed: Choices,
    before: Choices,
    architecture: Architecture,
    profile: CalibrationProfile | None,
) -> Try | None:
    """The change with its outcome; ``None`` where it cannot be made."""
    is_elsewhere = (changed.device, changed.memory, _cards(changed)) != (before.device, before.memory, _cards(before))
    try:
        found = _ask(changed, architecture, None if is_elsewhere else profile)
    except PlannerError:
        return None
    option, longest = _option(changed, before, architecture), found.max_context_tokens
    shorter = replace(changed, context=longest) if option and longest and not found.fits else None
    return Try(
        change=change,
        option=option,
        says=says,
        starts=found.fits,
        max_context_tokens=longest,
        max_concurrency=found.max_concurrency,
        command=changed.command(),
        choices=changed,
        shorter_option=_option(shorter, before, architecture) if shorter else "",
    )


def _cards(choices: Choices) -> tuple[int | None, ...]:
    return choices.device_count, choices.tensor_parallel, choices.pipeline_parallel, choices.data_parallel


def _ask(choices: Choices, architecture: Architecture, profile: CalibrationProfile | None) -> Answer:
    chosen = choose(choices, architecture)
    return answer(chosen.architecture, replace(chosen.deployment, profile=profile), chosen.workload)


def _option(changed: Choices, before: Choices, architecture: Architecture) -> str:
    """What the changed command has that the one before has not."""
    after, old = (launch(each, choose(each, architecture)) for each in (changed, before))
    if after is None or old is None:
        return ""
    known = set(old.text.split(" \\\n  "))
    return " ".join(line for line in after.text.split(" \\\n  ") if line not in known)
