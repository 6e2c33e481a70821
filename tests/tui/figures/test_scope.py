"""Figures cover all items of the chosen runs, unless a chip in the top line says otherwise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fcreview.store.filters.tokens import FAILING_FILTER
from fcreview.store.rows import View
from fcreview.tui.app import FcreviewApp
from fcreview.tui.figure_scope import make_scope, make_scope_of_all_items, scope_chip
from fcreview.tui.queue.choices import build_suspect_reason_choices
from fcreview.tui.queue_state import QueueState, describe_resumed_queue
from fcreview.tui.session import Session
from fcreview.tui.text.lines import plain_text
from tests.store.factory import Imported
from tests.tui.screens.test_adjudication import open_adjudication, workspace

__all__ = ["workspace"]

FAILS: dict[str, Any] = {"official": False, "error_type": "value_error:string"}
ROWS: list[dict[str, Any]] = [
    *({**FAILS, "category": "live_simple"} for _ in range(2)),
    *(FAILS for _ in range(3)),
    {"official": True},
]
SIZE = (100, 30)


@pytest.mark.parametrize(
    ("view", "chip"),
    [
        (View(), "all items"),
        (View(where="official:fail"), "where official:fail × Bksp"),
        (View(queue="pilot", where="stale"), "queue pilot where stale × Bksp"),
        (View(queue="suspects"), "suspects × Bksp"),
        (View(queue="dataset", items=(1, 2)), "selected 2 items × Bksp"),
    ],
)
def test_chip_names_the_part_and_the_key_that_clears_it(view: View, chip: str) -> None:
    assert plain_text(scope_chip(make_scope(view), "Bksp")) == chip
    assert not make_scope(view).without_limit.part


def test_filter_and_order_of_a_list_do_not_limit_figures() -> None:
    view = View(where="official:fail", queue="suspects", runs=(2,), items=(7,))
    assert make_scope_of_all_items(view).view == View(queue="dataset", runs=(2,))
    in_queue_file = make_scope_of_all_items(View(where="official:fail", queue="pilot", share=True))
    assert (in_queue_file.view, in_queue_file.part) == (View(queue="pilot"), "queue pilot")


async def test_clusters_name_the_filter_and_clear_it(make_app: Any, wait_for_screen: Any) -> None:
    app = make_app(ROWS, view=View(where="category:live_simple"))
    async with app.run_test(size=SIZE) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("c")
        lines = await wait_for_screen(pilot)
        assert "where category:live_simple × Bksp" in lines[0] and "Bksp all items" in lines[-1]
        assert "2 failures" in "\n".join(lines)
        await pilot.press("backspace")
        lines = await wait_for_screen(pilot)
        assert lines[0].endswith("all items") and "Bksp all items" not in lines[-1]
        assert "5 failures" in "\n".join(lines)
        await pilot.press("escape")
        lines = await wait_for_screen(pilot)
        assert "6 of" not in lines[0] and "0 of 6" in lines[0], "the list shows all items too"


async def test_estimates_name_the_runs_that_they_cover(make_app: Any, wait_for_screen: Any) -> None:
    app = make_app(runs={"maple-8b": ROWS, "birch-8b": ROWS}, view=View(where="official:fail"))
    async with app.run_test(size=(80, 24)) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("v")
        await wait_for_screen(pilot)
        await pilot.press("M")
        assert "all items of 2 runs  alice" in (await wait_for_screen(pilot))[0]


async def test_the_comparison_names_its_items_whatever_the_filter_is(
    make_app: Any, wait_for_screen: Any
) -> None:
    app = make_app(runs={"maple-8b": ROWS, "birch-8b": ROWS}, view=View(where="official:fail"))
    async with app.run_test(size=(80, 24)) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("r")
        await wait_for_screen(pilot)
        await pilot.press("j", "equals_sign", "j", "equals_sign")
        text = "\n".join(await wait_for_screen(pilot))
        assert "Pass rates · whole runs · official verdicts" in text
        assert "6 items" in text


def test_suspects_by_reason_cover_all_items() -> None:
    table = build_suspect_reason_choices({})
    assert table.note == "all items: 0 suspects, 0 strong"


async def test_progress_counts_the_items_of_the_list(make_app: Any, wait_for_screen: Any) -> None:
    app = make_app(ROWS, view=View(where="official:fail"))
    async with app.run_test(size=SIZE) as pilot:
        assert "0 of 5 reviewed" in (await wait_for_screen(pilot))[0]
        await pilot.press("enter")
        await wait_for_screen(pilot)
        await pilot.press("p")
        assert "1 of 5 reviewed" in (await wait_for_screen(pilot))[0]
        await pilot.press("q")
        assert "1 of 5 reviewed" in (await wait_for_screen(pilot))[0]
        await pilot.press("backspace")
        assert "1 of 6 reviewed" in (await wait_for_screen(pilot))[0]


async def test_adjudication_ignores_the_filter_of_the_list(workspace: Any) -> None:
    options = {"adjudicate": False, "view": View(where="simple_3")}
    async with open_adjudication(workspace, SIZE, **options) as person:
        lines = await person.press("x")
        assert "0 of 3 resolved" in lines[0] and "simple_3" not in "\n".join(lines)


async def test_adjudication_of_a_filter_names_it_and_clears_it(workspace: Any) -> None:
    async with open_adjudication(workspace, SIZE, view=View(where="simple_0")) as person:
        assert "where simple_0 × Bksp" in person.lines[0]
        n_before = person.lines[0].split(" of ")[1]
        lines = await person.press("backspace")
        assert "where" not in lines[0] and lines[0].split(" of ")[1] > n_before


async def test_export_of_the_palette_ignores_the_filter_of_the_list(
    make_app: Any, wait_for_screen: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    app = make_app(ROWS, view=View(where="category:live_simple"))
    async with app.run_test(size=SIZE) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("colon", *"export csv labels.csv", "enter")
        text = "\n".join(await wait_for_screen(pilot))
    assert "6 labels (all items) in labels.csv" in text
    assert len((tmp_path / "labels.csv").read_text().splitlines()) == 1 + len(ROWS)


@pytest.mark.parametrize(
    ("state", "name"),
    [
        (QueueState(), ""),
        (QueueState(where=FAILING_FILTER), "failures"),
        (QueueState(where="stale"), "filter stale"),
        (QueueState(search="tower", where="stale"), 'search "tower"'),
        (QueueState(items=(3, 4)), "selection of 2 items"),
        (QueueState(queue="pilot", file="pilot"), "queue pilot"),
        (QueueState(queue="suspects"), "queue suspects"),
    ],
)
def test_resumed_queue_has_a_name(state: QueueState, name: str) -> None:
    assert describe_resumed_queue(state) == name


async def test_resumed_queue_names_the_key_that_leaves_it(
    imported: Imported, tmp_path: Path, wait_for_screen: Any
) -> None:
    workspace = imported(tmp_path / "work", {"maple-8b": ROWS})
    async with FcreviewApp(Session(workspace, "alice"), View(), resume=True).run_test() as pilot:
        await wait_for_screen(pilot)
        await pilot.press("F", *"official:fail", "enter")
        await wait_for_screen(pilot)
        await pilot.press("ctrl+q")
    async with FcreviewApp(Session(workspace, "alice"), View(), resume=True).run_test() as pilot:
        text = "\n".join(await wait_for_screen(pilot))
        assert "filter official:fail resumed. Press Bksp to show all items" in text
