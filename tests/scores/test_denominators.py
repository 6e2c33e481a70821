"""Metrics are the same whether each item has its own row or equal items share a row with a
count.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import orjson
import pytest

from fcreview.cli.report_data import compute_run_metrics
from fcreview.importers.registry import importer_for
from fcreview.model.metric import METRIC_SOURCES, ScoredItem
from fcreview.model.review import ITEM_CORRECT
from tests.scores.reviewed_runs import ItemVerdict, ReviewedRuns

OpenRuns = Callable[[Sequence[Path]], ReviewedRuns]


def check_rows_by_run(runs: ReviewedRuns) -> dict[int, tuple[list[ScoredItem], list[ScoredItem]]]:
    """Check that single and aggregated rows give the same metrics, and return both for the
    corrected source.
    """
    found = {}
    rows = [row for row in runs.store.fetch_runs() if importer_for(row.info).aggregates_rows]
    others = {row.run for row in rows if importer_for(row.info).needs_part_verdicts}
    for (run, aggregated), row in zip(
        runs.store.analysis.fetch_combined_scored_items([row.run for row in rows], others),
        rows,
        strict=True,
    ):
        each = runs.store.analysis.fetch_scored_items(run)
        assert run == row.run
        # Equal to the last digit and in the same order.
        assert compute_run_metrics(aggregated, row.info) == compute_run_metrics(each, row.info)
        for source in METRIC_SOURCES:
            assert (
                sum(one.n_items for one in aggregated[source]) == len(each[source]) == row.n_items
            )
        found[run] = each["corrected"], aggregated["corrected"]
    return found


@pytest.mark.parametrize("benchmark", ["bfcl", "generic"])
def test_aggregated_rows_give_the_same_metrics_before_and_after_reviews(
    samples: Path, open_runs: OpenRuns, benchmark: str
) -> None:
    runs = open_runs([samples / benchmark])
    assert check_rows_by_run(runs)
    overrides = [
        ItemVerdict(one.item, one.target, one.criterion, not one.value)
        for one in runs.automatic_verdicts()[::3]
        if isinstance(one.value, bool)
    ]
    runs.store.reviews.rebuild(runs.make_events(overrides))
    assert check_rows_by_run(runs)


def test_equal_items_share_a_row(tmp_path: Path, open_runs: OpenRuns) -> None:
    """Every fourth of 400 items fails. An override moves its item to a row of its own."""
    from benchmarks.synthetic import write_run

    runs = open_runs([write_run(tmp_path / "run", 400)])
    [(each, aggregated)] = check_rows_by_run(runs).values()
    assert (len(each), [one.n_items for one in aggregated]) == (400, [300, 100])
    assert aggregated[0].tokens_in == 300 * 300
    assert len(aggregated[0].seconds) == 300
    runs.store.reviews.rebuild(
        runs.make_events([ItemVerdict(runs.find_item("simple_python_3", 1), *ITEM_CORRECT, True)])
    )
    [(_, aggregated)] = check_rows_by_run(runs).values()
    assert [(one.n_items, one.valid) for one in aggregated] == [(300, True), (1, True), (99, False)]


def test_items_with_several_steps_share_a_row(tmp_path: Path, open_runs: OpenRuns) -> None:
    """The latency of every step counts, although the items differ in other fields."""
    from benchmarks.synthetic import write_run

    folder = write_run(tmp_path / "run", 8)
    [path] = (folder / "result").rglob("*_result.json")
    lines = [orjson.loads(line) for line in path.read_bytes().splitlines()]
    for at in (0, 1):
        lines[at] |= {"latency": [[0.25, 2.0 + at], [4.0]], "own": at}
    path.write_bytes(b"\n".join(map(orjson.dumps, lines)))
    [(_, aggregated)] = check_rows_by_run(open_runs([folder])).values()
    assert [one.n_items for one in aggregated] == [6, 2]
    assert sorted(aggregated[0].seconds) == [0.25, 0.25, 0.5, 0.5, 0.5, 0.5, 2.0, 3.0, 4.0, 4.0]
