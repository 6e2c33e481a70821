"""An accepted golden fix changes exactly the figures that depend on it, in the same way on every
surface.
"""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from fcreview.importers.registry import compute_metrics, rescore
from fcreview.matching.clusters import BY_ERROR_TYPE, group_clusters
from fcreview.model.review import Annotation, ItemKey
from fcreview.store.golden_fix_effect import collect_changed_verdicts, measure_run_effects
from fcreview.store.reviewer import Reviewer
from fcreview.store.reviews import journal
from fcreview.store.reviews.journal import Journal
from fcreview.store.rows import View
from fcreview.store.store import Store
from fcreview.store.workspace import Workspace
from tests.sharing import Imports

QUESTION = "simple_python_4"
DATASET = View(queue="dataset")


def make_fix(*day_lists: list[str]) -> dict[str, Any]:
    days = list(day_lists)
    return {"ground_truth": [{"alarm.set": {"time": ["06:45"], "days": days, "label": [""]}}]}


FIX = make_fix(["Monday", "Wednesday"])
"""A golden answer that `maple-8b` gave, and `maple-8b-FC` did not."""
OTHER_FIX = make_fix(["Monday", "Friday"])


@pytest.fixture
def workspace(imports: Imports, samples: Path, tmp_path: Path) -> Workspace:
    return imports.copy([samples / "bfcl"], tmp_path / "here")


def find_item(store: Store, model: str, question: str = QUESTION) -> int:
    rows = store.fetch_rows(store.find_items(question))
    (row,) = [row for row in rows if row.model == model]
    return row.item


def record_fix(
    workspace: Workspace,
    *,
    fix: dict[str, Any] = FIX,
    annotator: str = "alice",
    model: str = "maple-8b",
    status: str = "accepted",
    verdict: Any = None,
    **fields: Any,
) -> None:
    with Store.open(workspace, annotator) as store:
        item = find_item(store, model)
        effects = measure_run_effects(store, item, fix, rescore)
        annotation = Annotation(
            verdict=verdict,
            fault="golden",
            golden_fix=fix,
            golden_status=status,
            golden_verdicts=collect_changed_verdicts(effects),
            **fields,
        )
        Reviewer(store, Journal(workspace, annotator)).review(item, annotation)


def record_verdict(workspace: Workspace, verdict: bool, model: str, annotator: str) -> None:
    with Store.open(workspace, annotator) as store:
        item = find_item(store, model)
        Reviewer(store, Journal(workspace, annotator)).review(item, Annotation(verdict=verdict))


def test_failures_that_people_decided_have_a_name_of_their_own(workspace: Workspace) -> None:
    with Store.open(workspace, "alice") as store:
        rows = store.fetch_page(View("official:pass", queue="dataset"), 0, 10)
        row = next(row for row in rows if row.recomputed)

    def list_titles() -> list[str]:
        with Store.open(workspace, "alice") as store:
            clusters = store.fetch_clusters(View(f"id:{row.id} official:pass", queue="dataset"))
        return [group.title for group in group_clusters(clusters, BY_ERROR_TYPE)]

    def review(annotation: Annotation) -> None:
        with Store.open(workspace, "alice") as store:
            Reviewer(store, Journal(workspace, "alice")).review(row.item, annotation)

    assert list_titles() == []
    with Store.open(workspace, "alice") as store:
        details = next(store.iter_details(View(f"id:{row.id} official:pass", queue="dataset")))
        (item,) = [detail.item for detail in details if detail.row.item == row.item]
    verdicts = {row.model: {item.prediction_hash: False}}
    review(Annotation(golden_fix=FIX, golden_status="accepted", golden_verdicts=verdicts))
    assert list_titles() == ["fails by a corrected golden answer"]
    review(Annotation(verdict=False))
    assert list_titles() == ["fails by a review"]


Verdicts = dict[tuple[str, str, str], bool | None]
"""(model, category, item id) -> effective verdict."""


def read_rows(store: Store) -> Verdicts:
    rows = store.fetch_page(DATASET, 0, 10_000)
    return {(row.model, row.category, row.id): row.effective for row in rows}


def read_labels(store: Store) -> Verdicts:
    verdicts: Verdicts = {}
    for batch in store.iter_label_batches(DATASET):
        for line in batch:
            label = json.loads(line)
            if (label["target"], label["criterion"]) == ("item", "correct"):
                key = (label["model"], label["category"], label["id"])
                verdicts[key] = label["effective"]
    return verdicts


def read_sql(store: Store) -> Verdicts:
    statement = (
        "SELECT model, category, id, effective FROM labels"
        " WHERE target = 'item' AND criterion = 'correct'"
    )
    _, rows = store.run_sql(statement)
    return {
        (model, category, item_id): None if value is None else json.loads(value)
        for model, category, item_id, value in rows
    }


def read_scored_items(store: Store) -> Verdicts:
    verdicts: Verdicts = {}
    for row in store.fetch_runs():
        for item in store.analysis.fetch_scored_items(row.run)["corrected"]:
            verdicts[row.info.model, item.category, item.id] = item.valid
    return verdicts


def read_outcomes(store: Store) -> Verdicts:
    models = {row.run: row.info.model for row in store.fetch_runs()}
    outcomes = store.analysis.fetch_outcomes(DATASET, tuple(models), "effective")
    verdicts: Verdicts = {}
    for run, run_outcomes in outcomes.items():
        for outcome in run_outcomes:
            question = outcome.question_key
            verdicts[models[run], question.category, question.id] = outcome.verdict
    return verdicts


SURFACES = (read_rows, read_labels, read_sql, read_scored_items, read_outcomes)


def read_effective_verdicts(workspace: Workspace) -> Verdicts:
    """Return the effective verdicts, which every surface shows alike."""
    with Store.open(workspace, "alice") as store:
        verdicts = read_rows(store)
        for read in SURFACES:
            assert read(store) == verdicts, read.__name__
        for row in store.fetch_runs():
            own = [value for key, value in verdicts.items() if key[0] == row.info.model]
            assert row.effective_pass == own.count(True)
            assert row.effective_known == len(own) - own.count(None)
    return verdicts


def read_metrics(workspace: Workspace) -> dict[str, list[tuple[str, Any]]]:
    """Return the corrected metrics of each run."""
    with Store.open(workspace, "alice") as store:
        metrics = {}
        for row in store.fetch_runs():
            items = store.analysis.fetch_scored_items(row.run)["corrected"]
            computed = compute_metrics(items, row.info)
            metrics[row.info.model] = [(metric.name, metric.value) for metric in computed]
        return metrics


def find_changes(before: Verdicts, after: Verdicts) -> dict[str, bool | None]:
    """Return the changed verdicts by model. Only the question of the fix may change."""
    changed = {}
    for key, verdict in after.items():
        if verdict is not before[key]:
            model, _, item_id = key
            assert item_id == QUESTION
            changed[model] = verdict
    return changed


def test_accepted_fix_changes_exactly_the_verdicts_that_depend_on_it(workspace: Workspace) -> None:
    before = read_effective_verdicts(workspace)
    record_fix(workspace)
    after = read_effective_verdicts(workspace)
    assert find_changes(before, after) == {"maple-8b": True}
    with Store.open(workspace, "alice") as store:
        counts = {row.info.model: row.by_erratum for row in store.fetch_runs()}
        assert counts == {"maple-8b": 1, "maple-8b-FC": 0}
        row = store.fetch_row(find_item(store, "maple-8b"))
        assert row is not None
        assert (row.golden_status, row.golden_verdict, row.recomputed) == ("accepted", True, True)
        assert (row.human, row.official, row.rule) == (None, False, False)


def test_fix_on_one_run_changes_the_other_runs(workspace: Workspace) -> None:
    before = read_effective_verdicts(workspace)
    record_fix(workspace, model="maple-8b-FC")
    assert find_changes(before, read_effective_verdicts(workspace)) == {"maple-8b": True}


def test_corrected_metrics_follow_the_accepted_fix(workspace: Workspace) -> None:
    before = read_metrics(workspace)
    record_fix(workspace, model="maple-8b-FC")
    after = read_metrics(workspace)
    changed = {model for model in before if before[model] != after[model]}
    assert changed == {"maple-8b"}, "only the run whose verdict changes"

    with Store.open(workspace, "alice") as store:
        (row,) = [row for row in store.fetch_runs() if row.info.model == "maple-8b"]
        official = store.analysis.fetch_scored_items(row.run)["official"]
        expected = [
            replace(item, valid=True, error_type=None) if item.id == QUESTION else item
            for item in official
        ]
        recomputed = compute_metrics(expected, row.info)
    assert after["maple-8b"] == [(metric.name, metric.value) for metric in recomputed]


def test_undo_restores_all_verdicts_in_one_act(workspace: Workspace) -> None:
    before = read_effective_verdicts(workspace)
    record_fix(workspace, verdict=True)
    assert read_effective_verdicts(workspace) != before
    with Store.open(workspace, "alice") as store:
        Reviewer(store, Journal(workspace, "alice")).undo()
        assert read_rows(store) == before, "in the store that undid it"
    assert read_effective_verdicts(workspace) == before


def test_open_store_shows_the_fix_at_once(workspace: Workspace) -> None:
    with Store.open(workspace, "bob") as store:
        before = read_rows(store)
        record_fix(workspace, model="maple-8b-FC")
        store.refresh_reviews()
        assert find_changes(before, read_rows(store)) == {"maple-8b": True}


@pytest.mark.parametrize("model", ["maple-8b", "maple-8b-FC"])
def test_review_that_confirms_the_effective_verdict_changes_nothing(
    workspace: Workspace, model: str
) -> None:
    record_fix(workspace)
    verdicts = read_effective_verdicts(workspace)
    metrics = read_metrics(workspace)
    with Store.open(workspace, "bob") as store:
        row = store.fetch_row(find_item(store, model))
        assert row is not None and row.effective is not None
        verdict = row.effective
    record_verdict(workspace, verdict, model, "bob")
    assert read_effective_verdicts(workspace) == verdicts
    assert read_metrics(workspace) == metrics


def test_verdict_of_a_person_stands_above_the_fix(workspace: Workspace) -> None:
    before = read_effective_verdicts(workspace)
    record_fix(workspace)
    record_verdict(workspace, False, "maple-8b", "alice")
    assert read_effective_verdicts(workspace) == before


def test_proposed_fix_counts_only_after_adjudication(workspace: Workspace) -> None:
    before = read_effective_verdicts(workspace)
    record_fix(workspace, status="proposed", annotator="bob")
    assert read_effective_verdicts(workspace) == before
    record_fix(workspace, annotator="chief", model="maple-8b-FC", act="adjudicate", verdict=False)
    assert find_changes(before, read_effective_verdicts(workspace)) == {"maple-8b": True}


def test_different_accepted_fixes_leave_the_answer_of_the_dataset(workspace: Workspace) -> None:
    before = read_effective_verdicts(workspace)
    record_fix(workspace)
    record_fix(workspace, fix=OTHER_FIX, annotator="bob", model="maple-8b-FC")
    assert read_effective_verdicts(workspace) == before
    with Store.open(workspace, "alice") as store:
        row = store.fetch_row(find_item(store, "maple-8b"))
        assert row is not None and row.golden_status == "disputed"

    record_fix(workspace, fix=FIX, annotator="bob", model="maple-8b-FC")
    assert find_changes(before, read_effective_verdicts(workspace)) == {"maple-8b": True}


def test_latest_fix_of_an_annotator_does_not_depend_on_the_clock(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clock is set back between two fixes of a question in two runs."""
    years = iter(range(2040, 2000, -1))

    class Clock(datetime):
        @classmethod
        def now(cls, tz: object = None) -> datetime:  # type: ignore[override]
            return datetime(next(years), 1, 1, tzinfo=UTC)

    monkeypatch.setattr(journal, "datetime", Clock)
    record_fix(workspace, fix=OTHER_FIX, model="maple-8b-FC")
    record_fix(workspace, fix=FIX, model="maple-8b")

    with Store.open(workspace, "alice") as store:
        (answer,) = {
            json.dumps(store.read_detail(find_item(store, model)).golden.golden_fix)
            for model in ("maple-8b", "maple-8b-FC")
        }
    assert json.loads(answer) == FIX


def test_adjudicator_can_keep_the_answer_of_the_dataset(workspace: Workspace) -> None:
    before = read_effective_verdicts(workspace)
    record_fix(workspace)
    with Store.open(workspace, "chief") as store:
        item = find_item(store, "maple-8b-FC")
        rejection = Annotation(act="adjudicate", verdict=False, golden_status="rejected")
        Reviewer(store, Journal(workspace, "chief")).review(item, rejection)
    assert read_effective_verdicts(workspace) == before


def test_fix_without_a_status_changes_no_verdict(workspace: Workspace) -> None:
    """Journals of older versions have golden fixes for maintainers, which nobody accepted."""
    before = read_effective_verdicts(workspace)
    with Store.open(workspace, "alice") as store:
        item = find_item(store, "maple-8b")
        annotation = Annotation(fault="golden", golden_fix=FIX)
        Reviewer(store, Journal(workspace, "alice")).review(item, annotation)
    assert read_effective_verdicts(workspace) == before


def test_fix_makes_no_review_stale_and_counts_in_no_review_figure(workspace: Workspace) -> None:
    record_verdict(workspace, False, "maple-8b-FC", "bob")
    record_fix(workspace)
    with Store.open(workspace, "bob") as store:
        row = store.fetch_row(find_item(store, "maple-8b-FC"))
        assert row is not None and not row.stale and row.you is False
        reviewed = {run.info.model: run.reviewed for run in store.fetch_runs()}
        assert reviewed == {"maple-8b": 0, "maple-8b-FC": 1}


def test_fix_of_another_golden_answer_does_not_count(workspace: Workspace) -> None:
    before = read_effective_verdicts(workspace)
    record_fix(workspace)
    journal = workspace.reviews / "alice.jsonl"
    event = json.loads(journal.read_text())
    journal.unlink()
    with Store.open(workspace, "alice") as store:
        Journal(workspace, "alice").append(
            ItemKey(**event["key"]),
            Annotation(
                fault="golden",
                golden_fix=FIX,
                golden_status="accepted",
                golden_verdicts=event["golden_verdicts"],
            ),
            prediction_hash=event["prediction_hash"],
            golden_hash="0" * 16,
        )
        store.refresh_reviews()
    assert read_effective_verdicts(workspace) == before


@pytest.mark.parametrize("verdicts", [{}, {"maple-8b": 3}, {"maple-8b": {"x": "yes"}}])
def test_damaged_verdicts_of_a_fix_change_nothing(
    workspace: Workspace, verdicts: dict[str, Any]
) -> None:
    before = read_effective_verdicts(workspace)
    with Store.open(workspace, "alice") as store:
        item = find_item(store, "maple-8b")
        annotation = Annotation(golden_fix=FIX, golden_status="accepted", golden_verdicts=verdicts)
        Reviewer(store, Journal(workspace, "alice")).review(item, annotation)
    assert read_effective_verdicts(workspace) == before
