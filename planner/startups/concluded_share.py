"""SGLang's share of the card where neither log nor release says it: what loading left less the pool stays outside."""

from planner import presets
from planner.errors import PlannerError
from planner.logs.readings import Start
from planner.settings.versions import value_at

STATIC_SHARE = "mem_fraction_static"


def concluded_share(start: Start, version: str | None) -> float | None:
    """The share in thousandths, of a release whose own is not known; ``None`` where it is, or figures are missing.

    share = 1 − (free after loading − pool) / free before
    """
    if start.engine != "sglang" or STATIC_SHARE in start.settings or version is None:
        return None
    data = presets.engine_data(start.engine)
    try:
        rule = value_at(data.rules["static_fraction"], data.number(version))
    except PlannerError:
        return None
    before, after, pool = start.least("free"), start.least("free_after_load"), _pool_bytes(start)
    if rule["kind"] != "unknown" or before is None or after is None or pool is None or not 0 < pool < after.value:
        return None
    return round(1 - (after.value - pool) / before.value, 2)


def _pool_bytes(start: Start) -> float | None:
    keys, values, cache = start.least("keys"), start.least("values"), start.least("cache")
    if cache is not None:
        return cache.value
    return None if keys is None or values is None else keys.value + values.value
