"""``python -m tests.speed_readings``, with ``--constants`` presets/speed.toml's tables."""

import sys

from tests import draft_readings
from tests.speed_readings import counts, ranges, table
from tests.speed_readings.constants import constants_toml

if __name__ == "__main__":
    if "--constants" in sys.argv[1:]:
        print(constants_toml())
    else:
        print("\n".join([*table.table(), "", *ranges.table(), "", *draft_readings.table(), "", *counts.table()]))
