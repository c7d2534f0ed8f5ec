"""What opening a large checkpoint costs, headers alone: ``python -m bench.headers``.

58 layers of 256 experts in 163 shards, 89,000 tensors with their scales, as DeepSeek-V3 has them.
"""

import json
import tempfile
import time
import tracemalloc
from itertools import product
from pathlib import Path

from planner.readers.checkpoint.packed import weights
from planner.readers.safetensors import INDEX, read_safetensors

LAYERS, EXPERTS, SHARDS = 58, 256, 163
LIMIT_S, LIMIT_BYTES = 1.0, 4 * 2**20
KINDS = {"weight": ("F8_E4M3", (2048, 7168), 1), "weight_scale_inv": ("F32", (16, 56), 4)}


def write_checkpoint(folder: Path) -> int:
    """Headers over sparse bodies, and their index; returns how many tensors there are."""
    names = [
        (f"model.layers.{layer}.mlp.experts.{expert}.{projection}_proj.{part}", part)
        for layer, expert, projection, part in product(range(LAYERS), range(EXPERTS), ("gate", "up", "down"), KINDS)
    ]
    weight_map = {}
    for shard in range(SHARDS):
        file = f"model-{shard + 1:05}-of-{SHARDS:06}.safetensors"
        entries, end = {}, 0
        for name, part in names[shard::SHARDS]:
            dtype, (rows, columns), size = KINDS[part]
            start, end = end, end + rows * columns * size
            entries[name] = {"dtype": dtype, "shape": [rows, columns], "data_offsets": [start, end]}
            weight_map[name] = file
        text = json.dumps(entries, separators=(",", ":")).encode()
        with (folder / file).open("wb") as stream:
            stream.write(len(text).to_bytes(8, "little") + text)
            stream.truncate(8 + len(text) + end)
    (folder / INDEX).write_text(json.dumps({"weight_map": weight_map}, indent=2), encoding="utf-8")
    return len(names)


def parsed_only_s(folder: Path) -> float:
    """Seconds that a JSON parser alone takes for the same text."""
    start = time.process_time()
    for file in folder.iterdir():
        with file.open("rb") as stream:
            length = file.stat().st_size if file.name == INDEX else int.from_bytes(stream.read(8), "little")
            json.loads(stream.read(length))
    return time.process_time() - start


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        number = write_checkpoint(folder)
        start = time.process_time()
        kinds = sum(1 for _ in weights(read_safetensors(folder).groups))
        spent_s = time.process_time() - start
        tracemalloc.start()
        read_safetensors(folder)
        peak_bytes = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        print(
            f"{number:,} tensors of {kinds} kinds   {spent_s:5.2f} s, {spent_s / parsed_only_s(folder):.1f} × a JSON "
            f"parser alone; the aim is under {LIMIT_S:g} s\n"
            f"memory at its peak       {peak_bytes / 2**20:5.1f} MiB   the aim is under {LIMIT_BYTES / 2**20:g} MiB"
        )


if __name__ == "__main__":
    main()
