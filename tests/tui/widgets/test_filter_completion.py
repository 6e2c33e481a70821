"""Tab completes filters."""

from __future__ import annotations

from typing import Any

import pytest

from fcreview.store.filters.parser import parse_filter
from fcreview.tui.widgets.filter_input import CompletionContext, insert_completion, list_completions
from tests.tui.queue.test_queue_choices import item_ids, twelve_rows

FACETS = {"category": [("live_simple", 3), ("simple", 2), ("a b", 1)], "official": [("fail", 4)]}
SAVED = {"hard": "official:fail turns>=3", "mine": "you:any"}


def complete(text: str, *, blind: bool = False) -> list[str]:
    return [
        each.text
        for each in list_completions(text, len(text), CompletionContext(FACETS, SAVED, blind))
    ]


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("off", ["official:"]),
        ("you:none -cat", ["category:"]),
        ("category:", ["category:live_simple", "category:simple", 'category:"a b"']),
        ("(category:l", ["category:live_simple"]),
        ("category:simple|l", ["category:simple|live_simple"]),
        ("official:", ["official:fail", "official:pass", "official:unknown", "official:none"]),
        ("catgory:", []),
        ("tokens>", []),
        ("@", ["@hard", "@mine"]),
        ("you:none -@H", ["@hard"]),
    ],
)
def test_keys_and_values_are_completed(typed: str, found: list[str]) -> None:
    assert complete(typed) == found


def test_completions_are_valid_filters() -> None:
    for name in ("category:", "official:", "you:", "judge:"):
        for text in complete(name):
            parse_filter(text)


def test_blind_completions_reveal_no_verdicts() -> None:
    assert complete("off", blind=True) == [] and complete("official:", blind=True) == []
    assert "error:" not in complete("e", blind=True)
    assert complete("category:l", blind=True) == ["category:live_simple"]


def test_rest_of_the_line_is_kept() -> None:
    (found,) = list_completions("off days", 3, CompletionContext(FACETS))
    assert insert_completion("off days", 3, found) == ("official: days", 9)
    assert insert_completion("-off", 4, found) == ("-official:", 10)


@pytest.mark.sweep
async def test_repeated_tab_cycles_through_completions(make_app: Any, wait_for_screen: Any) -> None:
    async with make_app(twelve_rows()).run_test(size=(80, 24)) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("F", *"cate", "tab")
        lines = await wait_for_screen(pilot)
        assert lines[-3].startswith(" filter category:")
        await pilot.press("tab")
        lines = await wait_for_screen(pilot)
        assert lines[-3].rstrip() == " filter category:simple" and "category:simple 9" in lines[-2]
        await pilot.press("tab")
        assert "category:live_simple" in (await wait_for_screen(pilot))[-3]
        await pilot.press("enter")
        assert item_ids(await wait_for_screen(pilot)) == ["simple_4", "simple_5", "simple_6"]
        await pilot.press("F", "f", "up")
        assert "category:live_simple" in (await wait_for_screen(pilot))[-3]
        await pilot.press("down")
        assert "category" not in (await wait_for_screen(pilot))[-3]


async def test_queue_accepts_keys_after_focus_leaves_filter_line(
    make_app: Any, wait_for_screen: Any
) -> None:
    async with make_app(twelve_rows()).run_test(size=(80, 24)) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("slash", "x", "tab")
        assert (await wait_for_screen(pilot))[-3].startswith(" search x")
        await pilot.press("shift+tab")
        await wait_for_screen(pilot)
        await pilot.press("j")
        assert (await wait_for_screen(pilot))[2].rstrip("─ ").endswith("2/12")
