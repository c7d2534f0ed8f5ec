"""337 tokens must not look like 65,378."""

import pytest

from planner.finding.bands import Band, Show, band, cell_text
from planner.finding.table import TableRow, table
from planner.inputs.choices import Choices
from planner.text.table import reading

BASE = Choices(model="", overhead="1.5GiB")


def cell(model: str, memory: str, weights: str) -> TableRow:
    return table([model], [memory], [weights], BASE)[0]


@pytest.mark.parametrize(
    ("model", "memory", "weights", "tokens", "users"),
    [
        ("70b-class", "24GiB", "int4-g128", Band.OVER, Band.OVER),
        ("13b-class-mha", "8GiB", "int4-g128", Band.TIGHT, Band.TIGHT),
        ("13b-class-mha", "16GiB", "int8", Band.LITTLE, Band.TIGHT),  # 3,136 tokens: no user of 8,192
        ("7b-class", "16GiB", "fp16", Band.SOME, Band.LITTLE),  # 11,972: one user
        ("7b-class", "16GiB", "int8", Band.MUCH, Band.SOME),  # 65,378: seven users
        ("7b-class", "24GiB", "int4-g128", Band.PLENTY, Band.MUCH),  # 156,782: nineteen users
    ],
)
def test_classes(model: str, memory: str, weights: str, tokens: Band, users: Band) -> None:
    found = cell(model, memory, weights)
    assert (band(found, Show.TOKENS), band(found, Show.USERS)) == (tokens, users)


def test_cells_in_words() -> None:
    assert cell_text(cell("13b-class-mha", "8GiB", "int4-g128")) == "▲ 337"
    assert cell_text(cell("7b-class", "16GiB", "int8")) == "65,378"
    assert cell_text(cell("7b-class", "16GiB", "int8"), Show.USERS) == "7"
    assert cell_text(cell("70b-class", "24GiB", "int4-g128"), digits=1, over="") == "✕ 11.1 GiB"


def test_reading_sets_equal_weights_beside_unequal_room() -> None:
    cells = table(["7b-class", "13b-class-mha"], ["8GiB", "16GiB"], ["int8", "int4-g128"], BASE)
    assert reading(cells) == (
        "13B class, no GQA (nominal) in int4-g128 weighs 6.24 GiB: it *loads* on a card of 8 GiB, but keeps only "
        "**337** tokens, about 250 words. 7B class (nominal) in int8 weighs 6.52 GiB: on a card of 16 GiB it keeps "
        "**65,378** tokens, about 49,000 words."
    )


def test_reading_of_a_table_of_users() -> None:
    cells = table(["7b-class", "13b-class-mha"], ["8GiB", "16GiB"], ["int8", "int4-g128"], BASE)
    said = reading(cells, Show.USERS, 8_192)
    assert "keeps only **3,136** tokens, about 2,400 words: less than one user of 8,192 tokens." in said
    assert "on a card of 16 GiB it keeps **7** users of 8,192 tokens." in said


def test_reading_of_a_table_where_nothing_fits() -> None:
    cells = table(["70b-class"], ["8GiB"], ["int8"], BASE)
    assert reading(cells) == (
        "70B class (nominal) in int8 weighs 65.19 GiB: on a card of 8 GiB it is 58.69 GiB too big with its runtime."
    )
