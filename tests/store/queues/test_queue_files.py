"""Queue files have items, shares and repeated items that work with a real store."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fcreview.model.review import Annotation
from fcreview.stats.sampling import ShareOptions
from fcreview.store.queue_file import (
    QueueError,
    QueueFile,
    list_queue_names,
    queue_path,
    read_queue,
    write_queue,
)
from fcreview.store.queue_sampling import QueueRequest, merge_queues
from fcreview.store.reviewer import Reviewer
from fcreview.store.reviews.journal import Journal
from fcreview.store.rows import View
from fcreview.store.store import Store
from fcreview.store.workspace import Workspace
from tests.store.factory import Imported

SHARING = ShareOptions(["alice", "bob"], overlap=6, repeats=2, seed=7)
WANTED = QueueRequest("pilot", View(where="-category:left_out"), 18, "category", SHARING)
SHARE = View(queue="pilot", share=True)


@pytest.fixture
def workspace(imported: Imported, tmp_path: Path) -> Workspace:
    """A workspace with 40 items: 30 of one category, 6 of another, and 4 that the queue
    excludes.
    """
    names = [*["large"] * 30, *["small"] * 6, *["left_out"] * 4]
    return imported(tmp_path / "here", {"maple-8b": [{"category": name} for name in names]})


@pytest.fixture
def store(workspace: Workspace) -> Iterator[Store]:
    with Store.open(workspace, "alice") as store:
        write_queue(workspace, store.draw_queue(WANTED))
        yield store


def record_review(store: Store, number: int, verdict: Any, queue: str | None = "pilot") -> None:
    reviewer = Reviewer(store, Journal(store.workspace, store.annotator or ""))
    reviewer.queue = queue
    reviewer.review(number, Annotation(verdict=verdict))


def create_shared_queue(store: Store) -> list[int]:
    return [row.item for row in store.fetch_page(SHARE, 0, 100)]


def test_queue_file_round_trips_and_is_reproducible(store: Store, workspace: Workspace) -> None:
    again, read = store.draw_queue(WANTED), read_queue(workspace, "pilot")
    assert read.has_same_content(again) and replace(again, created=read.created) == read
    assert [(each.name, each.size, each.drawn) for each in read.strata] == [
        ("large", 30, 15),
        ("small", 6, 3),
    ]
    assert {item.probability for item in read.items} == {0.5}
    assert sum(item.overlap for item in read.items) == 6
    other = store.draw_queue(replace(WANTED, sharing=replace(SHARING, seed=8)))
    assert not read.has_same_content(other)


def test_queue_file_has_inclusion_probabilities_as_json(store: Store, workspace: Workspace) -> None:
    content = json.loads(queue_path(workspace, "pilot").read_text())
    assert (
        content["items"][0]["key"]["benchmark"] == "bfcl" and content["items"][0]["prediction_hash"]
    )
    assert content["strata"][0] == {"name": "large", "size": 30, "drawn": 15, "probability": 0.5}
    assert [len(share["order"]) for share in content["shares"]] == [14, 14]
    assert content["design"]["runs"][0]["model"] == "maple-8b"


def test_older_versions_read_a_queue_without_newer_features(
    store: Store, workspace: Workspace
) -> None:
    """Older versions refuse a file with a field that they do not know."""
    newer_fields = {"same_questions", "blind"}
    content = json.loads(queue_path(workspace, "pilot").read_text())
    assert newer_fields.isdisjoint(content["design"])

    queue = store.draw_queue(replace(WANTED, name="blind"))
    blind_queue = replace(queue, design=replace(queue.design, blind=True))
    write_queue(workspace, blind_queue)
    content = json.loads(queue_path(workspace, "blind").read_text())
    assert newer_fields & content["design"].keys() == {"blind"}
    assert read_queue(workspace, "blind").design.blind


def test_queue_is_never_overwritten(store: Store, workspace: Workspace) -> None:
    before = queue_path(workspace, "pilot").read_bytes()
    with pytest.raises(QueueError, match="already"):
        write_queue(workspace, store.draw_queue(WANTED))
    for name in ("failures", "../pilot", "", "Pilot"):
        with pytest.raises(QueueError):
            write_queue(workspace, replace(store.draw_queue(WANTED), name=name))
    assert queue_path(workspace, "pilot").read_bytes() == before
    assert [path.name for path in workspace.queues.iterdir()] == ["pilot.json"]


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (lambda c: c | {"fcreview_queue": 9}, "another version"),
        (lambda c: c | {"name": "other"}, "contains the queue 'other'"),
        (
            lambda c: c | {"shares": [{"annotator": "a", "order": [99], "repeats": []}]},
            "an item that does not exist",
        ),
        (lambda c: c | {"items": [{"key": {"id": 3}}]}, "is not a valid queue file"),
        (lambda c: [], "is not a valid queue file"),
        (
            lambda c: c | {"design": c["design"] | {"seed": "seven"}},
            r"is not a valid queue file.*design\.seed",
        ),
        (
            lambda c: c | {"design": c["design"] | {"later": 1}},
            r"is not a valid queue file \(design\.later: unknown field\)",
        ),
        (
            lambda c: c | {"shares": [c["shares"][0] | {"later": 1}]},
            r"is not a valid queue file \(shares\.0\.later: unknown field\)",
        ),
        (
            lambda c: {name: value for name, value in c.items() if name != "shares"},
            r"\(shares: Field required\)",
        ),
    ],
)
def test_damaged_file_is_reported(
    store: Store, workspace: Workspace, damage: Any, why: str
) -> None:
    path = queue_path(workspace, "pilot")
    path.write_text(json.dumps(damage(json.loads(path.read_text()))))
    with pytest.raises(QueueError, match=why):
        read_queue(workspace, "pilot")


def test_each_annotator_gets_a_share_in_its_order(store: Store, workspace: Workspace) -> None:
    queue = read_queue(workspace, "pilot")
    share = queue.find_share("alice")
    assert share is not None
    rows = store.fetch_page(SHARE, 0, 100)
    assert [row.id for row in rows] == [queue.items[at].key.id for at in share.order]
    assert len({row.item for row in rows}) == 14 and len({row.id for row in rows}) == 12
    assert [store.find_position(SHARE, row.item) for row in rows] == list(range(14))
    whole = store.fetch_page(View(queue="pilot"), 0, 100)
    assert {row.id for row in whole} == {item.key.id for item in queue.items} and len(whole) == 18
    assert store.fetch_facets(View(queue="pilot"))["category"] == [("large", 15), ("small", 3)]


def find_repeated(store: Store, queue: QueueFile) -> tuple[int, int]:
    """Return the positions of the first and second presentation of an item."""
    share = queue.find_share("alice")
    assert share is not None
    place = share.repeats[0]
    numbers = create_shared_queue(store)
    return numbers[share.order.index(share.order[place])], numbers[place]


def test_second_review_hides_the_first_and_changes_no_label(
    store: Store, workspace: Workspace
) -> None:
    first, second = find_repeated(store, read_queue(workspace, "pilot"))
    record_review(store, first, True)
    row, detail = store.fetch_rows([second])[0], store.read_detail(second)
    assert (row.you, row.human, detail.row.you, detail.opinions, detail.history) == (
        None,
        None,
        None,
        [],
        [],
    )
    record_review(store, second, False)
    assert (store.fetch_rows([first])[0].you, store.fetch_rows([second])[0].you) == (True, False)
    assert (
        store.fetch_rows([first])[0].human is True
        and store.fetch_rows([first])[0].effective is True
    )
    lines = [
        json.loads(line) for line in (workspace.reviews / "alice.jsonl").read_text().splitlines()
    ]
    assert [(line.get("queue"), line.get("presentation")) for line in lines] == [
        ("pilot", None),
        ("pilot", 2),
    ]
    both = store.analysis.fetch_duplicate_reviews(View(queue="pilot"))
    assert [(each.annotator, each.first, each.second) for each in both] == [("alice", True, False)]


def test_later_changes_do_not_count_as_second_review(store: Store, workspace: Workspace) -> None:
    first, second = find_repeated(store, read_queue(workspace, "pilot"))
    for number, verdict in ((first, False), (second, False), (first, True)):
        record_review(store, number, verdict)
    assert [
        (each.first, each.second) for each in store.analysis.fetch_duplicate_reviews(View())
    ] == [(False, False)]
    assert store.fetch_rows([first])[0].you is True


def test_undo_retracts_only_the_second_review(store: Store, workspace: Workspace) -> None:
    first, second = find_repeated(store, read_queue(workspace, "pilot"))
    record_review(store, first, True)
    record_review(store, second, False)
    Reviewer(store, Journal(workspace, "alice")).undo()
    assert (store.fetch_rows([first])[0].you, store.fetch_rows([second])[0].you) == (True, None)
    assert store.analysis.fetch_duplicate_reviews(View()) == []


def test_progress_counts_presentations(store: Store, workspace: Workspace) -> None:
    first, second = find_repeated(store, read_queue(workspace, "pilot"))
    record_review(store, first, True)
    record_review(store, second, "unsure")
    done = {
        each.annotator: (each.done, each.total, each.missing)
        for each in store.measure_queue_progress("pilot")
    }
    assert done == {"alice": (2, 14, 0), "bob": (0, 14, 0)}


def test_repeat_is_blind_although_the_first_review_revealed_verdicts(
    store: Store, workspace: Workspace
) -> None:
    with Store.open(workspace, "alice", blind=True) as blind:
        first, second = find_repeated(blind, read_queue(workspace, "pilot"))
        record_review(blind, first, True)
        assert blind.fetch_rows([first])[0].official is False
        row, detail = blind.fetch_rows([second])[0], blind.read_detail(second)
        assert (row.official, row.rule, row.error_type, row.first_difference) == (
            None,
            None,
            None,
            None,
        )
        assert (detail.item.official, detail.item.verdicts, detail.opinions) == (None, [], [])


def test_item_that_is_not_in_the_store_is_missing(store: Store, workspace: Workspace) -> None:
    queue = read_queue(workspace, "pilot")
    gone = replace(queue.items[0], key=queue.items[0].key._replace(id="gone"))
    write_queue(workspace, replace(queue, name="later", items=[gone, *queue.items[1:]]))
    assert sum(each.missing for each in store.measure_queue_progress("later")) >= 1
    assert store.count_items(View(queue="later")) == 17


def test_merge_reports_an_invalid_queue_name_and_imports_others(
    store: Store, workspace: Workspace
) -> None:
    other = Workspace(workspace.root.parent / "there")
    pilot = read_queue(workspace, "pilot")
    write_queue(other, replace(pilot, name="zebra"))
    for name in ("-rf", " ", "dataset"):
        text = queue_path(other, "zebra").read_text().replace('"zebra"', json.dumps(name))
        (other.queues / f"{name}.json").write_text(text)
    found = [(each.queue, each.state) for each in merge_queues(workspace, other)]
    assert found == [
        (" ", "unreadable"),
        ("-rf", "unreadable"),
        ("dataset", "unreadable"),
        ("zebra", "new"),
    ]
    assert sorted(list_queue_names(workspace)) == ["pilot", "zebra"]


def test_merge_adds_new_queues_and_keeps_both_different_ones(
    store: Store, workspace: Workspace
) -> None:
    other = Workspace(workspace.root.parent / "there")
    changed = replace(read_queue(workspace, "pilot"), created="earlier")
    write_queue(other, changed)
    write_queue(other, replace(changed, name="second"))
    found = [(each.queue, each.state, each.kept_as) for each in merge_queues(workspace, other)]
    assert found == [("pilot", "known", "pilot"), ("second", "new", "second")]
    queue_path(other, "pilot").unlink()
    write_queue(other, store.draw_queue(replace(WANTED, sharing=replace(SHARING, seed=9))))
    (other.queues / "broken.json").write_text("{")
    for _ in range(2):
        found = [(each.queue, each.state, each.kept_as) for each in merge_queues(workspace, other)]
        assert found == [
            ("", "unreadable", ""),
            ("pilot", "differs", "pilot-2"),
            ("second", "known", "second"),
        ]
    assert len(list(workspace.queues.iterdir())) == 3
