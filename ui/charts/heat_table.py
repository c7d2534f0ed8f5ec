"""The table of what fits as one chart: a header a model, a band a weights format, a column a memory size."""

from collections.abc import Sequence

import altair as alt

from planner.finding.bands import SCALES, Band, Show, band, cell_text
from planner.finding.table import TableRow
from planner.units import format_rate, format_size
from ui.charts import colours
from ui.charts.plan import FONT_PX
from ui.words import weights_label

FILLS = {
    Band.TIGHT: ("#F2C14E", colours.DARK_TEXT),
    Band.LITTLE: ("#CFE3F3", colours.DARK_TEXT),
    Band.SOME: ("#8BBDE0", colours.DARK_TEXT),
    Band.MUCH: ("#2B77B3", colours.LIGHT_TEXT),
    Band.PLENTY: ("#0B4F8A", colours.LIGHT_TEXT),
}
ROW_PX = 33
_NARROW_PX = 110


def heat_table(cells: Sequence[TableRow], show: Show, ink: str = colours.INK) -> alt.LayerChart:
    """Classes, not a ramp; the number stands in every cell, and what does not fit is empty with a dashed outline."""
    sizes = list(dict.fromkeys(format_size(cell.memory_bytes) for cell in cells))
    rows = _rows(cells)
    labels = {key: key.rpartition("|")[2] for key in rows}
    x = alt.X(
        "size:N",
        title=None,
        sort=sizes,
        scale=alt.Scale(domain=sizes, paddingInner=0.03, paddingOuter=0),
        axis=alt.Axis(
            orient="top",
            labelAngle=0,
            labelFontWeight=600,
            labelFlush=False,
            labelOverlap=False,
            domain=False,
            ticks=False,
        ),
    )
    y = alt.Y(
        "row:N",
        title=None,
        sort=rows,
        scale=alt.Scale(domain=rows, paddingInner=0.1, paddingOuter=0),
        axis=alt.Axis(
            labelExpr="split(datum.value, '|')[2]", labelLimit=140, labelPadding=8, domain=False, ticks=False
        ),
    )
    values = [_cell(cell, show) for cell in cells]
    base = alt.Chart(alt.Data(values=values)).encode(
        x=x, y=y, tooltip=[alt.Tooltip(f"{name}:N") for name in ("model", "weights", "memory", "left")]
    )
    filled = base.transform_filter("datum.fill != ''")
    empty = base.transform_filter("datum.fill == ''")
    narrow = f"width / {len(sizes)} < {_NARROW_PX}"
    layers = [
        filled.mark_rect(cornerRadius=3).encode(color=alt.Color("fill:N", scale=None)),
        empty.mark_rect(cornerRadius=3, fillOpacity=0, strokeDash=[4, 3], strokeWidth=1.2, stroke=colours.RULE),
        filled.mark_text(fontWeight=600, fontSize=13).encode(text="text:N", color=alt.Color("ink:N", scale=None)),
        empty.mark_text(color=ink, opacity=alt.ExprRef(f"{narrow} ? 0 : 1")).encode(text="text:N"),
        empty.mark_text(color=ink, opacity=alt.ExprRef(f"{narrow} ? 1 : 0")).encode(text="short:N"),
        *_headers(cells, y, ink),
    ]
    chart = alt.layer(*layers).properties(height=len(labels) * ROW_PX + 24)
    return chart.configure_view(stroke=None).configure_text(fontSize=FONT_PX)


def printed_table(cells: Sequence[TableRow], show: Show, heading: str) -> alt.LayerChart:
    """The same in print's ink, with what a picture that stands alone must say: its heading and its classes."""
    classes = " · ".join(SCALES[show].words)
    ink = colours.PRINT_INK
    title = alt.Title(heading, subtitle=classes, anchor="start", color=ink, subtitleColor=ink)
    return heat_table(cells, show, colours.PRINT_INK).properties(title=title)


def legend(show: Show) -> list[tuple[str, str]]:
    """Each class's fill, empty for what does not fit, and its words."""
    return [(FILLS[each][0] if each in FILLS else "", SCALES[show].words[each]) for each in Band]


def _rows(cells: Sequence[TableRow]) -> list[str]:
    """Keys of the bands, ``model||`` for a header and ``model||format`` beneath it: formats recur, keys must not."""
    rows: list[str] = []
    for cell in cells:
        for key in (_header(cell), _row(cell)):
            if key not in rows:
                rows.append(key)
    return rows


def _header(cell: TableRow) -> str:
    return f"{_safe(cell.model)}||"


def _row(cell: TableRow) -> str:
    return f"{_safe(cell.model)}||{weights_label(cell)}"


def _safe(model: str) -> str:
    return model.replace("|", "/")


def _cell(cell: TableRow, show: Show) -> dict[str, object]:
    fill, text_ink = FILLS.get(band(cell, show), ("", ""))
    text = cell_text(cell, show, digits=1)
    return {
        "row": _row(cell),
        "size": format_size(cell.memory_bytes),
        "text": text,
        "short": cell_text(cell, show, digits=1, over=""),
        "fill": fill,
        "ink": text_ink,
        "model": cell.model,
        "weights": weights_label(cell),
        "memory": format_size(cell.memory_bytes),
        "left": text,
    }


def _headers(cells: Sequence[TableRow], y: alt.Y, ink: str) -> list[alt.Chart]:
    """Each model's name at the left and what a token of it costs at the right."""
    seen = {
        _header(cell): {
            "row": _header(cell),
            "model": cell.model,
            "cost": f"{format_rate(cell.kv_bytes_per_token)} a token",
        }
        for cell in cells
    }
    header = alt.Chart(alt.Data(values=list(seen.values()))).encode(y=y)
    return [
        header.mark_text(align="left", fontWeight=700, color=ink, baseline="middle", dy=4, fontSize=13).encode(
            x=alt.value(0), text="model:N"
        ),
        header.mark_text(align="right", color=ink, baseline="middle", dy=4).encode(x=alt.value("width"), text="cost:N"),
    ]
