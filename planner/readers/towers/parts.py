"""Building blocks of towers: each part is a tensor's name, rows, columns and how many there are of it."""

from collections.abc import Iterator

from planner.readers.values import Values

Parts = Iterator[tuple[str, int, int, int]]


def linear(name: str, rows: int, columns: int, count: int = 1, bias: bool = True) -> Parts:
    """A projection, or a convolution by its flattened kernel, with its bias."""
    yield f"{name}.weight", rows, columns, count
    if bias:
        yield f"{name}.bias", 1, rows, count


def norm(name: str, size: int, count: int = 1, bias: bool = True) -> Parts:
    """A normalisation's weight and, for LayerNorm, its bias."""
    yield f"{name}.weight", 1, size, count
    if bias:
        yield f"{name}.bias", 1, size, count


def attention(name: str, hidden: int, count: int, qkv_bias: bool = True, out_bias: bool = True, kv: int = 0) -> Parts:
    """Four projections of *hidden*; keys and values are *kv* wide where they are narrower."""
    for projection, rows in (("q_proj", hidden), ("k_proj", kv or hidden), ("v_proj", kv or hidden)):
        yield from linear(f"{name}.{projection}", rows, hidden, count, qkv_bias)
    yield from linear(f"{name}.o_proj", hidden, hidden, count, out_bias)


def gated(name: str, hidden: int, intermediate: int, count: int, bias: bool) -> Parts:
    """A gated feed-forward part."""
    yield from linear(f"{name}.gate_proj", intermediate, hidden, count, bias)
    yield from linear(f"{name}.up_proj", intermediate, hidden, count, bias)
    yield from linear(f"{name}.down_proj", hidden, intermediate, count, bias)


def two_layers(name: str, hidden: int, intermediate: int, out: int, count: int = 1, bias: bool = True) -> Parts:
    """Two projections with a non-linearity between: a plain feed-forward part, or a projector."""
    yield from linear(f"{name}.fc1", intermediate, hidden, count, bias)
    yield from linear(f"{name}.fc2", out, intermediate, count, bias)


def encoder(name: str, hidden: int, intermediate: int, count: int) -> Parts:
    """The usual pre-norm encoder layer: LayerNorm, a plain feed-forward part, biases everywhere."""
    yield from attention(f"{name}.self_attn", hidden, count)
    yield from two_layers(f"{name}.mlp", hidden, intermediate, hidden, count)
    yield from norm(f"{name}.layer_norm1", hidden, count)
    yield from norm(f"{name}.layer_norm2", hidden, count)


def patches(tower: Values) -> int:
    """How many patches the image has: positions to embed."""
    return (tower.integer("image_size") // tower.integer("patch_size")) ** 2


def pixels(tower: Values, frames: int = 1) -> int:
    """Values of one patch: the columns of the patch embedding. *frames* are taken together in video."""
    patch = tower.integer("patch_size")
    return (tower.optional_integer("num_channels") or 3) * frames * patch * patch
