"""The palette opens on every screen and list, and its commands work from each of them."""

from __future__ import annotations

from typing import Any

import pytest
from textual.command import CommandList

from fcreview.cli.wiring import build_form_fields, build_golden_services
from fcreview.model.review import Annotation
from fcreview.store.reviewer import Reviewer
from fcreview.store.reviews.journal import Journal
from fcreview.store.rows import View
from fcreview.tui.actions import KEY_SCOPES, NO_KEY
from fcreview.tui.commands import CommandService, ReportServices
from fcreview.tui.screens.command_palette import CommandPaletteScreen, PaletteInput
from fcreview.tui.screens.compare import CompareScreen
from fcreview.tui.screens.help import HelpScreen
from fcreview.tui.screens.item_pane import ItemScreen
from fcreview.tui.screens.overview import OverviewScreen
from fcreview.tui.screens.queue import QueueScreen
from tests.examples import only_long
from tests.faults.hostile.exercise import find_harmful
from tests.tui.screens.test_command_palette import HOSTILE, type_in_palette

FAILING = {
    "official": False,
    "error_type": "value_error:string",
    "first_difference": 'city "a" (golden "b")',
}
RUNS = {
    "maple-8b": [FAILING, {"official": True}, FAILING, {"issue": "no arguments"}],
    "birch-8b": [{"official": True}, {"official": True}],
}
PLACES = {
    "queue": (),
    "overview": ("v",),
    "order": ("o",),
    "clusters": ("c",),
    "runs": ("r",),
    "issues": ("i",),
    "import issue": ("i", "enter"),
    "agreement": ("percent_sign",),
    "calibration": ("C",),
    "conventions": ("number_sign",),
    "ranking": ("Z",),
    "adjudication": ("x",),
    "help": ("question_mark",),
    "item": ("enter",),
    "overview over an item": ("enter", "v"),
    "pager": ("enter", "R"),
    "fault": ("enter", "f", "w"),
    "tags": ("enter", "f", "e"),
    "copy": ("enter", "y"),
    "compare": ("r", "j", "equals_sign", "j", "equals_sign"),
    "help over a list": ("c", "question_mark"),
    "golden editor": ("enter", "G"),
    "estimates": ("v", "M"),
    "flip": ("r", "j", "equals_sign", "j", "equals_sign", "enter"),
    "question": ("m",),
    "reason": ("enter", "p", "O"),
    "bulk review": ("c", "B"),
    "bulk confirmation": ("c", "B", "f", "enter"),
}
GROUPS = {
    "queue": "queue",
    "overview": "overview",
    "order": "picker",
    "clusters": "clusters",
    "runs": "runs",
    "agreement": "agreement",
    "calibration": "calibration",
    "conventions": "conventions",
    "ranking": "ranking",
    "help": "help",
    "item": "item",
    "import issue": "issue",
    "pager": "pager",
    "fault": "fault",
    "tags": "tags",
    "copy": "copy",
    "compare": "compare",
    "golden editor": "golden",
    "estimates": "estimates",
    "flip": "flip",
    "question": "question",
    "reason": "why",
    "bulk review": "bulk",
    "bulk confirmation": "confirm",
}
"""The group of actions of each screen."""
TEXT_PLACES = {
    "filter": ("F",),
    "find": ("r", "slash"),
    "note": ("enter", "n"),
    "ask": ("enter", "slash"),
    "form": ("v", "X"),
    "golden": ("enter", "G", "tab"),
    "palette": ("colon",),
}
"""Keys that open a text input, where a colon is typed, by group of keys."""
FAST_PLACES = ("queue", "overview", "item")
"""Screens tested in `make test`."""
SWEPT_PLACES = ("runs", "adjudication", "tags", "compare", "golden editor", "bulk confirmation")
"""Screens of different kinds, tested in `make sweep`. The others are tested in the long form."""
STAYING = ("tags", "golden editor", "bulk review", "bulk confirmation")
"""Prompts with input that would be lost."""


@pytest.fixture
def app(make_app: Any) -> Any:
    result = make_app(runs=RUNS)
    commands = CommandService(build_form_fields, lambda *_: pytest.fail("must not be called"))
    result.session.report_services = ReportServices(
        lambda *_: "accuracy 71.3 %", lambda _: pytest.fail("must not be called"), commands
    )
    result.session.golden_support = build_golden_services()
    return result


def _mark_slow(place: str) -> Any:
    if place in FAST_PLACES:
        return place
    if place in SWEPT_PLACES:
        return pytest.param(place, marks=pytest.mark.sweep)
    return pytest.param(place, marks=[pytest.mark.sweep, only_long])


async def open_place(pilot: Any, wait_for_screen: Any, place: str) -> None:
    await wait_for_screen(pilot)
    for key in PLACES[place]:
        await pilot.press(key)
        await wait_for_screen(pilot)


def test_every_group_of_keys_has_a_place() -> None:
    groups = {action.id.partition(".")[0] for scope in KEY_SCOPES for action in scope}
    groups -= {"golden_effect"}  # needs an item of a benchmark; see test_golden_editor
    assert groups == {*GROUPS.values(), *TEXT_PLACES, "adjudication", "list", "scope", "app"}


async def test_disagreement_has_the_keys_that_resolve_it(
    app: Any, make_app: Any, wait_for_screen: Any
) -> None:
    store = make_app.stores[-1]
    item = store.fetch_page(View(), 0, 1)[0].item
    for name, verdict in (("bob", True), ("carol", False)):
        Reviewer(store, Journal(store.workspace, name)).review(item, Annotation(verdict=verdict))
    async with app.run_test(size=(100, 30)) as pilot:
        await open_place(pilot, wait_for_screen, "adjudication")
        await pilot.press("colon", *"accept A")
        assert "accept A" in "\n".join(await wait_for_screen(pilot))
        shown = {each.id for each in app.screen._palette_context.actions}
        assert {"adjudication.take_1", "adjudication.take_2"} <= shown


@pytest.mark.parametrize("place", [_mark_slow(each) for each in PLACES])
async def test_palette_opens_shows_keys_closes_and_orders_open_the_queue(
    app: Any, wait_for_screen: Any, place: str
) -> None:
    async with app.run_test(size=(100, 30)) as pilot:
        await open_place(pilot, wait_for_screen, place)
        under, keys = (
            app.screen,
            {
                active.binding.id
                for active in app.screen.active_bindings.values()
                if active.enabled and active.binding.key != NO_KEY
            },
        )
        await pilot.press("colon")
        await wait_for_screen(pilot)
        assert isinstance(app.screen, CommandPaletteScreen), under
        shown = {
            option.prompt.plain[:7].strip() for option in app.screen.query_one(CommandList).options
        }
        assert {"action", "theme", "report", "export"} <= shown
        offered = {each.id for each in app.screen._palette_context.actions}
        assert offered >= {
            each
            for each in keys
            if each and each != "app.palette" and each not in getattr(under, "hidden_actions", ())
        }
        assert GROUPS.get(place, "") in ("", *((each or "").partition(".")[0] for each in keys)), (
            place
        )
        await pilot.press("escape")
        await wait_for_screen(pilot)
        assert app.screen is under
        await pilot.press("question_mark")
        await wait_for_screen(pilot)
        assert isinstance(app.screen, HelpScreen) or place.startswith("help")
        if place in STAYING:
            return
        if not place.startswith("help"):
            await pilot.press("escape")
            await wait_for_screen(pilot)
            assert app.screen is under
        lines = await type_in_palette(pilot, wait_for_screen, "order dataset", "enter")
        assert isinstance(app.screen, QueueScreen) and "order dataset" in "\n".join(lines), place
        await type_in_palette(pilot, wait_for_screen, "simple_2", "enter")
        assert isinstance(app.screen, ItemScreen)


@pytest.mark.parametrize(
    "place",
    [
        "item",
        *(
            pytest.param(each, marks=pytest.mark.sweep)
            for each in ("overview", "clusters", "adjudication")
        ),
    ],
)
async def test_clusters_comparisons_and_report_open_from_everywhere(
    app: Any, wait_for_screen: Any, place: str
) -> None:
    async with app.run_test(size=(100, 30)) as pilot:
        await open_place(pilot, wait_for_screen, place)
        under = app.screen
        lines = await type_in_palette(pilot, wait_for_screen, "compare birch maple", "enter")
        assert isinstance(app.screen, CompareScreen) and "birch-8b" in lines[0]
        await pilot.press("q")
        await wait_for_screen(pilot)
        assert app.screen is under
        await type_in_palette(pilot, wait_for_screen, "compare 1 1", "enter")
        assert app.screen is under
        await type_in_palette(pilot, wait_for_screen, "overview", "enter")
        assert isinstance(app.screen, OverviewScreen)


@pytest.mark.parametrize("place", map(_mark_slow, STAYING))
async def test_unsaved_input_is_not_left(app: Any, wait_for_screen: Any, place: str) -> None:
    async with app.run_test(size=(100, 30)) as pilot:
        await open_place(pilot, wait_for_screen, place)
        await pilot.press("colon", *"order data")
        await wait_for_screen(pilot)
        rows = [option.prompt.plain for option in app.screen.query_one(CommandList).options]
        assert not [row for row in rows if row.startswith((" order", " run", " item"))]


async def test_overview_opens_over_an_item_and_leaves_it(app: Any, wait_for_screen: Any) -> None:
    async with app.run_test(size=(100, 34)) as pilot:
        await open_place(pilot, wait_for_screen, "item")
        item = app.screen
        await pilot.press("v")
        await wait_for_screen(pilot)
        assert isinstance(app.screen, OverviewScreen)
        await pilot.press("escape")
        await wait_for_screen(pilot)
        assert app.screen is item
        await pilot.press("v")
        await wait_for_screen(pilot)
        await pilot.press("L")
        lines = await wait_for_screen(pilot)
        assert isinstance(app.screen, QueueScreen) and "failures first" in "\n".join(lines)


async def test_colon_is_typed_in_text_fields(app: Any, wait_for_screen: Any) -> None:
    async with app.run_test(size=(100, 30)) as pilot:
        await wait_for_screen(pilot)
        for place, keys in {
            **TEXT_PLACES,
            "search": ("slash",),
            "overview search": ("v", "slash"),
        }.items():
            for key in keys:
                await pilot.press(key)
                await wait_for_screen(pilot)
            under, typed = app.screen, app.focused
            await pilot.press("colon")
            await wait_for_screen(pilot)
            assert app.screen is under and ":" in (
                getattr(typed, "value", "") or getattr(typed, "text", "")
            ), place
            for _ in range(4):
                if not isinstance(app.screen, QueueScreen) or app.focused is not app.screen.list:
                    await pilot.press("escape")
                    await wait_for_screen(pilot)
            assert isinstance(app.screen, QueueScreen), place


@pytest.mark.parametrize("place", map(_mark_slow, ["overview", "clusters", "help", "estimates"]))
async def test_hostile_ids_and_models_are_literal(
    make_app: Any, wait_for_screen: Any, place: str
) -> None:
    hostile = [FAILING | {"id": each} for each in HOSTILE]
    app = make_app(runs={"maple[/b]": hostile, "birch[red]\x1b[2J": hostile})
    async with app.run_test(size=(100, 40)) as pilot:
        await open_place(pilot, wait_for_screen, place)
        for text in ("q7x[", "maple[/b]", "compare"):
            await pilot.press("colon")
            await wait_for_screen(pilot)
            app.screen.query_one(PaletteInput).value = text
            lines = "\n".join(await wait_for_screen(pilot))
            assert (
                isinstance(app.screen, CommandPaletteScreen)
                and text in lines
                and not find_harmful(lines)
            )
            await pilot.press("escape")
            await wait_for_screen(pilot)


async def test_blind_palette_has_no_comparison_and_no_verdicts(
    make_app: Any, wait_for_screen: Any
) -> None:
    app = make_app(runs=RUNS, blind=True)
    app.session.report_services = ReportServices(
        lambda *_: pytest.fail("told"), lambda _: pytest.fail("told")
    )
    async with app.run_test(size=(100, 60)) as pilot:
        for place in ("overview", "item"):
            await wait_for_screen(pilot)
            await open_place(pilot, wait_for_screen, place)
            await pilot.press("colon")
            text = "\n".join(await wait_for_screen(pilot))
            for word in (
                "compare",
                "clusters",
                "adjudicate",
                "agreement",
                "calibration",
                "value_error",
            ):
                assert word not in text, (place, word)
            await pilot.press("escape", "escape")
            await wait_for_screen(pilot)
