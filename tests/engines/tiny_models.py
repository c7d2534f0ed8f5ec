"""Small GGUF models that llama.cpp loads, one a kind of cache; their weights are zeros."""

from collections.abc import Callable, Mapping
from pathlib import Path

from tests.readers.gguf_files import F16, F32, Keys, Shapes, write

WIDTH, WORDS, CONTEXT = 256, 512, 8192
HEADS, KEY_VALUE_HEADS, HEAD = 8, 2, 32
INNER = 512
STATE = {
    "ssm.conv_kernel": 4, "ssm.inner_size": 512, "ssm.state_size": 64, "ssm.time_step_rank": 8, "ssm.group_count": 1,
}  # fmt: skip

Block = Mapping[str, tuple[int, tuple[int, ...]]]


def attention(width: int = WIDTH, inner: int = INNER) -> Block:
    queries, keys = width, width * KEY_VALUE_HEADS // HEADS
    return {
        "attn_norm.weight": (F32, (width,)),
        "attn_q.weight": (F16, (width, queries)),
        "attn_k.weight": (F16, (width, keys)),
        "attn_v.weight": (F16, (width, keys)),
        "attn_output.weight": (F16, (queries, width)),
        **feed_forward(width, inner),
    }


def feed_forward(width: int = WIDTH, inner: int = INNER) -> Block:
    return {
        "ffn_norm.weight": (F32, (width,)),
        "ffn_gate.weight": (F16, (width, inner)),
        "ffn_up.weight": (F16, (width, inner)),
        "ffn_down.weight": (F16, (inner, width)),
    }


def state_space() -> Block:
    channels = 512 + 2 * 64
    return {
        "attn_norm.weight": (F32, (WIDTH,)),
        "ssm_in.weight": (F16, (WIDTH, 512 + channels + 8)),
        "ssm_conv1d.weight": (F32, (4, channels)),
        "ssm_conv1d.bias": (F32, (channels,)),
        "ssm_dt.bias": (F32, (8,)),
        "ssm_a": (F32, (1, 8)),
        "ssm_d": (F32, (1, 8)),
        "ssm_norm.weight": (F32, (512, 1)),
        "ssm_out.weight": (F16, (512, WIDTH)),
    }


def first_state_space() -> Block:
    channels, state, rank = 512, 16, 16
    return {
        "attn_norm.weight": (F32, (WIDTH,)),
        "ssm_in.weight": (F16, (WIDTH, 2 * channels)),
        "ssm_conv1d.weight": (F32, (4, channels)),
        "ssm_conv1d.bias": (F32, (channels,)),
        "ssm_x.weight": (F16, (channels, rank + 2 * state)),
        "ssm_dt.weight": (F16, (rank, channels)),
        "ssm_dt.bias": (F32, (channels,)),
        "ssm_a": (F32, (state, channels)),
        "ssm_d": (F32, (channels,)),
        "ssm_out.weight": (F16, (channels, WIDTH)),
    }


def latent(experts: int) -> Block:
    rank, rope, nope = 64, 32, 32
    block: dict[str, tuple[int, tuple[int, ...]]] = {
        "attn_norm.weight": (F32, (WIDTH,)),
        "attn_q.weight": (F16, (WIDTH, HEADS * (nope + rope))),
        "attn_kv_a_mqa.weight": (F16, (WIDTH, rank + rope)),
        "attn_kv_a_norm.weight": (F32, (rank,)),
        "attn_k_b.weight": (F16, (nope, rank, HEADS)),
        "attn_v_b.weight": (F16, (rank, HEAD, HEADS)),
        "attn_output.weight": (F16, (HEADS * HEAD, WIDTH)),
    }
    if not experts:
        return {**block, **feed_forward()}
    for name, shape in (("gate", (WIDTH, 128)), ("up", (WIDTH, 128)), ("down", (128, WIDTH))):
        block[f"ffn_{name}_exps.weight"] = (F16, (*shape, experts))
        block[f"ffn_{name}_shexp.weight"] = (F16, shape)
    return {**block, "ffn_norm.weight": (F32, (WIDTH,)), "ffn_gate_inp.weight": (F32, (WIDTH, experts))}


def llama() -> tuple[Keys, Shapes]:
    return _model("llama", [attention()] * 4, _heads(KEY_VALUE_HEADS))


def wide_llama() -> tuple[Keys, Shapes]:
    return _model("llama", [attention(1024, 4096)] * 2, _heads(KEY_VALUE_HEADS, 128), width=1024, inner=4096)


def gemma3() -> tuple[Keys, Shapes]:
    """Five layers of six have a window of 512 tokens, and the embedding is the head."""
    norms: Block = {
        "attn_q_norm.weight": (F32, (HEAD,)),
        "attn_k_norm.weight": (F32, (HEAD,)),
        "post_attention_norm.weight": (F32, (WIDTH,)),
        "post_ffw_norm.weight": (F32, (WIDTH,)),
    }
    keys = _heads(KEY_VALUE_HEADS) | {
        "attention.key_length": HEAD,
        "attention.value_length": HEAD,
        "attention.sliding_window": 512,
    }
    return _model("gemma3", [{**attention(), **norms}] * 6, keys, tied=True)


def deepseek2() -> tuple[Keys, Shapes]:
    keys = {
        "attention.head_count": HEADS,
        "attention.head_count_kv": 1,
        "attention.q_lora_rank": 0,
        "attention.kv_lora_rank": 64,
        "attention.key_length": 96,
        "attention.value_length": 64,
        "attention.key_length_mla": 64,
        "attention.value_length_mla": HEAD,
        "rope.dimension_count": 32,
        "expert_count": 8,
        "expert_used_count": 2,
        "expert_shared_count": 1,
        "expert_feed_forward_length": 128,
        "expert_weights_scale": 1.0,
        "expert_gating_func": 1,
        "leading_dense_block_count": 1,
    }
    return _model("deepseek2", [latent(0), latent(8), latent(8)], keys)


def mamba() -> tuple[Keys, Shapes]:
    keys = {
        "attention.head_count": 0,
        "ssm.conv_kernel": 4,
        "ssm.inner_size": 512,
        "ssm.state_size": 16,
        "ssm.time_step_rank": 16,
    }
    return _model("mamba", [first_state_space()] * 3, keys, inner=0)


def mamba2() -> tuple[Keys, Shapes]:
    return _model("mamba2", [state_space()] * 3, {"attention.head_count": 0, **STATE}, inner=0)


def granitehybrid() -> tuple[Keys, Shapes]:
    """One layer of four has attention, the others a state."""
    scales = {"attention.scale": 0.1, "embedding_scale": 1.0, "residual_scale": 1.0, "logit_scale": 1.0}
    hybrid: Block = {**state_space(), **feed_forward()}
    keys = {**_heads(0), "attention.head_count_kv": [0, 0, KEY_VALUE_HEADS, 0], **STATE, **scales}
    return _model("granitehybrid", [hybrid, hybrid, attention(), hybrid], keys)


MODELS: Mapping[str, Callable[[], tuple[Keys, Shapes]]] = {
    made.__name__: made for made in (llama, wide_llama, gemma3, deepseek2, mamba, mamba2, granitehybrid)
}


def write_model(name: str, folder: Path) -> Path:
    path = folder / f"{name}.gguf"
    if not path.exists():
        write(path, *MODELS[name]())
    return path


def _heads(key_value_heads: int, rope: int = HEAD) -> dict[str, object]:
    return {
        "attention.head_count": HEADS,
        "attention.head_count_kv": key_value_heads,
        "rope.dimension_count": rope,
    }


def _model(
    architecture: str,
    blocks: list[Block],
    keys: Mapping[str, object],
    width: int = WIDTH,
    inner: int = INNER,
    tied: bool = False,
) -> tuple[Keys, Shapes]:
    common = {
        "block_count": len(blocks),
        "context_length": CONTEXT,
        "embedding_length": width,
        "feed_forward_length": inner,
        "vocab_size": WORDS,
        "attention.layer_norm_rms_epsilon": 1e-5,
    }
    found: dict[str, object] = {"general.architecture": architecture, "tokenizer.ggml.model": "none"}
    found |= {f"{architecture}.{key}": value for key, value in {**common, **keys}.items()}
    tensors: dict[str, tuple[int, tuple[int, ...]]] = {
        "token_embd.weight": (F16, (width, WORDS)),
        "output_norm.weight": (F32, (width,)),
    }
    if not tied:
        tensors["output.weight"] = (F16, (width, WORDS))
    for index, block in enumerate(blocks):
        tensors |= {f"blk.{index}.{name}": made for name, made in block.items()}
    return found, tensors  # type: ignore[return-value]
