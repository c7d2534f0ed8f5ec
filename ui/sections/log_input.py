"""The log that was pasted, uploaded or an example. Its readings stay in this session; the log is kept nowhere."""

from pathlib import Path

import streamlit as st

from planner.errors import PlannerError
from planner.logs.read import read_log, read_log_bytes
from planner.logs.readings import Readings
from planner.startups.report import find_start
from planner.units import format_count
from ui.option_words import in_fields
from ui.own_config import no_markup, plain
from ui.sections import log_form

TEXT = "log_text"
MAX_CHARACTERS = 1_000_000
MAX_MB = 64
EXAMPLES = {
    "vLLM that does not start": "vllm_refused.txt",
    "vLLM that starts": "vllm_started.txt",
    "llama-server out of memory": "llama_server_out_of_memory.txt",
    "Ollama on an 8 GB laptop": "ollama_out_of_memory.txt",
}
FOLDER = Path(__file__).parents[1] / "example_logs"
_UNREAD = "_log_unread"
"""Why what was given last is no log; what was read before then says nothing any more."""
_FOUND, _PROBLEM, _NAME, _ROUND = "_log_found", "_log_problem", "_log_name", "_log_round"


def readings() -> Readings | None:
    """What was read, with at least one start; ``None`` before."""
    found: Readings | None = st.session_state.get(_FOUND)
    return found


def unread() -> str:
    """Why the last that was given could not be read; empty where it was, or nothing was given."""
    return str(st.session_state.get(_UNREAD, ""))


@st.cache_data(show_spinner=False)
def example() -> Readings:
    """What the page opens on."""
    return read_log((FOLDER / next(iter(EXAMPLES.values()))).read_text(encoding="utf-8"))


def source() -> str:
    """Where it is from, in words."""
    return str(st.session_state.get(_NAME, ""))


def fields(height: int = 220) -> None:
    """Paste, upload or an example, and what was wrong with the last try."""
    st.text_area(
        "What your server printed, from its start on: vLLM, SGLang, TensorRT-LLM, LMDeploy, llama.cpp, Ollama",
        key=TEXT,
        height=height,
        max_chars=MAX_CHARACTERS,
        placeholder="INFO 11-12 09:14:31 [gpu_worker.py:298] Available KV cache memory: 4.98 GiB …",
        on_change=_pasted,
        persist_state="session",
    )
    st.button("Read it", key="log_read", type="primary", icon=":material/search:", on_click=_pasted)
    if problem := st.session_state.get(_PROBLEM):
        st.warning(f"{problem} What you entered stays.", icon=":material/description:")
    st.pills("No log at hand? Look at an example", list(EXAMPLES), key="log_example", on_change=_example)
    key = f"log_upload_{st.session_state.get(_ROUND, 0)}"
    st.file_uploader(
        "Or a log file", key=key, max_upload_size=MAX_MB, on_change=_uploaded, args=(key,),
        help="Read here and kept nowhere.",
    )  # fmt: skip


def forget() -> None:
    """Back to an empty page; for use in a widget's callback."""
    _forget_readings()
    st.session_state[TEXT] = ""
    st.session_state[_ROUND] = st.session_state.get(_ROUND, 0) + 1
    log_form.forget()


def _forget_readings() -> None:
    for key in (_FOUND, _PROBLEM, _UNREAD, _NAME):
        st.session_state.pop(key, None)


def _pasted() -> None:
    text = st.session_state.get(TEXT, "")
    if not text.strip():
        st.session_state[_PROBLEM] = "There is nothing to read yet: paste the log, or upload it."
        return
    st.session_state.pop(_PROBLEM, None)
    _take(read_log(text), "pasted")
    if len(text) == MAX_CHARACTERS:
        st.session_state[_PROBLEM] = f"The paste was cut at {MAX_CHARACTERS:,} characters: upload the file instead."


def _uploaded(key: str) -> None:
    file = st.session_state.get(key)
    if file is not None:
        st.session_state.pop(_PROBLEM, None)
        try:
            _take(read_log_bytes(file.getvalue()), plain(file.name, "uploaded"))
        except PlannerError as error:
            _refuse(error)


def _example() -> None:
    picked = st.session_state["log_example"]
    st.session_state["log_example"] = None
    if picked in EXAMPLES:
        text = (FOLDER / EXAMPLES[picked]).read_text(encoding="utf-8")
        st.session_state[TEXT] = text
        st.session_state.pop(_PROBLEM, None)
        _take(read_log(text), f"example: {picked}")


def _take(found: Readings, name: str) -> None:
    """Keeps what was read; of a log that says nothing, why it does not."""
    try:
        find_start(found, None)
    except PlannerError as error:
        _refuse(error)
        return
    st.session_state.pop(_UNREAD, None)
    if found != readings():
        log_form.forget()
    st.session_state[_FOUND] = found
    st.session_state[_NAME] = f"{name}, {format_count(found.lines)} lines"


def _refuse(error: PlannerError) -> None:
    _forget_readings()
    st.session_state[_UNREAD] = no_markup(in_fields(error))
