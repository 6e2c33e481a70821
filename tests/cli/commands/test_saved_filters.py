"""`--where @name` uses a filter that the annotator saved in the app."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fcreview.store.filters.saved import AnnotatorFilters
from fcreview.store.workspace import AnnotatorState

Cli = Callable[..., Any]


@pytest.fixture
def run_with_filter(cli: Cli, two_imported_runs: Path) -> Path:
    assert cli("import", two_imported_runs).code == 0
    AnnotatorFilters(AnnotatorState(two_imported_runs / ".fcreview", "alice")).save_filter(
        "wrong", "official:fail OR error:ast_decoder"
    )
    return two_imported_runs


def test_name_selects_filter_of_annotator(cli: Cli, run_with_filter: Path) -> None:
    every = ("--annotator", "alice", "--json")
    where = "(official:fail OR error:ast_decoder) model:maple"
    named = cli("items", run_with_filter, *every, "--where", "@wrong model:maple")
    assert named.code == 0, named.err
    assert named.objects == cli("items", run_with_filter, *every, "--where", where).objects != []
    assert cli("triage", run_with_filter, *every, "--where", "@wrong").objects != []
    other = cli("items", run_with_filter, "--annotator", "bob", "--where", "@wrong")
    assert other.code == 2 and "no saved filter @wrong (saved: none)" in other.err
    lines = other.err.splitlines()
    assert lines[2].index("^") == lines[1].index("@wrong")


def test_outdated_filter_is_reported(cli: Cli, run_with_filter: Path) -> None:
    (run_with_filter / ".fcreview" / "filters" / "alice.json").write_text('{"old": "colour:red"}')
    done = cli("items", run_with_filter, "--annotator", "alice", "--where", "stale @old")
    assert done.code == 2 and "@old: unknown key colour" in done.err
