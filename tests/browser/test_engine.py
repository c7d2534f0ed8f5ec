"""The engine as a person chooses it: in the sidebar, with its settings, and its command to copy."""

from playwright.sync_api import expect

from tests.browser.conftest import OpenPage
from tests.browser.pages import settle
from tests.browser.test_plan import sidebar, target_of, title

FIGURES = "By the rules of vLLM 0.11 it prints"


def test_an_engine_and_its_settings_are_chosen_and_stand_in_the_address(open_page: OpenPage) -> None:
    page = open_page("/")
    box = page.get_by_role("combobox", name="Engine")
    box.click()
    page.get_by_role("option", name="vllm", exact=True).click()
    page.get_by_text("vLLM: version, settings").click()
    version = page.get_by_role("textbox", name="Version")
    version.click(trial=True)  # until the expander is still
    version.fill("0.11")
    version.press("Enter")
    field = page.get_by_role("textbox", name="max_num_seqs")
    field.fill("16")
    field.press("Enter")
    expect(page.get_by_test_id("stMain")).to_contain_text(FIGURES)
    expect(page.get_by_test_id("stCode").first).to_contain_text("--max-num-seqs 16")
    expect(page.get_by_test_id("stCode").last).to_contain_text("--set max_num_seqs=16")
    settle(page)
    other = open_page(target_of(page))
    expect(other.get_by_test_id("stMain")).to_contain_text(FIGURES)
    expect(other.get_by_test_id("stCode").first).to_contain_text("--max-num-seqs 16")
    sidebar(other, "vLLM's own items are used instead of a flat figure.")


def test_settings_stay_on_another_page(open_page: OpenPage) -> None:
    page = open_page("/?engine=vllm&engine_version=0.11&set=max_num_seqs%3D16%3Bblock_size%3D32")
    title(page, "Yes, it fits")
    page.get_by_role("link", name="Tables", exact=True).click()
    expect(page.get_by_test_id("stMain")).to_contain_text("vLLM's own runtime items")
    page.get_by_role("link", name="Plan", exact=True).click()
    expect(page.get_by_test_id("stCode").first).to_contain_text("--max-num-seqs 16")
    expect(page.get_by_test_id("stCode").first).to_contain_text("--block-size 32")


def test_every_engine_has_a_bar_with_its_name_and_room(open_page: OpenPage) -> None:
    page = open_page("/?engine=vllm&engine_version=0.11")
    chart = page.get_by_test_id("stVegaLiteChart").last
    for label in ("The minimum", "71,123 tokens", "vLLM 0.11 ◂ yours"):
        expect(chart.get_by_text(label, exact=True).first).to_be_visible()
    page.get_by_text("The same as a table, with ranges").click()
    expect(page.get_by_role("cell", name="The minimum")).to_be_visible()


def test_another_engines_command_is_one_click_away(open_page: OpenPage) -> None:
    page = open_page("/?engine=vllm")
    page.get_by_test_id("stMain").get_by_text("Ollama", exact=True).click()
    modelfile = page.get_by_test_id("stCode").filter(has_text="PARAMETER num_ctx 8192")
    expect(modelfile).to_be_visible()
