"""The mark of an incident in blind mode, and the rule in Python and in SQL."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fcreview.model.incident import (
    INCIDENT,
    INCIDENT_KINDS,
    Incident,
    decide_incident,
    describe_incident,
)
from fcreview.model.review import Annotation
from fcreview.store.filters.parser import FilterError, parse_filter
from fcreview.store.reviewer import Reviewer
from fcreview.store.reviews.journal import Journal
from fcreview.store.store import Store, View
from fcreview.store.workspace import Workspace
from tests.store.factory import Imported

RATE_LIMIT = {"incident": "rate_limit", "incident_text": "429", "incident_where": "result"}
ROWS: list[dict[str, Any]] = [
    RATE_LIMIT | {"incident_certainty": "rule"},
    {"incident": "limit", "incident_certainty": "marked"},
    {"incident": "empty_reply", "incident_certainty": "weak"},
    {"flags": ["scored_twice"]},
]


@pytest.fixture
def workspace(imported: Imported, tmp_path: Path) -> Workspace:
    return imported(tmp_path / "runs", {"maple": ROWS})


def mark(workspace: Workspace, annotator: str, number: int, verdict: bool) -> None:
    with Store.open(workspace, annotator) as store:
        item = store.fetch_page(View(queue="dataset"), number, 1)[0].item
        Reviewer(store, Journal(workspace, annotator)).review(
            item, Annotation(criterion=INCIDENT, verdict=verdict)
        )


def find_incidents(workspace: Workspace, annotator: str, *, blind: bool) -> list[str]:
    with Store.open(workspace, annotator, blind=blind) as store:
        return [row.id for row in store.fetch_page(View("incident:any", "dataset"), 0, 10)]


def test_blind_annotator_sees_the_automatic_and_their_own_marks_but_not_those_of_others(
    workspace: Workspace,
) -> None:
    mark(workspace, "ada", 0, verdict=False)
    mark(workspace, "bob", 3, verdict=True)
    assert find_incidents(workspace, "ada", blind=False) == ["simple_3"]
    assert find_incidents(workspace, "ada", blind=True) == []
    assert find_incidents(workspace, "bob", blind=True) == ["simple_0", "simple_3"]
    with Store.open(workspace, "bob", blind=True) as store:
        rows = store.fetch_page(View(queue="dataset"), 0, 10)
    assert [row.incident for row in rows] == ["rate_limit", "limit", "empty_reply", "unknown"]
    assert [row.flags for row in rows] == [None] * 4


def test_blind_mode_refuses_flags_because_only_failing_items_have_score_entries() -> None:
    parse_filter("incident:any", blind=True)
    with pytest.raises(FilterError, match="blind"):
        parse_filter("flag:any", blind=True)


@pytest.mark.parametrize("verdict", [True, False])
def test_sql_and_python_decide_marks_alike(workspace: Workspace, verdict: bool) -> None:
    automatic = [
        Incident("rate_limit", "429", "result", "rule"),
        Incident("limit", "", "", "marked"),
        Incident("empty_reply", "", "", "weak"),
        None,
    ]
    for number in range(4):
        mark(workspace, "ada", number, verdict=verdict)
    with Store.open(workspace, "ada") as store:
        rows = store.fetch_page(View(queue="dataset"), 0, 10)
    for row, own in zip(rows, automatic, strict=True):
        decided = decide_incident(own, verdict)
        expected = (
            (None, None, False)
            if decided is None
            else (decided.kind, decided.certainty, decided.counts)
        )
        assert (row.incident, row.incident_certainty, row.is_incident) == expected


def test_every_kind_has_a_sentence_of_its_own() -> None:
    sentences = {describe_incident(kind, "rule") for kind in INCIDENT_KINDS}
    assert len(sentences) == len(INCIDENT_KINDS)
    assert describe_incident("rate_limit", "weak") == "empty reply"


@pytest.mark.parametrize("queue", ["random", "stratified"])
def test_incidents_come_last_in_random_orders(workspace: Workspace, queue: str) -> None:
    for seed in range(5):
        with Store.open(workspace, "ada") as store:
            rows = store.fetch_page(View(queue=queue, seed=seed), 0, 10)
        assert len(rows) == 4
        assert [row.is_incident for row in rows] == [False, False, False, True]
