"""Filter, search, order and list dialogs of the queue, on a real store."""

from __future__ import annotations

from typing import Any

import pytest

from fcreview.store.rows import View
from fcreview.tui.screens.queue import QueueScreen

NARROW = (80, 24)


def twelve_rows() -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = [{"official": number < 4} for number in range(12)]
    for number in (4, 5, 6):
        rows[number] |= {
            "category": "live_simple",
            "error_type": "type_error:simple",
            "diff_argument": "days",
        }
    rows[7]["question"] = "Something about kangaroos"
    return rows


def item_ids(lines: list[str]) -> list[str]:
    return [line[3:].split()[0] for line in lines[4:-1] if line[3:].startswith("simple_")]


async def test_filter_narrows_the_queue_until_cleared(make_app, wait_for_screen):
    async with make_app(twelve_rows()).run_test(size=NARROW) as pilot:
        assert len(item_ids(await wait_for_screen(pilot))) == 12
        await pilot.press("F", *"category:live_simple", "enter")
        lines = await wait_for_screen(pilot)
        assert item_ids(lines) == ["simple_4", "simple_5", "simple_6"]
        assert "filter category:live_simple" in lines[2]
        assert "Bksp show all" in lines[-1]
        await pilot.press("backspace")
        lines = await wait_for_screen(pilot)
        assert len(item_ids(lines)) == 12
        assert "Bksp show all" not in lines[-1]


@pytest.mark.sweep
async def test_invalid_filter_is_marked_and_can_be_corrected(make_app, wait_for_screen):
    async with make_app(twelve_rows()).run_test(size=NARROW) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("F", *"-reviewed catgory:live", "enter")
        lines = await wait_for_screen(pilot)
        assert len(item_ids(lines)) == 12
        caret = lines[-2].index("^")
        assert lines[-3][caret:].startswith("catgory")
        assert "did you mean category:" in lines[-2]
        # the cursor is at the error, and this key does not correct it
        await pilot.press("e", "enter")
        assert "^" in (await wait_for_screen(pilot))[-2]
        await pilot.press("escape")
        lines = await wait_for_screen(pilot)
        assert lines[-1].startswith(" enter open")
        assert "all items" in lines[2]


async def test_filter_without_matches_is_reported(make_app, wait_for_screen):
    async with make_app(twelve_rows()).run_test(size=NARROW) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("F", *"reviewed", "enter")
        lines = await wait_for_screen(pilot)
        assert "no item matches the filter" in lines[4]
        await pilot.press("j", "enter", "end", "pageup")
        assert isinstance(pilot.app.screen, QueueScreen)


async def test_invalid_start_filter_is_ignored_with_a_warning(make_app, wait_for_screen):
    async with make_app(twelve_rows(), view=View(where="official:maybe")).run_test(
        size=NARROW
    ) as pilot:
        lines = await wait_for_screen(pilot)
        assert len(item_ids(lines)) == 12
        assert "The filter was ignored: official: use one of pass" in lines[-2]
        await pilot.press("F", *"reviewed", "enter")
        assert "ignored" not in (await wait_for_screen(pilot))[-2]


async def test_search_matches_texts_within_the_filter(make_app, wait_for_screen):
    async with make_app(twelve_rows()).run_test(size=NARROW) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("F", *"official:fail", "enter")
        await wait_for_screen(pilot)
        await pilot.press("slash", *"city 7?", "enter")
        lines = await wait_for_screen(pilot)
        assert item_ids(lines) == ["simple_7"]
        assert "filter official:fail · search city 7?" in lines[2]


async def test_search_matches_ids_and_reports_no_matches(make_app, wait_for_screen):
    async with make_app(twelve_rows()).run_test(size=NARROW) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("slash", *"simple_7", "enter")
        assert item_ids(await wait_for_screen(pilot)) == ["simple_7"]
        await pilot.press("F", *"official:fail", "enter")
        await wait_for_screen(pilot)
        await pilot.press("slash", *"_77", "enter")
        shown = "\n".join(await wait_for_screen(pilot))
        assert "no item matches the search and the filter" in shown


async def test_search_accepts_quotation_marks(make_app, wait_for_screen):
    rows = [{}, {"question": 'say "hi" (now) \\ OR'}]
    rows[1]["messages"] = []
    async with make_app(rows).run_test(size=NARROW) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("slash", *'"hi" (now) \\', "enter")
        assert "search" in (await wait_for_screen(pilot))[2]
        assert isinstance(pilot.app.screen, QueueScreen)


async def test_cursor_stays_on_its_item_when_the_view_changes(make_app, wait_for_screen):
    async with make_app(twelve_rows()).run_test(size=NARROW) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("j", "F", *"category:live_simple", "enter")
        (under,) = [line for line in await wait_for_screen(pilot) if line.startswith("▌")]
        assert under.split()[1] == "simple_5"


async def test_order_can_be_selected(make_app, wait_for_screen):
    async with make_app(twelve_rows()).run_test(size=NARROW) as pilot:
        assert item_ids(await wait_for_screen(pilot))[0] == "simple_4"
        await pilot.press("o", "j")
        lines = await wait_for_screen(pilot)
        assert any("dataset" in line and line.startswith("▌") for line in lines)
        await pilot.press("enter")
        lines = await wait_for_screen(pilot)
        assert item_ids(lines)[0] == "simple_0"
        assert "order dataset" in lines[2]


async def test_random_order_selected_again_is_reshuffled(make_app, wait_for_screen):
    async with make_app(twelve_rows()).run_test(size=NARROW) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("o", "end", "enter")
        first = await wait_for_screen(pilot)
        assert "random (seed 0)" in first[2]
        await pilot.press("o", "enter")
        second = await wait_for_screen(pilot)
        assert "random (seed 1)" in second[2]
        assert item_ids(first) != item_ids(second)
        assert sorted(item_ids(first)) == sorted(item_ids(second))


@pytest.mark.sweep
async def test_failures_are_grouped_by_error_type_and_open_as_filter(make_app, wait_for_screen):
    async with make_app(twelve_rows()).run_test(size=NARROW) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("c")
        lines = await wait_for_screen(pilot)
        assert lines[1].startswith("─ 8 failures by error type ") and "2 groups" in lines[1]
        assert lines[3].split()[:2] == ["▌", "5"] and lines[4].split()[:1] == ["3"]
        assert "String is not an accepted value " in lines[3] and lines[3].endswith(
            "  get_weather · city"
        )
        assert "Value has the wrong type " in lines[4] and "get_weather · days" in lines[4]
        assert "value_error:string: string is not an accepted value" in lines[-3]
        assert "enter show items" in lines[-1] and "right unfold" in lines[-1]
        await pilot.press("j", "enter")
        lines = await wait_for_screen(pilot)
        assert item_ids(lines) == ["simple_4", "simple_5", "simple_6"]
        assert "filter effective:fail error:type_error:simple · " in lines[2]


@pytest.mark.sweep
async def test_error_type_unfolds_into_functions_and_arguments(make_app, wait_for_screen):
    rows = twelve_rows()
    rows[8]["diff_argument"] = rows[9]["diff_argument"] = "unit"
    async with make_app(rows).run_test(size=NARROW) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("c")
        lines = await wait_for_screen(pilot)
        assert lines[3].startswith("▌     5 ") and " ▸ String is not an accepted value " in lines[3]
        assert lines[3].rstrip().endswith("  5 get_weather · 2 arguments")
        await pilot.press("left", "right")
        lines = await wait_for_screen(pilot)
        assert lines[3].startswith("▌") and "▾ String is not an accepted value" in lines[3]
        assert [line.split()[-2:] for line in lines[4:6]] == [
            ["get_weather", "city"],
            ["get_weather", "unit"],
        ]
        assert [line.split()[0] for line in lines[3:7]] == ["▌", "3", "2", "3"]
        await pilot.press("j", "j", "enter")
        lines = await wait_for_screen(pilot)
        assert item_ids(lines) == ["simple_8", "simple_9"]
        assert "filter effective:fail error:value_error:string function" in lines[2]
        expected = "effective:fail error:value_error:string function:get_weather argument:unit"
        assert pilot.app.screen.state.where == expected
        await pilot.press("c")
        await wait_for_screen(pilot)
        await pilot.press("tab", "tab")
        lines = await wait_for_screen(pilot)
        assert lines[1].startswith("─ 2 failures by argument ") and "1 group" in lines[1]
        assert "unit" in lines[3]
        await pilot.press("q")
        assert item_ids(await wait_for_screen(pilot)) == ["simple_8", "simple_9"]


async def test_folding_moves_the_cursor_to_the_group(make_app, wait_for_screen):
    rows = twelve_rows()
    rows[8]["diff_argument"] = "unit"
    async with make_app(rows).run_test(size=NARROW) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("c")
        await wait_for_screen(pilot)
        await pilot.press("right", "j", "j", "left")
        lines = await wait_for_screen(pilot)
        assert lines[3].startswith("▌") and "▸ String is not an accepted value" in lines[3][1:]
        assert "Value has the wrong type" in lines[4]


@pytest.mark.sweep
async def test_opened_runs_are_not_part_of_the_filter(make_app, wait_for_screen):
    runs = {"maple-8b": twelve_rows(), "birch-70b": twelve_rows()[:3], "elm-3b": twelve_rows()[:5]}
    async with make_app(runs=runs, view=View(where="official:fail", runs=(1, 2))).run_test(
        size=NARROW
    ) as pilot:
        lines = await wait_for_screen(pilot)
        assert "filter official:fail · " in lines[2]
        assert "2 runs" in lines[0] and " 0 of 8 " in lines[0]
        await pilot.press("backspace")
        lines = await wait_for_screen(pilot)
        assert "all items" in lines[2] and lines[2].rstrip("─ ").endswith("1/15")
        await pilot.press("c", "enter")
        await wait_for_screen(pilot)
        assert " filter effective:fail error:" in (await wait_for_screen(pilot))[2]
        await pilot.press("r")
        assert not any("elm-3b" in line for line in await wait_for_screen(pilot))


@pytest.mark.sweep
async def test_several_runs_have_a_column_and_can_be_selected(make_app, wait_for_screen):
    runs = {"maple-8b": twelve_rows(), "birch-70b": twelve_rows()[:3]}
    async with make_app(runs=runs).run_test(size=NARROW) as pilot:
        lines = await wait_for_screen(pilot)
        assert "2 runs" in lines[0]
        assert "model" in lines[3]
        await pilot.press("r")
        lines = await wait_for_screen(pilot)
        assert "runs · 2 runs" in lines[0]
        (birch,) = [n for n, line in enumerate(lines) if "birch-70b" in line]
        assert lines[birch].split()[1:] == ["3", "100.0", "%", "100.0", "%", "100.0", "%", "0"]
        await pilot.press(*["j"] * (birch - 2), "enter")
        lines = await wait_for_screen(pilot)
        assert lines[2].rstrip("─ ").endswith("1/3")
        assert "birch-70b" in lines[0]
        assert "model" not in lines[3]


async def test_import_issues_are_listed(make_app, wait_for_screen):
    async with make_app([*twelve_rows(), {"issue": "cannot be decoded"}]).run_test(
        size=NARROW
    ) as pilot:
        lines = await wait_for_screen(pilot)
        assert lines[1].endswith("1 import issue")
        await pilot.press("i")
        lines = await wait_for_screen(pilot)
        assert "cannot be decoded" in lines[2]
        assert lines[-2].endswith("results.jsonl:13")
        await pilot.press("q")
        assert len(item_ids(await wait_for_screen(pilot))) == 12


async def test_issues_say_why_items_have_no_recomputed_verdict(make_app, wait_for_screen):
    rows = [*twelve_rows(), {"rule": None, "rule_note": "multi-turn verdicts are imported"}]
    async with make_app(rows).run_test(size=NARROW) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("i")
        assert "notice" in (await wait_for_screen(pilot))[2]
        assert "no recomputed verdict for 1 item: multi-turn" in (await wait_for_screen(pilot))[2]
