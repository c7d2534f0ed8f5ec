"""Names of Ollama's library: a model, and where the tag names a file, what its weights are stored in."""

import tomllib
from dataclasses import replace

import pytest

from planner import presets
from planner.answers.answer import answer
from planner.catalogue.downloads import ollama_tag, pull_name, pulled, usual_type
from planner.catalogue.library_names import meant_by
from planner.cli import main
from planner.errors import UnknownName
from planner.format_presets import formats, mix_names
from planner.inputs.choices import Choices, choose
from planner.inputs.format_choices import named_file
from planner.inputs.model_files import load_model
from planner.preset_files import PRESETS
from planner.presets import find_model, load_preset, ollama_name
from planner.pulled_file import pulled_instead

LIBRARY = tomllib.loads((PRESETS / "ollama.toml").read_text(encoding="utf-8"))
TAGS = {alias.lower() for preset in presets.models() for alias in preset.aliases if ":" in alias}

# The most pulled of the library that have weights to run here, and what an untagged name stands for in August 2026.
COMMON = [
    "llama3.1:8b", "deepseek-r1:8b", "llama3.2:3b", "gemma3:4b", "qwen2.5:7b", "qwen3:8b", "mistral:7b",
    "gemma2:9b", "llama3:8b", "gemma4:e4b", "qwen2.5-coder:7b", "qwen3.5:9b", "phi3:3.8b", "llava:7b",
    "gpt-oss:20b", "qwen3-coder:30b", "phi4:14b", "qwen:4b", "llama2:7b", "gemma:7b", "qwen2:7b", "qwen3.6:35b",
    "codellama:7b", "mistral-nemo:12b", "tinyllama:1.1b", "minicpm-v:8b", "qwen3-vl:8b", "llama3.2-vision:11b",
    "deepseek-coder:1.3b", "qwen2.5vl:7b", "llama3.3:70b", "smollm2:1.7b", "deepseek-v3:671b", "olmo2:7b",
    "codegemma:7b", "mistral-small:24b", "deepseek-coder-v2:16b", "granite3.1-moe:3b", "nemotron-3-super:120b",
    "starcoder2:3b", "mixtral:8x7b", "falcon3:7b", "mistral-small3.2:24b", "qwq:32b", "gemma3n:e4b",
    "dolphin-llama3:8b", "smollm:1.7b", "translategemma:4b", "llama4:scout", "phi4-reasoning:14b", "hermes3:8b",
    "phi:2.7b", "command-r:35b", "magistral:24b", "granite-code:3b", "yi:6b", "phi4-mini:3.8b", "ministral-3:8b",
    "mistral-large:123b", "codestral:22b", "deepscaler:1.5b", "wizardlm2:7b", "glm4:9b", "deepseek-llm:7b",
    "zephyr:7b", "aya:8b", "falcon:7b", "phi3.5:3.8b", "devstral:24b", "granite3.3:8b",
]  # fmt: skip

OF_TWO = {
    "command-r": ("command-r-v01", "command-r-08-2024"),
    "deepseek-coder-v2": ("deepseek-coder-v2-236b", "deepseek-coder-v2-lite"),
    "deepseek-r1": ("deepseek-r1-671b", "deepseek-r1-0528-qwen3-8b"),
    "deepseek-v2": ("deepseek-v2-236b", "deepseek-v2-lite"),
}
"""Names that are one model to its makers and another to Ollama."""


@pytest.mark.parametrize("tagged", COMMON)
def test_an_untagged_name_is_the_tag_latest(tagged: str) -> None:
    name, _, _ = tagged.partition(":")
    assert find_model(f"{name}:latest").name == find_model(tagged).name
    assert find_model(meant_by("ollama", name)).name == find_model(tagged).name


def test_a_name_of_two_models_is_the_engines(capsys: pytest.CaptureFixture[str]) -> None:
    """By Ollama's own name Ollama's model is meant; elsewhere the makers', with a note that there are two."""
    families = set(LIBRARY) - {"provenance"}
    assert {name for name in families if meant_by("ollama", name) != name} == set(OF_TWO)
    assert not [preset.name for preset in presets.models() if meant_by("ollama", preset.name) != preset.name]
    for name, (here, there) in OF_TWO.items():
        assert find_model(meant_by("vllm", name)).name == here
        assert find_model(meant_by("ollama", name)).name == there
        assert f"{name} is {here} here; Ollama gives" in load_model(name).warnings[-1]
        assert load_model(here).warnings == load_preset(here).warnings
    assert main(["plan", "--model", "deepseek-r1", "--memory", "24GiB", "--engine", "ollama"]) == 0
    assert "For deepseek-r1:8b Ollama pulls the file in q4_k_m" in capsys.readouterr().out
    assert main(["which", "--model", "deepseek-r1", "--memory", "24GiB", "--engine", "ollama"]) == 0
    assert capsys.readouterr().out.startswith("Take DeepSeek-R1-0528-Qwen3-8B in ")


@pytest.mark.parametrize("name", sorted(set(LIBRARY) - {"provenance"}))
def test_every_name_and_tag_of_the_library_leads_to_a_preset(name: str) -> None:
    library = LIBRARY[name]
    assert set(library) <= {"latest", "same", "stems", "models", "files"}
    for tag, (own, weights) in library.get("files", {}).items():
        found = ollama_name(f"{name}:{tag}")
        assert found is not None
        assert (found.preset, found.weights) == (f"{name}:{own}", weights)
        assert pulled(f"{name}:{tag}") == (find_model(f"{name}:{tag}").name, weights)
        assert pull_name(f"{name}:{own}", weights) == f"{name}:{tag}"
    if "latest" in library:
        assert f"{name}:{library['latest']}" in TAGS
        assert find_model(name)
    for tag, others in library.get("same", {}).items():
        assert {find_model(f"{name}:{other}").name for other in others} == {find_model(f"{name}:{tag}").name}
    for model, stems in library.get("models", {}).items():
        assert {find_model(f"{name}:{stem}-q4_K_M").name for stem in stems} == {model}
    for tag, stems in library.get("stems", {}).items():
        for stem in stems:
            found = ollama_name(f"{name}:{stem}-q4_K_M")
            assert found is not None
            assert (found.preset, found.weights) == (f"{name}:{tag}", "q4_k_m")


@pytest.mark.parametrize(
    ("name", "preset", "weights"),
    [
        ("llama3.1:8b-instruct-q4_K_M", "llama-3.1-8b", "q4_k_m"),
        ("Llama3.1:8B-q8_0", "llama-3.1-8b", "q8_0"),
        ("mistral:7b-instruct-v0.3-fp16", "mistral-7b-v0.3", "fp16"),
        ("gemma3:27b-it-q4_K_M", "gemma-3-27b", "q4_k_m"),
        ("llava:7b-v1.6-mistral-q4_0", "llava-v1.6-mistral-7b", "q4_0"),
        ("qwen3:30b-a3b-q4_K_M", "qwen3-30b-a3b", "q4_k_m"),
        ("qwen3:4b-q4_K_M", "qwen3-4b", "q4_k_m"),
        ("qwen3:4b-thinking-2507-q4_K_M", "qwen3-4b-2507", "q4_k_m"),
        ("phi3:3.8b-mini-4k-instruct-q8_0", "phi-3-mini-4k", "q8_0"),
        ("mistral:7b-instruct-v0.2-q5_K_M", "mistral-7b-v0.2", "q5_k_m"),
        ("gemma4:12b-it-q8_0", "gemma-4-12b", "q8_0"),
        ("qwen3:30b-a3b-instruct-2507-q4_K_M", "qwen3-30b-a3b-2507", "q4_k_m"),
        ("qwen3-coder-next:q4_K_M", "qwen3-coder-next", "q4_k_m"),
        ("glm-4.7-flash:bf16", "glm-4.7-flash", "bf16"),
    ],
)
def test_a_full_tag_is_a_model_and_a_format(name: str, preset: str, weights: str) -> None:
    chosen = choose(Choices(model=name, memory="80GiB"))
    same = choose(Choices(model=preset, memory="80GiB", weights=weights))
    assert (chosen.architecture, chosen.deployment) == (same.architecture, same.deployment)


@pytest.mark.parametrize(
    ("name", "weights"),
    [
        ("llama3.1:8b", "q4_k_m"),
        ("llama3.1", "q4_k_m"),
        ("Llama3.1:latest", "q4_k_m"),
        ("gemma3:4b", "q4_k_m"),
        ("mistral:7b-instruct-v0.3-fp16", "fp16"),
        ("gpt-oss:20b", "checkpoint"),
    ],
)
def test_with_ollama_a_tag_is_the_file_that_it_pulls(name: str, weights: str) -> None:
    asked = Choices(model=name, memory="80GiB", engine="ollama")
    chosen = choose(asked)
    assert chosen.deployment.weights.name == weights
    assert choose(asked, chosen.architecture) == chosen
    assert choose(replace(asked, weights="q8_0")).deployment.weights.name == "q8_0"
    assert choose(replace(asked, weights="q8_0")).deployment.file_note == ""


@pytest.mark.parametrize("tag", sorted(TAGS))
def test_every_tag_with_ollama_is_its_own_file_or_said_to_be_unknown(tag: str) -> None:
    model = load_preset(tag)
    usual = usual_type(tag)
    stored, note = named_file(tag, model, "ollama")
    assert stored == usual
    assert note.startswith(
        f"For {tag} Ollama pulls the file " if usual else f"Which file Ollama pulls for {tag} is not"
    )
    assert named_file(tag, model, "llama_cpp") == (None, "")


def test_a_preset_s_own_name_is_a_file_only_where_the_library_has_that_name() -> None:
    """By `command-r-plus` Ollama pulls its own file; `llama-3.1-8b` is no name of its library."""
    own = {preset.name: found for preset in presets.models() if (found := ollama_name(preset.name)) is not None}
    assert {"command-r-plus", "dbrx", "deepseek-v3", "glm-4.7-flash", "qwen3-coder-next"} <= set(own)
    for preset in presets.models():
        model = load_preset(preset.name)
        found = own.get(preset.name)
        usual = None if found is None else usual_type(found.preset)
        assert named_file(preset.name, model, "ollama")[0] == usual
        assert named_file(preset.name, model, "vllm") == (None, "")


def test_every_tag_that_is_proposed_is_read_as_the_same_file() -> None:
    """Whatever the product prints for `ollama pull`, a plan by that name is of the same model and weights."""
    tags = {
        (preset.name, weights): tag
        for preset in presets.models()
        for weights in (*mix_names(), *formats())
        if (tag := ollama_tag(preset.name, weights)) is not None
    }
    assert len(tags) > 2000
    wrong = []
    for (name, weights), tag in tags.items():
        model = load_preset(tag)
        if (model.name, named_file(tag, model, "ollama")[0]) != (name, weights):
            wrong.append(tag)
    assert not wrong


def test_a_plan_with_ollama_says_which_file_it_counts(capsys: pytest.CaptureFixture[str]) -> None:
    """q4_k_m of Llama-3.1-8B beside 8,192 tokens is in 8 GiB; 16 bits a parameter are not."""
    assert main(["plan", "--model", "llama3.1:8b", "--engine", "ollama", "--memory", "8GiB"]) == 0
    assert "Note: For llama3.1:8b Ollama pulls the file in q4_k_m, unless weights are named." in capsys.readouterr().out


def test_weights_that_are_chosen_come_before_those_of_the_name() -> None:
    chosen = choose(Choices(model="llama3.1:8b-instruct-q4_K_M", memory="80GiB", weights="q8_0"))
    assert chosen.deployment.weights.mix is not None
    assert chosen.deployment.weights.mix.name == "q8_0"


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("starcoder", "starcoder without a tag is none of the presets; name one of starcoder:15b."),
        (
            "llama3.1:9b",
            "of Ollama's llama3.1 there are llama3.1:405b, llama3.1:70b, llama3.1:8b, each with",
        ),
        ("llama3.1:8b-text-q4_K_M", "Model 'llama3.1:8b-text-q4_k_m' is not known"),
        ("llama3.1:8b-q4_K_X", "'llama3.1:8b-q4_k_x' asks for weights in q4_k_x, which is not known"),
        ("moondream", "Model 'moondream' is not known; see kvbudget models"),
        ("moondream:1.8b", "Model 'moondream:1.8b' is not known"),
    ],
)
def test_a_name_that_is_not_known_is_refused_with_those_that_are(name: str, sentence: str) -> None:
    with pytest.raises(UnknownName) as refusal:
        choose(Choices(model=name, memory="80GiB"))
    assert sentence in str(refusal.value)


@pytest.mark.parametrize(
    ("tag", "printed_gb"),
    [
        ("gemma3:270m-it-qat", 0.241), ("gemma3:1b-it-qat", 1.0), ("gemma3:4b-it-qat", 4.0), ("gemma3:12b-it-qat", 8.9),
        ("gemma3:27b-it-qat", 18), ("gemma4:e2b-it-qat", 4.3), ("gemma4:e4b-it-qat", 6.1), ("gemma4:31b-it-qat", 19),
        ("gemma4:26b-a4b-it-qat", 16),
    ],
)  # fmt: skip
def test_models_trained_for_four_bits_weigh_what_the_library_says(tag: str, printed_gb: float) -> None:
    """Two digits; the smallest file has 6 MB of words besides."""
    chosen = choose(Choices(model=tag, device="cpu-64gb", engine="ollama"))
    assert chosen.deployment.weights.mix is not None
    found = answer(chosen.architecture, chosen.deployment, chosen.workload)
    assert found.weights_bytes / 1e9 == pytest.approx(printed_gb, rel=0.03)


@pytest.mark.parametrize(
    ("tag", "printed_gb"),
    [
        ("qwen3:0.6b-q4_K_M", 0.523), ("qwen3:0.6b-q8_0", 0.832), ("qwen3:8b", 5.2), ("qwen3:8b-q8_0", 8.9),
        ("qwen3:14b", 9.3), ("deepseek-r1:8b-0528-qwen3-q8_0", 8.9), ("phi4-reasoning:14b-q4_K_M", 11),
        ("phi4-mini-reasoning:3.8b-q8_0", 4.6),
        ("exaone3.5:2.4b-instruct-q8_0", 2.8), ("granite3-dense:2b-instruct-q4_K_M", 1.6),
        ("qwen:0.5b-chat-v1.5-q8_0", 0.665), ("gemma4:e2b-it-q4_K_M", 7.2), ("gemma4:e4b-it-q4_K_M", 9.6),
        ("qwen3.5:122b-a10b-q4_K_M", 81),
    ],
)  # fmt: skip
def test_files_that_keep_more_weigh_what_the_library_says(tag: str, printed_gb: float) -> None:
    """Values' matrices or embeddings for each layer in 16 bit, every expert's last matrix in q6_k, a tied head twice:
    llama-quantize makes smaller files.

    Qwen3-8B in q8_0: 36 × 1,024 × 4,096 values at 16 bits instead of 8.5 are 142 MB more, 8.85 GB.
    """
    chosen = choose(Choices(model=tag, device="cpu-64gb", engine="ollama"))
    found = answer(chosen.architecture, chosen.deployment, chosen.workload)
    assert found.weights_bytes / 1e9 == pytest.approx(printed_gb, rel=0.013)
    plain = choose(Choices(model=tag, device="cpu-64gb", engine="llama_cpp", weights=chosen.deployment.weights.name))
    assert answer(plain.architecture, plain.deployment, plain.workload).weights_bytes / 1e9 < 0.985 * printed_gb


def test_a_file_of_another_engine_is_said_to_be_one() -> None:
    for tag in ("gemma4:e2b-nvfp4", "qwen3.5:9b-mlx", "qwen3.6:35b-a3b-coding-mxfp8"):
        with pytest.raises(UnknownName, match="computes with MLX, on Apple's chips alone"):
            find_model(tag)


@pytest.mark.parametrize(
    ("choices", "said"),
    [
        (Choices(model="llama-3.1-8b", memory="8GiB", engine="ollama"), "ollama pull llama3.1:8b gets q4_k_m instead"),
        # The tag itself, named weights, a file as published, and other engines have nothing to be told.
        (Choices(model="llama3.1:8b", memory="8GiB", engine="ollama"), ""),
        (Choices(model="llama-3.1-8b", memory="8GiB", engine="ollama", weights="q8_0"), ""),
        (Choices(model="llama-3.1-8b", memory="8GiB", engine="ollama", weights="checkpoint"), ""),
        (Choices(model="gpt-oss-20b", memory="8GiB", engine="ollama"), ""),
        (Choices(model="llama-3.1-8b", memory="8GiB", engine="llama_cpp"), ""),
    ],
)
def test_a_plan_as_published_says_what_ollama_would_pull(choices: Choices, said: str) -> None:
    chosen = choose(choices)
    found = pulled_instead(
        choices, chosen.architecture, answer(chosen.architecture, chosen.deployment, chosen.workload)
    )
    assert said in found
    assert bool(found) == bool(said)
