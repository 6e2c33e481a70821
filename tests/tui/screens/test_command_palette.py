"""The palette over the queue and over an item finds and runs commands, on a real store."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from textual.command import CommandList
from textual.widgets import Input

from fcreview.model.sanitize import display_width, sanitize
from fcreview.stats.sampling import ShareOptions
from fcreview.store.queue_file import write_queue
from fcreview.store.queue_sampling import QueueRequest
from fcreview.store.rows import View
from fcreview.tui.app import FcreviewApp
from fcreview.tui.commands import ReportServices
from fcreview.tui.screens.command_palette import CommandPaletteScreen, PaletteInput
from fcreview.tui.screens.item_pane import ItemScreen
from fcreview.tui.screens.pager import PagerScreen
from fcreview.tui.screens.prompts import AskScreen
from fcreview.tui.screens.queue import QueueScreen
from tests.faults.hostile.exercise import find_harmful
from tests.tui import idle
from tests.tui.key_input import send_keys, wait_until
from tests.tui.queue.test_queue_choices import item_ids, twelve_rows

SIZE = (80, 24)


async def type_in_palette(pilot: Any, wait_for_screen: Any, text: str, *keys: str) -> list[str]:
    """Open the palette and enter the text in one step. Other tests type letter by letter."""
    await pilot.press("colon")
    enter_text(pilot.app, text)
    await pilot.press(*keys)
    lines: list[str] = await wait_for_screen(pilot)
    return lines


def shown_item_id(lines: list[str]) -> str:
    """Return the id at the end of the path in the top line of an item."""
    return lines[0].partition(" › ")[2].split()[0]


def selected_row(app: Any) -> str:
    """Return the row at the cursor of the palette."""
    options = [each.highlighted_option for each in app.screen.query(CommandList)]
    return options[0].prompt.plain if options and options[0] is not None else ""


def enter_text(app: Any, text: str) -> None:
    """Set the text as if it was pasted."""
    app.screen.query_one(PaletteInput).value = text


@pytest.mark.parametrize("size", [(60, 15), (160, 50)])
async def test_palette_opens_and_closes_without_changes(
    make_app: Any, wait_for_screen: Any, size: tuple[int, int]
) -> None:
    async with make_app(twelve_rows()).run_test(size=size) as pilot:
        before = await wait_for_screen(pilot)
        lines = await type_in_palette(pilot, wait_for_screen, "")
        assert isinstance(pilot.app.screen, CommandPaletteScreen)
        assert "─palette─" in "\n".join(lines) and "enter choose" in lines[-1]
        assert all(len(line) <= size[0] for line in lines)
        await pilot.press("escape")
        assert await wait_for_screen(pilot) == before


async def test_action_does_what_its_key_does(make_app: Any, wait_for_screen: Any) -> None:
    async with make_app(twelve_rows()).run_test(size=SIZE) as pilot:
        await wait_for_screen(pilot)
        lines = await type_in_palette(pilot, wait_for_screen, "clus")
        assert selected_row(pilot.app).split() == ["action", "c", "clusters"]
        assert [line.split() for line in lines if line.startswith("▸action")] == [
            ["▸action", "c", "clusters"]
        ]
        await pilot.press("enter")
        by_palette = await wait_for_screen(pilot)
        await pilot.press("escape", "c")
        assert await wait_for_screen(pilot) == by_palette
        assert "clusters" in by_palette[0]


async def test_verdict_applies_to_the_item_below_and_is_saved(
    make_app: Any, wait_for_screen: Any
) -> None:
    app: FcreviewApp = make_app(twelve_rows())
    async with app.run_test(size=SIZE) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("enter")
        lines = await wait_for_screen(pilot)
        name = shown_item_id(lines)
        await type_in_palette(pilot, wait_for_screen, "golden wr", "enter")
        lines = await wait_for_screen(pilot)
        assert isinstance(app.screen, ItemScreen) and shown_item_id(lines) != name
        (journal,) = (make_app.stores[-1].workspace.reviews).glob("*.jsonl")
        (event,) = map(json.loads, journal.read_text().splitlines())
        assert (event["key"]["id"], event["verdict"], event["fault"]) == (name, True, "golden")


async def test_enter_alone_chooses_nothing_and_overridden_keys_are_shown(
    make_app: Any, wait_for_screen: Any
) -> None:
    app: FcreviewApp = make_app(twelve_rows(), key_names={"item.pass": "y"})
    async with app.run_test(size=SIZE) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("enter")
        await wait_for_screen(pilot)
        lines = await type_in_palette(pilot, wait_for_screen, "", "enter", "enter")
        assert isinstance(app.screen, CommandPaletteScreen) and "search for actions" in "\n".join(
            lines
        )
        assert selected_row(app) == "" and "y  pass" in next(
            line for line in lines if line.startswith(" action")
        )
        assert not list(make_app.stores[-1].workspace.reviews.glob("*.jsonl"))


@pytest.mark.sweep
async def test_ids_open_items_from_queue_and_item(make_app: Any, wait_for_screen: Any) -> None:
    app: FcreviewApp = make_app([{} for _ in range(300)], view=View(where="id:simple_1"))
    async with app.run_test(size=SIZE) as pilot:
        await wait_for_screen(pilot)
        lines = await type_in_palette(pilot, wait_for_screen, "simple_25")
        assert selected_row(app).split() == ["item", "simple_25", "simple"]
        await pilot.press("enter")
        assert shown_item_id(await wait_for_screen(pilot)) == "simple_25"
        await type_in_palette(pilot, wait_for_screen, "simple_299", "enter")
        lines = await wait_for_screen(pilot)
        assert shown_item_id(lines) == "simple_299" and isinstance(app.screen, ItemScreen)
        await pilot.press("escape")
        assert shown_item_id(await wait_for_screen(pilot)) == "simple_25"
        await pilot.press("escape")
        assert item_ids(await wait_for_screen(pilot)) == ["simple_1"] and isinstance(
            app.screen, QueueScreen
        )


async def test_enter_waits_for_the_search_of_an_id(make_app: Any, wait_for_screen: Any) -> None:
    app: FcreviewApp = make_app([{} for _ in range(30)])
    async with app.run_test(size=SIZE) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("colon")
        await wait_for_screen(pilot)
        enter_text(app, "simple_17")
        await pilot.press("enter")
        assert shown_item_id(await wait_for_screen(pilot)) == "simple_17"


@pytest.mark.sweep
async def test_orders_queues_and_runs_open_the_queue_and_escape_returns(
    make_app: Any, wait_for_screen: Any
) -> None:
    app: FcreviewApp = make_app(runs={"maple-8b": twelve_rows(), "birch-70b": twelve_rows()[:3]})
    store = make_app.stores[-1]
    for name, people in (("pilot", ["alice", "bob"]), ("others", ["bob", "carol"])):
        write_queue(
            store.workspace,
            store.draw_queue(QueueRequest(name, View(), 4, "", ShareOptions(people, overlap=4))),
        )
    async with app.run_test(size=SIZE) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("enter")
        await wait_for_screen(pilot)
        await type_in_palette(pilot, wait_for_screen, "birch", "enter")
        lines = await wait_for_screen(pilot)
        assert (
            "birch-70b" in lines[0] and " 1/3 ─" in lines[2] and isinstance(app.screen, QueueScreen)
        )
        await type_in_palette(pilot, wait_for_screen, "order data", "enter")
        assert "order dataset" in (await wait_for_screen(pilot))[2]
        await pilot.press("escape")
        lines = await wait_for_screen(pilot)
        assert isinstance(app.screen, QueueScreen) and "2 runs" in lines[0]
        await type_in_palette(pilot, wait_for_screen, "queue pilot", "enter")
        lines = await wait_for_screen(pilot)
        assert "pilot" in lines[0] and "0 of 4 " in lines[0] and "queue pilot · 1/4" in lines[2]
        await pilot.press("escape")
        assert "queue pilot" not in (await wait_for_screen(pilot))[2]
        lines = await type_in_palette(pilot, wait_for_screen, "queue others", "enter")
        assert isinstance(app.screen, QueueScreen) and "no items are assigned to you" in "\n".join(
            lines
        )
        assert "queue others" not in lines[2]


async def test_report_or_its_error_is_shown(make_app: Any, wait_for_screen: Any) -> None:
    requested: list[Any] = []

    def run_report(store: Any, runs: Any, stopped: Any) -> str:
        requested.append(tuple(runs))
        return f"{len(store.fetch_runs())} runs\naccuracy 71.3 %"

    app: FcreviewApp = make_app(
        runs={"maple-8b": twelve_rows(), "birch-70b": twelve_rows()[:3]}, view=View(runs=(2,))
    )
    app.session.report_services = ReportServices(
        run_report, lambda tell: pytest.fail("must not be called")
    )
    async with app.run_test(size=SIZE) as pilot:
        await wait_for_screen(pilot)
        await type_in_palette(pilot, wait_for_screen, "report", "enter")
        assert isinstance(app.screen, PagerScreen) and "accuracy 71.3 %" in "\n".join(
            await wait_for_screen(pilot)
        )
        assert requested == [(2,)]
        await pilot.press("escape")
        await wait_for_screen(pilot)
        assert isinstance(app.screen, QueueScreen)


async def test_export_contains_all_items_and_asks_before_replacing_a_file(
    make_app: Any, wait_for_screen: Any, tmp_path: Path
) -> None:
    app: FcreviewApp = make_app(twelve_rows(), view=View(where="category:live_simple"))
    file = tmp_path / "labels.jsonl"
    async with app.run_test(size=SIZE) as pilot:
        await wait_for_screen(pilot)
        lines = await type_in_palette(pilot, wait_for_screen, "export js", "enter")
        assert isinstance(app.screen, AskScreen) and lines[-1].startswith(" export jsonl FILE:")
        app.screen.query_one(Input).value = str(file)
        await pilot.press("enter")
        assert "12 labels (all items)" in (await wait_for_screen(pilot))[-2]
        assert [json.loads(line)["id"] for line in file.read_text().splitlines()] == [
            f"simple_{n}" for n in range(12)
        ]
        file.write_text("mine")
        await pilot.press("colon")
        await wait_for_screen(pilot)
        enter_text(app, f"export jsonl {file}")
        await pilot.press("enter")
        assert "Already exists. Press Enter to replace it" in "\n".join(
            await wait_for_screen(pilot)
        )
        assert file.read_text() == "mine"
        await pilot.press("enter")
        await wait_for_screen(pilot)
        assert len(file.read_text().splitlines()) == 12
        await pilot.press("colon")
        await wait_for_screen(pilot)
        enter_text(app, f"export jsonl {tmp_path}/nowhere/x.jsonl")
        await pilot.press("enter")
        assert "No such file" in (await wait_for_screen(pilot))[-2]


@pytest.mark.sweep
async def test_filter_is_saved_listed_applied_and_deleted(
    make_app: Any, wait_for_screen: Any
) -> None:
    app: FcreviewApp = make_app(twelve_rows(), view=View(where="category:live_simple"))
    async with app.run_test(size=SIZE) as pilot:
        await wait_for_screen(pilot)
        await type_in_palette(pilot, wait_for_screen, "save filter live", "enter")
        assert "Saved the filter @live" in (await wait_for_screen(pilot))[-2]
        await pilot.press("backspace")
        assert len(item_ids(await wait_for_screen(pilot))) == 12
        lines = await type_in_palette(pilot, wait_for_screen, "@li")
        assert selected_row(app).split() == ["filter", "@live", "category:live_simple"]
        await pilot.press("enter")
        lines = await wait_for_screen(pilot)
        assert (
            item_ids(lines) == ["simple_4", "simple_5", "simple_6"]
            and "filter category:live_simple" in lines[2]
        )
        await pilot.press("escape")
        assert len(item_ids(await wait_for_screen(pilot))) == 12
        file = make_app.stores[-1].workspace.root / "filters" / "alice.json"
        file.write_text('{"live": "catgory:live"}')
        lines = await type_in_palette(pilot, wait_for_screen, "@live", "enter")
        assert isinstance(app.screen, QueueScreen) and "unknown key catgory" in "\n".join(lines)
        await type_in_palette(pilot, wait_for_screen, "forget @live", "enter")
        await wait_for_screen(pilot)
        assert json.loads(file.read_text()) == {}


@pytest.mark.parametrize(
    "file",
    [
        "~no-such-user/x.csv",
        *(pytest.param(each, marks=pytest.mark.sweep) for each in ("x" * 300, "/dev/null/x")),
    ],
)
async def test_unusable_export_path_is_reported(
    make_app: Any, wait_for_screen: Any, file: str
) -> None:
    app: FcreviewApp = make_app(twelve_rows())
    async with app.run_test(size=(100, 24)) as pilot:
        await wait_for_screen(pilot)
        await type_in_palette(pilot, wait_for_screen, "export csv ")
        app.screen.query_one(PaletteInput).value += file
        await pilot.press("enter")
        assert "export failed" in "\n".join(await wait_for_screen(pilot))


async def test_blind_palette_reveals_no_verdicts(make_app: Any, wait_for_screen: Any) -> None:
    app: FcreviewApp = make_app(twelve_rows(), blind=True)
    filters = make_app.stores[-1].workspace.root / "filters"
    filters.mkdir()
    (filters / "alice.json").write_text('{"telling": "official:fail", "fine": "you:none"}')
    app.session.report_services = ReportServices(
        lambda *requested: pytest.fail("told"), lambda tell: pytest.fail("told")
    )
    async with app.run_test(size=(100, 50)) as pilot:
        await wait_for_screen(pilot)
        lines = "\n".join(await type_in_palette(pilot, wait_for_screen, ""))
        assert "clusters" not in lines and "adjudicate" not in lines and "disagreement" not in lines
        assert "official:fail" not in lines and "@telling" in lines and "you:none" in lines
        for what in ("report", "export csv", "@telling"):
            await pilot.press("ctrl+u", *what, "enter")
            lines = "\n".join(await wait_for_screen(pilot))
            assert "hidden in blind mode" in lines and isinstance(app.screen, QueueScreen)
            await pilot.press("colon")


@pytest.mark.sweep
async def test_orders_focus_the_list_and_ids_the_item_in_two_panes(
    make_app: Any, wait_for_screen: Any
) -> None:
    app: FcreviewApp = make_app([{"official": at % 2 == 0} for at in range(60)])
    async with app.run_test(size=(160, 50)) as pilot:
        lines = await wait_for_screen(pilot)
        await pilot.press("enter")
        await wait_for_screen(pilot)
        await type_in_palette(pilot, wait_for_screen, "order dataset", "enter")
        lines = await wait_for_screen(pilot)
        assert any(line.startswith("╰") and "order dataset" in line for line in lines)
        assert app.focused is app.screen.query_one("#list")  # type: ignore[comparison-overlap]
        await type_in_palette(pilot, wait_for_screen, "simple_44", "enter")
        lines = await wait_for_screen(pilot)
        assert isinstance(app.screen, QueueScreen) and app.focused is app.screen.query_one(
            "#item-text"
        )
        assert "45/60" in "\n".join(lines) and app.screen._split.item_pane is not None
        assert app.screen._split.item_pane.item_reviewer.displayed.detail.row.id == "simple_44"
        await type_in_palette(pilot, wait_for_screen, "unsure", "enter")
        await wait_for_screen(pilot)
        (journal,) = make_app.stores[-1].workspace.reviews.glob("*.jsonl")
        (event,) = map(json.loads, journal.read_text().splitlines())
        assert (event["key"]["id"], event["verdict"]) == ("simple_44", "unsure")


@pytest.mark.parametrize("below", ["queue", "item"])
async def test_text_typed_after_the_palette_key_reaches_the_palette(
    make_app: Any, wait_for_screen: Any, below: str
) -> None:
    app: FcreviewApp = make_app(twelve_rows())
    async with app.run_test(size=SIZE) as pilot:
        await wait_for_screen(pilot)
        if below == "item":
            await pilot.press("enter")
            await wait_for_screen(pilot)
        under = app.screen
        send_keys(app, "colon", *"fpc")
        await wait_until(lambda: [box.value for box in app.screen.query(PaletteInput)] == ["fpc"])
        await wait_for_screen(pilot)
        assert app.screen_stack[-2] is under and len(app.screen_stack) == (
            2 if below == "queue" else 3
        )
        assert not list(make_app.stores[-1].workspace.reviews.glob("*.jsonl"))


async def test_palette_key_is_a_letter_in_text_inputs(make_app: Any, wait_for_screen: Any) -> None:
    async with make_app(twelve_rows()).run_test(size=SIZE) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("F", *"category", "colon", *"live")
        assert (await wait_for_screen(pilot))[-3].startswith(" filter category:live")


@pytest.mark.parametrize("pressed", [("enter",), ("down", "up", "enter"), ("enter", "enter")])
async def test_enter_directly_after_text_applies_to_that_text(
    make_app: Any, wait_for_screen: Any, pressed: tuple[str, ...]
) -> None:
    """At that time, the list still shows results of an earlier text, or all commands with a
    verdict first.
    """
    app: FcreviewApp = make_app(twelve_rows())
    async with app.run_test(size=SIZE) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("enter")
        await wait_for_screen(pilot)
        send_keys(app, "colon", *"unsure", *pressed)
        journals = make_app.stores[-1].workspace.reviews
        await wait_until(lambda: any(file.read_text() for file in journals.glob("*.jsonl")))
        await wait_for_screen(pilot)
        events = [
            json.loads(line)
            for file in journals.glob("*.jsonl")
            for line in file.read_text().splitlines()
        ]
        assert [event["verdict"] for event in events] == ["unsure"]


SEARCH = " action      /  search  "


async def test_busy_store_delays_no_action_and_late_items_keep_the_cursor(
    make_app: Any, wait_for_screen: Any
) -> None:
    app: FcreviewApp = make_app([{"id": f"search_{number}"} for number in range(30)])
    free = Event()
    async with app.run_test(size=SIZE) as pilot:
        await wait_for_screen(pilot)
        with idle.ignore_threads():
            busy = asyncio.ensure_future(app.session.read(lambda store: free.wait()))
            try:
                send_keys(app, "colon", *"se")
                await wait_until(lambda: selected_row(app) == SEARCH)
                send_keys(app, "down")
                await wait_until(lambda: selected_row(app) not in ("", SEARCH))
                here = selected_row(app)
            finally:
                free.set()
            await busy
        lines = await wait_for_screen(pilot)
        assert selected_row(app) == here and "search_1 " in "\n".join(lines)


@pytest.mark.parametrize(
    ("typed_text", "label", "argument"),
    [
        ("export csv out.csv", "export csv", "out.csv"),
        ("save filter my live ones", "save filter", "my live ones"),
    ],
)
async def test_text_after_a_command_name_is_its_argument(
    make_app: Any, wait_for_screen: Any, typed_text: str, label: str, argument: str
) -> None:
    app: FcreviewApp = make_app(twelve_rows(), view=View(where="category:live_simple"))
    async with app.run_test(size=SIZE) as pilot:
        await wait_for_screen(pilot)
        placeholder = {"export csv": "FILE", "save filter": "NAME"}[label]
        await type_in_palette(pilot, wait_for_screen, label)
        assert f"{label} {placeholder}" in selected_row(app), "the name alone asks for the argument"
        enter_text(app, typed_text)
        await wait_for_screen(pilot)
        assert f"{label} {argument}" in selected_row(app) and placeholder not in selected_row(app)
        enter_text(app, f"{typed_text.upper()}")
        await wait_for_screen(pilot)
        assert f"{label} {argument.upper()}" in selected_row(app), (
            "the case of the name does not matter"
        )


async def test_argument_is_passed_to_the_command(
    make_app: Any, wait_for_screen: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    app: FcreviewApp = make_app(twelve_rows(), view=View(where="category:live_simple"))
    async with app.run_test(size=SIZE) as pilot:
        await wait_for_screen(pilot)
        for text in ("export csv out file.csv", "save filter live"):
            await pilot.press("colon")
            await wait_for_screen(pilot)
            enter_text(app, text)
            await pilot.press("enter")
            await wait_for_screen(pilot)
            assert isinstance(app.screen, QueueScreen), "no prompt is needed"
        assert "simple_4" in (tmp_path / "out file.csv").read_text()
        assert app.session.annotator_filters.saved_filters == {"live": "category:live_simple"}


async def test_exact_id_is_the_first_item(make_app: Any, wait_for_screen: Any) -> None:
    """Even if other ids contain it, and commands match better."""
    app: FcreviewApp = make_app(
        [{"id": each} for each in ("order_10", "an order", "order", "order_1", "order_11")]
    )
    async with app.run_test(size=(80, 40)) as pilot:
        await wait_for_screen(pilot)
        for name in ("order", "ORDER", "Order"):
            await type_in_palette(pilot, wait_for_screen, "")
            enter_text(app, name)
            await wait_for_screen(pilot)
            rows = [
                option.prompt.plain.split() for option in app.screen.query_one(CommandList).options
            ]
            assert rows[0][:2] == ["item", "order"], f"{name}: the match is first"
            assert sum(row[0] == "item" for row in rows) == 5, name
            await pilot.press("enter")
            assert shown_item_id(await wait_for_screen(pilot)) == "order", name
            await pilot.press("escape")
            await wait_for_screen(pilot)


@pytest.mark.parametrize("columns", [60, 80, 160])
async def test_rows_fit_the_screen(make_app: Any, wait_for_screen: Any, columns: int) -> None:
    """A command is one row: complete, or cut with an ellipsis."""
    runs = {
        "long-" + "model-" * 30: [{"id": "long_" + "item_" * 50}],
        "長い" * 20: [{"id": "長い" * 50}],
    }
    app: FcreviewApp = make_app(runs=runs)
    app.session.annotator_filters.save_filter(
        "long", " OR ".join(f"id:long_{number}" for number in range(30))
    )
    async with app.run_test(size=(columns, 24)) as pilot:
        await wait_for_screen(pilot)
        await type_in_palette(pilot, wait_for_screen, "")
        cut = 0
        for query in ("", "o", "export", "long", "長い"):
            enter_text(app, query)
            lines = await wait_for_screen(pilot)
            start = next(at for at, line in enumerate(lines) if line.startswith(" : ")) + 1
            drawn = [line[1:].rstrip() for line in lines[start:-1]]
            commands = [
                option.prompt.plain[1:].rstrip()
                for option in app.screen.query_one(CommandList).options
            ]
            assert commands and all(display_width(line) <= columns for line in lines)
            for row, command in zip(drawn, commands, strict=False):
                fits = display_width(command) < columns
                expected = (
                    row == command
                    if fits
                    else row.endswith("…") and command.startswith(row[:-1].rstrip())
                )
                assert expected, (row, command)
                cut += not fits
        assert cut


HOSTILE = (
    "q7x[/b]",
    "q7x[red]x",
    "q7x[@click=app.quit]y",
    "q7x\\[b]",
    "q7x\x1b[31mz",
    "q7x\u202etxt",
    "q7x\x07\r",
)


async def test_hostile_ids_are_shown_literally(make_app: Any, wait_for_screen: Any) -> None:
    app: FcreviewApp = make_app(
        runs={
            name: [{"id": each} for each in HOSTILE] for name in ("maple[/b]", "birch[red]\x1b[2J")
        }
    )
    async with app.run_test(size=(100, 40)) as pilot:
        await wait_for_screen(pilot)
        lines = await type_in_palette(pilot, wait_for_screen, "q7x")
        drawn = [line.split() for line in lines if line.startswith(("▸item", " item"))]
        assert sorted(words[1] for words in drawn) == sorted(sanitize(each) for each in HOSTILE)
        for text in (
            "q7x[/b]",
            "q7x[red]x",
            "q7x[@",
            "\\[",
            "\x1b[31m",
            "\u202e",
            "[/b]",
            "birch[red]",
        ):
            enter_text(app, text)
            lines = await wait_for_screen(pilot)
            assert sanitize(text).lower() in "".join(lines).lower() and not find_harmful(
                "\n".join(lines)
            )
        enter_text(app, "q7x[red]x")
        await pilot.press("enter")
        assert shown_item_id(await wait_for_screen(pilot)) == "q7x[red]x"


async def test_open_palette_follows_theme_changes(make_app: Any) -> None:
    app = make_app([{"id": "simple_0"}])
    async with app.run_test() as pilot:
        await pilot.press("colon")
        await pilot.pause()
        app.theme = "fcreview-light"
        await pilot.pause()
        placeholder = app.screen.query_one(PaletteInput).get_component_styles("input--placeholder")
        assert placeholder.color.hex.lower() == app.get_css_variables()["dim"]


async def test_search_that_begins_after_the_palette_closed_does_nothing(
    make_app: Any, wait_for_screen: Any
) -> None:
    """Textual removes the list of a closing palette before it cancels the search."""
    async with make_app(twelve_rows()).run_test(size=SIZE) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("colon")
        palette = pilot.app.screen
        assert isinstance(palette, CommandPaletteScreen)
        await palette.query_one(CommandList).remove()
        await palette._gather_commands("clus").wait()
        assert pilot.app.is_running
