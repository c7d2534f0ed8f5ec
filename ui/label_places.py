"""Where labels of points go in a small chart, so that none lies on another, on a point or on a rule."""

from collections.abc import Sequence
from dataclasses import dataclass

NARROWEST_PX = 280
"""A plot on a phone; a wider one only has more room between its points."""
_LETTER_PX, _LINE_PX, _POINT_PX = 6.4, 14, 8
_RISES_PX = (-16, 18, -32, 34, -48, 50, -64, 66, -80, 82)


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """*text* beside a point at *x* and *y* px from the left and from the top."""

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
        return {"align": "left" if self.is_right else "right", "dx": 4 if self.is_right else -4, "dy": self.dy}


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
    points = [_around(label) for label in labels]
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
                + 1.0 * sum(box.meets(rule) for rule in rules)
            )

        best = min(options, key=cost)
        found.append(best)
        standing.append(box_of(label, best))
    return found


def box_of(label: Label, place: Place) -> Box:
    """What a label covers there."""
    width = _LETTER_PX * len(label.text)
    left = label.x + 4 if place.is_right else label.x - 4 - width
    middle = label.y + place.dy
    return Box(left=left, top=middle - _LINE_PX / 2, right=left + width, bottom=middle + _LINE_PX / 2)


def _around(label: Label) -> Box:
    return Box(left=label.x - _POINT_PX, top=label.y - _POINT_PX, right=label.x + _POINT_PX, bottom=label.y + _POINT_PX)
