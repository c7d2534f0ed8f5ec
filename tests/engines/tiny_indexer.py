"""A small DeepSeek-V3.2 model that llama.cpp loads: latent attention behind an indexer; its weights are zeros."""

from pathlib import Path

from tests.engines.tiny_models import HEADS, WIDTH, Block, deepseek2, latent
from tests.readers.gguf_files import F16, F32, write

RANK, QUERY = 96, 64
INDEX_HEADS, INDEX = 4, 64


def block(experts: int) -> Block:
    found = dict(latent(experts))
    del found["attn_q.weight"]
    found |= {
        "attn_q_a.weight": (F16, (WIDTH, RANK)),
        "attn_q_a_norm.weight": (F32, (RANK,)),
        "attn_q_b.weight": (F16, (RANK, HEADS * QUERY)),
        "indexer.k_norm.weight": (F32, (INDEX,)),
        "indexer.k_norm.bias": (F32, (INDEX,)),
        "indexer.proj.weight": (F16, (WIDTH, INDEX_HEADS)),
        "indexer.attn_k.weight": (F16, (WIDTH, INDEX)),
        "indexer.attn_q_b.weight": (F16, (RANK, INDEX_HEADS * INDEX)),
    }
    return found | ({"exp_probs_b.bias": (F32, (experts,))} if experts else {})


def write_indexed(folder: Path) -> Path:
    keys, tensors = deepseek2()
    named: dict[str, object] = {key.replace("deepseek2.", "deepseek32."): value for key, value in keys.items()}
    named |= {
        "general.architecture": "deepseek32",
        "deepseek32.attention.q_lora_rank": RANK,
        "deepseek32.attention.indexer.head_count": INDEX_HEADS,
        "deepseek32.attention.indexer.key_length": INDEX,
        "deepseek32.attention.indexer.top_k": 128,
        "deepseek32.expert_group_count": 1,
        "deepseek32.expert_group_used_count": 1,
        "deepseek32.expert_gating_func": 2,
        "deepseek32.expert_weights_norm": True,
    }
    found = {name: made for name, made in tensors.items() if not name.startswith("blk.")}
    for index, experts in enumerate((0, 8, 8)):
        found |= {f"blk.{index}.{name}": made for name, made in block(experts).items()}
    path = folder / "deepseek32.gguf"
    write(path, named, found)  # type: ignore[arg-type]
    return path
