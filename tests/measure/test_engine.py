"""Real engines beside the plan: llama.cpp itself where it is installed, recorded lines of the others."""

from importlib.util import find_spec
from pathlib import Path

import pytest

from measure import engines, tiny_gguf, trained
from measure.engines import BINDINGS, SERVER, VLLM, EngineStart
from measure.experiments import engine
from measure.records import Case
from measure.setup import Setup
from planner.errors import PlannerError
from planner.inputs.model_files import load_model
from planner.weights import parameters
from tests.measure.trial import record_of, trial

needs_bindings = pytest.mark.skipif(find_spec(BINDINGS) is None, reason="needs llama.cpp: pip install xllamacpp")


def case(name: str, slots: int, cache: str) -> Case:
    return Case(experiment="engine", name="test", settings={"engine": name, "slots": slots, "cache": cache})


def test_the_tiny_file_is_a_llama_of_these_shapes(tmp_path: Path) -> None:
    model = load_model(str(tiny_gguf.write(tmp_path / "tiny.gguf")))
    # Embedding and head, 4 layers of queries, keys, values, output, three matrices of 256 × 512 and two norms, a norm.
    layer = 2 * 256 * 256 + 2 * 256 * 64 + 3 * 256 * 512 + 2 * 256
    assert parameters(model) == 2 * 512 * 256 + 4 * layer + 256


@needs_bindings
def test_llama_cpp_prints_what_is_planned(tmp_path: Path) -> None:
    path = tiny_gguf.write(tmp_path / "tiny.gguf")
    setup = Setup(model=str(path))
    report = trial(engine, [case(BINDINGS, 1, "f16"), case(BINDINGS, 4, "q8_0")], setup)
    assert report.disagreements == ()
    assert (
        "xllamacpp printed 6 of 6 figures as planned, once rounded to the digits that it prints, in 2 starts"
        in report.lesson
    )
    first, second = report.tables[0].rows
    # 1,100 tokens are 1,280 cells of 4 layers, keys and values of 64 elements in 16 bit; printed to 0.01 MiB.
    assert first["predicted_cache_bytes"] == 1_280 * 4 * 2 * 64 * 2
    assert first["cache_as_printed"]
    assert first["measured_cache_bytes"] == pytest.approx(1_280 * 4 * 2 * 64 * 2, abs=5_300)
    assert second["measured_cache_bytes"] == pytest.approx(4 * 1_280 * 4 * 2 * 64 * 34 / 32, abs=5_300)


def test_vllm_on_a_cpu_prints_the_planned_concurrency(tiny: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    """3 layers of 2 key-value heads of 16 in 16 bit: 49,152 B a block of 128, 21,845 blocks in 1 GiB, 9 a request."""
    log = (
        f"(EngineCore pid=1) INFO 11-30 09:11:04 [core.py:133] Initializing a V1 LLM engine (v0.32.0) with config: "
        f"model='{tiny.model}', speculative_config=None, dtype=torch.bfloat16, max_seq_len=1100\n"
        "(EngineCore pid=1) INFO 11-30 09:11:50 [kv_cache_utils.py:2327] CPU KV cache size: 2,669,942 tokens, "
        "Maximum concurrency for 1,100 tokens per request: 2427.22x\n"
    )
    monkeypatch.setattr(engines, "start_up", lambda name, asked: log)
    monkeypatch.setattr(trained, "folder", lambda: Path(tiny.model))
    report = trial(engine, [case(VLLM, 4, "f16")], tiny)
    assert report.disagreements == ()
    assert (
        report.lesson
        == "vllm printed 1 of 1 figures as planned, once rounded to the digits that it prints, in 1 start."
    )


def test_an_engine_that_says_nothing_of_memory_is_a_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(engines, "start_up", lambda name, asked: "hello\n")
    setup = Setup(model=str(tiny_gguf.write(tmp_path / "tiny.gguf")))
    with pytest.raises(PlannerError, match="printed 1 lines and none about its memory; the last: hello"):
        list(engine.run(case(BINDINGS, 1, "f16").settings, setup))


def test_a_compute_buffer_is_listed_with_its_size_within_its_range_too() -> None:
    row = {"engine": "llama-server", "slots": 1, "cache": "f16", "predicted_compute_bytes": 100}
    rows = [row | {"measured_compute_bytes": size, "compute_within": size < 150} for size in (100, 117, 200)]
    report = engine.report([record_of(*rows)], Setup())
    assert report.disagreements == (
        "compute buffer of llama-server 1 × f16: 1.17 times the expected one, within its range",
        "compute buffer of llama-server 1 × f16: 2.00 times the expected one, outside its range",
    )
    assert report.lesson.endswith("in 2 of 3 and is 2.00 times the expected one where it is farthest from it.")


def test_no_engine_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "installed", lambda: ())
    assert engine.cases(Setup()) == []
    assert engine.report([], Setup()).lesson.startswith("No engine is installed here: 'pip install xllamacpp'")


def test_what_is_installed_is_found_by_bindings_and_binaries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "find_spec", lambda name: None)
    monkeypatch.setattr(engines.shutil, "which", lambda name: f"/usr/bin/{name}")
    assert engines.installed() == (SERVER, VLLM)
    asked = EngineStart(model="/m.gguf", n_ctx=4_400, n_parallel=4, cache_type="q8_0")
    assert " ".join(engines.command(SERVER, asked)).startswith(
        "llama-server -m /m.gguf -c 4400 -np 4 -ctk q8_0 -ctv q8_0"
    )
    assert "--max-model-len 4400 --max-num-seqs 4 --block-size 128 --load-format dummy" in " ".join(
        engines.command(VLLM, asked)
    )


def test_a_start_is_ended_once_it_has_said_enough() -> None:
    script = (
        "import time; print('CPU compute buffer size = 1 MiB', flush=True)\nfor n in range(99): print(n, flush=True)"
    )
    said = engines.start_up(BINDINGS, EngineStart(model="", n_ctx=1), ["python3", "-c", f"{script}\ntime.sleep(60)"])
    assert len(said.splitlines()) == 1 + engines.LINES_AFTER
    with pytest.raises(PlannerError, match="ended with exit code 3"):
        engines.start_up(BINDINGS, EngineStart(model="", n_ctx=1), ["python3", "-c", "raise SystemExit(3)"])


@pytest.mark.skipif(not trained.is_installed(), reason="needs the trained model's package")
def test_the_trained_models_own_file_is_the_default() -> None:
    assert engine._model(Setup()) == trained.gguf()
    assert engine._model(Setup(model=trained.NAME)) == trained.gguf()
    with pytest.raises(PlannerError, match="is no file here: engine takes a GGUF file"):
        engine.cases(Setup(model="qwen2.5-0.5b"))
