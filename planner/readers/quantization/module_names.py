"""Names of modules, so that a file's spelling and the reader's own meet.

Files name what they skip or store differently after the model class that wrote them: ``model.layers.3.mlp.gate_proj``,
``language_model.model.layers.3.feed_forward.w1``, ``transformer.h.3.mlp.c_fc``. A name is taken apart into its layer
and the parts below; parts that mean the same get one spelling. Which expert of many a name means is left out.
"""

from collections.abc import Iterator
from functools import lru_cache
from itertools import product

from planner.records import dataclass

Parts = tuple[str, ...]

_LAYERS = frozenset({"layers", "layer", "h", "blocks", "block"})
_WRAPPERS = frozenset(
    ("model", "language_model", "text_model", "transformer", "backbone", "decoder", "llm", "gpt_neox", "thinker")
)
_TOWER_WORDS = (
    *("vision", "visual", "vit", "image", "img_", "audio", "speech", "talker"),
    *("projector", "multi_modal", "mm_", "merger", "resampler"),
)
_MTP_WORDS = ("mtp", "nextn")

# Spellings of a part after the one that readers use.
_SPELLINGS: dict[str, Parts] = {
    "self_attn": ("attn", "attention", "self_attention"),
    "mlp": ("feed_forward", "ffn", "block_sparse_moe", "moe"),
    "shared_experts": ("shared_expert", "shared_mlp"),
    "gate_proj": ("w1",),
    "up_proj": ("w3", "fc1", "c_fc", "dense_h_to_4h"),
    "down_proj": ("w2", "fc2", "dense_4h_to_h"),
    "lm_head": ("head", "output_layer", "embed_out"),
    "eh_proj": ("fc",),
    "indexer.weights_proj": ("indexers_proj",),
    "embed_tokens": ("wte", "word_embeddings", "embed_in", "tok_embeddings", "embed"),
}
_CANONICAL = {spelling: part for part, spellings in _SPELLINGS.items() for spelling in spellings}
_BY_PARENT = {
    ("self_attn", "c_proj"): "o_proj",
    ("self_attn", "dense"): "o_proj",
    ("self_attn", "out_proj"): "o_proj",
    ("self_attn", "wo"): "o_proj",
    ("mlp", "c_proj"): "down_proj",
}
# One module of some classes where others have several.
_FUSED: dict[str, Parts] = {
    "qkv_proj": ("q_proj", "k_proj", "v_proj"),
    "query_key_value": ("q_proj", "k_proj", "v_proj"),
    "c_attn": ("q_proj", "k_proj", "v_proj"),
    "gate_up_proj": ("gate_proj", "up_proj"),
    "in_proj_qkvz": ("in_proj_qkv", "in_proj_z"),
    "in_proj_ba": ("in_proj_b", "in_proj_a"),
    "fused_qkv_a_proj_with_mqa": ("q_a_proj", "kv_a_proj_with_mqa"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuleName:
    """*layer* is None outside the layers, or where any layer is meant; *mtp*: counted among the prediction layers.

    *spellings* are its parts, one tuple for each of the modules that a fused one stands for.
    """

    layer: int | None
    mtp: bool
    spellings: tuple[Parts, ...]


def parse_name(name: str) -> ModuleName | None:
    """The module called *name*, or None for one in a vision or audio tower, and for no name at all."""
    parts = [part for part in name.split(".") if part]
    if not parts:
        return None
    layer, below, outside = None, parts, parts
    for position in range(len(parts) - 1):
        if parts[position] in _LAYERS and parts[position + 1].isdecimal() and len(parts[position + 1]) <= 6:
            layer, below, outside = int(parts[position + 1]), parts[position + 2 :], parts[:position]
            break
    if is_tower(outside):
        return None
    mtp = any(part.startswith(_MTP_WORDS) for part in outside)
    while below and layer is None and (below[0] in _WRAPPERS or (mtp and below[0].startswith(_MTP_WORDS))):
        below = below[1:]
    kept = (
        part
        for before, part in zip(["", *below], below, strict=False)
        if not (before == "experts" and part.isdecimal())
    )
    return ModuleName(layer=layer, mtp=mtp, spellings=canonical(tuple(kept)))


def is_tower(parts: list[str]) -> bool:
    return any(part.startswith(_TOWER_WORDS) for part in parts)


def is_beside(pattern: str) -> bool:
    """Whether *pattern* speaks of what stands beside the layers that answer: towers, prediction, head, embedding."""
    return any(word in pattern for word in (*_TOWER_WORDS, *_MTP_WORDS, "head", "embed", "wte"))


@lru_cache(maxsize=4096)
def canonical(parts: Parts) -> tuple[Parts, ...]:
    """*parts* in the readers' spelling, one tuple a module.

    >>> canonical(("block_sparse_moe", "experts", "w1", "weight"))
    (('mlp', 'experts', 'gate_proj'),)
    """
    found: list[str] = []
    for part in parts:
        if part == "mixer":
            continue
        for name in _CANONICAL.get(part, part).split("."):
            found.append(_BY_PARENT.get((found[-1], name), name) if found else name)
    if found and found[-1] in ("weight", "bias"):
        found.pop()
    *before, last = found or [""]
    if last in _FUSED:
        return tuple((*before, part) for part in _FUSED[last])
    return (tuple(found),)


@lru_cache(maxsize=4096)
def runs(parts: Parts) -> frozenset[Parts]:
    """Every run of neighbouring parts, the empty one included: what names this module or one that contains it."""
    return frozenset(parts[start:end] for start in range(len(parts)) for end in range(start, len(parts) + 1)) | {()}


@lru_cache(maxsize=4096)
def spelled(parts: Parts, patterns: str) -> tuple[str, ...]:
    """The names below its layer that a module of canonical *parts* may have in a file with such *patterns*.

    Only spellings whose words occur in the patterns are tried: the others could be matched by wildcards alone.
    """
    names = list(product(*(tuple(_other_spellings(part, patterns)) for part in parts)))
    if "mixer" in patterns:
        names += [("mixer", *name[skipped:]) for name in names for skipped in (0, 1)]
    return tuple(".".join(name) for name in names)


def _other_spellings(part: str, patterns: str) -> Iterator[str]:
    yield part
    if part == "experts":
        yield "experts.0"
    for spelling in _SPELLINGS.get(part, ()):
        if spelling in patterns:
            yield spelling
    for fused, singles in _FUSED.items():
        if part in singles and fused in patterns:
            yield fused
