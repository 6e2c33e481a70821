"""What is not needed at the start is not loaded at the start: heavy libraries cost a tenth of a second each."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

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


def loaded(program: str, environ: dict[str, str] | None = None) -> set[str]:
    """The heavy libraries that a process has loaded after this program."""
    said = f"{program}\nimport sys\nprint(*sys.modules, sep='\\n', file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", said], capture_output=True, text=True, env=environ, timeout=60)
    assert done.returncode == 0, done.stderr
    return {name.partition(".")[0] for name in done.stderr.split("\n")} & HEAVY


@pytest.mark.parametrize(
    ("module", "may"),
    [
        ("fcreview.cli.app", set()),
        ("fcreview.importers.registry", set()),
        ("fcreview.store.workspace", set()),
        ("fcreview.cli.commands.open", {"typer"}),
        ("fcreview.tui.app", {"textual", "rich"}),
    ],
)
def test_a_module_that_comes_first_loads_little(module: str, may: set[str]) -> None:
    assert loaded(f"import {module}") <= may


@pytest.mark.sweep
def test_a_command_without_a_screen_loads_no_screens(one_run: Path, environ: dict[str, str]) -> None:
    items = f"from fcreview.cli.app import run\nassert run(['items', {str(one_run)!r}]) == 0"
    assert {"textual", "rich", "numpy", "pydantic"} & loaded(items, environ) == set()
