"""What SGLang takes of its static share for vision towers and for AMD's kernels, release by release."""

import pytest

from planner.answers.answer import Answer, answer
from planner.answers.figures import room_bytes
from planner.inputs.choices import Choices, choose
from planner.logs.read import read_log
from planner.startups.choices import choices_from_log
from planner.units import GIB

# 0.5 is the share that the option names; the card is 100 GiB and nothing is gone before loading.
OUTSIDE = "outside the pool"


def ask(model: str, version: str, **options: object) -> Answer:
    share = () if "set" in options else ("mem_fraction_static=0.5",)
    given: dict[str, object] = {"memory": "100GiB", "overhead": "0", "context": 4_096, "set": share, **options}
    chosen = choose(Choices(model=model, engine="sglang", engine_version=version, **given))  # type: ignore[arg-type]
    return answer(chosen.architecture, chosen.deployment, chosen.workload)


def share_of(found: Answer) -> float:
    outside = next(item.bytes for item in found.items if item.name == OUTSIDE)
    return 1 - outside / found.memory_bytes


def notes(found: Answer) -> str:
    assert found.report is not None
    return "\n".join(found.report.notes)


@pytest.mark.parametrize(
    ("version", "taken"),
    [
        ("0.3.6", 0.95),
        ("0.4.4", 0.95),
        ("0.4.5", 0.9),
        # Served for text alone from 0.4.6 on, unless --enable-multimodal is said.
        ("0.4.6", 1),
        ("0.4.9", 1),
        ("0.5.17", 1),
    ],
)
def test_releases_before_0_4_9_take_less_for_a_vision_tower_whoever_names_the_share(version: str, taken: float) -> None:
    found = ask("gemma-3-4b", version)
    assert share_of(found) == pytest.approx(0.5 * taken)
    assert ("for a model with a vision tower" in notes(found)) == (taken < 1)


@pytest.mark.parametrize(("version", "share"), [("0.4.8", 0.45), ("0.4.9", 0.5), ("0.4.10", 0.5)])
def test_later_ones_take_the_share_as_it_is_named(version: str, share: float) -> None:
    assert share_of(ask("qwen2.5-vl-7b", version)) == pytest.approx(share)


def test_a_text_model_keeps_its_share() -> None:
    assert share_of(ask("llama-3.1-8b", "0.4.4")) == pytest.approx(0.5)


def test_a_release_that_finds_no_tower_to_serve_leaves_nothing_for_it_where_it_chooses() -> None:
    """0.4.9 takes 0.9 of what it chooses, and of Gemma 3 all: both of a card of 102,400 MiB, 12.5 GiB aside."""
    gemma, qwen = (share_of(ask(name, "0.4.9", set=())) for name in ("gemma-3-4b", "qwen2.5-vl-7b"))
    assert qwen / gemma == pytest.approx(0.9, abs=1e-3)


@pytest.mark.parametrize(
    ("model", "version", "options", "taken"),
    [
        ("llama-3.1-8b", "0.4.6", {}, 1),
        ("llama-3.1-8b", "0.4.7", {}, 0.85),
        ("llama-3.1-8b", "0.5.17", {}, 0.85),
        # A model of 4,096 tokens at most.
        ("llama-2-7b", "0.5.17", {}, 1),
        # 128 heads of latent attention on 8 cards are 16 on each; 64 are 8, which run in Triton.
        ("deepseek-v3", "0.5.17", {"tensor_parallel": 8}, 0.85),
        ("kimi-k2", "0.5.17", {"tensor_parallel": 8}, 1),
    ],
)
def test_amd_kernels_take_their_part_where_a_request_may_be_long(
    model: str, version: str, options: dict[str, object], taken: float
) -> None:
    found = ask(model, version, memory=None, device="mi300x", **options)
    assert share_of(found) == pytest.approx(0.5 * taken)
    assert ("attention_backend=triton" in notes(found)) == (taken < 1)


def test_a_refusal_names_the_option_and_not_what_is_left_of_it() -> None:
    """0.95 of the share that the sentence names holds the weights, and the plan starts with it."""
    short = ask("gemma-3-12b", "0.4.4", set=("mem_fraction_static=0.2",))
    assert short.report is not None
    (refusal,) = short.report.refusals
    named = float(refusal.partition("raise mem_fraction_static above ")[2].partition(",")[0])
    enough = ask("gemma-3-12b", "0.4.4", set=(f"mem_fraction_static={named + 0.001:.3f}",))
    assert room_bytes(enough) > 0 >= room_bytes(short)
    assert named * 0.95 * 100 * GIB == pytest.approx(enough.weights_bytes, rel=0.01)


SERVER_ARGS = (
    "server_args=ServerArgs(model_path='meta-llama/Llama-3.1-8B-Instruct', dtype='auto', mem_fraction_static=0.765, "
    "chunked_prefill_size=16384, page_size=1, tp_size=1, dp_size=1)\n"
    "KV Cache is allocated. #tokens: 1000000, K size: 61.04 GB, V size: 61.04 GB\n"
)


@pytest.mark.parametrize(
    ("version", "device", "asked"),
    [
        # 0.765 is what 0.85 leaves of 0.9; before 0.5.5 the part is taken after this line.
        ("0.5.6", "mi300x", 0.9),
        ("0.5.4", "mi300x", 0.765),
        ("0.5.6", "h200", 0.765),
    ],
)
def test_a_log_shows_the_share_as_the_release_prints_it(version: str, device: str, asked: float) -> None:
    told = choices_from_log(
        read_log(SERVER_ARGS).starts[0], Choices(model="llama-3.1-8b", device=device, engine_version=version)
    )
    assert told.choices is not None
    (share,) = (text for text in told.choices.set if text.startswith("mem_fraction_static"))
    assert float(share.partition("=")[2]) == pytest.approx(asked)


def test_a_share_that_is_stated_is_the_option() -> None:
    given = Choices(model="llama-3.1-8b", device="mi300x", engine_version="0.5.6", set=("mem_fraction_static=0.765",))
    told = choices_from_log(read_log(SERVER_ARGS).starts[0], given)
    assert told.choices is not None
    assert "mem_fraction_static=0.765" in told.choices.set


def test_a_card_too_small_for_a_step_gets_a_share_below_nothing_and_a_sentence() -> None:
    """3,072 MiB less 512, 1.5 a token of the step, 2 a graph and 128 for the device leave less than none."""
    chosen = choose(Choices(model="qwen3-0.6b", memory="3GiB", engine="sglang"))
    found = answer(chosen.architecture, chosen.deployment, chosen.workload)
    assert not found.fits
    (share,) = [warning for warning in found.warnings if "would choose mem_fraction_static" in warning]
    assert "= -0." in share
    assert "less than nothing: a step and its graphs need the card" in share
    assert "It would run at most 1 request at once." in found.warnings


def test_other_kernels_on_amd_leave_the_whole_share() -> None:
    """AITER's take 0.15 of 0.8 of what is free; Triton's take none."""

    def pool_bytes(*settings: str) -> int:
        choices = Choices(
            model="llama-3.1-8b",
            device="mi300x",
            engine="sglang",
            overhead="0",
            set=("mem_fraction_static=0.8", *settings),
        )
        chosen = choose(choices)
        found = answer(chosen.architecture, chosen.deployment, chosen.workload).report
        assert found is not None
        return found.pool_bytes

    card = choose(Choices(model="llama-3.1-8b", device="mi300x")).deployment.device.memory_bytes
    more = pool_bytes("attention_backend=triton") - pool_bytes()
    assert more == pytest.approx(0.8 * 0.15 * card, abs=2)
    assert pool_bytes() == pool_bytes("attention_backend=aiter")


@pytest.mark.parametrize(
    ("settings", "page"),
    [
        ((), 1),
        (("attention_backend=fa3",), 1),
        (("attention_backend=flashmla",), 64),
        (("attention_backend=cutlass_mla", "page_size=32"), 128),
        (("attention_backend=trtllm_mla",), 64),
        (("attention_backend=trtllm_mla", "page_size=32"), 32),
        (("page_size=16",), 16),
    ],
)
def test_pages_are_as_long_as_kernels_want_them(settings: tuple[str, ...], page: int) -> None:
    device = "b200" if "attention_backend=trtllm_mla" in settings else "h100-sxm"
    chosen = choose(Choices(model="deepseek-v2-lite", device=device, engine="sglang", set=settings))
    found = answer(chosen.architecture, chosen.deployment, chosen.workload).report
    assert found is not None
    assert found.block_size == page


@pytest.mark.parametrize(("share", "is_refused"), [(0.95, False), (0.99, True)])
def test_a_share_that_leaves_less_than_any_model_needs_is_refused(share: float, is_refused: bool) -> None:
    """Of 24 GiB 0.05 are 1.2 and 0.01 are 0.24; 512 MiB are set aside whatever the step."""
    choices = Choices(model="qwen3-8b", device="rtx-4090", engine="sglang", set=(f"mem_fraction_static={share}",))
    chosen = choose(choices)
    found = answer(chosen.architecture, chosen.deployment, chosen.workload)
    assert found.report is not None
    assert any("for activations and graphs; 0.50 GiB" in text for text in found.report.refusals) is is_refused


def test_a_chunk_of_nothing_is_a_whole_prompt() -> None:
    """SGLang cuts no prompt at 0 or below; a step is max_prefill_tokens then."""
    whole, none = (
        choose(Choices(model="qwen3-8b", device="rtx-4090", engine="sglang", set=(f"chunked_prefill_size={size}",)))
        for size in (-1, 0)
    )
    answers = [answer(each.architecture, each.deployment, each.workload) for each in (whole, none)]
    assert answers[0].pool_tokens == answers[1].pool_tokens
