"""The chapter against this machine: each of the textbook's figures beside the same one from this machine's records.

Figures that follow from shapes alone are the planner's; they are the same on every machine.
"""

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from measure.rows import NO_READING, Row, Rows, by, outlier, peak_ratios
from planner.answers.answer import Answer, answer
from planner.export import to_markdown
from planner.inputs.choices import Choices, choose
from planner.speculation import speedup
from planner.units import MIB, counted, format_bytes, format_figure, format_rate

FILE = Path(__file__).parent / "textbook.toml"
NOT_YET = "not measured yet"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One of the textbook's figures; *here* names the reader of this machine's."""

    topic: str
    what: str
    textbook: str
    here: str


@cache
def figures() -> tuple[Figure, ...]:
    """The textbook's figures, in its order."""
    return tuple(Figure(**table) for table in tomllib.loads(FILE.read_text(encoding="utf-8"))["figures"])


@cache
def source() -> str:
    return str(tomllib.loads(FILE.read_text(encoding="utf-8"))["source"])


def chapter(folder: Path) -> list[dict[str, str]]:
    """Topic, figure, the textbook's and this machine's, in the textbook's order."""
    rows = Rows(folder)
    return [
        {"topic": one.topic, "figure": one.what, "textbook": one.textbook, "here": _here(one.here, rows)}
        for one in figures()
    ]


def chapter_markdown(folder: Path) -> str:
    """The same as a section of a report."""
    return "\n".join(
        [
            "## The chapter against this machine",
            "",
            f"Textbook: {source()}. {Rows(folder).said()}".strip(),
            "",
            to_markdown(chapter(folder)),
        ]
    )


def _here(name: str, rows: Rows) -> str:
    try:
        return READ[name](rows)
    except NO_READING:
        return NOT_YET


def _same_tokens(rows: Rows) -> str:
    found = rows.of("cache-exactness", kind="generation")
    same, all_ = (sum(row[key] for row in found) for key in ("same_tokens", "tokens"))
    return "the same" if same == all_ != 0 else f"{same / all_:.0%} the same"


def _scores(rows: Rows) -> str:
    row = _longest(rows.of("cache-exactness", kind="head"))
    without, with_ = (format_rate(row[f"measured_{name}score_bytes"]) for name in ("", "cached_"))
    return f"{without} and {with_} at {row['tokens']:,} tokens"


def _multiply_accumulates(rows: Rows) -> str:
    row = _longest(rows.of("cache-exactness", kind="sum"))
    return f"{row['ratio']:.4g} × at T = {row['tokens']}, counted; the formula gives {(2 * row['tokens'] + 1) / 3:.4g}"


def _peak_without(rows: Rows) -> str:
    generated, ratio = list(peak_ratios(rows.of("peak"), "eager", "all").items())[-1]
    return f"{ratio:.1f} × for {generated} tokens"


def _cache_exact(rows: Rows) -> str:
    found = rows.of("cache-size")
    exact = sum(row["measured_bytes"] == row["predicted_bytes"] for row in found)
    models = len({row["model"] for row in found})
    return f"exact in {exact} of {len(found)} readings of {counted(models, 'architecture')}" if found else NOT_YET


def _prompt_token_s(rows: Rows) -> float:
    return float(rows.one("prefill-decode", phase="prefill", tokens=40)["seconds_per_token"])


def _generated_token_s(rows: Rows) -> float:
    return float(_shortest(rows)["seconds_per_token"])


def _shortest(rows: Rows) -> Row:
    return by("tokens", rows.of("prefill-decode", phase="decode"))[0]


def _longest(found: list[dict[str, Any]]) -> Row:
    return by("tokens", found)[-1]


def _long_cache(rows: Rows) -> str:
    short = _shortest(rows)
    long = _longest(rows.of("prefill-decode", phase="decode"))
    return f"{long['seconds'] / short['seconds']:.2f}: {long['tokens']:,} and {short['tokens']:,} tokens"


def _batch(rows: Rows, few: int, many: int) -> str:
    one, other = (rows.one("batching", kind="step", requests=count) for count in (few, many))
    faster, longer = other["tokens_per_s"] / one["tokens_per_s"], other["step_s"] / one["step_s"]
    return f"{faster:.2f} ×, {longer:.2f} ×"


def _scheme(rows: Rows, name: str) -> Row:
    return rows.one("weight-quantization", kind="scheme", scheme=name)


def _nf4_error(rows: Rows) -> str:
    nf4, group = (_scheme(rows, name)["mean_error"] for name in ("nf4", "int4-g128"))
    return f"{nf4:.4f}, {1 - nf4 / group:.0%}"


def _farthest(rows: Rows) -> str:
    found = rows.of("weight-quantization", kind="weights")
    row = sorted(found, key=lambda row: row["max_sigmas"])[-1]
    return f"{row['max_sigmas']:.1f} σ; {row['beyond_6_sigma_share']:.3%}"


def _outlier(rows: Rows) -> str:
    row = outlier(rows.of("activation-outliers", kind="layers"))
    return f"{row['top_dimension']}: {row['top_max']:,.0f} against {format_figure(row['median_max'])}"


def _scale(rows: Rows, left_out: int) -> Row:
    return rows.one("activation-outliers", kind="scale", left_out=left_out)


def _perplexity(rows: Rows, *schemes: str) -> str:
    found = [rows.one("quality", scheme=scheme)["perplexity"] for scheme in schemes]
    return ", ".join(f"{value:,.2f}" if value < 10_000 else f"{value:,.0f}" for value in found)


def _agreement(rows: Rows, scheme: str) -> str:
    row = rows.one("quality", scheme=scheme)
    return f"{row['agreed']} of {row['positions']}"


def _questions(rows: Rows) -> str:
    found = rows.of("quality")
    full = rows.one("quality", scheme="full precision")
    apart = [row["scheme"] for row in found if row["questions_share_high"] < full["questions_share_low"]]
    return f"{full['right']} right unrounded; told from it: {', '.join(apart) or 'none'}"


def _acceptance(rows: Rows) -> str:
    said = []
    for row in rows.of("speculation", kind="run", how="greedy"):
        agreed = rows.of("quality", scheme=row["draft"])
        beside = f" ({agreed[-1]['agreement']:.0%})" if agreed else ""
        said.append(f"{row['draft']} {row['acceptance']:.0%}{beside}")
    return ", ".join(said) or NOT_YET


def _distribution(rows: Rows) -> str:
    row = rows.one("speculation", kind="test")
    return (
        f"p = {row['p_value']:.2g} after {row['draws']:,} draws; the draft's alone {row['p_value_of_draft_alone']:.1g}"
    )


def _temperature(rows: Rows) -> str:
    one, two = (rows.one("distillation", kind="temperature", temperature=value) for value in (1, 2))
    return f"{one['measured_ratio']:.2f} and {two['measured_ratio']:.2f}"


def _plan(model: str, memory: str, weights: str) -> Answer:
    """One cell of the textbook's table: no engine, 1.5 GiB for all that is neither weights nor cache."""
    chosen = choose(Choices(model=model, memory=memory, weights=weights, overhead="1.5GiB"))
    return answer(chosen.architecture, chosen.deployment, chosen.workload)


def _token_bytes(_: Rows) -> str:
    return f"{_plan('qwen2.5-0.5b', '8GiB', 'fp16').kv_bytes_per_token:,} B"


def _same_cost(_: Rows) -> str:
    token_bytes = int(_plan("qwen2.5-0.5b", "8GiB", "fp16").kv_bytes_per_token)
    sizes = {users * tokens * token_bytes // MIB for users, tokens in ((32, 2_048), (64, 1_024), (128, 512))}
    return " or ".join(f"{size:,} MiB" for size in sorted(sizes)) + " each"


def _tokens(model: str, memory: str, weights: str) -> str:
    return f"{_plan(model, memory, weights).pool_tokens:,}"


READ: Mapping[str, Callable[[Rows], str]] = {
    "same_tokens": _same_tokens,
    "time_without": lambda rows: f"{rows.one('cache-exactness', kind='generation', tokens=48)['ratio']:.1f} ×",
    "scores": _scores,
    "multiply_accumulates": _multiply_accumulates,
    "peak_without": _peak_without,
    "cache_exact": _cache_exact,
    "token_bytes": _token_bytes,
    "same_cost": _same_cost,
    "prompt_token": lambda rows: f"{1e3 * _prompt_token_s(rows):.1f} ms",
    "generated_token": lambda rows: f"{1e3 * _generated_token_s(rows):.1f} ms",
    "phases_ratio": lambda rows: f"{_generated_token_s(rows) / _prompt_token_s(rows):.1f} ×",
    "long_cache": _long_cache,
    "sixteen": lambda rows: _batch(rows, 1, 16),
    "thirty_two": lambda rows: _batch(rows, 16, 32),
    "tensor_worst": lambda rows: f"{_scheme(rows, 'int4-tensor')['worst_error']:.2f}",
    "row_gain": lambda rows: (
        f"{_scheme(rows, 'int4-tensor')['mean_error'] / _scheme(rows, 'int4-row')['mean_error']:.1f}"
    ),
    "group_error": lambda rows: f"{_scheme(rows, 'int4-g128')['mean_error']:.4f}",
    "nf4_error": _nf4_error,
    "farthest": _farthest,
    "outlier": _outlier,
    "int8_step": lambda rows: f"{_scale(rows, 0)['step'] / _scale(rows, 4)['step']:.1f} ×",
    "levels": lambda rows: f"{_scale(rows, 0)['median_dimension_levels']}; {_scale(rows, 4)['typical_levels']}",
    "perplexity_int8": lambda rows: _perplexity(rows, "full precision", "int8-row"),
    "perplexity_int4": lambda rows: _perplexity(rows, "int4-tensor", "int4-row", "int4-g128", "nf4"),
    "agreement_int8": lambda rows: _agreement(rows, "int8-row"),
    "questions": _questions,
    "acceptance": _acceptance,
    "distribution": _distribution,
    "speedups": lambda _: " and ".join(f"{speedup(alpha, 8, 0.1):.2f}" for alpha in (0.9, 0.3)),
    "temperature": _temperature,
    "thirteen_int4": lambda _: _tokens("13b-class-mha", "8GiB", "int4-g128"),
    "sixteen_gib": lambda _: f"{_tokens('7b-class', '16GiB', 'int8')} and {_tokens('13b-class-mha', '16GiB', 'int8')}",
    "seventy_weights": lambda _: format_bytes(_plan("70b-class", "80GiB", "int4-g128").weights_bytes, 1),
}
"""By the name in the data, how this machine's figure is read; LookupError: it is not measured yet."""
