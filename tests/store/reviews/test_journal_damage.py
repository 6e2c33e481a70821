"""Whatever happened to a journal, what is whole in it counts."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fcreview.model.review import Annotation
from fcreview.store.reviews.journal import Journal, JournalError
from fcreview.store.reviews.journal_reader import check_journals, read_journals, torn_line_path
from fcreview.store.workspace import Workspace
from tests.store.reviews.journals import fill, ids, key


@pytest.mark.sweep
@pytest.mark.slow
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

        Journal(workspace, "alice").append(key("next"), Annotation(verdict=True))
        assert path.read_bytes().startswith(whole[:cut])  # nothing overwritten, nothing deleted
        events, warnings = read_journals(workspace)
        assert [event.key[5] for event in events] == [*before, "next"]
        assert warnings == []
        (report,) = check_journals(workspace)
        assert len(report.torn) == (1 if fragment and not complete else 0)
        assert report.warnings == []
        copies = [file.read_bytes() for file in sorted((path.parent / "torn").glob("alice-*.txt"))]
        assert copies == ([fragment] if fragment and not complete else [])


@pytest.mark.parametrize("kind", ["pipe", "device", "folder"])
def test_what_stands_in_the_place_of_the_copy_is_not_waited_for(workspace: Workspace, kind: str) -> None:
    path = fill(workspace)
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
    read_journals(workspace)
    if kind == "folder":
        with pytest.raises(JournalError, match="not saved"):
            Journal(workspace, "alice").append(key("next"), Annotation(verdict=True))
        assert ids(workspace) == ["simple_0", "simple_1", "simple_2"]
    else:
        Journal(workspace, "alice").append(key("next"), Annotation(verdict=True))
        assert ids(workspace) == ["simple_0", "simple_1", "simple_2", "next"]
        assert copy.read_bytes() == fragment


def test_an_altered_line_is_not_counted_and_not_deleted(workspace: Workspace) -> None:
    path = fill(workspace)
    data = path.read_bytes().replace(b'"verdict":false', b'"verdict":true')
    path.write_bytes(data)
    events, warnings = read_journals(workspace)
    assert [event.key[5] for event in events] == ["simple_0", "simple_2"]
    assert warnings == ["alice.jsonl line 2: altered: the hash does not match the content, skipped"]
    Journal(workspace, "alice").append(key("next"), Annotation())
    assert path.read_bytes().startswith(data)


def test_a_missing_line_breaks_the_chain_with_a_warning(workspace: Workspace) -> None:
    path = fill(workspace)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + lines[2])
    assert ids(workspace) == ["simple_0", "simple_2"]
    assert read_journals(workspace)[1] == ["alice.jsonl line 2: chain broken: the previous event is missing"]


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
    Journal(workspace, "alice").append(key("after"), Annotation())
    assert ids(workspace) == ["simple_0", "after"]
    (report,) = check_journals(workspace)
    assert (report.annotator, report.events, len(report.warnings)) == ("alice", 2, 1)


@pytest.mark.sweep
@given(data=st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
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
    Journal(workspace, "alice").append(key("after"), Annotation())
    assert ids(workspace)[-1] == "after"
    assert set(ids(workspace)) >= set(kept)
