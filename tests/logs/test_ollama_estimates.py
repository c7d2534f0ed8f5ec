"""What Ollama worked out before it loaded a model, by its own formulas; public logs, each with its source."""

import pytest

from planner.inputs.choices import Choices
from planner.logs.read import read_log
from planner.startups.comparison import Match
from planner.startups.report import LogReport, report_log
from planner.units import GIB, MIB

GEMMA = (  # An issue thread of August 2025: layer 49, the output, did not fit, and the vision tower lies with it.
    "time=2025-08-22T17:36:22.027-04:00 level=INFO source=server.go:175 msg=offload library=cuda layers.requested=-1 "
    'layers.model=49 layers.offload=48 layers.split="" memory.available="[11.1 GiB]" memory.gpu_overhead="0 B" '
    'memory.required.full="11.4 GiB" memory.required.partial="8.9 GiB" memory.required.kv="992.0 MiB" '
    'memory.required.allocations="[8.9 GiB]" memory.weights.total="6.8 GiB" memory.weights.repeating="6.0 GiB" '
    'memory.weights.nonrepeating="787.5 MiB" memory.graph.full="519.5 MiB" memory.graph.partial="1.3 GiB" '
    'projector.weights="795.9 MiB" projector.graph="1.0 GiB"\n'
    'time=2025-08-22T17:36:22.176-04:00 level=INFO source=server.go:438 msg="starting llama server" '
    'cmd="/usr/local/bin/ollama runner --ollama-engine --model /blobs/sha256-e8ad --ctx-size 8192 --batch-size 512 '
    '--n-gpu-layers 48 --threads 28 --parallel 1 --port 36629"\n'
)
LINE = (
    "time={day}T01:00:00.000Z level=INFO source={source} msg={said} layers.requested=-1 layers.model={layers} "
    'layers.offload={offload} layers.split="" memory.available="[{free}]" memory.gpu_overhead="0 B" '
    'memory.required.full="{required}" memory.required.kv="{kv}" memory.weights.total="{weights}" '
    'memory.graph.full="{graph}"\n'
    'time={day}T01:00:00.100Z level=INFO source={started} msg="starting llama server" cmd="ollama_llama_server runner '
    '--model /blobs/sha256-1 --ctx-size {context} --batch-size 512 --n-gpu-layers {offload} --parallel {parallel}"\n'
)
OLD = {"source": "memory.go:356", "said": '"offload to cuda"', "started": "server.go:376"}
PUBLIC = {
    # github.com/ollama/ollama issue of 2024-12-15, H100; --ctx-size holds four requests.
    "llama-3.2-3b": (
        {**OLD, "day": "2024-12-15", "layers": 29, "offload": 29, "free": "78.6 GiB", "required": "3.7 GiB"}
        | {"kv": "896.0 MiB", "weights": "2.4 GiB", "graph": "424.0 MiB", "context": 8192, "parallel": 4},
        ("q4_k_m", "h100-sxm", "0.5.2"),
    ),
    # A server of 0.5 that still ran in December 2025: only its lines say how old it is.
    "llama-3.1-8b": (
        {**OLD, "day": "2025-12-01", "layers": 33, "offload": 33, "free": "23.3 GiB", "required": "6.5 GiB"}
        | {"kv": "1.0 GiB", "weights": "4.9 GiB", "graph": "560.0 MiB", "context": 8192, "parallel": 4},
        ("q4_k_m", "rtx-3090", "0.5.7"),
    ),
    # Phi-4 is of phi3's architecture, without a formula: a sixth of the cache times 40/10 heads, 266.7 MiB. Whose file
    # it is is not said; its weights are not counted.
    "phi-4": (
        {**OLD, "day": "2025-01-10", "layers": 41, "offload": 29, "free": "6.9 GiB", "required": "9.6 GiB"}
        | {"kv": "400.0 MiB", "weights": "8.2 GiB", "graph": "266.7 MiB", "context": 2048, "parallel": 1},
        ("q4_k_m", "rtx-4060-laptop", "0.5.5"),
    ),
    # github.com/intel/ipex-llm issue 13277, a machine without a card.
    "qwen2.5-coder-14b": (
        {"source": "server.go:187", "said": "offload", "started": "server.go:438", "day": "2025-08-05", "layers": 49}
        | {"offload": 0, "free": "16.9 GiB", "required": "6.3 GiB", "kv": "768.0 MiB", "weights": "5.1 GiB"}
        | {"graph": "348.0 MiB", "context": 4096, "parallel": 1},
        ("q2_k", "cpu-32gb", "0.11.3"),
    ),
}


def report(text: str, model: str, weights: str, device: str) -> LogReport:
    return report_log(read_log(text), Choices(model=model, weights=weights, device=device, engine=""))


@pytest.mark.parametrize("model", PUBLIC)
def test_the_formulas_give_what_was_printed(model: str) -> None:
    line, (weights, device, release) = PUBLIC[model]
    found = report(LINE.format(**line), model, weights, device)
    rows = {row.name: row for row in found.readings}
    known = ("required", "estimated_weights") if model != "phi-4" else ()
    for name in ("estimated_cache", "estimated_compute", *known):
        assert rows[name].match is Match.EQUAL, (name, rows[name])
    assert found.choices is not None
    assert found.choices.engine_version == release
    assert f"none after {release}, whose rules are taken" in " ".join(found.notes)


def test_gemma_s_windows_and_its_tower() -> None:
    """8 of 48 layers keep 8,192 tokens at 8,192 B, 64 MiB each; 40 keep 1,024 + 512 of them, 12 MiB: 992 MiB.

    The graph is 4 × 512 × (3,840 + words): of the tokenizer's 262,144 words 519.5 MiB, of the padded 262,208 519.6.
    """
    found = report(GEMMA, "gemma-3-12b", "q4_k_m", "rtx-3060-12gb")
    rows = {row.name: row for row in found.readings}
    assert rows["estimated_cache"].predicted == (8 * 64 + 40 * 12) * MIB
    assert [rows[name].match for name in ("required", "estimated_weights")] == [Match.EQUAL] * 2
    graph = rows["estimated_compute"]
    assert (graph.match, graph.predicted) == (Match.INSIDE, 4 * 512 * (3_840 + 262_208))


LAID = (  # A public log of May 2026, of the release of March that its lines are of; llama.cpp computes Qwen2.5.
    'time=2026-05-05T01:30:33.796+08:00 level=INFO source=sched.go:491 msg="gpu memory" id=GPU-d3 library=CUDA '
    'available="10.3 GiB" free="10.7 GiB" minimum="457.0 MiB" overhead="0 B"\n'
    'time=2026-05-05T01:30:33.796+08:00 level=INFO source=server.go:499 msg="loading model" "model layers"=29\n'
    'time=2026-05-05T01:30:33+08:00 level=INFO source=device.go:240 msg="model weights" device=CUDA0 size="4.1 GiB"\n'
    'time=2026-05-05T01:30:33+08:00 level=INFO source=device.go:251 msg="kv cache" device=CUDA0 size="1.8 GiB"\n'
    'time=2026-05-05T01:30:33+08:00 level=INFO source=device.go:262 msg="compute graph" device=CUDA0 size="1.8 GiB"\n'
)


def test_what_is_laid_for_llama_cpp_is_an_estimate_and_no_measurement() -> None:
    """4 × 512 × (1 + 2 × 3,584 + 32,768 × 29) B = 1.83 GiB, without flash attention, which llama.cpp does use."""
    choices = Choices(model="qwen2.5-7b-instruct", weights="q4_k_m", device="rtx-3060-12gb", engine="", context=32_768)
    found = report_log(read_log(LAID), choices)
    rows = {row.name: row for row in found.readings}
    assert rows["estimated_compute"].predicted == 4 * 512 * (1 + 2 * 3_584 + 32_768 * 29)
    for name in ("estimated_weights", "estimated_cache", "estimated_compute"):
        assert rows[name].match is Match.EQUAL
    assert (rows["estimated_compute"].predicted or 0) > 1.8 * GIB
    assert found.profile is not None
    assert [item.name for item in found.profile.items] == ["context"]
    assert found.choices is not None
    assert found.choices.engine_version == "0.20.3"


def test_what_its_own_engine_lays_is_what_it_allocates() -> None:
    text = LAID.replace('"model layers"=29', '"model layers"=37')
    found = report_log(
        read_log(text), Choices(model="qwen3-8b", weights="q4_k_m", device="rtx-3060-12gb", engine="", context=4_096)
    )
    assert {"weights", "cache", "compute"} <= {row.name for row in found.readings}
