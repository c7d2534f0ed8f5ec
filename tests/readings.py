"""How well memory is predicted from model, card and flags alone: ``make readings``.

Every start-up that names all three, with the pool that it printed; then the same with the fitted figures of the runtime
refitted without the start itself, and after one log of the same model, card and release. llama.cpp prints no pool: what
it printed of a card's buffers stands in for it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from planner.answers.figures import room_bytes
from planner.calibration import CalibrationProfile
from planner.engines.vllm.runtime import PADDING, ROTARY
from planner.errors import PlannerError
from planner.line_item import Kind
from planner.logs.readings import Reading as Printed
from planner.logs.readings import Start
from planner.startups.profile import profile_from
from planner.units import GIB, MIB
from planner.weights import identity
from tests import llama_cpp_readings, pool_readings, vllm_readings
from tests.predictions import Prediction, summary
from tests.refit import shift_bytes
from tests.vllm_readings import Reading, plan_of, readings

LOG_NAMES = {
    "pool_gib": "pool",
    "weights_gib": "weights",
    "activation_gib": "activations",
    "non_torch_gib": "non_torch",
}
"""What a report prints, by the name under which a log has it."""
BUFFERS = ("weights_card_mib", "kv_mib", "recurrent_mib", "compute_card_mib")


def can_be_predicted(reading: Reading) -> bool:
    """Whether it printed a pool, and says model, weights and card."""
    unknown = reading.skip or reading.no_prediction or reading.is_shape
    return not unknown and reading.printed.get("pool_gib", 0) > 0


def deciding_bytes(reading: Reading) -> int:
    """The printed pool; where the printed blocks or tokens are another rank's, the pool that they make."""
    printed_bytes = round(reading.printed["pool_gib"] * GIB)
    if not reading.other_rank or not {"blocks", "tokens"} & reading.printed.keys():
        return printed_bytes
    two = reading.run(num_gpu_blocks_override=2).report
    assert two is not None
    blocks = reading.printed.get("blocks") or _blocks_for(reading, reading.printed["tokens"])
    return int(blocks) * two.pool_bytes // 2


def prediction(reading: Reading, profile: CalibrationProfile | None = None, log: str = "") -> Prediction:
    """The pool of a start-up, with the items of *profile* where it has one."""
    chosen = reading.chosen()
    found = plan_of(replace(chosen, deployment=replace(chosen.deployment, profile=profile)))
    predicted = room_bytes(found)
    return Prediction(
        name=reading.id,
        model=reading.model,
        card=reading.device or reading.memory or "",
        printed_bytes=deciding_bytes(reading),
        predicted_bytes=predicted,
        low_bytes=predicted - sum(item.high_bytes - item.bytes for item in found.items),
        high_bytes=predicted + sum(item.bytes - item.low_bytes for item in found.items),
        log=log,
    )


def after_one_log(known: Sequence[Reading]) -> Iterator[Prediction]:
    """Each start with the profile of every other of the same model, card and release; never with its own."""
    for source in known:
        chosen = source.chosen()
        start = Start(
            engine="vllm",
            line=1,
            readings=tuple(
                Printed(name=name, value=round(source.printed[key] * GIB), unit="bytes", line=1, step=GIB // 100)
                for key, name in LOG_NAMES.items()
                if key in source.printed
            ),
        )
        profile = profile_from(start, chosen)
        for reading in known:
            same_weights = (reading.weights, reading.quantization) == (source.weights, source.quantization)
            if reading is source or profile is None or not same_weights:
                continue
            try:
                found = prediction(reading, profile, source.id)
            except PlannerError:
                continue  # another model, card or release
            chosen = reading.chosen()
            conditions = chosen.deployment.conditions(identity(chosen.architecture))
            yield replace(found, stale=any(profile.stale(conditions)))


def refitted(reading: Reading) -> Prediction:
    """The pool with the figures that are fitted to start-ups fitted to the others alone."""
    found, shift = prediction(reading), shift_bytes(reading)
    return replace(
        found,
        predicted_bytes=found.predicted_bytes + shift,
        low_bytes=found.low_bytes + min(0, shift),
        high_bytes=found.high_bytes + max(0, shift),
    )


def other_pools() -> Iterator[Prediction]:
    """SGLang's, TensorRT-LLM's and LMDeploy's pools, where a start names its card."""
    for reading in pool_readings.readings():
        if not reading.is_predicted:
            continue
        found = reading.predicted()
        predicted = room_bytes(found)
        yield Prediction(
            name=reading.id,
            model=reading.model,
            card=f"{reading.engine} {reading.device}",
            printed_bytes=reading.printed_bytes(found),
            predicted_bytes=predicted,
            low_bytes=predicted - sum(item.high_bytes - item.bytes for item in found.items),
            high_bytes=predicted + sum(item.bytes - item.low_bytes for item in found.items),
        )


def loaded_weights() -> Iterator[Prediction]:
    """vLLM's weights as loaded, where a start printed them and names model, format and ranks."""
    for reading in readings():
        printed = reading.printed.get("weights_gib")
        if printed is None or reading.skip or reading.is_shape or reading.other_weights:
            continue
        items = reading.run().items
        padding = [item for item in items if item.name in (PADDING, ROTARY)]
        weights = sum(item.bytes for item in items if item.kind is Kind.WEIGHTS)
        yield Prediction(
            name=reading.id,
            model=reading.model,
            card=reading.device or reading.memory or "",
            printed_bytes=round(printed * GIB),
            predicted_bytes=weights + sum(item.bytes for item in padding),
            low_bytes=weights + sum(item.low_bytes for item in padding),
            high_bytes=weights + sum(item.high_bytes for item in padding),
        )


def buffers() -> Iterator[Prediction]:
    """llama.cpp: weights, cache and compute buffer of a card together, where a start printed all of them."""
    for reading in llama_cpp_readings.readings():
        names = [name for name in BUFFERS if name in reading.printed]
        if reading.skip or not {"weights_card_mib", "kv_mib", "compute_card_mib"} <= set(names):
            continue
        predicted = round(sum(reading.figure(name) for name in names) * MIB)
        compute = reading.figure("compute_card_mib")
        low, high = reading.spread_mib("compute_card_mib")
        yield Prediction(
            name=reading.id,
            model=reading.model,
            card=reading.engine,
            printed_bytes=round(sum(reading.printed[name] for name in names) * MIB),
            predicted_bytes=predicted,
            low_bytes=predicted - round((compute - low) * MIB),
            high_bytes=predicted + round((high - compute) * MIB),
        )


def main() -> None:
    known = [reading for reading in readings() if can_be_predicted(reading)]
    pools = sorted((prediction(reading) for reading in known), key=lambda one: -abs(one.error))
    logged = sorted(after_one_log(known), key=lambda one: -abs(one.error))
    loaded = sorted(loaded_weights(), key=lambda one: -abs(one.error))
    cards = sorted(buffers(), key=lambda one: -abs(one.error))
    others = list(other_pools())
    for found in (pools, logged, others, loaded, cards):
        print(*found, "", sep="\n")
    for reading in vllm_readings.readings():
        for reason in filter(None, (reading.no_prediction, reading.other_weights)):
            print(f"{reading.id:26} {reading.reported_model:60} not predicted: {reason}")
    shown = {reading.id for reading in known if reading.complete}
    stated = {reading.id for reading in known if {"gpu_memory_utilization", "max_num_seqs"} <= reading.set.keys()}
    print("\n| start-ups | number | median error | 90th percentile | largest | within the spread |")
    print("|---|---|---|---|---|---|")
    print(summary("vLLM, pool, from model, card and flags", pools))
    print(summary("the same, fitted without the start itself", map(refitted, known)))
    print(summary("those that show their whole command", [one for one in pools if one.name in shown]))
    print(summary("those that do not", [one for one in pools if one.name not in shown]))
    print(summary("those that state utilisation and max_num_seqs", [one for one in pools if one.name in stated]))
    print(summary("vLLM, pool, after one log", logged))
    print(summary("those with the settings of the log", [one for one in logged if not one.stale]))
    for engine, name in (("sglang", "SGLang"), ("tensorrt_llm", "TensorRT-LLM"), ("lmdeploy", "LMDeploy")):
        print(summary(f"{name}, pool", [one for one in others if one.card.startswith(engine)]))
    print(summary("vLLM, weights as loaded", loaded))
    print(summary("llama.cpp, a card's buffers, from model, file and flags", cards))


def _blocks_for(reading: Reading, tokens: int) -> int:
    """The fewest blocks for which that many tokens are printed."""
    low, high = 2, 2**31
    while low < high:
        middle = (low + high) // 2
        if (reading.run(num_gpu_blocks_override=middle).pool_tokens or 0) < tokens:
            low = middle + 1
        else:
            high = middle
    return low


if __name__ == "__main__":
    main()
