"""llama.cpp's settings as one deployment has them, with what it derives from them."""

from planner.architecture import Architecture, Attention, CompressedAttention
from planner.deployment import Deployment
from planner.errors import PlannerError
from planner.formats import NumberFormat
from planner.records import dataclass
from planner.settings.data import EngineSettings

PLACEMENT = frozenset(("n_gpu_layers", "n_cpu_moe", "cpu_moe", "cpu_moe_layers", "tensor_split"))
"""Settings of what lies on cards: with any of them given --fit leaves everything as it is."""
MAX_SEQUENCES = 256
"""``LLAMA_MAX_SEQ``: no server has more slots."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the arithmetic needs of the settings. *padding* is what cells come in multiples of.

    *window_extra_tokens* are the cells of a window beside the window itself, ``None`` where windows keep every token;
    *window_memory_tokens* is what it keeps at least.
    *states* is how often each recurrent state is kept a slot.
    """

    n_parallel: int
    is_unified: bool | None
    n_ubatch: int
    flash_attn: bool
    padding: int
    has_streams: bool
    window_extra_tokens: int | None
    window_memory_tokens: int
    drafts: bool
    states: int

    def slots(self, requests: int) -> int:
        """Slots for so many requests at once: more than the setting where it is too small."""
        return max(self.n_parallel, requests)

    def unified(self, requests: int) -> bool:
        """Whether the slots share one cache: as set, else as long as the number of slots need not be set for them."""
        if not self.has_streams:
            return True
        return self.is_unified is True or (self.is_unified is None and requests <= self.n_parallel)

    def window_cells(self, window_tokens: int, slots: int) -> int:
        """Cells that a window of so many tokens has at most, where *slots* share its cache.

        cells = pad(window · slots + n_ubatch), the window no smaller than what is remembered.
        Source: src/llama-kv-cache-iswa.cpp.
        """
        kept = max(window_tokens, self.window_memory_tokens)
        return padded(kept * slots + (self.window_extra_tokens or 0), self.padding)

    def cells(self, tokens: int, requests: int) -> int:
        """Cells that a step looks at: those of one slot, or of all where they share."""
        return padded(tokens * requests if self.unified(requests) else tokens, self.padding)

    def step_tokens(self, cells: int) -> int:
        """Tokens that one step computes: never more than there are cells."""
        return min(self.n_ubatch, cells)


def is_placed(settings: EngineSettings) -> bool:
    """Whether *settings* say what lies on cards; a switch that is off says nothing."""
    return any(settings.values[name] is not False for name in settings.given & PLACEMENT)


def padded(tokens: int, multiple: int) -> int:
    """*tokens* rounded up to a whole *multiple*."""
    return -(-tokens // multiple) * multiple


def options(deployment: Deployment) -> Options:
    """The settings of *deployment*, with every default in place."""
    settings = deployment.settings
    flash_attn = settings.text("flash_attn") != "off"
    extra, n_batch = settings.rule("window_extra"), settings.values["n_batch"]
    n_ubatch = min(settings.values["n_ubatch"], n_batch)
    unified = settings.flag("kv_unified")
    if unified is None and (not settings.rule("unified_by_default") or "n_parallel" in settings.given):
        unified = False
    has_window_cache = extra != "none" and not settings.flag("swa_full")
    drafts = settings.text("spec_type") == "draft-mtp"
    return Options(
        n_parallel=settings.values["n_parallel"],
        is_unified=unified,
        n_ubatch=n_ubatch,
        flash_attn=flash_attn,
        padding=settings.rule("context_padding")["on" if flash_attn else "off"],
        has_streams=settings.rule("streams"),
        window_extra_tokens={"n_batch": n_batch, "n_ubatch": n_ubatch}[extra] if has_window_cache else None,
        window_memory_tokens=settings.rule("window_memory"),
        drafts=drafts,
        states=settings.rule("kept_states") + (settings.values["spec_draft_n_max"] if drafts else 0),
    )


def margin_bytes(deployment: Deployment) -> int:
    """What has to stay free on each card for --fit to leave everything there; 0 where it has no say.

    It has none without a card or where the user placed a part of the model, and all runtime stated as one figure has
    the margin in it.
    Source: common/fit.cpp, common_params_fit_impl.
    """
    settings = deployment.settings
    if deployment.on_cpu or deployment.overhead_bytes is not None or is_placed(settings) or not settings.flag("fit"):
        return 0
    return settings.integer("fit_target") or 0


def check(architecture: Architecture, deployment: Deployment) -> None:
    """Refuses what llama.cpp has no way to do, and what of it is not counted here."""
    settings = deployment.settings
    if deployment.tensor_parallel > 1 or deployment.data_parallel > 1 or deployment.expert_parallel > 1:
        raise PlannerError(
            "llama.cpp gives every card whole layers: ask for several cards with --device-count or "
            "--pipeline-parallel alone."
        )
    if deployment.on_cpu and deployment.pipeline_parallel > 1:
        raise PlannerError(f"{deployment.device.title} is one machine: ask for one device, not several.")
    formats = deployment.kv_cache_k, deployment.kv_cache_v
    for cache_format in formats:
        if cache_format.name not in settings.rule("cache_formats"):
            known = ", ".join(settings.rule("cache_formats"))
            raise PlannerError(f"llama.cpp cannot keep its cache in {cache_format.name}; choose one of: {known}.")
    if settings.text("flash_attn") == "off" and not deployment.kv_cache_v.is_unquantized:
        raise PlannerError(
            f"llama.cpp needs flash attention for values in {deployment.kv_cache_v.name}: "
            "leave flash_attn at auto, or give --kv-cache-v fp16."
        )
    if settings.text("spec_type") == "draft-mtp" and not architecture.mtp_layers:
        raise PlannerError(f"{architecture.title} has no layers for multi-token prediction: leave spec_type out.")
    if settings.text("spec_type") == "draft-mtp" and not settings.values["spec_draft_n_max"]:
        raise PlannerError("spec_type=draft-mtp needs the number of drafted tokens: give --set spec_draft_n_max=2.")
    for mixer in (mixer for layer in architecture.layers for mixer in layer.mixers):
        if isinstance(mixer, CompressedAttention):
            raise PlannerError(f"llama.cpp's compressed caches of {architecture.title} are not counted yet.")
        if isinstance(mixer, Attention):
            _check_heads(mixer, *formats)


def _check_heads(attention: Attention, key_format: NumberFormat, value_format: NumberFormat) -> None:
    """A head must be whole blocks. Source: src/llama-context.cpp, llama_init_from_model."""
    widths = ((attention.head_dim, key_format), (attention.v_head_dim, value_format))
    for width, cache_format in widths:
        if width % cache_format.elements:
            raise PlannerError(
                f"llama.cpp cannot keep heads of {width} elements in {cache_format.name}, whose blocks have "
                f"{cache_format.elements}; choose fp16."
            )
