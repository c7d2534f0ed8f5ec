"""The app asks nothing of the network, its icon included: an icon that is only named would be fetched."""

import ast
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).parents[2]


def test_the_icon_is_a_picture_of_the_project() -> None:
    calls = [node for node in ast.walk(ast.parse((ROOT / "app.py").read_text())) if isinstance(node, ast.Call)]
    (icon,) = (ast.unparse(word.value) for call in calls for word in call.keywords if word.arg == "page_icon")
    assert ":material" not in icon
    assert icon.endswith("'icon.svg')")
    assert ElementTree.parse(ROOT / "ui" / "icon.svg").getroot().tag.endswith("svg")
