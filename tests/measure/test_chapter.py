"""The chapter against this machine: every figure has its reader, and readings come out as they were written."""

from pathlib import Path

from measure.chapter import NOT_YET, READ, chapter, chapter_markdown, figures
from tests.measure.kept import keep

FROM_SHAPES = {"token_bytes", "same_cost", "speedups", "thirteen_int4", "sixteen_gib", "seventy_weights"}


def here(folder: Path) -> dict[str, str]:
    return {one.here: row["here"] for one, row in zip(figures(), chapter(folder), strict=True)}


def test_every_figure_has_a_reader_and_every_reader_a_figure() -> None:
    assert sorted(one.here for one in figures()) == sorted(READ)


def test_what_follows_from_shapes_is_the_textbooks_own(tmp_path: Path) -> None:
    for one, row in zip(figures(), chapter(tmp_path), strict=True):
        assert row["here"] == (one.textbook if one.here in FROM_SHAPES else NOT_YET)


def test_readings_are_put_beside_their_figures(tmp_path: Path) -> None:
    shapes = {"attention": "eager", "logits": "all", "batch": 1, "prompt_tokens": 40, "generated_tokens": 64}
    keep(
        tmp_path, "peak",
        {**shapes, "cached": True, "measured_peak_bytes": 1_000},
        {**shapes, "cached": False, "measured_peak_bytes": 3_900},
    )  # fmt: skip
    keep(
        tmp_path, "batching",
        *({"kind": "step", "requests": n, "tokens_per_s": rate, "step_s": n / rate}
          for n, rate in ((1, 10.0), (16, 60.0), (32, 66.0))),
    )  # fmt: skip
    keep(
        tmp_path, "prefill-decode",
        {"phase": "prefill", "tokens": 40, "seconds": 1.0, "seconds_per_token": 0.025},
        {"phase": "decode", "tokens": 16, "seconds": 0.1, "seconds_per_token": 0.1},
        {"phase": "decode", "tokens": 512, "seconds": 0.11, "seconds_per_token": 0.11},
    )  # fmt: skip
    keep(tmp_path, "distillation", *(
        {"kind": "temperature", "temperature": t, "measured_ratio": ratio} for t, ratio in ((1, 2.25), (2, 1.5))
    ))  # fmt: skip
    found = here(tmp_path)
    assert found["peak_without"] == "3.9 × for 64 tokens"
    assert found["sixteen"] == "6.00 ×, 2.67 ×"
    assert found["thirty_two"] == "1.10 ×, 1.82 ×"
    assert (found["prompt_token"], found["generated_token"], found["phases_ratio"]) == ("25.0 ms", "100.0 ms", "4.0 ×")
    assert found["long_cache"] == "1.10: 512 and 16 tokens"
    assert found["temperature"] == "2.25 and 1.50"
    assert found["questions"] == NOT_YET
    assert "| Batching | 1 → 16 requests: throughput, latency | 6.0 ×, 2.67 × | 6.00 ×, 2.67 × |" in chapter_markdown(
        tmp_path
    )
