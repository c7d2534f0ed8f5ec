"""Answers as text for a terminal. No figure is computed here."""

from collections.abc import Sequence
from itertools import zip_longest
from textwrap import wrap
from typing import Any

from planner.advice import Fix, fixes
from planner.answers.answer import Answer
from planner.answers.figures import beyond_limit, one_user_tokens, shared_need_bytes
from planner.answers.verdict import verdict
from planner.architecture import Architecture
from planner.catalogue.native_files import READ_GGUF
from planner.export import Row
from planner.finding.bands import cell_text
from planner.finding.table import TableRow
from planner.inputs.choices import Choices
from planner.line_item import LineItem
from planner.pulled_file import pulled_instead
from planner.starting import start_said
from planner.text.table import notes
from planner.units import counted_words, format_bytes, format_count, format_rate

MAX_FIXES = 4
_GIB_WIDTH = 12
_LINE_WIDTH = 120
_SENTENCE_WIDTH, _LEAST_WIDTH = 44, 28
"""From what width on a column of a listing is wrapped, and how narrow it may become."""


def plan_text(choices: Choices, architecture: Architecture, answer: Answer) -> str:
    """Verdict, items, the four numbers, what would make it fit, and warnings."""
    words = verdict(answer)
    pulled = pulled_instead(choices, architecture, answer)
    lines = [words.title, words.sentence.replace("**", ""), *([pulled] if pulled else []), ""]
    width = max(len(item.name) for item in answer.items)
    lines += [_item_line(item, width) for item in answer.items]
    lines.append(f"  {'total':{width}} {format_bytes(answer.total_bytes):>{_GIB_WIDTH}}")
    what = "machine" if answer.on_cpu else "card"
    lines.append(f"  {what:{width}} {format_bytes(answer.memory_bytes):>{_GIB_WIDTH}}  {answer.device}")
    if answer.shares:
        lines += ["", *_share_lines(answer)]
    if answer.host_items:
        lines += ["", *_host_lines(answer, width)]
    lines += ["", *_numbers(answer)]
    helping = None if answer.fits else fixes(choices, architecture, answer)
    if helping is not None:
        lines += ["", *_fix_lines(helping)]
    lines += _start_lines(choices, architecture, answer, helping)
    lines += [f"Note: {warning}" for warning in answer.warnings]
    return "\n".join(lines)


def _start_lines(
    choices: Choices, architecture: Architecture, answer: Answer, helping: Sequence[Fix] | None
) -> list[str]:
    """The engine's own command, for engines that have one; where the plan does not start, with what has to change."""
    said = start_said(choices, architecture, answer, helping)
    if said is None:
        return []
    if not said.command:
        return ["", f"{said.title}."]
    heading = f"{said.title}: {said.change}." if said.change else f"{said.title}:"
    files = ["", "Make the file first:", *_indented(said.files)] if said.files else []
    return [*files, "", heading, *_indented(said.command), *(f"Note: {note}" for note in said.notes)]


def _indented(text: str) -> list[str]:
    return [f"  {line}" for line in text.split("\n")]


def table_text(cells: Sequence[TableRow]) -> str:
    """One block a model, a line a weight format, a column a memory size; tokens left for one user."""
    sizes = list(dict.fromkeys(cell.memory_bytes for cell in cells))
    kinds = list(dict.fromkeys((cell.model, cell.weights) for cell in cells))
    by_key = {(cell.model, cell.weights, cell.memory_bytes): cell for cell in cells}
    label = max(len(weights) for _, weights in kinds) + 2
    lines = ["Tokens of context left for one user", ""]
    lines.append(" " * label + "".join(f"{format_bytes(size):>20}" for size in sizes))
    last = ""
    for model, weights in kinds:
        if model != last:
            lines += ["", f"{model}, {format_rate(by_key[model, weights, sizes[0]].kv_bytes_per_token)} a token"]
            last = model
        cells_text = "".join(f"{cell_text(by_key[model, weights, size]):>20}" for size in sizes)
        lines.append(f"{weights:<{label}}" + cells_text)
    lines += ["", "✕ weights and runtime alone are too big, by this much   ▲ loads, but too little is left to use"]
    return "\n".join([*lines, *(f"Note: {note}" for note in notes(cells))])


def listing_text(rows: Sequence[Row]) -> str:
    """Columns of the short fields, long ones over several lines; sources and aliases are in ``--json``."""
    hidden = {"aliases", "confirmed_by", "source", "memory_source"}
    header = [key for key in rows[0] if key not in hidden]
    columns = [[key, *(_field(key, row[key]) for row in rows)] for key in header]
    cells = [
        [wrap(text, width, break_long_words=False, break_on_hyphens=False) for text in column]
        for column, width in zip(columns, _widths(columns), strict=True)
    ]
    widths = [max(len(line) for lines in column for line in lines or [""]) for column in cells]
    lines = (line for row in zip(*cells, strict=True) for line in zip_longest(*row, fillvalue=""))
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def _widths(columns: Sequence[Sequence[str]]) -> list[int]:
    """The columns' widths: those of sentences give way until a line is no wider than a terminal, no other does."""
    widths = [max(map(len, column)) for column in columns]
    sentences = [index for index, width in enumerate(widths) if width > _SENTENCE_WIDTH]
    narrowed = dict.fromkeys(sentences, _SENTENCE_WIDTH)
    while sentences and sum((dict(enumerate(widths)) | narrowed).values()) + 2 * (len(widths) - 1) > _LINE_WIDTH:
        widest = max(sentences, key=narrowed.__getitem__)
        if narrowed[widest] <= _LEAST_WIDTH:
            break
        narrowed[widest] -= 1
    return [narrowed.get(index, width) for index, width in enumerate(widths)]


def _share_lines(answer: Answer) -> list[str]:
    """Every device's part, where they hold different layers."""
    rows: list[Row] = [
        {"each card": f"{number}: {share.device}"}
        | {
            name: format_bytes(abs(size)) + (" short" if size < 0 else "")
            for name, size in (
                ("weights", share.weights_bytes),
                ("runtime", share.runtime_bytes),
                ("cache", share.cache_bytes),
                ("free", share.free_bytes),
                ("of", share.memory_bytes),
            )
        }
        for number, share in enumerate(answer.shares, 1)
    ]
    return [f"  {line}" for line in listing_text(rows).split("\n")]


def _host_lines(answer: Answer, width: int) -> list[str]:
    """What lies in the machine's own memory."""
    offered = "" if answer.host_memory_bytes is None else f"  of {format_bytes(answer.host_memory_bytes)}"
    total = f"  {'main memory':{width}} {format_bytes(answer.host_bytes):>{_GIB_WIDTH}}{offered}"
    lines = [*(_item_line(item, width) for item in answer.host_items), total]
    if (shared_bytes := answer.shared_memory_bytes) is not None:
        both = format_bytes(shared_need_bytes(answer))
        lines.append(f"  {'both':{width}} {both:>{_GIB_WIDTH}}  of {format_bytes(shared_bytes)}, one memory")
    return lines


def _item_line(item: LineItem, width: int) -> str:
    spread = (
        ""
        if item.low_bytes == item.high_bytes
        else f" ({format_bytes(item.low_bytes)} – {format_bytes(item.high_bytes)})"
    )
    return f"  {item.name:{width}} {format_bytes(item.bytes):>{_GIB_WIDTH}}  {item.basis:<8} {item.source}{spread}"


def _numbers(answer: Answer) -> list[str]:
    each = "" if answer.users == 1 else " each"
    return [
        f"  room in the cache      {_tokens(one_user_tokens(answer))}",
        f"  longest for {answer.users:,} user{'s' if answer.users > 1 else ''} ".ljust(25)
        + f"{_tokens(answer.max_context_tokens)}{each}{_beyond(answer)}",
        f"  most users at {answer.context_tokens:,} ".ljust(25)
        + ("any number" if answer.max_users is None else format_count(answer.max_users)),
        f"  one more token costs   {format_rate(answer.kv_bytes_per_token)} ({answer.kv_bytes_per_token:,} B)",
        *_report_lines(answer),
    ]


def _beyond(answer: Answer) -> str:
    """What memory allows can be more than the model was made for."""
    return f" by memory; the model was made for {answer.model_limit_tokens:,}" if beyond_limit(answer) else ""


def _report_lines(answer: Answer) -> list[str]:
    """What the engine prints when it starts, in its own sense of a token; nothing where it has no room for a pool."""
    engine, report = answer.engine, answer.report
    if report is None or (report.block_size and report.pool_bytes <= 0):
        return []
    if not report.num_blocks:
        return [f"  {engine} prints".ljust(25) + group for group in report.groups]
    printed = f"{report.pool_tokens:,} tokens, concurrency {report.max_concurrency:.2f}x"
    blocks = f"{report.num_blocks:,} blocks, {report.blocks_per_request:,} for one request"
    return [f"  {engine} prints".ljust(25) + f"{printed} ({blocks})", *(f"    {group}" for group in report.groups)]


def _fix_lines(found: Sequence[Fix]) -> list[str]:
    if not found:
        return ["No single change of format, card or wish makes it fit."]
    lines = ["What would make it fit:"]
    for fix in found[:MAX_FIXES]:
        lines.append(
            f"  {'✓' if fix.enough else '⊖'} {fix.change}: {fix.result}" + ("" if fix.enough else "; not enough alone")
        )
    if found[0].choices.engine in READ_GGUF and (device := found[0].choices.device):
        lines.append(
            f"  Another model: kvbudget which --device {device} --engine {found[0].choices.engine} names what fits."
        )
    return lines


def _tokens(count: int | None) -> str:
    return "any number of tokens" if count is None else counted_words(format_count(count), "token")


def _field(key: str, value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if key.endswith("_bytes"):
        return format_bytes(value)
    if isinstance(value, float):
        return f"{value:g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
