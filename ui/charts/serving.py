"""A chart of ways to use several cards: what each takes, what is left with a node lost, and the range."""

from collections.abc import Sequence

import altair as alt

from planner.serving.question import ServingOption
from planner.text.batching import option_name, rate_figure, requests_words
from ui.charts import colours
from ui.charts.plan import finished, other_field, tooltip

ROW_PX = 52
_LOST = "#8BBDE0"


def serving_bars(options: Sequence[ServingOption], ink: str = colours.INK) -> alt.LayerChart:
    """A bar an option: dark up to what is left with a node lost, pale up to the rate; a line from low to high."""
    rows = [
        {
            "name": option_name(option),
            "rate": f"{rate_figure(option.rate_per_s)} a minute",
            "lost": f"{requests_words(option.rate_lost_per_s)} with a node lost",
            "from": 0,
            "left": option.rate_lost_per_s,
            "to": option.rate_per_s,
            "low": option.rate_low_per_s,
            "high": option.rate_high_per_s,
            "text": index + 0.26,
            "top": index + 0.46,
            "middle": index + 0.64,
            "bottom": index + 0.82,
        }
        for index, option in enumerate(options)
    ]
    end = max(option.rate_high_per_s for option in options) or 1.0
    x = alt.X("from:Q", axis=None, scale=alt.Scale(domain=[0, end], nice=False))
    scale = alt.Scale(domain=[0, len(rows)], reverse=True, nice=False)
    base = alt.Chart(alt.Data(values=rows)).encode(tooltip=tooltip("name", "rate", "lost"))
    bars = base.encode(y=alt.Y("top:Q", axis=None, scale=scale), y2="bottom:Q")
    words = base.encode(y=alt.Y("text:Q", axis=None, scale=scale))
    layers = [
        bars.mark_rect(color=_LOST).encode(x=x, x2="to:Q"),
        bars.mark_rect(color=colours.WEIGHTS).encode(x=x, x2="left:Q"),
        base.mark_rule(color=colours.CACHE, strokeWidth=3).encode(
            x=other_field(x, "low"), x2="high:Q", y=alt.Y("middle:Q", axis=None, scale=scale)
        ),
        words.mark_text(align="left", color=ink, fontSize=13).encode(x=alt.value(0), text="name:N"),
        words.mark_text(align="right", color=ink, fontSize=13, fontWeight=600).encode(
            x=alt.value("width"), text="rate:N"
        ),
    ]
    return finished(alt.layer(*layers), height=ROW_PX * len(rows))
