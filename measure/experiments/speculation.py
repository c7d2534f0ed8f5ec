"""Each quantised model as the draft of the unrounded one: acceptance by position, tokens a pass, speed.

A rounded copy computes in full precision here, so that a drafted token costs as much as one of the target: c is near 1,
and the speed-up is expected below 1. Acceptance and tokens a pass do not depend on that.
"""

import copy
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from measure.certainty import chi_square_p, share_interval
from measure.experiments.base import Report, Settings, Table, rows_of
from measure.pictures import lines
from measure.quantizers import SCHEMES, quantize_model
from measure.records import Case, Record
from measure.running import Running, needed_for, start
from measure.setup import Setup
from measure.speculative import Speculated, draw, speculate, verify
from measure.texts import HELD_OUT, ids_of
from measure.worker import Message, Progress
from planner.speculation import acceptance_for, expected_tokens, speedup

NAME = "speculation"
DRAFTS, QUICK_DRAFTS = ("int8-row", "nf4", "int4-g128", "int4-row", "int4-tensor"), ("int8-row", "nf4", "int4-row")
GAMMA = 4
PROMPT_TOKENS = 32
TOKENS, QUICK_TOKENS = 128, 48
DRAWS = 4_000
DIFFERENT = 1e-3
"""A distribution is called another one below this chance; a draw in a thousand is wrongly called so."""


def cases(setup: Setup) -> list[Case]:
    tokens = QUICK_TOKENS if setup.quick else TOKENS
    found = [
        Case(
            experiment=NAME,
            name=f"{draft} {how}",
            settings={"kind": "run", "draft": draft, "how": how, "tokens": tokens},
        )
        for draft in (QUICK_DRAFTS if setup.quick else DRAFTS)
        for how in ("greedy", "sampled")
    ]
    return [*found, Case(experiment=NAME, name="distribution", settings={"kind": "test", "draft": "int4-row"})]


def needed_bytes(settings: Settings, setup: Setup) -> int:
    return 2 * needed_for(setup, 1, PROMPT_TOKENS + TOKENS)


def run(settings: Settings, setup: Setup) -> Iterator[Message]:
    running = start(setup)
    draft = copy.deepcopy(running.model)
    quantize_model(draft, SCHEMES[settings["draft"]])
    prompt = ids_of(running, HELD_OUT, PROMPT_TOKENS)
    yield Progress(share=0.2)
    if settings["kind"] == "test":
        yield same_distribution(running, draft, prompt, setup.seed)
        return
    generator = None if settings["how"] == "greedy" else torch.Generator().manual_seed(setup.seed)
    alone = speculate(running.model, running.model, prompt, settings["tokens"] // 2, 0, generator)
    yield Progress(share=0.5)
    found = speculate(running.model, draft, prompt, settings["tokens"], GAMMA, generator)
    yield _row(running, settings, found, alone.seconds / alone.passes)


def _row(running: Running, settings: Settings, found: Speculated, alone_s: float) -> dict[str, Any]:
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
        "kind": "run",
        "model": running.loaded.source.title,
        "draft": settings["draft"],
        "how": settings["how"],
        "acceptance": found.acceptance,
        "acceptance_low": low,
        "acceptance_high": high,
        "by_position": " ".join("–" if share is None else f"{share:.2f}" for share in by_position),
        "passes": found.passes,
        "predicted_tokens_a_pass": expected_tokens(found.acceptance, GAMMA),
        "measured_tokens_a_pass": per_pass,
        "draft_cost": cost,
        "predicted_speedup": speedup(alpha, GAMMA, cost),
        "measured_speedup": alone_s * per_pass / (found.seconds / found.passes),
    }


def same_distribution(running: Running, draft: Any, prompt: torch.Tensor, seed: int) -> dict[str, Any]:
    """One drafted token, checked by the rule DRAWS times: the chance of such counts if they were the target's own."""
    with torch.no_grad():
        target = running.model(input_ids=prompt).logits[0, -1].float().softmax(-1).cpu()
        drafts = draft(input_ids=prompt).logits[0, -1].float().softmax(-1).cpu()
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
        "draws": DRAWS,
        "acceptance": kept / DRAWS,
        "predicted_acceptance": float(torch.minimum(target, drafts).sum()),
        "p_value": chi_square_p([counts[token] for token in range(len(shares))], shares),
        "p_value_of_draft_alone": chi_square_p([draft_counts[token] for token in range(len(shares))], shares),
    }


def report(records: Sequence[Record], setup: Setup) -> Report:
    runs, tests = rows_of(records, "run"), rows_of(records, "test")
    parts = []
    greedy = [row for row in runs if row["how"] == "greedy"]
    if greedy:
        best, worst = (pick(greedy, key=lambda row: row["acceptance"]) for pick in (max, min))
        parts.append(
            f"Greedily {best['draft']} as draft is accepted {best['acceptance']:.0%} of the time and "
            f"{worst['draft']} {worst['acceptance']:.0%}: {best['measured_tokens_a_pass']:.2f} and "
            f"{worst['measured_tokens_a_pass']:.2f} tokens a pass"
        )
    for test in tests:
        is_same = test["p_value"] >= DIFFERENT
        parts.append(
            f"sampled tokens are {'' if is_same else 'not '}distributed as the target's own "
            f"(p = {test['p_value']:.2g}; the draft's alone: {test['p_value_of_draft_alone']:.1g})"
        )
    chart = lines(runs, ("acceptance", "acceptance"), ("measured_tokens_a_pass", "tokens a pass"), "how")
    return Report(
        tables=(Table(rows=runs, chart=chart), Table(name="distribution", rows=tests)),
        lesson=f"{'; '.join(parts) or 'Nothing was measured'}.",
        disagreements=tuple(
            f"distribution after {test['draws']:,} draws: p = {test['p_value']:.1g}"
            for test in tests
            if test["p_value"] < DIFFERENT
        ),
    )
