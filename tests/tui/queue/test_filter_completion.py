"""What Tab offers in the filter line."""

from __future__ import annotations

from typing import Any

import pytest

from fcreview.store.filters.parser import parse_filter
from fcreview.tui.queue.choices import CompletionContext, complete_word, insert_completion
from tests.tui.queue.test_queue_choices import items, some

FACETS = {"category": [("live_simple", 3), ("simple", 2), ("a b", 1)], "official": [("fail", 4)]}
SAVED = {"hard": "official:fail turns>=3", "mine": "you:any"}


def offers(text: str, *, blind: bool = False) -> list[str]:
    return [each.text for each in complete_word(text, len(text), CompletionContext(FACETS, SAVED, blind))]


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
def test_keys_and_then_values_are_offered(typed: str, found: list[str]) -> None:
    assert offers(typed) == found


def test_what_is_offered_is_understood() -> None:
    for name in ("category:", "official:", "you:", "judge:"):
        for text in offers(name):
            parse_filter(text)


def test_blind_nothing_is_offered_that_tells() -> None:
    assert offers("off", blind=True) == [] and offers("official:", blind=True) == []
    assert "error:" not in offers("e", blind=True)
    assert offers("category:l", blind=True) == ["category:live_simple"]


def test_the_rest_of_the_line_stays() -> None:
    (found,) = complete_word("off days", 3, CompletionContext(FACETS))
    assert insert_completion("off days", 3, found) == ("official: days", 9)
    assert insert_completion("-off", 4, found) == ("-official:", 10)


@pytest.mark.sweep
async def test_tab_completes_and_again_takes_the_next_one(make_app: Any, settled: Any) -> None:
    async with make_app(some()).run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("f", *"cate", "tab")
        lines = await settled(pilot)
        assert lines[-3].startswith(" filter category:")
        await pilot.press("tab")
        lines = await settled(pilot)
        assert lines[-3].rstrip() == " filter category:simple" and "category:simple 9" in lines[-2]
        await pilot.press("tab")
        assert "category:live_simple" in (await settled(pilot))[-3]
        await pilot.press("enter")
        assert items(await settled(pilot)) == ["simple_4", "simple_5", "simple_6"]
        await pilot.press("F", "f", "up")
        assert "category:live_simple" in (await settled(pilot))[-3]
        await pilot.press("down")
        assert "category" not in (await settled(pilot))[-3]


async def test_the_queue_is_not_frozen_when_the_focus_leaves_the_filter_line(make_app: Any, settled: Any) -> None:
    async with make_app(some()).run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("slash", "x", "tab")
        assert (await settled(pilot))[-3].startswith(" search x")
        await pilot.press("shift+tab")
        await settled(pilot)
        await pilot.press("j")
        assert (await settled(pilot))[2].rstrip("─ ").endswith("2/12")
