"""The journal reader handles copies, merges and newer versions, and reads only added lines."""

from __future__ import annotations

from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fcreview.model.review import Annotation, Event
from fcreview.store.reviews.journal import (
    Journal,
    LineError,
    hash_and_serialize_event,
    hash_event,
    parse_line,
)
from fcreview.store.reviews.journal_reader import JournalReader, read_events_and_warnings
from fcreview.store.workspace import Workspace
from tests.store.reviews.journals import fill_journal, make_key, read_ids


def test_fields_of_a_newer_version_are_kept(workspace: Workspace) -> None:
    path = fill_journal(workspace, count=1)
    content = orjson.loads(path.read_bytes())
    content.update(version=2, mood={"happy": True})
    content["hash"] = hash_event(content)
    path.write_bytes(orjson.dumps(content) + b"\n")
    (event,), warnings = read_events_and_warnings(workspace)
    assert warnings == []
    assert event.version == 2
    assert event.extra == {"mood": {"happy": True}}


_LINE = st.fixed_dictionaries(
    {},
    optional={
        name: st.one_of(
            st.none(),
            st.booleans(),
            st.integers(-5, 5),
            st.floats(allow_nan=False, allow_infinity=False),
            st.text(max_size=4),
            st.lists(st.one_of(st.text(max_size=3), st.integers(0, 3)), max_size=2),
            st.just({"a": "b"}),
        )
        for name in (each.name for each in fields(Event))
        if name not in ("hash", "extra", "key")
    },
)


@given(_LINE)
def test_valid_events_round_trip(changes: dict[str, Any]) -> None:
    content: dict[str, Any] = {
        "event": "e",
        "time": "t",
        "annotator": "a",
        "act": "review",
        "key": make_key()._asdict(),
        **changes,
    }
    content["hash"] = hash_event(content)
    try:
        event = parse_line(orjson.dumps(content))
    except LineError:
        return
    again, line = hash_and_serialize_event(event, event.previous)
    assert replace(again, hash="") == replace(event, hash="")
    assert parse_line(line) == again
    assert {name: value for name, value in content.items() if value is not None}.items() <= {
        **asdict(event),
        "key": make_key()._asdict(),
    }.items()


def test_merge_of_two_copies_is_the_union_of_lines(tmp_path: Path) -> None:
    here, there = Workspace(tmp_path / "here"), Workspace(tmp_path / "there")
    path = fill_journal(here)
    there.reviews.mkdir(parents=True)
    copy = there.reviews / "alice.jsonl"
    copy.write_bytes(path.read_bytes())
    Journal(here, "alice").append(make_key("here"), Annotation(verdict=True))
    Journal(there, "alice").append(make_key("there"), Annotation(verdict=False))
    Journal(there, "alice").append(make_key("there_2"), Annotation(verdict=False))
    ours, theirs = path.read_bytes().splitlines(), copy.read_bytes().splitlines()
    orders = []
    for union in ([*ours, *theirs], sorted({*ours, *theirs}), [*reversed(theirs), *reversed(ours)]):
        path.write_bytes(b"\n".join(union) + b"\n")
        events, warnings = read_events_and_warnings(here)
        assert warnings == []
        orders.append([event.key[5] for event in events])
    assert orders[0] == orders[1] == orders[2]
    assert orders[0][:3] == ["simple_0", "simple_1", "simple_2"]
    assert sorted(orders[0][3:]) == ["here", "there", "there_2"]
    assert orders[0].index("there") < orders[0].index("there_2")
    Journal(here, "alice").append(make_key("merged"), Annotation())
    assert read_events_and_warnings(here)[1] == []


def test_copy_of_a_journal_counts_nothing_twice(workspace: Workspace) -> None:
    path = fill_journal(workspace)
    path.with_name("alice (copy).jsonl").write_bytes(path.read_bytes())
    assert sorted(read_ids(workspace)) == ["simple_0", "simple_1", "simple_2"]


def test_reader_reads_only_added_lines(workspace: Workspace) -> None:
    path = fill_journal(workspace)
    reader = JournalReader(workspace)
    assert len(reader.read_new_events()) == 3
    assert reader.read_new_events() == []
    Journal(workspace, "alice").append(make_key("more"), Annotation())
    Journal(workspace, "bob").append(make_key("other"), Annotation())
    assert [event.key[5] for event in reader.read_new_events()] == ["more", "other"]
    with path.open("ab") as file:
        file.write(b'{"half')
    assert reader.read_new_events() == []
    assert len(reader.warnings) == 1
    Journal(workspace, "alice").append(make_key("then"), Annotation())
    assert [event.key[5] for event in reader.read_new_events()] == ["then"]
    assert reader.warnings == []


@pytest.mark.parametrize("in_place", [True, False])
def test_reader_detects_a_replaced_journal(workspace: Workspace, in_place: bool) -> None:
    path = fill_journal(workspace)
    reader = JournalReader(workspace)
    reader.read_new_events()
    other = fill_journal(Workspace(workspace.root / "elsewhere"), count=9).read_bytes()
    if in_place:
        path.write_bytes(other)
    else:
        path.with_suffix(".new").write_bytes(other)
        path.with_suffix(".new").replace(path)
    assert len(reader.read_new_events()) == 9
    assert reader.replaced
    assert reader.read_new_events() == []
    assert not reader.replaced
