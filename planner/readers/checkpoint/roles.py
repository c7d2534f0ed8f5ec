"""What a checkpoint's tensor is for and where it belongs, from its name alone.

Names are those of Hugging Face's model classes and of the remote code that publishers ship beside their files.
"""

import re
from dataclasses import replace
from enum import Enum, auto
from functools import lru_cache

from planner.formats import Role
from planner.readers.stored_tensors import MARK
from planner.records import dataclass


class Part(Enum):
    """Which part of a model a tensor belongs to."""

    OUTER = auto()
    """Around the layers: embeddings, final norm, head."""
    LAYER = auto()
    MTP = auto()
    TOWER = auto()
    BUFFER = auto()
    """Stored, but computed anew by whoever loads the model: attention masks and rotary tables."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """*name* is the tensor's inside its layer, without numbers, so that experts of one kind share it.

    *kind* is a tower's: vision, audio or projector.
    """

    part: Part
    name: str
    kind: str = ""


_LAYER = re.compile(r"(?:^|\.)(?:layers|layer|h|blocks|block)\.#\.")
_MTP = re.compile(r"(?:^|\.)(?:mtp\w*|nextn\w*)\.(?:layers\.|blocks\.)?(?:#\.)?")
_BUFFER = re.compile(
    r"(?:^|\.)(?:rotary_emb\.inv_freq|rotary_pos_emb\.inv_freq|rotary_emb\.(?:cos|sin)_cached|attn\.masked_bias"
    r"|attention\.(?:masked_bias|bias|rotary_emb\.inv_freq)|h\.#\.attn\.bias)$"
)
_AUDIO = re.compile(r"^(?:model\.)?encoder$|audio|sound|speech|talker|code2wav|token2wav|apm|tts")
_PROJECTOR = re.compile(r"projector|connector|aligner|mlp1|merger|resampler|modality_projection|qformer")
_TOWER = re.compile(
    r"^(?:model\.)?encoder(?=\.)"
    r"|(?:^|\.)(?:visual|vision\w*|video_\w+|qformer|vit|vpm|img_\w+|image_\w+|resampler|aligner|connector|projector"
    r"|multi_modal_projector"
    r"|multimodal_projector|mm_\w+|mlp1|merger|patch_merger|embed_vision|modality_\w+|view_seperator|gen_\w+"
    r"|embed_tokens_extend|audio\w*|embed_audio|sound\w*|speech\w*|talker|code2wav|token2wav|apm|tts)(?=\.|$)"
)

_ROUTER = re.compile(
    r"(?:^|\.)(?:(?:mlp|moe|ffn|feed_forward|block_sparse_moe|mixer)\.gate(?:\.\w+)?|router(?:\.\w+)?|shared_expert_gate)"
    r"\.weight$|(?:^|\.)router$|correction_bias$|(?:^|\.)moe\.router_bias$"
)
_EXPERT = re.compile(r"(?:^|\.)(?:experts|switch_mlp)(?:\.|$)")
_STACKED = re.compile(r"(?:^|\.)(?:moe|block_sparse_moe|mlp|feed_forward)\.")
_NORM = re.compile(r"(?:^|\.)(?:\w*norm\w*|ln_?(?:\d|f|attn|mlp|out)?)(?:\.weight|\.bias|\.scale|\.gamma|\.beta)?$")
_EMBEDDING = re.compile(
    r"(?:^|\.)(?:embed_tokens\w*|embed_in|embed_positions|wte|wpe|word_embeddings|tok_embeddings|embeddings?"
    r"|position_embeddings|embed|emb)(?:\.weight)?$"
)
_HEAD = re.compile(r"(?:^|\.)(?:lm_head|embed_out|output_layer|output|head|shared_head\.head)(?:\.weight)?$")
_STATE = re.compile(r"(?:^|\.)(?:\w*conv1d|conv\.conv|A_log|A|D|dt_bias|time_(?!\w*proj)\w+)(?:\.weight|\.bias)?$")


@lru_cache(maxsize=4096)
def place_of(template: str) -> tuple[Place, int | None]:
    """Where the tensors of a *template* belong, and which of its numbers is the layer's index, None for no layer.

    >>> place_of("model.layers.#.mlp.experts.#.up_proj.weight")
    (Place(part=<Part.LAYER: 2>, name='mlp.experts.up_proj.weight', kind=''), 0)
    """
    layer, tower, mtp = _LAYER.search(template), _TOWER.search(template), _MTP.search(template)
    if _BUFFER.search(template):
        return _place_after(Part.BUFFER, template, 0), None
    # Inside a text layer such words name a part of the layer, as CogVLM's vision experts do.
    if tower and (layer is None or tower.start() < layer.start()):
        kind = "projector" if _PROJECTOR.search(tower[0]) else "audio" if _AUDIO.search(tower[0]) else "vision"
        return replace(_place_after(Part.TOWER, template, 0), kind=kind), None
    if mtp and (layer is None or mtp.start() < layer.start()):
        ordinal = template[: mtp.end()].count(MARK) - 1 if MARK in mtp[0] else None
        return _place_after(Part.MTP, template, mtp.end()), ordinal
    if layer:
        return _place_after(Part.LAYER, template, layer.end()), template[: layer.end()].count(MARK) - 1
    return _place_after(Part.OUTER, template, 0), None


def _place_after(part: Part, template: str, start: int) -> Place:
    return Place(part=part, name=template[start:].replace(f".{MARK}", ""))


@lru_cache(maxsize=4096)
def role_of(part: Part, name: str, dimensions: int) -> Role:
    """The role of the tensor called *name* in *part*, which has so many *dimensions*."""
    if part is Part.TOWER:
        return Role.TOWER
    if _ROUTER.search(name):
        return Role.ROUTER
    if _STATE.search(name):
        return Role.STATE
    if _NORM.search(name):
        return Role.NORM
    if name.endswith(("bias", "_b")):
        return Role.BIAS
    if _EXPERT.search(name) or (dimensions >= 3 and _STACKED.search(name)):
        return Role.EXPERT
    if part is not Part.LAYER or name.startswith(("embed_tokens", "shared_head")):
        if _EMBEDDING.search(name):
            return Role.EMBEDDING
        if _HEAD.search(name):
            return Role.HEAD
    return Role.LINEAR if dimensions >= 2 else Role.BIAS
