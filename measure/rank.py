"""One rank of a tensor-parallel run, started by torchrun: reads its own shards and cache and writes them as JSON.

``python -m torch.distributed.run --nproc-per-node N -m measure.rank FOLDER OUT DTYPE BATCH TOKENS``
"""

import json
import sys
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from measure.models import TORCH_DTYPES
from measure.tensors import cache_of, held_tensors, tensor_bytes


def main(folder: str, out: str, dtype: str, batch: str, tokens: str) -> None:
    from transformers import AutoModelForCausalLM
    from transformers.distributed import DistributedConfig

    parallel = DistributedConfig(tp_plan="auto")
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=TORCH_DTYPES[dtype], distributed_config=parallel)
    if not dist.is_initialized():  # a single rank: the library has nothing to split
        dist.init_process_group()
    number = dist.get_rank()
    reading: dict[str, Any] = {
        "rank": number,
        "backend": dist.get_backend(),
        "weights_bytes": tensor_bytes(_local(parameter) for parameter in model.parameters()),
    }
    try:
        prompt = torch.ones((int(batch), int(tokens)), dtype=torch.long, device=model.device)
        with torch.no_grad():
            output = model(input_ids=prompt, use_cache=True, logits_to_keep=1)
        reading["cache_bytes"] = tensor_bytes(map(_local, held_tensors(cache_of(output))))
    except (RuntimeError, ValueError) as error:  # what the library does not split stays a reading, with its reason
        reading |= {"cache_bytes": None, "reason": str(error).partition("\n")[0]}
    (Path(out) / f"{number}.json").write_text(json.dumps(reading), encoding="utf-8")
    dist.destroy_process_group()


def _local(tensor: torch.Tensor) -> torch.Tensor:
    """This rank's part of a sharded tensor."""
    return tensor.to_local() if hasattr(tensor, "to_local") else tensor


if __name__ == "__main__":
    main(*sys.argv[1:])
