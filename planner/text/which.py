"""The answers to "what can I run?" in words; ``**`` marks what to stress. No figure is computed here."""

from collections.abc import Sequence

from planner.answers.answer import Answer
from planner.answers.words import asked
from planner.budget import State
from planner.deciding import Where
from planner.finding.best_file import best_file, fits_probably, larger_but_worse
from planner.finding.which import Match, OnDevice, is_coarse, match_quality
from planner.formats import CHECKPOINT
from planner.units import format_bytes, format_size

STATE_WORDS = {
    State.FITS: "fits",
    State.TIGHT: "too tight",
    State.NO: "does not fit",
    State.UNCERTAIN: "probably",
}


def file_title(matches: Sequence[Match], whose: str = "") -> str:
    """Which of one model's files to take for one device; *matches* stand the larger first, *whose* says of what."""
    best = best_file(matches)
    if best is None:
        smallest = matches[-1]
        surely = " surely" if smallest.state is State.UNCERTAIN else ""
        return f"No file of {smallest.model}{surely} fits: the smallest {_short_words(smallest)}"
    take = f"Take {best.model} {'as published' if best.weights == CHECKPOINT else f'in {best.weights}'}:"
    if fits_probably(best):
        return f"{take} it probably fits"
    if best.weights == CHECKPOINT:
        return f"{take} it fits"
    if is_coarse(best):
        return f"{best.model} fits only in {best.weights}, too coarse to be the one to take"
    if larger_but_worse(matches, best):
        return f"{take} no smaller file{whose} that fits loses less"
    return f"{take} the largest file{whose} that fits"


def _short_words(match: Match) -> str:
    """By how much it is too big, and for which memory; or by how much it may turn out to be."""
    memory = match.deciding
    whose = "" if memory.where is Where.CARD else f" for {memory.where}"
    if memory.spare_bytes < 0:
        return f"is {format_bytes(-memory.spare_bytes)} too big{whose}"
    return f"may be up to {format_bytes(max(0, -memory.spare_low_bytes))} too big{whose}"


def file_sentence(matches: Sequence[Match], answer: Answer) -> str:
    """What the best file leaves room for, and what it costs in quality."""
    best = best_file(matches)
    if best is None:
        return f"Asked for were {asked(answer)} on {cards(matches[0], answer)}: ask for less, or take a larger card."
    each = " a card" if answer.device_count > 1 else ""
    words, model = match_quality(best)
    loss = f" It costs {words}, read on {model}." if model else ""
    if fits_probably(best):
        return f"{_weighs(best)}{each}. {_probably_words(best, answer)}{loss}"
    if worse := larger_but_worse(matches, best):
        verb = "is" if len(worse) == 1 else "are"
        loss += f" {', '.join(match.weights for match in worse)} {verb} larger and lose{'s' * (len(worse) == 1)} more."
    if is_coarse(best):
        loss += " Ask for fewer users or less context, or take a smaller model."
    return (
        f"{_weighs(best)}{each}. With {asked(answer)} **{format_bytes(best.free_bytes)}** of "
        f"{memory_words(best, cards(best, answer))} stay free, room for {room_words(best)}.{loss}"
    )


def _weighs(match: Match) -> str:
    return f"In {weights_words(match)} it weighs **{format_bytes(match.weights_bytes)}**"


def _probably_words(match: Match, answer: Answer) -> str:
    """Between what and what is left, and which assumed item decides."""
    memory = match.deciding
    where = f"of {memory_words(match, cards(match, answer))}" if memory.where is Where.CARD else f"of {memory.where}"
    return (
        f"With {asked(answer)} **{format_bytes(memory.spare_high_bytes)}** {where} stay free or "
        f"**{format_bytes(-memory.spare_low_bytes)}** are missing: what decides is {memory.item}, assumed between "
        f"{format_bytes(memory.item_low_bytes)} and {format_bytes(memory.item_high_bytes)}. As expected "
        f"**{format_bytes(memory.spare_bytes)}** stay free, room for {room_words(match)}."
    )


def memory_words(match: OnDevice, device: str) -> str:
    """The memory that holds it: of a machine without a card its own."""
    return f"the machine's {format_bytes(match.memory_bytes)}" if match.on_cpu else device


def card_title(matches: Sequence[Match], answer: Answer) -> str:
    """The smallest device that serves the model."""
    if not matches:
        return f"No single card known here serves {answer.model}"
    first = matches[0]
    return f"The smallest that does it: {cards(first, answer)}, in {weights_words(first)}"


def card_sentence(matches: Sequence[Match], answer: Answer) -> str:
    """How many devices do what was asked, and which is the first to need no smaller file."""
    if not matches:
        return f"{asked(answer)}, in any of these formats: try several cards on the page Plan, or fewer tokens."
    number = "1 card serves" if len(matches) == 1 else f"{len(matches)} cards serve"
    sentence = f"{number} {answer.model} with {asked(answer)}."
    whole = next((match for match in matches if match.weights == CHECKPOINT), None)
    if whole is not None and whole is not matches[0]:
        sentence += f" As published the smallest is **{whole.device}** ({format_size(whole.memory_bytes)} usable)."
    return sentence


def model_title(matches: Sequence[Match], answer: Answer) -> str:
    """How much choice there is on one device."""
    device = answer.device if answer.device_count == 1 else f"{answer.device_count} × {answer.device}"
    if not matches:
        return f"No model known here fits {device}"
    models = "1 model fits" if len(matches) == 1 else f"{len(matches)} models fit"
    return f"{models} {device}"


def model_sentence(matches: Sequence[Match], answer: Answer) -> str:
    """The largest by what they weigh, and the largest that needs no smaller file."""
    if not matches:
        return f"{asked(answer)}, in any of these formats: ask for less."
    most = max(matches, key=lambda match: match.parameters)
    sentence = f"With {asked(answer)}. The largest is **{most.model}** in {weights_words(most)}{_loss(most)}."
    whole = max((m for m in matches if m.weights == CHECKPOINT), key=lambda match: match.parameters, default=None)
    if whole is not None and whole is not most:
        sentence += f" The largest as published is **{whole.model}**."
    return sentence


def cards(match: Match, answer: Answer) -> str:
    """The device, and how many of them the plan has."""
    return match.device if answer.device_count == 1 else f"{answer.device_count} × {match.device}"


def _loss(match: Match) -> str:
    words, model = match_quality(match)
    return f" ({words} on {model})" if model else ""


def weights_words(match: Match) -> str:
    """The format as a person would say it."""
    return "the published format" if match.weights == CHECKPOINT else match.weights


def room_words(match: Match) -> str:
    """The longest context for the asked users."""
    longest = match.max_context_tokens
    return "any length" if longest is None else f"up to **{longest:,} tokens** each"
