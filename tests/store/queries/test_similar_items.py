"""Items with similar ids are found, up to a limit."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fcreview.store.store import Store
from fcreview.store.workspace import Workspace


@pytest.fixture(scope="module")
def open_store(workspace: Workspace) -> Iterator[Store]:
    with Store.open(workspace, "alice") as store:
        yield store


def find_ids(store: Store, text: str, **how: int) -> list[str]:
    return [each.id for each in store.search_item_ids(text, **how)]


def test_exact_id_comes_first_then_short_prefixes(open_store: Store) -> None:
    assert find_ids(open_store, "simple_1", limit=4) == [
        "simple_1",
        "simple_10",
        "simple_11",
        "simple_12",
    ]
    assert find_ids(open_store, "SIMPLE_499") == ["simple_499"]
    assert find_ids(open_store, "99 imp", limit=3) == ["simple_99", "simple_199", "simple_299"]


def test_each_id_is_listed_once_in_the_preferred_run(open_store: Store) -> None:
    first, second = (
        next(iter(open_store.search_item_ids("simple_7", (), run, 1))) for run in (1, 2)
    )
    assert (first.id, first.n_runs, second.n_runs) == ("simple_7", 2, 2)
    rows = {row.item: row.run for row in open_store.fetch_rows([first.item, second.item])}
    assert (rows[first.item], rows[second.item]) == (1, 2)
    (only,) = open_store.search_item_ids("simple_7", (2,), 1, 1)
    assert (only.item, only.n_runs) == (second.item, 1)


def test_number_of_results_is_limited(open_store: Store) -> None:
    assert len(open_store.search_item_ids("simple")) == 20
    assert (
        open_store.search_item_ids(" ")
        == []
        == open_store.search_item_ids("%")
        == open_store.search_item_ids("simple_1' OR '1")
    )
