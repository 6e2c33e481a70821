"""Several processes read the parts of one large run, and the store is as if one had read it."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest

from fcreview.model.item import ImportIssue, Item, MissingItem, PartSummary, ReadRecord, RunFact
from fcreview.run_plan import DependentParts, RunPart, RunPlan
from fcreview.store.importing import workers
from fcreview.store.importing.run_importer import import_runs
from fcreview.store.workspace import Workspace, find_workspace
from tests.store.factory import make_item, read, write_run
from tests.store.importing.imported import list_statuses, read_ids

ROOT = Path(__file__).resolve().parents[3]
N_PARTS = 3
N_ITEMS = 12
pytestmark = pytest.mark.process


def split_run(plan: RunPlan) -> list[RunPart]:
    """Divide the rows of a run into parts of four rows."""
    n_rows = N_ITEMS // N_PARTS
    return [RunPart(n, 100 + n, range(n * n_rows, (n + 1) * n_rows)) for n in range(N_PARTS)]


def read_rows(plan: RunPlan) -> Iterator[ReadRecord]:
    """Read rows like `read`, or those of a part. The model of a run says what goes wrong."""
    if plan.part_summaries is not None:
        yield from read_end(plan)
        return
    rows = range(N_ITEMS) if plan.part is None else plan.part.selection
    yield ImportIssue(str(plan.results[0]), None, what=f"rows from {rows[0]}")
    for record in read(plan):
        assert isinstance(record, Item)
        number = int(record.id.removeprefix("simple_"))
        if number in rows:
            plan.run.official_metrics[record.id] = number
            record.issues.append(ImportIssue(record.file, record.line, what=f"issue {number}"))
            record.functions = [{"name": f"f{number % 2}"}]
            yield record
    if plan.part is None:
        yield from make_end(len(rows))
    elif plan.run.model == "fails" and plan.part.index == 1:
        raise RuntimeError("this part is broken")
    elif plan.run.model == "killed" and plan.part.index == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    else:
        yield PartSummary(len(rows))


def read_end(plan: RunPlan) -> Iterator[ReadRecord]:
    if plan.run.model == "depends":
        yield make_item(99)  # items of an end that is not used are not stored
        raise DependentParts
    assert plan.part_summaries is not None
    yield from make_end(sum(plan.part_summaries))


def make_end(n_rows: int) -> Iterator[ReadRecord]:
    yield RunFact("expected_items", n_rows)
    yield MissingItem("simple_77", "simple")


def plan_run(place: Path, model: str, *, is_split: bool = True) -> RunPlan:
    plan = write_run(place / model, [{} for _ in range(N_ITEMS)], model)
    return replace(plan, split=split_run) if is_split else plan


@pytest.fixture(autouse=True)
def split_small_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "MIN_PARALLEL_BYTES", 0)
    monkeypatch.syspath_prepend(str(ROOT))


def dump_store(workspace: Workspace) -> dict[str, list[Any]]:
    """Return the rows of the items, issues and runs, as far as they do not depend on the time."""
    queries = {
        "items": "SELECT * FROM item_rows ORDER BY item",
        "issues": "SELECT run, item, id, line, what FROM import_issues ORDER BY rowid",
        "runs": "SELECT run, n_items, facts, not_run, official_metrics FROM runs ORDER BY run",
        "functions": "SELECT * FROM functions ORDER BY hash",
        "sources": "SELECT run, path, kind, size, hash FROM sources ORDER BY run, path",
    }
    with duckdb.connect(str(workspace.store), read_only=True) as connection:
        return {name: connection.execute(sql).fetchall() for name, sql in queries.items()}


def test_run_read_in_parts_gives_the_same_store(tmp_path: Path) -> None:
    """One run can be read in parts, one needs to be read as a whole, and a part of one fails."""
    place = tmp_path / "runs"
    models = ("depends", "fails", "good")
    as_a_whole = [plan_run(place, model, is_split=False) for model in models]
    plain = find_workspace(place, tmp_path / "plain")
    import_runs(plain, as_a_whole, read_rows, n_workers=1)
    in_parts = find_workspace(place, tmp_path / "parts")
    first = import_runs(in_parts, as_a_whole, read_rows, n_workers=1)
    assert first.n_items == 3 * N_ITEMS
    assert dump_store(in_parts) == dump_store(plain)

    progress: list[int] = []
    plans = [replace(plan_run(place, model), version=2) for model in models]
    summary = import_runs(
        in_parts,
        plans,
        read_rows,
        n_workers=4,
        on_progress=lambda _model, done, _total: progress.append(done),
    )
    assert list_statuses(summary) == {"depends": "imported", "fails": "failed", "good": "imported"}
    assert [row["seconds"] > 0 for row in summary.runs] == [True] * 3
    assert progress == sorted(progress)
    (failure,) = [issue for issue in summary.issues if "was not imported" in issue["what"]]
    assert "RuntimeError: this part is broken. The 12 items" in failure["what"]

    changed = dump_store(in_parts)
    before = dump_store(plain)
    for table in ("items", "runs", "functions", "sources"):
        assert changed[table] == before[table], table
    issues = [issue for issue in changed["issues"] if not issue[-1].startswith(("rows", "run "))]
    assert sorted(issues) == sorted(i for i in before["issues"] if not i[-1].startswith("rows"))
    starts = [what for run, *_, what in changed["issues"] if run == 3 and what.startswith("rows")]
    assert starts == ["rows from 0", "rows from 4", "rows from 8"]


def test_run_fails_if_the_process_of_a_part_is_killed(tmp_path: Path) -> None:
    workspace = find_workspace(tmp_path)
    plan = plan_run(tmp_path, "killed")
    summary = import_runs(workspace, [plan], read_rows, n_workers=2)
    assert list_statuses(summary) == {"killed": "failed"}
    assert workers.WORKER_KILLED in json.dumps(summary.issues)
    assert read_ids(workspace) == []


def test_value_that_the_store_cannot_hold_is_found_in_its_part(tmp_path: Path) -> None:
    """The issue names the item by its position in the run, not in its part."""
    workspace = find_workspace(tmp_path)
    plan = plan_run(tmp_path, "good")
    lines = plan.results[0].read_text().splitlines()
    lines[9] = json.dumps({"tokens_in": 2**70})
    plan.results[0].write_text("\n".join(lines))
    summary = import_runs(workspace, [plan], read_rows, n_workers=2)
    (issue,) = [issue for issue in summary.issues if "cannot hold" in issue["what"]]
    assert (issue["item"], issue["line"]) == ("simple_9", 10)
    assert len(read_ids(workspace)) == N_ITEMS
    with duckdb.connect(str(workspace.store), read_only=True) as connection:
        ((seq,),) = connection.execute(
            "SELECT i.seq FROM import_issues JOIN item_rows i USING (item) WHERE what LIKE ?",
            ["%cannot hold%"],
        ).fetchall()
    assert seq == 9
