"""What is chosen, and every word of a command, can be read on both grounds: 4.5 : 1 (WCAG 2.2, 1.4.3)."""

import pytest

from tests.browser.pages import THEMES, OpenPage

LEAST = 4.5
CONTRASTS = """(selector) => {
  const pen = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (colour) => {
    pen.clearRect(0, 0, 1, 1); pen.fillStyle = colour; pen.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = pen.getImageData(0, 0, 1, 1).data; return [r, g, b, a / 255];
  };
  const over = (top, under) => [0, 1, 2].map((i) => top[i] * top[3] + under[i] * (1 - top[3]));
  const light = (colour) => colour.map((x) => x / 255)
    .map((x) => (x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4))
    .reduce((sum, x, i) => sum + x * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = (element) => {
    const grounds = [];
    for (let e = element; e; e = e.parentElement) grounds.unshift(rgba(getComputedStyle(e).backgroundColor));
    return grounds.reduce((under, top) => over(top, under), [255, 255, 255]);
  };
  return [...document.querySelectorAll(selector)].filter((e) => e.innerText && e.offsetParent).map((element) => {
    const under = ground(element);
    const [high, low] = [light(over(rgba(getComputedStyle(element).color), under)), light(under)].sort((a, b) => b - a);
    return [(high + 0.05) / (low + 0.05), element.innerText];
  });
}"""


@pytest.mark.parametrize("theme", THEMES)
def test_what_is_chosen_and_commands_can_be_read(open_page: OpenPage, theme: str) -> None:
    page = open_page("/?engine=transformers&weights=int8", theme=theme)
    for selector in ('[data-testid="stButtonGroup"] button p', '[data-testid="stCode"] code span'):
        found = page.evaluate(CONTRASTS, selector)
        assert len(found) > 3
        assert [words for contrast, words in found if contrast < LEAST] == []
