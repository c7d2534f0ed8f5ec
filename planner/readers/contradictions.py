"""Where a file of a known family speaks of another's parts: its model_type was changed, or is not its own."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from planner.architecture import Attention, Layer, SharedCache
from planner.errors import UnsupportedModel
from planner.readers.family import Family
from planner.readers.knowledge import Knowledge
from planner.readers.model_classes import class_family, class_name, coded_class, families_of
from planner.readers.text_config import TextConfig
from planner.readers.values import Values
from planner.units import shorten

_WEIGHTY: dict[str, frozenset[str]] = {
    "experts": frozenset(
        ("num_experts", "num_local_experts", "n_routed_experts", "num_routed_experts", "moe_num_experts")
    ),
    "shared experts": frozenset(
        (
            *("n_shared_experts", "num_shared_experts", "shared_expert_intermediate_size"),
            *("shared_intermediate_size", "moe_shared_expert_intermediate_size", "share_expert_dim"),
        )
    ),
    "latent attention": frozenset(("kv_lora_rank",)),
    "sparse-attention indexer": frozenset(("index_head_dim", "index_n_heads", "sparse_attention_config")),
    "recurrent layers": frozenset(
        (
            *("mamba_num_heads", "mamba_n_heads", "mamba_d_state", "ssm_state_size", "state_size", "conv_L_cache"),
            *("linear_num_value_heads", "linear_num_key_heads", "linear_attn_config"),
        )
    ),
    "embeddings for every layer": frozenset(("hidden_size_per_layer_input",)),
    "cross-attention": frozenset(("cross_attention_layers",)),
}
"""By what a model has them for: keys without which it would weigh or cache less. One of them that is read is enough."""


_LIBRARY = "transformers"
"""What the source of a family begins with whose classes are the library's own."""
_TOWERS = ("_tower", "_encoder")
_SIGNS = re.compile(r"[_-]")
_LISTED = (
    *("num_attention_heads", "num_key_value_heads", "head_dim", "v_head_dim", "intermediate_size", "kv_lora_rank"),
    *("qk_nope_head_dim", "moe_intermediate_size", "n_shared_experts", "num_experts_per_tok"),
)
"""What is read layer by layer where a file lists it."""


def check_weighty(table: Mapping[str, object], values: Values, family: Family) -> None:
    """Raise for a key of *table* that stands for weights, or for a larger cache, and is nothing to *family*.

    Of those that it knows, some may have had no part in what was built: a hybrid can be all attention.
    """
    understood = values.used.union(*family.aliases.values(), family.defaults)
    for what, keys in _WEIGHTY.items():
        if keys & understood:
            continue
        for key in sorted(keys & table.keys()):
            if table[key] and (not isinstance(table[key], int) or table[key] > 1):  # type: ignore[operator]
                raise UnsupportedModel(
                    f"{values.where} has no {what}, but the config has {values.spelled(key)!r}: it is one of another "
                    "model_type; write that."
                )


def check_lessening(layers: Sequence[Layer], values: Values, family: Family) -> None:
    """Raise where a key that *family*'s class does not read has made the cache of *layers* smaller."""
    mixers = [mixer for layer in layers for mixer in layer.mixers]
    lessened = {
        "num_kv_shared_layers": any(isinstance(mixer, SharedCache) for mixer in mixers),
        "use_cla": any(isinstance(mixer, SharedCache) for mixer in mixers),
        "v_head_dim": any(isinstance(mixer, Attention) and 0 < mixer.v_head_dim < mixer.head_dim for mixer in mixers),
    }
    for key, is_less in lessened.items():
        if is_less and values.has(key) and values.get(key) and key not in family.own_keys:
            raise UnsupportedModel(
                f"{values.where} is not known to read {values.spelled(key)!r}, which would make its cache smaller: "
                "it is a key of another model_type; write that, or take it out."
            )


def listed(values: Values, family: Family) -> tuple[str, ...]:
    """A warning for numbers that the file lists for each layer and that *family*'s class takes once."""
    keys = [key for key in _LISTED if key not in family.per_layer and isinstance(values.in_file(key), list)]
    if not keys:
        return ()
    return (
        f"The config lists {' and '.join(map(values.spelled, keys))} for each layer, where the model class is known to "
        "take one number for all: read layer by layer.",
    )


def named_tower(config: Mapping[str, object], family: Family) -> tuple[str, ...]:
    """A warning for a tower that the file only names, under a class that is not known to have any."""
    named = [key for key, value in config.items() if key.endswith(_TOWERS) and isinstance(value, str) and value]
    if family.towers or not named:
        return ()
    return (
        f"The config names a tower in {', '.join(map(shorten, named))}, which its model_type is not known to have: its "
        "weights are not counted.",
    )


def without_unread_window(values: Values, family: Family) -> tuple[Family, tuple[str, ...]]:
    """*family* without its window where a file switches it off by a key that the class does not read, and a warning."""
    switch, structure = "use_sliding_window", family.structure
    has_window = structure.windows != "none" or values.has("layer_types")
    if structure.layers != "attention" or structure.windowed is not True or not has_window:
        return family, ()
    if values.get(switch) is not False or switch in family.own_keys or not values.is_set("sliding_window"):
        return family, ()
    return replace(family, structure=replace(structure, windowed=False)), (
        f"The config has {values.spelled('sliding_window')!r} and says no to {values.spelled(switch)!r}, which the "
        "model class does not read and vLLM does: it is counted without the window, which keeps more.",
    )


def has_own_class(config: Mapping[str, object], text: TextConfig, knowledge: Knowledge) -> bool:
    """Whether *config* names a class that only code beside its weights can have, under a type of the library's."""
    family = text.wrapper or text.family
    if not family or not config.get("auto_map") or not family.source.startswith(_LIBRARY):
        return False
    return bool(_foreign_class(config, text, family, knowledge))


def _foreign_class(config: Mapping[str, object], text: TextConfig, family: Family, knowledge: Knowledge) -> str:
    """The class that *config* names, or its code has, if it is neither *family*'s nor, by its name, a known one's."""
    types = {family.model_type, text.model_type, text.outer_type, *family.classes.values()}
    known = {_SIGNS.sub("", name.lower()) for name in types}
    for named in dict.fromkeys(filter(None, (class_name(config), coded_class(config)))):
        candidates = list(families_of(named, knowledge))
        found = any(_SIGNS.sub("", name) in known or knowledge.find_family(name) for name in candidates)
        if named not in family.classes and not found:
            return named
    return ""


def other_class(config: Mapping[str, object], text: TextConfig, knowledge: Knowledge) -> tuple[str, ...]:
    """That the model class which *config* names is another one than those of the family that it is read as."""
    family = text.wrapper or text.family
    if family and (named := _foreign_class(config, text, family, knowledge)):
        code = ", and code beside the weights" if has_own_class(config, text, knowledge) else ""
        return (
            f"The config names the class {shorten(named)}, which is none of model_type "
            f"{shorten(text.outer_type)!r}{code}: it is read as that model_type all the same; check what "
            f"{'that code' if code else 'that class'} adds.",
        )
    candidate = class_family(config, knowledge) if family and not text.by_class else ""
    found = knowledge.find_family(candidate) if candidate else None
    if family is None or found is None or class_name(config) in family.classes:
        return ()
    if family.model_type in (candidate, found.same_as, found.nested_model_type):
        return ()
    return (
        f"The config names the class {shorten(class_name(config))}, which is that of model_type {candidate!r}: it is "
        f"read as {shorten(text.outer_type)!r} all the same; check which of the two is right.",
    )
