"""The answers to "what can I run?" in words; ``**`` marks what to stress. No figure is computed here."""

from collections.abc import Sequence

from planner.answers.answer import Answer
from planner.answers.words import asked
from planner.budget import State
from planner.catalogue.downloads import of_the_hub
from planner.catalogue.quality import loses_more
from planner.deciding import Where
from planner.finding.which import Match, is_coarse, match_quality
from planner.formats import CHECKPOINT
from planner.tried_formats import default_weights, how_to_get
from planner.units import format_bytes, format_size

STATE_WORDS = {
    State.FITS: "fits",
    State.TIGHT: "too tight",
    State.NO: "does not fit",
    State.UNCERTAIN: "probably",
}


HUB = " of the Hub"


def to_take(engine: str, matches: Sequence[Match]) -> tuple[list[Match], str]:
    """What of one model's *matches* to choose from, and whose they are: for Ollama its library's, else the Hub's.

    The same formats as are tried where no model is named, so that both questions have one answer; all *matches* where
    none of these fits.
    """
    if engine != "ollama":
        return list(matches), ""
    usual = default_weights(engine)
    had = {match.weights: how_to_get(engine, match.name, match.weights) for match in matches if match.weights in usual}
    fitting = [m for m in matches if m.state is State.FITS and had.get(m.weights) and not is_coarse(m)]
    library = [match for match in fitting if not of_the_hub(had[match.weights])]
    if library:
        return library, " of Ollama's library"
    return (fitting, HUB) if fitting else (list(matches), "")


def file_title(matches: Sequence[Match], whose: str = "") -> str:
    """Which of one model's files to take for one device; *matches* stand the larger first, *whose* says of what."""
    best = best_file(matches)
    if best is None:
        smallest = matches[-1]
        return f"No file of {smallest.model} fits: the smallest {_short_words(smallest)}"
    if best.weights == CHECKPOINT:
        return f"Take {best.model} as published: it fits"
    if is_coarse(best):
        return f"{best.model} fits only in {best.weights}, too coarse to be the one to take"
    if _larger_but_worse(matches, best):
        return f"Take {best.model} in {best.weights}: no smaller file{whose} that fits loses less"
    return f"Take {best.model} in {best.weights}: the largest file{whose} that fits"


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
    if worse := _larger_but_worse(matches, best):
        verb = "is" if len(worse) == 1 else "are"
        loss += f" {', '.join(match.weights for match in worse)} {verb} larger and lose{'s' * (len(worse) == 1)} more."
    if is_coarse(best):
        loss += " Ask for fewer users or less context, or take a smaller model."
    return (
        f"In {weights_words(best)} it weighs **{format_bytes(best.weights_bytes)}**{each}. With {asked(answer)} on "
        f"{cards(best, answer)} **{format_bytes(best.free_bytes)}** stay free, room for {room_words(best)}.{loss}"
    )


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


def best_file(matches: Sequence[Match]) -> Match | None:
    """The largest that fits and that no smaller one which fits is better than, by published readings."""
    fitting = [match for match in matches if match.state is State.FITS]
    taken = (match for match in fitting if not any(_is_bettered(match, other) for other in fitting))
    return max(taken, key=lambda match: match.weights_bytes, default=None)


def _is_bettered(match: Match, other: Match) -> bool:
    """Whether *other* is smaller and loses less."""
    if match.is_native or other.weights_bytes >= match.weights_bytes:
        return False
    return other.is_native or loses_more(match.weights, other.weights, match.parameters)


def _larger_but_worse(matches: Sequence[Match], best: Match) -> list[Match]:
    """What fits too and is larger than *best*, and no better."""
    return [match for match in matches if match.state is State.FITS and match.weights_bytes > best.weights_bytes]


def weights_words(match: Match) -> str:
    """The format as a person would say it."""
    return "the published format" if match.weights == CHECKPOINT else match.weights


def room_words(match: Match) -> str:
    """The longest context for the asked users."""
    longest = match.max_context_tokens
    return "any length" if longest is None else f"up to **{longest:,} tokens** each"
