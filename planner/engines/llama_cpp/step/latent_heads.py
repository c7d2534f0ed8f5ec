"""Latent attention as ik_llama.cpp computes it: keys and values of some heads at a time made of the latent, or not.

Source: https://github.com/ikawrakow/ik_llama.cpp/blob/18eeb4894/src/llama.cpp, build_deepseek2.
"""

from planner.engines.llama_cpp.placement import HOST
from planner.engines.llama_cpp.step.attention import latent_inputs
from planner.engines.llama_cpp.step.frame import FP16, FP32, Frame
from planner.engines.llama_cpp.step.graph import Node, result, stored, view, written
from planner.engines.llama_cpp.step.shapes import LayerShape
from planner.units import MIB

LEAST_TOKENS = 128
"""Of so many tokens on a step makes every head's keys and values, where ``-mla`` is 2 or 3."""


def latent_heads(frame: Frame, shape: LayerShape, source: Node, device: int, cache: int) -> Node:
    """*cache* keeps the latent; by ``-mla`` heads are made of it, or queries are brought into its space."""
    graph, rules = frame.graph, frame.rules
    tokens = frame.tokens
    queries, latent, (rotated_queries, rotated_key) = latent_inputs(frame, shape, source, device)
    kept = stored(cache)
    if rules.latent_copy:
        graph.expand(written(stored(cache), view(latent)))
    joined = result("concat", FP32 * tokens * (shape.rank + shape.rope), view(rotated_key), latent)
    graph.expand(written(kept, joined))
    if rules.mla_attn > 1 and frame.extent.flash and tokens >= LEAST_TOKENS:
        found = _by_heads(frame, shape, (queries, rotated_queries), kept, device)
    else:
        found = _absorbed(frame, shape, (queries, rotated_queries), kept, device)
    graph.expand(found)
    return frame.product(frame.hidden, found, device, shape.bytes_of("output"))


def _by_heads(frame: Frame, shape: LayerShape, made: tuple[Node, Node], kept: Node, device: int) -> Node:
    graph, extent = frame.graph, frame.extent
    tokens, cells = frame.tokens, extent.cells
    plain = shape.key_width - shape.rope
    heads = _heads_at_once(shape.heads, (plain + shape.value_width) * cells * FP32, frame.rules.max_batch_mib)

    def kept_bytes(width: int) -> int:
        # A card computes with 16 bits here whatever the cache has.
        return cells * heads * (FP16 * width if frame.has_card else extent.keys.bytes_for(width))

    latent = view(kept, cells * extent.keys.bytes_for(shape.rank))
    positions = view(kept, cells * extent.keys.bytes_for(shape.rope))
    if frame.has_card and not extent.keys.is_unquantized:
        positions = result("copy", FP16 * cells * shape.rope, positions)
    repeated = result("repeat", kept_bytes(shape.rope), positions)
    queries = view(result("concat", FP32 * tokens * shape.heads * shape.key_width, made[1], view(made[0])))
    graph.expand(queries)
    outputs = FP32 * tokens * heads * shape.value_width
    found: Node | None = None
    for number in range(1, shape.heads // heads + 1):
        both = frame.product(heads * (plain + shape.value_width), latent, device, tokens=cells)
        values = result("copy", kept_bytes(shape.value_width), view(both))
        unrotated = result("copy", kept_bytes(plain), view(both))
        keys = result("concat", kept_bytes(shape.key_width), repeated, unrotated)
        for node in (unrotated, values, keys):
            graph.expand(node)
        part = view(result("flash_attn", outputs, view(queries), keys, values, frame.mask(None)))
        # Nothing is asked for until the last: until then every part's keys and values stay.
        found = part if found is None else result("concat", number * outputs, found, part)
    assert found is not None
    return found


def _heads_at_once(heads: int, head_bytes: int, max_batch_mib: int) -> int:
    """All heads, or halved as often as it takes for their keys and values in 32 bit to keep within the bound."""
    size_mib = heads * head_bytes // MIB
    while max_batch_mib and size_mib > max_batch_mib and heads % 2 == 0:
        heads //= 2
        size_mib //= 2
    return heads


def _absorbed(frame: Frame, shape: LayerShape, made: tuple[Node, Node], kept: Node, device: int) -> Node:
    extent, rules = frame.extent, frame.rules
    tokens, heads, cells, rank = frame.tokens, shape.heads, extent.cells, shape.rank
    on = frame.computes_on(device)
    absorbed = result("mul_mat", FP32 * tokens * heads * rank, stored(device), view(view(made[0])), device=on)
    joined = result("concat", FP32 * tokens * heads * (rank + shape.rope), view(made[1]), absorbed)
    keys = view(kept, cells * extent.keys.bytes_for(rank + shape.rope))
    mixed_bytes = FP32 * tokens * rank
    if extent.flash and rules.mla_attn in (1, 3):
        mixed: Node = view(result("flash_attn", heads * mixed_bytes, joined, keys, view(keys), frame.mask(None)))
    else:
        values = view(stored(kept.device if kept.device is not None else HOST), cells * extent.keys.bytes_for(rank))
        if rules.mla_attn > 1:
            values = result("copy", cells * extent.keys.bytes_for(rank), view(kept))
        mixed = _scored(frame, (joined, keys, values), heads, mixed_bytes)
    expanded = result("mul_mat", FP32 * tokens * heads * shape.value_width, stored(device), mixed, device=on)
    return view(result("copy", expanded.size, view(expanded)))


def _scored(frame: Frame, made: tuple[Node, Node, Node], heads: int, mixed_bytes: int) -> Node:
    """Scores of all heads, or of so many at once that they keep within the bound."""
    queries, keys, values = made
    head_bytes = FP32 * frame.tokens * frame.extent.cells
    bound, size_mib = frame.rules.max_batch_mib, heads * head_bytes // MIB
    steps = 1 if bound <= 0 or bound >= size_mib else min(-(-size_mib // bound), heads)
    at_once = -(-heads // steps)
    found: Node | None = None
    for first in range(0, heads, at_once):
        now = min(at_once, heads - first)
        scores = result("mul_mat", now * head_bytes, keys, view(queries) if steps > 1 else queries)
        scores = result("soft_max", scores.size, scores, frame.mask(None))
        part = result("mul_mat", now * mixed_bytes, values, scores)
        found = part if found is None else result("concat", (first + now) * mixed_bytes, found, part)
        if steps > 1:
            frame.graph.expand(found)
    assert found is not None
    return found
