"""My log: the same report as the library's, the flag that makes a start succeed, corrections, profiles, odd input."""

import json
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from planner.inputs.choices import Choices
from planner.logs.read import read_log
from planner.startups.report import report_log
from tests.engines.test_without_card import OLLAMA_LOG
from tests.startups.test_report import FAILED, NOTHING_GIVEN
from tests.ui.conftest import OpenApp, words
from tests.ui.test_own_config import LLAMA

LOG_PAGE = "ui/pages/log.py"
EXAMPLES = ("vLLM that does not start", "vLLM that starts", "llama-server out of memory", "Ollama on an 8 GB laptop")
NO_CARD = "\n".join(line for line in FAILED.splitlines() if "Free memory" not in line)
WEIGHTS_ALONE = "\n".join(NO_CARD.splitlines()[:3])
NO_MODEL = FAILED.replace("Qwen/Qwen3-8B", "me/mine")


def pasted(open_app: OpenApp, text: str) -> AppTest:
    app = open_app(page=LOG_PAGE)
    app.text_area(key="log_text").set_value(text).run()
    assert not app.exception
    return app


def test_the_page_opens_on_an_example_and_asks_for_ones_own(open_app: OpenApp) -> None:
    app = open_app(page=LOG_PAGE)
    assert app.title[0].value.endswith("it did not start: 11.02 GiB of cache short")
    assert app.caption[0].value.startswith("An example, until you paste your own log · vLLM 0.11.0")
    assert app.code[0].value == "--max-model-len 40784"
    assert app.text_area(key="log_text").value == ""
    assert app.button_group(key="log_example").options == [*EXAMPLES]
    assert not [button for button in app.button if button.key == "log_save"]


def test_a_failed_start_gets_the_flag_first(open_app: OpenApp) -> None:
    app = pasted(open_app, FAILED)
    # 18.00 − 3.99 GiB
    assert app.title[0].value == ":red[:material/cancel:] It did not start: 14.01 GiB of cache short"
    assert app.code[0].value == "--max-model-len 29040"
    said = words(app)
    assert (
        "one request of **131,072 tokens** (18.00 GiB); **3.99 GiB** is left. Any one with a check mark makes it "
        "start:" in said
    )
    assert "Room for 29,040 tokens. vLLM’s own estimate, and ours." in said
    found = report_log(read_log(FAILED), NOTHING_GIVEN)
    for one in found.would_start[2:]:
        assert one.change in said
        assert (one.shorter_option or one.option) in said
    for row in found.readings:
        assert row.why[1:] in said.replace("&#x27;", "'")


def test_what_is_not_enough_alone_starts_with_the_length_beside_it(open_app: OpenApp) -> None:
    app = pasted(open_app, FAILED)
    # An fp8 cache holds twice as many blocks as 3.99 GiB of 16 bit.
    assert "--max-model-len 58096 --kv-cache-dtype fp8" in [block.value for block in app.code]
    assert "Not enough alone: like this it starts, with 58,096 tokens at most." in words(app)


def test_the_whole_command_names_the_logs_checkpoint(open_app: OpenApp) -> None:
    blocks = [block.value for block in pasted(open_app, FAILED).code]
    text = next(block for block in blocks if block.startswith("vllm serve") and "--gpu-memory-utilization" in block)
    assert text.startswith("vllm serve Qwen/Qwen3-8B \\\n  --max-model-len 29040")
    assert "--gpu-memory-utilization 0.85" in text


@pytest.mark.parametrize("example", EXAMPLES)
def test_examples_are_read(open_app: OpenApp, example: str) -> None:
    app = open_app(page=LOG_PAGE)
    app.button_group(key="log_example").set_value(example).run()
    assert not app.exception
    assert ("It started, with room for 24,976 tokens" in app.title[0].value) is (example == "vLLM that starts")
    assert "equal" in words(app)
    assert "outside the range" not in words(app)


def test_a_log_without_a_card_is_counted_for_the_set_ups_and_says_so(open_app: OpenApp) -> None:
    app = pasted(open_app, WEIGHTS_ALONE)
    assert "choose it here. Until then this is for a **GeForce RTX 4090**, the set-up's." in words(app)
    app.selectbox(key="log_device").select("GeForce RTX 3090").run()
    assert "counted for" not in words(app)
    assert "GeForce RTX 3090" in app.caption[-0].value or "GeForce RTX 3090" in words(app)


def test_a_card_that_the_figures_make_likely_is_said_to_be_that(open_app: OpenApp) -> None:
    app = pasted(open_app, NO_CARD)
    assert app.code[0].value == "--max-model-len 29040"
    assert "The log names no card: weights, the usual runtime and what is left for the cache make it about" in words(
        app
    )


def test_an_unknown_model_still_gets_the_engines_word_and_is_corrected(open_app: OpenApp) -> None:
    app = pasted(open_app, NO_MODEL)
    assert "of **me/mine**, which is not in the list: choose it here, and you see what would start" in words(app)
    assert app.code[0].value == "--max-model-len 29040"
    app.selectbox(key="log_model").select("Qwen3-8B").run()
    assert "is not in the list" not in words(app)
    assert "vLLM’s own estimate, and ours." in words(app)


def test_a_model_of_ones_own_takes_the_place_of_one_that_no_list_has(open_app: OpenApp) -> None:
    app = open_app(custom=json.dumps(LLAMA))
    app.switch_page(LOG_PAGE).run()
    app.text_area(key="log_text").set_value(NO_MODEL.replace("(18.00 GiB", "(16.00 GiB")).run()
    app.selectbox(key="log_model").select("Your model").run()
    assert not app.exception
    # 131,072 tokens of 131,072 B, where the log's own model has 147,456 B.
    assert "<td>16.00 GiB" in words(app)
    app.button(key="log_try_0").click().run()
    assert "The set-up asks for it now." in words(app)
    app.switch_page("ui/pages/plan.py").run()
    assert "Your model" in app.caption[0].value


def test_a_setting_that_the_log_does_not_say_is_corrected(open_app: OpenApp) -> None:
    app = pasted(open_app, FAILED)
    app.text_area(key="log_set").set_value("gpu_memory_utilization=0.95").run()
    assert not app.exception
    budget = report_log(read_log(FAILED), Choices(model="", engine="", set=("gpu_memory_utilization=0.95",)))
    row = next(row for row in budget.readings if row.name == "budget")
    assert row.predicted == pytest.approx(0.95 * 23.64 * 2**30, abs=2)
    assert "22.46 GiB" in words(app)
    app.text_area(key="log_set").set_value("nonsense=1").run()
    assert "Engine 'vllm' has no setting 'nonsense'" in words(app)
    assert app.text_area(key="log_set").value == "nonsense=1"


def test_of_several_starts_any_is_chosen(open_app: OpenApp) -> None:
    app = pasted(open_app, FAILED + FAILED.replace("131072", "65536").replace("18.00", "9.00"))
    assert "5.01 GiB of cache short" in app.title[0].value
    app.selectbox(key="log_start").select(1).run()
    assert "14.01 GiB of cache short" in app.title[0].value


def test_readings_are_saved_used_and_named_on_the_plan_page(open_app: OpenApp, profile_folder: Path) -> None:
    app = pasted(open_app, FAILED)
    app.text_input(key="log_profile_name").set_value("my-4090")
    app.button(key="log_save").click().run()
    assert not app.exception
    assert [path.name for path in profile_folder.iterdir()] == ["my-4090.json"]
    app.switch_page("ui/pages/plan.py").run()
    said = words(app)
    assert "**Measured on 23.64 GiB card** with vLLM 0.11.0, profile *my-4090*: " in said
    assert "activation peak, non-torch memory, weights as loaded, read from a log." in said
    assert "Yes, it fits" in app.title[0].value
    assert app.metric[0].value == "29,040"
    assert "--profile my-4090" in said
    # The same readings answer another question: 3.99 GiB in fp8.
    app.button_group(key="kv_cache").set_value("fp8").run()
    assert app.metric[0].value == "58,096"


def test_a_profile_of_another_model_is_not_used_and_says_why(open_app: OpenApp) -> None:
    app = pasted(open_app, FAILED)
    app.text_input(key="log_profile_name").set_value("mine")
    app.button(key="log_save").click().run()
    app.switch_page("ui/pages/plan.py").run()
    app.selectbox(key="model").select("Llama-3.1-8B").run()
    assert "The profile was measured for the model qwen3-8b, and llama-3.1-8b is asked" in words(app)
    assert "One thing to correct" not in app.title[0].value
    for page in ("ui/pages/tables.py", "ui/pages/which.py", "ui/pages/cache.py", "ui/pages/speed.py"):
        app.switch_page(page).run()
        assert not app.exception
        assert "The profile" not in words(app)


def test_a_profile_is_taken_away_and_brought_as_a_file(open_app: OpenApp, profile_folder: Path) -> None:
    """What one machine saved is chosen on another, and says the same."""
    app = pasted(open_app, FAILED)
    app.button(key="log_save").click().run()
    (path,) = profile_folder.iterdir()
    data = path.read_bytes()
    path.unlink()
    other = open_app(page=LOG_PAGE)
    other.file_uploader(key="profile_upload_log_0").upload("from another.json", data, "application/json").run()
    assert not other.exception
    assert [each.name for each in profile_folder.iterdir()] == ["from-another.json"]
    assert (profile_folder / "from-another.json").read_bytes() == data
    assert other.session_state["profile"] == "from-another"


@pytest.mark.parametrize("data", [b"", b"{}", b"[1, 2", b"\x00\x01", b'{"items": "none"}'])
def test_a_file_that_is_no_profile_is_one_sentence(open_app: OpenApp, profile_folder: Path, data: bytes) -> None:
    app = open_app(engine="vllm")
    app.file_uploader(key="profile_upload_sidebar_0").upload("mine.json", data, "application/json").run()
    assert not app.exception
    assert "mine.json" in " ".join(warning.value for warning in app.warning)
    assert not profile_folder.exists()


def test_saved_readings_are_listed_and_deleted(open_app: OpenApp, profile_folder: Path) -> None:
    app = pasted(open_app, FAILED)
    app.text_input(key="log_profile_name").set_value("mine")
    app.button(key="log_save").click().run()
    app.switch_page(LOG_PAGE).run()
    assert "**mine**: qwen3-8b, vLLM 0.11, 23.64 GiB" in words(app)
    app.button(key="profile_delete_0").click().run()
    assert "**mine**" not in words(app)
    assert list(profile_folder.iterdir()) == []


def test_a_name_that_makes_no_file_is_said_and_nothing_is_saved(open_app: OpenApp, profile_folder: Path) -> None:
    app = pasted(open_app, FAILED)
    app.text_input(key="log_profile_name").set_value("../../etc")
    app.button(key="log_save").click().run()
    assert "is no name for a profile" in words(app)
    assert not profile_folder.exists()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("Dear diary,\ntoday it rained.\n", "None of the 2 lines is one that vLLM, SGLang, TensorRT-LLM, LMDeploy"),
        ("\x00\x01\x02PNG\x1a\n" * 50, "None of the 50 lines is one that vLLM"),
        ("<script>alert(1)</script> **x** $y$", "None of the 1 lines is one that vLLM"),
    ],
)
def test_odd_input_is_one_sentence_and_stays(open_app: OpenApp, text: str, sentence: str) -> None:
    app = pasted(open_app, text)
    assert app.title[0].value.endswith("Nothing in it is about memory")
    assert app.markdown[0].value.startswith(sentence)
    assert "An example" not in words(app)
    assert app.text_area(key="log_text").value == text


def test_nothing_at_all_leaves_the_example(open_app: OpenApp) -> None:
    app = pasted(open_app, "   ")
    assert app.warning[0].value == "There is nothing to read yet: paste the log, or upload it. What you entered stays."
    assert "it did not start" in app.title[0].value


def test_odd_input_after_a_log_has_not_that_log_for_its_answer(open_app: OpenApp) -> None:
    app = pasted(open_app, FAILED)
    app.text_area(key="log_text").set_value("no log").run()
    assert app.title[0].value.endswith("Nothing in it is about memory")
    assert "14.01 GiB" not in words(app)
    app.text_area(key="log_text").set_value(FAILED).run()
    assert "14.01 GiB of cache short" in app.title[0].value


def test_a_machine_without_a_card_is_planned_with_its_memory(open_app: OpenApp) -> None:
    app = pasted(open_app, OLLAMA_LOG)
    assert "PC without GPU, 13.80 GiB" in app.caption[0].value


def test_another_engines_start_shows_its_readings(open_app: OpenApp) -> None:
    app = pasted(open_app, "[TP0] KV Cache is allocated. #tokens: 183133, K size: 11.18 GB, V size: 11.18 GB")
    assert "183,133 tokens" in app.title[0].value
    assert not app.exception


def test_a_link_to_a_profile_that_is_not_here_says_so(open_app: OpenApp) -> None:
    app = open_app(profile="gone")
    assert app.info[0].value.startswith("This link asked for **profile** = `gone`, which is not possible")
