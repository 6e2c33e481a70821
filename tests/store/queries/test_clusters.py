"""The count of each cluster of failures equals the items that its filter finds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from fcreview.matching.clusters import (
    BY_CATEGORY,
    BY_DECISIVE_STEP,
    BY_ERROR_TYPE,
    BY_VALUE,
    GROUPINGS,
    Cluster,
    explain_group,
    group_clusters,
    has_decisive_steps,
    summarize_group,
)
from fcreview.model.item import Item, Verdict
from fcreview.model.verdict import DECISIVE_STEP
from fcreview.run_plan import RunPlan
from fcreview.store.filters.tokens import FAILING_FILTER, add_terms
from fcreview.store.importing.run_importer import import_runs
from fcreview.store.queries import clusters as module
from fcreview.store.rows import View
from fcreview.store.store import Store
from fcreview.store.workspace import Workspace, find_workspace
from fcreview.tui.queue_state import QueueState
from tests.sharing import Imports
from tests.store.factory import Imported, make_item, write_run

SAMPLES = ("acebench", "bfcl", "complexfuncbench", "confetti", "generic", "hammerbench")
BY = range(len(GROUPINGS))
VALUES = [
    ('"km"', '"kilometers"'),
    ('"KM"', '"kilometers"'),
    ("3", '"3"'),
    ("3", None),
    (None, "3"),
    (None, None),
    ('"none"', '"say \\"none\\" | or, (not) *"'),
    ('"a\\\\b"', "none"),
]
"""Values that differ only in case or type, or have a meaning in the filter language."""
PARTS = [QueueState(where='category:live OR golden_value:"\\"km\\""'), QueueState(scope=(2,))]
CATEGORIES = ["live", "live_simple", "Live", "live simple", "none", "a|b"]


def read_odd_items(plan: RunPlan) -> Iterator[Item]:
    for n in range(600):
        golden, predicted = VALUES[n % 11 % len(VALUES)]
        yield make_item(
            n,
            category=CATEGORIES[n % 7 % len(CATEGORIES)],
            official=n % 5 == 0,
            error_type=None if n % 3 else "value_error:string",
            diff_function=("f", "F", "f:g")[n % 4 % 3],
            diff_argument=None if golden is None and predicted is None else "unit",
            diff_golden=golden,
            diff_predicted=predicted,
            decisive_step=(None, "wrong_write", "user_choice")[n % 3],
            first_difference=f"unit {predicted} (golden {golden})" if n % 2 else None,
            verdicts=[Verdict("rule", 3, criterion=DECISIVE_STEP, rationale=f"step of simple_{n}")]
            if n % 3
            else [],
        )


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    place = tmp_path_factory.mktemp("alike")
    workspace = find_workspace(place)
    import_runs(
        workspace, [write_run(place / name, [{}], name) for name in ("a", "b")], read_odd_items
    )
    return workspace


def check_clusters(store: Store, state: QueueState, by: int) -> list[Cluster]:
    """Check that the filter of each group and cluster finds as many items as its count."""
    view = state.view
    failing = store.count_items(
        QueueState(where=add_terms(view.where, FAILING_FILTER), scope=view.runs).view
    )
    clusters = store.fetch_clusters(view, grouping=by)
    assert sum(cluster.count for cluster in clusters) == failing
    for group in group_clusters(clusters, by):
        for count, terms in [
            (group.count, [group.term]),
            *((each.count, each.terms) for each in group.clusters),
        ]:
            entered = QueueState(where=view.where, scope=view.runs)
            entered.narrow_to_cluster([term for term in terms if term])
            rows = store.fetch_page(entered.view, 0, 100_000)
            assert len(rows) == count, terms
            assert all(row.effective is False for row in rows)
    for cluster in clusters:
        rows = store.fetch_page(
            QueueState(where=cluster.where, queue="dataset", scope=view.runs).view, 0, 100_000
        )
        assert [row.id for row in rows[: len(cluster.examples)]] == cluster.examples
        assert (rows[0].first_difference or "") == cluster.difference
    return clusters


@pytest.mark.parametrize(
    ("state", "by"),
    [
        *((QueueState(), by) for by in BY),
        *((state, BY_VALUE) for state in PARTS),
        *(
            pytest.param(state, by, marks=pytest.mark.sweep)
            for state in PARTS
            for by in BY
            if by != BY_VALUE
        ),
    ],
)
def test_similar_values_and_categories_have_their_own_clusters(
    workspace: Workspace, state: QueueState, by: int
) -> None:
    with Store.open(workspace, "alice") as store:
        assert len(check_clusters(store, state, by)) > 3


def test_clusters_of_very_long_names_and_values(tmp_path: Path) -> None:
    """A model can write a page of text as a function name, and a golden value can be a page."""
    long = ["x" * 20_000 + end for end in ("y", "Y", '"\\', "z" * 9)]
    workspace = find_workspace(tmp_path)

    def items(plan: RunPlan) -> Iterator[Item]:
        for n, text in enumerate(long * 2 + ["x", "md5:" + "0" * 32]):
            names = {
                "error_type": text,
                "category": text,
                "diff_function": text,
                "diff_argument": text,
            }
            yield make_item(n, **names, diff_golden=f'"{text}"', diff_predicted=text)

    import_runs(workspace, [write_run(tmp_path / "a", [{}])], items)
    with Store.open(workspace, "alice") as store:
        for by in BY:
            assert len(check_clusters(store, QueueState(), by)) == 6


@pytest.mark.sweep
@pytest.mark.parametrize("name", SAMPLES)
def test_clusters_of_sample_runs_have_the_right_counts(
    name: str, imports: Imports, samples: Path
) -> None:
    with Store.open(imports.of([samples / name]), "alice") as store:
        for by in BY:
            found = check_clusters(store, QueueState(), by)
            assert all(
                explain_group(group)
                for group in group_clusters(found, by)
                if by == BY_ERROR_TYPE and group.name
            )
        told = {
            (each.golden, each.predicted)
            for each in store.fetch_clusters(QueueState().view, grouping=BY_VALUE)
        }
        assert told - {(None, None)}, "no failing item of the sample differs in a value"


@pytest.mark.parametrize("by", [BY_CATEGORY, BY_VALUE])
def test_no_clusters_in_blind_mode(workspace: Workspace, by: int) -> None:
    with Store.open(workspace, "alice", blind=True) as store:
        assert store.fetch_clusters(QueueState().view, grouping=by) == []


def test_only_the_most_frequent_values_are_listed(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store.open(workspace, "alice") as store:
        every = group_clusters(store.fetch_clusters(QueueState().view, grouping=BY_VALUE), BY_VALUE)
        monkeypatch.setattr(module, "MAX_VALUE_PAIRS", 3)
        told = group_clusters(store.fetch_clusters(QueueState().view, grouping=BY_VALUE), BY_VALUE)
    counts = sorted((group.count for group in every), reverse=True)
    assert sorted((group.count for group in told), reverse=True) == counts[:3]
    assert {(group.term, group.count) for group in told} < {
        (group.term, group.count) for group in every
    }


def test_value_is_found_with_and_without_json_quotation_marks(workspace: Workspace) -> None:
    counts = Counter(VALUES[n % 11 % len(VALUES)][0] for n in range(600))
    with Store.open(workspace, "alice") as store:
        for where, found in [
            ("golden_value:km", counts['"km"'] + counts['"KM"']),
            ('golden_value:"\\"km\\""', counts['"km"']),
            ("golden_value:none", counts[None]),
            (
                "golden_value:3 -predicted_value:none",
                sum(VALUES[n % 11 % 8] == ("3", '"3"') for n in range(600)),
            ),
        ]:
            assert store.count_items(QueueState(where=where).view) == 2 * found, where


def test_error_types_functions_and_arguments_share_clusters(workspace: Workspace) -> None:
    with Store.open(workspace, "alice") as store:
        assert all(
            store.fetch_clusters(QueueState().view, grouping=by)
            == store.fetch_clusters(QueueState().view)
            for by in (BY_ERROR_TYPE, 1, 2)
        )


def test_interrupt_ends_counting_after_the_query(imported: Imported, tmp_path: Path) -> None:
    class InterruptedStore(Store):
        def _raise_if_interrupted(self) -> None:
            self.interrupt()
            super()._raise_if_interrupted()

    with InterruptedStore.open(
        imported(tmp_path / "runs", {"m": [{"official": False}]}), "alice"
    ) as store:
        with pytest.raises(duckdb.InterruptException):
            store.fetch_clusters(View())
        assert store.count_items(View()) == 1


def test_clusters_count_guessed_decisive_steps(workspace: Workspace) -> None:
    with Store.open(workspace, "alice") as store:
        groups = group_clusters(
            store.fetch_clusters(QueueState().view, grouping=BY_DECISIVE_STEP), BY_DECISIVE_STEP
        )
        assert {group.name: group.term for group in groups} == {
            None: "decisive:none",
            "wrong_write": "decisive:wrong_write",
            "user_choice": "decisive:user_choice",
        }
        for cluster in (each for group in groups for each in group.clusters):
            assert cluster.step_reason == (
                f"step of {cluster.examples[0]}" if cluster.decisive_step else ""
            )
        by_error = store.fetch_clusters(QueueState().view)
    known = sum(group.count for group in groups if group.name)
    assert known == sum(cluster.n_decisive for cluster in by_error) and has_decisive_steps(by_error)


def test_failures_without_function_have_their_usual_reason(
    imported: Imported, tmp_path: Path
) -> None:
    reasons = ["prose, not calls", "not JSON", "prose, not calls"]
    rows = [
        {
            "first_difference": each,
            "diff_function": None,
            "diff_argument": None,
            "error_type": "decoder_failed",
        }
        for each in reasons
    ]
    with Store.open(imported(tmp_path / "runs", {"maple": rows}), "alice") as store:
        (cluster,) = store.fetch_clusters(View())
    assert (cluster.difference, cluster.usual_reason) == ("prose, not calls", "prose, not calls")
    (group,) = group_clusters([cluster], BY_ERROR_TYPE)
    assert summarize_group(group, BY_ERROR_TYPE) == "prose, not calls"
