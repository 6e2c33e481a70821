"""A merge of many journals takes time in proportion to their number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from fcreview.store.reviews.journal import Journal, hash_and_serialize_event
from fcreview.store.reviews.journal_merge import MergeError, plan_journal_merge
from fcreview.store.reviews.journal_reader import JournalReader
from fcreview.store.workspace import Workspace
from tests.store.reviews.journals import fill_journal

N_JOURNALS = 1_500


def write_journals(workspace: Workspace, names: list[str]) -> None:
    path = fill_journal(workspace, count=1)
    (event,) = JournalReader(workspace).read_new_events()
    path.unlink()
    for number, name in enumerate(names):
        copy = replace(event, annotator=name, event=f"{number:032x}")
        (workspace.reviews / f"{name}.jsonl").write_bytes(hash_and_serialize_event(copy, "")[1])


def test_folders_are_listed_once_for_all_journals(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, other = Workspace(tmp_path / "here"), Workspace(tmp_path / "other")
    for workspace in (here, other):
        workspace.reviews.mkdir(parents=True)
        write_journals(workspace, [f"a{number}" for number in range(N_JOURNALS)])
    n_calls: Counter[Path] = Counter()
    list_files = Path.glob

    def glob_and_count(folder: Path, pattern: str) -> Iterator[Path]:
        n_calls[folder] += 1
        return list_files(folder, pattern)

    monkeypatch.setattr(Path, "glob", glob_and_count)
    merge = plan_journal_merge(here, other)
    assert len(merge.copies) == N_JOURNALS
    assert [copy.result.known for copy in merge.copies] == [1] * N_JOURNALS
    assert max(n_calls.values()) <= 2


def test_names_that_differ_only_in_case_are_refused(tmp_path: Path) -> None:
    here, other = Workspace(tmp_path / "here"), Workspace(tmp_path / "other")
    other.reviews.mkdir(parents=True)
    write_journals(other, ["alice", "bob", "Bob"])
    with pytest.raises(MergeError, match=r"'Bob' and 'bob', which differ only in case"):
        plan_journal_merge(here, other)
    assert not Journal(here, "alice").path.exists()
