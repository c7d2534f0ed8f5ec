"""All that one start in a log comes to: what ``kvbudget log`` prints and a page shows."""

from collections.abc import Mapping
from dataclasses import replace

from planner import presets
from planner.architecture import Architecture
from planner.budget import prepare
from planner.calibration import CalibrationProfile
from planner.errors import PlannerError
from planner.inputs.choices import Choices, Chosen, choose
from planner.logs.devices import LLAMA_CPP
from planner.logs.readings import ALLOCATED, LOCALAI, Failure, Readings, Start
from planner.records import dataclass
from planner.startups.cards import TOKENS
from planner.startups.choices import Told, choices_from_log
from planner.startups.comparison import Compared, Match, compare
from planner.startups.doubts import doubted
from planner.startups.lacks import Lack, stated_in_vain
from planner.startups.model import shown_name
from planner.startups.ollama_estimates import as_estimated
from planner.startups.printed_changes import printed_changes
from planner.startups.printed_pools import lacks_states
from planner.startups.profile import profile_from
from planner.startups.remarks import other_states, over_recommended, run_by_another, still_fits, went_on
from planner.startups.spill import spilled, spilled_at_all
from planner.startups.trial import ENGINE, Try
from planner.startups.would_start import perhaps, would_start
from planner.units import format_bytes, format_count


@dataclass(frozen=True, slots=True, kw_only=True)
class LogReport:
    """*start* of *starts* in the log, counted from 1. *choices* and *command* plan it; *notes* say what was concluded,
    and *spill* which layers of one that went on run from main memory.

    Where *lacks* says what is not known, *missing* says what to add, *readings* have no predictions, *would_start* only
    what follows from them, and *profile* nothing; *missing* without it says why the planner refuses what is known.
    """

    engine: str
    version: str
    model: str
    settings: Mapping[str, str]
    start: int
    starts: int
    failure: Failure | None
    readings: tuple[Compared, ...]
    would_start: tuple[Try, ...]
    spill: str
    profile: CalibrationProfile | None
    choices: Choices | None
    command: str
    notes: tuple[str, ...]
    lacks: Lack | None
    missing: str


def report_log(
    found: Readings, given: Choices, number: int | None = None, architecture: Architecture | None = None
) -> LogReport:
    """The start with this *number*, the last one when there is none; *given* is what is stated beside the log.

    *architecture* stands in for the model that *given* names where it is no preset. Raises PlannerError for a log
    without a start, or with fewer.
    """
    start, number = find_start(found, number)
    start = _without_room(start)
    told, chosen, missing = _told(start, given, architecture)
    start = start if chosen is None else as_estimated(start, chosen)
    readings = compare(start, chosen, told.made_of)
    doubt = "" if chosen is None else doubted(start, chosen, readings)
    profile, unmeasured = (None, "") if chosen is None or doubt else _measured(start, chosen)
    tries = printed_changes(start)
    unexplained = "" if chosen is None else still_fits(start, chosen, profile)
    if chosen is not None and told.choices is not None and not doubt:
        planned = would_start(start, told.choices, chosen.architecture, profile)
        if told.made_of >= TOKENS:
            # How many bytes the printed tokens take is the plan's own rule, and with it the card.
            planned = tuple(one if one.says == ENGINE else perhaps(one) for one in planned)
        # Where no change is sure, the buffer that failed says more than a plan that has room for it.
        is_sure = any(one.starts for one in planned)
        # Where the engine starts with any cache at all, what it prints is enough, however long the plan's context is.
        printed = _of_any_size(start, tries)
        tries = (*printed, *planned) if planned and (is_sure or start.engine not in LLAMA_CPP) else (*tries, *planned)
    if chosen is None or doubt:
        in_main_memory = spilled_at_all(start)
    else:
        in_main_memory = spilled(start, told.choices, chosen.architecture, profile)
    doubts = (
        doubt,
        unexplained,
        unmeasured,
        other_states(start, readings),
        went_on(start),
        over_recommended(start),
        run_by_another(start),
    )
    cut = (f"The log is longer than is read: {format_count(found.lines)} lines were.",) if found.cut else ()
    return LogReport(
        engine=start.engine,
        version=start.version,
        model=shown_name(start),
        settings={name: text for name, text in start.settings.items() if name not in (ALLOCATED, LOCALAI)},
        start=number,
        starts=len(found.starts),
        failure=start.failure,
        readings=readings,
        would_start=tries,
        spill=in_main_memory,
        profile=profile,
        choices=told.choices,
        command=told.choices.command() if told.choices is not None and chosen is not None else "",
        notes=(
            *filter(None, doubts),
            *told.notes,
            *((missing,) if missing else ()),
            *stated_in_vain(given, told.choices),
            *cut,
        ),
        lacks=told.lacks,
        missing=missing,
    )


def _told(start: Start, given: Choices, architecture: Architecture | None) -> tuple[Told, Chosen | None, str]:
    """What *start* says, ready to plan, or why it is not.

    Where no release is known, one in which a request of the whole model has to fit on one stage's card is taken if that
    is what the printed request is.
    """
    told = choices_from_log(start, given)
    chosen, missing = _chosen(told, architecture)
    if chosen is None or start.version or given.engine_version or chosen.deployment.pipeline_parallel < 2:
        return told, chosen, missing
    entries = presets.engine_data(start.engine).rules.get("stages_checked_as_one", ())
    for release in (entry.since for entry in entries if entry.value and _is_other_request(start, chosen, told)):
        as_one = choices_from_log(start, replace(given, engine_version=release))
        other, _ = _chosen(as_one, architecture)
        if other is not None and not _is_other_request(start, other, as_one):
            note = f"One request is as large as in {release}, which wants room for all stages on each card."
            return replace(as_one, notes=(*as_one.notes, note)), other, ""
    return told, chosen, missing


def _is_other_request(start: Start, chosen: Chosen, told: Told) -> bool:
    rows = {row.name: row for row in compare(start, chosen, told.made_of)}
    return "request" in rows and rows["request"].match is Match.OUTSIDE


def _of_any_size(start: Start, tries: tuple[Try, ...]) -> tuple[Try, ...]:
    """Of *tries* those by which there is a cache, where there was none; all that leave more than SGLang's states do."""
    if lacks_states(start):
        return tries
    is_pool = start.failure is not None and start.failure.kind == "pool"
    return tuple(one for one in tries if is_pool and one.starts)


def _measured(start: Start, chosen: Chosen) -> tuple[CalibrationProfile | None, str]:
    """What *start* measured, or why its figures are no measurement of this plan."""
    try:
        return profile_from(start, chosen), ""
    except PlannerError:
        return None, (
            "What is printed and what is counted for this plan lie further apart than the card is large, so no profile "
            "is made of it: give --model, --weights and --device as they were."
        )


def _without_room(start: Start) -> Start:
    """*start* as one that failed where nothing is left for the cache, even if the line that says so is missing."""
    pool = start.least("pool")
    is_explained = start.failure is not None and start.failure.kind != "other"
    if is_explained or pool is None or pool.value > 0:
        return start
    said = f"{format_bytes(pool.value)} are left for the cache."
    return replace(start, failure=Failure(kind="pool", message=said, line=pool.line))


def _chosen(told: Told, architecture: Architecture | None) -> tuple[Chosen | None, str]:
    """What the log says, ready to plan, or the sentence why it is not."""
    if told.choices is None:
        return None, told.missing
    try:
        chosen = choose(told.choices, architecture)
        prepare(chosen.architecture, chosen.deployment)
    except PlannerError as error:
        return None, str(error)
    return chosen, ""


def find_start(found: Readings, number: int | None) -> tuple[Start, int]:
    """The start with this *number* from 1, the last without one, and its number. Raises PlannerError if it is none."""
    if not found.starts:
        raise PlannerError(
            f"None of the {format_count(found.lines)} lines is one that vLLM, SGLang, TensorRT-LLM, LMDeploy, "
            "llama.cpp or Ollama prints about memory: give the output from the engine's start on."
        )
    chosen = len(found.starts) if number is None else number
    if not 1 <= chosen <= len(found.starts):
        raise PlannerError(f"start = {chosen:,} is not in the log: it has {len(found.starts):,}.")
    return found.starts[chosen - 1], chosen
