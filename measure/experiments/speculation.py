"""Each quantised model, and a smaller one, as the draft of the whole: acceptance by position, tokens a pass, speed.

A rounded copy computes in full precision here, so that a drafted token costs as much as one of the target: c is near 1,
and the speed-up is expected below 1. Acceptance and tokens a pass do not depend on that. The smaller one is the
target's own first two thirds of layers, or what ``--draft`` names.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from measure.certainty import chi_square_p, share_interval
from measure.drafts import LoadedDraft, check_draft, load_draft
from measure.experiments.base import TOO_FEW, Report, Settings, Table, rows_of
from measure.models import find_source
from measure.pictures import Chart, along
from measure.records import Case, Record
from measure.running import Running, needed_for, start
from measure.setup import Setup
from measure.speculative import Speculated, draw, speculate, verify
from measure.texts import HELD_OUT, ids_of
from measure.worker import Message, Progress
from planner.speculation import acceptance_for, expected_tokens, speedup

NAME = "speculation"
DRAFTS, QUICK_DRAFTS = ("int8-row", "nf4", "int4-g128", "int4-tensor", "int4-row"), ("int8-row", "nf4", "int4-row")
"""The last one's sampled tokens are tested, and the smaller model's."""
GAMMA = 4
PROMPT_TOKENS = 32
TOKENS, QUICK_TOKENS = 128, 48
DRAWS = 4_000
DIFFERENT = 1e-3
"""A distribution is called another one below this chance; a test in a thousand is wrongly called so."""


def cases(setup: Setup) -> list[Case]:
    target, tokens = find_source(setup), QUICK_TOKENS if setup.quick else TOKENS
    layers = len(target.architecture.layers)
    smaller = (setup.draft,) if setup.draft else (f"first-{2 * layers // 3}",) if layers > 1 else ()
    rounded = () if setup.draft else (QUICK_DRAFTS if setup.quick else DRAFTS)
    for draft in (*rounded, *smaller):
        check_draft(draft, target, PROMPT_TOKENS + tokens + 2 * GAMMA, setup)
    runs = [
        {"kind": "run", "draft": draft, "how": how, "tokens": tokens}
        for draft in (*rounded, *smaller)
        for how in ("greedy", "sampled")
    ]
    tests = [{"kind": "test", "draft": draft, "how": "distribution"} for draft in (*rounded[-1:], *smaller)]
    return [Case(experiment=NAME, name=f"{one['draft']} {one['how']}", settings=one) for one in (*runs, *tests)]


def needed_bytes(settings: Settings, setup: Setup) -> int:
    return 2 * needed_for(setup, 1, PROMPT_TOKENS + TOKENS)


def run(settings: Settings, setup: Setup) -> Iterator[Message]:
    running = start(setup)
    draft = load_draft(settings["draft"], running, setup)
    prompt = ids_of(running, HELD_OUT, PROMPT_TOKENS)
    yield Progress(share=0.2)
    if settings["kind"] == "test":
        yield same_distribution(running, draft, prompt, setup.seed)
        return
    generator = None if settings["how"] == "greedy" else torch.Generator().manual_seed(setup.seed)
    alone = speculate(running.model, running.model, prompt, settings["tokens"] // 2, 0, generator)
    yield Progress(share=0.5)
    found = speculate(running.model, draft.model, prompt, settings["tokens"], GAMMA, generator)
    yield {
        "kind": "run",
        "model": running.loaded.source.title,
        "attention": running.attention,
        "draft": settings["draft"],
        "draft_model": draft.title,
        "vocabulary": draft.vocabulary,
        "how": settings["how"],
        **_figures(found, alone.seconds / alone.passes),
    }


def _figures(found: Speculated, alone_s: float) -> dict[str, Any]:
    per_pass = (len(found.tokens) - 1) / found.passes
    # One α for all positions, from the tokens of a pass: what the formula assumes.
    alpha = acceptance_for(min(per_pass, GAMMA + 1), GAMMA)
    cost = found.draft_s / (GAMMA * found.passes) / alone_s
    low, high = share_interval(sum(found.accepted), sum(found.tried))
    by_position = [
        round(accepted / tried, 3) if tried else None
        for accepted, tried in zip(found.accepted, found.tried, strict=True)
    ]
    return {
        "accepted": sum(found.accepted),
        "drafted": sum(found.tried),
        "acceptance": found.acceptance,
        "acceptance_low": low,
        "acceptance_high": high,
        "by_position": " ".join("–" if share is None else f"{share:.2f}" for share in by_position),
        "passes": found.passes,
        "predicted_tokens_a_pass": expected_tokens(found.acceptance, GAMMA),
        "measured_tokens_a_pass": per_pass,
        "draft_cost": cost,
        "check_cost": found.target_s / found.passes / alone_s,
        "predicted_speedup": speedup(alpha, GAMMA, cost),
        "measured_speedup": alone_s * per_pass / (found.seconds / found.passes),
    }


def same_distribution(running: Running, draft: LoadedDraft, prompt: torch.Tensor, seed: int) -> dict[str, Any]:
    """One drafted token, checked by the rule DRAWS times: the chance of such counts if they were the target's own."""
    with torch.no_grad():
        target, drafts = (
            model(input_ids=prompt).logits[0, -1].float().softmax(-1).cpu() for model in (running.model, draft.model)
        )
    generator = torch.Generator().manual_seed(seed)
    both = torch.stack([target, target])
    counts: Counter[int] = Counter()
    kept = 0
    for _ in range(DRAWS):
        token = draw(drafts, generator)
        accepted, other = verify([token], [drafts], both, generator)
        kept += accepted
        counts[token if accepted else other] += 1
    draft_counts = Counter(torch.multinomial(drafts, DRAWS, replacement=True, generator=generator).tolist())
    shares = target.tolist()
    return {
        "kind": "test",
        "draft": draft.title,
        "draws": DRAWS,
        "acceptance": kept / DRAWS,
        "predicted_acceptance": float(torch.minimum(target, drafts).sum()),
        "p_value": chi_square_p([counts[token] for token in range(len(shares))], shares),
        "p_value_of_draft_alone": chi_square_p([draft_counts[token] for token in range(len(shares))], shares),
    }


def report(records: Sequence[Record], setup: Setup) -> Report:
    runs, tests = rows_of(records, "run"), rows_of(records, "test")
    return Report(
        tables=(Table(rows=runs, chart=_chart(runs)), Table(name="distribution", rows=tests)),
        lesson=f"{'; '.join([*_acceptances(runs), *_distributions(tests)]) or TOO_FEW}.",
        disagreements=(*_off(runs), *(_different(test) for test in tests if test["p_value"] < DIFFERENT)),
    )


def _acceptances(runs: Sequence[dict[str, Any]]) -> Iterator[str]:
    greedy = [row for row in runs if row["how"] == "greedy"]
    if greedy:
        best, worst = (pick(greedy, key=lambda row: row["acceptance"]) for pick in (max, min))
        yield (
            f"Of what {best['draft_model']} drafts, {best['acceptance']:.0%} is accepted, and a pass of the model "
            f"makes {best['measured_tokens_a_pass']:.2f} tokens; of what {worst['draft_model']} drafts, "
            f"{worst['acceptance']:.0%}, and {worst['measured_tokens_a_pass']:.2f}"
        )


def _distributions(tests: Sequence[dict[str, Any]]) -> Iterator[str]:
    same = [test for test in tests if test["p_value"] >= DIFFERENT]
    if same:
        chances = ", ".join(f"p = {test['p_value']:.2g}" for test in same)
        yield (
            "a draft decides the speed, not the text: sampled tokens come as often as the model alone would draw "
            f"them ({chances} after {same[0]['draws']:,} draws)"
        )


def _off(runs: Sequence[dict[str, Any]]) -> Iterator[str]:
    for row in runs:
        name = f"{row['draft_model']}, {row['how']}"
        for what, words in (("tokens_a_pass", "tokens a pass"), ("speedup", "speed-up")):
            predicted, measured = f"{row[f'predicted_{what}']:.2f}", f"{row[f'measured_{what}']:.2f}"
            if predicted != measured:
                because = (
                    f"; checking {GAMMA + 1} tokens took {row['check_cost']:.2f} passes" if what == "speedup" else ""
                )
                yield f"{name}: {words} {measured}, predicted {predicted}{because}"


def _different(test: dict[str, Any]) -> str:
    return f"{test['draft']} as draft: the chance of these {test['draws']:,} draws is {test['p_value']:.1g}"


def _chart(runs: Sequence[dict[str, Any]]) -> Chart:
    points = [row | {"name": f"{row['draft_model']}, {row['how']}"} for row in runs]
    curve = [{"acceptance": n / 50, "measured_tokens_a_pass": expected_tokens(n / 50, GAMMA)} for n in range(51)]
    return along(
        points, curve, ("acceptance", "share of drafts accepted"), ("measured_tokens_a_pass", "tokens a pass"), "name"
    )
