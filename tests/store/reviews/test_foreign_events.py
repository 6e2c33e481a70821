"""Events in the journal of another annotator do not count."""

from __future__ import annotations

import unicodedata
from dataclasses import replace
from pathlib import Path

import pytest

from fcreview.model.review import Annotation, Event
from fcreview.store.reviewer import Reviewer
from fcreview.store.reviews import decision_cache
from fcreview.store.reviews.journal import Journal, hash_and_serialize_event
from fcreview.store.reviews.journal_reader import check_journals, read_events_and_warnings
from fcreview.store.store import Store
from fcreview.store.workspace import Workspace
from tests.store.factory import import_items
from tests.store.reviews.journals import fill_journal, make_key


def write_journal(workspace: Workspace, name: str, *events: Event) -> None:
    previous, lines = "", []
    for event in events:
        sealed, line = hash_and_serialize_event(event, previous)
        previous = sealed.hash
        lines.append(line)
    workspace.reviews.mkdir(parents=True, exist_ok=True)
    (workspace.reviews / f"{name}.jsonl").write_bytes(b"".join(lines))


def make_retraction(event: Event, annotator: str) -> Event:
    return replace(
        event,
        event="f" * 32,
        act="retract",
        verdict=None,
        retracts=event.event,
        annotator=annotator,
    )


@pytest.fixture
def reviewed_workspace(tmp_path: Path) -> tuple[Workspace, Event]:
    """A workspace with one item, and alice's review of it."""
    workspace, _ = import_items(tmp_path / "run", {"maple-8b": [{}]})
    with Store.open(workspace, "alice") as store:
        event = Reviewer(store, Journal(workspace, "alice")).review(
            store.find_items("simple_0")[0], Annotation(verdict=True)
        )
    return workspace, event


def read_verdicts_of_alice(workspace: Workspace) -> list[list[object]]:
    """Alice's verdict in the list of items and in the SQL view `reviews`."""
    with Store.open(workspace, "alice") as store:
        (row,) = store.fetch_rows(store.find_items("simple_0"))
        found = store.run_sql("SELECT verdict FROM reviews WHERE annotator = 'alice'")[1]
        return [[row.you], [each[0] for each in found]]


@pytest.mark.parametrize("annotator", ["alice", "mallory"])
def test_review_of_another_annotator_cannot_be_retracted(
    reviewed_workspace: tuple[Workspace, Event], annotator: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decision_cache, "MIN_EVENTS", 1)
    workspace, event = reviewed_workspace
    write_journal(workspace, "mallory", make_retraction(event, annotator))
    for _ in range(2):
        assert read_verdicts_of_alice(workspace) == [[True], ["true"]]
    message = (
        "mallory.jsonl line 1: fcreview ignores 1 event by 'alice', because only events by"
        " 'mallory' count in this file"
    )
    expected = [message] if annotator == "alice" else []
    assert read_events_and_warnings(workspace)[1] == expected
    assert [report.warnings for report in check_journals(workspace)] == [[], expected]


def test_review_of_another_annotator_cannot_be_replaced(
    reviewed_workspace: tuple[Workspace, Event],
) -> None:
    workspace, event = reviewed_workspace
    other = replace(event, event="e" * 32, verdict=False, time="2099-01-01T00:00:00.000Z")
    write_journal(
        workspace,
        "mallory",
        other,
        replace(other, event="d" * 32),
        replace(other, annotator="m\x1b[2J" * 9),
    )
    assert read_verdicts_of_alice(workspace) == [[True], ["true"]]
    assert [text.partition(", because")[0] for text in read_events_and_warnings(workspace)[1]] == [
        "mallory.jsonl line 1: fcreview ignores 2 events by 'alice'",
        "mallory.jsonl line 3: fcreview ignores 1 event by"
        f" {('m' + chr(27) + '[2J') * 6 + 'm' + chr(27)!a}",
    ]


def test_event_with_the_id_of_another_event_hides_nothing(
    reviewed_workspace: tuple[Workspace, Event],
) -> None:
    workspace, event = reviewed_workspace
    write_journal(workspace, "aaron", replace(event, annotator="aaron", verdict=False))
    assert read_verdicts_of_alice(workspace) == [[True], ["true"]]
    assert read_events_and_warnings(workspace)[1] == []


def test_chain_continues_after_a_line_that_is_set_aside(workspace: Workspace) -> None:
    path = fill_journal(workspace, count=2)
    (first, last), _ = read_events_and_warnings(workspace)
    sealed, line = hash_and_serialize_event(
        replace(first, event="e" * 32, annotator="bob"), last.hash
    )
    path.write_bytes(path.read_bytes() + line)
    Journal(workspace, "alice").append(make_key("next"), Annotation(verdict=True))
    events, warnings = read_events_and_warnings(workspace)
    assert [event.key.id for event in events] == ["simple_0", "simple_1", "next"]
    assert events[-1].previous == sealed.hash
    assert len(warnings) == 1 and "line 3: fcreview ignores 1 event by 'bob'" in warnings[0]


def test_unicode_form_of_the_file_name_does_not_matter(workspace: Workspace) -> None:
    path = fill_journal(workspace, "jürgen")
    path.rename(path.with_name(unicodedata.normalize("NFD", path.name)))
    events, warnings = read_events_and_warnings(workspace)
    assert (len(events), warnings) == (3, [])
