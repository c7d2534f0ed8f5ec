"""What SGLang's layers keep and its ranks hold, and what is gone beside them: cases worked out on paper."""

from dataclasses import replace

import pytest

from planner.answers.answer import Answer, answer
from planner.architecture import Architecture, Layer, Mixer, SharedCache, Tensor
from planner.engines.sglang.runtime import BESIDE, CONTEXT
from planner.formats import Role
from planner.inputs.choices import Choices, Chosen, choose
from planner.units import GIB
from tests.builders import BF16, attention, latent, layer, model


def ask(architecture: Architecture, **options: object) -> Answer:
    given = {"device": "h100-sxm", "kv_cache": "bf16", "context": 1_000, **options}
    chosen: Chosen = choose(Choices(model="", engine="sglang", **given), architecture)  # type: ignore[arg-type]
    return answer(chosen.architecture, chosen.deployment, chosen.workload)


def kind(name: str, *mixers: Mixer) -> Layer:
    return replace(layer(*mixers), kind=name)


def test_a_layer_that_reads_another_s_cache_has_memory_for_its_own() -> None:
    """A head of 64 keeps 2 · 2 · 64 · 2 = 512 bytes a token, one of 128 twice as many: 2 · 512 + 3 · 1,024."""
    wide = replace(attention(), head_dim=128, v_head_dim=128)
    reads = SharedCache()
    layers = [kind("narrow", attention()), kind("wide", wide), kind("narrow", reads), *[kind("wide", reads)] * 2]
    found = ask(model(*layers))
    assert found.kv_bytes_per_token == 2 * 512 + 3 * 1024


def test_its_stage_need_not_hold_the_layer_that_it_reads() -> None:
    layers = [kind("all", attention())] * 2 + [kind("all", SharedCache())] * 2
    found = ask(model(*layers), pipeline_parallel=2)
    assert found.report is not None
    assert found.report.groups[0].endswith("tokens of 1,024 B, layers that keep all")


@pytest.mark.parametrize(("cache", "latent_bytes"), [("bf16", 1152), ("fp8", 656)])
def test_each_layer_has_an_indexer_s_buffer_where_one_has_an_indexer(cache: str, latent_bytes: int) -> None:
    """576 elements of 2 bytes, or what sparse attention wants in fp8; 132 of the indexer's key, in all three layers."""
    sparse = replace(latent(), index_head_dim=128)
    found = ask(model(layer(sparse), layer(latent()), layer(latent())), kv_cache=cache)
    assert found.kv_bytes_per_token == 3 * (latent_bytes + 132)


def test_a_vocabulary_has_rows_up_to_a_multiple_of_64() -> None:
    """1,000 words of 512 elements in 2 bytes are kept as 1,024."""
    words = Tensor(name="embed", role=Role.EMBEDDING, rows=1000, columns=512, stored=BF16)
    found = ask(model(layer(attention()), tensors=(words,)))
    assert found.weights_bytes == 1024 * 512 * 2


@pytest.mark.parametrize(
    ("device", "cards", "gib"),
    [
        ("h100-sxm", 1, 0.45),
        ("h100-sxm", 2, 1.9),
        ("rtx-4090", 2, 0.6),
        ("mi355x", 2, 6.5),
        ("dgx-spark", 1, 9.9),
    ],
)
def test_what_is_gone_before_loading_depends_on_the_link(device: str, cards: int, gib: float) -> None:
    found = ask(model(*[layer(attention())] * 2), device=device, tensor_parallel=cards)
    sizes = {item.name: item.bytes / GIB for item in found.items}
    assert sizes[CONTEXT] == pytest.approx(gib)
    assert sizes[BESIDE] == pytest.approx(0.13)
