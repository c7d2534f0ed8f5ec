"""A second model as draft: cut from the target or loaded beside it, refused where its tokens or caches do not fit."""

import itertools
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from measure.certainty import chi_square_p
from measure.drafts import check_draft, load_draft
from measure.experiments import speculation
from measure.models import Loaded, find_source, load
from measure.running import start
from measure.setup import Setup
from measure.speculative import speculate
from planner.errors import PlannerError
from tests.measure.tiny import CONFIG, LAYERS, VOCABULARY
from tests.measure.trial import trial

TOKENS = 64


def folder(parent: Path, **changes: Any) -> str:
    parent.mkdir(exist_ok=True)
    (parent / "config.json").write_text(json.dumps(CONFIG | changes), encoding="utf-8")
    return str(parent)


def test_the_first_layers_are_the_targets_own(tiny: Setup) -> None:
    target = start(tiny)
    draft = load_draft("first-2", target, tiny)
    assert (draft.title, draft.vocabulary) == (f"first 2 of {LAYERS} layers", "a copy")
    ids = torch.arange(20)[None] + 20
    cut, whole = draft.model, target.model
    states = whole(input_ids=ids, output_hidden_states=True).hidden_states[2]
    expected = whole.lm_head(whole.model.norm(states))
    assert torch.allclose(cut(input_ids=ids).logits, expected, atol=1e-5)
    assert len(cut.model.layers) == 2
    assert len(whole.model.layers) == LAYERS


@pytest.mark.parametrize("name", ["first-2", "int4-tensor"])
def test_any_draft_makes_the_targets_own_tokens(name: str, tiny: Setup) -> None:
    target = start(tiny)
    prompt = torch.arange(20)[None] + 20
    plain = speculate(target.model, target.model, prompt, 40, 0, None)
    found = speculate(target.model, load_draft(name, target, tiny).model, prompt, 40, 3, None)
    assert found.tokens[:40] == plain.tokens[:40]
    assert found.acceptance < 1


@pytest.mark.parametrize("vocabulary", [VOCABULARY - 20, VOCABULARY + 64])
def test_a_padded_vocabulary_is_the_same_one(vocabulary: int, tiny: Setup, tmp_path: Path) -> None:
    """Sizes up to 128 apart: the smaller draft's table is filled up, the larger one's padding is cut."""
    name = folder(tmp_path / "draft", vocab_size=vocabulary, num_hidden_layers=2)
    setup = replace(tiny, draft=name, quick=True)
    cases = speculation.cases(setup)
    assert [case.settings["how"] for case in cases] == ["greedy", "sampled", "distribution"]
    report = trial(speculation, cases, setup)
    runs, tests = (table.rows for table in report.tables)
    assert [row["vocabulary"] for row in runs] == ["the same size"] * 2
    assert all(0 <= row["acceptance"] < 1 for row in runs)
    assert tests[0]["p_value"] > speculation.DIFFERENT
    assert "a draft decides the speed, not the text" in report.lesson


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("first-0", "has 3 layers: draft with first-1 to first-2."),
        ("first-3", "has 3 layers: draft with first-1 to first-2."),
        ("qwen2.5-0.5b", "a vocabulary of 151,936 tokens and .+ one of 320: name a draft of the target's family"),
        ("no-such-model", "Model 'no-such-model' is not known"),
    ],
)
def test_a_draft_that_cannot_be_is_one_sentence(name: str, sentence: str, tiny: Setup) -> None:
    with pytest.raises(PlannerError, match=sentence):
        speculation.cases(replace(tiny, draft=name))


@pytest.mark.parametrize("model", ["mamba-130m", "qwen3.5-0.8b", "gemma-3-270m"])
def test_a_cache_that_cannot_be_shortened_is_refused_before_it_runs(model: str) -> None:
    with pytest.raises(PlannerError, match="from which rejected drafts cannot be taken back"):
        speculation.cases(Setup(model=model, scale="small"))


def test_a_window_longer_than_the_run_is_no_hindrance() -> None:
    """Gemma-2-2B slides over 4,096 tokens, and a run has fewer."""
    check_draft("int8-row", find_source(Setup(model="gemma-2-2b")), TOKENS, Setup())


class Words:
    def __init__(self, *words: str) -> None:
        self._words = words

    def get_vocab(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self._words)}


def test_another_vocabulary_of_the_same_size_is_refused_by_a_token(
    tiny: Setup, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = start(tiny)
    target = replace(target, loaded=replace(target.loaded, tokenizer=Words("a", "b", "c")))

    def loaded(*words: str) -> None:
        found: Loaded = replace(load(tiny), tokenizer=Words(*words))
        monkeypatch.setattr("measure.drafts.load", lambda setup: found)

    loaded("a", "b", "c", "padding")
    assert load_draft(tiny.model, target, tiny).vocabulary == "the same tokens"
    loaded("a", "c", "b")
    with pytest.raises(PlannerError, match="'c' is another token in each"):
        load_draft(tiny.model, target, tiny)


class Chain:
    """A model whose next token depends on the last one alone: rows of *table* are its distributions."""

    def __init__(self, table: list[list[float]]) -> None:
        self._logits = torch.tensor(table).log()

    def __call__(self, input_ids: torch.Tensor, cache: Any, use_cache: bool, logits_to_keep: int) -> Any:
        cache = cache or ChainCache()
        cache.length += input_ids.shape[1]
        output = ChainOutput(cache=cache)
        output.logits = self._logits[input_ids][:, -logits_to_keep:]
        return output


class ChainCache:
    length = 0

    def get_seq_length(self) -> int:
        return self.length

    def crop(self, more: int) -> None:
        self.length += more


class ChainOutput(dict[str, Any]):
    logits: torch.Tensor


def test_whole_texts_are_distributed_as_the_targets() -> None:
    """Four tokens by a chain of three states, two drafted a pass: each of 81 texts as often as the chain makes it."""
    p = [[0.7, 0.2, 0.1], [0.1, 0.3, 0.6], [0.4, 0.4, 0.2]]
    q = [[0.2, 0.5, 0.3], [0.5, 0.4, 0.1], [0.1, 0.1, 0.8]]
    generator = torch.Generator().manual_seed(0)
    texts = list(itertools.product(range(3), repeat=4))
    shares = [p[0][a] * p[a][b] * p[b][c] * p[c][d] for a, b, c, d in texts]
    counts: Counter[tuple[int, ...]] = Counter()
    for _ in range(3_000):
        found = speculate(Chain(p), Chain(q), torch.tensor([[0]]), 4, 2, generator)
        counts[tuple(found.tokens[:4])] += 1
    assert chi_square_p([counts[text] for text in texts], shares) > 1e-3
    alone = [q[0][a] * q[a][b] * q[b][c] * q[c][d] for a, b, c, d in texts]
    assert chi_square_p([counts[text] for text in texts], alone) < 1e-6
