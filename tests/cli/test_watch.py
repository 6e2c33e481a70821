"""`FileWatcher` finds changed files and imports them in a separate process."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

import pytest

from fcreview.cli.options import WorkspaceOptions
from fcreview.cli.watch import FileWatcher
from fcreview.store.rows import ImportChanges, View
from fcreview.store.store import Store
from fcreview.store.workspace import Workspace
from fcreview.tui.live_reload import ReloadError, ReloadResult
from tests.commands import environment, run_in_this_process
from tests.faults.processes import processes_with
from tests.waiting import until

RUN = "result/maple-8b"
SIMPLE = f"{RUN}/non_live/BFCL_v4_simple_python_result.json"
SCORE = "score/maple-8b/non_live/BFCL_v4_simple_python_score.json"
LINE = (
    '{"id": "simple_python_%s", "result": "[alarm.set(time=3)]", "input_token_count": 1,'
    ' "output_token_count": 1}\n'
)


@pytest.fixture
def place(samples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the BFCL sample runs, with one imported run."""
    monkeypatch.setenv("HOME", str(tmp_path))
    place = shutil.copytree(samples / "bfcl", tmp_path / "bfcl")
    assert run_in_this_process(["import", place / RUN], tmp_path, environment(tmp_path)).code == 0
    return place


@pytest.fixture
def watcher(place: Path) -> FileWatcher:
    return FileWatcher(WorkspaceOptions([place / RUN]), 0.1)


def append(file: Path, text: str) -> None:
    with file.open("a") as stream:
        stream.write(text)


def open_store(place: Path) -> Store:
    return Store.open(Workspace(place / RUN / ".fcreview"), "alice")


def test_import_causes_no_change(watcher: FileWatcher) -> None:
    """Files of the workspace do not count as changes."""
    assert [watcher.has_changed_files() for _ in range(3)] == [False, False, False]
    assert watcher.import_changes().changes.summary == ""
    assert not watcher.has_changed_files()


def test_import_follows_runs_opened_without_scores(place: Path) -> None:
    watcher = FileWatcher(WorkspaceOptions([place / RUN], score=[Path("none")]), 0.1)
    append(place / SIMPLE, LINE % "follow")

    assert watcher.has_changed_files()
    assert watcher.import_changes().changes == ImportChanges(new=1, changed=0, gone=0)


def test_appended_lines_are_new_items(place: Path, watcher: FileWatcher) -> None:
    append(place / SIMPLE, LINE % 71 + LINE % 72)
    assert watcher.has_changed_files()
    assert not watcher.has_changed_files()
    result = watcher.import_changes()
    assert (result.changes, result.changes.summary, result.runs) == (
        ImportChanges(new=2),
        "2 new items",
        (),
    )
    assert not watcher.has_changed_files()
    with open_store(place) as now:
        assert now.count_items(View("id:simple_python_71,simple_python_72")) == 2


@pytest.mark.sweep
@pytest.mark.process
def test_incomplete_line_is_issue_until_complete(place: Path, watcher: FileWatcher) -> None:
    whole = LINE % 71
    append(place / SIMPLE, whole[:40])
    assert watcher.has_changed_files()
    assert watcher.import_changes().changes == ImportChanges()
    with open_store(place) as now:
        assert any("cut off" in issue.what for issue in now.fetch_issues())
    append(place / SIMPLE, whole[40:])
    assert watcher.has_changed_files()
    assert watcher.import_changes().changes == ImportChanges(new=1)
    with open_store(place) as now:
        assert not any("cut off" in issue.what for issue in now.fetch_issues())


@pytest.mark.sweep
def test_truncated_and_deleted_files_remove_items(place: Path, watcher: FileWatcher) -> None:
    shutil.rmtree(place / "score")  # items in a score file are kept without a result
    assert watcher.has_changed_files()
    watcher.import_changes()
    lines = (place / SIMPLE).read_text().splitlines(keepends=True)
    (place / SIMPLE).write_text("".join(lines[:2]) + lines[2][:30])
    assert watcher.has_changed_files()
    assert watcher.import_changes().changes == ImportChanges(gone=len(lines) - 2)
    (place / SIMPLE).unlink()
    assert watcher.has_changed_files()
    assert watcher.import_changes().changes == ImportChanges(gone=2)
    (place / SIMPLE).write_text("".join(lines))
    assert watcher.has_changed_files()
    assert watcher.import_changes().changes == ImportChanges(new=len(lines))


def test_changed_answers_and_scores_are_followed(place: Path, watcher: FileWatcher) -> None:
    text = (place / SIMPLE).read_text()
    (place / SIMPLE).write_text(text.replace("annual_rate", "rate_of_a_year"))
    assert watcher.has_changed_files()
    assert watcher.import_changes().changes.summary == "1 changed item"
    (place / SCORE).unlink()
    assert watcher.has_changed_files()
    assert watcher.import_changes().changes == ImportChanges()
    with open_store(place) as now:
        assert now.count_items(View("category:simple_python official:fail")) == 0


def test_failed_import_is_reported_and_repeated(
    place: Path, watcher: FileWatcher, tmp_path: Path
) -> None:
    away = tmp_path / "away"
    (place / RUN / "non_live").rename(away)
    for folder in ("live", "multi_turn", "agentic", "format_sensitivity"):
        shutil.rmtree(place / RUN / folder)
    database = place / RUN / ".fcreview" / "store.duckdb"
    before = database.read_bytes()
    database.write_bytes(b"no database")
    assert watcher.has_changed_files()
    with pytest.raises(ReloadError):
        watcher.import_changes()
    database.write_bytes(before)
    away.rename(place / RUN / "non_live")
    assert watcher.has_changed_files()
    assert watcher.import_changes().changes.gone > 0


def test_new_run_joins_opened_runs(place: Path, tmp_path: Path) -> None:
    away = tmp_path / "away"
    (place / "result" / "maple-8b-FC").rename(away)
    workspace = tmp_path / "kept"
    words = ["import", place / "result", "--workspace", workspace]
    assert run_in_this_process(words, tmp_path, environment(tmp_path)).code == 0
    watcher = FileWatcher(WorkspaceOptions([place / "result"], workspace=workspace), 0.1)
    watcher.runs = (1,)
    assert not watcher.has_changed_files()
    away.rename(place / "result" / "maple-8b-FC")
    assert watcher.has_changed_files()
    result = watcher.import_changes()
    assert (result.previous_runs, result.runs) == ((1,), (1, 2))
    assert result.changes.new > 0 and result.changes.gone == result.changes.changed == 0


def test_close_ends_running_import(place: Path, watcher: FileWatcher) -> None:
    lines = (place / SIMPLE).read_text()
    append(place / SIMPLE, lines * (8_000_000 // len(lines)))
    results: list[ReloadResult | ReloadError] = []

    def import_changes() -> None:
        try:
            results.append(watcher.import_changes())
        except ReloadError as error:
            results.append(error)

    thread = threading.Thread(target=import_changes)
    thread.start()
    until(lambda: bool(list((place / RUN / ".fcreview").glob("tmp/*"))))
    watcher.close()
    thread.join(20)
    assert len(results) == 1 and isinstance(results[0], ReloadError)
    until(lambda: not processes_with(str(place / RUN)), 5)
    left = {
        each.name
        for each in (place / RUN / ".fcreview").iterdir()
        if "tmp" in each.name and any(each.iterdir())
    }
    assert not left
    with open_store(place) as now:
        assert now.count_items(View("category:simple_python")) == len(lines.splitlines())
