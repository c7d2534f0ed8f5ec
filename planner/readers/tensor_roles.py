"""What a checkpoint's tensor is for and where it belongs, from its name alone.

Names are those of Hugging Face's model classes and of the remote code that publishers ship beside their files.
"""

import re
from dataclasses import replace
from enum import Enum, auto
from functools import lru_cache

from planner.formats import Role
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
    """*index* is the layer's; *name* is the tensor's inside it, without numbers, so that experts of one kind share it.

    *kind* is a tower's: vision, audio or projector.
    """

    part: Part
    name: str
    index: int = 0
    kind: str = ""


# Numbers in a name are replaced by one mark: what remains is shared by all layers and experts, and looked up once.
_NUMBER = re.compile(r"\.(\d{1,6})(?=\.|$)")
_MARK = "#"

_LAYER = re.compile(r"(?:^|\.)(?:layers|layer|h|blocks|block)\.#\.")
_MTP = re.compile(r"(?:^|\.)(?:mtp\w*|nextn\w*)\.(?:layers\.|blocks\.)?(?:#\.)?")
_BUFFER = re.compile(
    r"(?:^|\.)(?:rotary_emb\.inv_freq|rotary_pos_emb\.inv_freq|rotary_emb\.(?:cos|sin)_cached|attn\.masked_bias"
    r"|attention\.(?:masked_bias|bias|rotary_emb\.inv_freq)|h\.#\.attn\.bias)$"
)
_AUDIO = re.compile(r"audio|sound|speech|talker|code2wav|token2wav|apm|tts")
_PROJECTOR = re.compile(r"projector|connector|aligner|mlp1|merger|resampler|modality_projection")
_TOWER = re.compile(
    r"(?:^|\.)(?:visual|vision\w*|vit|vpm|img_\w+|image_\w+|resampler|aligner|connector|projector|multi_modal_projector"
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


def place_of(name: str) -> Place:
    """Where the tensor called *name* belongs.

    >>> place_of("model.layers.3.mlp.experts.17.up_proj.weight")
    Place(part=<Part.LAYER: 2>, name='mlp.experts.up_proj.weight', index=3, kind='')
    """
    place, index = located(name)
    return replace(place, index=index) if index else place


def located(name: str) -> tuple[Place, int]:
    """The same with the layer's index beside it, so that the tensors of a checkpoint share their places."""
    pieces = _NUMBER.split(name.replace(_MARK, "_"))
    place, ordinal = _place(f".{_MARK}".join(pieces[::2]))
    return place, 0 if ordinal is None else int(pieces[2 * ordinal + 1])


@lru_cache(maxsize=4096)
def _place(template: str) -> tuple[Place, int | None]:
    """The place of every tensor of a *template*, and which of its numbers is the layer's index."""
    layer, tower, mtp = _LAYER.search(template), _TOWER.search(template), _MTP.search(template)
    if _BUFFER.search(template):
        return _place_after(Part.BUFFER, template, 0), None
    # Inside a text layer such words name a part of the layer, as CogVLM's vision experts do.
    if tower and (layer is None or tower.start() < layer.start()):
        kind = "projector" if _PROJECTOR.search(tower[0]) else "audio" if _AUDIO.search(tower[0]) else "vision"
        return replace(_place_after(Part.TOWER, template, 0), kind=kind), None
    if mtp and (layer is None or mtp.start() < layer.start()):
        ordinal = template[: mtp.end()].count(_MARK) - 1 if _MARK in mtp[0] else None
        return _place_after(Part.MTP, template, mtp.end()), ordinal
    if layer:
        return _place_after(Part.LAYER, template, layer.end()), template[: layer.end()].count(_MARK) - 1
    return _place_after(Part.OUTER, template, 0), None


def _place_after(part: Part, template: str, start: int) -> Place:
    return Place(part=part, name=template[start:].replace(f".{_MARK}", ""))


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
