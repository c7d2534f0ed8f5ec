"""What joins devices that share each layer: how long one exchange takes, and how much it carries."""

from planner.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """*exchange_s*: one sum over all devices, however little is sent; *bytes_per_s* in each direction.

    *is_assumed*: nothing says how the devices are joined.
    """

    name: str
    title: str
    exchange_s: float
    bytes_per_s: float
    source: str
    is_assumed: bool = False
