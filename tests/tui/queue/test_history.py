"""Typed filters and searches are remembered, and filters can be saved with a name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fcreview.store.filters.saved import MAX_HISTORY, AnnotatorFilters
from fcreview.store.workspace import AnnotatorState
from tests.tui.queue.test_queue_choices import item_ids, twelve_rows

SIZE = (100, 24)


def test_history_belongs_to_an_annotator(tmp_path: Path) -> None:
    typed = AnnotatorFilters(AnnotatorState(tmp_path, "alice"))
    for text in ("you:none", "stale", "you:none"):
        typed.add_recent_text("filter", text)
    typed.add_recent_text("search", "celsius")
    again = AnnotatorFilters(AnnotatorState(tmp_path, "alice"))
    assert (again.list_recent_texts("filter"), again.list_recent_texts("search")) == (
        ["stale", "you:none"],
        ["celsius"],
    )
    assert AnnotatorFilters(AnnotatorState(tmp_path, "bob")).list_recent_texts("filter") == []
    assert AnnotatorFilters(AnnotatorState(None, "alice")).list_recent_texts("filter") == []


def test_history_is_bounded_and_ignores_damaged_files(tmp_path: Path) -> None:
    typed = AnnotatorFilters(AnnotatorState(tmp_path, "alice"))
    for number in range(MAX_HISTORY + 5):
        typed.add_recent_text("filter", f"turns>{number}")
    assert (
        len(typed.list_recent_texts("filter")) == MAX_HISTORY
        and typed.list_recent_texts("filter")[-1] == f"turns>{MAX_HISTORY + 4}"
    )
    file = tmp_path / "history" / "alice.json"
    for content in (b"", b"[]", b'{"filter": "x"}', b'{"filter": [1, "", "stale"], "search": {}}'):
        file.write_bytes(content)
        assert AnnotatorFilters(AnnotatorState(tmp_path, "alice")).list_recent_texts("filter") in (
            [],
            ["stale"],
        )


def test_history_works_in_read_only_workspace(tmp_path: Path) -> None:
    (tmp_path / "history").write_text("in the way")
    typed = AnnotatorFilters(AnnotatorState(tmp_path, "alice"))
    typed.add_recent_text("filter", "stale")
    assert typed.list_recent_texts("filter") == ["stale"]


def test_blind_history_omits_filters_on_verdicts(tmp_path: Path) -> None:
    typed = AnnotatorFilters(AnnotatorState(tmp_path, "alice"))
    for text in ("official:fail", "you:none", "(stale"):
        typed.add_recent_text("filter", text)
    assert AnnotatorFilters(AnnotatorState(tmp_path, "alice"), blind=True).list_recent_texts(
        "filter"
    ) == [
        "you:none",
        "(stale",
    ]
    typed.save_filter("hidden", "rule:fail")
    typed.save_filter("fine", "you:any")
    assert list(AnnotatorFilters(AnnotatorState(tmp_path, "alice"), blind=True).usable_filters) == [
        "fine"
    ]


async def test_up_recalls_filters_of_earlier_sessions(make_app: Any, wait_for_screen: Any) -> None:
    async with make_app(twelve_rows()).run_test(size=SIZE) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("F", *"category:live_simple", "enter")
        await wait_for_screen(pilot)
    workspace = make_app.stores[-1].workspace
    history = json.loads((workspace.root / "history" / "alice.json").read_text())
    assert history == {"filter": ["category:live_simple"], "search": []}
    async with make_app(twelve_rows()).run_test(size=SIZE) as pilot:
        assert len(item_ids(await wait_for_screen(pilot))) == 12
        await pilot.press("F", "up", "enter")
        assert item_ids(await wait_for_screen(pilot)) == ["simple_4", "simple_5", "simple_6"]
    assert not list(workspace.reviews.glob("*.jsonl"))


@pytest.mark.sweep
async def test_filter_is_saved_and_used_by_name(make_app: Any, wait_for_screen: Any) -> None:
    async with make_app(twelve_rows()).run_test(size=SIZE) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("F", *"catgory:live", "ctrl+s")
        assert "unknown key catgory" in (await wait_for_screen(pilot))[-2]
        await pilot.press("end", "ctrl+u", *"category:live_simple", "ctrl+s")
        lines = await wait_for_screen(pilot)
        assert lines[-3].startswith(" save as @") and "name of the saved filter" in lines[-2]
        await pilot.press(*"a b", "enter")
        assert "invalid name. Use" in (await wait_for_screen(pilot))[-2]
        await pilot.press("ctrl+u", *"live", "enter")
        lines = await wait_for_screen(pilot)
        assert (
            lines[-3].startswith(" filter category:live_simple") and "saved as @live" in lines[-2]
        )
        await pilot.press("ctrl+s", *"live", "enter")
        assert "@live exists; press enter again to replace it" in (await wait_for_screen(pilot))[-2]
        await pilot.press("escape", "ctrl+u", "at", *"li")
        assert "@live category:live_simple" in (await wait_for_screen(pilot))[-2]
        await pilot.press("tab", *" -id:simple_5", "enter")
        lines = await wait_for_screen(pilot)
        assert item_ids(lines) == ["simple_4", "simple_6"]
        assert "filter (category:live_simple) -id:simple_5" in lines[2]
        await pilot.press("F", "ctrl+u", *"@nope", "enter")
        lines = await wait_for_screen(pilot)
        assert "no saved filter @nope (saved: @live)" in lines[-2] and lines[-2].index("^") == 8


@pytest.mark.parametrize("keys", [("escape",), ("ctrl+s", "escape")])
async def test_escape_leaves_the_name_prompt(
    make_app: Any, wait_for_screen: Any, keys: tuple[str, ...]
) -> None:
    async with make_app(twelve_rows()).run_test(size=SIZE) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("F", *"stale", "ctrl+s", *keys)
        lines = await wait_for_screen(pilot)
        assert lines[-3].startswith(" filter stale")
        await pilot.press("escape")
        assert (await wait_for_screen(pilot))[-1].startswith(" enter open")
