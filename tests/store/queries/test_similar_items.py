"""Ids found by parts of them, a few at a time."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fcreview.store.store import Store
from fcreview.store.workspace import Workspace


@pytest.fixture(scope="module")
def opened(workspace: Workspace) -> Iterator[Store]:
    with Store.open(workspace, "alice") as store:
        yield store


def ids(store: Store, text: str, **how: int) -> list[str]:
    return [each.id for each in store.search_item_ids(text, **how)]


def test_the_id_itself_first_then_what_begins_so_the_shorter_before(opened: Store) -> None:
    assert ids(opened, "simple_1", limit=4) == ["simple_1", "simple_10", "simple_11", "simple_12"]
    assert ids(opened, "SIMPLE_499") == ["simple_499"]
    assert ids(opened, "99 imp", limit=3) == ["simple_99", "simple_199", "simple_299"]


def test_once_for_all_runs_and_in_the_run_that_is_preferred(opened: Store) -> None:
    first, second = (next(iter(opened.search_item_ids("simple_7", (), run, 1))) for run in (1, 2))
    assert (first.id, first.n_runs, second.n_runs) == ("simple_7", 2, 2)
    rows = {row.item: row.run for row in opened.fetch_rows([first.item, second.item])}
    assert (rows[first.item], rows[second.item]) == (1, 2)
    (only,) = opened.search_item_ids("simple_7", (2,), 1, 1)
    assert (only.item, only.n_runs) == (second.item, 1)


def test_never_more_than_asked_for_and_nothing_for_nothing(opened: Store) -> None:
    assert len(opened.search_item_ids("simple")) == 20
    assert opened.search_item_ids(" ") == [] == opened.search_item_ids("%") == opened.search_item_ids("simple_1' OR '1")
