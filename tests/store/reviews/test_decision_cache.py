"""Decisions are cached, and the journals take precedence over the cache."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fcreview.model.review import Annotation
from fcreview.store.importing.run_importer import import_runs
from fcreview.store.reviewer import Reviewer
from fcreview.store.reviews import decision_cache, journal_reader
from fcreview.store.reviews.journal import Journal
from fcreview.store.reviews.journal_merge import plan_journal_merge
from fcreview.store.store import Store
from fcreview.store.workspace import Workspace, find_workspace
from tests.store.factory import Imported, read, write_run

ROWS: list[dict[str, Any]] = [{}, {"official": True}, {}, {"official": True}]


@pytest.fixture(autouse=True)
def _always_worth(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decision_cache, "MIN_EVENTS", 1)


@pytest.fixture
def workspace(tmp_path: Path, imported: Imported) -> Workspace:
    """A workspace with a cache and reviews of two annotators, one of them retracted."""
    workspace = imported(tmp_path / "here", {"maple-8b": ROWS})
    with Store.open(workspace, "alice") as store:
        record_review(
            store, "alice", 0, verdict=True, fault="golden", tags=["city"], note="it is right"
        )
        record_review(store, "bob", 0, verdict=False, note="no")
        record_review(store, "alice", 1, target="turn:0/call:0", verdict=False)
        record_review(store, "alice", 2, verdict=True)
        Reviewer(store, Journal(workspace, "alice")).undo()
    assert workspace.decision_cache.exists()
    return workspace


def record_review(store: Store, annotator: str, number: int, **parts: Any) -> None:
    Reviewer(store, Journal(store.workspace, annotator)).review(
        store.find_items(f"simple_{number}")[0], Annotation(**parts)
    )


def read_cached_decisions(store: Store) -> list[str]:
    """Return the decisions that the queue shows before any journal line is read."""
    return sorted(map(repr, store.connection.execute("SELECT * FROM human_labels").fetchall()))


def read_all(store: Store) -> list[list[str]]:
    views = ("human_labels", "human", "reviews", "review_acts", "labels")
    return [sorted(map(repr, store.run_sql(f"FROM {name}")[1])) for name in views]


def read_without_cache(workspace: Workspace, annotator: str = "alice") -> list[list[str]]:
    """Return the same data from the journals alone."""
    workspace.decision_cache.unlink(missing_ok=True)
    with Store.open(workspace, annotator) as store:
        return read_all(store)


def check_against_journals(workspace: Workspace, annotator: str = "alice") -> bool:
    with Store.open(workspace, annotator) as store:
        first, all_of_it = read_cached_decisions(store), read_all(store)
    return [first, *all_of_it[1:]] == read_without_cache(workspace, annotator)


def fail_if_parsed(line: bytes) -> Any:
    pytest.fail(f"read {line[:80]!r}")


@pytest.mark.sweep
def test_lines_are_read_only_when_needed(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(journal_reader, "parse_line", fail_if_parsed)
        patched.setattr(journal_reader, "parse_trusted_line", fail_if_parsed)
        with Store.open(workspace, "alice") as store:
            shown = read_cached_decisions(store)
            assert store.refresh_reviews() == 0
            rows = store.fetch_rows(store.find_items("simple_0"))
            assert [(row.you, row.human) for row in rows] == [(True, "disputed")]
    assert shown == read_without_cache(workspace)[0]


@pytest.mark.sweep
def test_later_reads_are_complete(workspace: Workspace) -> None:
    with Store.open(workspace, "alice") as store:
        detail = store.read_detail(store.find_items("simple_0")[0])
        assert [each.annotator for each in detail.opinions] == ["alice", "bob"]
        assert len(store.read_detail(store.find_items("simple_2")[0]).history) == 2
    assert check_against_journals(workspace)


def test_nothing_is_verified_twice(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_reader, "parse_line", fail_if_parsed)
    with Store.open(workspace, "alice") as store:
        assert len(store.run_sql("FROM reviews")[1]) == 3


@pytest.mark.sweep
def test_lines_of_another_process_are_read(workspace: Workspace) -> None:
    with Store.open(workspace, "alice") as store:
        with Store.open(workspace, "carol") as other:
            record_review(other, "carol", 0, verdict=True, tags=["first"])
            record_review(other, "alice", 3, verdict=False)
        assert store.refresh_reviews() == 2
        assert read_cached_decisions(store) == read_without_cache(workspace)[0]
    assert check_against_journals(workspace)


@pytest.mark.sweep
def test_killed_session_loses_nothing(workspace: Workspace) -> None:
    store = Store.open(workspace, "alice")
    record_review(store, "alice", 3, verdict=False)
    bob = Journal(workspace, "bob")
    bob.retract(journal_reader.JournalReader(workspace, only=bob.path).read_new_events()[-1])
    store.connection.close()  # without writing the cache
    with Store.open(workspace, "alice") as store:
        shown = read_cached_decisions(store)
    assert shown == read_without_cache(workspace)[0]


@pytest.mark.parametrize("seen", [False, True])
def test_journal_changed_in_the_middle_is_reported(workspace: Workspace, seen: bool) -> None:
    """The changed journal has the same length and end, and can change while the workspace is
    open.
    """
    path = workspace.reviews / "alice.jsonl"
    altered = path.read_bytes().replace(b"it is right", b"it is wrong")
    store = Store.open(workspace, "alice") if seen else None
    path.write_bytes(altered)
    with store or Store.open(workspace, "alice") as store:
        opinions = store.read_detail(store.find_items("simple_0")[0]).opinions
        assert [each.annotator for each in opinions] == ["bob"]
        assert any("altered" in text for text in store.reviews.warnings)
    with Store.open(workspace, "alice") as store:
        assert any("altered" in text for text in store.reviews.warnings), "reported every time"


INVALID_LINES = {
    "no JSON": b"not a review",
    "altered": b'{"act":"review","hash":"0000"}',
    "another annotator": b"",
}


@pytest.mark.parametrize("kind", sorted(INVALID_LINES))
def test_invalid_line_of_another_journal_does_not_disable_the_cache(
    workspace: Workspace, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = INVALID_LINES[kind] or (workspace.reviews / "alice.jsonl").read_bytes().split(b"\n")[0]
    path = workspace.reviews / "bob.jsonl"
    path.write_bytes(path.read_bytes() + line + b"\n")
    with Store.open(workspace, "alice") as store:
        record_review(store, "alice", 3, verdict=False)
        warnings = store.reviews.warnings
        shown = read_cached_decisions(store)
    assert any(text.startswith("bob.jsonl line") for text in warnings)

    with monkeypatch.context() as patched:
        patched.setattr(journal_reader, "parse_line", fail_if_parsed)
        patched.setattr(journal_reader, "parse_trusted_line", fail_if_parsed)
        with Store.open(workspace, "alice") as store:
            assert read_cached_decisions(store) == shown
            assert store.reviews.warnings == warnings

    with Store.open(workspace, "alice") as store:
        record_review(store, "alice", 3, verdict=True)
        assert store.reviews.warnings == warnings
        shown = read_cached_decisions(store)
    assert shown == read_without_cache(workspace)[0]
    assert check_against_journals(workspace)


def test_cached_warnings_have_the_paths_of_a_moved_workspace(
    workspace: Workspace, tmp_path: Path
) -> None:
    renamed = workspace.reviews / "bob (conflicted copy).jsonl"
    (workspace.reviews / "bob.jsonl").rename(renamed)
    Store.open(workspace, "alice").close()
    moved = find_workspace(workspace.parent_folder.rename(tmp_path / "moved"), create=False)
    with Store.open(moved, "alice") as store:
        (warning,) = store.reviews.warnings
    assert str(tmp_path / "moved") in warning


@pytest.mark.sweep
def test_deleted_journal_does_not_count(workspace: Workspace) -> None:
    (workspace.reviews / "bob.jsonl").unlink()
    assert check_against_journals(workspace)


def test_torn_end_is_reported_and_other_lines_count(workspace: Workspace) -> None:
    with (workspace.reviews / "bob.jsonl").open("ab") as file:
        file.write(b'{"act":"review","tar')
    with Store.open(workspace, "alice") as store:
        shown = read_cached_decisions(store)
        assert any("is incomplete" in text for text in store.reviews.warnings)
    assert shown == read_without_cache(workspace)[0]


@pytest.mark.sweep
def test_damaged_cache_is_ignored(workspace: Workspace) -> None:
    whole = workspace.decision_cache.read_bytes()
    right = read_without_cache(workspace)
    for damaged in (
        b"",
        b"no database",
        *(whole[: len(whole) * part // 8] for part in range(1, 8)),
    ):
        workspace.decision_cache.write_bytes(damaged)
        with Store.open(workspace, "alice") as store:
            assert read_all(store) == right
    for place in range(4096, len(whole), len(whole) // 12):
        workspace.decision_cache.write_bytes(whole[:place] + bytes(64) + whole[place + 64 :])
        with Store.open(workspace, "alice") as store:
            assert read_all(store) == right


@pytest.mark.sweep
def test_cache_of_another_annotator_policy_or_store_is_not_used(workspace: Workspace) -> None:
    kept = workspace.decision_cache.read_bytes()
    with Store.open(workspace, "bob") as store:
        assert [row.you for row in store.fetch_rows(store.find_items("simple_0"))] == [False]
    workspace.decision_cache.write_bytes(kept)
    with Store.open(workspace, "alice", policy="majority") as store:
        assert {row[0] for row in store.run_sql("SELECT policy FROM labels")[1]} == {"majority"}
    workspace.decision_cache.write_bytes(kept)
    plan = write_run(
        workspace.parent_folder / "maple-8b", [{"prediction_hash": "another"}, *ROWS[1:], {}]
    )
    import_runs(workspace, [plan], read)
    with Store.open(workspace, "alice") as store:
        (row,) = store.fetch_rows(store.find_items("simple_0"))
        assert (row.stale, row.you) == (True, None)


@pytest.mark.sweep
def test_merged_copies_equal_one_journal(
    workspace: Workspace, tmp_path: Path, imported: Imported
) -> None:
    """The events of the other copy are older and follow the same line, so the events of this
    copy count.
    """
    other = imported(tmp_path / "there", {"maple-8b": ROWS})
    for path in workspace.reviews.glob("*.jsonl"):
        (other.reviews / path.name).write_bytes(path.read_bytes())
    with Store.open(other, "alice") as store:
        record_review(store, "alice", 3, verdict=False, note="there")
    with Store.open(workspace, "alice") as store:
        record_review(store, "alice", 3, verdict=True, note="here")
    with Store.open(workspace, "alice") as store:
        plan_journal_merge(workspace, other).write()
        store.refresh_reviews()
        shown = read_cached_decisions(store)
    assert shown == read_without_cache(workspace)[0]
    assert check_against_journals(workspace)


def test_cache_with_the_old_name_is_removed(workspace: Workspace) -> None:
    old = workspace.root / "standing.duckdb"
    workspace.decision_cache.rename(old)
    with Store.open(workspace, "alice") as store:
        shown = read_all(store)
    assert workspace.decision_cache.exists() and not old.exists()
    assert shown == read_without_cache(workspace)


@pytest.mark.sweep
def test_unwritable_cache_is_no_error(workspace: Workspace) -> None:
    workspace.decision_cache.unlink()
    workspace.decision_cache.mkdir()
    with Store.open(workspace, "alice") as store:
        record_review(store, "alice", 3, verdict=False)
    assert not list(workspace.root.glob("*.tmp*"))
    workspace.decision_cache.rmdir()
    assert check_against_journals(workspace)
