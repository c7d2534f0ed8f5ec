"""What is said first: signs and causes of every sentence, and engines that do not run on a device."""

import re
from collections.abc import Iterator
from itertools import product

import pytest

from planner import presets
from planner.answers.answer import Answer, answer
from planner.answers.verdict import verdict
from planner.budget import State
from planner.catalogue.native_files import READ_GGUF
from planner.cli import main
from planner.deciding import Where
from planner.engines import ENGINES
from planner.errors import PlannerError
from planner.finding.which import formats_for
from planner.inputs.choices import Choices, choose
from planner.text.which import file_title
from planner.tried_formats import WEIGHTS, default_weights, runs_on

NEGATIVE = re.compile(r"[-−]\s?\d[\d.,]* (?:B|[KMGT]i?B|tokens)\b")
DEVICES = ("l4", "rtx-4090", "h100-sxm", "mi300x", "apple-m4-16gb")
MODELS = ("llama-3.1-8b", "qwen3-8b", "gpt-oss-20b", "qwen3-next-80b-a3b")
CONTEXTS = (2_048, 30_000)
PLACED: dict[str, tuple[tuple[str, ...], ...]] = {
    "llama_cpp": (("n_gpu_layers=0",), ("n_gpu_layers=20",), ("cpu_moe=true",), ("no_kv_offload=true",)),
    "ollama": (("n_gpu_layers=0",),),
}
PLACED_ON = ("rtx-4090", "apple-m4-16gb")


def ask(choices: Choices) -> Answer:
    chosen = choose(choices)
    return answer(chosen.architecture, chosen.deployment, chosen.workload)


def plans(engine: str) -> Iterator[Answer]:
    """Every plan that makes sense; those of one's own memory with and without its size."""
    placed = [(device, settings) for settings in PLACED.get(engine, ()) for device in PLACED_ON]
    for (device, settings), model, context in product([*product(DEVICES, [()]), *placed], MODELS, CONTEXTS):
        for host_memory in (None, "16GiB", "64GiB") if settings else (None,):
            try:
                yield ask(
                    Choices(
                        model=model,
                        device=device,
                        engine=engine,
                        weights="q4_k_m" if engine in READ_GGUF else "int4-g128",
                        context=context,
                        set=settings,
                        host_memory=host_memory,
                    )
                )
            except PlannerError:
                continue


@pytest.mark.parametrize("engine", list(ENGINES))
def test_no_sentence_is_short_of_less_than_nothing(engine: str) -> None:
    seen = set()
    for found in plans(engine):
        words = verdict(found)
        seen.add(found.state)
        told = f"{words.title} {words.sentence} {words.short}"
        assert not NEGATIVE.search(told), told
        assert (found.state is State.FITS) == words.title.startswith("Yes"), words.title
        if found.state is State.UNCERTAIN:
            # Exit 0 and "Probably" go together, and so do 1 and "Probably not".
            assert words.title.startswith("Probably: " if found.fits else "Probably not: "), words.title
    assert {State.FITS, State.NO} <= seen


def test_what_decides_is_what_lies_where_it_is_short() -> None:
    """Experts of 57.9 GiB in main memory of 64 GiB: prompts that are kept there decide, not the card's context."""
    found = ask(
        Choices(
            model="gpt-oss-120b",
            device="rtx-4090",
            engine="llama_cpp",
            set=("cpu_moe=true",),
            host_memory="64GiB",
        )
    )
    assert (found.deciding.where, found.deciding.item) == (Where.HOST, "kept prompts")
    words = verdict(found)
    assert words.title == "Probably: 6.53 GiB to spare in main memory, or 1.52 GiB short"
    assert "What decides is kept prompts, assumed between 0 B and 8.00 GiB." in words.sentence


@pytest.mark.parametrize("device", DEVICES)
def test_no_file_is_too_big_by_less_than_nothing(device: str) -> None:
    placed = product((("n_gpu_layers=0",), ("cpu_moe=true",)), ("2GiB", "16GiB"))
    for settings, host_memory in (((), None), *placed):
        choices = Choices(model="gpt-oss-20b", device=device, engine="llama_cpp", set=settings, host_memory=host_memory)
        chosen = choose(choices)
        matches = formats_for(choices, chosen.architecture, default_weights("llama_cpp"))
        assert not NEGATIVE.search(file_title(matches)), file_title(matches)


def test_an_engine_that_does_not_run_there_is_said_first() -> None:
    for engine, device in product(ENGINES, presets.devices().values()):
        if runs_on(engine, device):
            continue
        found = ask(Choices(model="qwen3-0.6b", device=device.name, engine=engine, weights=WEIGHTS[0], context=1024))
        title = presets.engine_data(engine).title.partition(":")[0]
        assert verdict(found).title == f"No: {title} does not run on {device.title}"
        assert (found.fits, found.state) == (False, State.NO)


def test_such_a_plan_ends_like_one_that_does_not_fit(capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["plan", "--model", "qwen3-8b", "--device", "apple-m4-32gb", "--engine", "vllm"])
    told = capsys.readouterr().out
    assert status == 1
    assert told.startswith("No: vLLM does not run on Apple M4")
    assert "✓ Engine ollama: " in told


def test_a_long_context_keeps_its_space(capsys: pytest.CaptureFixture[str]) -> None:
    for context in ("1048576", "134217728"):
        main(["plan", "--model", "falcon-mamba-7b", "--device", "rtx-4090", "--context", context])
        told = capsys.readouterr().out
        assert f"most users at {int(context):,} " in told
        assert "any number of tokens" in told
        assert not re.search(r"any number of$", told, re.MULTILINE)
