"""A draft beside the model: its weights and cache come out of the same budget, and the picture of what it is worth."""

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.answers.answer import Answer, answer
from planner.budget import plan
from planner.cli import main
from planner.deployment import Workload
from planner.draft import Draft, head_layer, model_draft, own_draft
from planner.draft_trade import DraftWish, draft_points
from planner.errors import PlannerError
from planner.formats import QuantScheme
from planner.inputs.choices import Choices, choose
from tests.builders import BF16, attention, deployment, layer, linear, model, state

SIXTEEN_BIT = QuantScheme(format=None, rest=BF16)
TARGET = model(*[layer(attention(), tensors=(linear(),))] * 4)
SMALL = model(layer(attention(heads=2, kv_heads=1), tensors=(linear(64, 64),)))


def sizes(draft: Draft | None, tokens: int = 100, users: int = 3) -> dict[str, int]:
    budget = plan(TARGET, replace(deployment(2**30), draft=draft), Workload(context_tokens=tokens, users=users))
    return {item.name: item.bytes for item in budget.items}


def ask(**options: object) -> Answer:
    chosen = choose(Choices(**options))  # type: ignore[arg-type]
    return answer(chosen.architecture, chosen.deployment, chosen.workload)


def test_a_draft_model_by_hand() -> None:
    """Beside the target, 64 × 64 weights, one layer with one key-value head of 64, and two rows of 1,000 logits."""
    found = sizes(model_draft(SMALL, SIXTEEN_BIT, 2))
    assert found == sizes(None) | {
        "draft weights": 2 * 64 * 64,
        "draft cache": 3 * 100 * 2 * 64 * 2,
        "logits of drafts": 3 * 2 * 1_000 * 4,
    }


def test_a_head_is_a_layer_and_a_matrix_that_joins() -> None:
    """512 × 512 and 512 × 1,024 in 16 bit; its cache is that of one of the four layers."""
    found = sizes(own_draft("eagle", TARGET, SIXTEEN_BIT, BF16, 2))
    assert found["draft weights"] == 2 * (512 * 512 + 512 * 1_024)
    assert 4 * found["draft cache"] == found["cache"]


def test_a_head_is_like_the_last_layer_that_sees_everything() -> None:
    whole, windowed = layer(attention()), layer(attention(window_tokens=8))
    assert head_layer(model(whole, windowed)).mixers == whole.mixers
    assert head_layer(model(windowed)).mixers == windowed.mixers


def test_the_text_so_far_costs_rows_of_logits_alone() -> None:
    found = sizes(own_draft("ngram", TARGET, SIXTEEN_BIT, BF16, 5))
    assert found == sizes(None) | {"logits of drafts": 3 * 5 * 1_000 * 4}


def test_states_are_kept_for_every_drafted_token() -> None:
    """A state of 1,000 fp32 numbers cannot be taken back: four drafted tokens keep four more of it a request."""
    draft = own_draft("ngram", TARGET, SIXTEEN_BIT, BF16, 4)
    hybrid = model(layer(state(1_000)), layer(attention()))
    budget = plan(hybrid, replace(deployment(2**30), draft=draft), Workload(context_tokens=10, users=3))
    assert next(item.bytes for item in budget.items if item.name == "draft cache") == 3 * 4 * 4_000


def test_one_stage_holds_the_draft() -> None:
    draft = model_draft(SMALL, SIXTEEN_BIT, 2)
    split = replace(deployment(2**30, pipeline_parallel=2), draft=draft)
    ranks = plan(TARGET, split, Workload(context_tokens=100)).ranks
    held = [[item.bytes for item in rank.items if item.name == "draft weights"] for rank in ranks]
    assert held == [[], [2 * 64 * 64]]


def test_prediction_layers_are_what_the_parameters_say() -> None:
    """DeepSeek-V3's prediction layer in its own FP8 is what an engine's own setting loads as well."""
    options = {"model": "deepseek-v3", "device": "h200-sxm", "tensor_parallel": 8, "context": 8_192}
    without, drafted = ask(**options), ask(**options, draft_model="mtp", draft_tokens=1)
    loaded = next(item.bytes for item in drafted.items if item.name == "draft weights")
    served = {**options, "engine": "vllm", "engine_version": "0.24"}
    own = ask(**served, draft_model="mtp", draft_tokens=1)
    assert own.weights_bytes - ask(**served).weights_bytes == loaded
    assert drafted.weights_bytes - without.weights_bytes == loaded
    assert own == ask(**served, set=("num_speculative_tokens=1", "speculative_method=mtp"))


@pytest.mark.parametrize(
    ("engine", "settings_of_its_own"),
    [
        ("vllm", ("num_speculative_tokens=3", "speculative_method=mtp")),
        ("sglang", ("speculative_algorithm=nextn", "speculative_num_draft_tokens=4")),
        ("llama_cpp", ("spec_type=draft-mtp", "spec_draft_n_max=3")),
    ],
)
def test_an_engine_that_drafts_itself_counts_it_itself(engine: str, settings_of_its_own: tuple[str, ...]) -> None:
    options = {"model": "qwen3-next-80b-a3b", "memory": "400GiB", "engine": engine}
    assert ask(**options, draft_model="mtp", draft_tokens=3) == ask(**options, set=settings_of_its_own)


@settings(max_examples=25)
@given(st.sampled_from(["llama-3.2-1b", "eagle", "ngram"]), st.integers(1, 64), st.integers(1, 64))
def test_a_draft_never_leaves_more_context(name: str, tokens: int, users: int) -> None:
    options = {"model": "llama-3.1-8b", "device": "rtx-4090", "context": 512, "users": users}
    without = ask(**options).max_context_tokens
    drafted = ask(**options, draft_model=name, draft_tokens=tokens)
    longer = ask(**options, draft_model=name, draft_tokens=min(64, tokens + 1))
    assert without is not None
    assert drafted.max_context_tokens is not None
    assert longer.max_context_tokens is not None
    assert longer.max_context_tokens <= drafted.max_context_tokens <= without


@pytest.mark.parametrize("engine", ["vllm", "llama_cpp", "transformers"])
def test_every_engine_makes_room_for_a_draft(engine: str) -> None:
    options = {"model": "llama-3.1-8b", "device": "h100-sxm", "engine": engine}
    drafted = ask(**options, draft_model="llama-3.2-1b", draft_tokens=4)
    names = [item.name for item in drafted.items]
    assert {"draft weights", "draft cache", "logits of drafts"} <= set(names)
    assert sum(item.bytes for item in drafted.items) == drafted.total_bytes
    assert drafted.max_context_tokens is not None
    assert drafted.max_context_tokens < (ask(**options).max_context_tokens or 0)


def test_the_picture_starts_without_a_draft_and_says_what_each_costs() -> None:
    choices = Choices(model="llama-3.3-70b", device="h100-sxm", tensor_parallel=4, users=16)
    none, small, head, text = draft_points(
        choices,
        [
            DraftWish(name="llama-3.2-1b", acceptance=0.75),
            DraftWish(name="eagle", acceptance=0.7, draft_tokens=3),
            DraftWish(name="ngram", acceptance=0.0),
        ],
        "vllm",
    )
    assert (none.draft, none.speedup, none.lost_tokens, none.draft_bytes) == ("none", 1.0, 0, 0)
    assert (head.draft_tokens, head.expected_tokens) == (3, pytest.approx(1 + 0.7 + 0.49 + 0.343))
    alone = ask(model="llama-3.3-70b", device="h100-sxm", tensor_parallel=4, users=16)
    beside = ask(
        model="llama-3.3-70b",
        device="h100-sxm",
        tensor_parallel=4,
        users=16,
        draft_model="llama-3.2-1b",
        draft_tokens=small.draft_tokens,
    )
    assert small.max_context_tokens == beside.max_context_tokens
    assert small.lost_tokens == alone.max_context_tokens - beside.max_context_tokens  # type: ignore[operator]
    assert small.draft_request_bytes == 8_192 * 2 * 16 * 2 * 64 * 2  # 16 layers; 8 heads of 64 on four devices
    assert text.speedup <= 1


@pytest.mark.parametrize("acceptance", [0.1, 0.5, 0.9])
def test_the_length_that_is_chosen_is_the_fastest(acceptance: float) -> None:
    choices = Choices(model="llama-3.1-8b", device="h100-sxm", users=8)
    lengths = (None, *range(1, 17))
    wishes = [DraftWish(name="eagle", acceptance=acceptance, draft_tokens=tokens) for tokens in lengths]
    _, best, *others = draft_points(choices, wishes, "vllm")
    assert best.speedup == max(point.speedup for point in others)


def test_leaving_the_draft_out_is_among_what_helps(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["plan", "--model", "llama-3.1-8b", "--device", "rtx-4090", "--draft-model", "llama-3.2-3b"]
    assert main([*words, "--draft-tokens", "4", "--context", "32768"]) == 1
    assert "✓ No draft by llama-3.2-3b" in capsys.readouterr().out


def test_a_draft_in_another_vocabulary_is_named() -> None:
    warnings = ask(model="llama-3.3-70b", memory="1TiB", draft_model="qwen2.5-0.5b", draft_tokens=4).warnings
    assert any("vocabulary of 151,936 tokens" in sentence for sentence in warnings)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"draft_model": "mtp", "draft_tokens": 1}, "has no layers for multi-token prediction"),
        ({"draft_model": "eagle"}, "give --draft-tokens"),
        ({"draft_tokens": 4}, "give --draft-model"),
        ({"draft_weights": "fp8"}, "give --draft-model"),
        ({"draft_model": "eagle", "draft_tokens": 0}, "draft_tokens = 0 is not possible"),
        ({"draft_model": "eagle", "draft_tokens": 10**12}, "draft_tokens = 1,000,000,000,000 is not possible"),
        ({"draft_model": "eagle", "draft_tokens": 4, "draft_weights": "fp8"}, "leave --draft-weights out"),
        ({"draft_model": "no-such-model", "draft_tokens": 4}, "Model 'no-such-model' is not known"),
    ],
)
def test_what_is_no_draft_is_refused(options: dict[str, object], sentence: str) -> None:
    with pytest.raises(PlannerError, match=sentence):
        ask(model="llama-3.1-8b", device="rtx-4090", **options)


def test_the_commands_print_what_the_library_says(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--model", "llama-3.1-8b", "--device", "rtx-4090"]
    assert main(["plan", *words, "--draft-model", "llama-3.2-1b", "--draft-tokens", "4", "--json"]) == 0
    planned = json.loads(capsys.readouterr().out)
    assert (
        main(["speculate", *words, "--batch", "1", "--draft", "llama-3.2-1b=0.8", "--draft-tokens", "4", "--json"]) == 0
    )
    none, point = json.loads(capsys.readouterr().out)
    assert point["max_context_tokens"] == planned["max_context_tokens"]
    assert none["max_context_tokens"] - planned["max_context_tokens"] == point["lost_tokens"]
    assert main(["speculate", *words, "--batch", "1", "--draft", "llama-3.2-1b=0.8"]) == 0
    assert capsys.readouterr().out.startswith("llama-3.2-1b gives ")
    assert main(["speculate", *words, "--batch", "1", "--draft", "ngram=0"]) == 0
    assert capsys.readouterr().out.startswith("None of these drafts makes 1 request faster.")


@pytest.mark.parametrize("wish", ["eagle", "=0.7", "eagle=", "eagle=NaN", "eagle=-1", "eagle=2", "eagle=1e999"])
def test_a_draft_without_a_possible_acceptance_is_refused(wish: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["speculate", "--model", "llama-3.1-8b", "--device", "rtx-4090", "--batch", "1", "--draft", wish]
    assert main(words) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "Traceback" not in error


@pytest.mark.parametrize(("context", "code"), [(2_048, 0), (32_768, 1)])
def test_drafts_weighed_exit_as_the_plan_of_the_best_does(
    context: int, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [
        "speculate",
        "--model",
        "llama-3.1-8b",
        "--device",
        "rtx-4090",
        "--batch",
        "1",
        "--draft",
        "llama-3.2-3b=0.8",
    ]
    assert main([*words, "--context", f"{context}", "--json"]) == code
    points = json.loads(capsys.readouterr().out)
    assert max(points, key=lambda point: point["speedup"])["fits"] == (code == 0)


def test_no_context_is_lost_beyond_what_the_model_was_made_for(capsys: pytest.CaptureFixture[str]) -> None:
    """Four H100 have room for 600,000 tokens of a model of 131,072."""
    words = "speculate --model llama-3.1-70b --device h100-sxm --tensor-parallel 4 --context 4096 --draft eagle=0.7"
    assert main([*words.split(), "--json"]) == 0
    plain, eagle = json.loads(capsys.readouterr().out)
    assert plain["max_context_tokens"] == eagle["max_context_tokens"] == 131_072
    assert eagle["lost_tokens"] == 0
    assert eagle["draft_bytes"] > 0
