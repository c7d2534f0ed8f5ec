"""The pictures of the page Speed: the knee, the two phases, the first token over the prompt, the pace over the text."""

import streamlit as st

from planner.speed.answer import SpeedAnswer
from planner.speed.sweeps import by_context, by_prompt, by_users, drawn_users, phases
from planner.text.speed import (
    BOUNDS,
    error_sentence,
    knee_sentence,
    knee_title,
    phase_name,
    phases_sentence,
    phases_title,
    rate_range,
    seconds_range,
)
from planner.units import format_figure, format_seconds
from ui.charts.knee import KneeMarks, knee_chart
from ui.charts.speed import context_chart, first_token_chart, legend_entries, phase_bars
from ui.figure import figure
from ui.pace import Pace
from ui.tables.html import swatches

LONGEST = 131_072
"""Where pictures over tokens end for a model that states no limit."""


def knee_section(pace: Pace, result: SpeedAnswer, target: float) -> None:
    """Latency against throughput as the batch grows."""
    st.header(knee_title(result.knee_users, result.most_users, result.ends), anchor=False)
    st.markdown(knee_sentence(result.knee_users, result.most_users, result.ends))
    memory, most = result.max_users, result.most_users
    also = (result.users, result.knee_users, *((most,) if most else ()))
    end = drawn_users(result.users, result.knee_users, most)
    points = by_users(pace.model, pace.constants, pace.context_tokens, end, also)
    figure(
        knee_chart,
        points,
        KneeMarks(asked=result.users, knee=result.knee_users, most=most, target_s=1 / target, ends=result.ends),
        alt="Throughput against the time between tokens. "
        + "; ".join(
            f"{point.users:,} users: {format_figure(point.together.value)} tokens/s together, "
            f"{format_seconds(point.step.value_s)} between two tokens"
            for point in points
            if point.users in also
        )
        + ".",
        key="knee",
        columns=("Users", "Each, tokens/s", "Range", "Together", "Between tokens", "Memory"),
        cells=[
            (
                f"{point.users:,}",
                format_figure(point.each.value),
                rate_range(point.each),
                format_figure(point.together.value),
                format_seconds(point.step.value_s),
                "fits" if memory is None or point.users <= memory else "too much",
            )
            for point in points
        ],
        rows=[
            {
                "users": point.users,
                "tokens_per_s_user": point.each.value,
                "tokens_per_s_user_low": point.each.low,
                "tokens_per_s_user_high": point.each.high,
                "tokens_per_s": point.together.value,
                "step_s": point.step.value_s,
                "fits": memory is None or point.users <= memory,
            }
            for point in points
        ],
        wide_only=(2, 5),
        own=next(index for index, point in enumerate(points) if point.users == result.users),
    )
    st.caption(error_sentence(result, pace.constants.widest_error, pace.is_calibrated))


def phases_section(pace: Pace, prompt: int) -> None:
    """Prompt and answer side by side, and what each waits for."""
    found = phases(pace.model, pace.constants, pace.users, pace.context_tokens, prompt)
    st.header(phases_title(found[0], found[1]), anchor=False)
    st.markdown(phases_sentence(found[0], found[1]))
    figure(
        phase_bars,
        found,
        alt="Where the time goes. "
        + "; ".join(
            f"{phase_name(phase)}, {format_seconds(phase.token.value_s)} a token: "
            + ", ".join(f"{name} {share:.0%}" for name, share in phase.shares.items())
            for phase in found
        )
        + ".",
        key="phases",
        columns=("Phase", "One token takes", "Range", "Tokens/s", "Most of it"),
        cells=[
            (
                phase_name(phase),
                format_seconds(phase.token.value_s),
                seconds_range(phase.token),
                format_figure(1 / phase.token.value_s),
                BOUNDS[phase.bound],
            )
            for phase in found
        ],
        rows=[
            {
                "phase": phase_name(phase),
                "token_s": phase.token.value_s,
                "token_low_s": phase.token.low_s,
                "token_high_s": phase.token.high_s,
                **{f"{name}_share": share for name, share in phase.shares.items()},
            }
            for phase in found
        ],
        text=(0, 4),
        wide_only=(2, 4),
    )
    st.html(swatches(legend_entries()))


def first_token_section(pace: Pace, prompt: int) -> None:
    """The wait for the first token over the length of the prompt."""
    st.header("A longer prompt waits longer for its first token", anchor=False)
    longest = max(prompt, pace.chosen.architecture.max_position_embeddings or LONGEST)
    points = by_prompt(pace.model, pace.constants, longest, (prompt,))
    own = next(point for point in points if point.prompt_tokens == prompt)
    figure(
        first_token_chart,
        points,
        prompt,
        alt=f"Time to the first token over the prompt: {prompt:,} tokens take {format_seconds(own.time.value_s)}, "
        f"{points[-1].prompt_tokens:,} take {format_seconds(points[-1].time.value_s)}.",
        key="first_token",
        columns=("Prompt", "First token after", "Range"),
        cells=[
            (f"{point.prompt_tokens:,}", format_seconds(point.time.value_s), seconds_range(point.time))
            for point in points
        ],
        rows=[
            {
                "prompt_tokens": point.prompt_tokens,
                "first_token_s": point.time.value_s,
                "low_s": point.time.low_s,
                "high_s": point.time.high_s,
            }
            for point in points
        ],
        own=points.index(own),
    )
    st.caption("For a request that does not wait. With others in line it takes longer: that depends on when they come.")


def context_section(pace: Pace) -> None:
    """The pace over the length of the text."""
    st.header("A longer text slows down every token", anchor=False)
    limit = pace.chosen.architecture.max_position_embeddings or LONGEST
    longest = max(pace.context_tokens, limit)
    alone, asked = (
        by_context(pace.model, pace.constants, users, longest, (pace.context_tokens,)) for users in (1, pace.users)
    )
    first, last = alone[0], alone[-1]
    st.markdown(
        f"Each token reads the whole cache of its user. Alone, a user gets {format_figure(first.each.value)} "
        f"tokens a second at {first.context_tokens:,} tokens and **{format_figure(last.each.value)}** at "
        f"{last.context_tokens:,}. Dashed: more than memory holds."
    )
    figure(
        context_chart,
        alone,
        asked,
        pace.context_tokens,
        pace.answer.max_context_tokens,
        alt="Tokens a second over a user's tokens: "
        + "; ".join(f"{point.context_tokens:,}: {format_figure(point.each.value)}" for point in asked[::4])
        + f" for each of {pace.users:,}.",
        key="by_context",
        columns=("Tokens", "One user, tokens/s", "Range", f"Each of {pace.users:,}", "Range"),
        cells=[
            (
                f"{one.context_tokens:,}",
                format_figure(one.each.value),
                rate_range(one.each),
                format_figure(many.each.value),
                rate_range(many.each),
            )
            for one, many in zip(alone, asked, strict=True)
        ],
        rows=[
            {
                "context_tokens": one.context_tokens,
                "one_user_tokens_per_s": one.each.value,
                "users": many.users,
                "each_tokens_per_s": many.each.value,
                "each_low_tokens_per_s": many.each.low,
                "each_high_tokens_per_s": many.each.high,
            }
            for one, many in zip(alone, asked, strict=True)
        ],
        wide_only=(2, 4),
        own=next(index for index, one in enumerate(alone) if one.context_tokens == pace.context_tokens),
    )
