"""What a log says beside what the planner says: value, prediction and range, difference; why, one click away."""

from collections.abc import Sequence
from html import escape

from planner.startups.comparison import Compared, Match
from planner.startups.words import difference_words, range_words, reading_name, reading_value
from ui.tables.items import STYLE

BADGES = {Match.EQUAL: "kv-exact", Match.INSIDE: "kv-exact", Match.OUTSIDE: ""}
_STYLE = """<style>
.kv-log td:nth-child(4), .kv-log th:nth-child(4) { text-align: left; padding-left: 1rem; }
.kv-log :is(td, th):nth-child(n+2) { white-space: nowrap; }
@media (max-width: 640px) { .kv-log :is(td, th) { padding-left: .2rem; padding-right: .2rem; font-size: .85rem; }
  .kv-log td:nth-child(4), .kv-log th:nth-child(4) { padding-left: .4rem; } }
</style>"""


def log_table(rows: Sequence[Compared]) -> str:
    """One line a figure, those that are predicted first."""
    in_order = sorted(rows, key=lambda row: row.predicted is None)
    body = "".join(map(_row, in_order))
    return f"""{STYLE}{_STYLE}<div class="kv-card"><table class="kv-items kv-log">
<thead><tr><th scope="col">What</th><th scope="col">Your log</th><th scope="col">Predicted</th>
<th scope="col">Difference</th></tr></thead><tbody>{body}</tbody></table></div>"""


def _row(row: Compared) -> str:
    predicted = "–" if row.predicted is None else reading_value(row.predicted, row.unit)
    spread = f"<small>{ends}</small>" if (ends := range_words(row)) else ""
    badge = f'<span class="kv-badge {BADGES[row.match]}">{difference_words(row)}</span>' if row.match in BADGES else ""
    why = f"<p>{escape(row.why[:1].upper() + row.why[1:])}.</p>" if row.why else ""
    where = f"Line {row.line}{f', {row.rank}' if row.rank else ''}; its name in the log's readings: {row.name}."
    return f"""<tr><td><details><summary>{escape(reading_name(row.name))}</summary>
<div>{why}<p>{escape(where)}</p></div></details></td>
<td>{reading_value(row.value, row.unit)}</td><td>{predicted}{spread}</td><td>{badge}</td></tr>"""
