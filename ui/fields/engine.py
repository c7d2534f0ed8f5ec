"""The engine in the sidebar: which one, whose version's rules, and its settings by its own names.

The field ``set`` holds every setting as ``name=value``, a line each, and stands in the address. The settings that
matter most have fields of their own besides, which read and write those lines.
"""

import streamlit as st

from planner import presets
from planner.errors import PlannerError
from planner.listings import shown_value
from planner.settings.data import EngineData, EngineSettings, settle
from planner.settings.setting import Setting
from planner.units import format_size
from ui import form
from ui.fields import profiles as profile_fields
from ui.fields import set_up as fields
from ui.fields.choice import forget_notes
from ui.option_words import in_fields
from ui.own_config import no_markup
from ui.words import engine_title

MAX_CHARACTERS = 2_000
MAIN = {
    "vllm": (
        *("gpu_memory_utilization", "max_num_seqs", "max_num_batched_tokens", "kv_cache_memory_bytes"),
        *("enable_prefix_caching", "enforce_eager", "num_speculative_tokens"),
    ),
    "llama_cpp": ("n_parallel", "kv_unified", "n_ubatch", "flash_attn", "n_gpu_layers", "n_cpu_moe"),
    "ik_llama_cpp": ("n_parallel", "n_ubatch", "flash_attn", "mla_attn", "n_gpu_layers", "n_cpu_moe"),
    "ollama": ("n_parallel", "n_batch", "flash_attn", "n_gpu_layers"),
}
"""By engine, the settings with fields of their own; of any other engine the first of its data."""
MANY = 6
_DEFAULT = ""


def engine_field() -> None:
    """Which engine, and what stands for its runtime; its version and settings one click away."""
    fields.select("engine", "Engine", list(form.engine_names()), on_change=_engine_changed, help=_ENGINE_HELP)
    data = presets.engine_data(st.session_state["engine"])
    if data.newest:
        with st.expander(f"{engine_title(data.name)}: version, settings", key="engine_more"):
            _more(data)
    if len(profiles := form.profile_names()) > 1:
        fields.select("profile", "Measured by", list(profiles), help=_PROFILE_HELP)
    if data.newest or st.session_state.get("profile", form.NONE) != form.NONE:
        profile_fields.in_sidebar()


def runtime_note() -> None:
    """What is counted beside weights and cache, beneath the field that can state it."""
    engine, stated = st.session_state["engine"], st.session_state["overhead"].strip()
    if form.usual_overhead(engine) is not None:
        return
    title = engine_title(engine)
    said = f"{title}'s own items are used instead of a flat figure." if not stated else f"In place of {title}'s own."
    st.caption(said)


def main_settings(data: EngineData) -> tuple[Setting, ...]:
    """The settings that get fields of their own."""
    names = MAIN.get(data.name, tuple(data.settings)[:MANY])
    return tuple(data.settings[name] for name in names if name in data.settings)


def given_settings() -> dict[str, str]:
    """What the lines set, by name; a line that sets nothing is left to the sentence about it."""
    return {_name(line): line.partition("=")[2].strip() for line in form.split_settings(st.session_state["set"])}


def _more(data: EngineData) -> None:
    version = st.container()
    main = st.container()
    fields.lines(
        "set",
        "Every setting, name=value a line",
        MAX_CHARACTERS,
        placeholder="\n".join(f"{setting.name}=…" for setting in main_settings(data)[:2]),
        help=f"By {engine_title(data.name)}'s own names: {', '.join(filter(data.can_set, data.settings))}."
        if data.settings
        else None,
    )
    with version:
        fields.text("engine_version", "Version", placeholder=f"{data.newest}, the newest checked", help=_VERSION_HELP)
        defaults = _defaults(data)
    with main:
        for setting in main_settings(data):
            _field(setting, _usual(setting, defaults), given_settings().get(setting.name, _DEFAULT))
    try:
        settle(data, data.name, None, form.split_settings(st.session_state["set"]))
    except PlannerError as error:
        _say(error)


def _defaults(data: EngineData) -> EngineSettings:
    """The defaults of the version that is asked, those of the newest where it is none."""
    try:
        return settle(data, data.name, st.session_state["engine_version"].strip() or None, ())
    except PlannerError as error:
        _say(error)
        return settle(data, data.name, None, ())


def _usual(setting: Setting, defaults: EngineSettings) -> str:
    """What holds when *setting* is left alone."""
    value = defaults.values[setting.name]
    if value is None:
        return "left to the engine"
    return f"{format_size(value) if setting.type == 'bytes' else shown_value(value)}, the default"


def _field(setting: Setting, usual: str, value: str) -> None:
    """A field that shows what the lines say of *setting*, and writes what is entered into them."""
    key = f"_set_{setting.name}"
    options = [_DEFAULT, *(("true", "false") if setting.type == "bool" else setting.choices)]
    value = st.session_state[key] = _spelled(setting, value)
    if len(options) > 1 and value in options:
        st.selectbox(
            setting.name,
            options,
            key=key,
            format_func=lambda option: option or usual,
            on_change=_write,
            args=(setting.name, key),
            help=setting.meaning,
        )
    else:
        st.text_input(
            setting.name,
            key=key,
            max_chars=40,
            placeholder=usual,
            on_change=_write,
            args=(setting.name, key),
            help=f"{setting.meaning}: {setting.expected}",
        )


def _spelled(setting: Setting, value: str) -> str:
    """*value* as an option spells it: ``true`` for ``on``."""
    if setting.type != "bool" or not value:
        return value
    try:
        return shown_value(setting.parse(value))
    except PlannerError:
        return value


def _write(name: str, key: str) -> None:
    """The field's value into the lines; empty, out of them."""
    forget_notes()
    value = st.session_state[key].strip()
    kept = [line for line in form.split_settings(st.session_state["set"]) if _name(line) != name]
    st.session_state["set"] = "\n".join([*kept, *([f"{name}={value}"] if value else [])])


def _engine_changed() -> None:
    """Settings that the new engine has as well stay; a version never does."""
    forget_notes()
    known = presets.engine_data(st.session_state["engine"]).settings
    kept = [line for line in form.split_settings(st.session_state.get("set", "")) if _name(line) in known]
    st.session_state["set"] = "\n".join(kept)
    st.session_state["engine_version"] = ""


def _name(line: str) -> str:
    return line.partition("=")[0].strip().replace("-", "_")


def _say(error: PlannerError) -> None:
    st.caption(f":orange[:material/edit:] {no_markup(in_fields(error))}")


_ENGINE_HELP = (
    "Whose rules are followed. *minimum*: what any engine must at least hold, and a flat figure for all else. The "
    "others round, reserve and refuse as they do: the page says which version's rules were used."
)
_PROFILE_HELP = (
    "What a start-up log, or this machine's allocator, showed of this engine, version and card takes the place of what "
    "is assumed. The pages My log and Measure make such profiles and keep them on this machine."
)
_VERSION_HELP = "Rules and defaults move between versions. Empty: the newest whose figures were checked."
