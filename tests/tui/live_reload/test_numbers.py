"""Items identified by numbers are found again in the store of the next import."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from fcreview.store.rows import View, to_item_number
from fcreview.store.store import Store
from fcreview.tui.live_reload import find_new_item_numbers
from tests.store.factory import import_items
from tests.tui.conftest import Rows
from tests.tui.live_reload.conftest import make_row

Named = dict[str, int]
"""`model/category/id` -> number"""
Both = Callable[[dict[str, Rows], dict[str, Rows]], tuple[Store, Store]]
OAK = {"oak": [make_row("a"), make_row("b")]}
BEFORE = {
    "maple": [make_row("a"), make_row("b"), make_row("c"), make_row("b", category="live_simple")],
    **OAK,
}


@pytest.fixture
def open_both_stores(tmp_path: Path) -> Any:
    """Return a function that opens the stores before and after an import, both from one
    workspace.
    """
    with ExitStack() as stack:

        def open_stores(before: dict[str, Rows], now: dict[str, Rows]) -> tuple[Store, Store]:
            first = stack.enter_context(Store.open(import_items(tmp_path / "work", before)[0]))
            return first, stack.enter_context(Store.open(import_items(tmp_path / "work", now)[0]))

        yield open_stores


def item_numbers(store: Store) -> Named:
    runs = {run.run: run.info.model for run in store.fetch_runs()}
    rows = store.fetch_page(View(queue="dataset"), 0, 99)
    return {f"{runs[each.run]}/{each.category}/{each.id}": each.item for each in rows}


def test_same_items_are_found_in_the_same_order(open_both_stores: Both) -> None:
    before, now = open_both_stores(
        BEFORE,
        {
            "maple": [make_row("new"), make_row("b", category="live_simple"), *BEFORE["maple"][:3]],
            **OAK,
        },
    )
    old, new = item_numbers(before), item_numbers(now)
    expected = ["maple/simple/c", "oak/simple/b", "maple/live_simple/b", "maple/simple/b"]
    numbers = [old[name] for name in expected]
    assert find_new_item_numbers(numbers, before, now) == tuple(new[name] for name in expected)
    assert len({old[name] - new[name] for name in expected}) > 1, (
        "the numbers differ between the stores"
    )


def test_duplicate_in_the_view_is_the_same_item(open_both_stores: Both) -> None:
    before, now = open_both_stores(BEFORE, {"maple": [make_row("new"), *BEFORE["maple"]], **OAK})
    again = to_item_number(item_numbers(before)["maple/simple/a"], is_duplicate=True)
    assert find_new_item_numbers([again], before, now) == (item_numbers(now)["maple/simple/a"],)


def test_removed_items_are_omitted_and_not_confused(open_both_stores: Both) -> None:
    """The other run and another category still have an item with this name."""
    before, now = open_both_stores(
        BEFORE, {"maple": [make_row("c"), make_row("b", category="live_simple")], **OAK}
    )
    old, new = item_numbers(before), item_numbers(now)
    expected = [old["maple/simple/a"], old["maple/simple/b"], old["maple/simple/c"]]
    assert find_new_item_numbers(expected, before, now) == (new["maple/simple/c"],)


def test_list_is_empty_if_all_items_are_gone(open_both_stores: Both) -> None:
    before, now = open_both_stores(BEFORE, {"maple": [make_row("c")], **OAK})
    left = find_new_item_numbers([item_numbers(before)["maple/simple/a"]], before, now)
    assert left and now.count_items(View(items=left)) == 0
    assert find_new_item_numbers([], before, now) == ()
    assert now.count_items(View(items=())) == 3, "an empty selection means all items"
