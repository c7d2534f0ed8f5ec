"""A model of one's own, as a person enters it."""

import json
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.conftest import OpenPage
from tests.browser.pages import settle, upload
from tests.browser.test_plan import sidebar, target_of, title
from tests.readers import gguf_files
from tests.readers.gguf_files import BLOCK, LLAMA


def test_the_form_answers_at_once_and_the_link_carries_the_model(open_page: OpenPage) -> None:
    page = open_page("/own")
    heads = page.get_by_role("spinbutton", name="num_key_value_heads")
    heads.fill("2")
    heads.press("Enter")
    expect(page.get_by_test_id("stMain")).to_contain_text("16 heads share (GQA): 32.8 kB for each token")
    page.get_by_role("button", name="Use it").click()
    title(page, "Your model: 7.83 billion parameters")
    settle(page)
    assert "custom=" in page.url
    other = open_page(target_of(page).replace("/own", "/"))
    sidebar(other, "Your model, a custom config, takes its place.")
    expect(other.get_by_test_id("stMetricValue").nth(3)).to_have_text("32.8 kB")


def test_an_emptied_field_is_named_beside_it(open_page: OpenPage) -> None:
    page = open_page("/own")
    field = page.get_by_role("spinbutton", name="vocab_size")
    field.fill("")
    field.press("Enter")
    expect(page.get_by_test_id("stMain")).to_contain_text("One thing to correct: vocab_size.")


def test_the_beginning_of_a_gguf_file_is_enough(open_page: OpenPage, tmp_path: Path) -> None:
    header, _ = gguf_files.header(*gguf_files.model("llama", 2, BLOCK, **LLAMA))
    (tmp_path / "head.gguf").write_bytes(header)
    page = open_page("/own")
    upload(page, page.get_by_test_id("stMain"), tmp_path / "head.gguf")
    sidebar(page, "head.gguf, your own file, takes its place.")


def test_config_and_index_are_handed_over_together(open_page: OpenPage, tmp_path: Path) -> None:
    from tests.ui.test_own_config import LLAMA as CONFIG

    index = {"metadata": {"total_size": 16_060_522_496}, "weight_map": {"x": "model.safetensors"}}
    files = {"config.json": CONFIG, "model.safetensors.index.json": index}
    for name, content in files.items():
        (tmp_path / name).write_text(json.dumps(content))
    page = open_page("/own")
    upload(page, page.get_by_test_id("stMain"), [tmp_path / name for name in files])
    sidebar(page, "Your model, your own file, takes its place.")
    page.get_by_role("link", name="Plan it").click()
    expect(page.get_by_test_id("stMain")).to_contain_text("exactly what its config comes to")


def test_quality_opens_beside_the_format(open_page: OpenPage) -> None:
    page = open_page("/?weights=q4_k_m", width=1280)
    page.get_by_text("What that costs in quality").click()
    expect(page.get_by_test_id("stPopoverBody")).to_contain_text("perplexity +2.4%")
