"""Logs that are cut, shuffled, doubled or full of odd figures: a report or one sentence, never a traceback."""

from hypothesis import given, settings
from hypothesis import strategies as st

from planner.errors import PlannerError
from planner.export import to_json
from planner.inputs.choices import Choices
from planner.logs.read import read_log
from planner.startups.report import report_log
from planner.startups.text import log_text
from planner.startups.words import difference_words, log_sentence, log_title, range_words, try_words
from tests.logs.test_wrapped_logs import LOGS
from tests.startups.test_report import FAILED
from tests.startups.test_would_start import HYBRID, LLAMA

LINES = "".join(
    (*LOGS.values(), FAILED, HYBRID.format(pool="1.86", request="4.19", longest=55664), LLAMA.format(free=9000))
)
LINES_OF_FAILURES = (
    "max_num_seqs (256) exceeds available Mamba cache blocks (184).",
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.64 GiB "
    "of which 1.50 GiB is free.",
    "ValueError: Free memory on device (15.3/23.64 GiB) on startup is less than desired GPU memory utilization (0.9, "
    "21.28 GiB).",
    "ValueError: No available memory for the cache blocks.",
    "The model's max seq len (4096) is larger than the maximum number of tokens that can be stored in KV cache (3664).",
    "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.",
    "[TM][WARNING] `session_len` truncated to 4928 due to limited KV cache memory",
    "maxTokensInPagedKvCache (29184) must be large enough to process at least 1 sequence to completion",
    "llama_model_load: error loading model: unable to allocate CUDA0 buffer",
)
ALL = (*LINES.splitlines(), *LINES_OF_FAILURES)
ODD = ("0", "-1", "1e9", "999999999", "0.00", "99999999999999999999", "nan", "", ",", "١٢", "0x10", "1,5")


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """Some lines of several engines in any order, each perhaps cut, and a figure in it perhaps another."""
    lines = []
    for line in draw(st.lists(st.sampled_from(ALL), min_size=1, max_size=14)):
        words = line.split(" ")
        if draw(st.booleans()):
            at = draw(st.integers(min_value=0, max_value=len(words) - 1))
            words[at] = words[at].rstrip("0123456789.") + draw(st.sampled_from(ODD))
        text = " ".join(words)
        lines.append(
            text[: draw(st.integers(min_value=0, max_value=len(text)))] if draw(st.integers(0, 9)) == 0 else text
        )
    return draw(st.sampled_from(("\n", "\r\n", "\n\n"))).join(lines)


@settings(max_examples=60, deadline=None)
@given(mutated())
def test_any_mixture_of_lines_is_a_report_or_one_sentence(text: str) -> None:
    try:
        found = report_log(read_log(text), Choices(model="", engine=""), None)
    except PlannerError as error:
        assert "\n" not in str(error)
        return
    assert log_title(found)
    assert to_json(found)
    assert log_text(found)
    assert log_sentence(found)
    assert all(try_words(one) for one in found.would_start)
    assert all(difference_words(row) is not None and range_words(row) is not None for row in found.readings)
