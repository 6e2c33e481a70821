"""Each count of a check equals the number of items that its filter finds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fcreview.model.incident import Incident
from fcreview.model.item import Call, ImportIssue, Item, MissingItem, ReadRecord, RunFact, Verdict
from fcreview.model.run_check import CheckLine, LineName, RunCheck
from fcreview.run_plan import RunPlan
from fcreview.store.importing.run_importer import import_runs
from fcreview.store.rows import View
from fcreview.store.store import Store, StoreError
from fcreview.store.workspace import Workspace, find_workspace
from tests.store.factory import make_item, write_run

RATE_LIMIT = Incident("rate_limit", "429", "result", "rule")
TIMEOUT = Incident("timeout", "timed out", "result", "marked")
USED_UP = Incident("limit", "30 steps", "termination", "marked")
EMPTY = Incident("empty_reply", "", "result", "weak")
BROKEN_CALL = Call("predicted", "", arguments=None, raw="[f(", decode_error="unclosed bracket")


def read_troubled_items(plan: RunPlan) -> Iterator[ReadRecord]:
    """A run with every kind of trouble, or a clean run of the model `clean`."""
    if plan.run.model == "clean":
        yield from (make_item(number, official=True) for number in range(10))
        return

    items = [make_item(number, official=True) for number in range(100)]
    for number, incident in enumerate([RATE_LIMIT, RATE_LIMIT, TIMEOUT, USED_UP, EMPTY]):
        items[number].set_incident(incident)
    items[0].predicted = [BROKEN_CALL]
    for number in (10, 11):
        items[number].rule = False
        items[number].rule_error_type = "value_error:string"
    items[12].official = False
    items[12].error_type = "type_error:simple"
    items[20].predicted = [BROKEN_CALL]
    items[21].flags = ["undecoded"]
    items[30].flags = ["other_reply"]
    items[40].flags = ["scored_twice"]
    items[50].verdicts.append(Verdict("judge", None, failure="the judge's reply is not JSON"))
    items[51].flags = ["judge_failed"]
    yield from items
    yield ImportIssue("scores.json", 7, what="the entry is damaged", severity="error")
    yield ImportIssue("scores.json", 9, what="no matter", severity="warning")
    yield RunFact("expected_items", 102, "the category of the dataset")
    yield MissingItem("simple_100", "simple")
    yield MissingItem("simple_101", "simple")


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    place = tmp_path_factory.mktemp("check")
    workspace = find_workspace(place)
    plans = [write_run(place / name, [{}], name) for name in ("troubled", "clean")]
    import_runs(workspace, plans, read_troubled_items, n_workers=1)
    return workspace


@pytest.fixture
def store(workspace: Workspace) -> Iterator[Store]:
    with Store.open(workspace, "alice") as store:
        yield store


@pytest.fixture
def checks(store: Store) -> dict[str, RunCheck]:
    return {check.run_name: check for check in store.check_runs(store.fetch_runs())}


def find_line(check: RunCheck, name: LineName) -> CheckLine:
    return next(line for line in check.lines if line.name == name)


@pytest.mark.parametrize(
    ("name", "count", "items"),
    [
        ("incidents", 3, {0, 1, 2}),
        ("differences", 3, {10, 11, 12}),
        ("undecoded", 2, {20, 21}),
        ("other_reply", 1, {30}),
        ("scored_twice", 1, {40}),
        ("judge_failed", 2, {50, 51}),
    ],
)
def test_the_filter_of_a_line_finds_the_counted_items(
    store: Store, checks: dict[str, RunCheck], name: LineName, count: int, items: set[int]
) -> None:
    line = find_line(checks["troubled"], name)
    assert (line.count, line.state) == (count, "problem")
    found = store.fetch_page(View(where=line.where, queue="dataset"), 0, 50)
    assert {row.id for row in found} == {f"simple_{number}" for number in items}


def test_missing_items_are_counted(checks: dict[str, RunCheck]) -> None:
    line = find_line(checks["troubled"], "items")
    assert (line.state, line.count, line.expected) == ("problem", 2, 102)


def test_only_errors_on_import_are_counted(checks: dict[str, RunCheck]) -> None:
    line = find_line(checks["troubled"], "import_errors")
    assert (line.state, line.count) == ("problem", 1)
    assert "the entry is damaged" in line.detail


def test_kinds_are_counted_without_limits_and_weak_marks(checks: dict[str, RunCheck]) -> None:
    detail = find_line(checks["troubled"], "incidents").detail
    assert detail == "2 rate_limit, 1 timeout; not counted: 1 used-up limit, 1 empty reply"


def test_the_largest_group_of_differences_comes_first(checks: dict[str, RunCheck]) -> None:
    assert (
        "largest group: 2 × official pass, recomputed fail"
        in find_line(checks["troubled"], "differences").detail
    )


def test_counts_of_one_run_do_not_reach_another(checks: dict[str, RunCheck]) -> None:
    assert checks["clean"].is_ok
    assert not any(line.count for line in checks["clean"].lines)


def test_a_check_is_not_available_in_blind_mode(workspace: Workspace) -> None:
    with (
        Store.open(workspace, "alice", blind=True) as store,
        pytest.raises(StoreError, match="blind"),
    ):
        store.check_runs(store.fetch_runs())


def test_facts_of_the_search_and_of_the_importer_are_stored(tmp_path: Path) -> None:
    """The search knows how the dataset was chosen, and the importer knows the rest."""

    def read_item_and_fact(plan: RunPlan) -> Iterator[Item | RunFact]:
        yield make_item(0)
        yield RunFact("decoder", "FC", "the name matches")

    workspace = find_workspace(tmp_path)
    plan = write_run(tmp_path / "oak", [{}], "oak")
    plan.run.facts["dataset_version"] = RunFact("dataset_version", "V4", "chosen by --data")
    import_runs(workspace, [plan], read_item_and_fact, n_workers=1)
    with Store.open(workspace, "alice") as store:
        (run,) = store.runs.values()
        assert {name: fact.reason for name, fact in run.facts.items()} == {
            "dataset_version": "chosen by --data",
            "decoder": "the name matches",
        }
