"""When prompts in chunks matter: how long everybody's answers pause while one prompt is read."""

import streamlit as st

from planner.batching.outcome import percentile
from planner.batching.pauses import Pause, pause, pauses
from planner.batching.server import Schedule
from planner.text.queue import pauses_sentence, pauses_title
from planner.units import format_seconds
from ui.batch_setting import Setting
from ui.charts.pauses import pause_chart
from ui.figure import figure

SHORTEST, BEYOND, PER_OCTAVE = 64, 4, 4
"""Where the picture begins, how many times the longest prompt, or a step, it goes on, and points between doublings."""


def pause_section(found: Setting) -> None:
    """Pauses over the length of a prompt, the reader's own marked."""
    chunked = found.servers.get(Schedule.CHUNKED)
    if chunked is None or chunked.max_num_batched_tokens is None:
        return
    others, chunk = found.slots - 1, chunked.max_num_batched_tokens
    prompts = found.trace.prompt_tokens
    typical, longest = (
        pause(found.step_time, others, chunk, tokens) for tokens in (percentile(sorted(prompts), 0.5), max(prompts))
    )
    st.header(pauses_title(longest), anchor=False)
    st.markdown(pauses_sentence(typical, longest, chunk))
    end = BEYOND * max(chunk, longest.prompt_tokens, SHORTEST)
    first, last = (PER_OCTAVE * (tokens.bit_length() - 1) for tokens in (SHORTEST, end))
    drawn = [round(2 ** (part / PER_OCTAVE)) for part in range(first, last + 1)]
    own = (typical.prompt_tokens, longest.prompt_tokens)
    points = pauses(found.step_time, others, chunk, (*drawn, chunk, *(tokens for tokens in own if tokens > SHORTEST)))
    marked = [("typical", typical)]
    if longest.prompt_tokens > typical.prompt_tokens:
        marked.append(("longest here", longest))
    figure(
        pause_chart,
        points,
        [(name, point) for name, point in marked if point.prompt_tokens >= SHORTEST],
        alt="Pause of the other answers over the prompt's length: "
        + "; ".join(f"{point.prompt_tokens:,} tokens {_words(point)}" for point in points if point.prompt_tokens in own)
        + ".",
        key="pauses",
        columns=("Prompt, tokens", "Read whole", "In chunks"),
        cells=[
            (f"{point.prompt_tokens:,}", format_seconds(point.whole_s), format_seconds(point.chunked_s))
            for point in points
        ],
        rows=[
            {"prompt_tokens": point.prompt_tokens, "whole_s": point.whole_s, "chunked_s": point.chunked_s}
            for point in points
        ],
    )


def _words(point: Pause) -> str:
    return f"{format_seconds(point.whole_s)} whole, {format_seconds(point.chunked_s)} in chunks"
