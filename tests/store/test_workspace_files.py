"""Links and special files in a downloaded workspace do not lead fcreview to files outside it."""

from __future__ import annotations

import os
import socket
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from fcreview.cli.workspace import load_accepted_rules, load_workspace_errata, save_accepted_rules
from fcreview.errors import CommandError
from fcreview.model.review import Annotation
from fcreview.safe_files import UnsafeFileError
from fcreview.store.importing.run_importer import import_runs
from fcreview.store.queue_file import QueueError, read_queues
from fcreview.store.queue_sampling import merge_queues
from fcreview.store.reviews.journal import Journal, JournalError
from fcreview.store.reviews.journal_merge import plan_journal_merge
from fcreview.store.reviews.journal_reader import check_journals, read_events_and_warnings
from fcreview.store.store import Store
from fcreview.store.workspace import AnnotatorState, Workspace, WorkspaceError, find_workspace
from fcreview.tui.review.clipboard import write_copy_file
from tests.store.factory import read, write_run
from tests.store.reviews.journals import fill_journal, make_key

SECRET = b"export PATH=/usr/bin\n"


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A file of the user, outside the workspace."""
    file = tmp_path / "home" / ".bashrc"
    file.parent.mkdir()
    file.write_bytes(SECRET)
    return file


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    (tmp_path / "run").mkdir()
    return find_workspace(tmp_path / "run")


def make_symbolic_link(place: Path, target: Path) -> None:
    place.symlink_to(target)


def make_hard_link(place: Path, target: Path) -> None:
    os.link(target, place)


def make_pipe(place: Path, _: Path) -> None:
    os.mkfifo(place)


def make_device(place: Path, _: Path) -> None:
    place.symlink_to("/dev/zero")


def make_unix_socket(place: Path, _: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        before = Path.cwd()
        os.chdir(place.parent)  # The path of a socket must be short.
        try:
            server.bind(place.name)
        finally:
            os.chdir(before)


Attack = Callable[[Path, Path], None]
ATTACKS: list[Attack] = [
    make_symbolic_link,
    make_hard_link,
    make_pipe,
    make_device,
    make_unix_socket,
]
attacks = pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)


@attacks
def test_review_is_not_written_through_a_linked_journal(
    workspace: Workspace, outside: Path, attack: Attack
) -> None:
    attack(workspace.reviews / "alice.jsonl", outside)
    with pytest.raises(JournalError, match=r"alice\.jsonl (is|has) .* not saved in "):
        Journal(workspace, "alice").append(make_key("$(touch pwned)"), Annotation(verdict=False))
    assert outside.read_bytes() == SECRET


@pytest.mark.parametrize(
    "attack", [make_symbolic_link, make_hard_link], ids=lambda attack: attack.__name__
)
def test_item_id_is_not_executed_by_the_next_shell(
    workspace: Workspace, outside: Path, attack: Attack
) -> None:
    attack(workspace.reviews / "alice.jsonl", outside)
    with pytest.raises(JournalError):
        Journal(workspace, "alice").append(make_key("$(touch pwned)"), Annotation(verdict=False))
    subprocess.run(["bash", outside], cwd=outside.parent, capture_output=True, check=False)
    assert not (outside.parent / "pwned").exists()


@attacks
def test_linked_journal_is_reported_and_others_count(
    workspace: Workspace, outside: Path, attack: Attack
) -> None:
    """Otherwise its content could be shown, and a merge would copy it."""
    lines = fill_journal(workspace, "bob").read_bytes()
    outside.write_bytes(lines.replace(b'"bob"', b'"mallory"'))
    attack(workspace.reviews / "mallory.jsonl", outside)
    events, warnings = read_events_and_warnings(workspace)
    assert {event.annotator for event in events} == {"bob"}
    assert len(warnings) == 1
    assert warnings[0].startswith("mallory.jsonl: the file cannot be read: mallory.jsonl ")
    assert [bool(report.warnings) for report in check_journals(workspace)] == [False, True]
    target = find_workspace(outside.parent, outside.parent)
    merged = plan_journal_merge(target, workspace).write()
    assert [(each.annotator, each.new) for each in merged] == [("bob", 3), ("mallory", 0)]


def test_linked_journal_folder_is_refused(workspace: Workspace, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    workspace.reviews.rmdir()
    workspace.reviews.symlink_to(other)
    with pytest.raises(JournalError, match="reviews is a symbolic link"):
        Journal(workspace, "alice").append(make_key(), Annotation(verdict=True))
    with pytest.raises(
        WorkspaceError, match=r"/reviews: reviews is a symbolic link\. Delete it or replace it"
    ):
        find_workspace(workspace.parent_folder)
    assert list(other.iterdir()) == []


@attacks
def test_torn_line_is_not_saved_over_another_file(
    workspace: Workspace, outside: Path, attack: Attack
) -> None:
    journal = fill_journal(workspace)
    with journal.open("ab") as file:
        file.write(b'{"torn')
    (workspace.reviews / "torn").symlink_to(outside.parent)
    with pytest.raises(JournalError, match="torn is a symbolic link"):
        fill_journal(workspace, count=1)
    (workspace.reviews / "torn").unlink()
    fill_journal(workspace, count=1)
    (saved,) = (workspace.reviews / "torn").iterdir()
    saved.unlink()
    attack(saved, outside)
    assert len(read_events_and_warnings(workspace)[1]) == 1
    assert outside.read_bytes() == SECRET


@attacks
def test_linked_queue_is_not_read(workspace: Workspace, outside: Path, attack: Attack) -> None:
    workspace.queues.mkdir()
    attack(workspace.queues / "pilot.json", outside)
    assert all(isinstance(queue, QueueError) for queue in read_queues(workspace))
    here = find_workspace(outside.parent, outside.parent)
    assert {each.state for each in merge_queues(here, workspace)} <= {"unreadable"}


@attacks
def test_linked_errata_and_rules_are_not_read(
    workspace: Workspace, outside: Path, attack: Attack
) -> None:
    attack(workspace.errata, outside)
    attack(workspace.rules, outside)
    with pytest.raises(CommandError, match=r"errata\.jsonl (is|has)"):
        load_workspace_errata(workspace)
    with pytest.raises(CommandError, match=r"rules\.jsonl (is|has)"):
        load_accepted_rules(workspace)


@attacks
def test_replaced_file_leaves_the_linked_file_unchanged(
    workspace: Workspace, outside: Path, attack: Attack
) -> None:
    state = AnnotatorState(workspace.root, "alice")
    for kind in ("filters", "positions", "history"):
        (workspace.root / kind).mkdir()
        attack(workspace.root / kind / "alice.json", outside)
        assert state.read(kind) == {}
        state.write(kind, {"a": "b"})
        assert state.read(kind) == {"a": "b"}
    for name in ("copied.txt", "rules.jsonl", "seen.json"):
        attack(workspace.root / name, outside)
    assert write_copy_file("$(touch pwned)", workspace.root).read_text() == "$(touch pwned)"
    save_accepted_rules(workspace, [])
    workspace.files.write_json(workspace.root / "seen.json", {})
    assert outside.read_bytes() == SECRET
    assert outside.stat().st_nlink == 1


@attacks
def test_import_changes_nothing_outside(
    workspace: Workspace, outside: Path, attack: Attack
) -> None:
    plan = write_run(workspace.parent_folder / "a", [{}])
    attack(workspace.lock, outside)
    with pytest.raises(WorkspaceError, match=r"store\.lock (is|has)"):
        import_runs(workspace, [plan], read)
    workspace.lock.unlink()
    attack(workspace.store, outside)
    workspace.temporary.symlink_to(outside.parent)
    assert [row["status"] for row in import_runs(workspace, [plan], read).runs] == ["imported"]
    with Store.open(workspace) as store:
        assert len(store.fetch_runs()) == 1
    assert outside.read_bytes() == SECRET
    assert [each.name for each in outside.parent.iterdir()] == [".bashrc"]


def test_lock_is_not_created_outside(workspace: Workspace, outside: Path) -> None:
    workspace.lock.symlink_to(outside.parent / "made")
    with pytest.raises(WorkspaceError, match=r"store\.lock is a symbolic link"):
        import_runs(workspace, [write_run(workspace.parent_folder / "a", [{}])], read)
    assert not (outside.parent / "made").exists()


def test_linked_workspace_is_used_only_if_named(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    own = find_workspace(tmp_path, tmp_path / "own")
    for target in (own.root, tmp_path / "gone"):
        link = tmp_path / "run" / ".fcreview"
        link.symlink_to(target)
        for create in (True, False):
            with pytest.raises(
                WorkspaceError, match=r"\.fcreview is a symbolic link\. Pass --workspace"
            ):
                find_workspace(tmp_path / "run", create=create)
        link.unlink()
    link.symlink_to(own.root)
    named = find_workspace(tmp_path / "run", tmp_path / "run")
    fill_journal(named)
    assert len(read_events_and_warnings(own)[0]) == 3


def test_paths_cannot_leave_the_workspace(workspace: Workspace) -> None:
    with pytest.raises(OSError, match="outside the workspace"):
        workspace.files.write(workspace.root / ".." / "x", b"")
    with pytest.raises(ValueError, match="subpath"):
        workspace.files.write(workspace.parent_folder / "x", b"")


def test_file_with_a_temporary_second_link_is_read(workspace: Workspace) -> None:
    """A new queue has two names until its temporary name is deleted."""
    file, temporary = workspace.root / "a", workspace.root / "b"
    file.write_bytes(b"content")
    os.link(file, temporary)
    with pytest.raises(UnsafeFileError, match="a has 2 hard links"):
        workspace.files.read(file)

    # The error came after the time for which a new link may exist.
    temporary.unlink()
    os.link(file, temporary)
    threading.Timer(0.1, temporary.unlink).start()
    assert workspace.files.read(file) == b"content"
