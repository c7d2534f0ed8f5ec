"""What drafts were published to have accepted, by kind; and which models of the list can draft for another."""

from statistics import median

from planner import presets
from planner.architecture import Architecture
from planner.catalogue.performance_presets import drafts
from planner.draft import EAGLE, MAX_VOCABULARY_DIFFERENCE, MTP, NGRAM
from planner.draft import METHODS as DRAFTERS
from planner.errors import UnknownName
from planner.records import dataclass
from planner.speculation import PublishedDraft
from planner.weights import active_parameters

MODEL = "draft model"
LEAST_GAIN = 4
"""So many times the parameters of a draft must the model compute a token with."""
METHODS = {
    EAGLE: ("EAGLE", "EAGLE fr-spec", "EAGLE-3", "P-EAGLE"),
    MTP: ("MTP",),
    NGRAM: ("n-gram",),
    MODEL: ("draft model",),
}
"""The published methods of each kind of draft that is planned here. Others draft trees, which have no single α."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedAcceptance:
    """The middle and the ends of the published shares a token, and how many there are."""

    low: float
    typical: float
    high: float
    readings: int


def published_acceptance(kind: str) -> PublishedAcceptance:
    """What drafts of *kind* have accepted; of a chain whose length is not stated, the least that gives its tokens.

    A chain of any length yields at most 1 / (1 − α) tokens a pass.
    """
    found = [alpha for draft in drafts().values() if draft.method in METHODS[kind] and (alpha := _acceptance(draft))]
    return PublishedAcceptance(low=min(found), typical=median(found), high=max(found), readings=len(found))


def method_hint(name: str) -> str:
    """What may be named in place of a draft model; where *name* is a published method, what becomes of that here."""
    own = f"Without a model of their own draft: {', '.join(DRAFTERS)}."
    known = {_plain(draft.method): draft.method for draft in drafts().values()}
    method = known.get(_plain(name))
    if method is None:
        return own
    kind = next((kind for kind, methods in METHODS.items() if method in methods and kind != MODEL), None)
    if kind is not None:
        return f"{method} is planned as {kind}."
    return f"{method} is published (kvbudget drafts) but not planned: it drafts trees. {own}"


def _plain(name: str) -> str:
    """Letters and digits alone: EAGLE-3 and eagle3 are the same."""
    return "".join(filter(str.isalnum, name.lower()))


def smaller_siblings(architecture: Architecture) -> tuple[presets.ModelPreset, ...]:
    """Models of the same family and vocabulary that compute a token with at most a quarter of the parameters.

    The smallest first. One that computes as much as the model itself costs as much a token as it could save.
    """
    try:
        own = presets.find_model(architecture.name)
    except UnknownName:
        return ()
    most = active_parameters(architecture) // LEAST_GAIN
    found = [
        preset
        for preset in presets.models()
        if preset.family == own.family
        and (preset.published_parameters or 0) < (own.published_parameters or 0)
        and preset.published_parameters
        and abs(_vocabulary(preset) - architecture.vocab_size) <= MAX_VOCABULARY_DIFFERENCE
        and active_parameters(presets.load_preset(preset.name)) <= most
    ]
    return tuple(sorted(found, key=lambda preset: preset.published_parameters or 0))


def _acceptance(draft: PublishedDraft) -> float | None:
    alpha = draft.acceptance_per_token()
    if alpha is None and draft.method in METHODS[NGRAM] and draft.tokens_per_pass:
        return 1 - 1 / draft.tokens_per_pass
    return alpha


def _vocabulary(preset: presets.ModelPreset) -> int:
    text = preset.config.get("text_config", preset.config)
    return int(text.get("vocab_size") or preset.config.get("vocab_size") or 0)
