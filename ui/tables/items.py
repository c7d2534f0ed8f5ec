"""The budget's items as an HTML table: swatch, size, share, basis, and one click away the arithmetic behind each."""

from collections.abc import Sequence
from html import escape

from planner.answers.answer import Answer
from planner.answers.explain import cache_terms, naive_cache, weights_terms
from planner.answers.figures import shared_need_bytes
from planner.budget import OUTSIDE
from planner.inputs.choices import Chosen
from planner.line_item import Basis, Kind, LineItem
from planner.units import GIB, format_bytes, format_parameters
from ui.charts import colours
from ui.words import item_name

_COLOURS = {Kind.WEIGHTS: colours.WEIGHTS, Kind.RUNTIME: colours.RUNTIME, Kind.CACHE: colours.CACHE}

STYLE = f"""<style>
.kv-items {{ width: 100%; border-collapse: collapse; font-size: 1rem; font-variant-numeric: tabular-nums; }}
.kv-items th, .kv-items td {{ padding: .45rem .4rem; text-align: right; vertical-align: top; border: 0;
  border-bottom: 1px solid color-mix(in srgb, currentColor 18%, transparent); }}
.kv-items th {{ font-weight: 600; }}
.kv-items th:first-child, .kv-items td:first-child, .kv-items .kv-basis {{ text-align: left; }}
.kv-items tfoot td {{ border-bottom: 0; font-weight: 600; }}
.kv-items .kv-basis {{ padding-left: 1rem; }}
.kv-items small {{ display: block; opacity: .75; font-size: .8rem; }}
.kv-swatch {{ display: inline-block; width: .8rem; height: .8rem; border-radius: 3px; margin-right: .5rem; }}
.kv-items summary {{ cursor: pointer; min-height: 1.6rem; }}
.kv-card {{ container-type: inline-size; }}
.kv-items details > div {{ width: calc(100cqw - 1.7rem); margin: .3rem calc(1.3rem - 100cqw) .4rem 1.3rem;
  font-size: .9rem; line-height: 1.55; }}
.kv-items tr:has(small) details > div {{ margin-top: 1.1rem; }}
.kv-items details > div, .kv-items summary {{ overflow-wrap: anywhere; }}
.kv-items details p {{ margin: 0 0 .35rem; }}
.kv-badge {{ display: inline-block; padding: 0 .5rem; border-radius: 1rem; font-size: .82rem; line-height: 1.35rem;
  border: 1px solid currentColor; white-space: nowrap; }}
.kv-exact {{ background: #0B66A8; border-color: #0B66A8; color: #FFFFFF; }}
.kv-measured {{ border-color: {colours.FREE}; }}
.kv-assumed {{ border-style: dashed; }}
@media (max-width: 640px) {{ .kv-share {{ display: none; }} .kv-items .kv-basis {{ padding-left: .4rem; }} }}
</style>"""


def item_table(answer: Answer, chosen: Chosen) -> str:
    """The whole table; rows stand in the order of the card's bar and add up to the last line."""
    items = [item for kind in Kind for item in answer.items if item.kind is kind]
    rows = [_item_row(item, answer, chosen) for item in items if item.name != OUTSIDE]
    if answer.free_bytes > 0:
        rows.append(_free_row(answer))
    rows += [_item_row(item, answer, chosen) for item in items if item.name == OUTSIDE]
    return f"""{STYLE}<div class="kv-card"><table class="kv-items">
<thead><tr><th scope="col">What</th><th scope="col">GiB</th><th scope="col" class="kv-share">Share</th>
<th scope="col" class="kv-basis">Basis</th></tr></thead>
<tbody>{"".join(rows)}</tbody><tfoot>{_last_line(answer)}</tfoot></table></div>"""


def host_table(answer: Answer) -> str:
    """What lies in the machine's own memory, adding up to the last line."""
    rows = [
        _row(item_name(item), f"background:{_COLOURS[item.kind]}", item.bytes, _spread(item), item.basis,
             answer.host_bytes, [_source(item)])
        for item in answer.host_items
    ]  # fmt: skip
    offered = "" if answer.host_memory_bytes is None else f", of {format_bytes(answer.host_memory_bytes)}"
    if answer.shared_memory_bytes is not None:
        both = format_bytes(shared_need_bytes(answer))
        offered = f"; with the card's part {both} of one memory of {format_bytes(answer.shared_memory_bytes)}"
    return f"""{STYLE}<div class="kv-card"><table class="kv-items">
<thead><tr><th scope="col">In main memory</th><th scope="col">GiB</th><th scope="col" class="kv-share">Share</th>
<th scope="col" class="kv-basis">Basis</th></tr></thead>
<tbody>{"".join(rows)}</tbody><tfoot><tr><td>Needed{offered}</td><td>{answer.host_bytes / GIB:.2f}</td>
<td class="kv-share"></td><td></td></tr></tfoot></table></div>"""


def _last_line(answer: Answer) -> str:
    if answer.free_bytes >= 0:
        what, size = "Memory of the machine" if answer.on_cpu else "Card, usable", answer.memory_bytes
    else:
        what, size = f"Needed, of {format_bytes(answer.memory_bytes)}", answer.total_bytes
    return f'<tr><td>{what}</td><td>{size / GIB:.2f}</td><td class="kv-share"></td><td></td></tr>'


def _item_row(item: LineItem, answer: Answer, chosen: Chosen) -> str:
    match item.kind:
        case Kind.CACHE:
            details = _cache_details(item, answer, chosen)
        case Kind.WEIGHTS if item.name == "weights":
            details = _weights_details(item, answer, chosen)
        case _:
            details = [_source(item)]
    swatch = f"background:{_COLOURS[item.kind]}" if item.name != OUTSIDE else _dashed(colours.RULE)
    return _row(item_name(item), swatch, item.bytes, _spread(item), item.basis, answer.memory_bytes, details)


def _spread(item: LineItem) -> str:
    if item.low_bytes == item.high_bytes:
        return ""
    return f"<small>{item.low_bytes / GIB:.2f} – {item.high_bytes / GIB:.2f}</small>"


def _free_row(answer: Answer) -> str:
    taken = " − ".join(f"{item.bytes / GIB:.2f}" for item in answer.items)
    details = [
        f"{answer.memory_bytes / GIB:.2f} − {taken} = {format_bytes(answer.free_bytes)}",
        f"{answer.free_bytes:,} B that nothing needs yet: longer conversations or more users.",
    ]
    return _row("Free for more cache", _dashed(colours.FREE), answer.free_bytes, "", None, answer.memory_bytes, details)


def _dashed(colour: str) -> str:
    return f"border:1.5px dashed {colour};background:{colour}1F"


def _row(
    name: str, swatch: str, size: int, spread: str, basis: Basis | None, memory_bytes: int, details: Sequence[str]
) -> str:
    badge = f'<span class="kv-badge kv-{basis}">{basis}</span>' if basis else ""
    inside = "".join(f"<p>{line}</p>" for line in details)
    return f"""<tr><td><details><summary><span class="kv-swatch" style="{swatch}"></span>{escape(name)}</summary>
<div>{inside}</div></details></td><td>{size / GIB:.2f}{spread}</td>
<td class="kv-share">{size / memory_bytes:.0%}</td><td class="kv-basis">{badge}</td></tr>"""


def _weights_details(item: LineItem, answer: Answer, chosen: Chosen) -> list[str]:
    lines = [
        f"{escape(term.role)}: {format_parameters(term.parameters)} parameters, <b>{format_bytes(term.bytes)}</b>"
        f"{_bits(term.bytes, term.parameters, answer.device_count)}"
        for term in weights_terms(chosen.architecture, chosen.deployment)
    ]
    share = "" if answer.device_count == 1 else f", one card's share of {answer.device_count}"
    total = f"Together {answer.parameters:,} parameters, {item.bytes:,} B{share}."
    return [*lines, total, _source(item)]


def _bits(size: int, parameters: int, device_count: int) -> str:
    if device_count > 1:
        return ""
    return f" ({8 * size / parameters:.4g} bits each)"


def _cache_details(item: LineItem, answer: Answer, chosen: Chosen) -> list[str]:
    lines = [
        f"{term.layers} {'layer' if term.layers == 1 else 'layers'}, {escape(term.kind)}:<br>"
        f"{term.layers} × {escape(term.formula)} = <b>{format_bytes(term.bytes)}</b>"
        for term in cache_terms(chosen.architecture, chosen.deployment, chosen.workload)
    ]
    users = "1 user" if answer.users == 1 else f"{answer.users:,} users"
    lines.append(f"{users} × {answer.kv_request_bytes:,} B = {item.bytes:,} B.")
    naive = naive_cache(chosen.architecture, chosen.deployment, chosen.workload, answer.kv_request_bytes)
    if naive is not None:
        lines.append(
            "The usual formula, one head count for all layers, says "
            f"<b>{format_bytes(naive.bytes * answer.users)}</b>: {naive.factor:.3g} times the real figure."
        )
    return lines


def _source(item: LineItem) -> str:
    return f"Source: {escape(item.source)}."
