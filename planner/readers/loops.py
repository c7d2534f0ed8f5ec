"""Models that send a token through some of their layers more than once: weights once, a cache for every pass."""

from dataclasses import replace

from planner.errors import UnsupportedModel
from planner.readers.attention_kinds import SLIDING
from planner.readers.decoder import Decoder
from planner.readers.layer_plan import LayerPlan
from planner.units import format_count

_MOST_RUNS = 2**16


def looped(decoder: Decoder, plans: tuple[LayerPlan, ...]) -> tuple[LayerPlan, ...]:
    """*plans* in the order in which a token meets them, by the family's rule.

    ``stacks`` has two stacks of the same shape, of which the first runs several times for each run of the second (HRM);
    ``middle`` repeats what lies between its first and last layers (Dory), ``span`` a range of layers (Inkling 2) and
    ``steps`` all of them (Ouro); of ``windowed_steps`` the later ones see a window beside the first's cache (IQuest).
    """
    values, number = decoder.values, len(plans)
    match decoder.structure.loops:
        case "stacks":
            runs = values.integer("H_cycles") * (values.integer("L_cycles") + 1)
            return (*plans, *_repeat(decoder, plans, 0, number, runs - 1))
        case "middle":
            start, end = values.integer("n_input_layers", minimum=0), values.integer("n_output_layers", minimum=0)
            return _repeat(decoder, plans, start, number - end, values.integer("n_recurrent_loops"))
        case "span":
            start, end = (values.integer(f"loop_layer_index_{edge}", minimum=0) for edge in ("start", "end"))
            return _repeat(decoder, plans, start, end, values.integer("loop_num_passes"))
        case "steps":
            return _repeat(decoder, plans, 0, number, values.integer("total_ut_steps"))
        case "windowed_steps":
            window = values.integer("loop_window_size")
            again = _repeat(decoder, plans, 0, number, values.integer("loop_num"))[number:]
            return (*plans, *(replace(plan, kind=SLIDING, window_tokens=window) for plan in again))
    return plans


def _repeat(decoder: Decoder, plans: tuple[LayerPlan, ...], start: int, end: int, passes: int) -> tuple[LayerPlan, ...]:
    """*plans* with those from *start* up to *end* as often as there are *passes*."""
    if not start <= end <= len(plans) or len(plans) * passes > _MOST_RUNS:
        raise UnsupportedModel(
            f"{decoder.values.where}: layers from {format_count(start)} to {format_count(end)} of "
            f"{format_count(len(plans))} cannot run {format_count(passes)} times."
        )
    return (*plans[:end], *_again(plans[start:end]) * (passes - 1), *plans[end:])


def _again(plans: tuple[LayerPlan, ...]) -> tuple[LayerPlan, ...]:
    return tuple(replace(plan, runs_again=True) for plan in plans)
