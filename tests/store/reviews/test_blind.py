"""Reviews have a blind flag, which is unknown in journals without it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from fcreview.model.review import Annotation, Event, find_retracted_events, fold_events
from fcreview.store.reviewer import Reviewer
from fcreview.store.reviews.journal import Journal, JournalError, LineError, hash_event, parse_line
from fcreview.store.reviews.journal_reader import read_events_and_warnings
from fcreview.store.store import Store
from fcreview.store.workspace import Workspace
from tests.store.factory import Imported
from tests.store.reviews.journals import fill_journal, make_key

CALL = Annotation(target="turn:1/call:1", verdict=True)


@pytest.fixture
def workspace(imported: Imported, tmp_path: Path) -> Workspace:
    return imported(tmp_path, {"maple-8b": [{}, {}]})


def record_acts(
    workspace: Workspace, *acts: Annotation | None, blind: bool = True, annotator: str = "alice"
) -> list[bool | None]:
    """Record acts on the first item (None retracts the last one) and return the blind flag of
    each verdict.
    """
    said = []
    with Store.open(workspace, annotator, blind=blind) as store:
        reviewer = Reviewer(store, Journal(workspace, annotator))
        for act in acts:
            if act is None:
                reviewer.undo()
            else:
                said.append(reviewer.review(store.find_items("simple_0")[0], act).blind)
    return said


@pytest.mark.parametrize("blind", [True, False, None])
def test_flag_round_trips(workspace: Workspace, blind: bool | None) -> None:
    journal = Journal(workspace, "alice")
    written = journal.append(make_key(), Annotation(verdict=True), blind=blind)
    events, warnings = read_events_and_warnings(workspace)
    assert warnings == []
    assert events == [written]
    assert written.blind is blind
    (opinion,) = fold_events(events, find_retracted_events(events))
    assert opinion.blind is blind


def test_invalid_flag_is_not_a_review(workspace: Workspace) -> None:
    with pytest.raises(JournalError, match="blind has the wrong type"):
        Journal(workspace, "alice").append(make_key(), Annotation(verdict=True), blind="yes")  # type: ignore[arg-type]
    content = orjson.loads(fill_journal(workspace, count=1).read_bytes()) | {"blind": 1}
    content["hash"] = hash_event(content)
    with pytest.raises(LineError, match="blind has the wrong type"):
        parse_line(orjson.dumps(content))


def test_lines_without_a_flag_count_and_are_unknown(workspace: Workspace) -> None:
    path = fill_journal(workspace, count=2)
    assert b"blind" not in path.read_bytes()
    events, warnings = read_events_and_warnings(workspace)
    assert warnings == []
    assert [opinion.blind for opinion in fold_events(events, set())] == [None]


def test_opinion_has_the_flag_of_its_verdict() -> None:
    def event(number: int, **fields: Any) -> Event:
        return Event(
            event=f"e{number}", time=f"t{number}", annotator="alice", key=make_key(), **fields
        )

    first, noted = event(1, verdict=True, blind=True), event(2, note="why", blind=False)
    changed, taken = event(3, verdict=False, blind=False), event(4, act="retract", retracts="e3")
    assert [o.blind for o in fold_events([first, noted], set())] == [True]
    assert [o.blind for o in fold_events([first, noted, changed], set())] == [False]
    events = [first, noted, changed, taken]
    assert [o.blind for o in fold_events(events, find_retracted_events(events))] == [True]


def test_store_returns_the_flag_of_each_review(workspace: Workspace) -> None:
    record_acts(workspace, Annotation(verdict=True))
    record_acts(workspace, Annotation(verdict=True), blind=False, annotator="bob")
    with Store.open(workspace) as store:
        assert store.run_sql("SELECT annotator, blind FROM reviews ORDER BY 1")[1] == [
            ("alice", True),
            ("bob", False),
        ]
        assert [o.blind for o in store.read_detail(store.find_items("simple_0")[0]).opinions] == [
            True,
            False,
        ]


def test_blind_ends_with_the_first_verdict_on_the_item(workspace: Workspace) -> None:
    assert record_acts(
        workspace, Annotation(note="odd"), Annotation(verdict=True), Annotation(verdict=False)
    ) == [
        True,
        True,
        False,
    ]
    assert record_acts(workspace, Annotation(verdict=True)) == [False]
    assert record_acts(workspace, Annotation(verdict=True), annotator="bob") == [True]


def test_retraction_does_not_make_later_reviews_blind(workspace: Workspace) -> None:
    assert record_acts(workspace, Annotation(verdict=True), None, Annotation(verdict=False)) == [
        True,
        False,
    ]


def test_verdict_on_a_part_ends_blindness_if_it_decides_the_item(workspace: Workspace) -> None:
    argument = Annotation(target="turn:1/call:1/arg:city", verdict=True)
    assert record_acts(workspace, argument, CALL, None, CALL) == [True, True, False]


def test_reviewer_who_saw_verdicts_is_never_blind_on_the_item(workspace: Workspace) -> None:
    assert record_acts(workspace, Annotation(note="looks odd"), blind=False) == [False]
    assert record_acts(workspace, Annotation(verdict=True)) == [False]


def test_verdicts_of_an_earlier_prediction_do_not_end_blindness(workspace: Workspace) -> None:
    with Store.open(workspace, "alice") as store:
        name, _, golden_hash = store.reviews.fetch_key_and_hashes(store.find_items("simple_0")[0])
    Journal(workspace, "alice").append(
        name,
        Annotation(verdict=False),
        prediction_hash="other",
        golden_hash=golden_hash,
        blind=False,
    )
    assert record_acts(workspace, Annotation(verdict=True)) == [True]
