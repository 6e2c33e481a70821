"""All readers put the lines of an annotator into the same order, from all files and from any
part of the lines.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from fcreview.model.review import Annotation, Event
from fcreview.store.reviews import journal as journal_module
from fcreview.store.reviews.journal import Journal, hash_and_serialize_event
from fcreview.store.reviews.journal_merge import plan_journal_merge
from fcreview.store.reviews.journal_reader import JournalReader, read_events_and_warnings
from fcreview.store.reviews.line_order import (
    MAX_STAMPS,
    FileLine,
    LineOrder,
    Place,
    order_events,
    parse_place,
)
from fcreview.store.reviews.server_places import append_server_places
from fcreview.store.workspace import Workspace
from tests.store.reviews.journals import make_key

SetHour = Callable[[int], None]


@pytest.fixture
def set_hour(monkeypatch: pytest.MonkeyPatch) -> SetHour:
    """Return a function that sets the clock of all journals to an hour of a day."""

    def set_clock(hour: int) -> None:
        class Clock(datetime):
            @classmethod
            def now(cls, tz: object = None) -> datetime:  # type: ignore[override]
                return datetime(2026, 3, 1, hour, tzinfo=UTC)

        monkeypatch.setattr(journal_module, "datetime", Clock)

    return set_clock


def review(workspace: Workspace, verdict: bool) -> Event:
    return Journal(workspace, "alice").append(make_key(), Annotation(verdict=verdict))


def copy_to_machine(source: Workspace, target: Workspace) -> None:
    plan_journal_merge(target, source, include_own=True).write()


def read_hashes(workspace: Workspace) -> list[str]:
    return [event.hash for event in read_events_and_warnings(workspace)[0]]


def write_lines(path: Path, source: Workspace, events: list[Event]) -> None:
    """Write the lines of these events, which are in the journal of a workspace, to a file."""
    lines = (source.reviews / "alice.jsonl").read_bytes().splitlines(keepends=True)
    wanted = {event.hash.encode() for event in events}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(line for line in lines if any(name in line[-40:] for name in wanted)))


def make_old_chain(times: list[str], start: str = "") -> list[Event]:
    """Make events of an older version of fcreview, which have no place."""
    events: list[Event] = []
    for number, time in enumerate(times):
        event = Event(
            event=f"{start[:4]}{number:04}",
            time=time,
            annotator="alice",
            key=make_key(),
            verdict=True,
        )
        events.append(hash_and_serialize_event(event, events[-1].hash if events else start)[0])
    return events


def test_later_review_counts_after_a_fast_clock_on_one_of_two_machines(
    tmp_path: Path, set_hour: SetHour
) -> None:
    """The last line follows a line of the other machine in the chain, but its writer also knew
    the line before that.
    """
    here, there = Workspace(tmp_path / "here"), Workspace(tmp_path / "there")
    set_hour(12)
    first = review(here, verdict=True)
    copy_to_machine(here, there)
    set_hour(15)
    fast = review(here, verdict=False)
    set_hour(13)
    other = review(there, verdict=True)
    copy_to_machine(there, here)
    set_hour(14)
    last = review(here, verdict=True)
    assert last.previous == other.hash
    assert read_hashes(here) == [event.hash for event in (first, other, fast, last)]
    copy_to_machine(here, there)
    assert read_hashes(there) == read_hashes(here)


def test_part_of_the_lines_has_the_same_order(tmp_path: Path, set_hour: SetHour) -> None:
    """The clock goes back at a line that the reader does not receive."""
    here, there = Workspace(tmp_path / "here"), Workspace(tmp_path / "there")
    events = []
    for hour in (12, 15, 13, 14):
        set_hour(hour)
        events.append(review(here, verdict=True))
    write_lines(there.team_reviews / "alice.jsonl", here, [events[1], events[3]])
    assert read_hashes(there) == [events[1].hash, events[3].hash]


def test_lines_received_after_a_reveal_are_ordered_with_the_others(
    tmp_path: Path, set_hour: SetHour
) -> None:
    here, there = Workspace(tmp_path / "here"), Workspace(tmp_path / "there")
    set_hour(12)
    old = review(here, verdict=True)
    set_hour(13)
    new = review(here, verdict=False)
    write_lines(there.team_reviews / "alice.jsonl", here, [new])
    write_lines(there.informed_team_reviews / "alice.jsonl", here, [old])
    events = read_events_and_warnings(there)[0]
    assert [event.hash for event in events] == [old.hash, new.hash]
    assert [event.blind for event in events] == [False, None]


def test_open_reader_moves_an_older_line_that_arrives_late(
    tmp_path: Path, set_hour: SetHour
) -> None:
    here, there = Workspace(tmp_path / "here"), Workspace(tmp_path / "there")
    set_hour(12)
    older = review(there, verdict=True)
    set_hour(13)
    newer = review(here, verdict=False)
    reader = JournalReader(here)
    assert [event.hash for event in reader.read_new_events()] == [newer.hash]
    copy_to_machine(there, here)
    assert [event.hash for event in reader.read_new_events()] == [older.hash, newer.hash]
    assert reader.replaced
    assert read_hashes(here) == [older.hash, newer.hash]
    review(here, verdict=True)
    assert len(reader.read_new_events()) == 1
    assert not reader.replaced


def test_open_reader_notices_places_from_the_server(workspace: Workspace) -> None:
    events = make_old_chain(["12", "11"])
    lines = [hash_and_serialize_event(event, event.previous)[1] for event in events]
    workspace.team_reviews.mkdir(parents=True)
    later = make_old_chain(["10"], start="f" * 32)
    (workspace.team_reviews / "alice.jsonl").write_bytes(
        lines[0] + hash_and_serialize_event(later[0], later[0].previous)[1]
    )
    reader = JournalReader(workspace)
    assert [event.time for event in reader.read_new_events()] == ["10", "12"]
    append_server_places(workspace, "alice", {later[0].hash: parse_place(["14 0", "10 0"])})
    assert [event.time for event in reader.read_new_events()] == ["12", "10"]
    assert reader.replaced
    (workspace.team_reviews / "alice.places").unlink()
    assert [event.time for event in reader.read_new_events()] == ["10", "12"]


def sort_by_chain_and_time(events: list[Event]) -> list[str]:
    """The order of older versions: the earliest event whose previous event has been taken comes
    next.
    """
    followers: dict[str, list[Event]] = {}
    for event in events:
        followers.setdefault(event.previous, []).append(event)
    ready = [(event.time, event.event, event.hash) for event in followers.get("", [])]
    heapq.heapify(ready)
    ordered = []
    while ready:
        name = heapq.heappop(ready)[-1]
        ordered.append(name)
        for event in followers.get(name, []):
            heapq.heappush(ready, (event.time, event.event, event.hash))
    return ordered


@pytest.mark.parametrize("seed", range(20))
def test_journals_of_older_versions_keep_their_order(seed: int) -> None:
    chance = random.Random(seed)
    times = [f"{number:03}" for number in chance.sample(range(900), 60)]
    events = make_old_chain(times[:12])
    for start in range(12, 60, 12):  # branches of other machines
        events += make_old_chain(times[start : start + 12], start=chance.choice(events).hash)
    expected = sort_by_chain_and_time(events)
    chance.shuffle(events)
    assert [event.hash for event in order_events(events)] == expected


def test_old_line_after_a_gap_stays_after_the_line_before_it() -> None:
    events = make_old_chain(["12", "13", "11", "10"])
    del events[1]
    assert [event.time for event in order_events(events)] == ["12", "11", "10"]


def test_lines_that_come_later_get_the_same_order_as_in_a_new_reader() -> None:
    """Random parts of two branches arrive one after the other.

    Each part is added at the end, or all is read again.
    """
    chance = random.Random(7)
    for _ in range(50):
        events = make_old_chain([str(chance.randrange(100, 200)) for _ in range(8)])
        events += make_old_chain(
            [str(chance.randrange(100, 200)) for _ in range(8)], start=events[3].hash
        )
        chance.shuffle(events)
        order, shown, read = LineOrder(), list[Event](), list[FileLine]()
        for start in range(0, 16, 4):
            part = [FileLine(event, "") for event in events[start : start + 4]]
            read += part
            new = order.add_lines(part)
            if new is None:
                order, shown = LineOrder(), []
                new = order.add_lines(read) or []
            shown += new
            assert shown == order_events((line.event for line in read), is_partial=True)


@pytest.mark.parametrize("text", ["", "12", "12 ", "12 x", "12 -3", "12 ²", "12 1234567890123456"])
def test_place_of_an_unknown_form_is_ignored(text: str) -> None:
    assert parse_place([text]) is None
    assert parse_place(["13 0", text]) is None


def test_place_has_a_limited_length() -> None:
    """The clock goes back before every line."""
    place = Place()
    for number in range(1000, 0, -1):
        following = place.next_at(f"{number:04}")
        assert following.stamps > place.stamps
        place = following
    assert len(place.stamps) == MAX_STAMPS
    assert parse_place(place.to_texts()) == place
    assert parse_place([*place.to_texts(), "0000 1"]) is None


def test_time_decides_between_two_machines_that_know_of_a_fast_clock(
    tmp_path: Path, set_hour: SetHour
) -> None:
    here, there = Workspace(tmp_path / "here"), Workspace(tmp_path / "there")
    set_hour(20)
    fast = review(here, verdict=True)
    copy_to_machine(here, there)
    reviews = []
    for hour, workspace in ((9, here), (10, here), (8, there), (11, there)):
        set_hour(hour)
        reviews.append(review(workspace, verdict=False))
    copy_to_machine(here, there)
    first, second, third, fourth = reviews
    assert read_hashes(there) == [event.hash for event in (fast, third, first, second, fourth)]


def test_writer_reads_places_that_another_process_appended(
    workspace: Workspace, set_hour: SetHour
) -> None:
    first, second = Journal(workspace, "alice"), Journal(workspace, "alice")
    places = []
    for hour, writer in ((15, first), (12, second), (13, first), (14, second)):
        set_hour(hour)
        places.append(parse_place(writer.append(make_key(), Annotation(verdict=True)).place))
    assert all(place is not None for place in places)
    assert [[stamp.clock[11:13] for stamp in place.stamps] for place in places if place] == [
        ["15"],
        ["15", "12"],
        ["15", "13"],
        ["15", "14"],
    ]
