"""Icons and labels that several pages share. What is said about a plan comes from the planner."""

import re

from planner.answers.answer import Answer
from planner.answers.card import Part
from planner.budget import OUTSIDE, State
from planner.finding.table import TableRow
from planner.formats import CHECKPOINT
from planner.inputs.choices import Chosen
from planner.line_item import Basis, LineItem
from planner.presets import engine_data

AS_PUBLISHED = "as published"
ICONS = {
    State.FITS: ":green[:material/check_circle:]",
    State.TIGHT: ":orange[:material/warning:]",
    State.NO: ":red[:material/block:]",
    State.UNCERTAIN: ":orange[:material/help:]",
}
ITEM_NAMES = {
    "weights": "Weights",
    "overhead": "Runtime, one figure",
    "cache": "Cache for your users",
    OUTSIDE: "Left to other programs",
}
PART_NAMES = {Part.FREE: "Free for more cache", Part.DRIVER: "Kept by the driver"}
BASIS_WORDS = {
    Basis.EXACT: "from the model's own shapes",
    Basis.RULE: "from the engine's code",
    Basis.MEASURED: "read from an allocator or a log",
    Basis.ASSUMED: "stated or taken from public readings",
}


def item_name(item: LineItem) -> str:
    """A budget's line as a person would call it."""
    return ITEM_NAMES.get(item.name, item.name[:1].upper() + item.name[1:])


def engine_title(name: str) -> str:
    """An engine as its makers call it, in few words: ``vLLM``; a name that no data has stays as it is."""
    return re.split("[:,]", engine_data(name).title)[0] or name


def engine_words(engine: str, version: str) -> str:
    """``vLLM 0.28``, or that only the minimum is counted."""
    return f"{engine_title(engine)} {version}" if version else "no engine"


def sizes_in_words(sizes: list[str]) -> str:
    """``8, 16 and 24 GiB`` from ``8 GiB``, ``16 GiB``, ``24 GiB``; unlike units keep theirs."""
    units = {size.rpartition(" ")[2] for size in sizes}
    shown = sizes if len(units) > 1 else [*(size.rpartition(" ")[0] for size in sizes[:-1]), *sizes[-1:]]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def weights_label(cell: TableRow) -> str:
    """A table's weights format; what the file itself stores is called as the form calls it."""
    return AS_PUBLISHED if cell.weights == CHECKPOINT else cell.weights


def set_up_line(chosen: Chosen | None, answer: Answer | None) -> str:
    """The whole set-up in a line: ``Llama-3.1-8B · RTX 4090 · bf16, as published · 4 × 8,192 tokens``.

    Nothing where the set-up makes no plan.
    """
    if chosen is None or answer is None:
        return ""
    cards = answer.device if answer.device_count == 1 else f"{answer.device_count} × {answer.device}"
    draft = chosen.deployment.draft
    cache = answer.kv_cache_k if answer.kv_cache_k == answer.kv_cache_v else f"{answer.kv_cache_k}/{answer.kv_cache_v}"
    parts = [
        answer.model,
        " + ".join(answer.devices) or cards,
        f"weights {weights_words(chosen, answer)}",
        f"cache {cache}",
        engine_words(answer.engine, answer.engine_version),
        f"{answer.users:,} × {answer.context_tokens:,} tokens",
        *([f"draft {draft.name}"] if draft else []),
    ]
    return " · ".join(parts)


def weights_words(chosen: Chosen, answer: Answer) -> str:
    """The weights' format; what a file stores is named, and said to be as published, or why that is assumed."""
    if answer.weights != CHECKPOINT:
        return answer.weights
    stored, doubt = chosen.architecture.stored_as, chosen.architecture.stored_doubt
    return f"{stored}, {doubt or AS_PUBLISHED}" if stored else AS_PUBLISHED
