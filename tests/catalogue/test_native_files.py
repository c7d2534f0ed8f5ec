"""Models published in few bits: their own files come first, and what is no file of an engine is not counted as one."""

from dataclasses import replace

import pytest

from planner import presets
from planner.answers.answer import answer
from planner.budget import State
from planner.catalogue.downloads import gguf_repository, pulled
from planner.catalogue.native_files import READ_GGUF, native_names, published_format, tried_names
from planner.engines import ENGINES
from planner.errors import PlannerError
from planner.finding.picks import picks_for
from planner.finding.table import table
from planner.finding.which import files_for, match_quality
from planner.formats import CHECKPOINT
from planner.inputs.choices import Choices, choose
from planner.launch import launch, parse_launch
from planner.line_item import Kind
from planner.paced import paced
from planner.speed.work import weight_bytes_read
from planner.tried_formats import default_weights, how_to_get
from planner.units import MIB

GPT_OSS = ("gpt-oss-20b", "gpt-oss-120b")
PUBLISHED_IN_FEW_BITS = [
    preset.name
    for preset in presets.models()
    if "quantization_config" in str(preset.config) and published_format(presets.load_preset(preset.name))
]


def _file_bytes(choices: Choices) -> int:
    """Its weights, on the card and in main memory."""
    chosen = choose(choices)
    found = answer(chosen.architecture, chosen.deployment, chosen.workload)
    return sum(item.bytes for item in (*found.items, *found.host_items) if item.kind is Kind.WEIGHTS)


@pytest.mark.parametrize("model", PUBLISHED_IN_FEW_BITS)
@pytest.mark.parametrize("engine", ["llama_cpp", "ollama", "ik_llama_cpp", "vllm"])
def test_nothing_of_more_bits_is_tried_beside_a_file_as_published(engine: str, model: str) -> None:
    architecture = presets.load_preset(model)
    native, tried = native_names(engine, architecture), tried_names(engine, architecture, default_weights(engine))
    assert tried[: len(native)] == native
    if native and engine != "vllm":
        assert not {"q8_0", "q6_k", "q5_k_m", "q4_k_m"} & set(tried)


@pytest.mark.parametrize("model", GPT_OSS)
def test_ollama_pulls_gpt_oss_as_its_library_has_it(model: str) -> None:
    """ollama.com/library: gpt-oss:20b is 13 to 14 GB, gpt-oss:120b 65."""
    choices = Choices(model=model, device="h100-sxm", engine="ollama")
    first = files_for(choices, choose(choices).architecture)[0]
    assert (first.weights, first.is_native, match_quality(first)) == (CHECKPOINT, True, ("none", ""))
    low, high = {"gpt-oss-20b": (13e9, 14e9), "gpt-oss-120b": (64e9, 66e9)}[model]
    assert low < _file_bytes(replace(choices, weights=first.weights)) < high


@pytest.mark.parametrize("model", GPT_OSS)
def test_llama_cpp_pulls_the_file_with_experts_as_published(model: str) -> None:
    """ggml-org's gpt-oss-20b-mxfp4.gguf has 12,109,566,560 bytes, tokenizer included."""
    choices = Choices(model=model, device="h100-sxm", engine="llama_cpp")
    first = files_for(choices, choose(choices).architecture)[0]
    assert (first.weights, match_quality(first)[0]) == ("mxfp4_moe", "none")
    assert gguf_repository(model, first.weights) == f"ggml-org/{model}-GGUF"
    assert pulled(f"ggml-org/{model}-GGUF") == (model, "mxfp4_moe")
    if model == "gpt-oss-20b":
        assert 12_090_000_000 < _file_bytes(replace(choices, weights=first.weights)) < 12_109_566_560


@pytest.mark.parametrize("model", PUBLISHED_IN_FEW_BITS)
@pytest.mark.parametrize("engine", ["llama_cpp", "ik_llama_cpp"])
def test_engines_of_gguf_count_the_file_that_keeps_the_experts(engine: str, model: str) -> None:
    """Unless weights are named: its attention is q8_0, where the checkpoint's has 16 bit."""
    choices = Choices(model=model, memory="8TiB", engine=engine)
    native = native_names(engine, presets.load_preset(model))
    found = choose(choices).deployment
    assert found.weights.name == (native[0] if native else CHECKPOINT)
    assert bool(found.file_note) == bool(native)
    assert choose(replace(choices, weights=CHECKPOINT)).deployment.weights.name == CHECKPOINT


def test_a_step_of_gpt_oss_reads_what_public_readings_of_its_file_do() -> None:
    """2.56 GB a token, tests/data/llama_bench.csv."""
    chosen = choose(Choices(model="gpt-oss-20b", device="rtx-4090", engine="llama_cpp"))
    assert weight_bytes_read(paced(chosen, "llama_cpp").model, 1) == pytest.approx(2.56e9, rel=0.01)


def test_picks_have_it_too() -> None:
    choices = Choices(model="", device="rtx-4090", engine="llama_cpp")
    gets = [pick.get for pick in picks_for(choices, default_weights("llama_cpp"), count=6)]
    assert "ggml-org/gpt-oss-20b-GGUF" in gets


def weights_on_card(weights: str, engine: str = "llama_cpp") -> float:
    chosen = choose(
        Choices(model="gpt-oss-20b", device="rtx-4090", engine=engine, weights=weights, set=("cpu_moe=true",))
    )
    return answer(chosen.architecture, chosen.deployment, chosen.workload).weights_bytes / MIB


@pytest.mark.parametrize("engine", ["llama_cpp", "ik_llama_cpp", "ollama"])
def test_mxfp4_stands_for_the_file_whose_experts_have_it(engine: str) -> None:
    """With experts in main memory a start of llama.cpp printed 1,242.03 MiB on the card."""
    assert weights_on_card("mxfp4", engine) == weights_on_card("mxfp4_moe", engine) == pytest.approx(1242.03, abs=0.1)


@pytest.mark.parametrize(
    ("weights", "nearest"), [("int8", "q8_0"), ("fp8", "q8_0"), ("int4", "iq4_xs"), ("int4-g128", "iq4_xs")]
)
def test_a_format_of_other_engines_is_refused_with_a_file_type(weights: str, nearest: str) -> None:
    for engine in ("llama_cpp", "ik_llama_cpp", "ollama"):
        with pytest.raises(PlannerError, match=f"none is in {weights}: name a file type, such as {nearest}"):
            choose(Choices(model="qwen3-8b", device="rtx-4090", engine=engine, weights=weights))


def test_whole_files_in_16_bits_and_file_types_are_read() -> None:
    plan = Choices(model="qwen3-8b", device="rtx-4090", engine="llama_cpp")
    for weights in ("bf16", "fp16", "fp32", *default_weights("llama_cpp")):
        assert choose(replace(plan, weights=weights)).deployment.weights.name == weights


def test_a_table_has_the_nearest_file_type_in_place_of_such_a_format() -> None:
    base = Choices(model="", engine="llama_cpp")
    cells = table(["qwen3-8b", "7b-class"], ["24GiB"], ["fp16", "int8", "q8_0", "int4-g128"], base)
    assert [(cell.name, cell.weights) for cell in cells] == [
        *(("qwen3-8b", name) for name in ("fp16", "q8_0", "iq4_xs")),
        *(("7b-class", name) for name in ("fp16", "int8", "q8_0", "int4-g128")),
    ]


IN_32_BIT = [p.name for p in presets.models() if presets.load_preset(p.name).stored_as == "fp32"]


@pytest.mark.parametrize("model", IN_32_BIT)
def test_a_checkpoint_in_32_bit_is_tried_in_16_too(model: str) -> None:
    """Engines that read it make it so while they load; 16 bits of each parameter are half of it."""
    architecture = presets.load_preset(model)
    for engine in ENGINES:
        tried = tried_names(engine, architecture, default_weights(engine))
        assert ("bf16" in tried) == (engine not in READ_GGUF)
        assert tried_names(engine, architecture, (CHECKPOINT,)) == ((CHECKPOINT,) if "bf16" in tried else ())
    found = {match.weights: match for match in files_for(Choices(model=model, memory="96GiB"), architecture)}
    assert found["bf16"].weights_bytes == found[CHECKPOINT].weights_bytes / 2
    assert how_to_get("vllm", model, "bf16") == how_to_get("vllm", model, CHECKPOINT)


def test_gemma_2_9b_is_taken_in_16_bit_by_a_card_that_holds_it_so() -> None:
    """9.24 × 10⁹ parameters are 18.5 GB in 16 bit and 37 GB in 32; the card has 32."""
    found = files_for(Choices(model="gemma-2-9b", device="rtx-5090"), presets.load_preset("gemma-2-9b"))
    assert next(match.weights for match in found if match.state is State.FITS) == "bf16"


@pytest.mark.parametrize("engine", ["vllm", "sglang", "lmdeploy", "transformers"])
@pytest.mark.parametrize("weights", ["bf16", "fp16"])
def test_a_command_says_that_32_bit_are_loaded_in_16_and_is_read_so(engine: str, weights: str) -> None:
    choices = Choices(model="gemma-2-9b", memory="80GiB", engine=engine, weights=weights, context=4096)
    written = launch(choices, choose(choices))
    assert written is not None
    assert "google/gemma-2-9b" in written.text
    again = parse_launch(engine, written.text, Choices(model="", memory="80GiB"))
    assert (again.model, again.weights) == ("google/gemma-2-9b", weights)
