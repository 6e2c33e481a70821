"""`--where @name`: a filter that the annotator saved in the app."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fcreview.store.filters.saved import save_filter
from fcreview.store.workspace import AnnotatorState

Cli = Callable[..., Any]


@pytest.fixture
def kept(cli: Cli, two_imported_runs: Path) -> Path:
    assert cli("import", two_imported_runs).code == 0
    save_filter(AnnotatorState(two_imported_runs / ".fcreview", "alice"), "wrong", "official:fail OR error:ast_decoder")
    return two_imported_runs


def test_a_name_stands_for_the_filter_of_that_annotator(cli: Cli, kept: Path) -> None:
    every = ("--annotator", "alice", "--json")
    where = "(official:fail OR error:ast_decoder) model:maple"
    named = cli("items", kept, *every, "--where", "@wrong model:maple")
    assert named.code == 0, named.err
    assert named.objects == cli("items", kept, *every, "--where", where).objects != []
    assert cli("triage", kept, *every, "--where", "@wrong").objects != []
    other = cli("items", kept, "--annotator", "bob", "--where", "@wrong")
    assert other.code == 2 and "no saved filter @wrong (saved filters: none)" in other.err
    said = other.err.splitlines()
    assert said[2].index("^") == said[1].index("@wrong")


def test_one_that_is_no_longer_understood_says_why(cli: Cli, kept: Path) -> None:
    (kept / ".fcreview" / "filters" / "alice.json").write_text('{"old": "colour:red"}')
    done = cli("items", kept, "--annotator", "alice", "--where", "stale @old")
    assert done.code == 2 and "@old: unknown key colour" in done.err
