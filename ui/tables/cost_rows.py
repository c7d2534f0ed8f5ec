"""What a load costs, as points of the picture, cells of its table and rows of its files."""

from planner.cost import Cost
from planner.text.cost import money
from planner.units import format_figure
from ui.charts.cost import TokenPrice


def token_price(point: Cost) -> TokenPrice:
    """A million answer tokens, for the picture."""
    return TokenPrice(
        users=point.users,
        value=point.output_per_million,
        low=point.output_per_million_low,
        high=point.output_per_million_high,
    )


def token_joules(point: Cost) -> TokenPrice:
    """Energy of one token, for a load whose power is known."""
    energy = point.energy
    assert energy is not None
    return TokenPrice(
        users=point.users, value=energy.joules_per_output_token, low=energy.low_joules, high=energy.high_joules
    )


def cost_cells(found: Cost, has_price: bool) -> tuple[str, ...]:
    """A line of the table; without a price only its speed and energy."""
    return (
        f"{found.users:,}",
        f"{money(found.output_per_million)}\n{million_range(found)}" if has_price else "–",
        money(found.prompt_per_million) if has_price else "–",
        format_figure(found.output_tokens_per_s),
        "–" if found.energy is None else format_figure(found.energy.joules_per_output_token),
    )


def million_range(found: Cost) -> str:
    """A million answer tokens at both ends of the range."""
    return f"{money(found.output_per_million_low)} – {money(found.output_per_million_high)}"


def cost_row(found: Cost) -> dict[str, object]:
    """For files, with units in the keys."""
    energy = found.energy
    return {
        "users": found.users,
        "output_per_million": found.output_per_million,
        "output_per_million_low": found.output_per_million_low,
        "output_per_million_high": found.output_per_million_high,
        "prompt_per_million": found.prompt_per_million,
        "output_tokens_per_s": found.output_tokens_per_s,
        "joules_per_output_token": None if energy is None else energy.joules_per_output_token,
        "joules_low": None if energy is None else energy.low_joules,
        "joules_high": None if energy is None else energy.high_joules,
    }
