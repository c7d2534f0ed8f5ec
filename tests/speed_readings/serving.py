"""Servers: the time of a step from the time between tokens, alone or with a cache that grows."""

from planner.catalogue import performance_presets
from planner.speed.fit import Measured
from planner.speed.operations import has_experts
from planner.speed.work import Model, Work, decode_work, kv_bytes_read
from tests.speed_readings.reading import Reading, Row, model_for, rows_of

FILE = "serving_speed.csv"
STEPS = ("time_per_token_s", "time_without_cache_s", "time_per_cached_token_s")
FIRST_TOKEN = "time_to_first_token_s"
OF_ALL = "time_per_token_of_all_s"
SHORT_TOKENS = 512
"""A chat's length where one request alone states none: its cache is half a percent of what a step reads."""
LONG_TOKENS = 2**17
"""Over so many a cached token's time is averaged."""


def is_step(row: Row) -> bool:
    return row["metric"] in STEPS and not row["reason"]


def model_of(row: Row) -> Model:
    parallel = int(row["tensor_parallel"])
    return model_for(row["model"], row["card"], row["weights"], row["kv_cache"], parallel, row["engine"])


def serving_reading(row: Row) -> Reading:
    """Between a request's tokens a busy server computes the prompts of the others, prompt ÷ answer tokens of each."""
    model = model_of(row)
    return Reading(
        engine=row["engine"],
        family=performance_presets.device_family(row["card"]),
        experts=has_experts(model.architecture),
        model=row["model"],
        card=row["card"],
        rig=(row["engine"], row["model"], row["card"], row["weights"], row["tensor_parallel"]),
        is_crowd_sourced="crowd-sourced" in row["note"],
        measured=Measured(work=_work(model, row), seconds=float(row["seconds"])),
    )


def _work(model: Model, row: Row) -> Work:
    if row["metric"] == "time_per_cached_token_s":
        read_bytes = kv_bytes_read(model, LONG_TOKENS) / LONG_TOKENS
        read_s = read_bytes / model.bandwidth_bytes_per_s
        return Work(layers=0, read_bytes=read_bytes, read_s=read_s, arithmetic_s=0.0)
    users = int(row["concurrency"])
    if row["metric"] == "time_without_cache_s":
        return decode_work(model, users, 0)
    if not row["prompt_tokens"]:
        return decode_work(model, users, SHORT_TOKENS)
    prompt, output = int(row["prompt_tokens"]), int(row["output_tokens"])
    return decode_work(model, users, prompt + output // 2, (users - 1) / users * prompt / output)


def serving_readings() -> list[Reading]:
    return [serving_reading(row) for row in rows_of(FILE) if is_step(row)]
