"""A busy server on the page Speed: the same users, with prompts to compute meanwhile, beside answers alone."""

import streamlit as st

from planner.answers.words import if_it_did
from planner.speed.busy import Busy, busy, busy_users
from planner.speed.sweeps import pace_at
from planner.text.speed import busy_sentence, busy_title, rate_range
from planner.units import format_figure
from ui.pace import Pace
from ui.tables.html import html_table

MOST_SHOWN = 512


def busy_section(pace: Pace, own: Busy, target: float) -> None:
    """*own*: the load that was asked for; *target*: tokens a second that are fast enough for each."""
    model, constants = pace.model, pace.constants
    request = own.prompt_tokens, own.output_tokens
    st.header(if_it_did(busy_title(own), pace.answer.fits), anchor=False)
    st.markdown(busy_sentence(own, busy_users(model, constants, *request, target), target))
    counts = _shown(pace.users, pace.most_users)
    cells = []
    for users in counts:
        alone, served = pace_at(model, constants, users, pace.context_tokens), busy(model, constants, users, *request)
        cells.append(
            (
                f"{users:,}",
                format_figure(alone.each.value),
                format_figure(served.tokens_per_s_user.value),
                rate_range(served.tokens_per_s_user),
                format_figure(alone.together.value),
                format_figure(served.tokens_per_s.value),
            )
        )
    columns = (
        "Users",
        "Each, answers alone",
        "Each, busy",
        "Range",
        "Together, answers alone",
        "Together, busy",
    )
    st.html(html_table(columns, cells, wide_only=(3, 4), own=counts.index(pace.users)))
    st.caption("Tokens of answers a second.")


def _shown(asked: int, most_users: int | None) -> list[int]:
    """Doublings up to *most_users*, those and the asked users included."""
    end = MOST_SHOWN if most_users is None else most_users
    doublings = {2**power for power in range(end.bit_length()) if 2**power <= min(end, MOST_SHOWN)}
    return sorted({asked, *doublings, *((most_users,) if most_users else ())})
