"""Speed: what a step reads, by hand; laws; and the public measurements within their limits."""

import json
import tomllib
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner import preset_files
from planner.architecture import Architecture, Layer, SharedCache
from planner.catalogue import performance_presets
from planner.cli import main
from planner.deployment import Deployment, Device
from planner.errors import PlannerError
from planner.formats import QuantScheme, Role
from planner.inputs.model_files import load_model
from planner.speed.answer import curve, knee_users, prompt_seconds, speed, step_seconds, step_time
from planner.speed.constants import SpeedConstants, parts
from planner.speed.fit import Measured, fit, predicted_s
from planner.speed.links import Link
from planner.speed.operations import experts_touched, read_tensors
from planner.speed.rates import Kernels
from planner.speed.work import Model, Work, decode_work, kv_bytes_read, mixed_work, prepare_speed, weight_bytes_read
from planner.weights import active_parameters
from tests.builders import BF16, attention, latent, layer, linear, model, state
from tests.speed_readings.reading import model_for

CONSTANTS = SpeedConstants(
    engine="test",
    family="any",
    layer_s=50e-6,
    read_efficiency=0.8,
    median_error=0.05,
    p90_error=0.2,
    calibrated_median_error=0.02,
    calibrated_p90_error=0.05,
    source="assumption: for tests",
)
CARD = Device(
    name="test",
    title="test card",
    memory_bytes=2**40,
    bandwidth_bytes_per_s=10**12,
    fp16_flops_per_s=10**14,
    fp8_flops_per_s=2 * 10**14,
)


def prepared(
    architecture: Architecture, device: Device = CARD, tensor_parallel: int = 1, link: Link | None = None
) -> Model:
    deployment = Deployment(
        device=device,
        weights=QuantScheme(format=None, rest=BF16),
        kv_cache_k=BF16,
        kv_cache_v=BF16,
        tensor_parallel=tensor_parallel,
    )
    return prepare_speed(architecture, deployment, Kernels(eight_bit=frozenset({"fp8"})), link)


def dense(layers: int = 4) -> Architecture:
    return model(*[layer(attention(), tensors=(linear(),))] * layers, tensors=(linear(1000, 512, Role.EMBEDDING),))


SPARSE = model(layer(attention(), tensors=(linear(64, 64, Role.EXPERT, count=8, active=2),)))


def test_a_step_reads_every_weight_and_a_tied_embedding_as_head() -> None:
    # four matrices of 512 × 512 and a tied head of 1,000 × 512 in 16 bit
    assert weight_bytes_read(prepared(dense()), 1) == 2 * (4 * 512 * 512 + 1000 * 512)


def test_a_head_of_its_own_leaves_the_embedding_to_be_looked_up() -> None:
    tensors = (linear(1000, 512, Role.EMBEDDING), linear(1000, 512, Role.HEAD))
    architecture = model(layer(attention(), tensors=(linear(),)), tensors=tensors)
    assert weight_bytes_read(prepared(architecture), 1) == 2 * (512 * 512 + 1000 * 512)


@pytest.mark.parametrize(
    ("model", "elements"),
    [
        ("gemma-3n-e2b", 262_400 * 2_048),
        ("gemma-3n-e4b", 262_400 * 2_048),
        ("gemma-4-e2b", 262_144 * 1_536),
        ("gemma-4-e4b", 262_144 * 2_560),
        ("opt-350m", 50_272 * 512),
    ],
)
def test_a_table_for_every_layer_is_looked_up_and_the_words_own_is_the_head(model: str, elements: int) -> None:
    architecture = load_model(model)
    read = [tensor for tensor, _ in read_tensors(architecture) if tensor.role is Role.EMBEDDING]
    assert [tensor.elements for tensor in read] == [elements]
    layers = sum(tensor.elements for layer in architecture.layers for tensor in layer.tensors)
    others = [tensor.elements for tensor in architecture.tensors if tensor.columns <= architecture.hidden_size]
    assert active_parameters(architecture) == layers + sum(others)


def test_experts_are_read_as_they_are_met() -> None:
    # one token meets two of eight; two tokens 8 · (1 − (3/4)²) = 3.5
    expert = 2 * 64 * 64
    assert [weight_bytes_read(prepared(SPARSE), tokens) for tokens in (1, 2)] == [2 * expert, 3.5 * expert]
    assert weight_bytes_read(prepared(SPARSE), 10_000) == pytest.approx(8 * expert)
    assert experts_touched(128, 4, 1) == pytest.approx(4)


def test_each_expert_that_is_met_computes_whole_tiles_of_rows() -> None:
    """Two tokens meet 3.5 of eight experts, each of which computes 16 rows of 64 × 64 instead of its own."""
    work = decode_work(prepared(SPARSE), 2, 0)
    per_row = 2 * 64 * 64 / 1e14
    assert (work.expert_s, work.expert_row_s) == pytest.approx((2 * 2 * per_row, 3.5 * per_row))
    rounded = replace(CONSTANTS, expert_rows=16)
    extra_s = parts(work, rounded).arithmetic_s - parts(work, CONSTANTS).arithmetic_s
    assert extra_s == pytest.approx((16 * 3.5 - 2 * 2) * per_row / CONSTANTS.arithmetic_efficiency)
    busy = decode_work(prepared(SPARSE), 64, 0)  # 16 rows an expert, all eight met
    assert parts(busy, rounded).arithmetic_s == pytest.approx(parts(busy, CONSTANTS).arithmetic_s, rel=1e-6)


def test_a_hidden_row_is_computed_while_its_weights_are_read() -> None:
    model, hiding = prepared(SPARSE), replace(CONSTANTS, hidden_rows=1)
    alone, three = decode_work(model, 1, 0), decode_work(model, 3, 0)
    assert parts(alone, hiding).arithmetic_s == pytest.approx(0, abs=1e-15)
    row_s = parts(alone, CONSTANTS).arithmetic_s
    assert parts(three, hiding).arithmetic_s == pytest.approx(2 * row_s)
    assert parts(three, CONSTANTS).arithmetic_s == pytest.approx(3 * row_s)


def test_a_window_bounds_what_is_read() -> None:
    # two heads of 64, keys and values, 16 bit: 512 B a token; one layer of the two forgets after 100 tokens
    architecture = model(layer(attention()), layer(attention(window_tokens=100)))
    assert kv_bytes_read(prepared(architecture), 1_000) == 512 * (1_000 + 100)


def test_a_latent_cache_is_read_once_and_a_state_is_written_back() -> None:
    assert kv_bytes_read(prepared(model(layer(latent()))), 10) == 10 * (512 + 64) * 2
    assert kv_bytes_read(prepared(model(layer(state(1_000)))), 10) == 2 * 4 * 1_000


def test_a_shared_cache_is_stored_once_and_read_again() -> None:
    shared = Layer(kind="test", mixers=(SharedCache(),), tensors=())
    assert kv_bytes_read(prepared(model(layer(attention()), shared)), 10) == 2 * 10 * 512


def test_devices_share_the_bytes_and_the_arithmetic() -> None:
    one, two = (decode_work(prepared(dense(), tensor_parallel=count), 4, 100) for count in (1, 2))
    assert (two.read_s, two.arithmetic_s) == pytest.approx((one.read_s / 2, one.arithmetic_s / 2))


def test_a_prompt_by_hand() -> None:
    """Two operations a parameter and token, in the head for the last one alone; attention 4 · d_q · (1 + 2 + 3) a
    layer, d_q = 8 heads of 64."""
    work = mixed_work(prepared(dense()), 0, 0, 3)
    layers, head = 4 * 512 * 512, 1000 * 512
    assert work.arithmetic_s == pytest.approx((3 * 2 * layers + 2 * head + 4 * 4 * 512 * 6) / 1e14)


@given(st.integers(1, 300), st.integers(1, 300), st.none() | st.integers(1, 200))
def test_chunks_look_back_at_as_much_as_a_whole_prompt(first: int, second: int, window: int | None) -> None:
    chosen = prepared(model(layer(attention(window_tokens=window))))
    whole = mixed_work(chosen, 0, 0, first + second)
    chunks = mixed_work(chosen, 0, 0, first), mixed_work(chosen, 0, 0, second, first)
    assert whole.arithmetic_s == pytest.approx(sum(chunk.arithmetic_s for chunk in chunks))


@given(st.floats(0.05, 1), st.floats(0.05, 1), st.integers(1, 500), st.integers(1, 100_000))
def test_throughput_never_falls_with_efficiency(low: float, high: float, users: int, context: int) -> None:
    work = decode_work(prepared(dense()), users, context)
    slow, fast = (predicted_s(work, replace(CONSTANTS, read_efficiency=e)) for e in sorted((low, high)))
    assert fast <= slow


@given(st.floats(0.01, 1), st.floats(0.0, 1e-3), st.floats(0.0, 3.0), st.integers(1, 500), st.integers(1, 100_000))
def test_no_step_is_faster_than_its_bytes(e: float, layer_s: float, error: float, users: int, context: int) -> None:
    constants = replace(CONSTANTS, read_efficiency=e, layer_s=layer_s, median_error=0.0, p90_error=error)
    work = decode_work(prepared(dense()), users, context)
    step = step_seconds(work, constants)
    assert work.read_s <= step.ceiling_s <= step.low_s <= step.value_s <= step.high_s


@given(st.integers(1, 500), st.integers(1, 100_000))
def test_more_users_are_never_less_together_nor_faster_each(users: int, context: int) -> None:
    chosen = prepared(dense())
    points = curve(chosen, CONSTANTS, context, users)
    assert points[-1].users == users
    assert all(a.tokens_per_s <= b.tokens_per_s for a, b in pairwise(points))
    assert all(a.tokens_per_s_user >= b.tokens_per_s_user for a, b in pairwise(points))


def test_the_knee_is_where_what_users_bring_costs_as_much_as_what_they_share() -> None:
    chosen = prepared(dense())
    knee = knee_users(chosen, CONSTANTS, 1_000)
    shared = parts(decode_work(chosen, 0, 1_000), CONSTANTS).total_s
    whole = parts(decode_work(chosen, knee, 1_000), CONSTANTS).total_s
    assert whole == pytest.approx(2 * shared, rel=0.02)


def test_a_prompt_in_chunks_beside_others_takes_as_many_steps_as_it_needs() -> None:
    """300 tokens, 128 a step of which 28 are others': three steps, each with its four layers of 50 µs."""
    whole, _ = prompt_seconds(prepared(dense()), CONSTANTS, 300, 28, 1_000, 128)
    assert whole.layers_s == pytest.approx(3 * 4 * 50e-6)
    with pytest.raises(PlannerError, match="leaves no room for a prompt"):
        prompt_seconds(prepared(dense()), CONSTANTS, 300, 128, 1_000, 128)


def test_the_simulator_takes_the_same_steps() -> None:
    chosen = prepared(dense())
    table = step_time(chosen, CONSTANTS, slots=32, context_tokens=1_000)
    simulated = table.steps(1, 32, 32 * 1_000) / 1e15
    assert simulated == pytest.approx(step_seconds(decode_work(chosen, 32, 1_000), CONSTANTS).value_s, rel=1e-6)


def test_a_fit_returns_the_constants_that_made_the_readings() -> None:
    truth = replace(CONSTANTS, layer_s=70e-6, link_efficiency=0.3, read_efficiency=0.85, arithmetic_efficiency=0.4)
    link = Link(name="test", title="test", exchange_s=5e-6, bytes_per_s=1e10, source="assumption: for tests")
    works = [
        decode_work(prepared(dense(40), tensor_parallel=devices, link=link), users, context, share)
        for devices in (1, 2)
        for users in (1, 8, 64, 400)
        for context in (100, 5_000)
        for share in (0.0, 2.0)
    ]
    found = fit([Measured(work=work, seconds=parts(work, truth).total_s) for work in works], CONSTANTS)
    assert found.layer_s == pytest.approx(70e-6, rel=0.02)
    shares = found.link_efficiency, found.read_efficiency, found.arithmetic_efficiency
    assert shares == pytest.approx((0.3, 0.85, 0.4), rel=0.02)


def test_a_device_of_unknown_bandwidth_is_refused() -> None:
    with pytest.raises(PlannerError, match="How fast test card reads its memory is not known"):
        prepared(dense(), replace(CARD, bandwidth_bytes_per_s=None))


def test_every_device_has_a_family_or_says_so() -> None:
    assert performance_presets.device_family("rtx-4090") == "nvidia-ada"
    with pytest.raises(PlannerError, match="belongs to no family"):
        performance_presets.device_family("abacus")


def test_no_constants_claim_to_be_exact() -> None:
    """One reading lies on its own fit; what is said of it is the error of others that the fit had not seen."""
    tables = tomllib.loads((preset_files.PRESETS / "speed.toml").read_text(encoding="utf-8"))
    assert {name for name, table in tables.items() if table["p90_error"] < 0.01} == set()
    for numbers in ("int8", "fp16"):
        error = f"prefill_{numbers}_p90_error"
        assert {name for name, table in tables.items() if table.get(error, 1) < 0.01} == set()


def test_the_command_prints_what_the_library_says(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["speed", "--model", "llama-3.1-8b", "--device", "h100-sxm", "--context", "4096", "--users", "8"]
    assert main([*words, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    chosen = model_for("llama-3.1-8b", "h100-sxm", "checkpoint", "bf16", 1)
    constants = performance_presets.find_speed_constants("vllm", "h100-sxm", experts=False)
    result = speed(chosen, constants, context_tokens=4_096, users=8, prompt_tokens=4_096, max_users=None)
    assert printed["step"]["value_s"] == result.step.value_s
    # 8.03 · 10⁹ parameters less the embedding in 16 bit, and 8 × 4,096 × 131,072 B
    assert printed["weights_read_bytes"] == 2 * (8_030_261_248 - 128_256 * 4_096)
    assert printed["kv_read_bytes"] == 8 * 4_096 * 131_072
    assert sum(printed["step_parts"].values()) == pytest.approx(printed["step"]["value_s"])
    assert main(words) == 0
    assert capsys.readouterr().out.startswith("Each of 8 users gets ")


def test_work_is_plain_numbers() -> None:
    work = Work(layers=1, read_bytes=1, read_s=0.5, arithmetic_s=0.7)
    assert work.ceiling_s == 0.7
