"""The feed-forward part of one layer as ggml computes it: dense, or experts with what is shared beside them.

Source: https://github.com/ggml-org/llama.cpp/blob/3f545becc/src/llama-graph.cpp, build_ffn and build_moe_ffn.
"""

from planner.engines.llama_cpp.placement import HOST
from planner.engines.llama_cpp.step.frame import FP32, OFFLOADED_TOKENS, Frame
from planner.engines.llama_cpp.step.graph import Node, result, stored, view
from planner.engines.llama_cpp.step.shapes import LayerShape


def feed_forward(frame: Frame, shape: LayerShape, source: Node, tokens: int, device: int, experts: int) -> Node:
    """What a layer adds after its attention; *experts* is the device of their matrices."""
    if not shape.experts:
        return _dense(frame, shape, source, tokens, device, "")
    found = _experts(frame, shape, source, tokens, device, experts)
    for side in ("shared_", ""):
        if shape.shared_width if side else shape.intermediate:
            beside = _dense(frame, shape, source, tokens, device, side)
            found = result("add", found.size, found, beside)
    return found


def _dense(frame: Frame, shape: LayerShape, source: Node, tokens: int, device: int, side: str) -> Node:
    width = shape.shared_width if side else shape.intermediate
    if shape.is_merged and not side:
        return frame.product(
            frame.hidden, _merged(frame, shape, source, tokens, device), device, shape.bytes_of("ffn_down"), tokens
        )
    up = frame.product(width, source, device, shape.bytes_of(f"{side}ffn_up"), tokens)
    if shape.is_gated:
        gate = frame.product(width, source, device, shape.bytes_of(f"{side}ffn_gate"), tokens)
        if frame.rules.gate_takes_place:
            inner = result("mul", gate.size, result("unary", gate.size, gate), up)
        else:
            inner = result("glu", gate.size, gate, up)
    else:
        inner = result("unary", up.size, up)
    return frame.product(frame.hidden, inner, device, shape.bytes_of(f"{side}ffn_down"), tokens)


def _merged(frame: Frame, shape: LayerShape, source: Node, tokens: int, device: int) -> Node:
    """Gate and up in one product, each half of it taken out where the gate's product has no place of its own."""
    both = frame.product(2 * shape.intermediate, source, device, shape.bytes_of("ffn_up"), tokens)
    size = FP32 * tokens * shape.intermediate
    if not frame.rules.gate_takes_place:
        return result("glu", size, both)
    gate, up = result("copy", size, view(both)), result("copy", size, view(both))
    return result("mul", size, result("unary", size, gate), up)


def _experts(frame: Frame, shape: LayerShape, source: Node, tokens: int, device: int, experts: int) -> Node:
    graph, used = frame.graph, shape.used
    scores = frame.product(shape.experts, source, device, 0, tokens)
    chances = result("unary", scores.size, scores)
    ranked = result("add", scores.size, chances, stored(device)) if shape.has_expert_bias else chances
    chosen = view(result("argsort", scores.size, ranked))
    weights = result("get_rows", FP32 * tokens * used, view(chances), chosen)
    graph.expand(weights)
    on = _computes_on(frame, shape, tokens, experts)

    def product(part: str, rows: int, by: Node) -> Node:
        weight = stored(experts, shape.bytes_of(f"experts_{part}"))
        return result("mul_mat_id", FP32 * tokens * used * rows, weight, by, chosen, device=on)

    rows = view(source)
    if frame.rules.fuses_experts:
        weight = stored(experts, shape.bytes_of("experts_ffn_up") + shape.bytes_of("experts_ffn_gate"))
        inner = result("glu", FP32 * tokens * used * shape.expert_width, weight, rows, chosen, device=on)
    else:
        up = product("ffn_up", shape.expert_width, rows)
        gate = product("ffn_gate", shape.expert_width, rows)
        if frame.rules.gate_takes_place:
            inner = result("mul", gate.size, result("unary", gate.size, gate), up)
        else:
            inner = result("glu", gate.size, gate, up)
    outputs = product("ffn_down", frame.hidden, inner)
    outputs = result("mul", outputs.size, outputs, weights)
    graph.expand(outputs)
    size = FP32 * tokens * frame.hidden
    found = result("add" if used > 1 else "copy", size, *[view(outputs, size) for _ in range(min(used, 2))])
    graph.expand(found)
    for _ in range(used - 2):
        found = result("add", size, found, view(outputs, size))
        graph.expand(found)
    return found


def _computes_on(frame: Frame, shape: LayerShape, tokens: int, experts: int) -> int:
    """The experts' device; a card for those in main memory where a step copies them."""
    if experts != HOST or not frame.has_card or not frame.rules.stages_experts:
        return experts
    least = OFFLOADED_TOKENS * shape.experts // shape.used if frame.rules.shares_experts else OFFLOADED_TOKENS
    return 0 if tokens >= least else experts
