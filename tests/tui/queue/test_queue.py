"""Keys and rows of the queue, on a real store."""

from __future__ import annotations

from typing import Any

import pytest

from fcreview.model.sanitize import display_width
from fcreview.store.reviews.journal_reader import read_events_and_warnings
from fcreview.store.rows import View
from fcreview.store.workspace import find_workspace
from fcreview.tui.app import FcreviewApp
from fcreview.tui.screens.item_pane import ItemScreen
from fcreview.tui.screens.queue import QueueScreen
from fcreview.tui.session import Session
from fcreview.tui.widgets.lists import WINDOW

NARROW, WIDE, ONE_PANE = (80, 24), (160, 50), (119, 50)


def make_rows(n: int = 30, passing: int = 10) -> list[dict[str, Any]]:
    """Return `n` rows. The first `passing` rows pass."""
    return [{"official": number < passing} for number in range(n)]


def cursor_row(lines: list[str]) -> str:
    (row,) = [line.lstrip("│ ") for line in lines if "▌" in line[:3]]
    return row


async def test_failures_come_first_and_header_shows_rates(make_app, wait_for_screen):
    async with make_app(make_rows()).run_test(size=NARROW) as pilot:
        lines = await wait_for_screen(pilot)
    assert "maple-8b" in lines[0]
    assert lines[0].endswith("0 of 30   alice")
    assert "official 33.3 %" in lines[1]
    assert "corrected 33.3 %" in lines[1]
    assert lines[2].rstrip("─ ").endswith("failures first · 1/30")
    assert lines[3].split()[:4] == ["item", "official", "recomp.", "you"]
    assert cursor_row(lines).split()[1:6] == ["simple_10", "✗", "✗", "–", "string"]
    assert all("✗" in line for line in lines[4:22])


@pytest.mark.sweep
@pytest.mark.parametrize("size", [NARROW, WIDE, (60, 15), (100, 30)])
async def test_key_line_is_last_and_fits(make_app, wait_for_screen, size):
    async with make_app([*make_rows(), {"issue": "unreadable"}]).run_test(size=size) as pilot:
        for keys in ([], ["F", *"simple", "enter"]):
            await pilot.press(*keys)
            lines = await wait_for_screen(pilot)
            assert len(lines) == size[1]
            assert lines[-1].startswith(" enter open")
            assert lines[-1].endswith("? help")
            assert all(display_width(line) <= size[0] for line in lines)


async def test_cursor_moves_by_line_page_and_to_both_ends(make_app, wait_for_screen):
    async with make_app(make_rows(100, 0)).run_test(size=NARROW) as pilot:
        await wait_for_screen(pilot)
        expected = {
            "j": 1,
            "down": 2,
            "k": 1,
            "up": 0,
            "pagedown": 17,
            "space": 34,
            "pageup": 17,
            "end": 99,
            "home": 0,
        }
        for key, place in expected.items():
            await pilot.press(key)
            lines = await wait_for_screen(pilot)
            assert cursor_row(lines).split()[1] == f"simple_{place}", key
            assert lines[2].rstrip("─ ").endswith(f"{place + 1}/100"), key


async def test_cursor_move_redraws_two_rows(make_app, wait_for_screen, monkeypatch):
    async with make_app(make_rows(100, 0)).run_test(size=NARROW) as pilot:
        await wait_for_screen(pilot)
        rows = pilot.app.screen.list
        drawn: list[int] = []
        render = rows.render_line
        monkeypatch.setattr(rows, "render_line", lambda y: drawn.append(y) or render(y))
        await pilot.press("j")
        await wait_for_screen(pilot)
    assert drawn == [0, 1]


@pytest.mark.sweep
async def test_long_queues_are_read_in_windows(make_app, wait_for_screen, monkeypatch):
    n = 5 * WINDOW
    app, store = make_app(make_rows(n, 0)), make_app.stores[-1]
    requested: list[tuple[int, int]] = []
    page = store.fetch_page
    monkeypatch.setattr(
        store,
        "fetch_page",
        lambda view, start, limit: requested.append((start, limit)) or page(view, start, limit),
    )
    async with app.run_test(size=NARROW) as pilot:
        await wait_for_screen(pilot)
        assert requested == [(0, WINDOW)]
        await pilot.press("end")
        assert cursor_row(await wait_for_screen(pilot)).split()[1] == f"simple_{n - 1}"
        assert requested == [(0, WINDOW), (4 * WINDOW, WINDOW)]
        await pilot.press("home", *["pagedown"] * 12)
        await wait_for_screen(pilot)
        assert requested[2:] == [(WINDOW, WINDOW)], (
            "the next window is read before the cursor reaches it"
        )


@pytest.mark.sweep
async def test_verdict_is_shown_and_sets_the_exit_code(make_app, wait_for_screen):
    app: FcreviewApp = make_app(make_rows(5, 0))
    async with app.run_test(size=NARROW) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("j", "enter")
        await wait_for_screen(pilot)
        assert isinstance(app.screen, ItemScreen)
        await pilot.press("p")
        await wait_for_screen(pilot)
        await pilot.press("q")
        lines = await wait_for_screen(pilot)
        assert lines[0].endswith("1 of 5   alice")
        assert "corrected 20.0 %" in lines[1]
        (judged,) = [line for line in lines if " simple_1 " in line]
        assert judged.split()[1:2] == ["✓"]
        assert cursor_row(lines).split()[1] == "simple_2"
        await pilot.press("q")
    assert app.return_value == 1
    events, _ = read_events_and_warnings(make_app.stores[-1].workspace)
    assert [(event.key.id, event.verdict) for event in events] == [("simple_1", True)]


async def test_undone_verdict_does_not_count(make_app, wait_for_screen):
    app = make_app(make_rows(5, 0))
    async with app.run_test(size=NARROW) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("enter")
        await wait_for_screen(pilot)
        await pilot.press("f")
        await wait_for_screen(pilot)
        await pilot.press("z")
        await wait_for_screen(pilot)
        await pilot.press("q")
        assert "0 of 5 " in (await wait_for_screen(pilot))[0]
        await pilot.press("ctrl+c")
    assert app.return_value == 0


async def test_item_option_opens_the_item_above_the_queue(make_app, wait_for_screen):
    async with make_app(make_rows(), open_item="simple_15").run_test(size=NARROW) as pilot:
        await wait_for_screen(pilot)
        assert isinstance(pilot.app.screen, ItemScreen)
        await pilot.press("q")
        assert cursor_row(await wait_for_screen(pilot)).split()[1] == "simple_15"


async def test_missing_item_is_reported(make_app, wait_for_screen):
    async with make_app(make_rows(), open_item="nothing_1").run_test(size=NARROW) as pilot:
        lines = await wait_for_screen(pilot)
        assert isinstance(pilot.app.screen, QueueScreen)
        assert "No item has the id nothing_1" in lines[-2]


async def test_missing_store_ends_with_an_error(tmp_path, wait_for_screen, capsys):
    app = FcreviewApp(Session(find_workspace(tmp_path), "alice"))
    async with app.run_test(size=NARROW) as pilot:
        await wait_for_screen(pilot)
    assert app.return_code == 1
    assert capsys.readouterr().err.startswith("no runs have been imported at ")


async def test_wide_terminal_adds_category_and_resize_keeps_cursor(make_app, wait_for_screen):
    rows = [row | {"category": "weather"} for row in make_rows(100, 0)]
    async with make_app(rows).run_test(size=NARROW) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("end")
        assert "category" not in (await wait_for_screen(pilot))[3]
        await pilot.resize_terminal(*ONE_PANE)
        lines = await wait_for_screen(pilot)
        assert "category" in lines[3]
        assert cursor_row(lines).split()[1:3] == ["simple_99", "weather"]
        await pilot.resize_terminal(*NARROW)
        assert cursor_row(await wait_for_screen(pilot)).split()[1] == "simple_99"


async def test_small_terminal_shows_required_size(make_app, wait_for_screen):
    async with make_app(make_rows()).run_test(size=NARROW) as pilot:
        await wait_for_screen(pilot)
        await pilot.resize_terminal(50, 10)
        assert "fcreview needs 60x15" in (await wait_for_screen(pilot))[0]
        await pilot.resize_terminal(*NARROW)
        assert cursor_row(await wait_for_screen(pilot)).split()[1] == "simple_10"


async def test_hostile_text_is_sanitized(make_app, wait_for_screen):
    row = {
        "id": "simple_\x1b]0;owned\x07",
        "error_type": "value\u202e_error",
        "first_difference": "[bold red]markup[/] \x1b[2J\x9b2J",
    }
    async with make_app([row]).run_test(size=ONE_PANE) as pilot:
        text = "\n".join(await wait_for_screen(pilot))
    assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(text)
    assert "[bold red]markup[/] ␛[2J" in text


async def test_wide_characters_keep_columns_aligned(make_app, wait_for_screen):
    rows = [
        {"id": "简单_1", "first_difference": "city 杭州"},
        {"id": "simple_2", "first_difference": "city x"},
    ]
    rows[1]["error_type"] = "value_error:others"
    async with make_app(rows).run_test(size=NARROW) as pilot:
        lines = await wait_for_screen(pilot)
    starts = {display_width(line.partition("city")[0]) for line in lines[4:6]}
    assert len(starts) == 1


async def test_remapped_keys_work_and_are_shown(make_app, wait_for_screen):
    app = make_app(make_rows(), key_names={"queue.open": "l", "clusters": "C"})
    async with app.run_test(size=NARROW) as pilot:
        lines = await wait_for_screen(pilot)
        assert "l open" in lines[-1]
        assert "C clusters" in lines[-1]
        await pilot.press("l")
        await wait_for_screen(pilot)
        assert isinstance(app.screen, ItemScreen)


async def test_unknown_action_in_keys_is_reported(make_app, wait_for_screen):
    async with make_app(make_rows(), key_names={"queue.opne": "l"}).run_test(size=NARROW) as pilot:
        assert "queue.opne: unknown action" in (await wait_for_screen(pilot))[-2]


async def test_help_shows_all_keys_and_closes(make_app, wait_for_screen):
    async with make_app(make_rows()).run_test(size=WIDE) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("question_mark")
        text = "\n".join(await wait_for_screen(pilot))
        for words in (
            "open",
            "search",
            "filter",
            "sort",
            "clusters",
            "quit",
            "next line",
            "page down",
        ):
            assert words in text
        assert "%      agreement: compare the annotators" in text
        assert "C      calibration: measure checkers and judges" in text
        assert "x      adjudicate: resolve annotator disagreements" in text
        await pilot.press("q")
        await wait_for_screen(pilot)
        assert isinstance(pilot.app.screen, QueueScreen)


async def test_blind_queue_shows_no_verdicts_of_others(make_app, wait_for_screen):
    app = make_app(make_rows(), blind=True, view=View(queue="failures"))
    async with app.run_test(size=ONE_PANE) as pilot:
        lines = await wait_for_screen(pilot)
        text = "\n".join(lines)
        assert "✗" not in text
        assert "✓" not in text
        for word in ("official", "corrected", "value_error", "failures", "Hangzhou"):
            assert word not in text
        assert lines[3].strip("│ ").split() == ["item", "you", "question"]
        assert cursor_row(lines).split()[1] == "simple_0", "blind queues have dataset order"
        await pilot.press("F", *"official:fail", "enter")
        assert "hidden in blind mode" in (await wait_for_screen(pilot))[-2]


async def test_unreadable_review_is_reported_on_opening(make_app, wait_for_screen, tmp_path):
    (tmp_path / "work").mkdir()
    reviews = find_workspace(tmp_path / "work").reviews
    (reviews / "bob.jsonl").write_bytes(b'{"event": "cut o')
    async with make_app(make_rows()).run_test(size=NARROW) as pilot:
        lines = await wait_for_screen(pilot)
        assert "reviews: bob.jsonl line 1 is incomplete" in lines[-2]
