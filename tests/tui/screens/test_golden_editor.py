"""Golden answers corrected on the screen, over the sample runs: what is typed, shown, and on disk."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest

from fcreview.cli.wiring import build_golden_services
from fcreview.store.workspace import Workspace
from fcreview.tui.screens.dialogs import NoteBox
from fcreview.tui.screens.golden_editor import GoldenScreen, GoldenTextArea
from fcreview.tui.text.lines import plain_text
from fcreview.tui.widgets.document_view import LineBar
from tests.sharing import Imports
from tests.tui.screens.item_host import Host, Keys, bar, events, opened

ITEM = "simple_python_4"


@pytest.fixture
def sampled(imports: Imports, samples: Path, tmp_path: Path) -> Workspace:
    return imports.copy([samples / "bfcl"], tmp_path / "here")


@asynccontextmanager
async def correcting(workspace: Workspace, **fields: Any) -> AsyncIterator[tuple[Host, Keys]]:
    async with opened(workspace, ITEM, golden=build_golden_services(), **fields) as (app, pilot):
        await pilot.press("G")
        yield app, pilot


def says(app: Host) -> str:
    return plain_text(app.screen.query_one("#golden-message", LineBar).line)


def text(app: Host) -> str:
    return app.screen.query_one(GoldenTextArea).text


async def typed(app: Host, pilot: Keys, value: str) -> None:
    app.screen.query_one(GoldenTextArea).text = value
    await pilot.pause()
    await pilot.done()


def accepting(days: list[str], **more: Any) -> str:
    return json.dumps({"ground_truth": [{"alarm.set": {"time": ["06:45"], "days": [days], "label": [""], **more}}]})


async def test_it_begins_with_the_golden_answer_and_says_what_that_gives(sampled: Workspace) -> None:
    async with correcting(sampled) as (app, _):
        assert json.loads(text(app))["ground_truth"][0]["alarm.set"]["time"] == ["06:45", "6:45"]
        assert "this prediction would fail · changes no verdict in 2 runs" in says(app)


@pytest.mark.sweep
async def test_a_correction_is_rechecked_and_on_disk_with_its_reason(sampled: Workspace) -> None:
    async with correcting(sampled) as (app, pilot):
        await typed(app, pilot, accepting(["Monday", "Wednesday"]))
        assert "this prediction would pass" in says(app)
        assert "1 to pass" in says(app)
        await pilot.press("tab", "n")
        assert isinstance(app.focused, NoteBox)
        await pilot.press(*"two", "enter", "enter")
        (event,) = events(sampled)
        assert event["golden_fix"] == json.loads(accepting(["Monday", "Wednesday"]))
        assert (event["fault"], event["note"], event["target"]) == ("golden", "two", "item")
        assert "verdict" not in event
        assert "saved: golden answer corrected" in bar(app, "status")
        await pilot.press("p")
        assert [(each.get("verdict"), each["fault"]) for each in events(sampled)][-1] == (True, "golden")
        await pilot.press("z", "z")
        assert [each["act"] for each in events(sampled)] == ["review", "review", "retract", "retract"]
        await pilot.press("G")
        assert "06:45" in text(app) and "6:45" in text(app)


async def test_an_answer_without_a_change_is_not_saved(sampled: Workspace) -> None:
    async with correcting(sampled) as (app, pilot):
        journal = sampled.reviews / "alice.jsonl"
        await pilot.press("escape", "enter")
        assert "NOT SAVED: this is the golden answer of the dataset" in says(app)
        assert isinstance(app.screen, GoldenScreen) and not journal.exists()
        await typed(app, pilot, json.dumps(json.loads(text(app))))
        await pilot.press("enter")
        assert "NOT SAVED" in says(app) and not journal.exists(), "other white space is no change"
        await typed(app, pilot, accepting(["Monday"]))
        await pilot.press("enter", "G", "tab", "enter")
        assert not isinstance(app.screen, GoldenScreen) and len(events(sampled)) == 1, "saved once"


@pytest.mark.sweep
async def test_the_next_time_it_goes_on_from_what_was_said(sampled: Workspace) -> None:
    async with correcting(sampled) as (app, pilot):
        await typed(app, pilot, accepting(["Monday"]))
        await pilot.press("tab", "enter", "G")
        assert json.loads(text(app)) == json.loads(accepting(["Monday"]))
        await pilot.press("tab", "o")
        assert "6:45" in text(app) and "Friday" in text(app)


@pytest.mark.parametrize(
    ("value", "problem", "line"),
    [
        (accepting(["Monday"], colour=["red"]), "alarm.set has no parameter colour", 0),
        (
            '{"ground_truth": [\n{"alarm.set": {"days":\n 3, "time": ["06:45"]}}]}',
            "must be a list of accepted values",
            1,
        ),
        ('{"ground_truth":\n oops}', "invalid JSON", 1),
    ],
)
async def test_what_is_wrong_is_said_and_nothing_saved(sampled: Workspace, value: str, problem: str, line: int) -> None:
    async with correcting(sampled) as (app, pilot):
        await typed(app, pilot, value)
        assert problem in says(app)
        await pilot.press("tab", "enter")
        assert isinstance(app.screen, GoldenScreen)
        assert "NOT SAVED" in says(app)
        assert app.screen.query_one(GoldenTextArea).cursor_location[0] == line
        assert not (sampled.reviews / "alice.jsonl").exists() or not events(sampled)


async def test_letters_are_text_until_tab_and_what_was_typed_is_not_dropped_at_once(sampled: Workspace) -> None:
    async with correcting(sampled) as (app, pilot):
        await pilot.press("q", "enter", "n")
        assert text(app).startswith("q\nn")
        await pilot.press("escape", "escape")
        assert "again to discard the text" in says(app)
        await pilot.press("escape")
        assert not isinstance(app.screen, GoldenScreen)


@pytest.mark.sweep
async def test_an_editor_of_ones_own(sampled: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "edit"
    script.write_text("#!/bin/sh\nsed -i 's/Friday/Sunday/' \"$2\"\n")
    script.chmod(0o755)
    monkeypatch.setenv("VISUAL", f"{script} -f")
    async with correcting(sampled) as (app, pilot):
        await pilot.press("tab", "v")
        assert "not supported" in says(app), "no terminal to hand over in a test"
        monkeypatch.setattr(app, "suspend", nullcontext)
        await pilot.press("v")
        assert "Sunday" in text(app)
        script.write_text("#!/bin/sh\nexit 3\n")
        await pilot.press("v")
        assert "failed (exit code 3)" in says(app)


async def test_blind_nothing_is_rechecked_before_deciding(sampled: Workspace) -> None:
    async with correcting(sampled, blind=True) as (app, pilot):
        await typed(app, pilot, accepting(["Monday", "Wednesday"]))
        assert says(app).strip() == "valid · verdicts are hidden until you submit"
        assert "pass" not in says(app) and "runs" not in says(app)
