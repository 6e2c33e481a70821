"""The journal: durable, never rewritten, and readable whatever happened to it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fcreview.review import ItemKey, ReviewEvent
from fcreview.store.reviews.journal import Journal, JournalError
from fcreview.store.reviews.lines import digest, parse_line
from fcreview.store.reviews.reader import JournalReader, check_journals, read_journals
from fcreview.store.workspace import Workspace


def key(name: str = "simple_0") -> ItemKey:
    return ItemKey(benchmark="bfcl", generation="V4", language="en", model="maple-8b", category="simple", id=name)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path / ".fcreview")


def fill(workspace: Workspace, annotator: str = "alice", count: int = 3) -> Path:
    journal = Journal(workspace, annotator)
    for number in range(count):
        journal.append(key(f"simple_{number}"), verdict=number % 2 == 0, note="städtisch – 東京")
    return journal.path


def ids(workspace: Workspace) -> list[str]:
    return [event.key[5] for event in read_journals(workspace)[0]]


def test_an_event_is_one_line_chained_to_the_one_before(workspace: Workspace) -> None:
    path = fill(workspace)
    lines = [orjson.loads(line) for line in path.read_bytes().splitlines()]
    assert path.name == "alice.jsonl"
    assert [line["previous"] for line in lines] == ["", lines[0]["hash"], lines[1]["hash"]]
    for line in lines:
        assert line["hash"] == digest(line)
        assert len(line["event"]) == 32
        assert line["time"].endswith("Z")
        assert len(line["time"]) == len("2026-01-01T00:00:00.000Z")
        assert "fault" not in line  # an event carries only what it sets
    events, warnings = read_journals(workspace)
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
    journal.append(key(), verdict=True)
    assert acts.count("write") == 1
    assert acts[acts.index("write") :] == ["write", "sync", "sync"]  # the file, then the folder that is new to it
    acts.clear()
    journal.append(key(), verdict=False)
    assert acts == ["write", "sync"]


def test_a_short_write_is_continued(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: write(fd, data[:7]))
    fill(workspace)
    assert ids(workspace) == ["simple_0", "simple_1", "simple_2"]


def test_a_full_disk_is_an_error_and_loses_nothing(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    path = fill(workspace)
    write, writes = os.write, []

    def full(descriptor: int, data: bytes) -> int:
        writes.append(1)
        if len(writes) > 1:
            raise OSError(28, "No space left on device")
        return write(descriptor, data[:20])

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        with pytest.raises(JournalError, match="No space left"):
            Journal(workspace, "alice").append(key("lost"), verdict=True)
    Journal(workspace, "alice").append(key("kept"), verdict=True)
    assert ids(workspace) == ["simple_0", "simple_1", "simple_2", "kept"]
    assert read_journals(workspace)[1] == []
    assert len(list((path.parent / "torn").iterdir())) == 1


@pytest.mark.parametrize(
    "fields",
    [{"fault": "nobody"}, {"tags": "one"}, {"act": "erase"}, {"verdict": {"a": 1}}, {"golden_fix": {"n": 2**70}}],
)
def test_what_is_not_a_review_is_not_written(workspace: Workspace, fields: dict[str, Any]) -> None:
    journal = Journal(workspace, "alice")
    with pytest.raises(JournalError, match="not a review"):
        journal.append(key(), **fields)
    assert not journal.path.exists() or journal.path.read_bytes() == b""


def test_undecodable_text_is_written_as_replacement_characters(workspace: Workspace) -> None:
    Journal(workspace, "alice").append(key(), note="a\udcffb", golden_fix={"x": [None, "\ud800"]})
    (event,), warnings = read_journals(workspace)
    assert warnings == []
    assert event.note == "a\ufffdb"
    assert event.golden_fix == {"x": [None, "\ufffd"]}


def test_a_line_cut_at_any_byte_is_set_aside_and_the_rest_kept(tmp_path: Path) -> None:
    whole = fill(Workspace(tmp_path / "whole")).read_bytes()
    start = whole.rindex(b"\n", 0, len(whole) - 1) + 1
    for cut in range(start, len(whole)):
        workspace = Workspace(tmp_path / f"cut{cut}")
        path = workspace.reviews / "alice.jsonl"
        path.parent.mkdir(parents=True)
        path.write_bytes(whole[:cut])
        fragment = whole[start:cut]
        complete = cut == len(whole) - 1  # only the newline is missing: the event is there
        before = ["simple_0", "simple_1"] + (["simple_2"] if complete else [])

        events, warnings = read_journals(workspace)
        assert [event.key[5] for event in events] == before
        assert len(warnings) == (1 if fragment and not complete else 0)
        assert path.read_bytes() == whole[:cut]  # reading changes nothing

        Journal(workspace, "alice").append(key("next"), verdict=True)
        assert path.read_bytes().startswith(whole[:cut])  # nothing overwritten, nothing deleted
        events, warnings = read_journals(workspace)
        assert [event.key[5] for event in events] == [*before, "next"]
        assert warnings == []
        (report,) = check_journals(workspace)
        assert len(report.torn) == (1 if fragment and not complete else 0)
        assert report.warnings == []
        copies = [file.read_bytes() for file in sorted((path.parent / "torn").glob("alice-*.txt"))]
        assert copies == ([fragment] if fragment and not complete else [])


def test_an_altered_line_is_not_counted_and_not_deleted(workspace: Workspace) -> None:
    path = fill(workspace)
    data = path.read_bytes().replace(b'"verdict":false', b'"verdict":true')
    path.write_bytes(data)
    events, warnings = read_journals(workspace)
    assert [event.key[5] for event in events] == ["simple_0", "simple_2"]
    assert warnings == ["alice.jsonl line 2: altered: its hash does not fit its content, set aside"]
    Journal(workspace, "alice").append(key("next"))
    assert path.read_bytes().startswith(data)


def test_a_missing_line_breaks_the_chain_with_a_warning(workspace: Workspace) -> None:
    path = fill(workspace)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + lines[2])
    assert ids(workspace) == ["simple_0", "simple_2"]
    assert read_journals(workspace)[1] == ["alice.jsonl line 2: chain broken: the event before it is not here"]


@pytest.mark.parametrize(
    "line",
    [
        b"\xff\xfe{}",
        b"[]",
        b"null",
        b"{}",
        b'{"event":1}',
        b'{"hash":5}',
        b"[" * 100_000,
        b'{"event":"' + b"x" * 3_000_000,
        b'{"version":9,"event":"e","time":"t","annotator":"a","act":"vote","key":{}}',
    ],
)
def test_damage_gives_a_warning_and_never_a_traceback(workspace: Workspace, line: bytes) -> None:
    path = fill(workspace, count=1)
    with path.open("ab") as file:
        file.write(line + b"\n")
    Journal(workspace, "alice").append(key("after"))
    assert ids(workspace) == ["simple_0", "after"]
    (report,) = check_journals(workspace)
    assert (report.annotator, report.events, len(report.warnings)) == ("alice", 2, 1)


def test_fields_of_a_newer_version_are_kept(workspace: Workspace) -> None:
    path = fill(workspace, count=1)
    content = orjson.loads(path.read_bytes())
    content.update(version=2, mood={"happy": True})
    content["hash"] = digest(content)
    path.write_bytes(orjson.dumps(content) + b"\n")
    (event,), warnings = read_journals(workspace)
    assert warnings == []
    model = event.model()
    assert model.version == 2
    assert model.model_dump()["mood"] == {"happy": True}


_LINE = st.fixed_dictionaries(
    {},
    optional={
        name: st.one_of(
            st.none(), st.booleans(), st.integers(-5, 5), st.floats(allow_nan=False), st.text(max_size=4),
            st.lists(st.one_of(st.text(max_size=3), st.integers(0, 3)), max_size=2), st.just({"a": "b"}),
        )
        for name in ReviewEvent.model_fields
        if name != "hash"
    },
)  # fmt: skip


@given(_LINE)
def test_whatever_passes_the_quick_check_is_a_review_event(changes: dict[str, Any]) -> None:
    content: dict[str, Any] = {
        "event": "e", "time": "t", "annotator": "a", "act": "review", "key": key().model_dump(), **changes
    }  # fmt: skip
    content["hash"] = digest(content)
    try:
        event = parse_line(orjson.dumps(content))
    except ValueError:
        return
    model = event.model()
    assert model.event == event.event
    assert digest({k: v for k, v in content.items() if k != "hash"}) == model.hash


@given(data=st.data())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_random_damage_costs_only_the_lines_it_touches(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    workspace = Workspace(tmp_path_factory.mktemp("damage"))
    path = fill(workspace, count=5)
    whole = path.read_bytes()
    lines = whole.splitlines(keepends=True)
    start = data.draw(st.integers(0, len(whole) - 1))
    length = data.draw(st.integers(0, 40))
    new = data.draw(st.binary(max_size=20))
    path.write_bytes(whole[:start] + new + whole[start + length :])
    touched, at = set(), 0
    for number, line in enumerate(lines):
        if at <= start + max(length, 1) and start <= at + len(line):  # a newline that goes takes both its lines
            touched.add(f"simple_{number}")
        at += len(line)
    kept = ids(workspace)
    assert {f"simple_{n}" for n in range(5)} - touched <= set(kept)
    assert len(kept) == len(set(kept))
    Journal(workspace, "alice").append(key("after"))
    assert ids(workspace)[-1] == "after"
    assert set(ids(workspace)) >= set(kept)


def test_merging_two_copies_is_the_union_of_their_lines(tmp_path: Path) -> None:
    here, there = Workspace(tmp_path / "here"), Workspace(tmp_path / "there")
    path = fill(here)
    there.reviews.mkdir(parents=True)
    copy = there.reviews / "alice.jsonl"
    copy.write_bytes(path.read_bytes())
    Journal(here, "alice").append(key("here"), verdict=True)
    Journal(there, "alice").append(key("there"), verdict=False)
    Journal(there, "alice").append(key("there_2"), verdict=False)
    ours, theirs = path.read_bytes().splitlines(), copy.read_bytes().splitlines()
    orders = []
    for union in ([*ours, *theirs], sorted({*ours, *theirs}), [*reversed(theirs), *reversed(ours)]):
        path.write_bytes(b"\n".join(union) + b"\n")
        events, warnings = read_journals(here)
        assert warnings == []
        orders.append([event.key[5] for event in events])
    assert orders[0] == orders[1] == orders[2]
    assert orders[0][:3] == ["simple_0", "simple_1", "simple_2"]
    assert sorted(orders[0][3:]) == ["here", "there", "there_2"]
    assert orders[0].index("there") < orders[0].index("there_2")
    Journal(here, "alice").append(key("merged"))
    assert read_journals(here)[1] == []


def test_a_copy_beside_the_journal_counts_nothing_twice(workspace: Workspace) -> None:
    path = fill(workspace)
    path.with_name("alice (copy).jsonl").write_bytes(path.read_bytes())
    assert sorted(ids(workspace)) == ["simple_0", "simple_1", "simple_2"]


def test_undo_takes_back_one_act_after_the_other_across_restarts(workspace: Workspace) -> None:
    fill(workspace, "bob", 1)
    fill(workspace)
    assert [_undo(workspace) for _ in range(2)] == ["simple_2", "simple_1"]
    Journal(workspace, "alice").append(key("new"))
    assert [_undo(workspace) for _ in range(4)] == ["new", "simple_0", None, None]
    alice, bob = check_journals(workspace)
    assert (alice.events, alice.retracted, bob.events, bob.retracted) == (4, 4, 1, 0)


def _undo(workspace: Workspace) -> str | None:
    event = Journal(workspace, "alice").undo()
    return event.key.id if event else None


def test_a_reader_takes_in_only_what_was_added(workspace: Workspace) -> None:
    path = fill(workspace)
    reader = JournalReader(workspace)
    assert len(reader.read()) == 3
    assert reader.read() == []
    Journal(workspace, "alice").append(key("more"))
    Journal(workspace, "bob").append(key("other"))
    assert [event.key[5] for event in reader.read()] == ["more", "other"]
    with path.open("ab") as file:
        file.write(b'{"half')
    assert reader.read() == []
    assert len(reader.warnings) == 1
    Journal(workspace, "alice").append(key("then"))
    assert [event.key[5] for event in reader.read()] == ["then"]
    assert reader.warnings == []


@pytest.mark.parametrize("in_place", [True, False])
def test_a_reader_notices_a_journal_that_was_replaced(workspace: Workspace, in_place: bool) -> None:
    path = fill(workspace)
    reader = JournalReader(workspace)
    reader.read()
    other = fill(Workspace(workspace.root / "elsewhere"), count=9).read_bytes()
    if in_place:
        path.write_bytes(other)
    else:
        path.with_suffix(".new").write_bytes(other)
        path.with_suffix(".new").replace(path)
    assert len(reader.read()) == 9
    assert reader.replaced
    assert reader.read() == []
    assert not reader.replaced


_WRITER = """
import sys
from pathlib import Path
from fcreview.review import ItemKey
from fcreview.store.reviews.journal import Journal
from fcreview.store.workspace import Workspace
journal = Journal(Workspace(Path(sys.argv[1])), sys.argv[2])
for number in range(int(sys.argv[3])):
    key = ItemKey(benchmark="b", generation="", language="", model="m", category="c", id=f"{sys.argv[4]}{number}")
    journal.append(key, verdict=True, note="x" * (number * 37 % 5000))
print("saved", flush=True)
sys.stdin.read()
"""


def _writer(workspace: Workspace, annotator: str, count: int, prefix: str = "") -> subprocess.Popen[bytes]:
    arguments = [sys.executable, "-c", _WRITER, str(workspace.root), annotator, str(count), prefix]
    return subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def test_ten_verdicts_then_kill_9_then_ten_verdicts(workspace: Workspace) -> None:
    process = _writer(workspace, "alice", 10)
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"saved\n"
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    assert ids(workspace) == [str(number) for number in range(10)]
    assert read_journals(workspace)[1] == []


@pytest.mark.parametrize("annotators", [("alice", "bob"), ("alice", "alice")])
def test_two_processes_at_once_lose_nothing(workspace: Workspace, annotators: tuple[str, str]) -> None:
    processes = [_writer(workspace, name, 60, f"{number}-") for number, name in enumerate(annotators)]
    for process in processes:
        process.communicate()
        assert process.returncode == 0
    assert sorted(ids(workspace)) == sorted(f"{who}-{number}" for who in (0, 1) for number in range(60))
    assert read_journals(workspace)[1] == []
    for path in workspace.reviews.glob("*.jsonl"):
        lines = [orjson.loads(line) for line in path.read_bytes().splitlines()]
        assert [line["previous"] for line in lines] == ["", *(line["hash"] for line in lines[:-1])]
