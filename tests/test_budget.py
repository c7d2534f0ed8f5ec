import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.budget import State, on_device, plan, prepare
from planner.capacity import max_context_tokens, max_users
from planner.deployment import Workload
from planner.engines import find_engine
from planner.errors import PlannerError, UnknownName
from planner.formats import QuantScheme, Role
from planner.search import largest
from planner.weights import active_parameters, model_bytes, parameters, parameters_by_role
from tests.builders import BF16, FP32, INT4_G128, attention, deployment, latent, layer, linear, model, state

DENSE = model(
    *[layer(attention(), tensors=(linear(), linear(1, 512, Role.NORM)))] * 4,
    tensors=(linear(1000, 512, Role.EMBEDDING), linear(1000, 512, Role.HEAD)),
)
# 4 layers keep 2 · 2 · 64 · 2 = 512 bytes each.
DENSE_BYTES_PER_TOKEN = 2_048
DENSE_PARAMETERS = 4 * (512 * 512 + 512) + 2 * 512_000
MIXED = model(layer(attention(window_tokens=100)), layer(attention()), layer(state()), layer(latent()))


def test_weights_by_role_and_rule() -> None:
    assert parameters(DENSE) == DENSE_PARAMETERS
    assert parameters_by_role(DENSE) == {
        "embedding": 512_000,
        "head": 512_000,
        "linear": 4 * 512 * 512,
        "norm": 4 * 512,
    }
    linear_only = QuantScheme(format=INT4_G128, rest=BF16)
    everything = QuantScheme(format=INT4_G128, rest=BF16, quantize="all")
    assert model_bytes(DENSE.layers, DENSE.tensors, linear_only) == 4 * (512 * 512 * 66 // 128 + 1024) + 2 * 1_024_000
    assert model_bytes(DENSE.layers, DENSE.tensors, everything) == DENSE_PARAMETERS * 66 // 128
    # A format of 16 bits or more is not a quantisation: every tensor takes it.
    fp32 = QuantScheme(format=FP32, rest=BF16)
    assert model_bytes(DENSE.layers, DENSE.tensors, fp32) == 4 * DENSE_PARAMETERS


def test_only_chosen_experts_are_active() -> None:
    experts = model(layer(attention(), tensors=(linear(10, 10, Role.EXPERT, count=8, active=2),)))
    assert (parameters(experts), active_parameters(experts)) == (800, 200)


def test_a_budget_is_its_items() -> None:
    weights = 2 * DENSE_PARAMETERS
    budget = plan(DENSE, deployment(10**9, overhead_bytes=1_000), Workload(context_tokens=100, users=3))
    assert [(item.name, item.bytes) for item in budget.items] == [
        ("weights", weights),
        ("overhead", 1_000),
        ("cache", 3 * 100 * DENSE_BYTES_PER_TOKEN),
    ]
    assert budget.total_bytes == weights + 1_000 + 614_400
    assert budget.free_bytes == 10**9 - budget.total_bytes
    assert (budget.state, budget.loads, budget.fits) == (State.FITS, True, True)


@pytest.mark.parametrize(
    ("spare_tokens", "asked", "state"),
    [
        (337, 8_192, State.TIGHT),  # it loads, and under 2,048 tokens are left
        (337, 337, State.FITS),  # a small request that fits
        (3_136, 8_192, State.NO),  # enough is left to be of use, but not what was asked
        (0, 1, State.TIGHT),
        (-1, 1, State.NO),  # the weights alone are too big
    ],
)
def test_loads_is_not_fits(spare_tokens: int, asked: int, state: State) -> None:
    memory = 2 * DENSE_PARAMETERS + spare_tokens * DENSE_BYTES_PER_TOKEN
    budget = plan(DENSE, deployment(memory), Workload(context_tokens=asked))
    assert budget.state is state
    assert budget.loads is (spare_tokens >= 0)


@given(st.integers(0, 10**9), st.integers(1, 50), st.sampled_from([DENSE, MIXED]))
def test_capacity_is_the_edge(memory: int, users: int, architecture) -> None:  # type: ignore[no-untyped-def]
    """fits(n) and not fits(n + 1), for contexts and for users."""
    setup = deployment(memory)
    ranks = prepare(architecture, setup)
    longest = max_context_tokens(ranks, users)
    assert longest is not None
    for tokens, expected in ((longest, True), (longest + 1, False)):
        if tokens:
            assert plan(architecture, setup, Workload(context_tokens=tokens, users=users)).fits is expected
    most = max_users(ranks, 1_000)
    assert most is not None
    for count, expected in ((most, True), (most + 1, False)):
        if count:
            assert plan(architecture, setup, Workload(context_tokens=1_000, users=count)).fits is expected


@given(st.integers(0, 10**8), st.integers(0, 10**8), st.integers(1, 9_000), st.integers(1, 40))
def test_more_memory_never_fits_less(memory: int, extra: int, tokens: int, users: int) -> None:
    """What fits on a card fits on a larger one, and a larger one holds no shorter context."""
    workload = Workload(context_tokens=tokens, users=users)
    small, large = prepare(MIXED, deployment(memory)), prepare(MIXED, deployment(memory + extra))
    assert on_device(small, deployment(memory + extra).device) == large
    if plan(MIXED, deployment(memory), workload).fits:
        assert plan(MIXED, deployment(memory + extra), workload).fits
    assert (max_context_tokens(small) or 0) <= (max_context_tokens(large) or 0)


def test_a_cache_that_stops_growing_has_no_longest_context() -> None:
    windowed = model(layer(attention(window_tokens=100)), layer(state()))
    needed = 100 * 512 + 4_000
    assert max_context_tokens(prepare(windowed, deployment(needed))) is None
    # One byte less: the window can be filled but for its last token.
    assert max_context_tokens(prepare(windowed, deployment(needed - 1))) == 99
    assert max_context_tokens(prepare(windowed, deployment(3_999))) == 0
    assert max_users(prepare(windowed, deployment(10 * needed)), 10**6) == 10


@given(st.integers(0, 10**6), st.integers(1, 10**6))
def test_the_search_finds_the_edge(edge: int, limit: int) -> None:
    """largest(n ≤ edge) = min(edge, limit)."""
    assert largest(lambda n: n <= edge, limit) == min(edge, limit)


def test_tensor_parallel_divides_heads_until_they_repeat() -> None:
    eight_heads = model(layer(attention(8, 8, 64), tensors=(linear(), linear(1, 512, Role.NORM))))
    for ranks, heads in ((1, 8), (2, 4), (8, 1), (16, 1)):
        budget = plan(eight_heads, deployment(10**8, tensor_parallel=ranks), Workload(context_tokens=10))
        assert budget.kv_request_bytes == 10 * heads * 2 * 64 * 2


def test_a_latent_cache_is_whole_on_every_rank() -> None:
    one, eight = (
        plan(model(layer(latent())), deployment(10**8, tensor_parallel=n), Workload(context_tokens=10)) for n in (1, 8)
    )
    assert one.kv_request_bytes == eight.kv_request_bytes == 11_520


def test_the_fullest_pipeline_stage_decides() -> None:
    setup = deployment(10**8, pipeline_parallel=2)
    budget = plan(DENSE, setup, Workload(context_tokens=10))
    # Two layers a stage; the first stage has the embedding, the second the head.
    assert budget.weights_bytes == 2 * (2 * (512 * 512 + 512) + 512_000)
    assert budget.kv_request_bytes == 10 * DENSE_BYTES_PER_TOKEN // 2
    with pytest.raises(PlannerError, match="pipeline_parallel = 5 needs a layer a stage; Test has 4"):
        plan(DENSE, deployment(10**8, pipeline_parallel=5), Workload(context_tokens=10))


@pytest.mark.parametrize(("context", "users"), [(0, 1), (-5, 1), (10**12, 1), (1, 0), (1, 10**9)])
def test_impossible_wishes_are_refused(context: int, users: int) -> None:
    with pytest.raises(PlannerError, match=r"is not possible: it must be between 1 and"):
        Workload(context_tokens=context, users=users)


def test_unknown_engines_are_refused_by_name() -> None:
    with pytest.raises(UnknownName, match="Engine 'vlm' is not known; choose one of: minimum"):
        find_engine("vlm")


@given(st.integers(0, 300), st.integers(1, 250), st.integers(-5, 400))
def test_where_a_search_begins_changes_nothing_of_what_it_finds(edge: int, limit: int, near: int) -> None:
    assert largest(lambda n: n <= edge, limit, near) == min(edge, limit)
