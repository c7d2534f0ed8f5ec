"""Which model to take for a device, in words; ``**`` marks what to stress. No figure is computed here."""

from collections.abc import Sequence

from planner.answers.answer import NO_RUNTIME
from planner.catalogue.downloads import hub_note, pull_name
from planner.catalogue.quality import unlike
from planner.deployment import CPU, MINIMUM, Device
from planner.finding.best_file import fits_probably
from planner.finding.picks import Pick, longer_context, placed
from planner.finding.which import Match, OnDevice, check_device, is_coarse, match_quality
from planner.finding.which_rows import pick_row
from planner.formats import CHECKPOINT
from planner.inputs.choices import Choices
from planner.launch.gguf import download
from planner.launch.llama_cpp_words import FORK
from planner.presets import devices
from planner.text.plan import listing_text
from planner.text.which import memory_words
from planner.tried_formats import how_to_get
from planner.units import GIB, format_bytes, format_size

COMMANDS = {
    "ollama": "ollama pull",
    "llama_cpp": "llama-server --hf-repo",
}
"""What is written before the name of a file, by engine; ``hf download`` for any other."""


def pick_title(pick: Pick) -> str:
    """The model and the format to take."""
    match = pick.match
    probably = ", which probably fits" if fits_probably(match) else ""
    return f"Take {match.model}{'' if match.weights == CHECKPOINT else f' in {match.weights}'}{probably}"


def get_command(pick: Pick, choices: Choices) -> str:
    """The command that pulls the file; empty where none is known to be published."""
    return _command(choices.engine, pick.match, pick.get)


def file_command(best: Match | None, choices: Choices) -> str:
    """The same for the file to take of one model; empty where there is none but a coarse one."""
    if best is None or is_coarse(best):
        return ""
    return _command(choices.engine, best, how_to_get(choices.engine, best.name, best.weights))


def _command(engine: str, match: OnDevice, get: str) -> str:
    if not get:
        return ""
    if engine == MINIMUM and get == pull_name(match.name, match.weights):
        engine = "ollama"
    if engine == FORK:
        return download(get)
    return f"{COMMANDS.get(engine, 'hf download')} {get}"


def pick_sentence(pick: Pick, choices: Choices, longer: tuple[int, int] | None) -> str:
    """What it takes, which context stays on the card, what lies in main memory, and the cost in quality.

    *longer* is a longer context, and what lies in main memory with it.
    """
    match = pick.match
    users = "1 user" if choices.users == 1 else f"each of {choices.users:,} users"
    least = "as expected" if fits_probably(match) else "at least"
    stays = (
        "a context of any length stays"
        if pick.context_tokens is None
        else f"{least} **{pick.context_tokens:,} tokens** for {users} stay"
    )
    where = "in it" if match.on_cpu else "on it"
    words, model = match_quality(match)
    sentences = [
        f"Its weights take **{format_bytes(match.weights_bytes)}** of {memory_words(match, match.device)}, and {stays} "
        f"{where}",
        f"beside it **{format_bytes(match.host_bytes)}** of main memory have to be free" if match.host_bytes else "",
        f"with {longer[0]:,} tokens it would be {format_bytes(longer[1])}" if longer else "",
    ]
    cost = f" The format costs {words}, read on {model}." if model else ""
    return "; ".join(filter(None, sentences)) + f".{cost}"


def context_hint(pick: Pick, choices: Choices) -> str:
    """How the longest context that stays is asked for, where the engine takes a shorter one by itself.

    Source: Ollama docs/faq.md, how to specify the context window size.
    """
    if choices.engine != "ollama" or pick.context_tokens is None:
        return ""
    return f"Ollama keeps as many only if it is told to: /set parameter num_ctx {pick.context_tokens} in ollama run."


def sold_note(device: Device) -> str:
    """Of a card that is given by its size alone: that one sold with as much offers less; empty where none is known."""
    if device.vendor:
        return ""
    sold = [
        known.memory_bytes
        for known in devices().values()
        if known.vendor != CPU and not known.unified and (known.nominal_gb or 0) * GIB == device.memory_bytes
    ]
    if not sold or min(sold) >= device.memory_bytes:
        return ""
    size = format_size(device.memory_bytes)
    return (
        f"All {size} count as what programs can use. Cards sold with {device.memory_bytes / GIB:g} GB offer them "
        f"{min(sold) / GIB:.2f} to {max(sold) / GIB:.2f} GiB: --device names one."
    )


def picks_text(choices: Choices, found: Sequence[Pick], larger: Sequence[Pick]) -> str:
    """For a terminal: what to take, how, and the others in a table."""
    first = found[0]
    command = get_command(first, choices)
    sentence = pick_sentence(first, choices, longer_context(choices, first)).replace("**", "")
    title = pick_title(first) + (f": {command}" if command else "")
    lines = [*filter(None, (title, sentence, context_hint(first, choices))), ""]
    lines += [listing_text([{key: row[key] for key in row if key != "setting"} for row in map(pick_row, found)])]
    if larger:
        lines += ["", "Larger, with a part in main memory as --fit would choose:", ""]
        lines += [listing_text([{**pick_row(pick), "setting": placed(pick, choices.engine)} for pick in larger])]
    where = "in main memory" if check_device(choices).vendor == CPU else "on the card"
    lines += ["", f"context_tokens: the longest that stays {where}. --all lists every model and format that fits."]
    if choices.host_memory is None and any(pick.match.host_bytes for pick in (*found, *larger)):
        lines[-1] += (
            " host_bytes: of main memory, beside the system and what else is open; --host-memory 6GiB, as much as is "
            "free there, leaves out what needs more."
        )
    lines += filter(None, [unlike(match_quality(pick.match) for pick in (*found, *larger))])
    if note := sold_note(check_device(choices)):
        lines.append(f"Note: {note}")
    if note := hub_note(choices.engine, (pick.get for pick in (*found, *larger))):
        lines.append(f"Note: {note}")
    lines += [f"Note: {warning}" for warning in first.match.warnings if warning != NO_RUNTIME]
    if NO_RUNTIME in first.match.warnings:
        lines.append(
            "Note: only weights and cache are counted, as no engine was named: --engine ollama, or --overhead 1.5GiB, "
            "adds what it takes beside them."
        )
    return "\n".join(lines)
