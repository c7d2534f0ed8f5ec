"""Which of one model's files is the one to take on one device."""

from collections.abc import Sequence

from planner.budget import State
from planner.catalogue.downloads import of_the_hub
from planner.catalogue.quality import loses_more
from planner.finding.which import Match, OnDevice, is_coarse
from planner.tried_formats import default_weights, how_to_get

HUB = " of the Hub"
LIBRARY = " of Ollama's library"


def fits_surely(match: OnDevice) -> bool:
    """Whatever is assumed."""
    return match.state is State.FITS


def fits_probably(match: OnDevice) -> bool:
    """As expected, and not when all that is assumed comes out large."""
    return match.state is State.UNCERTAIN and match.fits


def to_take(engine: str, matches: Sequence[Match]) -> tuple[list[Match], str]:
    """What of one model's *matches* to choose from, and whose they are: for Ollama its library's, else the Hub's.

    The same formats as are tried where no model is named, so that both questions have one answer; all *matches* where
    none of these fits at least probably.
    """
    if engine != "ollama":
        return list(matches), ""
    usual = default_weights(engine)
    had = {match.weights: how_to_get(engine, match.name, match.weights) for match in matches if match.weights in usual}
    good = [match for match in matches if had.get(match.weights) and not is_coarse(match)]
    for fitting in (fits_surely, fits_probably):
        for is_hub, whose in ((False, LIBRARY), (True, HUB)):
            if found := [match for match in good if fitting(match) and of_the_hub(had[match.weights]) is is_hub]:
                return found, whose
    return list(matches), ""


def best_file(matches: Sequence[Match]) -> Match | None:
    """The largest that fits and that no smaller one which fits is better than, by published readings.

    A coarse one comes after others that probably fit. Of these in turn the largest in as few bits as are not coarse:
    what it saves is what makes it fit.
    """
    surely, probably = list(filter(fits_surely, matches)), list(filter(fits_probably, matches))
    good = [match for match in probably if not is_coarse(match)]
    fewest = min((match.matrix_bits for match in good), default=0)
    return (
        _best([match for match in surely if not is_coarse(match)])
        or _best([match for match in good if match.matrix_bits == fewest])
        or _best(surely)
    )


def larger_but_worse(matches: Sequence[Match], best: Match) -> list[Match]:
    """What fits too and is larger than *best*, and no better."""
    return [match for match in matches if fits_surely(match) and match.weights_bytes > best.weights_bytes]


def _best(matches: Sequence[Match]) -> Match | None:
    taken = (match for match in matches if not any(_is_bettered(match, other) for other in matches))
    return max(taken, key=lambda match: match.weights_bytes, default=None)


def _is_bettered(match: Match, other: Match) -> bool:
    """Whether *other* is smaller and loses less."""
    if match.is_native or other.weights_bytes >= match.weights_bytes:
        return False
    return other.is_native or loses_more(match.weights, other.weights, match.parameters)
