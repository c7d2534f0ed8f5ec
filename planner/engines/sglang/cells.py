"""What a token and a request keep on one rank, and how SGLang divides the memory for caches among its pools."""

from dataclasses import replace
from fractions import Fraction

from planner.architecture import (
    Attention,
    CompressedAttention,
    CrossAttention,
    LatentAttention,
    Mixer,
    Recurrence,
    SharedCache,
    StateTensor,
    distinct_layers,
)
from planner.deployment import Deployment
from planner.engines.base import Rank
from planner.engines.pools import PoolSpec
from planner.engines.sglang.fraction import Model
from planner.engines.sglang.options import options
from planner.engines.split import heads_on_rank
from planner.errors import PlannerError
from planner.records import dataclass

CONV = "conv"
_SIXTEEN_BIT_BYTES = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class SglangRank(Rank):
    """A rank with what SGLang asks of the whole *model*; the last *draft_layers* of its layers draft."""

    model: Model
    draft_layers: int = 0


def own_rank(rank: Rank) -> SglangRank:
    """*rank* as it was made here; a draft's has nothing that SGLang asks of its model."""
    if isinstance(rank, SglangRank):
        return rank
    model = Model(model_type="", is_latent=False, tower=None)
    return SglangRank(model=model, layers=rank.layers, tensors=rank.tensors, towers=rank.towers)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pools:
    """The pools of one rank. *full_bytes* and *window_bytes* are of one token in all layers of that kind.

    *window_ratio* tokens of windows come with each token of *full_bytes*; *state_bytes* are of one state of all layers,
    *state_slots* of which (drafted ones among them) a request keeps, and *state_ratio* is the states' share over that
    of tokens, ``None`` where the number of states is fixed.
    """

    page_tokens: int
    full_bytes: int
    window_bytes: int
    window_tokens: int
    window_ratio: Fraction
    state_bytes: int
    kept_slots: int
    draft_slots: int
    state_ratio: Fraction | None

    @property
    def token_bytes(self) -> Fraction:
        """One token of the pool, with the tokens of windows that come with it."""
        return (
            self.full_bytes + self.window_ratio * self.window_bytes if self.full_bytes else Fraction(self.window_bytes)
        )

    @property
    def state_share(self) -> Fraction:
        """The states' part of all that caches are given."""
        return self.state_ratio / (1 + self.state_ratio) if self.state_ratio and self.state_bytes else Fraction(0)


def pools(rank: SglangRank, deployment: Deployment) -> Pools:
    """Bytes of a token by kind of layer, of a state, and the shares of the pools.

    Windows have a pool of their own in the models that this version names, and keep every token in all others. Source:
    python/sglang/srt/model_executor/pool_configurator.py and model_runner_kv_cache_mixin.py.
    """
    settings, chosen = deployment.settings, options(deployment)
    has_windows = rank.model.model_type in settings.rule("window_pools")
    has_windows &= not settings.flag("disable_hybrid_swa_memory")
    full_bytes = window_bytes = window_tokens = state_bytes = 0
    has_indexer = False
    for layer, count in distinct_layers(rank.layers):
        for mixer in layer.mixers:
            if isinstance(mixer, Recurrence):
                state_bytes += count * _state_bytes(mixer, deployment)
            elif has_windows and isinstance(mixer, Attention) and mixer.window_tokens is not None:
                window_bytes += count * _token_bytes(mixer, deployment)
                window_tokens = max(window_tokens, mixer.window_tokens)
            else:
                full_bytes += count * _token_bytes(mixer, deployment)
                has_indexer |= isinstance(mixer, LatentAttention) and mixer.index_head_dim > 0
    if state_bytes and settings.rule("state_slots") is None:
        raise PlannerError(
            f"How SGLang {settings.version} keeps recurrent states is not known here; ask for 0.5.4 or later."
        )
    if state_bytes and not full_bytes + window_bytes:
        raise PlannerError("How SGLang keeps the states of a model without attention is not known here.")
    kept, drafted = _slots(rank, deployment) if state_bytes else (0, 0)
    fixed = chosen.fixed_states is not None
    return Pools(
        page_tokens=_page_tokens(deployment, has_indexer),
        full_bytes=full_bytes,
        window_bytes=window_bytes,
        window_tokens=window_tokens,
        window_ratio=Fraction(str(settings.values["swa_full_tokens_ratio"])) if window_bytes else Fraction(0),
        state_bytes=state_bytes,
        kept_slots=kept,
        draft_slots=drafted,
        state_ratio=Fraction(str(settings.number("mamba_full_memory_ratio"))) if state_bytes and not fixed else None,
    )


def _page_tokens(deployment: Deployment, has_indexer: bool) -> int:
    """``page_size`` as set, or as indexer or kernels want it; kernels put theirs in its place."""
    settings = deployment.settings
    usual: int = settings.rule("indexer_page_tokens") if has_indexer else 1
    asked = settings.integer("page_size") or usual
    possible: list[int] = settings.rule("backend_page_tokens").get(settings.text("attention_backend"), [asked])
    return asked if asked in possible else possible[0]


def request_specs(found: Pools, deployment: Deployment) -> tuple[PoolSpec, ...]:
    """What one request keeps in each pool, and the pool's share of the sum.

    A full layer keeps every token, in whole pages; a window itself and a page; states whatever the length.
    """
    page, for_tokens = found.page_tokens, 1 - found.state_share
    specs = []
    if found.full_bytes:
        share = for_tokens * found.full_bytes / found.token_bytes
        specs.append(_spec(share, bytes_per_entry=page * found.full_bytes, tokens_per_entry=page))
    if found.window_bytes:
        share = for_tokens * (found.window_ratio * found.window_bytes / found.token_bytes if found.full_bytes else 1)
        most = found.window_tokens + page * int(deployment.settings.rule("window_pages"))
        specs.append(_spec(share, bytes_per_entry=page * found.window_bytes, tokens_per_entry=page, max_tokens=most))
    if found.state_share:
        slots = found.kept_slots + found.draft_slots
        specs.append(_spec(found.state_share, fixed_bytes=slots * found.state_bytes))
    return tuple(specs)


def fixed_state_bytes(found: Pools, deployment: Deployment) -> int:
    """States whose number is set, and drafted ones where this version takes them off before it divides."""
    chosen = options(deployment)
    if not found.state_bytes:
        return 0
    states = 0 if chosen.fixed_states is None else chosen.fixed_states
    return found.state_bytes * (states + _drafted_before(found, deployment))


def _drafted_before(found: Pools, deployment: Deployment) -> int:
    """States of drafted tokens that are kept beside the pools."""
    chosen = options(deployment)
    if not chosen.draft_tokens:
        return 0
    running = chosen.max_running_requests or 0
    if chosen.fixed_states is not None:
        running = min(running, chosen.fixed_states // max(1, found.kept_slots))
    elif deployment.settings.rule("draft_states") == "share":
        return 0
    return running * chosen.draft_tokens


def _slots(rank: SglangRank, deployment: Deployment) -> tuple[int, int]:
    """States that one request keeps, and those of its drafted tokens where they come out of the same share."""
    settings, chosen = deployment.settings, options(deployment)
    rule = settings.rule("state_slots")
    is_buffered = rank.model.model_type in rule["models"]
    kept = rule["kept"] + rule["buffer"] * is_buffered if chosen.keeps_finished else 1
    return kept, chosen.draft_tokens if settings.rule("draft_states") == "share" else 0


def _spec(share: Fraction, **growth: int) -> PoolSpec:
    return PoolSpec(part=share.numerator, whole=share.denominator, **growth)


def _token_bytes(mixer: Mixer, deployment: Deployment) -> int:
    """Bytes of one token in one layer on this rank; latent vectors are whole on every rank."""
    number_format = deployment.kv_cache_k
    match mixer:
        case Attention():
            heads = heads_on_rank(mixer.num_key_value_heads, deployment.tensor_parallel, "SGLang")
            return heads * (number_format.bytes_for(mixer.head_dim) + number_format.bytes_for(mixer.v_head_dim))
        case LatentAttention() if mixer.window_tokens is None:
            return _latent_bytes(mixer, deployment)
        case SharedCache():
            return 0
        case _:
            raise PlannerError(_unknown(mixer))


def _latent_bytes(latent: LatentAttention, deployment: Deployment) -> int:
    settings, number_format = deployment.settings, deployment.kv_cache_k
    plain = number_format.bytes_for(latent.kv_lora_rank + latent.qk_rope_head_dim)
    if not latent.index_head_dim:
        return plain
    if settings.rule("indexer_token_bytes") is None:
        raise PlannerError(f"SGLang {settings.version} has no sparse attention; ask for 0.5.3 or later.")
    is_byte = number_format.bytes_for(1) == 1
    latent_bytes: int = settings.rule("sparse_latent_fp8_token_bytes") if is_byte else plain
    return latent_bytes + int(settings.rule("indexer_token_bytes"))


def state_parts(rank: SglangRank, deployment: Deployment) -> tuple[int, int]:
    """Bytes of one state of all layers: its convolutions, and the rest."""
    conv = rest = 0
    for layer, count in distinct_layers(rank.layers):
        for mixer in layer.mixers:
            if isinstance(mixer, Recurrence):
                kept = tuple(state for state in mixer.states if state.name == CONV)
                own = count * _state_bytes(replace(mixer, states=kept), deployment)
                conv, rest = conv + own, rest + count * _state_bytes(mixer, deployment) - own
    return conv, rest


def _state_bytes(recurrence: Recurrence, deployment: Deployment) -> int:
    """One request's state of one layer: convolutions in 16 bits, the rest as set, else as the model's file says."""
    return sum(
        -(-state.rows // deployment.tensor_parallel) * state.columns * _element_bytes(state, deployment)
        for state in recurrence.states
    )


def _element_bytes(state: StateTensor, deployment: Deployment) -> int:
    if state.name == CONV:
        return _SIXTEEN_BIT_BYTES
    chosen = deployment.settings.text("mamba_ssm_dtype")
    if chosen is not None:
        return 4 if chosen == "float32" else _SIXTEEN_BIT_BYTES
    default: int = deployment.settings.rule("state_bytes_default")
    return default if state.format is None else state.format.bytes_for(1)


def _unknown(mixer: Mixer) -> str:
    match mixer:
        case CompressedAttention() | LatentAttention():
            what = "compressed caches and latent attention with a window"
        case CrossAttention():
            what = "images' keys"
        case _:
            what = type(mixer).__name__
    return f"How SGLang keeps {what} is not known here: plan with engine minimum or transformers."
