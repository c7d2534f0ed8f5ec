"""One call of the command: which cases are run, in which order, and what is written when an experiment is through."""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from measure.chapter import chapter_markdown
from measure.conditions import conditions
from measure.drawing import draw
from measure.effects import effects_markdown
from measure.experiments import EXPERIMENTS, find_experiment
from measure.experiments.base import Experiment, Report, Table
from measure.free_memory import memory_reader
from measure.instruments import find_instrument
from measure.lock import only_one
from measure.options import setup_for
from measure.progress import watcher
from measure.records import Case, Outcome, Record, make_folder
from measure.results import RESULTS
from measure.rows import NO_READING, TIMED, busy_words
from measure.runner import run_cases
from measure.setup import Setup
from measure.tables import markdown_table, text_table
from planner.errors import BadFile, PlannerError
from planner.export import to_csv, to_json
from planner.units import counted, shorten_path

SHOWN_ROWS = 40
"""Of a longer table the terminal shows the first ones; its files have all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One experiment's report and its records. *not_drawn* says why its pictures are not there."""

    name: str
    report: Report
    records: tuple[Record, ...]
    files: tuple[Path, ...] = ()
    not_drawn: str = ""

    @property
    def is_complete(self) -> bool:
        return all(record.outcome is Outcome.MEASURED for record in self.records)

    def plain(self) -> dict[str, Any]:
        """As JSON; the picture is a file."""
        return {
            "experiment": self.name,
            "title": EXPERIMENTS[self.name],
            "lesson": self.report.lesson,
            "disagreements": self.report.disagreements,
            "tables": [{"name": table.name, "rows": table.rows} for table in self.report.tables],
            "without_reading": [
                {"case": record.case, "outcome": record.outcome, "reason": record.reason}
                for record in self.records
                if record.outcome is not Outcome.MEASURED
            ],
            "conditions": self.records[0].conditions if self.records else {},
            "files": [str(file) for file in self.files],
            "not_drawn": self.not_drawn,
        }

    def shown(self) -> dict[str, Any]:
        """As JSON for a page, each picture as Vega-Lite beside its table."""
        charts = [
            None if table.chart is None or not table.rows else table.chart.to_dict() for table in self.report.tables
        ]
        plain = self.plain()
        tables = [table | {"chart": chart} for table, chart in zip(plain["tables"], charts, strict=True)]
        return plain | {
            "tables": tables,
            "date": max((record.date for record in self.records), default=""),
            "seconds": round(sum(record.seconds for record in self.records)),
        }

    def text(self) -> str:
        """The table, what disagreed or gave no reading, and last the sentence."""
        lines = [self.name, ""]
        for table in self.report.tables:
            lines += [text_table(table.rows[:SHOWN_ROWS])]
            lines += [f"… and {len(table.rows) - SHOWN_ROWS:,} more" if len(table.rows) > SHOWN_ROWS else "", ""]
        lines += [f"Disagrees: {sentence}" for sentence in self.report.disagreements]
        for record in self.records:
            if record.outcome is not Outcome.MEASURED:
                lines.append(f"{record.case}: {record.outcome.replace('_', ' ')}. {record.why}")
        return "\n".join([*lines, *filter(None, [self.not_drawn]), self.report.lesson])


class Session:
    """Measures with one *setup* into one folder."""

    def __init__(self, setup: Setup, output: Path, progress: str = "none", again: bool = False) -> None:
        self._setup, self._output, self._progress, self._again = setup, output, progress, again

    def measure(self, names: Sequence[str]) -> list[Result]:
        """Runs the experiments called *names*; raises PlannerError, also when another measurement runs."""
        instrument = find_instrument(self._setup.device)
        memory = memory_reader(instrument, self._setup)
        cases, refused = self._cases(names)
        make_folder(self._output)
        watching = watcher(self._progress, sum(map(len, cases.values())))
        results = []
        began = datetime.now(UTC).isoformat(timespec="seconds")
        with only_one(), closing(watching):
            for name in names:
                experiment, setup = find_experiment(name), setup_for(name, self._setup, len(names))
                records = run_cases(
                    experiment,
                    cases[name],
                    setup,
                    conditions(setup, instrument),
                    self._output / f"{name}.jsonl",
                    watching,
                    memory=memory,
                    again=self._again,
                )
                try:
                    report = refused.get(name) or with_ends(reported(experiment, records, setup, began), name, records)
                except PlannerError as error:
                    if len(names) == 1:
                        raise
                    report = Report(tables=(), lesson=str(error))
                files = export(name, report, self._output)
                result = Result(name=name, report=report, records=tuple(records), files=files)
                write(self._output / RESULTS / f"{name}.json", to_json(result.shown()) + "\n")
                pictures = picture_files(name, report, self._output)
                said = draw(pictures)
                results.append(replace(result, files=(*files, *([] if said else pictures)), not_drawn=said))
        return results

    def _cases(self, names: Sequence[str]) -> tuple[dict[str, list[Case]], dict[str, Report]]:
        """Each experiment's cases, and the report of each that does not take this model; a single one raises."""
        cases, refused = {}, {}
        for name in names:
            try:
                cases[name] = find_experiment(name).cases(setup_for(name, self._setup, len(names)))
            except PlannerError as error:
                if len(names) == 1:
                    raise
                cases[name], refused[name] = [], Report(tables=(), lesson=f"Not measured: {error}")
        if len(refused) == len(names):
            raise PlannerError(next(iter(refused.values())).lesson)
        return cases, refused

    def markdown(self, results: Sequence[Result]) -> str:
        """The report of all *results* on this machine."""
        stated = conditions(self._setup, find_instrument(self._setup.device))
        return report_markdown(results, stated, effects_markdown(self._output), chapter_markdown(self._output))


def reported(experiment: Experiment, records: Sequence[Record], setup: Setup, began: str) -> Report:
    """The report of *records*; raises PlannerError where one from before *began* lacks what is read from its rows."""
    try:
        return experiment.report(records, setup)
    except NO_READING as error:
        old = next((record for record in records if record.date < began), None)
        if old is None:
            raise
        raise PlannerError(
            f"What is kept of {old.experiment} from {old.date[:10]} has not all that is read from it now: measure it "
            "with --again."
        ) from error


def with_ends(report: Report, name: str, records: Sequence[Record]) -> Report:
    """*report* with how many cases gave no reading, and whether other programs ran beside its times."""
    if records and not any(record.rows for record in records):
        return replace(report, lesson="No case gave a reading.")
    lesson = report.lesson
    if without := sum(record.outcome is not Outcome.MEASURED for record in records):
        lesson += f" {without} of {counted(len(records), 'case')} gave no reading."
    if name in TIMED and (busy := busy_words(records)):
        lesson = f"{lesson.removesuffix('.')}{busy}."
    return replace(report, lesson=lesson)


def report_markdown(results: Sequence[Result], conditions: dict[str, Any], *sections: str) -> str:
    """One document of all *results*: conditions, *sections*, then sentence, disagreements, picture, table of each."""
    lines = ["# What this machine measured", ""]
    lines += [f"* {key}: {value}" for key, value in conditions.items() if value not in ("", None)]
    lines += [line for section in sections for line in ("", section)]
    for result in results:
        lines += ["", f"## {result.name}", "", result.report.lesson, ""]
        lines += [f"* Disagrees: {sentence}" for sentence in result.report.disagreements]
        lines += [
            f"* {record.case}: {record.outcome.replace('_', ' ')}. {record.why}"
            for record in result.records
            if record.outcome is not Outcome.MEASURED
        ]
        for table in result.report.tables:
            stem = f"{result.name}-{table.name}" if table.name else result.name
            lines += ["", f"![{stem}]({stem}.png)"] if table.chart is not None and table.rows else []
            lines += ["", markdown_table(table.rows[:SHOWN_ROWS])]
    return "\n".join(lines) + "\n"


def write(file: Path, text: str) -> None:
    """*text* as a file, its folder made; raises PlannerError where it cannot be written."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise BadFile(f"{shorten_path(file)} cannot be written: {error.strerror or error}.") from error


def export(name: str, report: Report, folder: Path) -> tuple[Path, ...]:
    """Writes each table as CSV, Markdown and JSON."""
    files = []
    for table in report.tables:
        stem = stem_of(name, table, folder)
        texts = {".csv": to_csv(table.rows), ".md": f"{markdown_table(table.rows)}\n{report.lesson}\n"}
        texts[".json"] = to_json({"lesson": report.lesson, "rows": table.rows}) + "\n"
        for suffix, text in texts.items():
            files.append(stem.with_suffix(suffix))
            write(files[-1], text)
    return tuple(files)


def picture_files(name: str, report: Report, folder: Path) -> dict[Path, dict[str, Any]]:
    """The chart of each picture as Vega-Lite, by its file: PNG and SVG of every table that has one."""
    found = {}
    for table in report.tables:
        if table.chart is not None and table.rows:
            chart = table.chart.to_dict()
            found |= {stem_of(name, table, folder).with_suffix(suffix): chart for suffix in (".png", ".svg")}
    return found


def stem_of(name: str, table: Table, folder: Path) -> Path:
    return folder / (f"{name}-{table.name}" if table.name else name)
