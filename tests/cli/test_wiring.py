"""Reports and exports from the screens are those of the commands."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fcreview.cli.options import WorkspaceOptions
from fcreview.cli.wiring import build_report_services
from fcreview.cli.workspace_import import open_workspace
from fcreview.errors import FcreviewError
from fcreview.store.rows import View
from fcreview.store.store import Store, StoreError
from fcreview.tui.commands import ExportRequest, export_and_summarize
from fcreview.tui.figure_scope import make_scope

Cli = Callable[..., Any]


def test_report_is_that_of_command(cli: Cli, two_imported_runs: Path) -> None:
    printed = cli("report", two_imported_runs).out
    with (
        open_workspace(WorkspaceOptions([two_imported_runs])) as session,
        Store.open(session.workspace, "alice") as store,
    ):
        report = build_report_services(session).format_report
        assert report(store, (), lambda: False).split() == printed.split() != []
        one = report(store, (2,), lambda: False)
        assert "run 2 " in one and "run 1 " not in one
        assert report(store, (), lambda: True) == ""


def test_blind_annotator_gets_no_report_or_export(two_imported_runs: Path) -> None:
    with (
        open_workspace(WorkspaceOptions([two_imported_runs])) as session,
        Store.open(session.workspace, "alice", blind=True) as store,
    ):
        with pytest.raises(StoreError, match="blind"):
            build_report_services(session).format_report(store, (), lambda: False)
        with pytest.raises(StoreError, match="blind"):
            export_and_summarize(
                store,
                ExportRequest("jsonl", str(two_imported_runs / "out.jsonl"), make_scope(View())),
                None,
            )
    assert not (two_imported_runs / "out.jsonl").exists()


def test_native_export_writes_whole_runs(
    two_imported_runs: Path, tmp_path: Path, capsys: Any
) -> None:
    out = tmp_path / "native"
    with (
        open_workspace(WorkspaceOptions([two_imported_runs])) as session,
        Store.open(session.workspace, "alice") as store,
    ):
        message = export_and_summarize(
            store,
            ExportRequest("native", str(out), make_scope(View("id:nothing"))),
            build_report_services(session),
        )
        assert "(whole runs) in" in message
        with pytest.raises(FcreviewError, match="is not empty"):
            export_and_summarize(
                store,
                ExportRequest("native", str(out), make_scope(View())),
                build_report_services(session),
            )
        with pytest.raises(FcreviewError, match="cannot export to the terminal"):
            export_and_summarize(store, ExportRequest("jsonl", "-", make_scope(View())), None)
    assert [path for path in out.rglob("*") if path.is_file()]
    assert capsys.readouterr() == ("", ""), "the screen would be written over"
