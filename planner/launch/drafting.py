"""What of a draft a command can name, and the words for what it cannot."""

from collections.abc import Mapping

from planner.catalogue.downloads import hub_id
from planner.deployment import Deployment
from planner.draft import EAGLE, MTP, NGRAM, Draft
from planner.formats import CHECKPOINT
from planner.inputs.choices import Choices

HEAD = "EAGLE-HEAD"
"""Stands for the checkpoint of a head: there is one for each model, trained for it."""


def draft_checkpoint(choices: Choices, draft: Draft) -> str:
    """The id of a draft that has files of its own: the model's, or what stands for the head's."""
    return HEAD if draft.name == EAGLE else hub_id(choices.draft_model or draft.name)


def has_files(draft: Draft) -> bool:
    """Whether it is loaded from a checkpoint of its own."""
    return draft.name not in (MTP, NGRAM)


def draft_of(checkpoint: str, tokens: int) -> dict[str, object]:
    """The choices for a draft that a command loads from *checkpoint*."""
    return {"draft_model": EAGLE if checkpoint.startswith(HEAD) else checkpoint, "draft_tokens": tokens}


def draft_notes(choices: Choices, deployment: Deployment, made: Mapping[str, str]) -> tuple[str, ...]:
    """What the command needs of the draft's files; formats that are *made* while loading need none."""
    draft = deployment.draft
    if draft is None:
        return ()
    if draft.name == EAGLE:
        return (f"{HEAD} stands for a checkpoint of a head that was trained for {choices.model}.",)
    if has_files(draft) and draft.weights.name not in (CHECKPOINT, *made):
        return (f"Name a checkpoint of {draft.name} in {draft.weights.name}, as the plan has it.",)
    return ()


def left_out(deployment: Deployment, title: str) -> tuple[str, ...]:
    """That *title* drafts in no such way."""
    draft = deployment.draft
    return (
        () if draft is None else (f"{title} has no draft by {draft.name}: the plan counts it, this command does not.",)
    )
