"""Attention of one layer as ggml computes it: keys and values by head, or one latent for all heads.

Source: https://github.com/ggml-org/llama.cpp/blob/3f545becc/src/llama-graph.cpp, build_attn, and
src/models/deepseek2.cpp.
"""

from planner.engines.llama_cpp.step.frame import FP16, FP32, Frame
from planner.engines.llama_cpp.step.graph import Node, result, stored, view, written
from planner.engines.llama_cpp.step.shapes import LayerShape


def attention(frame: Frame, shape: LayerShape, source: Node, device: int, cache: int) -> Node:
    """Queries, keys and values by head; *cache* is the device of the layer's cells."""
    tokens = frame.tokens
    width, outputs = shape.heads * shape.key_width, shape.heads * shape.value_width
    if shape.latent_in:
        queries, keys, values = _heads_of_latent(frame, shape, source, device)
        return _attend(frame, shape, (queries, keys, values, None), device, cache, outputs)
    kept = shape.kv_heads * shape.key_width, shape.kv_heads * shape.value_width
    if shape.is_joined:
        joined = frame.product(shape.queries + sum(kept), source, device, shape.bytes_of("queries"))
        parts = [view(joined), view(joined), view(joined)]
        if frame.rules.copies_joined:
            sizes = (width, *kept)
            parts = [result("copy", FP32 * tokens * size, part) for size, part in zip(sizes, parts, strict=True)]
        projected, made_keys, made_values = parts
    else:
        projected = frame.product(shape.queries, source, device, shape.bytes_of("queries"))
        made_keys = frame.product(kept[0], source, device, shape.bytes_of("keys"))
        made_values = frame.product(kept[1], source, device, shape.bytes_of("values"))
    # Biases, norms by head and scales come in the place of what they change, or of the rotation that follows.
    queries = result("rope", FP32 * tokens * width, view(projected), frame.positions)
    gate = result("copy", FP32 * tokens * width, view(projected)) if shape.queries > width else None
    if shape.shares_cache:
        return _attend(frame, shape, (queries, None, None, gate), device, cache, outputs)
    keys = result("rope", FP32 * tokens * kept[0], view(made_keys), frame.positions)
    return _attend(frame, shape, (queries, keys, view(made_values), gate), device, cache, outputs)


def _heads_of_latent(frame: Frame, shape: LayerShape, source: Node, device: int) -> tuple[Node, Node, Node]:
    """Every head's keys and values made of a latent that is not kept."""
    tokens, heads = frame.tokens, shape.heads
    rope = shape.key_width + shape.value_width - shape.expanded // heads
    projected = source
    if shape.queries_a:
        projected = frame.norm(frame.product(shape.queries_a, source, device, shape.bytes_of("queries_a")), device)
    queries = frame.product(shape.queries, projected, device, shape.bytes_of("queries"))
    both = frame.product(shape.latent_in, source, device, shape.bytes_of("latent"))
    rotated = result("rope", FP32 * tokens * heads * rope, view(queries), frame.positions)
    rotated_key = result("rope", FP32 * tokens * rope, view(both), frame.positions)
    latent = frame.norm(view(both), device, FP32 * tokens * (shape.latent_in - rope))
    expanded = frame.product(shape.expanded, latent, device, shape.bytes_of("expand"))
    values = view(result("copy", FP32 * tokens * heads * shape.value_width, view(expanded)))
    joined = result("concat", FP32 * tokens * heads * shape.key_width, view(queries), rotated)
    repeated = result("repeat", FP32 * tokens * heads * rope, rotated_key, rotated)
    keys = result("concat", FP32 * tokens * heads * shape.key_width, view(expanded), repeated)
    return joined, keys, values


def _attend(
    frame: Frame,
    shape: LayerShape,
    made: tuple[Node, Node | None, Node | None, Node | None],
    device: int,
    cache: int,
    outputs: int,
) -> Node:
    queries, keys, values, gate = made
    turns_keys, turns_values = _turns(frame, shape)
    if keys is not None and values is not None:
        if turns_keys:
            queries, keys = (frame.rotated(node, "keys", turns_keys) for node in (queries, keys))
        if turns_values:
            values = frame.rotated(values, "values", turns_values)
    tokens, graph, extent = frame.tokens, frame.graph, frame.extent
    cells = extent.cells_of(shape.window_tokens)
    graph.expand(queries)
    stored_keys, stored_values = stored(cache), stored(cache)
    if keys is not None and values is not None:
        graph.expand(values)
        graph.expand(keys)
        per_value = 1 if extent.flash else shape.kv_heads * shape.value_width
        graph.expand(written(stored_keys, view(keys), *frame.slots(shape.window_tokens, "keys")))
        graph.expand(written(stored_values, view(values), *frame.slots(shape.window_tokens, "values", per_value)))
    rows = cells * extent.streams
    seen_keys = view(stored_keys, rows * extent.keys.bytes_for(shape.kv_heads * shape.key_width))
    seen_values = view(stored_values, rows * extent.values.bytes_for(shape.kv_heads * shape.value_width))
    mask = frame.mask(shape.window_tokens)
    if extent.flash:
        size = FP32 * tokens * outputs
        if frame.rules.copies_cache and frame.has_card:
            size += FP16 * rows * shape.kv_heads * (shape.key_width + shape.value_width)
        found = view(result("flash_attn", size, view(queries), seen_keys, seen_values, mask))
    else:
        scores = result("mul_mat", FP32 * tokens * shape.heads * cells, seen_keys, view(queries))
        scores = result("soft_max", scores.size, scores, mask)
        mixed = result("mul_mat", FP32 * tokens * outputs, seen_values, scores)
        found = result("copy", FP32 * tokens * outputs, view(mixed))
    graph.expand(found)
    if turns_values:
        found = frame.rotated(found, "values", turns_values)
    if gate is not None:
        found = result("mul", FP32 * tokens * outputs, found, result("unary", gate.size, gate))
    return frame.product(frame.hidden, found, device, shape.bytes_of("output"))


def _turns(frame: Frame, shape: LayerShape) -> tuple[int, int]:
    """The widths of the matrices that turn keys and values before they are quantised, 0 where none does.

    Keys: the largest power of two in a head; values: 64. Source: src/llama-kv-cache.cpp, build_input_k_rot.
    """
    if not frame.rules.rotates_cache:
        return 0, 0
    extent, least = frame.extent, 64
    keys = 0 if extent.keys.is_unquantized or shape.key_width % least else shape.key_width & -shape.key_width
    values = 0 if extent.values.is_unquantized or shape.value_width % least else least
    return keys, values


def latent_attention(frame: Frame, shape: LayerShape, source: Node, device: int, cache: int) -> Node:
    """Queries brought into the latent's space, so that one key and value a cell serves all heads."""
    tokens, graph, extent = frame.tokens, frame.graph, frame.extent
    heads, rank, rope = shape.heads, shape.rank, shape.rope
    queries, latent, rotated = latent_inputs(frame, shape, source, device)
    absorbed = result(
        "mul_mat",
        FP32 * tokens * heads * rank,
        stored(device, shape.bytes_of("expand_keys")),
        view(view(queries)),
        device=frame.computes_on(device),
    )
    joined = result("concat", FP32 * tokens * heads * (rank + rope), view(absorbed), rotated[0])
    latent = view(latent)
    key = result("concat", FP32 * tokens * (rank + rope), latent, rotated[1])
    for node in (joined, latent, key):
        graph.expand(node)
    stored_keys = stored(cache)
    graph.expand(written(stored_keys, view(key), *frame.slots(None, "keys")))
    cells = extent.cells
    rows = cells * extent.streams
    seen_keys = view(stored_keys, rows * extent.keys.bytes_for(rank + rope))
    mask = frame.mask(None)
    outputs = heads * shape.value_width
    expand = stored(device, shape.bytes_of("expand_values"))
    on = frame.computes_on(device)
    if extent.flash:
        mixed = result("flash_attn", FP32 * tokens * heads * rank, view(joined), seen_keys, view(seen_keys), mask)
        expanded = result("mul_mat", FP32 * tokens * outputs, expand, view(mixed), device=on)
        found = view(result("copy", FP32 * tokens * outputs, view(expanded)))
    else:
        scores = result("mul_mat", FP32 * tokens * heads * cells, seen_keys, view(joined))
        scores = result("soft_max", scores.size, scores, mask)
        if frame.rules.latent_copy:
            values: Node = view(stored(cache), rows * extent.values.bytes_for(rank))
        else:
            values = result("copy", rows * extent.keys.bytes_for(rank), view(seen_keys))
        mixed = result("mul_mat", FP32 * tokens * heads * rank, values, scores)
        expanded = result("mul_mat", FP32 * tokens * outputs, expand, mixed, device=on)
        found = result("copy", FP32 * tokens * outputs, view(expanded))
    graph.expand(found)
    return frame.product(frame.hidden, found, device, shape.bytes_of("output"))


def latent_inputs(frame: Frame, shape: LayerShape, source: Node, device: int) -> tuple[Node, Node, tuple[Node, Node]]:
    """Queries, the latent, and the rotated parts of both."""
    tokens = frame.tokens
    projected = source
    if shape.queries_a:
        projected = frame.norm(frame.product(shape.queries_a, source, device, shape.bytes_of("queries_a")), device)
    queries = frame.product(shape.queries, projected, device, shape.bytes_of("queries"))
    both = frame.product(shape.rank + shape.rope, source, device, shape.bytes_of("latent"))
    rotated_queries = result("rope", FP32 * tokens * shape.heads * shape.rope, view(queries), frame.positions)
    rotated_key = result("rope", FP32 * tokens * shape.rope, view(both), frame.positions)
    latent = frame.norm(view(both), device, FP32 * tokens * shape.rank)
    return queries, latent, (rotated_queries, rotated_key)
