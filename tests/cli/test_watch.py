"""Files that change while they are followed, and the process that takes them in."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

import pytest

from fcreview.cli.watch import FileWatcher
from fcreview.cli.workspace import WorkspaceOptions
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
LINE = '{"id": "simple_python_%s", "result": "[alarm.set(time=3)]", "input_token_count": 1, "output_token_count": 1}\n'


@pytest.fixture
def place(samples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """BFCL sample runs of one's own, of which one is opened; its scores and the dataset lie beside it."""
    monkeypatch.setenv("HOME", str(tmp_path))
    place = shutil.copytree(samples / "bfcl", tmp_path / "bfcl")
    assert run_in_this_process(["import", place / RUN], tmp_path, environment(tmp_path)).code == 0
    return place


@pytest.fixture
def watching(place: Path) -> FileWatcher:
    return FileWatcher(WorkspaceOptions([place / RUN]), 0.1)


def append(file: Path, text: str) -> None:
    with file.open("a") as stream:
        stream.write(text)


def store(place: Path) -> Store:
    return Store.open(Workspace(place / RUN / ".fcreview"), "alice")


def test_nothing_changes_by_itself(watching: FileWatcher) -> None:
    """Neither the store that the import writes nor what reviews bring counts."""
    assert [watching.has_changed() for _ in range(3)] == [False, False, False]
    assert watching.import_changes().summary == ""
    assert not watching.has_changed()


def test_lines_that_are_appended_are_new_items(place: Path, watching: FileWatcher) -> None:
    append(place / SIMPLE, LINE % 71 + LINE % 72)
    assert watching.has_changed()
    assert not watching.has_changed()
    taken = watching.import_changes()
    assert (taken.news, taken.summary, taken.runs) == (ImportChanges(new=2), "2 new items", ())
    assert not watching.has_changed()
    with store(place) as now:
        assert now.count_items(View("id:simple_python_71,simple_python_72")) == 2


@pytest.mark.sweep
@pytest.mark.process
def test_half_a_line_is_an_issue_until_it_is_whole(place: Path, watching: FileWatcher) -> None:
    whole = LINE % 71
    append(place / SIMPLE, whole[:40])
    assert watching.has_changed()
    assert watching.import_changes().news == ImportChanges()
    with store(place) as now:
        assert any("cut off" in issue.what for issue in now.fetch_issues())
    append(place / SIMPLE, whole[40:])
    assert watching.has_changed()
    assert watching.import_changes().news == ImportChanges(new=1)
    with store(place) as now:
        assert not any("cut off" in issue.what for issue in now.fetch_issues())


@pytest.mark.sweep
def test_a_file_that_is_cut_and_one_that_is_gone_take_their_items_with_them(place: Path, watching: FileWatcher) -> None:
    shutil.rmtree(place / "score")  # what was scored stays
    assert watching.has_changed()
    watching.import_changes()
    lines = (place / SIMPLE).read_text().splitlines(keepends=True)
    (place / SIMPLE).write_text("".join(lines[:2]) + lines[2][:30])
    assert watching.has_changed()
    assert watching.import_changes().news == ImportChanges(gone=len(lines) - 2)
    (place / SIMPLE).unlink()
    assert watching.has_changed()
    assert watching.import_changes().news == ImportChanges(gone=2)
    (place / SIMPLE).write_text("".join(lines))
    assert watching.has_changed()
    assert watching.import_changes().news == ImportChanges(new=len(lines))


def test_an_answer_that_changes_is_told_and_scores_beside_the_run_are_followed(
    place: Path, watching: FileWatcher
) -> None:
    text = (place / SIMPLE).read_text()
    (place / SIMPLE).write_text(text.replace("annual_rate", "rate_of_a_year"))
    assert watching.has_changed()
    assert watching.import_changes().summary == "1 changed item"
    (place / SCORE).unlink()
    assert watching.has_changed()
    assert watching.import_changes().news == ImportChanges()
    with store(place) as now:
        assert now.count_items(View("category:simple_python official:fail")) == 0


def test_what_cannot_be_taken_in_is_told_and_tried_again(place: Path, watching: FileWatcher, tmp_path: Path) -> None:
    away = tmp_path / "away"
    (place / RUN / "non_live").rename(away)
    for folder in ("live", "multi_turn", "agentic", "format_sensitivity"):
        shutil.rmtree(place / RUN / folder)
    database = place / RUN / ".fcreview" / "store.duckdb"
    before = database.read_bytes()
    database.write_bytes(b"no database")
    assert watching.has_changed()
    with pytest.raises(ReloadError):
        watching.import_changes()
    database.write_bytes(before)
    away.rename(place / RUN / "non_live")
    assert watching.has_changed()
    assert watching.import_changes().news.gone > 0


def test_a_second_run_joins_those_that_were_opened(place: Path, tmp_path: Path) -> None:
    away = tmp_path / "away"
    (place / "result" / "maple-8b-FC").rename(away)
    workspace = tmp_path / "kept"
    words = ["import", place / "result", "--workspace", workspace]
    assert run_in_this_process(words, tmp_path, environment(tmp_path)).code == 0
    watching = FileWatcher(WorkspaceOptions([place / "result"], workspace=workspace), 0.1)
    watching.runs = (1,)
    assert not watching.has_changed()
    away.rename(place / "result" / "maple-8b-FC")
    assert watching.has_changed()
    taken = watching.import_changes()
    assert (taken.previous_runs, taken.runs) == ((1,), (1, 2))
    assert taken.news.new > 0 and taken.news.gone == taken.news.changed == 0


def test_closing_ends_the_process_in_the_middle_of_it(place: Path, watching: FileWatcher) -> None:
    lines = (place / SIMPLE).read_text()
    append(place / SIMPLE, lines * (8_000_000 // len(lines)))
    came: list[ReloadResult | ReloadError] = []

    def take_in() -> None:
        try:
            came.append(watching.import_changes())
        except ReloadError as error:
            came.append(error)

    thread = threading.Thread(target=take_in)
    thread.start()
    until(lambda: bool(list((place / RUN / ".fcreview").glob("tmp/*"))))
    watching.close()
    thread.join(20)
    assert len(came) == 1 and isinstance(came[0], ReloadError)
    until(lambda: not processes_with(str(place / RUN)), 5)
    left = {each.name for each in (place / RUN / ".fcreview").iterdir() if "tmp" in each.name and any(each.iterdir())}
    assert not left
    with store(place) as now:
        assert now.count_items(View("category:simple_python")) == len(lines.splitlines())
