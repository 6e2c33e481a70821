"""`fcreview` and `fcreview open` without a path open the current folder, and the mouse can be left to
the terminal.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fcreview.cli.commands import add_default_command
from fcreview.cli.recent_workspaces import (
    MAX_RECENT_FOLDERS,
    list_recent_workspaces,
    record_recent_workspace,
)
from tests.faults.pty_program import TerminalApp

MOUSE_ON = b"\x1b[?1000h"
Cli = Callable[..., Any]


@pytest.fixture
def state_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "fcreview"


def make_workspace(folder: Path) -> Path:
    (folder / ".fcreview").mkdir(parents=True)
    return folder


def test_recent_workspaces_are_listed_once_the_latest_first(
    state_folder: Path, tmp_path: Path
) -> None:
    folders = [make_workspace(tmp_path / str(number)) for number in range(MAX_RECENT_FOLDERS + 2)]
    for folder in folders:
        record_recent_workspace(folder)
    record_recent_workspace(folders[5])
    (folders[6] / ".fcreview").rmdir()
    recent = list_recent_workspaces()
    assert recent[:2] == [folders[5], folders[-1]]
    assert len(recent) == MAX_RECENT_FOLDERS - 1 and folders[6] not in recent


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"folders": 3}', '{"folders": [1, "a\\u0000"]}']
)
def test_damaged_list_of_recent_workspaces_is_empty(state_folder: Path, content: str) -> None:
    state_folder.mkdir(parents=True)
    (state_folder / "recent.json").write_text(content)
    assert list_recent_workspaces() == []


def test_without_a_terminal_no_arguments_show_the_help(
    one_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(make_workspace(one_run))
    assert add_default_command([]) == ["--help"]


def test_open_without_a_path_opens_the_current_folder(
    one_run: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(one_run)
    assert "simple_python_1" in cli("open").out


@pytest.mark.process
@pytest.mark.sweep
def test_program_alone_opens_the_workspace_of_the_folder(
    one_run: Path, environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environ = environ | {"XDG_STATE_HOME": str(tmp_path / "state")}
    monkeypatch.chdir(one_run)
    with TerminalApp(["open"], environ) as app:
        app.until("enter open")
        assert MOUSE_ON in app.bytes
        app.type("\x11")
        assert app.wait() == 0
    (one_run / "deep").mkdir()
    monkeypatch.chdir(one_run / "deep")
    with TerminalApp([], environ) as app:
        app.until("enter open")
        app.type("\x11")
        assert app.wait() == 0
    monkeypatch.chdir(tmp_path)
    with TerminalApp([], environ) as app:
        assert app.wait() == 0
        assert f"fcreview open {one_run}" in app.text().replace("\n", "")
    assert json.loads((tmp_path / "state/fcreview/recent.json").read_text())["folders"]


@pytest.mark.process
@pytest.mark.sweep
@pytest.mark.parametrize("way", ["option", "setting"])
def test_mouse_is_left_to_the_terminal(
    one_run: Path, environ: dict[str, str], tmp_path: Path, way: str
) -> None:
    config = tmp_path / "config.toml"
    config.write_text("mouse = false\n" if way == "setting" else "")
    arguments = ["open", one_run, *(["--no-mouse"] if way == "option" else [])]
    with TerminalApp(arguments, environ | {"FCREVIEW_CONFIG": str(config)}) as app:
        app.until("enter open")
        app.type("\x11")
        assert app.wait() == 0
        assert MOUSE_ON not in app.bytes
