"""What a token and a request keep on one rank, and how SGLang divides the memory for caches among its pools."""

from fractions import Fraction

from planner.architecture import Attention, Recurrence, distinct_layers
from planner.deployment import Deployment
from planner.engines.base import Rank
from planner.engines.pools import PoolSpec
from planner.engines.sglang.fraction import Model
from planner.engines.sglang.options import options
from planner.engines.sglang.sizes import recurrence_bytes, token_bytes
from planner.errors import PlannerError
from planner.records import dataclass


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
    for layer, count in distinct_layers(rank.layers):
        for mixer in layer.mixers:
            if isinstance(mixer, Recurrence):
                state_bytes += count * recurrence_bytes(mixer, deployment)
            elif has_windows and isinstance(mixer, Attention) and mixer.window_tokens is not None:
                window_bytes += count * token_bytes(mixer, deployment, rank.model.is_sparse)
                window_tokens = max(window_tokens, mixer.window_tokens)
            else:
                full_bytes += count * token_bytes(mixer, deployment, rank.model.is_sparse)
    if state_bytes and settings.rule("state_slots") is None:
        raise PlannerError(
            f"How SGLang {settings.version} keeps recurrent states is not known here; ask for 0.5.4 or later."
        )
    if state_bytes and not full_bytes + window_bytes:
        raise PlannerError("How SGLang keeps the states of a model without attention is not known here.")
    kept, drafted = _slots(rank, deployment) if state_bytes else (0, 0)
    fixed = chosen.fixed_states is not None
    return Pools(
        page_tokens=_page_tokens(deployment, rank.model.is_sparse),
        full_bytes=full_bytes,
        window_bytes=window_bytes,
        window_tokens=window_tokens,
        window_ratio=Fraction(str(settings.values["swa_full_tokens_ratio"])) if window_bytes else Fraction(0),
        state_bytes=state_bytes,
        kept_slots=kept,
        draft_slots=drafted,
        state_ratio=Fraction(str(settings.number("mamba_full_memory_ratio"))) if state_bytes and not fixed else None,
    )


def _page_tokens(deployment: Deployment, is_sparse: bool) -> int:
    """``page_size`` as set, or as indexer or kernels want it; kernels put theirs in its place."""
    settings = deployment.settings
    usual: int = settings.rule("indexer_page_tokens") if is_sparse else 1
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
