"""A lake finds the first items of a view without sorting all items, and the pages equal those of
a full sort.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fcreview.store.queries import view_items
from fcreview.store.store import Store, View
from tests.store.lake.test_lake import make_lake

VIEWS = [
    View(),
    View(queue="dataset"),
    View("official:fail"),
    View(queue="random", seed=3),
    View(queue="unreviewed"),
]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory, samples: Path) -> Iterator[Store]:
    with Store.open(
        make_lake(tmp_path_factory.mktemp("rows"), [samples / "bfcl"]), "alice"
    ) as store:
        yield store


@pytest.mark.parametrize("view", VIEWS)
def test_pages_equal_those_of_a_full_sort(
    store: Store, view: View, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = [row.item for row in store.fetch_page(view, 0, 999)]
    store._orders._orders.clear()
    monkeypatch.setattr(view_items, "FIRST_ROWS", 5)
    assert store.count_items(view) == len(whole)
    assert [row.item for row in store.fetch_page(view, 0, 4)] == whole[:4]
    widths = store.measure_columns(view)
    assert widths.item > 0
    assert view.queue == "unreviewed" or not widths.constant
    assert [row.item for row in store.fetch_page(view, 3, 9)] == whole[3:12]
    assert store.find_position(view, whole[-1]) == len(whole) - 1
    store._orders._orders.clear()
    assert store.find_position(view, whole[-1]) == len(whole) - 1
