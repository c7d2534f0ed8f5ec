"""Recurrent mixers of one layer as ggml computes them: Mamba, Mamba-2, and the gated delta rule.

Source: https://github.com/ggml-org/llama.cpp/blob/3f545becc/src/models/mamba-base.cpp, delta-net-base.cpp and
qwen35.cpp.
"""

from planner.engines.llama_cpp.step.frame import FP32, Frame
from planner.engines.llama_cpp.step.graph import Node, result, stored, view, written
from planner.engines.llama_cpp.step.shapes import LayerShape

KINDS = frozenset({"mamba", "mamba2", "gated_delta_net"})
"""The kinds whose steps are known; another's counts with the feed-forward part alone."""


def recurrence(frame: Frame, shape: LayerShape, source: Node, device: int, cache: int) -> Node:
    mixed = {"mamba": _mamba, "mamba2": _mamba2, "gated_delta_net": _delta_net}[shape.recurrence]
    return frame.product(frame.hidden, mixed(frame, shape, source, device, cache), device, shape.bytes_of("state_out"))


def _state(frame: Frame, elements: int, cache: int) -> Node:
    """The states of the step's sequences, out of all that are kept."""
    sequences = frame.extent.sequences
    kept = stored(cache)
    states = result("get_rows", FP32 * elements * sequences, view(kept), frame.states)
    frame.graph.expand(states)
    return states


def _convolved(frame: Frame, shape: LayerShape, inputs: Node, cache: int) -> Node:
    """The inputs behind the columns that were kept of the last step, and what the convolution makes of them."""
    channels, tokens, sequences = shape.conv_channels, frame.tokens, frame.extent.sequences
    kept = _state(frame, channels * shape.conv_columns, cache)
    joined = result("concat", FP32 * channels * (tokens + sequences * shape.conv_columns), view(kept), view(inputs))
    frame.graph.expand(written(stored(cache), view(joined)))
    raw = result("ssm_conv", FP32 * channels * tokens, joined, stored(cache))
    return result("unary", raw.size, raw)


def _mamba(frame: Frame, shape: LayerShape, source: Node, device: int, cache: int) -> Node:
    tokens, sequences, inner = frame.tokens, frame.extent.sequences, shape.inner
    both = frame.product(shape.state_in, view(source), device, shape.bytes_of("state_in"))
    convolved = _convolved(frame, shape, view(both), cache)
    chosen = frame.product(shape.state_mid, convolved, device, shape.bytes_of("state_mid"))
    steps = frame.product(inner, view(chosen), device, shape.bytes_of("state_step"))
    steps = result("add", steps.size, steps, stored(device))
    size = FP32 * (inner * tokens + shape.state_elements * sequences)
    scanned = result("ssm_scan", size, stored(cache), view(convolved), steps, view(chosen), view(chosen))
    frame.graph.expand(scanned)
    frame.graph.expand(written(stored(cache), view(scanned)))
    skipped = result("mul", FP32 * inner * tokens, convolved, stored(device))
    added = result("add", FP32 * inner * tokens, view(scanned), skipped)
    gate = result("copy", FP32 * inner * tokens, view(both))
    return view(result("glu", FP32 * inner * tokens, gate, added))


def _mamba2(frame: Frame, shape: LayerShape, source: Node, device: int, cache: int) -> Node:
    tokens, sequences, inner = frame.tokens, frame.extent.sequences, shape.inner
    heads = shape.state_in - inner - shape.conv_channels
    everything = frame.product(shape.state_in, view(source), device, shape.bytes_of("state_in"))
    convolved = _convolved(frame, shape, view(everything), cache)
    steps = result("copy", FP32 * heads * tokens, view(everything))
    values = view(convolved)
    size = FP32 * (inner * tokens + shape.state_elements * sequences)
    scanned = result("ssm_scan", size, stored(cache), values, steps, view(convolved), view(convolved))
    frame.graph.expand(scanned)
    frame.graph.expand(written(stored(cache), view(scanned)))
    skipped = result("mul", FP32 * inner * tokens, values, stored(device))
    added = result("add", FP32 * inner * tokens, view(scanned), skipped)
    gate = result("copy", FP32 * inner * tokens, view(everything))
    gated = result("glu", FP32 * inner * tokens, gate, added)
    return view(frame.norm(view(gated), device, gated.size))


def _delta_net(frame: Frame, shape: LayerShape, source: Node, device: int, cache: int) -> Node:
    tokens, sequences, inner = frame.tokens, frame.extent.sequences, shape.inner
    keys = (shape.conv_channels - inner) // 2
    frame.graph.expand(source)
    mixed = frame.product(shape.conv_channels, source, device, shape.bytes_of("state_in"))
    gate = frame.product(inner, source, device, shape.bytes_of("state_gate"))
    convolved = _convolved(frame, shape, view(mixed), cache)
    state = view(_state(frame, shape.state_elements, cache))
    queries = result("l2_norm", FP32 * keys * tokens, view(convolved))
    normed = result("l2_norm", FP32 * keys * tokens, view(convolved))
    size = FP32 * (inner * tokens + shape.state_elements * sequences)
    found = result("delta_net", size, queries, normed, view(convolved), state)
    frame.graph.expand(written(stored(cache), view(found)))
    norm = frame.norm(view(found), device, FP32 * inner * tokens)
    gated = result("mul", norm.size, norm, result("unary", gate.size, view(gate)))
    return view(gated)
