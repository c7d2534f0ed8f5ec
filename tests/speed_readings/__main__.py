"""Public measurements of speed against the model, with ``--constants`` presets/speed.toml's tables."""

import sys

from tests import draft_readings
from tests.speed_readings import counts, far_off, ranges, table
from tests.speed_readings.constants import constants_toml

if __name__ == "__main__":
    if "--constants" in sys.argv[1:]:
        print(constants_toml())
    else:
        tables = (part.table() for part in (table, ranges, far_off, draft_readings, counts))
        print("\n\n".join("\n".join(lines) for lines in tables))
