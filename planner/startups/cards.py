"""The cards that a log ran on: by name, by size, by what was free on them, or by what the engine says of its share."""

from collections.abc import Iterator
from dataclasses import replace

from planner import presets
from planner.budget import OUTSIDE, RankBudget, prepare
from planner.deployment import CPU
from planner.errors import PlannerError
from planner.inputs.choices import Choices, choose
from planner.line_item import Kind
from planner.logs.devices import CARD, LLAMA_CPP, cards, is_host, on_cards
from planner.logs.readings import Reading, Start
from planner.records import dataclass
from planner.startups.set_pools import set_pool
from planner.units import GIB, MIB, format_bytes

SAME_SIZE = 0.04
"""A card by name and the size that is printed differ by less, unless a slice of it or another card is meant."""
_FREE, _POOL, TOKENS = (frozenset({name}) for name in ("free", "pool", "pool_tokens"))
_ROUNDS = 3
_FIRST_GUESS = "80GiB"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cards:
    """*choices* with the cards in them, and *notes* on what was concluded.

    *made_of*: the readings that the cards' size was worked out from, and that a plan for it gives back by itself.
    """

    choices: Choices
    notes: tuple[str, ...] = ()
    made_of: frozenset[str] = frozenset()


class TooLarge(PlannerError):
    """The printed figures would take a card of *size_bytes*, more than any has."""

    def __init__(self, size_bytes: int) -> None:
        super().__init__(f"No card has {size_bytes} bytes.")
        self.size_bytes = size_bytes


def cards_of(start: Start, told: Choices) -> Cards | None:
    """The cards of *start*, in what is *told* of it already; ``None`` where nothing says how large they are.

    Raises TooLarge where the printed figures are of more than one card, and nothing says of how many.
    """
    if told.device is not None or told.memory is not None or told.devices is not None:
        return Cards(choices=told)
    if start.engine in LLAMA_CPP:
        if (machine := _machine(start, told)) is not None:
            return machine
        told = _with_stages(start, told)
    free = [found for found in _free_by_card(start) if start.engine in LLAMA_CPP]
    if len({round(found.value / GIB) for found in free}) > 1:
        sizes = ",".join(f"{found.value // MIB}MiB" for found in free)
        each = ", ".join(format_bytes(found.value) for found in free)
        note = f"{len(free)} cards are counted with what was free on each: {each}."
        return Cards(choices=replace(told, devices=sizes), notes=(note,), made_of=_FREE)
    if (unlike := _unlike(start, told)) is not None:
        return Cards(choices=replace(told, devices=",".join(unlike)))
    card, device = start.most("card"), device_named(start.settings.get("device", ""))
    if device is not None and (card is None or _is_size(device, card)):
        return Cards(choices=replace(told, device=device))
    if card is not None:
        memory = f"{card.value / GIB:.2f}GiB"
        return Cards(
            choices=replace(told, memory=memory),
            notes=(f"The card has {format_bytes(card.value)}, as printed.",),
            made_of=frozenset({"card"}),
        )
    if free:
        least = min(found.value for found in free)
        note = f"Counted with the {format_bytes(least)} that were free."
        return Cards(choices=replace(told, memory=f"{least // MIB}MiB"), notes=(note,), made_of=_FREE)
    given_free = start.least("free") if set_pool(start) is not None else None
    if given_free is not None:
        size = format_bytes(given_free.value)
        note = f"The log names no card: counted with the {size} that were free, as the cache's size is set."
        return Cards(choices=replace(told, memory=f"{given_free.value / GIB:.2f}GiB"), notes=(note,), made_of=_FREE)
    return next(_concluded(start, told), None)


def _unlike(start: Start, told: Choices) -> list[str] | None:
    """The names of llama.cpp's cards in their order, where they differ and each holds a part of the model."""
    printed = [text for name, text in sorted(start.settings.items()) if name.startswith(CARD)]
    names = [name for text in printed if (name := device_named(text)) is not None]
    is_whole = len(names) == len(printed) == told.pipeline_parallel
    return names if start.engine in LLAMA_CPP and is_whole and len(set(names)) > 1 else None


def _machine(start: Start, told: Choices) -> Cards | None:
    """A machine without a card, by the main memory that was free on it: it is the only device that is named."""
    free = [reading for reading in start.named("free") if is_host(reading.rank)]
    if not free or any(cards(start, name) for name in ("free", "card", "weights", "cache", "compute")):
        return None
    size = round(free[-1].value)
    note = f"It ran without a card: counted with the {format_bytes(size)} of main memory that were free."
    return Cards(choices=replace(told, device=CPU, host_memory=f"{size // MIB}MiB"), notes=(note,))


def may_tell_card(start: Start, told: Choices) -> bool:
    """Whether the size of the card is stated, printed, or follows from what is once the model is known."""
    if any(stated is not None for stated in (told.device, told.memory, told.devices)):
        return True
    printed = ("card", "free", "pool", "pool_tokens") if start.engine in _SHARES else ("card", "free")
    named = device_named(start.settings.get("device", ""))
    return named is not None or any(start.least(name) is not None for name in printed)


def device_named(text: str) -> str | None:
    """The device that a driver calls *text*: by its title, or by an alias without the maker's names."""
    wanted = text.lower().removeprefix("nvidia ").removesuffix(" gpu").strip()
    if not wanted:
        return None
    name = "-".join(_model_of(wanted))
    for device in presets.devices().values():
        if device.title.lower().removeprefix("nvidia ") == wanted or name in (device.name, *device.aliases):
            return device.name
    return None


def _model_of(name: str) -> list[str]:
    return [word for word in name.split() if word not in ("geforce", "amd", "radeon")]


def _is_size(device: str, card: Reading) -> bool:
    """As sold, as its driver has it, or as a process sees it."""
    found = presets.find_device(device)
    sizes = (found.memory_bytes, found.driver_bytes or 0, (found.nominal_gb or 0) * GIB)
    return any(abs(size - card.value) <= SAME_SIZE * card.value for size in sizes)


def _with_stages(start: Start, told: Choices) -> Choices:
    """llama.cpp lays whole layers on each card that it names."""
    number = max(len(cards(start, name)) for name in ("free", "weights", "cache", "compute"))
    is_stated = (told.pipeline_parallel, told.tensor_parallel, told.device_count) != (None, None, None)
    return told if number < 2 or is_stated else replace(told, pipeline_parallel=number)


def _free_by_card(start: Start) -> list[Reading]:
    """What was free on each card before anything was loaded."""
    found: dict[str, Reading] = {}
    for reading in on_cards(start, "free") or start.named("free"):
        if not is_host(reading.rank):
            found.setdefault(reading.rank, reading)
    return list(found.values())


def _concluded(start: Start, told: Choices) -> Iterator[Cards]:
    """The size that the printed figures make likely: the card itself is named nowhere."""
    size, how = _size_of_share(start, told)
    if size is not None and size > max(device.memory_bytes for device in presets.devices().values()):
        raise TooLarge(size)
    if size is not None:
        note = f"The log names no card: {how} make it about {format_bytes(size)}; give --device for the card itself."
        made_of = _FREE if start.engine == "sglang" else _POOL if start.least("pool") is not None else TOKENS
        yield Cards(choices=replace(told, memory=f"{size / GIB:.2f}GiB"), notes=(note,), made_of=made_of)


def _size_of_share(start: Start, told: Choices) -> tuple[int | None, str]:
    """The card's bytes, and from what they follow.

    card = (weights + runtime + pool) / share     (vLLM: a share of the whole card)
    card = weights + runtime + pool / share       (TensorRT-LLM, LMDeploy: a share of what is free)
    card = free before loading + what is usually gone by then     (SGLang)
    """
    free, loaded = start.least("free"), start.most("weights")
    memory = _FIRST_GUESS
    size = None
    for _ in range(_ROUNDS):
        try:
            chosen = choose(replace(told, memory=memory))
            rank = min(prepare(chosen.architecture, chosen.deployment), key=lambda each: each.pool_bytes)
        except PlannerError:
            return None, ""
        runtime = sum(item.bytes for item in rank.items if item.kind is Kind.RUNTIME and item.name != OUTSIDE)
        weights = sum(item.bytes for item in rank.items if item.kind is Kind.WEIGHTS)
        taken = runtime + (weights if loaded is None else int(loaded.value))
        settings = chosen.deployment.settings
        if start.engine == "sglang" and free is not None:
            context = sum(item.bytes for item in rank.items if item.name == "context")
            return int(free.value) + context, "what was free before loading, and what is usually gone by then,"
        pool_bytes = _pool_bytes(start, rank)
        if pool_bytes is None or start.engine not in _SHARES or "kv_cache_memory_bytes" in settings.given:
            return None, ""
        share = settings.number(_SHARES[start.engine])
        size = round((taken + pool_bytes) / share if start.engine == "vllm" else taken + pool_bytes / share)
        if size <= 0:
            return None, ""
        memory = f"{size}"
    return size, "weights, the usual runtime and what is left for the cache"


def _pool_bytes(start: Start, rank: RankBudget) -> int | None:
    """The cache's bytes, as printed or by the tokens that it holds."""
    pool, tokens = start.least("pool"), start.least("pool_tokens")
    if pool is not None:
        return int(pool.value)
    return None if tokens is None or tokens.value < 1 else rank.request_bytes(int(tokens.value))


_SHARES = {
    "vllm": "gpu_memory_utilization",
    "tensorrt_llm": "free_gpu_memory_fraction",
    "lmdeploy": "cache_max_entry_count",
}
"""By engine, the option for the share that its cache is a part of."""
