"""Items that are named by their numbers, in the store that takes another's place."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from fcreview.store.rows import View, encode_repetition
from fcreview.store.store import Store
from fcreview.tui.live_reload import find_same_items
from tests.store.factory import import_items
from tests.tui.conftest import Rows
from tests.tui.live_reload.conftest import row

Named = dict[str, int]
"""`model/category/id`: the number."""
Both = Callable[[dict[str, Rows], dict[str, Rows]], tuple[Store, Store]]
OAK = {"oak": [row("a"), row("b")]}
BEFORE = {"maple": [row("a"), row("b"), row("c"), row("b", category="live_simple")], **OAK}


@pytest.fixture
def both(tmp_path: Path) -> Any:
    """The store before and the one after an import, as `--follow` has them: both open, of one workspace."""
    with ExitStack() as stack:

        def made(before: dict[str, Rows], now: dict[str, Rows]) -> tuple[Store, Store]:
            first = stack.enter_context(Store.open(import_items(tmp_path / "work", before)[0]))
            return first, stack.enter_context(Store.open(import_items(tmp_path / "work", now)[0]))

        yield made


def named(store: Store) -> Named:
    runs = {run.run: run.info.model for run in store.fetch_runs()}
    rows = store.fetch_page(View(queue="dataset"), 0, 99)
    return {f"{runs[each.run]}/{each.category}/{each.id}": each.item for each in rows}


def test_the_same_find_items_the_same_order_whatever_their_numbers_are_now(both: Both) -> None:
    before, now = both(BEFORE, {"maple": [row("new"), row("b", category="live_simple"), *BEFORE["maple"][:3]], **OAK})
    old, new = named(before), named(now)
    wanted = ["maple/simple/c", "oak/simple/b", "maple/live_simple/b", "maple/simple/b"]
    numbers = [old[name] for name in wanted]
    assert find_same_items(numbers, before, now) == tuple(new[name] for name in wanted)
    assert len({old[name] - new[name] for name in wanted}) > 1, "else nothing had to be looked up"


def test_an_item_that_is_shown_a_second_time_is_the_item(both: Both) -> None:
    before, now = both(BEFORE, {"maple": [row("new"), *BEFORE["maple"]], **OAK})
    again = encode_repetition(named(before)["maple/simple/a"], 2)
    assert find_same_items([again], before, now) == (named(now)["maple/simple/a"],)


def test_what_is_gone_is_left_out_and_not_taken_for_another(both: Both) -> None:
    """Though the other run, and another category of this one, still have an item of that name."""
    before, now = both(BEFORE, {"maple": [row("c"), row("b", category="live_simple")], **OAK})
    old, new = named(before), named(now)
    wanted = [old["maple/simple/a"], old["maple/simple/b"], old["maple/simple/c"]]
    assert find_same_items(wanted, before, now) == (new["maple/simple/c"],)


def test_if_all_are_gone_the_list_is_empty_and_does_not_show_everything(both: Both) -> None:
    before, now = both(BEFORE, {"maple": [row("c")], **OAK})
    left = find_same_items([named(before)["maple/simple/a"]], before, now)
    assert left and now.count_items(View(items=left)) == 0
    assert find_same_items([], before, now) == ()
    assert now.count_items(View(items=())) == 3, "no numbers stand for all items"
