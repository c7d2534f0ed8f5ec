"""llama.cpp, and its variants, as the planner asks them."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from planner.architecture import Architecture, Attention, LatentAttention, Mixer, Recurrence, distinct_layers
from planner.deployment import Deployment, Workload
from planner.engines.base import EngineReport, Limit, PerRequest, Pool, Rank, ServerLimits, WholeCard
from planner.engines.llama_cpp.cache import cache_bytes, cache_specs
from planner.engines.llama_cpp.compute import StepBuffers
from planner.engines.llama_cpp.items import buffer_items, context_item, host_items, kept_prompts_bytes
from planner.engines.llama_cpp.options import MAX_SEQUENCES, check, margin_bytes, options
from planner.engines.llama_cpp.placement import Placement, place
from planner.engines.llama_cpp.step.recurrence import KINDS
from planner.kv_cache import KVCacheSpec
from planner.line_item import Basis, LineItem
from planner.settings.ollama_releases import own_engine
from planner.units import format_bytes


class LlamaCpp(PerRequest, WholeCard):
    """llama.cpp: slots, padded caches by layer, whole layers on cards and the rest in main memory."""

    name = "llama_cpp"
    cache_basis = Basis.RULE
    follows_card = False
    splits_layers = True

    def __init__(self) -> None:
        self._placed: tuple[Architecture, Deployment, Placement, StepBuffers] | None = None

    def ranks(self, architecture: Architecture, deployment: Deployment) -> tuple[Rank, ...]:
        check(architecture, deployment)
        return self._place(architecture, deployment)[0].cards

    def cache_specs(self, rank: Rank, deployment: Deployment) -> tuple[KVCacheSpec, ...]:
        return cache_specs(rank, deployment)

    def cache_bytes(self, specs: tuple[KVCacheSpec, ...], deployment: Deployment, tokens: int, requests: int) -> int:
        return cache_bytes(specs, deployment, tokens, requests)

    def margin_bytes(self, deployment: Deployment) -> int:
        return margin_bytes(deployment)

    def pool_bytes(self, rank: Rank, deployment: Deployment, memory_bytes: int, taken_bytes: int) -> int:
        return memory_bytes - taken_bytes - margin_bytes(deployment)

    def pool_rule(self, deployment: Deployment) -> str:
        return "fit_target: with less left free than this, --fit moves layers to main memory"

    def runtime_items(self, architecture: Architecture, deployment: Deployment) -> tuple[LineItem, ...]:
        # Memory of a machine that is stated is what it has to give.
        is_stated = deployment.on_cpu and deployment.device.memory_basis == "stated"
        return () if is_stated else (context_item(deployment),)

    def buffer_items(
        self, architecture: Architecture, rank: Rank, deployment: Deployment, tokens: int, requests: int
    ) -> tuple[LineItem, ...]:
        placement, steps = self._place(architecture, deployment)
        # The rank may be of an earlier placement of the same deployment.
        same = (index for index, one in enumerate(placement.cards) if one is rank)
        card = next(same, None)
        card = placement.cards.index(rank) if card is None else card
        return tuple(buffer_items(architecture, steps, card, deployment, tokens, requests))

    def host_items(
        self, architecture: Architecture, deployment: Deployment, tokens: int, requests: int
    ) -> tuple[LineItem, ...]:
        if deployment.on_cpu:
            return ()
        placement, steps = self._place(architecture, deployment)
        return tuple(host_items(architecture, placement, steps, deployment, tokens, requests))

    def limits(self, deployment: Deployment) -> ServerLimits:
        """What is handed over at once is computed before anybody's next token, however many steps that takes."""
        values = deployment.settings.values
        return ServerLimits(
            requests=Limit(setting="n_parallel", value=values["n_parallel"], follows_users=True),
            step_tokens=Limit(setting="n_batch", value=values["n_batch"]),
        )

    def report(
        self, pools: Sequence[Pool], deployment: Deployment, workload: Workload, longest_start_tokens: int | None
    ) -> EngineReport:
        """The context as it is printed, and what to say of the slots."""
        chosen = options(deployment)
        users, tokens = workload.users, workload.context_tokens
        slots, cells = chosen.slots(users), chosen.cells(tokens, users)
        is_unified = chosen.unified(users)
        shared = "shared by" if is_unified else "for each of"
        refusals, notes = [], []
        if users > MAX_SEQUENCES:
            refusals.append(f"llama.cpp has at most {MAX_SEQUENCES} slots; {users:,} users were asked for.")
        elif users > chosen.n_parallel:
            notes.append(
                f"{users:,} users at once need as many slots: counted as with n_parallel={users}, where "
                f"{chosen.n_parallel} is set."
            )
        prompts = deployment.settings.integer("cache_ram")
        if prompts and not kept_prompts_bytes(deployment):
            bounds = "" if "cache_ram" in deployment.settings.fixed else ": cache_ram bounds them"
            more = format_bytes(prompts)
            notes.append(f"Kept prompts may fill up to {more} more of the one memory of the machine{bounds}.")
        notes += _uncounted(pools)
        return EngineReport(
            version=deployment.settings.version,
            pool_bytes=min(pool.pool_bytes for pool in pools),
            pool_tokens=cells if is_unified else cells * slots,
            max_concurrency=slots,
            longest_start_tokens=longest_start_tokens,
            num_blocks=0,
            block_size=0,
            blocks_per_request=0,
            groups=(f"n_ctx = {cells if is_unified else cells * slots:,}: {cells:,} cells {shared} {slots:,} slots",),
            refusals=tuple(refusals),
            notes=tuple(notes),
        )

    def _place(self, architecture: Architecture, deployment: Deployment) -> tuple[Placement, StepBuffers]:
        """The last placement and its steps, since searches ask for them again and again."""
        known = self._placed
        if known is None or known[0] is not architecture or known[1] is not deployment:
            placement = place(architecture, deployment)
            steps = StepBuffers(architecture, deployment, placement)
            known = self._placed = architecture, deployment, placement, steps
        return known[2:]


def _uncounted(pools: Sequence[Pool]) -> Iterator[str]:
    """That a step takes more than is counted, of layers whose graph is not known."""
    mixers = [mixer for pool in pools for layer, _ in distinct_layers(pool.rank.layers) for mixer in layer.mixers]
    states = {mixer.kind for mixer in mixers if isinstance(mixer, Recurrence)} - KINDS
    parts = [f"the states of {kind.replace('_', ' ')}" for kind in sorted(states)]
    if any(map(_is_indexed, mixers)):
        parts.append("the scores of an indexer")
    if parts:
        yield f"A compute buffer is larger than counted: a step also has {' and '.join(parts)}."


def _is_indexed(mixer: Mixer) -> bool:
    """Whether keys are chosen by an index, which a file may list as attention without values."""
    if isinstance(mixer, Attention):
        return mixer.v_head_dim == 0
    return isinstance(mixer, LatentAttention) and mixer.index_head_dim > 0


class IkLlamaCpp(LlamaCpp):
    """ik_llama.cpp: llama.cpp's fork for experts in main memory, with caches of its own."""

    name = "ik_llama_cpp"


class Ollama(LlamaCpp):
    """Ollama: llama-server with slots and batches of its own; before June 2026 an engine of its own for some models."""

    name = "ollama"

    def follow(self, architecture: Architecture, deployment: Deployment, context_tokens: int) -> Deployment:
        """With the defaults and caches of its own engine, where that computes the model: all requests share them, a
        batch is one step, and logits are those of each request's last token.

        Source: github.com/ollama/ollama, kvcache/causal.go, kvcache/recurrent.go, runner/ollamarunner/runner.go.
        """
        settings = deployment.settings
        own = own_engine(settings.version, architecture.model_type, settings.flag("ollama_engine"))
        if own is None:
            return deployment
        values = {**settings.values, "n_ubatch": settings.values["n_batch"]}
        if "flash_attn" not in settings.given:
            values["flash_attn"] = "on" if own.flash_attn else "off"
        rules = {
            **settings.rules,
            "window_extra": "n_batch",
            "window_memory": own.window_tokens,
            "kept_states": own.states,
            "streams": False,
            "outputs": "slots",
            "context_padding": {"off": 32, "on": 256},
        }
        return replace(deployment, settings=replace(settings, values=values, rules=rules))
