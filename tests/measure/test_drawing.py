"""Pictures come last: what they need and do not get costs a sentence, and no table or result."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from measure import drawing
from measure.drawing import draw
from measure.pictures import lines

CHART = lines(
    [{"tokens": 1, "bytes": 2}, {"tokens": 2, "bytes": 4}], ("tokens", "tokens"), ("bytes", "bytes")
).to_dict()


def test_pictures_are_drawn_elsewhere(tmp_path: Path) -> None:
    files = [tmp_path / f"one.{suffix}" for suffix in ("png", "svg")]
    assert draw(dict.fromkeys(files, CHART)) == ""
    assert files[0].read_bytes().startswith(b"\x89PNG")
    assert "<svg" in files[1].read_text(encoding="utf-8")
    assert draw({}) == ""


@pytest.mark.parametrize(
    ("code", "said", "words"),
    [(-5, "", "memory may be short: exit code -5."), (1, "Trace\nMemoryError: none.\n", "short: MemoryError: none.")],
)
def test_a_drawing_that_ends_badly_is_a_sentence(
    code: int, said: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = SimpleNamespace(returncode=code, stderr=said)
    monkeypatch.setattr(drawing.subprocess, "run", lambda *words, **options: ended)
    told = draw({tmp_path / "one.png": CHART})
    assert told.startswith("The pictures were not drawn")
    assert told.endswith(words)
