"""Built-in queues select and order the right items, and use verdicts on parts."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import asdict
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from fcreview.model.item import ArgumentDiff, CallPair, Verdict
from fcreview.model.review import Annotation
from fcreview.store.filters.parser import FilterError
from fcreview.store.reviewer import Reviewer
from fcreview.store.reviews.journal import Journal
from fcreview.store.rows import View, to_item_number
from fcreview.store.store import Store
from fcreview.store.workspace import Workspace, find_workspace
from tests.labels import fetch_labels
from tests.store.factory import import_finished_items, make_item

CALL = "turn:1/call:1"
OFFICIAL = Verdict("official", False)


def make_pair(*states: str) -> list[CallPair]:
    return [
        CallPair(
            0,
            0,
            0,
            "get_weather",
            "!",
            [ArgumentDiff(f"a{at}", state=s, reason=None) for at, s in enumerate(states)],
        )
    ]


ITEMS: list[dict[str, Any]] = [
    {
        "verdicts": [
            OFFICIAL,
            Verdict("judge", True, target=CALL, criterion="equivalent", by="gpt"),
        ],
        "pairs": make_pair("!", "=", "~"),
    },
    {
        "verdicts": [Verdict("judge", False, target=CALL, criterion="equivalent", by="gpt")],
        "pairs": make_pair("!", "!"),
    },
    {
        "verdicts": [Verdict("judge", 1, target="response", criterion="completeness")],
        "official": True,
        "pairs": make_pair("="),
    },
    {
        "verdicts": [Verdict("judge", 2, target="response", criterion="completeness")],
        "official": True,
        "pairs": make_pair("="),
    },
    {
        "verdicts": [Verdict("rule", 0.5, target=CALL, criterion="soft_score")],
        "pairs": [*make_pair("="), CallPair(0, 1, None, "f", "-", [])],
    },
    {
        "verdicts": [Verdict("judge", True, target=f"{CALL}/arg:a", criterion="hallucinated")],
        "pairs": make_pair("-"),
    },
]


@pytest.fixture(scope="module")
def imported_items(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("builtin")
    import_finished_items(place, [make_item(at, **each) for at, each in enumerate(ITEMS)])
    return place


@pytest.fixture
def workspace(imported_items: Path, tmp_path: Path) -> Workspace:
    shutil.copytree(imported_items, tmp_path, dirs_exist_ok=True)
    return find_workspace(tmp_path)


@pytest.fixture
def store(workspace: Workspace) -> Iterator[Store]:
    with Store.open(workspace, "alice") as store:
        yield store


def find_ids(store: Store, where: str = "", queue: str = "dataset", seed: int = 0) -> list[int]:
    return [row.seq for row in store.fetch_page(View(where, queue, seed), 0, 100)]


@pytest.mark.parametrize(
    ("queue", "holds"),
    [("judged", [0, 1, 2, 3, 5]), ("uncertain", [0, 2, 5])],
)
def test_queues_select_items(store: Store, queue: str, holds: list[int]) -> None:
    """An item is uncertain if one argument differs or its score is near the middle, not for more
    differences.
    """
    assert find_ids(store, queue=queue) == holds
    assert store.count_items(View(queue=queue)) == len(holds)
    assert sum(len(lines) > 0 for lines in store.iter_label_batches(View(queue=queue))) == 1
    assert store.fetch_facets(View(queue=queue))["run"] == [("1", len(holds))]


@pytest.mark.parametrize(
    ("where", "holds"),
    [
        ("judge:fail", [1, 5]),
        ("judge:pass", [0]),
        ("judge:any", [0, 1, 2, 3, 5]),
        ("judge:unknown", [4]),
        ("criterion:equivalent", [0, 1]),
        ("criterion:equivalent|hallucinated", [0, 1, 5]),
        ("-criterion:completeness official:pass", []),
        ("score<2", [2, 4]),
        ("score:2", [3]),
        ("score<1", [4]),
    ],
)
def test_filters_use_verdicts_on_parts(store: Store, where: str, holds: list[int]) -> None:
    assert find_ids(store, where) == holds


def test_blind_mode_hides_judged_parts(workspace: Workspace) -> None:
    with Store.open(workspace, "alice", blind=True) as store:
        for queue in ("judged", "uncertain", "failures", "disagreement"):
            assert find_ids(store, queue=queue) == list(range(6))
        for where in ("judge:any", "criterion:equivalent", "score<2", "human:part"):
            with pytest.raises(FilterError, match="blind"):
                find_ids(store, where)


def test_stratified_order_alternates_categories(imported: Any, tmp_path: Path) -> None:
    rows = [{"category": name} for name in "aaaaaaaabbbbcc"]
    with Store.open(imported(tmp_path / "w", {"m": rows}), "alice") as store:
        order = [row.category for row in store.fetch_page(View(queue="stratified", seed=3), 0, 100)]
        assert [sorted(order[at : at + 3]) for at in (0, 3)] == [["a", "b", "c"]] * 2
        assert sorted(order[6:10]) == ["a", "a", "b", "b"] and order[10:] == ["a"] * 4
        orders = {tuple(find_ids(store, queue="stratified", seed=seed)) for seed in range(5)}
        assert len(orders) == 5


def test_verdict_on_a_part_reviews_the_item_partly(store: Store, workspace: Workspace) -> None:
    item = store.find_items("simple_0")[0]
    said = Annotation(target=CALL, criterion="equivalent", verdict=True)
    event = Reviewer(store, Journal(workspace, "alice")).review(item, said)
    assert event.overrules is None
    row = store.fetch_rows([item])[0]
    assert (row.you, row.parts, row.your_parts) == (None, 1, 1)
    store.refresh_reviews()
    assert [
        find_ids(store, where) for where in ("human:part", "you:part", "human:any", "human:none")
    ] == [
        [0],
        [0],
        [0],
        [0, 1, 2, 3, 4, 5],
    ]
    assert [(run.reviewed, run.in_part) for run in store.fetch_runs()] == [(0, 1)]


def test_verdict_records_what_it_overrides(store: Store, workspace: Workspace) -> None:
    reviewer = Reviewer(store, Journal(workspace, "alice"))
    item = store.find_items("simple_0")[0]
    judge = reviewer.review(item, Annotation(target=CALL, criterion="equivalent", verdict=False))
    assert judge.overrules == {"source": "judge", "by": "gpt", "value": True}
    own = reviewer.review(item, Annotation(verdict=True))
    assert own.overrules is not None and (own.overrules["source"], own.overrules["value"]) == (
        "official",
        False,
    )
    for agrees in (Annotation(verdict=False), Annotation(verdict="unsure"), Annotation(note="odd")):
        assert reviewer.review(item, agrees).overrules is None
    opinion = next(o for o in store.read_detail(item).opinions if o.target == "item")
    assert opinion.overrules is None
    labels = [label for label in fetch_labels(store, View()) if label["criterion"] == "equivalent"]
    assert labels[0]["opinions"][0]["overrules"] == {"source": "judge", "by": "gpt", "value": True}


@pytest.mark.parametrize("presentation", [pytest.param(1, marks=pytest.mark.sweep), 2])
def test_review_does_not_depend_on_the_displayed_detail(
    workspace: Workspace, presentation: int
) -> None:
    annotations = [
        Annotation(target=CALL, criterion="equivalent", verdict=False),
        *(Annotation(verdict=verdict) for verdict in (True, False, "unsure")),
        Annotation(target="response", criterion="completeness", verdict=0),
        Annotation(target=f"{CALL}/arg:a", criterion="hallucinated", verdict=False),
        Annotation(note="odd"),
    ]
    own = ("event", "time", "previous", "hash", "place")
    with Store.open(workspace, "alice") as store:
        reviewer = Reviewer(store, Journal(workspace, "alice"))
        for number, annotation in product(range(6), annotations):
            item = to_item_number(
                store.find_items(f"simple_{number}")[0], is_duplicate=presentation == 2
            )
            events = [
                reviewer.review(item, annotation, store.read_detail(item)),
                reviewer.review(item, annotation),
            ]
            first, second = (
                {k: v for k, v in asdict(event).items() if k not in own} for event in events
            )
            assert first == second


def test_blind_verdict_records_no_override(workspace: Workspace) -> None:
    with Store.open(workspace, "alice", blind=True) as store:
        event = Reviewer(store, Journal(workspace, "alice")).review(
            store.find_items("simple_0")[0], Annotation(verdict=True)
        )
        assert (event.blind, event.overrules) == (True, None)


def test_judge_names_are_read_per_item(store: Store) -> None:
    items = [row.item for row in store.fetch_page(View(queue="dataset"), 0, 10)]
    told = store.analysis.fetch_judge_verdicts(items)
    assert told[items[0]] == [
        {"target": CALL, "criterion": "equivalent", "value": True, "by": "gpt"}
    ]
    assert items[4] not in told


def test_selecting_queue_reads_no_other_items(store: Store) -> None:
    for queue in ("judged", "uncertain"):
        view = View(queue=queue)
        read = [each.row.seq for chunk in store.iter_details(view) for each in chunk]
        assert read == sorted(find_ids(store, queue=queue))
        assert 0 < len(read) < len(ITEMS)
        assert len(find_ids(store, queue=queue)) < max(read) - min(read) + 1


def test_facet_values_of_missing_verdicts_and_errors_select_items(store: Store) -> None:
    facets = store.fetch_facets(View())
    assert {value for value, _ in facets["judge"]} == {"pass", "fail", "unknown"}
    assert {value for value, _ in facets["error"]} == {"value_error:string", "none"}
    for name in ("official", "judge", "effective", "error", "function"):
        counts = [(value, store.count_items(View(f"{name}:{value}"))) for value, _ in facets[name]]
        assert counts == facets[name]
