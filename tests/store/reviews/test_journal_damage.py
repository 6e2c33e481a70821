"""All intact lines of a damaged journal count."""

from __future__ import annotations

import codecs
import itertools
import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fcreview.model.review import Annotation, Event
from fcreview.store.reviews.journal import (
    Journal,
    JournalError,
    hash_and_serialize_event,
    parse_line,
)
from fcreview.store.reviews.journal_merge import plan_journal_merge
from fcreview.store.reviews.journal_reader import (
    CHAIN_BROKEN,
    check_journals,
    read_events_and_warnings,
    torn_line_path,
)
from fcreview.store.workspace import Workspace
from tests.store.reviews.journals import fill_journal, make_key, read_ids


@pytest.mark.sweep
@pytest.mark.slow
def test_line_truncated_at_any_byte_is_set_aside(tmp_path: Path) -> None:
    whole = fill_journal(Workspace(tmp_path / "whole")).read_bytes()
    start = whole.rindex(b"\n", 0, len(whole) - 1) + 1
    for cut in range(start, len(whole)):
        workspace = Workspace(tmp_path / f"cut{cut}")
        path = workspace.reviews / "alice.jsonl"
        path.parent.mkdir(parents=True)
        path.write_bytes(whole[:cut])
        fragment = whole[start:cut]
        complete = cut == len(whole) - 1  # Only the newline is missing, so the event counts.
        before = ["simple_0", "simple_1"] + (["simple_2"] if complete else [])

        events, warnings = read_events_and_warnings(workspace)
        assert [event.key[5] for event in events] == before
        assert len(warnings) == (1 if fragment and not complete else 0)
        assert path.read_bytes() == whole[:cut]  # Reading changes nothing.

        Journal(workspace, "alice").append(make_key("next"), Annotation(verdict=True))
        assert path.read_bytes().startswith(whole[:cut])  # Nothing is overwritten or deleted.
        events, warnings = read_events_and_warnings(workspace)
        assert [event.key[5] for event in events] == [*before, "next"]
        assert warnings == []
        (report,) = check_journals(workspace)
        assert len(report.torn) == (1 if fragment and not complete else 0)
        assert report.warnings == []
        copies = [file.read_bytes() for file in sorted((path.parent / "torn").glob("alice-*.txt"))]
        assert copies == ([fragment] if fragment and not complete else [])


@pytest.mark.parametrize("kind", ["pipe", "device", "folder"])
def test_special_file_in_place_of_the_copy_does_not_block(workspace: Workspace, kind: str) -> None:
    path = fill_journal(workspace)
    fragment = path.read_bytes()[:40]
    with path.open("ab") as file:
        file.write(fragment)
    copy = torn_line_path(path, fragment)
    copy.parent.mkdir()
    if kind == "pipe":
        os.mkfifo(copy)
    elif kind == "device":
        copy.symlink_to("/dev/zero")
    else:
        (copy / "x").mkdir(parents=True)
    read_events_and_warnings(workspace)
    if kind == "folder":
        with pytest.raises(JournalError, match="not saved"):
            Journal(workspace, "alice").append(make_key("next"), Annotation(verdict=True))
        assert read_ids(workspace) == ["simple_0", "simple_1", "simple_2"]
    else:
        Journal(workspace, "alice").append(make_key("next"), Annotation(verdict=True))
        assert read_ids(workspace) == ["simple_0", "simple_1", "simple_2", "next"]
        assert copy.read_bytes() == fragment


def test_altered_line_is_not_counted_and_not_deleted(workspace: Workspace) -> None:
    path = fill_journal(workspace)
    data = path.read_bytes().replace(b'"verdict":false', b'"verdict":true')
    path.write_bytes(data)
    events, warnings = read_events_and_warnings(workspace)
    assert [event.key[5] for event in events] == ["simple_0", "simple_2"]
    assert warnings == [
        "alice.jsonl line 2 was skipped: the line was altered (its hash does not match its content)"
    ]
    Journal(workspace, "alice").append(make_key("next"), Annotation())
    assert path.read_bytes().startswith(data)


def test_missing_line_gives_a_warning(workspace: Workspace) -> None:
    path = fill_journal(workspace)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + lines[2])
    assert read_ids(workspace) == ["simple_0", "simple_2"]
    assert read_events_and_warnings(workspace)[1] == [f"alice.jsonl line 2: {CHAIN_BROKEN}"]


def fill_at(workspace: Workspace, minutes: Sequence[int], previous: str = "") -> list[bytes]:
    """Write events at these minutes of an hour, after a line with the hash `previous`, and
    return the lines.
    """
    lines = []
    for number, minute in enumerate(minutes):
        event = Event(
            event=f"{minute}{previous}{number}",
            time=f"2026-01-01T00:{minute:02}:00.000Z",
            annotator="alice",
            act="review",
            key=make_key(f"simple_{minute}"),
            verdict=True,
        )
        event, line = hash_and_serialize_event(event, previous)
        previous = event.hash
        lines.append(line)
    path = workspace.reviews / "alice.jsonl"
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_bytes(b"".join(lines))
    return lines


@pytest.mark.parametrize("minutes", [range(59, -1, -1), [0] * 60, [*range(30), *range(10, 40)]])
def test_events_keep_the_order_of_the_file_after_a_lost_page(
    workspace: Workspace, minutes: Sequence[int]
) -> None:
    fill_at(workspace, minutes)
    path = workspace.reviews / "alice.jsonl"
    whole = path.read_bytes()
    order = [event.event for event in read_events_and_warnings(workspace)[0]]
    for start in range(0, len(whole) - 4096, 4096):
        path.write_bytes(whole[:start] + bytes(4096) + whole[start + 4096 :])
        events, warnings = read_events_and_warnings(workspace)
        kept = [event.event for event in events]
        assert kept == [event for event in order if event in kept]
        assert 40 < len(kept) < 60
        assert any(CHAIN_BROKEN in warning for warning in warnings)


def test_branches_that_begin_at_a_lost_line_are_sorted_by_time(workspace: Workspace) -> None:
    base = fill_at(workspace, [1, 2])
    lost = parse_line(base[1]).hash
    branches = fill_at(workspace, [9, 10], lost) + fill_at(workspace, [5, 20], lost)
    (workspace.reviews / "alice.jsonl").write_bytes(b"".join([base[0], *branches]))
    assert read_ids(workspace) == [f"simple_{minute}" for minute in (1, 5, 9, 10, 20)]


def test_no_event_is_lost_if_the_lines_are_out_of_order_and_one_is_missing(
    workspace: Workspace,
) -> None:
    lines = fill_at(workspace, range(6))
    for order in itertools.permutations([lines[0], *lines[2:]]):
        (workspace.reviews / "alice.jsonl").write_bytes(b"".join(order))
        found = read_ids(workspace)
        assert sorted(found) == [f"simple_{minute}" for minute in (0, 2, 3, 4, 5)]
        assert [each for each in found if each != "simple_0"] == [
            f"simple_{minute}" for minute in (2, 3, 4, 5)
        ]


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
    path = fill_journal(workspace, count=1)
    with path.open("ab") as file:
        file.write(line + b"\n")
    Journal(workspace, "alice").append(make_key("after"), Annotation())
    assert read_ids(workspace) == ["simple_0", "after"]
    (report,) = check_journals(workspace)
    assert (report.annotator, report.events, len(report.warnings)) == ("alice", 2, 1)


@pytest.mark.sweep
@given(data=st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_random_damage_costs_only_the_lines_it_touches(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    workspace = Workspace(tmp_path_factory.mktemp("damage"))
    path = fill_journal(workspace, count=5)
    whole = path.read_bytes()
    lines = whole.splitlines(keepends=True)
    start = data.draw(st.integers(0, len(whole) - 1))
    length = data.draw(st.integers(0, 40))
    new = data.draw(st.binary(max_size=20))
    path.write_bytes(whole[:start] + new + whole[start + length :])
    touched, at = set(), 0
    for number, line in enumerate(lines):
        # A lost newline damages both of its lines.
        if at <= start + max(length, 1) and start <= at + len(line):
            touched.add(f"simple_{number}")
        at += len(line)
    kept = read_ids(workspace)
    assert {f"simple_{n}" for n in range(5)} - touched <= set(kept)
    assert len(kept) == len(set(kept))
    Journal(workspace, "alice").append(make_key("after"), Annotation())
    assert read_ids(workspace)[-1] == "after"
    assert set(read_ids(workspace)) >= set(kept)


def test_first_line_after_a_byte_order_mark_counts(workspace: Workspace) -> None:
    path = fill_journal(workspace, count=2)
    path.write_bytes(codecs.BOM_UTF8 + path.read_bytes())
    events, warnings = read_events_and_warnings(workspace)
    assert ([event.key.id for event in events], warnings) == (["simple_0", "simple_1"], [])
    Journal(workspace, "alice").append(make_key("next"), Annotation(verdict=True))
    assert len(read_events_and_warnings(workspace)[0]) == 3
    other = Workspace(workspace.root / "other")
    plan_journal_merge(other, workspace).write()
    assert read_events_and_warnings(other) == read_events_and_warnings(workspace)
    assert codecs.BOM_UTF8 not in (other.reviews / "alice.jsonl").read_bytes()
