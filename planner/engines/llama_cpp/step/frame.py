"""What every part of a step's graph is built with: how many tokens and cells, by which rules, and on which devices."""

from planner.engines.llama_cpp.placement import HOST
from planner.engines.llama_cpp.step.graph import Graph, Node, given, result, stored, view
from planner.formats import NumberFormat
from planner.records import dataclass

FP32, FP16 = 4, 2
INDEX = 8
OFFLOADED_TOKENS = 32
"""A card multiplies with what lies in main memory from so many tokens on. Source: ggml-cuda.cu, offload_op."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """How a version builds a step.

    *latent* is ``absorbed``, or ``mla_attn`` of a fork whose setting of that name says more; *latent_copy*: values are
    kept beside it. *embedding_inputs* are the ways besides tokens to hand over a prompt. *gate_takes_place*: the gate's
    product lies where the gate was. *casts_mask*: flash attention's mask is handed over in 32 bit. *max_batch_mib*
    bounds what one product of keys and queries takes, unless 0. *fuses_experts*: gate and up are one operation.
    *copies_joined*: queries, keys and values are copied out of one product. *fuses_norm*: a norm and its weight are
    one. *copies_cache*: a card's flash attention makes a 16-bit copy of a quantised cache. *has_indices*: where keys
    and values go is handed over as indices. *rotates_cache*: what a quantised cache keeps is turned by a matrix first.
    *stages_experts*: a card copies experts from main memory, if *shares_experts* only where each is used by enough
    tokens.
    """

    latent: str
    mla_attn: int
    latent_copy: bool
    embedding_inputs: int
    gate_takes_place: bool
    casts_mask: bool
    max_batch_mib: int
    fuses_experts: bool
    copies_cache: bool
    copies_joined: bool
    fuses_norm: bool
    has_indices: bool
    rotates_cache: bool
    stages_experts: bool
    shares_experts: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """One step: *tokens* of *sequences* over *cells* of the cache, *window_cells* of each window, *outputs* of logits.

    *streams* are the caches beside each other, of *cells* each.
    """

    tokens: int
    sequences: int
    streams: int
    cells: int
    window_cells: tuple[tuple[int, int], ...]
    outputs: int
    flash: bool
    keys: NumberFormat
    values: NumberFormat

    def cells_of(self, window_tokens: int | None) -> int:
        return next((cells for window, cells in self.window_cells if window == window_tokens), self.cells)


class Frame:
    """A graph in the making, with the step's inputs. *has_card*: what lies in main memory may be copied to a card."""

    def __init__(self, extent: Extent, rules: Rules, hidden: int, has_card: bool) -> None:
        self.extent, self.rules, self.hidden = extent, rules, hidden
        self.graph = Graph()
        self.tokens = extent.tokens
        self.has_card = has_card
        self.positions = given(4 * extent.tokens)
        self.states = given(4 * extent.sequences)
        self._masks: dict[bool, Node] = {}
        self._slots: dict[tuple[bool, str], Node] = {}
        self._rotations: dict[str, Node] = {}

    def computes_on(self, device: int) -> int:
        """Where a product with a weight on *device* is computed."""
        return 0 if device == HOST and self.has_card and self.tokens >= OFFLOADED_TOKENS else device

    def product(self, rows: int, source: Node, device: int, weight_bytes: int = 0, tokens: int | None = None) -> Node:
        """*source* times a matrix of so many *rows* that lies on *device*."""
        size = FP32 * rows * (self.tokens if tokens is None else tokens)
        return result("mul_mat", size, stored(device, weight_bytes), source, device=self.computes_on(device))

    def norm(self, source: Node, device: int, size: int | None = None) -> Node:
        """Scaled by its mean square and a weight: one result, the second in the first's place."""
        size = source.size if size is None else size
        on = self.computes_on(device)
        if self.rules.fuses_norm:
            return result("fused_norm", size, source, stored(device), device=on)
        return result("mul", size, result("rms_norm", size, source, device=on), stored(device), device=on)

    def mask(self, window_tokens: int | None) -> Node:
        """Which cells each token may look at; 16 bits with flash attention, made of 32 in older versions."""
        key = window_tokens is not None
        if key not in self._masks:
            # A token of one sequence looks at its own stream alone.
            elements = self.tokens * self.extent.cells_of(window_tokens)
            is_half = self.extent.flash and not self.rules.casts_mask
            mask = given((FP16 if is_half else FP32) * elements)
            if self.extent.flash and self.rules.casts_mask:
                mask = result("copy", FP16 * elements, mask)
            self._masks[key] = mask
        return self._masks[key]

    def slots(self, window_tokens: int | None, kind: str, elements: int = 1) -> tuple[Node, ...]:
        """Which cells the step's keys or values go to: one index a token, or one for each of its *elements*."""
        if not self.rules.has_indices:
            return ()
        key = (window_tokens is not None, kind)
        if key not in self._slots:
            self._slots[key] = given(INDEX * self.tokens * elements)
        return (self._slots[key],)

    def rotated(self, source: Node, kind: str, width: int) -> Node:
        """*source* times a square matrix of *width*, one input of the step for each *kind*."""
        if kind not in self._rotations:
            self._rotations[kind] = given(FP32 * width * width)
        return view(result("mul_mat", source.size, self._rotations[kind], view(source)))
