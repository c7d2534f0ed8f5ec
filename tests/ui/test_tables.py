"""The Tables page: cells, classes, words and files from the same rows."""

import pytest
from streamlit.testing.v1 import AppTest

from planner.finding.bands import Show
from planner.finding.table import table
from planner.inputs.choices import Choices
from tests.ui.conftest import OpenApp, words
from ui.charts.heat_table import heat_table, legend
from ui.export import to_png, to_svg

PAGE = "ui/pages/tables.py"
CELLS = table(
    ["7b-class", "13b-class-mha", "70b-class"],
    ["8GiB", "16GiB", "24GiB"],
    ["fp16", "int8", "int4-g128"],
    Choices(model="", overhead="1.5GiB"),
)


def row(app: AppTest, *starts: str) -> str:
    """The rest of the line in the full table that begins with these cells."""
    html = next(html.proto.body for html in app.get("html") if "class='kv-wide'" in html.proto.body)
    start = "<tr>" + "".join(f"<td>{cell}</td>" for cell in starts)
    assert start in html
    return html.partition(start)[2].partition("</tr>")[0]


def test_the_8_16_24_table(open_app: OpenApp) -> None:
    app = open_app(PAGE)
    assert app.title[0].value == "What fits on 8, 16 and 24 GiB"
    for model, weights, card, cell in (
        ("13B class, no GQA (nominal)", "int4-g128", "8 GiB", "▲ 337"),
        ("13B class, no GQA (nominal)", "int8", "16 GiB", "3,136"),
        ("7B class (nominal)", "int8", "16 GiB", "65,378"),
        ("7B class (nominal)", "fp16", "24 GiB", "77,508"),
        ("7B class (nominal)", "int4-g128", "8 GiB", "25,710"),
        ("70B class (nominal)", "int4-g128", "24 GiB", "✕ 11.11 GiB over"),
    ):
        assert f"<td>{cell}</td>" in row(app, model, weights, card)


def test_read_it_like_this_sets_337_beside_65_378(open_app: OpenApp) -> None:
    said = words(open_app(PAGE))
    assert "it *loads* on a card of 8 GiB, but keeps only **337** tokens, about 250 words." in said
    assert "on a card of 16 GiB it keeps **65,378** tokens, about 49,000 words." in said


def test_runtime_and_cache_come_from_the_set_up(open_app: OpenApp) -> None:
    app = open_app(PAGE, overhead="0.5GiB", kv_cache="fp8")
    assert "0.50 GiB of runtime are in, cache in fp8" in words(app)
    # (16 GiB − 0.5 GiB − 7·10⁹ B) / 65,536 B a token
    assert "<td>147,140</td>" in row(app, "7B class (nominal)", "int8", "16 GiB")


def test_users_at_a_context(open_app: OpenApp) -> None:
    app = open_app(PAGE, context="4096")
    app.button_group(key="show").set_value("Users at once").run()
    assert "**users at once**, each with 4,096 tokens" in words(app)
    # 65,378 // 4,096
    assert row(app, "7B class (nominal)", "int8", "16 GiB").endswith("<td>15</td>")


def test_sizes_and_models_of_ones_own(open_app: OpenApp) -> None:
    app = open_app(PAGE)
    app.text_input(key="more_sizes").set_value("10GiB, 32 GB").run()
    assert app.title[0].value == "What fits on 8 GiB, 10 GiB, 16 GiB, 24 GiB and 29.80 GiB".replace(
        " GiB,", ","
    ).replace("24 GiB and", "24 and")
    app.multiselect(key="models").set_value(["Qwen2.5-0.5B"]).run()
    assert "<td>12,288 B</td>" in row(app, "Qwen2.5-0.5B", "fp16", "10 GiB")


@pytest.mark.parametrize(
    ("typed", "sentence"),
    [
        ("plenty", "memory 'plenty' is not a size"),
        ("10GiB, plenty", "memory 'plenty' is not a size"),
        ("0", "memory = 0 is not possible"),
        (", ".join(f"{n}GiB" for n in range(1, 9)), "11 sizes are more than a table can show"),
    ],
)
def test_bad_sizes_get_a_sentence(open_app: OpenApp, typed: str, sentence: str) -> None:
    app = open_app(PAGE)
    app.text_input(key="more_sizes").set_value(typed).run()
    assert not app.exception
    assert sentence in words(app)
    assert app.text_input(key="more_sizes").value == typed


def test_a_bad_size_leaves_the_others_in_the_table(open_app: OpenApp) -> None:
    app = open_app(PAGE)
    app.text_input(key="more_sizes").set_value("plenty, 10GiB, 0").run()
    assert app.title[0].value == "What fits on 8, 10, 16 and 24 GiB"
    assert "memory = 0 is not possible" in words(app)


def test_nothing_chosen_is_no_error(open_app: OpenApp) -> None:
    app = open_app(PAGE)
    app.multiselect(key="models").set_value([]).run()
    assert "Choose at least one model, one size and one format" in words(app)


def test_the_chart_has_the_number_in_every_cell_and_classes_for_colours() -> None:
    spec = heat_table(CELLS, Show.TOKENS).to_dict()
    values = [value for layer in spec["layer"] for value in layer.get("data", {}).get("values", [])]
    by_cell = {(value["row"], value["size"]): value for value in values if "size" in value}
    assert len(by_cell) == 27
    assert by_cell["13B class, no GQA (nominal)||int4-g128", "8 GiB"]["text"] == "▲ 337"
    assert by_cell["7B class (nominal)||int8", "8 GiB"]["text"] == "✕ 19.7 MiB over"
    fills = {key: value["fill"] for key, value in by_cell.items()}
    words_by_fill = dict(legend(Show.TOKENS))
    assert words_by_fill[fills["13B class, no GQA (nominal)||int4-g128", "8 GiB"]] == "▲ loads, too short to use"
    assert words_by_fill[fills["13B class, no GQA (nominal)||int8", "16 GiB"]] == "2k – 8k"
    assert words_by_fill[fills["7B class (nominal)||int8", "16 GiB"]] == "32k – 128k"
    assert words_by_fill[fills["70B class (nominal)||fp16", "24 GiB"]] == "✕ does not fit"


def test_pictures_are_files_with_a_white_ground() -> None:
    chart = heat_table(CELLS, Show.TOKENS, "#17212B")
    svg = to_svg(chart).decode()
    assert "65,378" in svg
    assert "currentColor" not in svg
    assert 'fill="#FFFFFF"' in svg
    png = to_png(chart)
    assert png.startswith(b"\x89PNG")
    assert int.from_bytes(png[16:20], "big") > 1_800
