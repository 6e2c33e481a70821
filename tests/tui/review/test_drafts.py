"""A note or golden answer in progress is kept as a draft after any end of the app."""

from __future__ import annotations

import json
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from fcreview.cli.app_start import warn_about_lost_drafts
from fcreview.cli.wiring import build_golden_services
from fcreview.store.drafts import (
    MAX_DRAFT_CHARACTERS,
    MAX_DRAFTS,
    Draft,
    DraftFile,
    describe_drafts,
)
from fcreview.store.rows import View
from fcreview.store.workspace import AnnotatorState, Workspace
from fcreview.tui.app import FcreviewApp
from fcreview.tui.screens.golden_editor import GoldenScreen, GoldenTextArea
from fcreview.tui.screens.review_dialogs import NoteBox
from fcreview.tui.session import Session
from tests.sharing import Imports
from tests.tui.key_input import wait_until
from tests.tui.test_unsaved_input import open_item

ITEM = "simple_python_3"


@pytest.fixture
def workspace(imports: Imports, samples: Path, tmp_path: Path) -> Workspace:
    return imports.copy([samples / "bfcl"], tmp_path / "work")


def make_app(workspace: Workspace, item: str | None = ITEM) -> FcreviewApp:
    session = Session(workspace, "alice", golden=build_golden_services())
    return FcreviewApp(session, View(queue="dataset"), item)


def read_draft_texts(workspace: Workspace) -> list[str]:
    return [draft.text for draft in DraftFile(AnnotatorState(workspace.root, "alice")).read_all()]


def note_text(app: FcreviewApp) -> str:
    return app.screen.query_one(NoteBox).text


@pytest.mark.parametrize("ending", ["signal", "ctrl+c"])
async def test_note_is_offered_again_after_the_end(workspace: Workspace, ending: str) -> None:
    app = make_app(workspace)
    async with open_item(app) as pilot:
        await pilot.press("n", *"ab")
        if ending == "signal":
            app._start_to_quit_on_signal(129)
        else:
            await pilot.press("ctrl+c", "y")
        await wait_until(lambda: app.return_value is not None)
    assert read_draft_texts(workspace) == ["ab"]

    again = make_app(workspace)
    async with open_item(again) as pilot:
        assert again.screen.pane._message.text == "unsaved note: press n to continue"
        await pilot.press("n")
        assert note_text(again) == "ab"
        await pilot.press("c", "enter")
        await wait_until(lambda: read_draft_texts(workspace) == [])
    events = (workspace.reviews / "alice.jsonl").read_text().splitlines()
    assert [json.loads(line)["note"] for line in events] == ["abc"]


async def test_note_is_on_disk_soon_after_the_last_key(workspace: Workspace) -> None:
    """So a crash loses nothing that was typed before the last moment."""
    async with open_item(make_app(workspace)) as pilot:
        await pilot.press("n", *"ab")
        await wait_until(lambda: read_draft_texts(workspace) == ["ab"])
        await pilot.press("escape")
        assert read_draft_texts(workspace) == [], "Esc discards the text"


async def test_draft_stays_if_the_note_cannot_be_saved(workspace: Workspace) -> None:
    app = make_app(workspace)
    async with open_item(app) as pilot:
        await pilot.press("n", *"ab")
        await wait_until(lambda: read_draft_texts(workspace) == ["ab"])
        (workspace.reviews / "alice.jsonl").mkdir(parents=True)
        await pilot.press("enter")
        await wait_until(lambda: app.screen.pane._message.style == "bad")
    assert read_draft_texts(workspace) == ["ab"]


async def test_golden_answer_is_offered_again(workspace: Workspace) -> None:
    app = make_app(workspace)
    async with open_item(app) as pilot:
        await pilot.press("G", "tab", *"xy")
        app._start_to_quit_on_signal(129)
        await wait_until(lambda: app.return_value is not None)
    (text,) = read_draft_texts(workspace)
    assert text.startswith("xy")

    again = make_app(workspace)
    async with open_item(again) as pilot:
        await pilot.press("G")
        assert isinstance(again.screen, GoldenScreen)
        assert again.screen.query_one(GoldenTextArea).text == text
        await pilot.press("escape", "escape")
        assert read_draft_texts(workspace) == []


async def test_start_names_the_unsaved_text(workspace: Workspace, wait_for_screen: Any) -> None:
    draft = Draft("note", id=ITEM, subject="x", text="ab")
    DraftFile(AnnotatorState(workspace.root, "alice")).keep(draft)
    async with make_app(workspace, item=None).run_test(size=(110, 30)) as pilot:
        text = "\n".join(await wait_for_screen(pilot))
        assert f"unsaved note on {ITEM}. Open the item and press n to continue" in text


def test_drafts_are_limited_and_damaged_entries_are_omitted(tmp_path: Path) -> None:
    state = AnnotatorState(tmp_path, "alice")
    drafts = DraftFile(state)
    for number in range(MAX_DRAFTS + 2):
        drafts.keep(Draft("note", id="a", subject=str(number), text="t"))
    too_long = Draft("note", id="a", subject="3", text="u" * (MAX_DRAFT_CHARACTERS + 1))
    assert drafts.keep(too_long) == "the text has more than 200,000 characters"
    assert drafts.list_unwritten() == [too_long]
    kept = DraftFile(state).read_all()
    assert [draft.subject for draft in kept] == [str(n) for n in range(2, MAX_DRAFTS + 2)]
    assert describe_drafts(kept) == "unsaved note on a, and 99 more"
    state.write("drafts", {"drafts": [1, {"kind": "note"}, {"kind": [], "id": "", "text": ""}]})
    assert DraftFile(state).read_all() == []


@contextmanager
def limit_file_size(n_bytes: int) -> Iterator[None]:
    """Let every write beyond this size fail, as on a full disk."""
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, usual[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)


def test_full_disk_keeps_the_earlier_drafts(tmp_path: Path) -> None:
    drafts = DraftFile(AnnotatorState(tmp_path, "alice"))
    first = Draft("note", id="a", subject="1", text="t" * 200)
    second = Draft("golden answer", id="b", subject="2", text="u" * 300)
    drafts.keep(first)
    for room in (0, 1, 150, 500):
        with limit_file_size(room):
            assert drafts.keep(second) == "File too large"
        assert DraftFile(AnnotatorState(tmp_path, "alice")).read_all() == [first]
        assert drafts.read_all() == [first, second], "the newer draft is in memory"
        assert [path.name for path in (tmp_path / "drafts").iterdir()] == ["alice.json"]
    assert drafts.list_unwritten() == [second]
    assert drafts.write_unwritten() == ""
    assert DraftFile(AnnotatorState(tmp_path, "alice")).read_all() == [first, second]
    assert drafts.list_unwritten() == []


async def test_full_disk_is_reported_once_and_the_draft_is_saved_later(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fcreview.tui.widgets.base.DRAFT_RETRY_DELAY", 0.02)
    app = make_app(workspace)
    async with open_item(app) as pilot:
        with limit_file_size(0):
            await pilot.press("n", *"ab")
            await wait_until(lambda: bool(app._notifications))
            await pilot.press("c")
            await wait_until(lambda: app.session.drafts.read_all()[-1].text == "abc")
            assert [notice.message for notice in app._notifications] == [
                "Draft not saved: File too large. The text stays on this screen"
            ]
            assert read_draft_texts(workspace) == []
        await wait_until(lambda: read_draft_texts(workspace) == ["abc"])


async def test_text_that_could_not_be_saved_is_offered_again_in_the_same_app(
    workspace: Workspace,
) -> None:
    app = make_app(workspace)
    async with open_item(app) as pilot:
        (workspace.reviews / "alice.jsonl").mkdir(parents=True)
        (workspace.root / "drafts").write_text("not a folder")
        await pilot.press("n", *"ab")
        await wait_until(lambda: bool(app.session.drafts.list_unwritten()))
        await pilot.press("enter")
        await wait_until(lambda: app.screen.pane._message.style == "bad")
        await pilot.press("n")
        assert note_text(app) == "ab"


def test_end_of_the_app_names_the_texts_that_are_lost(
    workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    session = Session(workspace, "alice")
    (workspace.root / "drafts").write_text("not a folder")
    session.drafts.keep(Draft("note", id="a\nb", subject="1", text="t"))
    warn_about_lost_drafts(session)
    (message,) = capsys.readouterr().err.splitlines()
    assert message.startswith("The end of the app discards the unsaved note on a")
