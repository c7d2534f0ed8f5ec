"""Tables: memory sizes × models × weight formats; each cell is what is left for conversation."""

from collections.abc import Sequence
from dataclasses import replace
from html import escape

import streamlit as st

from planner.errors import PlannerError
from planner.finding.bands import Show, cell_text
from planner.finding.table import TableRow, as_row, table
from planner.inputs.choices import Choices
from planner.inputs.named_cards import choose_device
from planner.text.table import as_markdown, notes, reading
from planner.text.table import heading as table_heading
from planner.units import format_bytes, format_size, parse_bytes
from ui import form, own_config, page
from ui.charts import colours
from ui.charts.heat_table import heat_table, legend, printed_table
from ui.export import download_buttons
from ui.fields import choice as fields
from ui.option_words import in_fields
from ui.own_config import no_markup
from ui.scenario import scenario
from ui.words import engine_title, sizes_in_words, weights_label

TOKENS, USERS = "Tokens left", "Users at once"
SHOWN = {TOKENS: Show.TOKENS, USERS: Show.USERS}
DEFAULT_MODELS = ["7B class (nominal)", "Llama-3.1-8B", "13B class, no GQA (nominal)", "70B class (nominal)"]
DEFAULT_SIZES = ["8 GiB", "16 GiB", "24 GiB"]
SIZES = [f"{size} GiB" for size in (8, 12, 16, 24, 48, 80)]
DEFAULT_WEIGHTS = ["fp16", "int8", "int4-g128"]
MAX_MODELS = 20
MAX_SIZES = 10
COLUMNS = ("Model", "Stored in", "Card", "Weights", "A token costs", "Tokens left", "Users")
STYLE = """<style>
.kv-legend { display: flex; flex-wrap: wrap; gap: .35rem 1.1rem; font-size: .9rem; }
.kv-key { display: inline-flex; align-items: center; gap: .4rem; }
.kv-box { width: 1rem; height: .8rem; border-radius: 3px; border: 1px solid; }
.kv-wide { overflow-x: auto; }
.kv-wide table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
.kv-wide th, .kv-wide td { padding: .3rem .6rem; text-align: right; white-space: nowrap; border: 0;
  border-bottom: 1px solid color-mix(in srgb, currentColor 18%, transparent); }
.kv-wide :is(th, td):nth-child(-n+2) { text-align: left; }
</style>"""


def main() -> None:
    plan = scenario()
    heading = st.empty()
    explained = st.empty()
    base = _base(plan.choices)
    heading.title("What fits on which card", anchor=False)
    show, models, sizes, weights = _controls()
    try:
        cells = _cells(base, models, sizes, weights)
    except PlannerError as error:
        explained.markdown(f":orange[:material/edit:] {error}")
        return
    if not cells:
        explained.markdown("Choose at least one model, one size and one format: then there is a table.")
        return
    columns = list(dict.fromkeys(format_size(cell.memory_bytes) for cell in cells))
    heading.title(f"What fits on {sizes_in_words(columns)}", anchor=False)
    explained.markdown(_meaning(show, base))
    st.html(_legend(show))
    st.altair_chart(heat_table(cells, show), alt=_alt(cells, show), key="heat_table")
    st.markdown(f"**Read it like this.** {reading(cells, show, base.context or 0)}")
    for note in notes(cells):
        st.caption(f":material/info: {in_fields(note)}")
    rows = [as_row(cell) for cell in cells]
    download_buttons(
        rows,
        lambda: printed_table(cells, show, table_heading(cells, show, base.context or 0)),
        "kv-budget-table",
        lambda: as_markdown(cells, show, base.context or 0),
    )
    with st.expander("The same as a table, with every figure", key="as_table"):
        st.html(_html(cells))
    page.next_links(("ui/pages/plan.py", "Plan one of them", ":material/fact_check:"))


def _base(choices: Choices) -> Choices:
    """What the set-up says of everything that is not an axis of the table, or is of one model and card alone."""
    return replace(choices, model="", device=None, memory=None, devices=None, weights=None, users=1, profile=None)


def _controls() -> tuple[Show, list[str], list[str], list[str]]:
    with st.container(horizontal=True, gap="medium"):
        show = st.segmented_control("Show", list(SHOWN), default=TOKENS, required=True, key="show", bind="query-params")
        sizes = st.pills(
            "Cards", SIZES, selection_mode="multi", default=DEFAULT_SIZES, key="sizes", bind="query-params"
        )
        more = st.text_input(
            "Other sizes", key="more_sizes", max_chars=100, placeholder="10GiB, 32GiB", bind="query-params"
        )
    written = _written(more)
    with st.expander("Choose models and formats", key="axes"):
        models = fields.several("models", "Models", list(form.model_names()), DEFAULT_MODELS, max_selections=MAX_MODELS)
        known = [form.AS_PUBLISHED, *form.format_names("weights")]
        weights = fields.several("formats", "Weights stored in", known, DEFAULT_WEIGHTS)
    st.caption(
        "Models, weights and cards are chosen here; cache, runtime, engine and tokens per user come from the set-up."
    )
    return SHOWN[show], models, [*sizes, *written], weights


def _written(text: str) -> list[str]:
    """The sizes in *text*; what is none is said beneath the field, and the others hold."""
    found = []
    for size in filter(None, map(str.strip, text.split(","))):
        try:
            choose_device(None, size)
        except PlannerError as error:
            st.caption(f":orange[:material/edit:] {no_markup(in_fields(error))}")
        else:
            found.append(size)
    return found


def _cells(base: Choices, models: Sequence[str], sizes: Sequence[str], weights: Sequence[str]) -> tuple[TableRow, ...]:
    if len(sizes) > MAX_SIZES:
        raise PlannerError(f"{len(sizes)} sizes are more than a table can show; it shows up to {MAX_SIZES}.")
    own = own_config.architecture()
    names = [*([own] if own else []), *(form.model_names()[title] for title in models)]
    kinds = [None if name == form.AS_PUBLISHED else name for name in weights]
    in_order = sorted(dict.fromkeys(sizes), key=lambda size: parse_bytes(size, "size"))
    return table(names, in_order, kinds, base) if in_order else ()


def _meaning(show: Show, base: Choices) -> str:
    runtime = _runtime_words(base)
    cache = base.kv_cache or "16 bit"
    rest = f"once weights and {runtime} are in, cache in {cache}."
    if show is Show.TOKENS:
        return f"Each cell: **tokens of conversation left** for one user {rest} 1,000 tokens are about 750 words."
    return f"Each cell: **users at once**, each with {base.context:,} tokens, {rest}"


def _runtime_words(base: Choices) -> str:
    if base.overhead:
        return f"{format_bytes(parse_bytes(base.overhead, 'overhead'))} of runtime"
    if form.usual_overhead(base.engine) is None:
        return f"{engine_title(base.engine)}'s own runtime items"
    return "no runtime"


def _legend(show: Show) -> str:
    entries = "".join(
        f'<span class="kv-key"><span class="kv-box" style="{_box(fill)}"></span>{escape(words)}</span>'
        for fill, words in legend(show)
    )
    return f"{STYLE}<div class='kv-legend'>{entries}</div>"


def _box(fill: str) -> str:
    return f"background:{fill};border-color:{fill}" if fill else f"border:1.5px dashed {colours.RULE}"


def _alt(cells: Sequence[TableRow], show: Show) -> str:
    parts = [
        f"{cell.model} in {cell.weights} on {format_size(cell.memory_bytes)}: {cell_text(cell, show)}" for cell in cells
    ]
    return f"{'Tokens left' if show is Show.TOKENS else 'Users at once'} by model, format and card. {'; '.join(parts)}."


def _html(cells: Sequence[TableRow]) -> str:
    head = "".join(f'<th scope="col">{name}</th>' for name in COLUMNS)
    body = "".join(f"<tr>{''.join(f'<td>{escape(value)}</td>' for value in _figures(cell))}</tr>" for cell in cells)
    table_ = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f"{STYLE}<div class='kv-wide' tabindex='0'>{table_}</div>"


def _figures(cell: TableRow) -> tuple[str, ...]:
    return (
        cell.model,
        weights_label(cell),
        format_size(cell.memory_bytes),
        format_bytes(cell.weights_bytes),
        f"{cell.kv_bytes_per_token:,} B",
        cell_text(cell, Show.TOKENS),
        cell_text(cell, Show.USERS) if cell.loads else "–",
    )


main()
