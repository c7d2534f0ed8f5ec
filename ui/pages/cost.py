"""Cost: what a million tokens cost at this load, the cheapest cards of a price table, and the energy of a token."""

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from planner.answers.words import if_it_did
from planner.catalogue.performance_presets import power_share
from planner.cost import SECONDS_PER_HOUR, Cost, cost
from planner.cost_sweep import cost_over_users
from planner.energy import Power, device_power, stated_power
from planner.errors import PlannerError
from planner.speed.busy import busy
from planner.speed.sweeps import drawn_users, pace_at
from planner.text.cost import cost_sentence, cost_title, energy_sentence, energy_title, money
from planner.text.speed import count_users, two_paces
from planner.units import format_figure
from ui import page
from ui.charts.cost import users_price_chart
from ui.fields import choice as fields
from ui.fields.prices import HourPrice, price_fields
from ui.figure import figure
from ui.one_server import ServerPlan, one_server
from ui.pace import Pace, answer_field, command, pace_fields, pace_words, prompt_tokens, ready, say_problem
from ui.sections.offers import offers_section
from ui.tables.cost_rows import cost_cells, cost_row, million_range, token_joules, token_price

FEWEST_USERS_DRAWN = 16


def main() -> None:
    plan = page.answered_plan()
    if plan is None:
        return
    plan = one_server(plan)
    top = st.container()
    with st.grid(4, min_column_width=150):
        price = price_fields(plan.chosen.deployment.device.name)
        answer_tokens = answer_field()
        watts = fields.figure(
            "watts",
            "A card draws, watts",
            None,
            1.0,
            100_000.0,
            format="%g",
            placeholder="from its limit",
            help="Empty: a range below the limit of its power, where that is known.",
        )
    wish = pace_fields(plan)
    try:
        pace = ready(plan, wish)
        prompt, output = prompt_tokens(pace.context_tokens, answer_tokens)
        served = busy(pace.model, pace.constants, pace.users, prompt, output)
        alone = pace_at(pace.model, pace.constants, pace.users, pace.context_tokens)
        power = _power(plan, watts)
        point, points = _points(pace, price.hourly, prompt, output, power)
    except PlannerError as error:
        with top:
            page.refused(error)
    else:
        with top:
            _verdict(point, points[0], price, pace.answer.fits, two_paces(served, alone.each))
            page.as_if_it_fitted(pace.answer)
        say_problem(pace)
        if price.hourly or power:
            _load(pace, points, price)
        if point.energy is not None and price.hourly:
            st.header("Energy of a token", anchor=False)
            st.markdown(energy_sentence(point.energy))
        offers_section(plan, plan.answer, wish.engine, (prompt, output), price)
        _command(plan, pace, price, watts, prompt, output)
    page.next_links(
        ("ui/pages/speed.py", "How fast is it?", ":material/speed:"),
        ("ui/pages/which.py", "What can I run?", ":material/search:"),
    )


def _power(plan: ServerPlan, watts: float | None) -> Power | None:
    assert plan.chosen is not None
    deployment = plan.chosen.deployment
    if watts is not None:
        return stated_power(deployment.device_count * watts)
    return device_power(deployment.device, deployment.device_count, power_share())


def _points(
    pace: Pace, price: float | None, prompt: int, output: int, power: Power | None
) -> tuple[Cost, tuple[Cost, ...]]:
    """The load that is asked for, and the others that are drawn."""
    most = pace.most_users
    hour = pace.chosen.deployment.device_count * (price or 0.0)
    end = max(FEWEST_USERS_DRAWN, drawn_users(pace.users, 1, most))
    also = (pace.users, *((most,) if most and most <= end else ()))
    points = cost_over_users(
        pace.model,
        pace.constants,
        price_per_hour=hour,
        prompt_tokens=prompt,
        output_tokens=output,
        most_users=end,
        also=also,
        power=power,
    )
    own = cost(
        pace.model,
        pace.constants,
        price_per_hour=hour,
        users=pace.at_once.asked,
        limit=pace.at_once.limit,
        prompt_tokens=prompt,
        output_tokens=output,
        power=power,
    )
    return own, points


def _verdict(found: Cost, alone: Cost, price: HourPrice, fits: bool, paces: str) -> None:
    currency = price.currency
    energy = found.energy
    if price.hourly:
        st.title(if_it_did(cost_title(found, currency), fits), anchor=False)
        st.markdown(cost_sentence(found, alone, currency))
        price.say_where_from()
    elif energy is not None:
        st.title(if_it_did(energy_title(energy), fits), anchor=False)
        st.markdown(f"{energy_sentence(energy)} What an hour of the card costs comes on top: type it below.")
    else:
        st.title("What does an hour of one card cost you?", anchor=False)
        st.markdown("Type it below: then every token has a price. Of this card neither a price nor its power is known.")
    st.markdown(paces)
    low, hour, high = (
        f"{float(f'{SECONDS_PER_HOUR * rate:.3g}'):,.0f}"
        for rate in (found.output_tokens_per_s_low, found.output_tokens_per_s, found.output_tokens_per_s_high)
    )
    with st.grid(4, min_column_width=150):
        page.number(
            "1M answer tokens",
            money(found.output_per_million) if price.hourly else "–",
            f"{million_range(found)} {currency}" if price.hourly else "needs a price",
            help="The hour's price by the time that answers take. Beneath: over the speed model's range.",
        )
        page.number(
            "1M prompt tokens",
            money(found.prompt_per_million) if price.hourly else "–",
            f"{money(found.prompt_per_million_low)} – {money(found.prompt_per_million_high)} {currency}"
            if price.hourly
            else "needs a price",
            help="The hour's price by the time that steps take longer because they read new prompts too.",
        )
        page.number(
            "Answer tokens/h", hour, f"{low} – {high}", help=f"All that {count_users(found.users)} get together."
        )
        page.number(
            "Energy, J a token",
            "unknown" if energy is None else format_figure(energy.joules_per_output_token),
            "no power known"
            if energy is None
            else f"{format_figure(energy.low_joules)} – {format_figure(energy.high_joules)}",
        )


def _load(pace: Pace, points: Sequence[Cost], price: HourPrice) -> None:
    less = "the cheaper a token" if price.hourly else "the less energy a token takes"
    st.header(f"The more share the hour, {less}", anchor=False)
    drawn = [token_price(point) if price.hourly else token_joules(point) for point in points]
    what = f"a million answer tokens, {price.currency}" if price.hourly else "joules per answer token"
    figure(
        users_price_chart,
        drawn,
        pace.users,
        pace.most_users,
        what,
        price.currency if price.hourly else "J",
        pace.ends,
        alt=f"{'Price of' if price.hourly else 'Energy,'} {what}, over users: "
        + "; ".join(f"{point.users:,}: {money(point.value)}" for point in drawn[:: max(1, len(drawn) // 8)])
        + ".",
        key="load",
        columns=(
            "Users",
            _of("Million answers", price),
            _of("Million prompts", price),
            "Answers, tokens/s",
            "J a token",
        ),
        cells=[cost_cells(point, bool(price.hourly)) for point in points],
        rows=[cost_row(point) for point in points],
        wide_only=(2,),
        own=next(index for index, point in enumerate(points) if point.users == pace.users),
    )
    beyond = "more than memory holds" if pace.ends == "memory" else f"more than {pace.ends} lets run at once"
    st.caption(f"Of a server that is always this busy: an idle hour costs the same. Dashed: {beyond}.")


def _of(words: str, price: HourPrice) -> str:
    return f"{words}, {price.currency}" if price.hourly else words


def _command(plan: ServerPlan, pace: Pace, price: HourPrice, watts: float | None, prompt: int, output: int) -> None:
    if not price.hourly:
        return
    st.header("The same in a terminal", anchor=False)
    named = ["--currency", price.option] if price.option else []
    words = ["--price", f"{price.hourly:g}", *named, "--prompt", str(prompt), "--output", str(output)]
    words += pace_words(pace)
    words += [] if watts is None else ["--watts", f"{watts:g}"]
    users = ["--users", "1"] if plan.choices.users == 1 else []  # its default is another
    st.code(command(replace(plan.choices, context=None), "cost", *users, *words), language=None, wrap_lines=True)


main()
