"""The set-up in the sidebar, shared by every page and kept in the address; and the plan that it asks for."""

from dataclasses import dataclass, replace

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from planner import presets
from planner.answers.answer import Answer, answer
from planner.answers.verdict import Verdict, verdict
from planner.deployment import MAX_PARALLEL, MAX_TOKENS, MAX_USERS
from planner.errors import PlannerError
from planner.inputs.choices import Choices, Chosen, choose
from planner.inputs.custom import MAX_CHARACTERS
from planner.presets import load_preset
from ui import form, own_config
from ui.address import NOTES, in_address, read_address
from ui.fields import set_up as fields
from ui.fields.advanced import advanced_fields, decided_cards
from ui.fields.engine import engine_field, runtime_note
from ui.option_words import in_fields
from ui.quality import quality_popover
from ui.words import ICONS

_STARTED = "_address_read"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """What the sidebar asks. *chosen*, *answer* and *verdict* are there unless *problem* says why they are not.

    *unused* says why the profile that was chosen is of no use to this plan, which is then made without it.
    """

    choices: Choices
    chosen: Chosen | None = None
    answer: Answer | None = None
    verdict: Verdict | None = None
    problem: str = ""
    unused: str = ""


def sidebar() -> None:
    """Draws the set-up, with the answer in a line; says once, above the page, what a link asked for in vain.

    The app's main script calls this, not a page: values in the address belong to the script that drew their fields, and
    would be dropped on the way to another page.
    """
    _read_address()
    with st.sidebar:
        st.markdown("**Your set-up**")
        line = st.empty()
        own, apart, quality = _main_fields()
        more = st.expander("More: several cards, runtime, own config", key="more")
        with st.expander("Advanced: splits, unequal cards, drafts", key="advanced"):
            advanced_fields()
        with more:  # after the others: what they say decides how many cards there are
            _more_fields()
    _say_apart(apart)
    with own:
        own_config.note()
    plan = scenario()
    if plan.answer:
        with quality:
            quality_popover(plan.answer)
    words = plan.verdict
    short = words.short if words else "**no answer yet**: see the page"
    line.markdown(f"{ICONS[words.state] if words else ':material/help:'} {short}")
    if st.session_state.get(NOTES):
        st.info("  \n".join(st.session_state[NOTES]), icon=":material/link_off:")


def scenario() -> Scenario:
    """What the fields ask, answered; where they are not drawn, as they stand at first."""
    state = {key: st.session_state[key] for key in form.DEFAULTS if key in st.session_state}
    architecture = own_config.architecture()
    choices = form.to_choices(state)
    try:
        if architecture is None:
            architecture = load_preset(choices.model)
        choices = form.to_choices({**state, "model": architecture.name}, architecture.cache_format)
        choices = replace(choices, online=own_config.is_online())
        chosen = choose(choices, architecture)
        unused = _unused(chosen)
        if unused:
            choices = replace(choices, profile=None)
            chosen = choose(choices, architecture)
        found = answer(architecture, chosen.deployment, chosen.workload)
    except PlannerError as error:
        return Scenario(choices=choices, problem=in_fields(error))
    return Scenario(choices=choices, chosen=chosen, answer=found, verdict=verdict(found), unused=unused)


def _unused(chosen: Chosen) -> str:
    """Why the profile is of another model, engine, version or card; empty where it is not, or there is none."""
    profile = chosen.deployment.profile
    try:
        if profile is not None:
            profile.check(chosen.deployment.subject(chosen.architecture.name))
    except PlannerError as error:
        return in_fields(error)
    return ""


def apply(choices: Choices) -> None:
    """Sets the fields so that they ask for *choices*; for use in a widget's callback.

    The address follows those on the page by itself. One that is yet to appear is not bound to it so far.
    """
    state = form.to_state(choices)
    for key, value in state.items():
        if key not in st.session_state and value != form.defaults(choices.engine)[key]:
            st.query_params[key] = in_address(value)
    st.session_state.pop(NOTES, None)
    st.session_state.update(state)


def _read_address() -> None:
    """Names and aliases in a link become what the fields show, impossible values are noted and dropped.

    The widgets that are bound to the address would drop both in silence; so this comes before them, and starts anew.
    """
    if st.session_state.get(_STARTED):
        return
    st.session_state[_STARTED] = True
    query = st.query_params.to_dict()
    found, problems = read_address(query)
    st.session_state[NOTES] = problems
    told = {key: in_address(value) for key, value in found.items()}
    if told != {key: value for key, value in query.items() if key in form.DEFAULTS}:
        others = {key: st.query_params.get_all(key) for key in query if key not in form.DEFAULTS}
        st.query_params.from_dict({**others, **told})
        st.rerun()


def _main_fields() -> tuple[DeltaGenerator, DeltaGenerator, DeltaGenerator]:
    """The fields that every plan needs; returns the places for notes on the model, the cache's format, both formats.

    What these say depends on fields that are drawn later.
    """
    models = list(form.model_names())
    fields.select(
        "model", "Model", models, on_change=own_config.model_chosen, accept_new_options=True, help=_MODEL_HELP
    )
    own_config.keep_model()
    own = st.container()
    fields.select(
        "device", "Card", [form.ANOTHER_SIZE, *form.device_names()], help="A card by its name, or any size of memory."
    )
    if st.session_state["device"] == form.ANOTHER_SIZE:
        fields.text("memory", "Memory of the card", help="Such as 8GiB, 24GB or 512MiB. GiB is 2³⁰ bytes, GB is 10⁹.")
    if not _is_bandwidth_known():
        _bandwidth_field()
    fields.segments("weights", "Weights stored in", form.COMMON_WEIGHTS, help=_WEIGHTS_HELP)
    if st.session_state["weights"] == form.OTHER:
        fields.select("weights_format", "Weights format", list(form.format_names("weights")), help=_FORMAT_HELP)
    fields.segments("kv_cache", "Cache stored in", form.COMMON_CACHES, help=_CACHE_HELP)
    if st.session_state["kv_cache"] == form.OTHER:
        fields.select("kv_cache_format", "Cache format", list(form.format_names("cache")), help=_FORMAT_HELP)
    apart, quality = st.empty(), st.container()
    fields.number(
        "context", "Tokens per user", MAX_TOKENS, help="Prompt and answer together. 1,000 tokens ≈ 750 words."
    )
    fields.number("users", "Users at once", MAX_USERS, help="Requests that are held in memory at the same time.")
    engine_field()
    return own, apart, quality


def _is_bandwidth_known() -> bool:
    """Whether a data sheet says how fast the card reads its memory."""
    name = form.device_names().get(st.session_state["device"])
    return name is not None and presets.find_device(name).bandwidth_bytes_per_s is not None


def _bandwidth_field() -> None:
    """Beside the card where nobody else says it, else among what few need."""
    fields.text("bandwidth", "How fast memory is read", placeholder="such as 80GB/s", help=_BANDWIDTH_HELP)


def _usual_overhead() -> str:
    return form.usual_overhead(st.session_state["engine"]) or "the engine's own items"


def _say_apart(place: DeltaGenerator) -> None:
    """What *More* says of keys or values alone overrules the cache's format, so it is said there."""
    chosen = {"keys": st.session_state["kv_cache_k"], "values": st.session_state["kv_cache_v"]}
    said = ", ".join(f"{what} in {name}" for what, name in chosen.items() if name != form.SAME)
    if said:
        place.caption(f"Under *More*: {said}.")


def _more_fields() -> None:
    decided = decided_cards()
    fields.number(
        "device_count",
        "Number of cards",
        MAX_PARALLEL,
        help="Each holds its share of every layer: tensor parallel.",
        disabled=decided is not None,
    )
    if decided is not None:
        st.caption(f"Under *Advanced*: {decided:,} cards.")
    fields.text("overhead", "Runtime and all else", help=_OVERHEAD_HELP, placeholder=_usual_overhead())
    runtime_note()
    fields.text("host_memory", "Main memory to give", placeholder="not asked", help=_HOST_HELP)
    if _is_bandwidth_known():
        _bandwidth_field()
    fields.segments("quantize", "Which weights take the format", form.QUANTIZE, help=_QUANTIZE_HELP)
    caches = [form.SAME, *form.format_names("cache")]
    fields.select("kv_cache_k", "Keys stored in", caches, help="*same*: as the cache.")
    fields.select("kv_cache_v", "Values stored in", caches, help="*same*: as the cache.")
    own_config.uploader()
    fields.text("custom", "Custom config, as JSON", most=MAX_CHARACTERS, help=_CUSTOM_HELP)
    st.page_link(own_config.OWN_PAGE, label="From Hugging Face, or as a form", icon=":material/edit_note:")


_MODEL_HELP = (
    "Type a part of the name to search; or paste what it is called elsewhere: an id such as Qwen/Qwen3-8B, a tag such "
    "as llama3.1:8b, a page's address."
)
_CUSTOM_HELP = (
    'Keys as in a config.json, such as {"model_type":"llama","hidden_size":4096,…}. It stands in the address: '
    "a link carries it."
)
_WEIGHTS_HELP = (
    "*as published*: as the model's own file stores them, 16 bit for most. **int8** takes half of that, "
    "**int4-g128** a quarter and a little for its scales (4.125 bits). *other*: every format that is known."
)
_FORMAT_HELP = "Every format that is known, counted by whole blocks with their scales."
_CACHE_HELP = "What each token leaves behind, its keys and values. 8 bit holds twice as many tokens as 16 bit."
_OVERHEAD_HELP = (
    "Everything on the card that is neither weights nor cache: libraries, activations, fragments. Empty: the items "
    "that the engine has for them, each with its spread, and 1.5GiB where it has none. A size such as 2GiB takes their "
    "place; *none* counts nothing."
)
_BANDWIDTH_HELP = (
    "For speed alone: bytes a second, such as 960GB/s; of main memory also its channels and what is printed on the "
    "modules, such as 2xDDR5-5600, which is 89.6GB/s. Most laptops and desktops have two channels. Empty: as the "
    "card's data sheet says, and no speed where there is none."
)
_HOST_HELP = (
    "What the machine's own memory has for the model, such as 32GiB: llama.cpp and Ollama put layers, experts and the "
    "embedding there. Empty: counted, but without a limit."
)
_QUANTIZE_HELP = (
    "*linear*: the large matrices; embedding, head and norms stay 16 bit. *all*: every parameter. "
    "*usual*: linear for real models, all for nominal classes."
)
