"""Imports run one way, and a plan costs nothing but the standard library."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

# From the bottom up. A module imports from its own row and from the rows above it here, never from a row below;
# a package stands for all its modules. A new module gets a place here first.
LAYERS = (
    ("planner.addresses", "planner.printable", "planner.spelled_names"),
    ("planner.units", "planner.errors", "planner.records"),
    ("planner.bandwidth", "planner.engine_versions"),
    ("planner.borders", "planner.csv_rows", "planner.engine_setting", "planner.line_item", "planner.formats"),
    ("planner.engine_data",),
    ("planner.engine_file",),
    ("planner.architecture",),
    ("planner.logs",),
    ("planner.measurements",),
    ("planner.calibration", "planner.draft"),
    ("planner.deployment",),
    ("planner.readers",),
    ("planner.machines", "planner.shares"),
    ("planner.gguf_mixes", "planner.kv_cache", "planner.weights"),
    ("planner.engines",),
    ("planner.at_once", "planner.draft_items", "planner.draft_settings"),
    ("planner.rank_budget",),
    ("planner.rank_items",),
    ("planner.budget",),
    ("planner.capacity", "planner.deciding", "planner.multiply_accumulates"),
    (
        "planner.batching",
        "planner.cost",
        "planner.cost_sweep",
        "planner.energy",
        "planner.frontier",
        "planner.paging",
        "planner.speculation",
        "planner.speed",
    ),
    ("planner.answer", "planner.export", "planner.inspection", "planner.naive"),
    ("planner.answer_figures", "planner.card", "planner.explain"),
    ("planner.answer_words",),
    ("planner.verdict",),
    ("planner.cache_words", "planner.layer_kinds"),
    ("planner.ollama_tags", "planner.preset_files", "planner.toml_tables"),
    ("planner.format_presets",),
    ("planner.presets",),
    (
        "planner.downloads",
        "planner.library_names",
        "planner.links",
        "planner.performance_presets",
        "planner.model_facts",
        "planner.quality",
        "planner.second_sources",
    ),
    ("planner.published_drafts", "planner.checkpoint_ids", "planner.native_files"),
    ("planner.model_files", "planner.profile_checks"),
    ("planner.profile_files",),
    ("planner.custom", "planner.uploads"),
    ("planner.check", "planner.format_choices", "planner.listings", "planner.named_cards"),
    ("planner.choices",),
    ("planner.launch", "planner.log_model", "planner.log_prediction", "planner.log_profile", "planner.paced"),
    ("planner.fit", "planner.log_cards"),
    ("planner.log_lacks",),
    ("planner.log_choices",),
    (
        "planner.log_buffers",
        "planner.log_pools",
    ),
    ("planner.log_comparison",),
    ("planner.log_doubts",),
    ("planner.tuning",),
    ("planner.tried_formats",),
    (
        "planner.advice",
        "planner.bands",
        "planner.draft_trade",
        "planner.picks",
        "planner.table",
        "planner.price_files",
        "planner.server_shape",
        "planner.which",
        "planner.which_rows",
    ),
    ("planner.served", "planner.serving_question"),
    ("planner.serving",),
    ("planner.offers",),
    ("planner.fewest_cards", "planner.rate_offers"),
    ("planner.log_shortage", "planner.log_try"),
    ("planner.larger_shares", "planner.log_spill", "planner.printed_figures"),
    ("planner.printed_buffers", "planner.printed_pools"),
    (
        "planner.cache_comparison",
        "planner.spread",
        "planner.printed_changes",
        "planner.pulled_file",
        "planner.starting",
        "planner.would_start",
    ),
    ("planner.engine_comparison",),
    ("planner.log_report",),
    ("planner.log_failures",),
    (
        "planner.cache_text",
        "planner.inspection_text",
        "planner.log_words",
        "planner.log_text",
        "planner.table_words",
        "planner.which_text",
    ),
    ("planner.batching_text", "planner.speculation_text", "planner.speed_text"),
    ("planner.cost_text", "planner.queue_text"),
    ("planner.cli_text", "planner.drafting_text", "planner.outcome_text", "planner.performance_text"),
    ("planner.price_text", "planner.serving_text"),
    ("planner.picks_text",),
    ("planner.commands",),
    ("planner", "planner.cli", "planner.__main__"),
    ("measure", "ui"),
    ("app",),
)
RANK = {module: rank for rank, row in enumerate(LAYERS) for module in row}

# What a planner module may import from outside, and only when it is used: inside a function.
ON_USE = {"pydantic", "huggingface_hub", "openpyxl"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """One imported module: ``target`` in full, ``at_start`` when importing ``importer`` runs it."""

    importer: str
    target: str
    line: int
    at_start: bool


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def source_files() -> list[Path]:
    folders = [ROOT / name for name in ("planner", "measure", "ui")]
    return [*(path for folder in folders for path in sorted(folder.rglob("*.py"))), *ROOT.glob("app.py")]


def is_module(name: str) -> bool:
    path = ROOT.joinpath(*name.split("."))
    return path.is_dir() or path.with_suffix(".py").is_file()


def walk(node: ast.AST, at_start: bool = True) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool]]:
    """Every import below ``node``, and whether it runs when the file does."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child, at_start
        elif isinstance(child, ast.If) and ast.unparse(child.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
            yield from walk(child, at_start=False)
        else:
            in_function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            yield from walk(child, at_start and not in_function)


def imports_of(path: Path) -> Iterator[Import]:
    importer = module_name(path)
    for node, at_start in walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        else:
            assert node.level == 0, f"{path}:{node.lineno}: write the import in full"
            assert node.module is not None
            members = [f"{node.module}.{alias.name}" for alias in node.names]
            targets = [member if is_module(member) else node.module for member in members]
        for target in targets:
            yield Import(importer=importer, target=target, line=node.lineno, at_start=at_start)


def rank_of(module: str) -> int:
    """The row of the module, or of the nearest package around it that has one of its own."""
    while module not in RANK:
        parent, dot, _ = module.rpartition(".")
        assert dot, f"{module} has no place in the order of imports"
        assert parent != "planner", f"{module} has no place in the order of imports: give it one in LAYERS"
        module = parent
    return RANK[module]


ALL_IMPORTS = [found for path in source_files() for found in imports_of(path)]
OWN_ROOTS = {module.partition(".")[0] for module in RANK}


@pytest.mark.parametrize("module", sorted({module_name(path) for path in source_files()}))
def test_imports_run_one_way(module: str) -> None:
    upward = [
        f"{module}:{found.line} imports {found.target}"
        for found in ALL_IMPORTS
        if found.importer == module
        and found.target.partition(".")[0] in OWN_ROOTS
        and rank_of(found.target) > rank_of(module)
    ]
    assert not upward


def test_the_planner_is_standard_library_except_on_use() -> None:
    foreign = [
        f"{found.importer}:{found.line} imports {found.target}"
        for found in ALL_IMPORTS
        if found.importer.partition(".")[0] == "planner"
        and (root := found.target.partition(".")[0]) not in sys.stdlib_module_names | {"planner"}
        and (found.at_start or root not in ON_USE)
    ]
    assert not foreign


def test_charts_and_exports_are_made_without_streamlit() -> None:
    using = {found.importer for found in ALL_IMPORTS if found.target.partition(".")[0] == "streamlit"}
    assert not using & {
        "ui.charts",
        "ui.heat_table",
        "ui.cache_charts",
        "ui.html_table",
        "ui.item_table",
        "ui.form",
        "ui.address",
        "ui.cost_charts",
        "ui.draft_charts",
        "ui.draft_map_chart",
        "ui.knee_chart",
        "ui.serving_chart",
        "ui.slots_chart",
        "ui.speed_charts",
    }


def test_the_app_never_imports_torch() -> None:
    torch_users = {
        found.importer for found in ALL_IMPORTS if found.target.partition(".")[0] in ("torch", "transformers")
    }
    assert {importer.partition(".")[0] for importer in torch_users} <= {"measure"}
    assert not [
        found for found in ALL_IMPORTS if found.importer.partition(".")[0] == "ui" and found.target == "measure"
    ]


def test_a_plan_from_presets_imports_the_standard_library_alone() -> None:
    """Not only as written: whatever a plan ends up loading, seen from a fresh interpreter."""
    script = (
        "import sys; before = set(sys.modules); from planner.cli import main; "
        "status = main(['plan', '--model', 'llama-3.1-8b', '--device', 'rtx-4090', '--json']); "
        "roots = {name.partition('.')[0] for name in set(sys.modules) - before}; "
        "print(sorted(roots - set(sys.stdlib_module_names) - {'planner'}), file=sys.stderr); sys.exit(status)"
    )
    run = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (0, "[]\n")


def test_a_plan_imports_no_engine_but_the_one_that_it_names() -> None:
    script = (
        "import sys; from planner.cli import main; "
        "status = main(['plan', '--model', 'llama-3.1-8b', '--device', 'rtx-4090', '--engine', 'lmdeploy', '--json']); "
        "engines = {name.split('.')[2] for name in sys.modules if name.startswith('planner.engines.')}; "
        "print(sorted(engines & {'vllm', 'sglang', 'tensorrt_llm', 'lmdeploy', 'llama_cpp', 'transformers'}), "
        "file=sys.stderr); sys.exit(status)"
    )
    run = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (0, "['lmdeploy']\n")
