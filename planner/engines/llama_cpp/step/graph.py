"""A step as ggml has it: results, inputs, weights and views, in the order in which they are computed.

Source: https://github.com/ggml-org/llama.cpp/blob/3f545becc/ggml/src/ggml.c, ggml_build_forward_expand.
"""

from planner.engines.llama_cpp.placement import HOST


class Node:
    """One tensor of *size* bytes and *shape*. *sources* are what it is computed from, in ggml's order.

    *root* is the tensor that a view looks into. *operation* is empty for what a step finds there: inputs, which lie in
    the arena, and what is *stored*, weights and caches, which do not. *device*: where it must be, ``None`` where the
    scheduler decides. *lasts*: nothing may take its place.

    *placed*: the graph has it. While memory is handed out, one that *waits* has none yet, *children* and *views* count
    what still needs the node, and *offset* is where it *lies*.
    """

    __slots__ = (
        "children", "device", "is_input", "lasts", "lies", "offset", "operation", "placed", "root", "shape", "size",
        "sources", "stored", "views", "waits",
    )  # fmt: skip

    def __init__(
        self,
        operation: str,
        size: int,
        shape: object = None,
        sources: tuple["Node", ...] = (),
        root: "Node | None" = None,
        device: int | None = None,
        stored: bool = False,
        is_input: bool = False,
    ) -> None:
        self.operation = operation
        self.size = size
        self.shape = shape
        self.sources = list(sources)
        self.root = root
        self.device = device
        self.stored = stored
        self.is_input = is_input
        self.lasts = self.lies = self.placed = False
        self.waits = not stored and root is None
        self.children = self.views = self.offset = 0


class Graph:
    """Nodes in the order of computation: each after its sources, as they are asked for."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.leaves: list[Node] = []

    def expand(self, node: Node) -> None:
        """Puts *node* next, after whatever of its sources is not there yet."""
        # Recursion ends with the layer: what came before is written into its cache, and so is there.
        if node.placed:
            return
        node.placed = True
        for source in node.sources:
            if not source.placed:
                self.expand(source)
        (self.nodes if node.operation else self.leaves).append(node)


def given(size: int) -> Node:
    """An input of the step, written from the host before it starts."""
    return Node("", size, is_input=True, device=HOST)


def stored(device: int, size: int = 0) -> Node:
    """A weight or a cache on *device*; *size* is what a copy of it takes on another."""
    return Node("", size, stored=True, device=device)


def result(operation: str, size: int, *sources: Node, shape: object = None, device: int | None = None) -> Node:
    """What *operation* makes of *sources*. Equal *shape* and size let it take a source's place."""
    return Node(operation, size, (size, shape), sources, device=device)


def view(source: Node, size: int | None = None) -> Node:
    """Another look at *source*: reshaped, permuted or a part of it. *size* is what a copy on another device takes."""
    return Node("view", source.size if size is None else size, sources=(source,), root=source.root or source)


def written(target: Node, *sources: Node) -> Node:
    """*sources* written into *target*, which the node is a view of from then on."""
    return Node("write", 0, sources=sources, root=target.root or target, device=target.device)
