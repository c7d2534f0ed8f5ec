"""Labels of a chart's points lie on nothing else; what a field shows while it is empty fits a phone."""

import ast
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ui.charts.label_places import Box, Label, along, box_of, name_place, places

PLOT = Box(left=0, top=0, right=280, bottom=250)
UI = Path(__file__).parents[2] / "ui"
LONGEST_PLACEHOLDER = 14
"""As many letters as half a phone's width has beside the two buttons of a number."""


def test_two_points_at_one_place_have_two_labels() -> None:
    labels = [Label(x=240, y=200, text="no draft: 1.00 times"), Label(x=238, y=205, text="EAGLE head: 0.95 times")]
    first, second = (box_of(label, place) for label, place in zip(labels, places(labels, (), (), PLOT), strict=True))
    assert not first.meets(second)


def test_a_label_keeps_off_a_rule_and_off_another_that_stands_already() -> None:
    label = Label(x=150, y=100, text="n-gram: 1.38 times")
    rule = Box(left=100, top=0, right=102, bottom=250)
    standing = Box(left=150, top=76, right=280, bottom=92)
    (place,) = places([label], [standing], [rule], PLOT)
    assert not box_of(label, place).meets(rule)
    assert not box_of(label, place).meets(standing)


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(20, 260), st.integers(20, 230)), min_size=1, max_size=4))
def test_a_handful_of_labels_never_meet(points: list[tuple[int, int]]) -> None:
    labels = [Label(x=x, y=y, text="a draft: 1.23 times") for x, y in points]
    boxes = [box_of(label, place) for label, place in zip(labels, places(labels, (), (), PLOT), strict=True)]
    assert not any(one.meets(other) for index, one in enumerate(boxes) for other in boxes[:index])


def test_a_label_of_two_lines_is_as_high_as_two() -> None:
    one, two = (Label(x=100, y=100, text=text) for text in ("n-gram: 1.38 times", "n-gram\n1.38 times"))
    (place,) = places([one], (), (), PLOT)
    low, high = box_of(one, place), box_of(two, place)
    assert high.bottom - high.top == 2 * (low.bottom - low.top)
    assert high.right - high.left < low.right - low.left


def test_no_letter_fits_between_two_spots_of_a_line() -> None:
    boxes = along([(0.0, 0.0), (80.0, 0.0), (80.0, 50.0)])
    for x, y in ((-3, -3), (37, -3), (75, 20)):
        assert any(Box(left=x, top=y, right=x + 6.4, bottom=y + 14).meets(box) for box in boxes)
    assert not any(Box(left=20, top=20, right=60, bottom=40).meets(box) for box in boxes)


def test_the_name_of_a_line_stands_nearer_to_it_than_to_the_other() -> None:
    """Two lines that fall apart, as the pace of one user and of many does over a longer text."""
    one = [(28.0 * part, 20.0 + part) for part in range(11)]
    many = [(28.0 * part, 25.0 + 1.8 * part**2) for part in range(11)]
    for line, other in ((one, many), (many, one)):
        _, label, place = name_place("each of 16", line, along(other), (), PLOT)
        box = box_of(label, place)
        assert not any(box.meets(spot) for spot in along(other))
        middle = (box.top + box.bottom) / 2
        apart = [min(abs(y - middle) for x, y in each if abs(x - label.x) < 30) for each in (line, other)]
        assert apart[0] < apart[1]


def placeholders() -> list[tuple[str, str]]:
    """What the fields for numbers show while they are empty."""
    found = []
    for path in sorted(UI.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("fields.figure", "st.number_input"):
                found += [
                    (f"{path.name}:{node.lineno}", word.value.value)
                    for word in node.keywords
                    if word.arg == "placeholder" and isinstance(word.value, ast.Constant)
                ]
    return found


@pytest.mark.parametrize(("where", "words"), placeholders())
def test_what_an_empty_number_shows_is_not_cut_on_a_phone(where: str, words: str) -> None:
    assert len(words) <= LONGEST_PLACEHOLDER, where
