"""Which layers of a mixture of experts have experts, and which of these a table chooses."""

from planner.errors import UnsupportedModel
from planner.readers.decoder import Decoder
from planner.readers.values import Values


def feed_forward_kinds(decoder: Decoder, number: int) -> list[str]:
    """For each layer ``dense``, ``experts``, or ``hash_experts`` where a table decides: DeepSeek-V4's first."""
    values = decoder.values
    hashed = values.optional_integer("num_hash_layers", minimum=0) or 0
    written = _written(values, number) if values.has("mlp_layer_types") else None
    by_table = [kind == "hash_moe" for kind in written] if written else [index < hashed for index in range(number)]
    return [
        ("hash_experts" if is_hashed else "experts") if has_experts else "dense"
        for has_experts, is_hashed in zip(expert_layers(decoder, number), by_table, strict=True)
    ]


def _written(values: Values, number: int) -> list[str]:
    return values.choices("mlp_layer_types", number, "dense", "sparse", "moe", "hash_moe")


def _experts(decoder: Decoder) -> int:
    """How many a layer has; 0 only where the class can do without any."""
    values = decoder.values
    find = values.integer if decoder.structure.mixture else values.optional_integer
    found = find("num_experts", minimum=0)
    chosen = values.get("num_experts_per_tok") if values.has("num_experts_per_tok") else None
    if found is None and chosen not in (None, 0, 1) and "num_experts_per_tok" in decoder.family.own_keys:
        raise values.missing("num_experts")
    experts = found or 0
    if not values.is_set("num_experts_per_tok"):
        return experts
    active = values.same_in_all_layers("num_experts_per_tok", minimum=0) or 0
    if active > experts and (experts or decoder.structure.mixture):
        raise UnsupportedModel(
            f"{values.where}: {active:,} of {experts:,} experts is not possible; check "
            f"{values.spelled('num_experts_per_tok')} and {values.spelled('num_experts')}."
        )
    return experts


def expert_layers(decoder: Decoder, number: int) -> list[bool]:
    """For each layer whether it has experts, by whichever rules the config states; all of them where it states none."""
    values = decoder.values
    if not _experts(decoder):
        return [False] * number
    if values.has("mlp_layer_types"):
        return [kind != "dense" for kind in _written(values, number)]
    if values.is_list("moe_layer_freq"):
        return values.switches("moe_layer_freq", number)
    if values.has("moe_layers"):
        chosen = values.indices("moe_layers")
        return [index in chosen for index in range(number)]
    if values.optional_integer("expert_layer_period") is not None:
        period, offset = values.integer("expert_layer_period"), values.integer("expert_layer_offset", minimum=0)
        return [index % period == offset for index in range(number)]
    first = values.optional_integer("first_k_dense_replace", minimum=0) or 0
    last = values.optional_integer("moe_layer_end_index", minimum=-1)
    every = values.optional_integer("moe_layer_freq") or 1
    step = values.optional_integer("decoder_sparse_step") or 1
    dense = frozenset(values.integers("mlp_only_layers")) if values.is_set("mlp_only_layers") else frozenset()
    end = number if last is None or last < 0 else last + 1
    return [
        first <= index < end and index % every == 0 and (index + 1) % step == 0 and index not in dense
        for index in range(number)
    ]
