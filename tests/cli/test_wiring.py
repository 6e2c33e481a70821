"""What the screens are lent: the report as the command prints it, and exports that write benchmarks' own files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fcreview.cli.wiring import build_screen_services
from fcreview.cli.workspace import WorkspaceOptions, open_workspace
from fcreview.errors import FcreviewError
from fcreview.store.rows import View
from fcreview.store.store import Store, StoreError
from fcreview.tui.exports import ExportRequest, write_export

Cli = Callable[..., Any]


def test_the_report_is_what_the_command_prints(cli: Cli, two_known_runs: Path) -> None:
    printed = cli("report", two_known_runs).out
    with open_workspace(WorkspaceOptions([two_known_runs])) as session, Store.open(session.workspace, "alice") as store:
        report = build_screen_services(session).format_report
        assert report(store, (), lambda: False).split() == printed.split() != []
        one = report(store, (2,), lambda: False)
        assert "run 2 " in one and "run 1 " not in one
        assert report(store, (), lambda: True) == ""


def test_who_is_blind_gets_none(two_known_runs: Path) -> None:
    with (
        open_workspace(WorkspaceOptions([two_known_runs])) as session,
        Store.open(session.workspace, "alice", blind=True) as store,
    ):
        with pytest.raises(StoreError, match="blind"):
            build_screen_services(session).format_report(store, (), lambda: False)
        with pytest.raises(StoreError, match="blind"):
            write_export(store, ExportRequest("jsonl", str(two_known_runs / "out.jsonl"), View()), None)
    assert not (two_known_runs / "out.jsonl").exists()


def test_whole_runs_are_written_whatever_is_shown(two_known_runs: Path, tmp_path: Path, capsys: Any) -> None:
    out = tmp_path / "native"
    with open_workspace(WorkspaceOptions([two_known_runs])) as session, Store.open(session.workspace, "alice") as store:
        said = write_export(
            store, ExportRequest("native", str(out), View("id:nothing")), build_screen_services(session)
        )
        assert "(whole runs) in" in said
        with pytest.raises(FcreviewError, match="is not empty"):
            write_export(store, ExportRequest("native", str(out), View()), build_screen_services(session))
        with pytest.raises(FcreviewError, match="cannot export to the terminal"):
            write_export(store, ExportRequest("jsonl", "-", View()), None)
    assert [path for path in out.rglob("*") if path.is_file()]
    assert capsys.readouterr() == ("", ""), "the screen would be written over"
