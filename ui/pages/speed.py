"""Speed: how fast for how many, where the curve bends, where memory ends it, and what the time goes to."""

import streamlit as st

from planner.choices import Choices
from planner.cost_sweep import cost_at
from planner.cost_text import cost_sentence, cost_title
from planner.errors import PlannerError
from planner.speed.answer import SpeedAnswer, speed
from planner.speed.sweeps import (
    UserRange,
    by_context,
    by_prompt,
    by_users,
    drawn_users,
    fast_enough_users,
    phases,
)
from planner.speed_text import (
    BOUNDS,
    error_sentence,
    knee_sentence,
    phase_name,
    phases_sentence,
    phases_title,
    rate_range,
    seconds_range,
    speed_sentence,
    speed_title,
)
from planner.units import format_figure, format_seconds
from ui import fields, page
from ui.figure import figure
from ui.html_table import swatches
from ui.pace import (
    Pace,
    answer_field,
    command,
    engine_field,
    measured_field,
    price_field,
    prompt_tokens,
    ready,
    say_problem,
)
from ui.scenario import scenario
from ui.speed_charts import KneeMarks, context_chart, first_token_chart, knee_chart, legend_entries, phase_bars
from ui.words import set_up_line

COST_PAGE = "ui/pages/cost.py"
LONGEST = 131_072
"""Where pictures over tokens end for a model that states no limit."""


def main() -> None:
    plan = scenario()
    page.set_up(set_up_line(plan.chosen, plan.answer))
    if plan.chosen is None or plan.answer is None:
        page.problem(plan.problem)
        return
    top = st.container()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        target = fields.figure(
            "target",
            "Fast enough: tokens/s for each user",
            20.0,
            0.1,
            100_000.0,
            step=5.0,
            format="%g",
            help="People read about 5 tokens a second; agents and code want more.",
        )
        answer_tokens = answer_field()
        engine = engine_field(plan)
    measured = measured_field(plan.chosen.workload.context_tokens)
    try:
        pace = ready(plan, engine, measured)
        prompt, answered = prompt_tokens(pace.context_tokens, answer_tokens)
        result = speed(
            pace.model,
            pace.constants,
            context_tokens=pace.context_tokens,
            users=pace.users,
            prompt_tokens=prompt,
            max_users=plan.answer.max_users,
        )
        fast = fast_enough_users(pace.model, pace.constants, pace.context_tokens, target or 20.0)
    except PlannerError as error:
        with top:
            page.problem(str(error))
        return
    with top:
        _verdict(result, fast, target or 20.0)
    say_problem(pace)
    if answered != answer_tokens:
        st.caption(
            f":material/info: An answer of {answer_tokens:,} tokens leaves no prompt in {pace.context_tokens:,} tokens "
            f"per user; {answered:,} are taken."
        )
    for warning in result.warnings:
        st.caption(f":material/info: {warning}")
    _knee(pace, result, target or 20.0)
    _phases(pace, prompt)
    _first_token(pace, prompt)
    _context(pace)
    _cost(pace, prompt, answered)
    _command(plan.choices, pace, prompt)
    page.next_links(
        ("ui/pages/plan.py", "Does it fit?", ":material/fact_check:"),
        ("ui/pages/which.py", "What can I run?", ":material/search:"),
    )


def _verdict(result: SpeedAnswer, fast: UserRange, target: float) -> None:
    st.title(speed_title(result, fast), anchor=False)
    st.markdown(speed_sentence(result, fast, target))
    each, together, first = result.tokens_per_s_user, result.tokens_per_s, result.time_to_first_token
    with st.grid(4, min_column_width=150):
        page.number("Each user, tokens/s", format_figure(each.value), f"{rate_range(each)}")
        page.number("All together, tokens/s", format_figure(together.value), f"{rate_range(together)}")
        page.number(
            "First token after",
            format_seconds(first.value_s),
            f"{seconds_range(first)}",
            help=f"Reads a prompt of {result.prompt_tokens:,} tokens, for a request that does not wait for others.",
        )
        page.number(
            "Never faster than",
            format_figure(each.ceiling),
            "tokens/s for each",
            help="The bytes of weights and cache that a step reads, over the card's bandwidth. Nothing reads faster.",
        )


def _knee(pace: Pace, result: SpeedAnswer, target: float) -> None:
    st.header("More users: more together, less for each", anchor=False)
    st.markdown(knee_sentence(result.knee_users, result.max_users))
    memory = result.max_users
    also = (result.users, result.knee_users, *((memory,) if memory else ()))
    end = drawn_users(result.users, result.knee_users, memory)
    points = by_users(pace.model, pace.constants, pace.context_tokens, end, also)
    figure(
        knee_chart,
        points,
        KneeMarks(asked=result.users, knee=result.knee_users, memory=memory, target_s=1 / target),
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
    st.caption(error_sentence(result, pace.constants.p90_error, pace.is_calibrated))


def _phases(pace: Pace, prompt: int) -> None:
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
        columns=("Phase", "One token takes", "Range", "Tokens/s", "Waits for"),
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


def _first_token(pace: Pace, prompt: int) -> None:
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


def _context(pace: Pace) -> None:
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


def _cost(pace: Pace, prompt: int, output: int) -> None:
    """A taste of the page Cost."""
    title, sentence = st.empty(), st.empty()
    price = price_field()
    title.header("What a token costs", anchor=False)
    if price:
        asked = {"price_per_hour": pace.chosen.deployment.device_count * price, "prompt_tokens": prompt}
        own, alone = (
            cost_at(pace.model, pace.constants, users=users, output_tokens=output, **asked) for users in (pace.users, 1)
        )
        title.header(cost_title(own, ""), anchor=False)
        sentence.markdown(cost_sentence(own, alone, ""))
    else:
        sentence.markdown(
            "That depends on what an hour of one card costs you. No price is built in: they change by the week."
        )
    st.page_link(COST_PAGE, label="The cheapest card, and the energy of a token", icon=":material/payments:")


def _command(choices: Choices, pace: Pace, prompt: int) -> None:
    st.header("The same in a terminal", anchor=False)
    more = ["--prompt", str(prompt), "--speed-engine", pace.engine]
    if pace.is_calibrated:
        more += ["--measured", f"{pace.measured:g}"]
    st.code(command(choices, "speed", *more), language="bash", wrap_lines=True)


main()
