"""Speed: how fast for how many, where the curve bends, where memory ends it, and what the time goes to."""

from dataclasses import replace

import streamlit as st

from planner.cost import cost
from planner.errors import PlannerError
from planner.inputs.choices import Choices
from planner.speed.alone import speed_alone
from planner.speed.answer import SpeedAnswer, speed
from planner.speed.busy import Busy, busy
from planner.speed.sweeps import (
    UserRange,
    fast_enough_users,
)
from planner.speed.work import no_arithmetic
from planner.text.cost import cost_sentence, cost_title
from planner.text.speed import (
    alone_sentence,
    alone_title,
    rate_range,
    seconds_range,
    speed_sentence,
    speed_title,
)
from planner.units import format_figure, format_seconds
from ui import page
from ui.fields import choice as fields
from ui.fields.prices import price_fields
from ui.one_server import ServerPlan, one_server
from ui.option_words import in_fields
from ui.pace import (
    Pace,
    answer_field,
    command,
    pace_fields,
    pace_words,
    prompt_tokens,
    ready,
    say_problem,
)
from ui.sections.busy import busy_section
from ui.sections.speed import context_section, first_token_section, knee_section, phases_section

COST_PAGE = "ui/pages/cost.py"


def main() -> None:
    plan = page.answered_plan()
    if plan is None:
        return
    plan = one_server(plan)
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
    wish = pace_fields(plan)
    try:
        pace = ready(plan, wish, alone=True)
        if pace.model.arithmetic is None:
            with top:
                _alone(plan, pace)
            return
        prompt, answered = prompt_tokens(pace.context_tokens, answer_tokens)
        result = speed(
            pace.model,
            pace.constants,
            context_tokens=pace.context_tokens,
            users=pace.at_once.asked,
            prompt_tokens=prompt,
            max_users=plan.answer.max_users,
            limit=pace.at_once.limit,
        )
        served = busy(pace.model, pace.constants, pace.users, prompt, answered)
        fast = fast_enough_users(pace.model, pace.constants, pace.context_tokens, target or 20.0)
    except PlannerError as error:
        with top:
            page.refused(error)
        return
    with top:
        _verdict(result, fast, target or 20.0, served)
    say_problem(pace)
    if answered != answer_tokens:
        st.caption(
            f":material/info: An answer of {answer_tokens:,} tokens leaves no prompt in {pace.context_tokens:,} tokens "
            f"per user; {answered:,} are taken."
        )
    knee_section(pace, result, target or 20.0)
    busy_section(pace, served, target or 20.0)
    phases_section(pace, prompt)
    first_token_section(pace, prompt)
    context_section(pace)
    _cost(pace, prompt, answered)
    _command(plan.choices, pace, prompt, answered)
    page.next_links(
        ("ui/pages/batching.py", "Who waits for whom?", ":material/view_timeline:"),
        (COST_PAGE, "What does it cost?", ":material/payments:"),
    )


def _verdict(result: SpeedAnswer, fast: UserRange, target: float, served: Busy) -> None:
    st.title(speed_title(result, fast), anchor=False)
    st.markdown(speed_sentence(result, fast, target, served))
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
            f"tokens/s for {'one' if result.users == 1 else f'each of {result.users:,}'}",
            help="The bytes of weights and cache that a step reads, over the card's bandwidth. Nothing reads faster.",
        )


def _cost(pace: Pace, prompt: int, output: int) -> None:
    """A taste of the page Cost."""
    title, sentence = st.empty(), st.empty()
    with st.grid(2, min_column_width=170):
        price = price_fields(pace.chosen.deployment.device.name)
    title.header("What a token costs", anchor=False)
    if price.hourly:
        asked = {"price_per_hour": pace.chosen.deployment.device_count * price.hourly, "prompt_tokens": prompt}
        own, alone = (
            cost(pace.model, pace.constants, users=users, limit=pace.at_once.limit, output_tokens=output, **asked)
            for users in (pace.at_once.asked, 1)
        )
        title.header(cost_title(own, price.currency), anchor=False)
        sentence.markdown(cost_sentence(own, alone, price.currency))
        price.say_where_from()
    else:
        sentence.markdown("That depends on what an hour of one card costs you: type it, and every token has a price.")
    st.page_link(COST_PAGE, label="The cheapest card, and the energy of a token", icon=":material/payments:")


def _alone(plan: ServerPlan, pace: Pace) -> None:
    """One user's answer, and what is missing for the rest, where a card's arithmetic is not known."""
    most = pace.answer.max_users
    result = speed_alone(pace.model, pace.constants, context_tokens=pace.context_tokens, max_users=most)
    st.title(alone_title(result, fits=most != 0), anchor=False)
    st.markdown(alone_sentence(result, pace.users))
    say_problem(pace)
    st.caption(f":material/info: {in_fields(no_arithmetic(pace.model))}")
    st.header("The same in a terminal", anchor=False)
    one = replace(plan.choices, users=1)
    st.code(command(one, "speed", *pace_words(pace)), language=None, wrap_lines=True)


def _command(choices: Choices, pace: Pace, prompt: int, output: int) -> None:
    st.header("The same in a terminal", anchor=False)
    more = ["--prompt", str(prompt), "--output", str(output), *pace_words(pace)]
    st.code(command(replace(choices, context=None), "speed", *more), language=None, wrap_lines=True)


main()
