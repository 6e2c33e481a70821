"""Rows of runs of one model show distinct names, and failures without an official reason use the
recomputed one.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fcreview.model.item import Item, Run
from fcreview.run_plan import RunPlan
from fcreview.store.importing.run_importer import import_runs
from fcreview.store.rows import View
from fcreview.store.store import Store
from fcreview.store.workspace import Workspace, find_workspace
from fcreview.tui.queue.columns import QueueColumns, queue_row_line
from fcreview.tui.text.lines import plain_text
from tests.store.factory import make_item


@pytest.fixture
def languages(tmp_path: Path) -> Workspace:
    """A workspace with two runs of one model that have equal item ids and official failures
    without a reason.
    """
    workspace = find_workspace(tmp_path, tmp_path)
    plans = []
    for language in ("en", "zh"):
        file = tmp_path / language / "result.jsonl"
        file.parent.mkdir()
        file.write_text("{}\n")
        plans.append(RunPlan(Run("acebench", "v1", language, "oak", str(file.parent)), [file]))

    def read(plan: RunPlan) -> Any:
        item: Item = make_item(0, error_type=None, rule_error_type="wrong_value")
        item.file, item.line, item.length = str(plan.results[0]), 1, 3
        yield item

    import_runs(workspace, plans, read, n_workers=1)
    return workspace


def test_queue_rows_name_the_run(languages: Workspace) -> None:
    with Store.open(languages, "alice") as store:
        view = View(queue="dataset")
        columns = QueueColumns.fit_to_width(80, store.measure_columns(view))
        rows = store.fetch_page(view, 0, 10)
        assert [row.model for row in rows] == ["oak", "oak"]
        assert ["oak · en" in plain_text(queue_row_line(row, columns)) for row in rows] == [
            True,
            False,
        ]
        assert ["oak · zh" in plain_text(queue_row_line(row, columns)) for row in rows] == [
            False,
            True,
        ]


def test_failures_without_a_reason_use_the_recomputed_one(languages: Workspace) -> None:
    with Store.open(languages, "alice") as store:
        assert len(store.fetch_page(View(where="error:wrong_value"), 0, 10)) == 2
        assert not store.fetch_page(View(where="error:none"), 0, 10)
        assert store.fetch_facets(View())["error"] == [("wrong_value", 2)]
