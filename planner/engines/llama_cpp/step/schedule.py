"""Where each node of a step is computed, what is copied from one device to another, and how much memory that takes.

Source: https://github.com/ggml-org/llama.cpp/blob/3f545becc/ggml/src/ggml-backend.cpp, ggml_backend_sched_split_graph,
and ggml-alloc.c, ggml_gallocr_alloc_graph_impl.
"""

from collections.abc import Mapping

from planner.engines.llama_cpp.placement import HOST
from planner.engines.llama_cpp.step.arena import Arena
from planner.engines.llama_cpp.step.graph import Graph, Node

IN_PLACE = frozenset({"add", "mul", "div", "scale", "unary", "rope", "rms_norm", "soft_max", "fill"})
"""Operations whose result may take the place of a source that nothing else needs."""
ALIGNMENT_BYTES = 128


def peaks(graph: Graph, copies: int = 1) -> Mapping[int, int]:
    """Bytes of every device's arena. With several *copies* of its inputs one card can work ahead of the next."""
    _assign(graph)
    program, first = _split(graph, copies)
    return _allocate(program, [*first, *graph.leaves])


def _assign(graph: Graph) -> None:
    """A device for each node that has none: its neighbour's, a card's before the host's."""
    nodes = [node for node in graph.nodes if node.operation != "view"]
    for order in (nodes, nodes[::-1]):
        device: int | None = None
        for node in order:
            if node.device is None:
                node.device = device
            else:
                device = None if node.device == HOST else node.device
    for order in (nodes, nodes[::-1]):
        device = None
        for node in order:
            if node.device is None:
                node.device = device
            device = node.device
    for node in graph.nodes:
        if node.device is None:
            node.device = node.root.device if node.root is not None else HOST


def _split(graph: Graph, copies: int) -> tuple[list[Node], list[Node]]:
    """Nodes with the copies that each run of one device needs before it, and inputs that lie there from the first.

    A new run starts where the device changes and, so that copied weights can be overwritten, before each weight of
    another device.
    """
    runs: list[tuple[list[Node], list[Node]]] = [([], [])]
    made: dict[tuple[int, int], Node] = {}
    first: list[Node] = []
    device: int | None = None
    for node in graph.nodes:
        if node.operation != "view":
            brings = any(source.stored and source.size and source.device != node.device for source in node.sources)
            if device is not None and (node.device != device or (brings and runs[-1][0])):
                runs.append(([], []))
            device = _known(node.device)
            for index, source in enumerate(node.sources):
                if copies > 1 and source.is_input and (id(source), HOST) not in made:
                    made[id(source), HOST] = source
                    source.lasts = True
                    first += [_lasting(source, HOST) for _ in range(copies - 1)]
                if source.device == device or not source.size:
                    continue
                if (id(source), device) not in made:
                    copy = Node("", source.size, source.shape, device=device)
                    if copies > 1:
                        copy.is_input = copy.lasts = True
                        first += [copy, *(_lasting(source, device) for _ in range(copies - 1))]
                    made[id(source), device] = copy
                    # What is copied stays until that is done.
                    runs[-1][0].extend((Node("dependency", 0, sources=(source,), root=source), copy))
                node.sources[index] = made[id(source), device]
        runs[-1][1].append(node)
    return [node for inputs, run in runs for node in (*inputs, *run)], first


def _known(device: int | None) -> int:
    assert device is not None
    return device


def _lasting(source: Node, device: int) -> Node:
    copy = Node("", source.size, device=device, is_input=True)
    copy.lasts = True
    return copy


def _allocate(program: list[Node], leaves: list[Node]) -> dict[int, int]:
    arenas: dict[int, Arena] = {}

    def place(node: Node) -> None:
        node.waits, node.lies = False, True
        if node.operation in IN_PLACE:
            for source in node.sources:
                if source.lies and source.children == 1 and not source.views and source.shape == node.shape:
                    node.offset, source.lies = source.offset, False
                    return
        node.offset = arenas.setdefault(_known(node.device), Arena(ALIGNMENT_BYTES)).take(node.size)

    def free(node: Node) -> None:
        if node.lies and not node.lasts:
            arenas[_known(node.device)].give_back(node.offset, node.size)
            node.lies = False

    for node in leaves:
        if node.waits:
            place(node)
    for node in program:
        if node.root is not None and node.operation != "dependency":
            node.root.views += 1
        for source in node.sources:
            source.children += 1
            if source.is_input and source.waits:
                place(source)
    for node in program:
        for source in node.sources:
            if source.waits:
                place(source)
        if node.waits:
            place(node)
        for source in node.sources:
            source.children -= 1
            if source.children or source.views:
                continue
            root = source.root
            if root is None:
                free(source)
                continue
            root.views -= 1
            if not root.views and not root.children:
                free(root)
    return {device: arena.peak_bytes for device, arena in arenas.items()}
