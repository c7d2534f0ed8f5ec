"""A small table as HTML: readable on a phone, from the keyboard, and by a screen reader."""

from collections.abc import Sequence
from html import escape

STYLE = """<style>
.kv-plain { overflow-x: auto; }
.kv-plain table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
.kv-plain :is(th, td) { padding: .4rem .5rem; text-align: right; vertical-align: top; border: 0;
  border-bottom: 1px solid color-mix(in srgb, currentColor 18%, transparent); }
.kv-plain th { font-weight: 600; }
.kv-plain .kv-text { text-align: left; }
.kv-plain td.kv-num { white-space: nowrap; }
.kv-plain td.kv-text { overflow-wrap: anywhere; }
@media (min-width: 641px) { .kv-plain td.kv-text { min-width: 9.6rem; } }
.kv-plain small { display: block; white-space: pre-line; opacity: .75; font-size: .85rem; }
.kv-plain .kv-own { font-weight: 600; }
@media (max-width: 640px) { .kv-plain :is(th, td) { padding: .35rem .25rem; font-size: .9rem; }
  .kv-plain .kv-wide-only { display: none; } }
</style>"""


def html_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    text: Sequence[int] = (0,),
    wide_only: Sequence[int] = (),
    own: int | None = None,
) -> str:
    """*rows* of plain text under *columns*; a line break in a cell sets what follows small.

    Columns at *text* are words, the others figures; those at *wide_only* are left out on a phone. Row *own* is bold.
    """
    classes = [
        ("kv-text" if index in text else "kv-num") + (" kv-wide-only" if index in wide_only else "")
        for index in range(len(columns))
    ]
    head = "".join(
        f'<th scope="col" class="{name}">{escape(column)}</th>' for name, column in zip(classes, columns, strict=True)
    )
    body = "".join(_row(cells, classes, index == own) for index, cells in enumerate(rows))
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f'{STYLE}<div class="kv-plain" tabindex="0">{table}</div>'


def swatches(entries: Sequence[tuple[str, str]]) -> str:
    """A legend in one line: (colour, words) each."""
    style = (
        "<style>.kv-keys { display: flex; flex-wrap: wrap; gap: .35rem 1.1rem; font-size: .9rem; } "
        ".kv-keys span { display: inline-flex; align-items: center; gap: .4rem; } "
        ".kv-keys i { width: 1rem; height: .8rem; border-radius: 3px; }</style>"
    )
    keys = "".join(f'<span><i style="background:{fill}"></i>{escape(words)}</span>' for fill, words in entries)
    return f'{style}<div class="kv-keys">{keys}</div>'


def _row(cells: Sequence[str], classes: Sequence[str], is_own: bool) -> str:
    inner = "".join(f'<td class="{name}">{_cell(cell)}</td>' for name, cell in zip(classes, cells, strict=True))
    return f'<tr class="kv-own">{inner}</tr>' if is_own else f"<tr>{inner}</tr>"


def _cell(text: str) -> str:
    first, _, rest = text.partition("\n")
    return escape(first) + (f"<small>{escape(rest)}</small>" if rest else "")
