"""Small hand-made models whose bytes can be worked out on paper."""

from planner.architecture import Architecture, Attention, LatentAttention, Layer, Mixer, Recurrence, StateTensor, Tensor
from planner.deployment import Deployment, Device
from planner.formats import NumberFormat, QuantScheme, Role

BF16 = NumberFormat(name="bf16", elements=1, bytes=2, cache=True)
FP32 = NumberFormat(name="fp32", elements=1, bytes=4)
FP8 = NumberFormat(name="fp8", elements=1, bytes=1, kind="integer", cache=True)
INT4_G128 = NumberFormat(name="int4-g128", elements=128, bytes=66, kind="block")


def attention(heads: int = 8, kv_heads: int = 2, head_dim: int = 64, window_tokens: int | None = None) -> Attention:
    return Attention(
        num_attention_heads=heads,
        num_key_value_heads=kv_heads,
        head_dim=head_dim,
        v_head_dim=head_dim,
        window_tokens=window_tokens,
    )


def latent(heads: int = 128) -> LatentAttention:
    return LatentAttention(num_attention_heads=heads, kv_lora_rank=512, qk_rope_head_dim=64)


def state(elements: int = 1000) -> Recurrence:
    return Recurrence(kind="mamba", states=(StateTensor(name="ssm", rows=elements, columns=1, format=FP32),))


def layer(*mixers: Mixer, tensors: tuple[Tensor, ...] = ()) -> Layer:
    return Layer(kind="test", mixers=mixers, tensors=tensors)


def linear(rows: int = 512, columns: int = 512, role: Role = Role.LINEAR, count: int = 1, active: int = -1) -> Tensor:
    return Tensor(name="w", role=role, rows=rows, columns=columns, stored=BF16, count=count, active=active)


def model(*layers: Layer, tensors: tuple[Tensor, ...] = (), limit: int | None = 131_072) -> Architecture:
    return Architecture(
        name="test",
        title="Test",
        model_type="llama",
        hidden_size=512,
        vocab_size=1000,
        max_position_embeddings=limit,
        layers=layers,
        tensors=tensors,
        cache_format=BF16,
    )


def deployment(
    memory_bytes: int,
    weights: NumberFormat | None = None,
    quantize: str = "linear",
    overhead_bytes: int | None = None,
    cache: NumberFormat = BF16,
    tensor_parallel: int = 1,
    pipeline_parallel: int = 1,
) -> Deployment:
    return Deployment(
        device=Device(name="test", title="test card", memory_bytes=memory_bytes),
        weights=QuantScheme(format=weights, rest=BF16, quantize=quantize),
        kv_cache_k=cache,
        kv_cache_v=cache,
        overhead_bytes=overhead_bytes,
        tensor_parallel=tensor_parallel,
        pipeline_parallel=pipeline_parallel,
    )
