"""What people paste as a model's name finds the model, or the nearest one in a sentence."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner import presets
from planner.addresses import bare_name
from planner.catalogue.downloads import hub_id
from planner.cli import main
from planner.errors import PlannerError
from planner.inputs.choices import Choices, choose
from planner.inputs.model_files import known_model, load_model, other_kind
from planner.presets import find_model
from planner.readers.hub import is_hub_id
from planner.readers.hub.endpoint import check_environment
from planner.weights import parameters

FOUND = {
    "https://huggingface.co/Qwen/Qwen3-8B": "qwen3-8b",
    "https://huggingface.co/Qwen/Qwen3-8B/tree/main?not-for-all-audiences=true": "qwen3-8b",
    "http://www.huggingface.co/qwen/qwen3-8b/#readme": "qwen3-8b",
    "huggingface.co/Qwen/Qwen3-8B/resolve/main/config.json": "qwen3-8b",
    "hf.co/meta-llama/Llama-3.1-8B-Instruct": "llama-3.1-8b",
    "meta-llama/Llama-3.1-8B-Instruct/": "llama-3.1-8b",
    "https://ollama.com/library/llama3.1:8b": "llama-3.1-8b",
    "ollama.com/library/llama3.1": "llama-3.1-8b",
    " LLAMA-3.1-8B-INSTRUCT ": "llama-3.1-8b",
    "llama3.1-8b": "llama-3.1-8b",
    "Llama 3.1 8B Instruct": "llama-3.1-8b",
    "qwen3-8b-instruct": "qwen3-8b",
    "Qwen3_8B": "qwen3-8b",
    "hf://Qwen/Qwen3-8B": "qwen3-8b",
    "Qwen/Qwen3-8B@main": "qwen3-8b",
    "https://hf-mirror.com/Qwen/Qwen3-8B/tree/main": "qwen3-8b",
    "https://modelscope.cn/models/Qwen/Qwen3-8B/summary": "qwen3-8b",
    "gpt-oss:20b": "gpt-oss-20b",
    "gemma3:27b-it-qat": "gemma-3-27b",
}
SENTENCES = {
    "mistral-7b": "nearest: mistral-7b-v0.1, mistral-7b-v0.2, mistral-7b-v0.3;",
    "qwen2.5:7b-base": "Nearest: qwen2.5:7b.",
    "hf.co/bartowski/Qwen_Qwen3-8B-GGUF:Q4_K_M": "it is a preset: --model qwen3-8b --weights q4_k_m.",
    "https://huggingface.co/google/gemma-3-27b-it-qat-q4_0-gguf": "it is a preset: --model gemma-3-27b --weights q4_0.",
    "https://hf.co/bartowski/Qwen3-8B-GGUF/blob/main/Qwen3-8B-Q6_K.gguf": "--model qwen3-8b --weights q6_k.",
    "Qwen/Qwen3-8B-Instruct-2507": "By its name it is a preset: --model qwen3-8b.",
    "unsloth/Qwen3-8B-GGUF": "By its name it is a preset: --model qwen3-8b.",
    "qwen3-32b-awq": "it is a preset: --model qwen3-32b --weights int4-g128-asym.",
    "qwen3-8b-of-mine": "By its name it may be tuned from a preset: --model qwen3-8b.",
    "/models/Qwen3-14B/": "neither a preset nor a file. By its name it is a preset: --model qwen3-14b.",
    "someone/Qwen3-8C": "The nearest of them: qwen3-8b",
    "https://huggingface.co/spaces/someone/thing": "is no address of a model; give its id",
    "https://example.com/Qwen3-8B": "is no address of a model; give its id",
    "llama-3.1": "nearest: llama-3.1-8b, llama-3.1-70b, llama-3.1-405b;",
    "": "is not known; see kvbudget models",
    "Qwen/Qwen3-8B@v2": "asks for the revision v2, and only the newest is read",
    "hf.co/turboderp/Qwen3-8B-exl2/tree/4.0bpw": "asks for the revision 4.0bpw",
    "nomic-embed-text": "by its name is an encoder-only model, which generates no text",
    "bge-m3:567m": "by its name is an encoder-only model",
    "t5-base": "by its name is an encoder-decoder",
    "facebook/bart-large": "by its name is an encoder-decoder",
    "google/t5gemma-9b": "by its name is an encoder-decoder",
    "openai/whisper-large-v3": "by its name is an encoder-decoder",
    "black-forest-labs/FLUX.1-dev": "by its name makes pictures",
    "Alibaba-NLP/gte-Qwen2-7B-instruct": "The nearest of them: qwen2-7b-instruct",
}


@pytest.mark.parametrize("pasted", FOUND)
def test_a_pasted_name_is_the_model(pasted: str) -> None:
    assert load_model(pasted).name == known_model(pasted).name == FOUND[pasted]


@pytest.mark.parametrize("pasted", SENTENCES)
def test_a_name_that_is_no_preset_says_what_is_near(pasted: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("planner.readers.hub.cached_folder", lambda _: None)
    monkeypatch.setattr("planner.readers.hub.kept", lambda _: None)
    with pytest.raises(PlannerError) as refusal:
        load_model(pasted)
    assert SENTENCES[pasted] in str(refusal.value)


@given(
    st.sampled_from(["", "https://huggingface.co/", "hf.co/", "ollama.com/library/", "models--", "Qwen/Qwen3-8B"]),
    st.text(alphabet="aZ09:/.-_ @?#%&\n\t\\é☃", max_size=14),
)
@settings(max_examples=100, deadline=None)
def test_whatever_is_pasted_is_a_model_or_one_sentence(begin: str, rest: str) -> None:
    try:
        load_model(begin + rest)
    except PlannerError as refusal:
        assert "\n" not in str(refusal)


def test_a_file_in_the_home_folder_may_be_said_by_its_tilde(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "config.json").write_text(json.dumps(find_model("qwen3-8b").published_config))
    assert parameters(load_model("~/config.json")) == parameters(load_model("qwen3-8b"))
    for words in (("--model=~/config.json",), ("--model", "~/config.json")):
        assert main(["plan", *words, "--memory", "24GiB"]) == 0


def test_no_preset_is_taken_for_another_kind_of_model() -> None:
    """Nor is a model named after one: what is refused by name is refused for what its family is."""
    names = [name for preset in presets.models() for name in (preset.name, preset.title, *preset.aliases)]
    assert not [name for name in names if other_kind(f"{name}-of-mine")]


@pytest.mark.parametrize("name", ["a/b-", "-a/b", "a/b.", "a--b/c", "a/b..c", "a/b.git", f"a/{97 * 'b'}"])
def test_an_id_that_the_hub_does_not_take_is_no_id(name: str) -> None:
    assert not is_hub_id(name)


def test_no_preset_is_taken_for_another_by_its_spelling() -> None:
    for preset in presets.models():
        for name in (preset.name, preset.title, *preset.aliases):
            found = known_model(f" {name.upper()} ")
            assert preset.name == found.name or name.lower() == found.name, name


def test_an_addresss_tag_says_what_its_weights_are_stored_in() -> None:
    by_address = choose(Choices(model="https://ollama.com/library/llama3.1:8b-instruct-q4_K_M", memory="80GiB"))
    assert by_address == choose(Choices(model="llama3.1:8b-instruct-q4_K_M", memory="80GiB"))
    pulled = choose(Choices(model="https://ollama.com/library/llama3.1:8b", memory="80GiB", engine="ollama"))
    assert pulled == choose(Choices(model="llama3.1:8b", memory="80GiB", engine="ollama"))


def test_commands_name_the_id_of_an_address() -> None:
    assert hub_id("https://huggingface.co/Qwen/Qwen3-8B/tree/main") == "Qwen/Qwen3-8B"
    assert hub_id("hf.co/someone/of-their-own") == bare_name("hf.co/someone/of-their-own") == "someone/of-their-own"


@pytest.mark.parametrize(
    "endpoint",
    ["", "garbage", "ftp://x", "http://", "http://[::1", "https://x:99999", "http://x:0", "http://a b", "http://x\ny"],
)
def test_an_endpoint_that_is_no_address_is_one_sentence(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", endpoint)
    with pytest.raises(PlannerError, match=r"is no server's address: set it to one such as https://hugging") as error:
        load_model("nobody/heard-of-it", online=True)
    assert str(error.value).isprintable()


@pytest.mark.parametrize("endpoint", ["https://huggingface.co", "http://127.0.0.1:8000/mirror", "https://x.example"])
def test_an_endpoint_that_can_be_one_is_asked(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", endpoint)
    check_environment()


def test_a_waiting_time_that_is_no_number_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_ETAG_TIMEOUT", "soon")
    with pytest.raises(PlannerError, match="HF_HUB_ETAG_TIMEOUT = 'soon' is not a whole number of seconds"):
        check_environment()
