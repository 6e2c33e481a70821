"""The journal is durable, is never rewritten, and supports undo of each act."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
from typing import Any

import orjson
import pytest

from fcreview.model.review import Annotation, find_last_event, find_retracted_events
from fcreview.store.reviews.journal import Journal, JournalError, hash_event
from fcreview.store.reviews.journal_reader import (
    JournalReader,
    check_journals,
    read_events_and_warnings,
)
from fcreview.store.workspace import Workspace
from tests.store.reviews.journals import fill_journal, make_key, read_ids


def test_event_is_one_line_chained_to_the_previous_line(workspace: Workspace) -> None:
    path = fill_journal(workspace)
    lines = [orjson.loads(line) for line in path.read_bytes().splitlines()]
    assert path.name == "alice.jsonl"
    assert [line["previous"] for line in lines] == ["", lines[0]["hash"], lines[1]["hash"]]
    for line in lines:
        assert line["hash"] == hash_event(line)
        assert len(line["event"]) == 32
        assert line["time"].endswith("Z")
        assert len(line["time"]) == len("2026-01-01T00:00:00.000Z")
        assert "fault" not in line  # An event contains only the fields that it sets.
    events, warnings = read_events_and_warnings(workspace)
    assert warnings == []
    assert [event.verdict for event in events] == [True, False, True]


def test_append_is_one_write_and_synced_before_it_returns(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    acts: list[Any] = []
    write, sync = os.write, os.fsync
    monkeypatch.setattr(os, "write", lambda fd, data: (acts.append("write"), write(fd, data))[1])
    monkeypatch.setattr(os, "fsync", lambda fd: (acts.append("sync"), sync(fd))[1])
    journal = Journal(workspace, "alice")
    journal.append(make_key(), Annotation(verdict=True))
    assert acts.count("write") == 1
    assert acts == ["sync", "sync", "write", "sync"]  # new folders first, then the file
    acts.clear()
    journal.append(make_key(), Annotation(verdict=False))
    assert acts == ["write", "sync"]


def test_short_write_is_continued(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: write(fd, data[:7]))
    fill_journal(workspace)
    assert read_ids(workspace) == ["simple_0", "simple_1", "simple_2"]


def test_full_disk_is_an_error_and_loses_nothing(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = fill_journal(workspace)
    write, writes = os.write, []

    def full(descriptor: int, data: bytes) -> int:
        writes.append(1)
        if len(writes) > 1:
            raise OSError(28, "No space left on device")
        return write(descriptor, data[:20])

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        with pytest.raises(JournalError, match="No space left"):
            Journal(workspace, "alice").append(make_key("lost"), Annotation(verdict=True))
    Journal(workspace, "alice").append(make_key("kept"), Annotation(verdict=True))
    assert read_ids(workspace) == ["simple_0", "simple_1", "simple_2", "kept"]
    assert read_events_and_warnings(workspace)[1] == []
    assert not (path.parent / "torn").exists(), "the incomplete line was removed"


@pytest.mark.parametrize(
    "fields",
    [
        {"fault": "nobody"},
        {"tags": "one"},
        {"act": "erase"},
        {"verdict": {"a": 1}},
        {"verdict": math.inf},
        {"golden_fix": {"n": 2**70}},
        {"golden_fix": {"n": [1, {"m": math.nan}]}},
        {"overrules": {"source": "judge", "value": -math.inf}},
    ],
)
def test_invalid_review_is_not_written(workspace: Workspace, fields: dict[str, Any]) -> None:
    journal = Journal(workspace, "alice")
    with pytest.raises(JournalError, match="invalid review"):
        journal.append(make_key(), Annotation(**fields))
    assert not journal.path.exists() or journal.path.read_bytes() == b""


def test_undecodable_text_is_written_as_replacement_characters(workspace: Workspace) -> None:
    Journal(workspace, "alice").append(
        make_key(), Annotation(note="a\udcffb", golden_fix={"x": [None, "\ud800"]})
    )
    (event,), warnings = read_events_and_warnings(workspace)
    assert warnings == []
    assert event.note == "a\ufffdb"
    assert event.golden_fix == {"x": [None, "\ufffd"]}


def test_undo_retracts_acts_one_by_one_across_restarts(workspace: Workspace) -> None:
    fill_journal(workspace, "bob", 1)
    fill_journal(workspace)
    assert [_undo(workspace) for _ in range(2)] == ["simple_2", "simple_1"]
    Journal(workspace, "alice").append(make_key("new"), Annotation())
    assert [_undo(workspace) for _ in range(4)] == ["new", "simple_0", None, None]
    alice, bob = check_journals(workspace)
    assert (alice.events, alice.retracted, bob.events, bob.retracted) == (4, 4, 1, 0)


def _undo(workspace: Workspace) -> str | None:
    journal = Journal(workspace, "alice")
    events = JournalReader(workspace, only=journal.path).read_new_events()
    event = find_last_event(events, "alice", find_retracted_events(events))
    if event is not None:
        journal.retract(event)
    return event.key.id if event else None


_WRITER = """
import sys
from pathlib import Path
from fcreview.model.review import ItemKey, Annotation
from fcreview.store.reviews.journal import Journal
from fcreview.store.workspace import Workspace
journal = Journal(Workspace(Path(sys.argv[1])), sys.argv[2])
for number in range(int(sys.argv[3])):
    key = ItemKey(benchmark="b", generation="", language="", model="m", category="c", id=f"{sys.argv[4]}{number}")
    journal.append(key, Annotation(verdict=True, note="x" * (number * 37 % 5000)))
print("saved", flush=True)
sys.stdin.read()
"""


def _writer(
    workspace: Workspace, annotator: str, count: int, prefix: str = ""
) -> subprocess.Popen[bytes]:
    arguments = [sys.executable, "-c", _WRITER, str(workspace.root), annotator, str(count), prefix]
    return subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


@pytest.mark.process
def test_ten_verdicts_then_kill_9_then_ten_verdicts(workspace: Workspace) -> None:
    process = _writer(workspace, "alice", 10)
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"saved\n"
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    assert read_ids(workspace) == [str(number) for number in range(10)]
    assert read_events_and_warnings(workspace)[1] == []


@pytest.mark.process
@pytest.mark.parametrize("annotators", [("alice", "bob"), ("alice", "alice")])
def test_two_concurrent_processes_lose_nothing(
    workspace: Workspace, annotators: tuple[str, str]
) -> None:
    processes = [
        _writer(workspace, name, 60, f"{number}-") for number, name in enumerate(annotators)
    ]
    for process in processes:
        process.communicate()
        assert process.returncode == 0
    assert sorted(read_ids(workspace)) == sorted(
        f"{who}-{number}" for who in (0, 1) for number in range(60)
    )
    assert read_events_and_warnings(workspace)[1] == []
    for path in workspace.reviews.glob("*.jsonl"):
        lines = [orjson.loads(line) for line in path.read_bytes().splitlines()]
        assert [line["previous"] for line in lines] == ["", *(line["hash"] for line in lines[:-1])]
