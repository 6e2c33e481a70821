"""Heavy libraries are imported only when needed, because each takes a tenth of a second."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.process
HEAVY = {
    "aiohttp",
    "duckdb",
    "numpy",
    "pydantic",
    "rich",
    "textual",
    "textual_serve",
    "tree_sitter",
    "tree_sitter_java",
    "tree_sitter_javascript",
    "typer",
}


def heavy_imports(program: str, environ: dict[str, str] | None = None) -> set[str]:
    """Return the heavy libraries that this program imports."""
    return {name.partition(".")[0] for name in list_imports(program, environ)} & HEAVY


def list_imports(program: str, environ: dict[str, str] | None = None) -> list[str]:
    """Return the names of all modules that this program imports."""
    code = f"{program}\nimport sys\nprint(*sys.modules, sep='\\n', file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environ, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stderr.split("\n")


@pytest.mark.parametrize(
    ("module", "may"),
    [
        ("fcreview.cli.main", set()),
        ("fcreview.importers.registry", set()),
        ("fcreview.store.workspace", set()),
        ("fcreview.cli.commands.open", {"typer"}),
        ("fcreview.tui.app", {"textual", "rich"}),
    ],
)
def test_first_modules_import_no_heavy_libraries(module: str, may: set[str]) -> None:
    assert heavy_imports(f"import {module}") <= may


def test_reader_of_inspect_logs_imports_no_rules_of_other_benchmarks() -> None:
    """Only logs of BFCL and tau2-bench need them."""
    imports = list_imports("import fcreview.importers.inspect.read")
    assert "fcreview.importers.inspect.read" in imports
    rules = ("fcreview.importers.bfcl.checker", "fcreview.importers.tau.checker")
    assert not [name for name in imports if name.startswith(rules)]


@pytest.mark.sweep
def test_command_without_screen_imports_no_textual(one_run: Path, environ: dict[str, str]) -> None:
    items = (
        "from fcreview.cli.main import run_command_line\nassert run_command_line(['items',"
        f" {str(one_run)!r}]) == 0"
    )
    assert {"textual", "rich", "numpy", "pydantic"} & heavy_imports(items, environ) == set()


def test_ctrl_c_has_its_default_effect_before_anything_is_imported() -> None:
    """Each import of another module would be a moment at which Ctrl-C prints a traceback."""
    code = f"""
import sys, _signal
sys.path.insert(0, {str(ROOT)!r})

class Imports:
    def find_spec(self, name, path=None, target=None):
        is_default = _signal.getsignal(_signal.SIGINT) == _signal.SIG_DFL
        print(name, is_default, file=sys.stderr)

sys.meta_path.insert(0, Imports())
from fcreview.cli import app
app()
"""
    done = subprocess.run(
        [sys.executable, "-S", "-c", code, "--version"], capture_output=True, text=True, timeout=60
    )
    imports = done.stderr.splitlines()
    assert imports[:2] == ["fcreview False", "fcreview.cli False"]
    assert "fcreview.cli.main True" in imports
    assert [line for line in imports[2:] if line.endswith(" False")] == []
