"""Where a draft pays, what more users make of it, the context that drafts cost, and what was published about them."""

import streamlit as st

from planner.catalogue.performance_presets import drafts, speculation_overhead
from planner.catalogue.published_drafts import MODEL, published_acceptance, smaller_siblings
from planner.draft import EAGLE, MTP, NGRAM
from planner.draft_trade import DraftPoint, DraftWish, draft_points
from planner.errors import PlannerError
from planner.speed.draft_map import Cell, Drafting, over_users
from planner.speed.sweeps import drawn_users
from planner.text.speculation import (
    PASSES,
    draft_name,
    published_words,
    speedup_range,
    trade_sentence,
    users_sentence,
)
from planner.units import format_bytes, format_seconds
from ui import own_config
from ui.charts.draft_map import FASTER, SLOWER, speculation_map
from ui.charts.drafts import trade_chart, users_chart
from ui.figure import figure
from ui.option_words import in_fields
from ui.pace import Pace
from ui.scenario import Scenario
from ui.tables.html import html_table, swatches

FEWEST_USERS_DRAWN = 64


def map_section(cells: tuple[Cell, ...], acceptance: float, tokens: int, basis: str) -> None:
    """What a draft is worth over acceptance and length; *basis*: for whom."""
    st.header("Where a draft pays", anchor=False)
    slower = sum(cell.speedup < 1 for cell in cells)
    figure(
        speculation_map,
        cells,
        acceptance,
        tokens,
        alt=f"Speed-up by acceptance and drafted tokens, {basis}: {slower} of {len(cells)} cells are slower than "
        "without a draft. "
        + "; ".join(
            f"{cell.acceptance:.0%} and {cell.draft_tokens}: {cell.speedup:.2f}"
            for cell in cells
            if cell.draft_tokens == tokens
        )
        + ".",
        key="map",
        columns=("Drafted", *(f"{alpha:.0%}" for alpha in sorted({cell.acceptance for cell in cells}))),
        cells=[
            (f"{length}", *(f"{cell.speedup:.2f}" for cell in cells if cell.draft_tokens == length))
            for length in sorted({cell.draft_tokens for cell in cells})
        ],
        rows=[
            {"acceptance": cell.acceptance, "draft_tokens": cell.draft_tokens, "speedup": cell.speedup}
            for cell in cells
        ],
    )
    st.html(swatches(((SLOWER[1], "slower than without a draft"), (FASTER[1], "faster"))))
    st.caption(f"Thick line: break-even. For {basis}.")


def users_section(pace: Pace, drafting: Drafting, acceptance: float, tokens: int) -> None:
    """The same draft for more and more users, until it makes all of them slower."""
    most, overhead = pace.most_users, speculation_overhead()
    end = max(FEWEST_USERS_DRAWN, drawn_users(pace.users, 1, most))
    also = (pace.users, *((most,) if most and most <= end else ()))
    points = over_users(drafting, acceptance, tokens, end, also)
    st.header("What more users make of it", anchor=False)
    st.markdown(users_sentence(points))
    figure(
        users_chart,
        points,
        pace.users,
        most,
        pace.ends,
        alt=f"Speed-up of a draft of {tokens} tokens over users: "
        + "; ".join(f"{point.users:,}: {point.speedup:.2f}" for point in points[:: max(1, len(points) // 8)])
        + ".",
        key="users",
        columns=("Users", "Times the speed", "Step without", "Drafting", "Checking", "Host"),
        cells=[
            (
                f"{point.users:,}",
                f"{point.speedup:.2f}\n{speedup_range(point)}",
                f"{1e3 * point.step_s:.1f} ms",
                f"{1e3 * point.draft_s:.1f} ms",
                f"{1e3 * point.verify_s:.1f} ms",
                f"{1e3 * point.besides_s:.1f} ms",
            )
            for point in points
        ],
        rows=[
            {
                "users": point.users,
                "speedup": point.speedup,
                "speedup_low": point.speedup_low,
                "speedup_high": point.speedup_high,
                "step_s": point.step_s,
                "draft_s": point.draft_s,
                "verify_s": point.verify_s,
                "besides_s": point.besides_s,
            }
            for point in points
        ],
        wide_only=(3, 4, 5),
        own=next(index for index, point in enumerate(points) if point.users == pace.users),
    )
    st.caption(
        "Between two passes the card waits for the host, which takes over what was accepted: "
        f"{format_seconds(overhead.pass_s)} and {format_seconds(overhead.request_s)} more a request, "
        f"{overhead.source}. {PASSES} "
        f"Shaded: ±{overhead.p90_error:.0%}, which nine of ten of them lay within."
    )


def trade_section(
    plan: Scenario, pace: Pace, kind: str, sibling: str, acceptance: float, tokens: int, verified: int | None
) -> None:
    """What each kind of draft takes of the longest text, and what it gives in speed; the chosen one may be a tree."""
    st.header("Context lost for speed gained", anchor=False)
    assert plan.chosen is not None
    wishes = []
    for each in (EAGLE, MTP, NGRAM, MODEL):
        if each == MTP and not plan.chosen.architecture.mtp_layers:
            continue
        siblings = [preset.name for preset in smaller_siblings(plan.chosen.architecture)]
        name = (sibling or next(iter(siblings), "")) if each == MODEL else each
        if name:
            chosen = each == kind
            share = acceptance if chosen else published_acceptance(each).typical
            own = {"draft_tokens": tokens, "verified_tokens": verified} if chosen else {}
            wishes.append(DraftWish(name=name, acceptance=share, **own))
    try:
        points = draft_points(plan.choices, wishes, pace.wish.engine, own_config.architecture(), pace.wish.measured)
    except PlannerError as error:
        st.markdown(in_fields(error))
        return
    sentence = trade_sentence(points, pace.at_once.asked, pace.context_tokens)
    st.markdown(f"A draft's weights and cache come out of the same memory. {sentence}")
    columns = ("Draft", "Accepted", "Drafted", "Times", "It takes", "Longest text", "Lost")
    cells = [_trade_cells(point) for point in points]
    if all(point.max_context_tokens is not None for point in points):
        figure(
            trade_chart,
            points,
            pace.context_tokens,
            alt="Longest context of each user against speed. "
            + "; ".join(
                f"{draft_name(point)}: {point.max_context_tokens:,} tokens, {point.speedup:.2f} times"
                for point in points
            )
            + ".",
            key="trade",
            columns=columns,
            cells=cells,
            rows=[
                {
                    "draft": point.draft,
                    "acceptance": point.acceptance,
                    "draft_tokens": point.draft_tokens,
                    "speedup": point.speedup,
                    "speedup_low": point.speedup_low,
                    "speedup_high": point.speedup_high,
                    "draft_bytes": point.draft_bytes,
                    "max_context_tokens": point.max_context_tokens,
                    "lost_tokens": point.lost_tokens,
                    "max_users": point.max_users,
                    "fits": point.fits,
                }
                for point in points
            ],
            text=(0,),
            wide_only=(1, 2, 6),
        )
    else:
        st.html(html_table(columns, cells, text=(0,), wide_only=(1, 2, 6)))
    st.caption(
        "Cross: what you asked no longer fits. Yours with the acceptance above; the others with the middle of what was "
        "published for their kind, at the length that is fastest here. "
        f"n-gram: {published_words(published_acceptance(NGRAM))}."
    )


def _trade_cells(point: DraftPoint) -> tuple[str, ...]:
    longest = "no limit" if point.max_context_tokens is None else f"{point.max_context_tokens:,}"
    return (
        draft_name(point),
        f"{point.acceptance:.0%}" if point.draft_tokens else "–",
        f"{point.draft_tokens}" if point.draft_tokens else "–",
        f"{point.speedup:.2f}\n{speedup_range(point)}" if point.draft_tokens else "1",
        format_bytes(point.draft_bytes),
        longest,
        "–" if point.lost_tokens is None else f"{point.lost_tokens:,}",
    )


def published_section() -> None:
    """Every published reading, slow-downs among them."""
    with st.expander("What was published: acceptance, tokens a pass, speed-ups and slow-downs", key="published"):
        rows = [
            (
                f"{draft.method}\n{draft.task}",
                f"{draft.model}\n{draft.hardware}",
                "–" if (alpha := draft.acceptance_per_token()) is None else f"{alpha:.0%}",
                "–" if draft.draft_tokens is None else f"{draft.draft_tokens}",
                "–" if draft.tokens_per_pass is None else f"{draft.tokens_per_pass:g}",
                "–" if draft.speedup is None else f"{draft.speedup:g} times",
            )
            for draft in sorted(drafts().values(), key=lambda draft: (draft.method.lower(), draft.model))
        ]
        columns = ("Method", "Model", "Accepted", "Drafted", "Tokens a pass", "Speed")
        st.html(html_table(columns, rows, text=(0, 1), wide_only=(3, 4)))
        sources = sorted({draft.source for draft in drafts().values()})
        st.caption(
            "For few requests at once unless it says otherwise. EAGLE-2, Medusa and Hydra draft trees, which have no "
            f"single share: of them the tokens a pass are known. Sources: {'; '.join(sources)}."
        )
