"""Which release's rules count for a start: the one that is printed, or the last whose lines these may be."""

from datetime import date

from planner import presets
from planner.errors import PlannerError
from planner.inputs.choices import Choices
from planner.logs.devices import LLAMA_CPP
from planner.logs.readings import Start
from planner.settings import sglang_releases, vllm_releases
from planner.settings.data import EngineData
from planner.settings.ollama_releases import had_own_engine, release_of
from planner.settings.source_lines import printing, releases_file

OUTPUT_LAST = "2025-12-17"
"""Until that day llama.cpp laid the output layer on a card after all others: #18148."""
KEPT_NAMES = ("ik_llama_cpp",)
"""Forks whose lines are those of older releases than their own."""
LLAMA_CPP_ALONE = frozenset(("name", "n_layer", "n_ctx_train", "n_ctx_seq", "n_ctx_per_seq", "n_ubatch"))
"""Settings that Ollama's own engine does not print."""


def version_of(start: Start) -> str | None:
    """The version as the rules are ordered, or the last whose lines these may be; ``None`` where nothing tells."""
    data = presets.engine_data(start.engine)
    return next((text for text in (_printed(start), _latest(start)) if text and _is_version(data, text)), None)


def for_card(told: Choices) -> str | None:
    """The newest release of vLLM whose builds are for the card of a start that ran there and names none.

    ``None`` where it names one, or the newest known runs there.
    """
    if told.engine != "vllm" or told.engine_version is not None or told.device is None:
        return None
    data = presets.engine_data(told.engine)
    try:
        capability = presets.find_device(told.device).compute_capability
    except PlannerError:
        return None
    if data.takes(capability):
        return None
    return next((name for name in reversed(releases_file("vllm")["releases"]) if data.takes(capability, name)), None)


def dated(start: Start, version: str | None) -> str:
    """That a release was concluded, and from what; empty where it is printed."""
    if version is None or version == _printed(start):
        return ""
    if start.engine == "vllm" and version == vllm_releases.release_of(start.sources):
        known = vllm_releases.releases_of(start.sources)
        shown = next(line.partition(" ")[0] for line in start.sources if printing("vllm", [version], line))
        what, so = f"the lines of its source, such as {shown}", f"it is {' or '.join(known)}"
    else:
        what, so = _shows(start, version), f"none after {version}, whose rules are taken"
    title = presets.engine_data(start.engine).title.partition(":")[0]
    return f"The log does not say which release of {title} it is of: by {what}, {so}; --engine-version names another."


def _shows(start: Start, version: str) -> str:
    """What tells the release of a log that prints none."""
    if start.engine == "sglang" and version == sglang_releases.release_of(_day(start)):
        return f"its day, {start.day}"
    shown = ("its lines" * bool(start.sources), f"its day, {start.day}" * bool(start.day))
    return (start.engine == "ollama" and " and ".join(filter(None, shown))) or "how its lines are written"


def is_of_llama_cpp(start: Start) -> bool:
    """Whether a start of Ollama, which then had an engine of its own as well, prints what only llama.cpp does."""
    version = version_of(start)
    return version is not None and had_own_engine(version) and not LLAMA_CPP_ALONE.isdisjoint(start.settings)


def _printed(start: Start) -> str:
    return f"b{start.version}" if start.version.isdigit() else start.version.lstrip("v")


def _latest(start: Start) -> str:
    """The last version whose lines these may be: of Ollama's releases the newest that was out on the log's day."""
    if start.engine == "vllm" and (release := vllm_releases.release_of(start.sources)):
        return release
    if start.engine == "ollama" and (start.day or start.sources):
        return release_of(start.day, start.sources) or start.day
    if start.engine == "sglang" and (release := sglang_releases.release_of(_day(start))):
        return release
    if start.engine in KEPT_NAMES:
        return ""
    return OUTPUT_LAST if start.engine in LLAMA_CPP and not start.last and _keeps_output(start) else start.last


def _keeps_output(start: Start) -> bool:
    """Whether as many of the layers that repeat lie on cards as lie there at all, and some do not."""
    repeating, offloaded, every = (start.most(name) for name in ("repeating", "offloaded", "offloadable"))
    if repeating is None or offloaded is None or every is None:
        return False
    return 0 < repeating.value == offloaded.value < every.value


def _day(start: Start) -> str:
    """The day of the log, unless it is none."""
    try:
        date.fromisoformat(start.day)
    except ValueError:
        return ""
    return start.day


def _is_version(data: EngineData, text: str) -> bool:
    try:
        data.number(text)
    except PlannerError:
        return False
    return True
