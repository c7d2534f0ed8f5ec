"""Every card's part of a plan, where they hold different layers."""

from planner.answers.answer import Answer
from planner.units import format_bytes
from ui.tables.html import html_table

COLUMNS = ("Card", "Weights", "Runtime", "Cache", "Free", "Usable")


def share_table(answer: Answer) -> str:
    """A row a card, in the order in which the layers go through them."""
    rows = [
        [
            f"{number}: {share.device}",
            format_bytes(share.weights_bytes),
            format_bytes(share.runtime_bytes),
            format_bytes(share.cache_bytes),
            format_bytes(share.free_bytes) if share.free_bytes >= 0 else f"{format_bytes(-share.free_bytes)} short",
            format_bytes(share.memory_bytes),
        ]
        for number, share in enumerate(answer.shares, 1)
    ]
    return html_table(list(COLUMNS), rows, text=(0,), wide_only=(2, 5))
