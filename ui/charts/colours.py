"""Colours of charts and swatches. Fills have 3 : 1 or more on white and on the dark ground, so files match."""

from planner.answers.card import Part

WEIGHTS = "#0072B2"
RUNTIME = "#7A7468"
CACHE = "#C05600"
FREE = "#009E73"
RULE = "#77808A"

PARTS = {
    Part.WEIGHTS: WEIGHTS,
    Part.RUNTIME: RUNTIME,
    Part.CACHE: CACHE,
    Part.FREE: FREE,
    Part.OUTSIDE: RULE,
    Part.DRIVER: RULE,
}

INK = "currentColor"
"""Text of a chart on the page: it follows a switch of the theme at once."""
PRINT_INK = "#17212B"
"""Text of a chart in a file, which has a white ground."""
DARK_TEXT = "#10202E"
LIGHT_TEXT = "#FFFFFF"
