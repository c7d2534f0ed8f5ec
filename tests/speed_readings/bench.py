"""llama-bench and LocalScore: one stream's answers, and prompts."""

from planner import performance_presets, presets
from planner.speed.fit import Measured
from planner.speed.operations import operations_per_token
from planner.speed.work import Work
from tests.speed_readings.reading import Reading, Row, model_for, rows_of

FILE = "llama_bench.csv"


def why_not(row: Row) -> str:
    """Why an answer's rate is not predicted; empty where it is."""
    if row["batch"] != "1":
        return "many requests at once, on a card whose arithmetic rate is not known"
    if not row["tokens_per_s"] or not row["bandwidth_bytes_per_s"]:
        return "the rate, or the bandwidth of the card, is not stated"
    return ""


def bench_reading(row: Row) -> Reading:
    read_bytes = int(row["read_bytes"]) + int(row["context_tokens"]) * int(row["kv_bytes_per_token"])
    return Reading(
        engine=row["engine"],
        family=row["family"],
        experts=row["experts"] == "yes",
        model=row["model"],
        card=row["card"].rsplit(" x", 1)[0],  # layers on several cards take turns: one card's bandwidth at a time
        rig=(row["engine"], row["card"]),
        is_crowd_sourced=row["engine"] == "llamafile",
        is_alone=True,
        measured=Measured(
            work=Work(
                layers=int(row["layers"]),
                read_bytes=read_bytes,
                read_s=read_bytes / int(row["bandwidth_bytes_per_s"]),
                arithmetic_s=0.0,
            ),
            seconds=1 / float(row["tokens_per_s"]),
        ),
    )


def bench_readings() -> list[Reading]:
    return [bench_reading(row) for row in rows_of(FILE) if not why_not(row)]


def prefill_readings() -> list[Reading]:
    """llama-bench's prompts on devices whose arithmetic rate is known."""
    found = []
    for row in rows_of(FILE):
        device = presets.find_device(row["device"]) if row["device"] else None
        if not row["prompt_tokens_per_s"] or device is None or not device.fp16_flops_per_s or row["experts"]:
            continue
        if row["family"] != performance_presets.device_family(device.name) or row["context"].startswith("mixed"):
            continue
        words = row["context"].split()
        tokens = int(words[0].removeprefix("tg")) if words[0].startswith("tg") else 512
        model = model_for(row["model"].lower(), device.name, "fp16", "fp16", 1)
        read_bytes = int(row["read_bytes"])
        found.append(
            Reading(
                engine=row["engine"],
                family=row["family"],
                experts=False,
                model=row["model"],
                card=row["card"],
                rig=(row["engine"], row["card"]),
                measured=Measured(
                    work=Work(
                        layers=int(row["layers"]),
                        read_bytes=read_bytes,
                        read_s=read_bytes / int(row["bandwidth_bytes_per_s"]),
                        arithmetic_s=tokens * operations_per_token(model.architecture) / device.fp16_flops_per_s,
                    ),
                    seconds=tokens / float(row["prompt_tokens_per_s"]),
                ),
            )
        )
    return found
