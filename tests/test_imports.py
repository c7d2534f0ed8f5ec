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
    (
        "planner.addresses",
        "planner.csv_rows",
        "planner.export",
        "planner.paging",
        "planner.printable",
        "planner.records",
        "planner.search",
        "planner.spelled_names",
    ),
    (
        "planner.errors",
        "planner.line_item",
    ),
    (
        "planner.borders",
        "planner.preset_files",
        "planner.toml_tables",
        "planner.known_checkpoints",
        "planner.units",
    ),
    (
        "planner.bandwidth",
        "planner.formats",
        "planner.logs",
        "planner.measurements",
        "planner.ollama_tags",
        "planner.settings",
    ),
    (
        "planner.architecture",
        "planner.calibration",
        "planner.draft_settings",
        "planner.format_presets",
    ),
    (
        "planner.draft",
        "planner.gguf_mixes",
        "planner.kv_cache",
        "planner.readers",
    ),
    ("planner.deployment",),
    (
        "planner.machines",
        "planner.multiply_accumulates",
        "planner.presets",
        "planner.shares",
    ),
    ("planner.weights",),
    ("planner.engines",),
    (
        "planner.at_once",
        "planner.draft_items",
    ),
    ("planner.rank_budget",),
    ("planner.rank_items",),
    ("planner.budget",),
    (
        "planner.capacity",
        "planner.deciding",
    ),
    ("planner.longest",),
    (
        "planner.answers",
        "planner.batching",
        "planner.frontier",
        "planner.speculation",
    ),
    (
        "planner.cache_comparison",
        "planner.speed",
    ),
    ("planner.energy",),
    ("planner.cost",),
    (
        "planner.catalogue",
        "planner.cost_sweep",
    ),
    (
        "planner.inputs",
        "planner.tried_formats",
    ),
    (
        "planner.check",
        "planner.fit",
        "planner.launch",
        "planner.listings",
        "planner.paced",
        "planner.pulled_file",
        "planner.spread",
        "planner.tuning",
    ),
    (
        "planner.advice",
        "planner.draft_trade",
        "planner.serving",
    ),
    (
        "planner.finding",
        "planner.startups",
    ),
    (
        "planner.engine_comparison",
        "planner.starting",
    ),
    ("planner.text",),
    ("planner.commands",),
    (
        "planner",
        "planner.cli",
        "planner.__main__",
    ),
    (
        "measure",
        "ui",
    ),
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
    assert not [user for user in using if user.startswith("ui.charts.")]
    assert not using & {"ui.tables.html", "ui.tables.items", "ui.form", "ui.address"}


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
