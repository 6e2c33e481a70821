"""Golden answers are corrected on the screen and saved to disk, on the sample runs."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest

from fcreview.cli.wiring import build_golden_services
from fcreview.model.review import Annotation
from fcreview.store.reviewer import Reviewer
from fcreview.store.reviews.journal import Journal
from fcreview.store.store import Store
from fcreview.store.workspace import Workspace
from fcreview.tui.item_view.other_runs import find_most_given_answer
from fcreview.tui.review.golden_effect import _heading_line
from fcreview.tui.screens.golden_editor import GoldenEffectScreen, GoldenScreen, GoldenTextArea
from fcreview.tui.screens.review_dialogs import NoteBox
from fcreview.tui.text.lines import plain_text
from fcreview.tui.widgets.document_view import DocumentView, LineBar
from tests.sharing import Imports
from tests.tui.screens.item_host import (
    ItemHost,
    KeyPresser,
    bar_text,
    document_rows,
    open_item_host,
    read_events,
)

ITEM = "simple_python_4"


@pytest.fixture
def sample_workspace(imports: Imports, samples: Path, tmp_path: Path) -> Workspace:
    return imports.copy([samples / "bfcl"], tmp_path / "here")


@asynccontextmanager
async def open_editor(
    workspace: Workspace, **fields: Any
) -> AsyncIterator[tuple[ItemHost, KeyPresser]]:
    async with open_item_host(workspace, ITEM, golden=build_golden_services(), **fields) as (
        app,
        pilot,
    ):
        await pilot.press("G")
        yield app, pilot


def message_text(app: ItemHost) -> str:
    return plain_text(app.screen.query_one("#golden-message", LineBar).line)


def editor_text(app: ItemHost) -> str:
    return app.screen.query_one(GoldenTextArea).text


async def enter_text(app: ItemHost, pilot: KeyPresser, value: str) -> None:
    app.screen.query_one(GoldenTextArea).text = value
    await pilot.pause()
    await pilot.wait()


def golden_json(days: list[str], **more: Any) -> str:
    return json.dumps(
        {
            "ground_truth": [
                {"alarm.set": {"time": ["06:45"], "days": [days], "label": [""], **more}}
            ]
        }
    )


async def test_editor_starts_with_the_golden_answer_and_its_effect(
    sample_workspace: Workspace,
) -> None:
    async with open_editor(sample_workspace) as (app, _):
        assert json.loads(editor_text(app))["ground_truth"][0]["alarm.set"]["time"] == [
            "06:45",
            "6:45",
        ]
        assert "this prediction would fail · changes no verdict in 2 runs" in message_text(app)


@pytest.mark.sweep
async def test_correction_is_checked_and_saved_with_its_reason(sample_workspace: Workspace) -> None:
    async with open_editor(sample_workspace) as (app, pilot):
        await enter_text(app, pilot, golden_json(["Monday", "Wednesday"]))
        assert "this prediction would pass" in message_text(app)
        assert "1 to pass" in message_text(app)
        await pilot.press("n")
        assert isinstance(app.focused, NoteBox)
        await pilot.press(*"two", "enter", "enter")
        assert isinstance(app.screen, GoldenEffectScreen)
        assert not (sample_workspace.reviews / "alice.jsonl").exists(), "nothing is saved yet"
        assert "1 of 2 runs would pass (0 now)" in effect_text(app)
        assert "ranking: unchanged" in effect_text(app)
        await pilot.press("p")

        (event,) = read_events(sample_workspace)
        assert event["golden_fix"] == json.loads(golden_json(["Monday", "Wednesday"]))
        assert (event["fault"], event["note"], event["target"]) == ("golden", "two", "item")
        assert (event["verdict"], event["golden_status"]) == (True, "accepted")
        assert set(event["golden_verdicts"]) == {"maple-8b", "maple-8b-FC"}
        saved = "saved: golden answer accepted · pass · simple_python_4 · z undo"
        assert saved in bar_text(app, "status"), "80 columns have no room for the effect"
        await pilot.press("z")
        assert [each["act"] for each in read_events(sample_workspace)] == ["review", "retract"]
        assert "undone: pass, fault: golden" in bar_text(app, "status")
        await pilot.press("G")
        assert "06:45" in editor_text(app) and "6:45" in editor_text(app)


def effect_text(app: ItemHost) -> str:
    view = app.screen.query_one("#effect-runs", DocumentView)
    return "\n".join(view.render_line(y).text for y in range(view.size.height))


async def test_key_goes_back_from_the_effect_to_the_text(sample_workspace: Workspace) -> None:
    async with open_editor(sample_workspace) as (app, pilot):
        await enter_text(app, pilot, golden_json(["Monday"]))
        await pilot.press("enter", "escape")
        assert isinstance(app.screen, GoldenScreen)
        assert editor_text(app) == golden_json(["Monday"])
        assert not (sample_workspace.reviews / "alice.jsonl").exists()


async def test_fix_of_one_of_several_annotators_is_proposed(sample_workspace: Workspace) -> None:
    with Store.open(sample_workspace, "bob") as store:
        item = store.find_items("simple_python_1")[0]
        Reviewer(store, Journal(sample_workspace, "bob")).review(item, Annotation(verdict=True))
    async with open_editor(sample_workspace) as (app, pilot):
        await enter_text(app, pilot, golden_json(["Monday", "Wednesday"]))
        await pilot.press("enter")
        message = plain_text(app.screen.query_one("#effect-message", LineBar).line)
        assert "Your verdict sends the proposal to an adjudicator." in message
        await pilot.press("p")
        (event,) = read_events(sample_workspace)
        assert event["golden_status"] == "proposed"
        rows = app.store.fetch_rows(app.store.find_items(ITEM))
        assert {row.golden_verdict for row in rows} == {None}


async def test_blind_effect_hides_verdicts_and_still_records_them(
    sample_workspace: Workspace,
) -> None:
    async with open_editor(sample_workspace, blind=True, store_blind=True) as (app, pilot):
        await enter_text(app, pilot, golden_json(["Monday", "Wednesday"]))
        await pilot.press("enter")
        assert effect_text(app).strip() == "verdicts are hidden until you submit"
        await pilot.press("p")
        (event,) = read_events(sample_workspace)
        assert (event["blind"], event["golden_status"]) == (True, "accepted")
        assert True in event["golden_verdicts"]["maple-8b"].values()
        assert "runs" not in bar_text(app, "status")


async def test_unchanged_answer_is_not_saved(sample_workspace: Workspace) -> None:
    async with open_editor(sample_workspace) as (app, pilot):
        journal = sample_workspace.reviews / "alice.jsonl"
        await pilot.press("enter")
        assert "NOT SAVED: the text equals the golden answer of the dataset" in message_text(app)
        assert isinstance(app.screen, GoldenScreen) and not journal.exists()
        await enter_text(app, pilot, json.dumps(json.loads(editor_text(app))))
        await pilot.press("enter")
        assert "NOT SAVED" in message_text(app) and not journal.exists(), (
            "other white space is no change"
        )
        await enter_text(app, pilot, golden_json(["Monday"]))
        await pilot.press("enter", "p", "left_square_bracket", "G", "enter")
        assert (
            not isinstance(app.screen, GoldenScreen) and len(read_events(sample_workspace)) == 1
        ), "the fix is saved once"


@pytest.mark.sweep
async def test_editor_reopens_with_the_saved_correction(sample_workspace: Workspace) -> None:
    async with open_editor(sample_workspace) as (app, pilot):
        await enter_text(app, pilot, golden_json(["Monday"]))
        await pilot.press("enter", "u", "left_square_bracket", "G")
        assert json.loads(editor_text(app)) == json.loads(golden_json(["Monday"]))
        await pilot.press("o")
        assert "6:45" in editor_text(app) and "Friday" in editor_text(app)


@pytest.mark.parametrize(
    ("value", "problem", "line"),
    [
        (golden_json(["Monday"], colour=["red"]), "alarm.set has no parameter colour", 0),
        (
            '{"ground_truth": [\n{"alarm.set": {"days":\n 3, "time": ["06:45"]}}]}',
            "must be a list of accepted values",
            1,
        ),
        ('{"ground_truth":\n oops}', "invalid JSON", 1),
    ],
)
async def test_problem_is_shown_and_nothing_is_saved(
    sample_workspace: Workspace, value: str, problem: str, line: int
) -> None:
    async with open_editor(sample_workspace) as (app, pilot):
        await enter_text(app, pilot, value)
        assert problem in message_text(app)
        await pilot.press("enter")
        assert isinstance(app.screen, GoldenScreen)
        assert "NOT SAVED" in message_text(app)
        assert app.screen.query_one(GoldenTextArea).cursor_location[0] == line
        await pilot.press("g", "p")
        assert editor_text(app) == value, "a verdict key must not become a letter of the text"
        assert not (sample_workspace.reviews / "alice.jsonl").exists() or not read_events(
            sample_workspace
        )


async def test_keys_are_text_after_tab_and_escape_keeps_unsaved_text(
    sample_workspace: Workspace,
) -> None:
    async with open_editor(sample_workspace) as (app, pilot):
        await pilot.press("tab", "q", "enter", "n")
        assert editor_text(app).startswith("q\nn")
        await pilot.press("escape", "escape")
        assert "again to discard the text" in message_text(app)
        await pilot.press("escape")
        assert not isinstance(app.screen, GoldenScreen)


@pytest.mark.sweep
async def test_external_editor_is_used(
    sample_workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "edit"
    script.write_text("#!/bin/sh\nsed -i 's/Friday/Sunday/' \"$2\"\n")
    script.chmod(0o755)
    monkeypatch.setenv("VISUAL", f"{script} -f")
    async with open_editor(sample_workspace) as (app, pilot):
        await pilot.press("v")
        assert "not supported" in message_text(app), "tests have no terminal for an editor"
        monkeypatch.setattr(app, "suspend", nullcontext)
        await pilot.press("v")
        assert "Sunday" in editor_text(app)
        script.write_text("#!/bin/sh\nexit 3\n")
        await pilot.press("v")
        assert "failed (exit code 3)" in message_text(app)


async def test_blind_editor_shows_no_effect_before_review(sample_workspace: Workspace) -> None:
    async with open_editor(sample_workspace, blind=True) as (app, pilot):
        await enter_text(app, pilot, golden_json(["Monday", "Wednesday"]))
        assert message_text(app).strip() == "valid · verdicts are hidden until you submit"
        assert "pass" not in message_text(app) and "runs" not in message_text(app)


def reference_text(app: ItemHost) -> str:
    view = app.screen.query_one("#golden-reference", DocumentView)
    return "\n".join(view.render_line(y).text for y in range(view.size.height))


async def test_question_answer_and_docs_are_beside_the_text(sample_workspace: Workspace) -> None:
    async with open_editor(sample_workspace, size=(160, 45)) as (app, _):
        text = reference_text(app)
        assert "Wake me at 6:45 on Monday, Wednesday and Friday." in text
        assert "alarm.set(" in text and "docs of alarm.set" in text and "days" in text
        reference = app.screen.query_one("#golden-reference", DocumentView)
        editor = app.screen.query_one(GoldenTextArea)
        assert editor.region.x > reference.region.right and editor.region.y < 5


async def test_question_is_above_the_text_and_scrolls_on_a_small_screen(
    sample_workspace: Workspace,
) -> None:
    async with open_editor(sample_workspace) as (app, pilot):
        assert "Wake me at 6:45" in reference_text(app)
        reference = app.screen.query_one("#golden-reference", DocumentView)
        editor = app.screen.query_one(GoldenTextArea)
        assert editor.region.y > reference.region.y and editor.region.x == reference.region.x
        assert reference.size.height >= 8 and editor.size.height >= 4
        await pilot.press("pagedown")
        assert "Wake me at 6:45" not in reference_text(app)
        await pilot.press("pageup")
        assert "Wake me at 6:45" in reference_text(app)


async def test_key_takes_the_predicted_calls_as_the_golden_answer(
    sample_workspace: Workspace,
) -> None:
    async with open_editor(sample_workspace) as (app, pilot):
        await pilot.press("t")
        (call,) = json.loads(editor_text(app))["ground_truth"]
        assert list(call) == ["alarm.set"]
        assert all(len(values) == 1 for values in call["alarm.set"].values())
        assert "valid · this prediction would pass" in message_text(app)
        await pilot.press("o")
        assert "6:45" in editor_text(app)


async def test_key_takes_the_answer_that_most_runs_gave(sample_workspace: Workspace) -> None:
    async with open_editor(sample_workspace) as (app, pilot):
        item = app.item
        most_given = find_most_given_answer(app.store, item)
        assert most_given is not None
        detail = app.store.read_detail(most_given)
        await pilot.press("m")
        (call,) = json.loads(editor_text(app))["ground_truth"]
        predicted = detail.item.predicted[0].arguments
        assert {name: values[0] for name, values in call["alarm.set"].items()} == predicted


async def test_blind_editor_takes_no_answer_of_other_runs(sample_workspace: Workspace) -> None:
    async with open_editor(sample_workspace, blind=True) as (app, pilot):
        before = editor_text(app)
        await pilot.press("m")
        assert editor_text(app) == before
        assert "answers of other runs are hidden until you submit" in message_text(app)


async def test_item_shows_the_accepted_answer_and_the_new_verdict(
    sample_workspace: Workspace,
) -> None:
    async with open_editor(sample_workspace) as (app, pilot):
        await enter_text(app, pilot, golden_json(["Monday", "Wednesday"]))
        await pilot.press("enter", "p", "left_square_bracket")
        text = "\n".join(document_rows(app))
        assert "corrected golden answer · alice" in text
        assert '["Monday", "Wednesday"]' in text
        assert "the prediction passes with it" in " ".join(text.split())
        assert "recomputed PASS" in " ".join(bar_text(app, "header").split())


async def test_blind_item_hides_the_answer_that_others_accepted(
    sample_workspace: Workspace,
) -> None:
    async with open_editor(sample_workspace) as (app, pilot):
        await enter_text(app, pilot, golden_json(["Monday", "Wednesday"]))
        await pilot.press("enter", "p")
    with Store.open(sample_workspace, "bob", blind=True) as store:
        for item in store.find_items(ITEM):
            detail = store.read_detail(item)
            assert detail.golden is None
            assert (detail.row.golden_status, detail.row.golden_verdict) == (None, None)


def test_rates_before_and_after_a_fix_are_named_corrected() -> None:
    """The overview calls the official rate "items passed", which is another figure."""
    assert plain_text(_heading_line(12)).split() == ["run", "this", "item", "corrected", "rank"]
