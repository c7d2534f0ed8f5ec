"""The effects that are documented of caches, batches and rounded weights, each checked on this machine's readings."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from pathlib import Path

from measure.certainty import share_interval
from measure.rows import NO_READING, Rows, by, peak_ratios
from planner.export import to_markdown
from planner.units import counted

HOLDS, FAILS, NOT_YET = "holds", "does not hold", "not measured yet"
COLLAPSE = 10
"""Times the perplexity of the unrounded model from which on a scheme has collapsed."""
FREE = 0.02
"""A share of perplexity that is nothing."""
FROM_TENSOR_TO_NF4 = ("int4-tensor", "int4-row", "int4-g128", "nf4")
SAME = 1e-3
"""Draws of the target's own distribution are less likely than this once in a thousand tests."""
Checked = tuple[bool, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """*verdict* is one of ``HOLDS``, ``FAILS`` and ``NOT_YET``; *figures* are what was read."""

    effect: str
    verdict: str
    figures: str


def effects(folder: Path) -> list[Effect]:
    """Each documented effect on the newest readings in *folder*. Raises PlannerError for a broken file."""
    rows = Rows(folder)
    return [_effect(words, check, rows) for words, check in CHECKS.items()]


def effects_markdown(folder: Path) -> str:
    """The same as a section of a report."""
    table = [{"effect": one.effect, "here": one.verdict, "figures": one.figures} for one in effects(folder)]
    title = "## What is known to happen, and whether it does here"
    return "\n".join([title, "", Rows(folder).said(), "", to_markdown(table)])


def _effect(words: str, check: Callable[[Rows], Checked], rows: Rows) -> Effect:
    try:
        holds, figures = check(rows)
    except NO_READING:
        return Effect(effect=words, verdict=NOT_YET, figures="")
    return Effect(effect=words, verdict=HOLDS if holds else FAILS, figures=figures)


def _rising(values: Sequence[float]) -> bool:
    """Whether each is larger than the one before; of a single one nothing can be said."""
    if len(values) < 2:
        raise LookupError("one value")
    return all(before < after for before, after in pairwise(values))


def _exact(rows: Rows) -> Checked:
    found = by("model", rows.of("cache-size"))
    exact = sum(row["measured_bytes"] == row["predicted_bytes"] for row in found)
    models = len({row["model"] for row in found})
    return exact == len(found), f"{exact} of {len(found)} readings of {counted(models, 'architecture')}"


def _same_tokens(rows: Rows) -> Checked:
    found = by("tokens", rows.of("cache-exactness", kind="generation"))
    same, all_ = (sum(row[key] for row in found) for key in ("same_tokens", "tokens"))
    return same == all_, f"{same} of {all_} tokens"


def _time_grows(rows: Rows) -> Checked:
    whole, head = (by("tokens", rows.of("cache-exactness", kind=kind)) for kind in ("generation", "head"))
    said = "; ".join(
        f"{what} " + ", ".join(f"{row['ratio']:.1f} × at {row['tokens']:,}" for row in found)
        for what, found in (("the model", whole), ("one head", head))
    )
    return all(_rising([row["ratio"] for row in found]) for found in (whole, head)), said


def _peak_grows(rows: Rows) -> Checked:
    found = peak_ratios(rows.of("peak"), "eager", "all")
    return _rising(list(found.values())), ", ".join(
        f"{ratio:.1f} × for {count} tokens" for count, ratio in found.items()
    )


def _phases(rows: Rows) -> Checked:
    prompt = min(row["seconds_per_token"] for row in by("tokens", rows.of("prefill-decode", phase="prefill")))
    step = by("tokens", rows.of("prefill-decode", phase="decode"))[0]["seconds_per_token"]
    return step > prompt, f"{1e3 * prompt:.2f} and {1e3 * step:.1f} ms a token"


def _batches(rows: Rows) -> Checked:
    found = by("requests", rows.of("batching", kind="step"))
    first, last = found[0], found[-1]
    throughput, latency = last["tokens_per_s"] / first["tokens_per_s"], last["step_s"] / first["step_s"]
    if first is last:
        raise LookupError("one batch")
    said = f"{first['requests']} → {last['requests']} requests: throughput {throughput:.1f} ×, latency {latency:.1f} ×"
    return throughput > 1 and latency > 1, said


def _collapse(rows: Rows) -> Checked:
    tensor, full = (rows.one("quality", scheme=name)["perplexity"] for name in ("int4-tensor", "full precision"))
    return tensor >= COLLAPSE * full, f"perplexity {tensor:,.0f} against {full:.1f}"


def _recovery(rows: Rows) -> Checked:
    error = [rows.one("weight-quantization", scheme=name)["mean_error"] for name in FROM_TENSOR_TO_NF4]
    agreement = [rows.one("quality", scheme=name)["agreement"] for name in FROM_TENSOR_TO_NF4]
    said = f"error {_list(error, '.3f')}; agreement {_list(agreement, '.0%')}"
    return _rising(error[::-1]) and _rising(agreement), said


def _free(rows: Rows) -> Checked:
    row, full = (rows.one("quality", scheme=name) for name in ("int8-row", "full precision"))
    more = row["perplexity"] / full["perplexity"] - 1
    return more <= FREE, f"perplexity {more:+.1%}, agreement {row['agreement']:.0%}"


def _agreement_falls(rows: Rows) -> Checked:
    by_error = by("mean_error", rows.of("weight-quantization", kind="scheme"))
    found = [rows.one("quality", scheme=row["scheme"]) for row in by_error]
    said = ", ".join(
        f"{row['scheme']} {row['mean_error']:.3f}: {one['agreement']:.0%}"
        for row, one in zip(by_error, found, strict=True)
    )
    return _falls([(one["agreed"], one["positions"]) for one in found]), said


def _acceptance_follows(rows: Rows) -> Checked:
    agreement = {row["scheme"]: row["agreement"] for row in rows.of("quality")}
    runs = [row for row in rows.of("speculation", kind="run", how="greedy") if row["draft"] in agreement]
    found = sorted(runs, key=lambda row: -agreement[row["draft"]])
    said = ", ".join(f"{row['draft']} {row['acceptance']:.0%} ({agreement[row['draft']]:.0%})" for row in found)
    return _falls([(row["accepted"], row["drafted"]) for row in found]), said


def _falls(counts: Sequence[tuple[int, int]]) -> bool:
    """Whether no share of hits is surely above an earlier one, and the last is surely below the first (95% each)."""
    ends = [share_interval(hits, trials) for hits, trials in counts]
    if len(ends) < 2:
        raise LookupError("one share")
    return all(later[0] <= earlier[1] for earlier, later in combinations(ends, 2)) and ends[-1][1] < ends[0][0]


def _distribution(rows: Rows) -> Checked:
    found = by("draft", rows.of("speculation", kind="test"))
    said = ", ".join(f"{row['draft']} as draft: p = {row['p_value']:.2g}" for row in found)
    return all(row["p_value"] >= SAME for row in found), said


def _list(values: Iterable[float], form: str) -> str:
    return ", ".join(format(value, form) for value in values)


CHECKS: Mapping[str, Callable[[Rows], Checked]] = {
    "Cache tensors have the bytes that the formula says.": _exact,
    "A model writes the same tokens with a cache and without.": _same_tokens,
    "Without a cache time grows: the more tokens, the larger the ratio.": _time_grows,
    "Without a cache the peak grows: the more tokens, the larger the ratio (eager, logits of every position).": (
        _peak_grows
    ),
    "A prompt's token is cheaper than a generated one.": _phases,
    "A larger batch makes more tokens a second, and each request waits longer.": _batches,
    f"4 bits with one scale a tensor ruin a model (perplexity {COLLAPSE} times as high).": _collapse,
    "A scale a row, then a group, then NF4 bring it back, in this order.": _recovery,
    f"8 bits with a scale a row cost nothing (perplexity within {FREE:.0%}).": _free,
    "The larger the error of the weights, the fewer tokens are the unrounded model's.": _agreement_falls,
    "A draft is accepted as often as it agrees: in the same order.": _acceptance_follows,
    "A draft does not change what is sampled.": _distribution,
}
"""Each effect in words, and what decides about it; LookupError: its readings are not there."""
