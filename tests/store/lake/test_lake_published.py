"""Published runs give the same items in a lake as in a store."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fcreview.store.store import Store, View
from tests.sharing import Imports
from tests.store.lake.test_lake import TABLES, make_lake, runs_of


@pytest.mark.sweep
def test_published_runs_are_equal_in_a_lake_and_a_store(
    bench: Path, tmp_path: Path, imports: Imports
) -> None:
    paths = [bench / "complexfuncbench", bench / "tau_v1"]
    with Store.open(imports.of(paths)) as store, Store.open(make_lake(tmp_path, paths)) as lake:
        for table in TABLES:
            query = (
                f"SELECT r.key, t.* EXCLUDE ({'run' if table == 'sources' else 'item, run'}) FROM"
                f" {table} t"
            )
            one, other = (
                sorted(map(repr, each.run_sql(f"{query} JOIN runs r USING (run)")[1]))
                for each in (store, lake)
            )
            assert one == other
        rows = {row.run: row for row in lake.fetch_runs()}
        for row in store.fetch_runs():
            there = runs_of(lake)[
                next(key for key, run in runs_of(store).items() if run == row.run)
            ]
            assert replace(rows[there], run=row.run, n_search_issues=0, n_search_notices=0) == row
            assert store.analysis.fetch_scored_items(row.run) == lake.analysis.fetch_scored_items(
                there
            )
            assert store.count_items(View(runs=(row.run,))) == lake.count_items(View(runs=(there,)))
