"""Figures are the same whether every item is a row of its own or items that are alike are one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import orjson
import pytest

from fcreview.cli.report_data import compute_run_metrics
from fcreview.importers.registry import importer_for
from fcreview.model.metric import METRIC_SOURCES, ScoredItem
from fcreview.model.review import ITEM_CORRECT
from tests.scores.reviewed import Reviewed, Said

Opened = Callable[[Sequence[Path]], Reviewed]


def rows_by_run(runs: Reviewed) -> dict[int, tuple[list[ScoredItem], list[ScoredItem]]]:
    """Of the corrected source, one by one and counted, after the figures of both were found to be equal."""
    found = {}
    rows = [row for row in runs.store.fetch_runs() if importer_for(row.info).aggregates_rows]
    others = {row.run for row in rows if importer_for(row.info).needs_part_verdicts}
    for (run, alike), row in zip(
        runs.store.analysis.fetch_aggregated_items([row.run for row in rows], others), rows, strict=True
    ):
        each = runs.store.analysis.fetch_scored_items(run)
        assert run == row.run
        assert compute_run_metrics(alike, row.info) == compute_run_metrics(
            each, row.info
        )  # to the last digit, and in the same order
        for source in METRIC_SOURCES:
            assert sum(one.n_items for one in alike[source]) == len(each[source]) == row.n_items
        found[run] = each["corrected"], alike["corrected"]
    return found


@pytest.mark.parametrize("benchmark", ["bfcl", "generic"])
def test_samples_before_and_after_reviews(samples: Path, opened: Opened, benchmark: str) -> None:
    runs = opened([samples / benchmark])
    assert rows_by_run(runs)
    said = [Said(one.item, one.target, one.criterion, not one.value) for one in runs.automatic()[::3]
            if isinstance(one.value, bool)]  # fmt: skip
    runs.store.reviews.rebuild(runs.says(said))
    assert rows_by_run(runs)


def test_a_run_of_items_that_are_alike_is_a_handful_of_rows(tmp_path: Path, opened: Opened) -> None:
    """Every fourth of 400 fails; a verdict of people takes its item out of the rest."""
    from benchmarks.synthetic import write_run

    runs = opened([write_run(tmp_path / "run", 400)])
    [(each, alike)] = rows_by_run(runs).values()
    assert (len(each), [one.n_items for one in alike]) == (400, [300, 100])
    assert alike[0].tokens_in == 300 * 300
    assert len(alike[0].seconds) == 300
    runs.store.reviews.rebuild(runs.says([Said(runs.item("simple_python_3", 1), *ITEM_CORRECT, True)]))
    [(_, alike)] = rows_by_run(runs).values()
    assert [(one.n_items, one.valid) for one in alike] == [(300, True), (1, True), (99, False)]


def test_items_of_several_steps_are_alike_too(tmp_path: Path, opened: Opened) -> None:
    """Each step of each counts, whatever else an item has of its own."""
    from benchmarks.synthetic import write_run

    folder = write_run(tmp_path / "run", 8)
    [path] = (folder / "result").rglob("*_result.json")
    lines = [orjson.loads(line) for line in path.read_bytes().splitlines()]
    for at in (0, 1):
        lines[at] |= {"latency": [[0.25, 2.0 + at], [4.0]], "own": at}
    path.write_bytes(b"\n".join(map(orjson.dumps, lines)))
    [(_, alike)] = rows_by_run(opened([folder])).values()
    assert [one.n_items for one in alike] == [6, 2]
    assert sorted(alike[0].seconds) == [0.25, 0.25, 0.5, 0.5, 0.5, 0.5, 2.0, 3.0, 4.0, 4.0]
