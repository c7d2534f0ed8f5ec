"""Where labels of points go in a small chart, so that none lies on another, on a point or on a rule."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

NARROWEST_PX = 280
"""A plot on a phone; a wider one only has more room between its points."""
_LETTER_PX, _LINE_PX, _POINT_PX, _LINE_HALF_PX = 6.4, 14, 8, 2
_CROSSED = 3.0
"""A line that is crossed costs no more than this, however many of its points lie under a label."""
_FAR, _CLOSE_PX = 0.02, 12
"""What a px costs between a label and its point, and how near to another line a name would seem to be that one's."""
_RISES_PX = (-16, 18, -32, 34, -48, 50, -64, 66, -80, 82)


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """*text*, perhaps of several lines, beside a point at *x* and *y* px from the left and from the top."""

    x: float
    y: float
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """On which side of its point a label begins or ends, and how far below its middle, in px."""

    is_right: bool
    dy: float

    def marks(self) -> dict[str, object]:
        """The options of a text mark."""
        side = {"align": "left", "dx": 4} if self.is_right else {"align": "right", "dx": -4}
        return {**side, "dy": self.dy, "baseline": "middle", "lineBreak": "\n", "lineHeight": _LINE_PX}


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """A rectangle in px, its top above its bottom."""

    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: "Box") -> bool:
        """Whether the two share a point."""
        return (
            self.left < other.right and other.left < self.right and self.top < other.bottom and other.top < self.bottom
        )


def places(labels: Sequence[Label], taken: Sequence[Box], rules: Sequence[Box], plot: Box) -> list[Place]:
    """One place a label, in order: what costs least of lying on another label, outside, on a point, or on a rule.

    *taken* are labels that stand already; of places that cost the same the nearest, and towards the middle.
    """
    points = [around(label.x, label.y) for label in labels]
    found: list[Place] = []
    standing = [*taken]
    for label in labels:
        inward = label.x < (plot.left + plot.right) / 2
        options = [Place(is_right=side, dy=dy) for dy in _RISES_PX for side in (inward, not inward)]

        def cost(place: Place, label: Label = label) -> float:
            box = box_of(label, place)
            outside = box.left < plot.left or box.right > plot.right or box.top < plot.top or box.bottom > plot.bottom
            return (
                8.0 * sum(box.meets(other) for other in standing)
                + 4.0 * outside
                + 3.0 * sum(box.meets(point) for point in points)
                + min(_CROSSED, sum(box.meets(rule) for rule in rules))
                + _FAR * abs(place.dy)
            )

        best = min(options, key=cost)
        found.append(best)
        standing.append(box_of(label, best))
    return found


def name_place(
    text: str, line: Sequence[tuple[float, float]], others: Sequence[Box], taken: Sequence[Box], plot: Box
) -> tuple[int, Label, Place]:
    """Where along *line*, from its end on, its name stands close to it and clear of *others*, and the index there."""
    own = along(line)
    wider = [_grown(box, _CLOSE_PX) for box in others]

    def cost(option: tuple[int, Label, Place]) -> float:
        box = box_of(*option[1:])
        outside = box.left < plot.left or box.right > plot.right or box.top < plot.top or box.bottom > plot.bottom
        return (
            8.0 * sum(box.meets(other) for other in taken)
            + 4.0 * outside
            + min(_CROSSED, sum(box.meets(spot) for spot in own))
            + min(_CROSSED, sum(box.meets(spot) for spot in wider))
        )

    options = [
        (index, Label(x=line[index][0], y=line[index][1], text=text), Place(is_right=side, dy=dy))
        for index in reversed(range(len(line)))
        for dy in _RISES_PX[:2]
        for side in (True, False)
    ]
    return min(options, key=cost)


def box_of(label: Label, place: Place) -> Box:
    """What a label covers there."""
    lines = label.text.split("\n")
    width = _LETTER_PX * max(map(len, lines))
    left = label.x + 4 if place.is_right else label.x - 4 - width
    top = label.y + place.dy - _LINE_PX / 2  # the place is that of the first line
    return Box(left=left, top=top, right=left + width, bottom=top + _LINE_PX * len(lines))


def along(spots: Sequence[tuple[float, float]]) -> list[Box]:
    """What a line through *spots*, as (x, y) in px, covers: the spots, and points between those that are far apart."""
    found = []
    for (x, y), (next_x, next_y) in pairwise([*spots, spots[-1]]):
        parts = 1 + int(max(abs(next_x - x), abs(next_y - y)) // _POINT_PX)
        found += [
            _square(x + (next_x - x) * part / parts, y + (next_y - y) * part / parts, _LINE_HALF_PX)
            for part in range(parts)
        ]
    return found


def around(x: float, y: float) -> Box:
    """What the mark of a point covers."""
    return _square(x, y, _POINT_PX)


def _grown(box: Box, by: float) -> Box:
    return Box(left=box.left - by, top=box.top - by, right=box.right + by, bottom=box.bottom + by)


def _square(x: float, y: float, half: float) -> Box:
    return Box(left=x - half, top=y - half, right=x + half, bottom=y + half)
