"""Pictures as files, drawn last and in a process of their own: what draws ends its process where memory is short."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
SECONDS = 120


def draw(charts: Mapping[Path, Mapping[str, Any]]) -> str:
    """Draws each Vega-Lite chart into its file; the sentence that says why that failed, else nothing."""
    if not charts:
        return ""
    asked = json.dumps({str(file.resolve()): chart for file, chart in charts.items()})
    command = [sys.executable, "-m", "measure.drawing"]
    try:
        ended = subprocess.run(
            command, input=asked, cwd=ROOT, capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"The pictures were not drawn: {error}."
    if ended.returncode == 0:
        return ""
    said = next(reversed(ended.stderr.strip().splitlines()), f"exit code {ended.returncode}")
    return f"The pictures were not drawn, for which memory may be short: {said.rstrip('.')}."


def main() -> None:
    """Draws what stands on stdin, as *draw* writes it."""
    import altair as alt

    from measure.pictures import save

    for file, chart in json.loads(sys.stdin.read()).items():
        save(alt.Chart.from_dict(chart), Path(file))


if __name__ == "__main__":
    main()
