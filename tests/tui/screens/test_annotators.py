"""The user continues as another annotator: the app ends and starts again with that annotator's
own session.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fcreview.cli import app_start
from fcreview.cli.options import WorkspaceOptions
from fcreview.cli.workspace import WorkspaceSession
from fcreview.errors import CommandError
from fcreview.model.review import Annotation
from fcreview.stats.sampling import ShareOptions
from fcreview.store.queue_file import write_queue
from fcreview.store.queue_sampling import QueueRequest
from fcreview.store.reviewer import Reviewer
from fcreview.store.reviews.journal import Journal
from fcreview.store.rows import View
from fcreview.store.store import Store
from fcreview.store.workspace import Workspace
from fcreview.tui.app import FcreviewApp
from fcreview.tui.queue.loader import read_other_annotators
from fcreview.tui.queue_state import adapt_position_to_annotator, first_unreviewed_position
from tests.tui.key_input import wait_until

VIEW = View()
ONE_HOUR = 3600
"""In seconds."""
ROWS = [{"official": False, "first_difference": f"city {at}"} for at in range(4)]
Walk = Callable[[FcreviewApp, Any], Any]


@pytest.fixture
def workspace(imported: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """A workspace whose queue `sample` assigns all items to alice and bob."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("HOME", str(tmp_path))
    workspace: Workspace = imported(tmp_path / "work", {"maple-8b": ROWS})
    with Store.open(workspace, "alice") as store:
        sharing = ShareOptions(["alice", "bob"], overlap=4)
        write_queue(workspace, store.draw_queue(QueueRequest("sample", View(), 4, "", sharing)))
    return workspace


@pytest.fixture
def run_apps(
    workspace: Workspace, wait_for_screen: Any, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., list[FcreviewApp]]:
    """Return a function that runs `fcreview open` as alice, one walk for each app that starts,
    and returns the apps.
    """

    def run(*walks: Walk, view: View = VIEW, **options: Any) -> list[FcreviewApp]:
        left, apps = iter(walks), list[FcreviewApp]()

        async def walk(app: FcreviewApp) -> int:
            async with app.run_test(size=(100, 30)) as pilot:
                await wait_for_screen(pilot)
                await next(left)(app, Keys(pilot, wait_for_screen))
                await wait_until(lambda: not app._running or app._exit)
            return app.return_value or 0

        def run_app(app: FcreviewApp, **_: Any) -> int:
            apps.append(app)
            return asyncio.run(walk(app))

        monkeypatch.setattr(FcreviewApp, "run", run_app)
        # On a busy machine, a message could expire before the test reads it.
        monkeypatch.setattr(FcreviewApp, "NOTIFICATION_TIMEOUT", ONE_HOUR)
        # The walks press review keys as soon as an item is there.
        config = workspace.parent_folder / "config.toml"
        config.write_text("[review]\nkey_guard_ms = 0\n")
        monkeypatch.setenv("FCREVIEW_CONFIG", str(config))
        session = WorkspaceSession(
            workspace, "alice", options=WorkspaceOptions([workspace.parent_folder])
        )
        app_start.show_app(session, view, **options)
        assert not list(left), "fewer apps were started"
        return apps

    return run


class Keys:
    def __init__(self, pilot: Any, wait_for_screen: Any) -> None:
        self._pilot, self._wait = pilot, wait_for_screen

    async def __call__(self, *keys: str) -> str:
        """Press each key when the screen is drawn, and return the text of the screen."""
        for key in keys:
            await self._pilot.press(key)
            await self._wait(self._pilot)
        return "\n".join(await self._wait(self._pilot))

    async def last(self, *keys: str) -> None:
        """Press keys, of which the last one ends the app."""
        await self(*keys[:-1])
        await self._pilot.press(keys[-1])


def last_toast(app: FcreviewApp) -> str:
    return [each.message for each in app._notifications][-1]


def read_journal(workspace: Workspace, annotator: str) -> list[tuple[str, str, Any]]:
    """Return (annotator, act, verdict) of each line."""
    file = workspace.reviews / f"{annotator}.jsonl"
    lines = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    return [(line["annotator"], line["act"], line.get("verdict")) for line in lines]


def assert_unlocked(file: Path) -> None:
    with file.open("rb+") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_blind_annotator_after_another_sees_and_writes_only_own_reviews(
    run_apps: Any, workspace: Workspace
) -> None:
    async def as_alice(app: FcreviewApp, keys: Keys) -> None:
        await keys("enter", "f", "N", *"lopsided")
        text = await keys("enter")
        assert "alice" in text and "1 of 4" in text
        text = await keys("A")
        assert (
            "bob" in text
            and "4 items of sample" in text
            and "left" not in text.partition("another annotator")[2]
        )
        await keys.last("enter")

    async def as_bob(app: FcreviewApp, keys: Keys) -> None:
        text = await keys()
        assert (
            "You now review as bob" in text
            and "0 of 4 reviewed   bob" in text
            and "› sample" in text
        )
        assert app.session.blind and not app.session.annotator_filters.saved_filters
        for _ in range(4):
            text = await keys("enter")
            assert "lopsided" not in text and "alice" not in text
            await keys("]", "escape", "j")
        await keys("home", "enter", "z")
        assert not read_journal(workspace, "bob") and len(read_journal(workspace, "alice")) == 2
        assert_unlocked(workspace.reviews / "alice.jsonl")
        text = await keys("p")
        assert "saved: pass" in text
        await keys("A")
        await keys.last("enter")

    async def as_alice_again(app: FcreviewApp, keys: Keys) -> None:
        assert "1 of 4 reviewed   alice" in await keys()
        assert_unlocked(workspace.reviews / "bob.jsonl")
        await keys("home", "enter", "z")
        await keys.last("ctrl+q")

    view = View(queue="sample", share=True)
    apps = run_apps(as_alice, as_bob, as_alice_again, view=view, blind=True)
    assert [app.session.annotator for app in apps] == ["alice", "bob", "alice"]
    alice, bob = read_journal(workspace, "alice"), read_journal(workspace, "bob")
    assert {who for who, _, _ in alice} == {"alice"} and [act for _, act, _ in alice][
        -1
    ] == "retract"
    assert bob == [("bob", "review", True)]
    assert {file.stem for file in (workspace.root / "positions").iterdir()} == {"alice", "bob"}


def test_app_that_nobody_quit_ends_with_an_error(run_apps: Any) -> None:
    async def as_alice(app: FcreviewApp, keys: Keys) -> None:
        async def cancel_message_loop() -> None:
            raise asyncio.CancelledError

        app.call_next(cancel_message_loop)

    with pytest.raises(CommandError, match="the app ended although you did not quit it"):
        run_apps(as_alice)


def test_new_name_is_checked_and_confirmed(run_apps: Any, workspace: Workspace) -> None:
    async def as_alice(app: FcreviewApp, keys: Keys) -> None:
        (workspace.reviews / "Carol.jsonl").touch()
        for name, message in (
            ("a/b", "invalid annotator name"),
            ("carol", "differs from it only in case"),
            ("alice", "already"),
        ):
            await keys("A", "end", "enter", *name, "enter")
            assert message in last_toast(app) and app.next_switch is None
        text = await keys("A", "end", "enter", *"dora", "enter")
        assert "dora has no reviews and no assigned items here. Review as dora?" in text
        text = await keys("n")
        assert app.next_switch is None
        await keys("A", "end", "enter", *"dora", "enter")
        await keys.last("y")

    async def as_dora(app: FcreviewApp, keys: Keys) -> None:
        await keys.last("ctrl+q")

    apps = run_apps(as_alice, as_dora)
    assert apps[1].session.annotator == "dora" and not (workspace.reviews / "dora.jsonl").exists()
    assert apps[1].session.report_services is not None


@pytest.mark.parametrize(
    "path", [pytest.param(("v", "b"), marks=pytest.mark.sweep), ("v", "M", "b")]
)
def test_review_key_offers_the_annotator_who_has_items_left(
    run_apps: Any, workspace: Workspace, path: Any
) -> None:
    with Store.open(workspace, "alice") as store:
        reviewer = Reviewer(store, Journal(workspace, "alice"))
        for row in store.fetch_page(VIEW, 0, 4):
            reviewer.review(row.item, Annotation(verdict=False))

    async def as_alice(app: FcreviewApp, keys: Keys) -> None:
        text = await keys(*path)
        assert (
            "You have no items left. bob has 4 items left in queue sample. Review as bob?"
            in " ".join(text.split())
        )
        await keys.last("y")

    async def as_bob(app: FcreviewApp, keys: Keys) -> None:
        text = await keys()
        assert "0 of 4 reviewed   bob" in text and "golden wrong" in text, "the first item is open"
        assert app._state.view == View(
            queue="sample", share=True
        ) and "You now review as bob" in last_toast(app)
        assert "saved: pass" in await keys("p")
        assert "› sample" in await keys("q")
        await keys.last("ctrl+q")

    run_apps(as_alice, as_bob, view=View(queue="sample", share=True))
    assert len(read_journal(workspace, "alice")) == 4 and read_journal(workspace, "bob") == [
        ("bob", "review", True)
    ]


def test_next_annotator_can_end_a_blind_review_that_a_queue_started(run_apps: Any) -> None:
    async def as_alice(app: FcreviewApp, keys: Keys) -> None:
        text = await keys("A")
        assert "you review as alice: choose another annotator" in text
        assert "enter review as" in text
        await keys.last("enter")

    async def as_bob(app: FcreviewApp, keys: Keys) -> None:
        assert app.session.blind
        assert "End the blind review?" in await keys("v", "M")
        await keys.last("y")

    async def as_bob_with_verdicts(app: FcreviewApp, keys: Keys) -> None:
        assert app.session.annotator == "bob" and not app.session.blind
        await keys.last("ctrl+q")

    view = View(queue="sample", share=True)
    run_apps(as_alice, as_bob, as_bob_with_verdicts, view=view, blind=True, is_blind_by_queue=True)


def test_palette_offers_each_annotator(run_apps: Any) -> None:
    async def as_alice(app: FcreviewApp, keys: Keys) -> None:
        text = await keys("colon", *"switch")
        assert (
            "review as another annotator" in text
            and "review as bob  switch to this annotator; 4 items left" in text
        )
        await keys("escape", "colon", *"review as bob")
        await keys.last("enter")

    async def as_bob(app: FcreviewApp, keys: Keys) -> None:
        await keys.last("ctrl+q")

    assert run_apps(as_alice, as_bob)[1].session.annotator == "bob"


@pytest.mark.parametrize(
    ("place", "message"), [("browser", "logged in as alice"), ("team", "in the team is alice")]
)
def test_fixed_annotator_is_not_changed(
    run_apps: Any, place: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app_start, "is_in_browser", lambda: place == "browser")
    link = SimpleNamespace(annotator="alice") if place == "team" else None
    monkeypatch.setattr(app_start, "find_team_link", lambda _: link)

    async def as_alice(app: FcreviewApp, keys: Keys) -> None:
        await keys("A")
        assert message in last_toast(app)
        assert "review as bob" not in await keys("colon", *"review as")
        await keys("escape")
        await keys.last("ctrl+q")

    assert run_apps(as_alice)[0].next_switch is None


def test_place_is_kept_unless_its_queue_has_no_items_for_the_annotator(
    workspace: Workspace,
) -> None:
    position = first_unreviewed_position("sample")
    assert (
        adapt_position_to_annotator(workspace, "bob", position, blind=False).settings
        == position.settings
    )
    moved = adapt_position_to_annotator(workspace, "dora", position, blind=True)
    assert (moved.settings.file, moved.settings.queue) == (None, "dataset")


def test_list_has_valid_names_and_no_journals_in_blind_mode(workspace: Workspace) -> None:
    for name in ("dora", "no name", os.fsdecode(b"pil\xf6t")):
        (workspace.reviews / f"{name}.jsonl").touch()
    with Store.open(workspace, "alice") as store:
        found = [(each.name, each.facts) for each in read_other_annotators(store)]
        assert found == [
            ("bob", "4 items left of sample"),
            ("dora", "has reviews"),
        ]
    with Store.open(workspace, "alice", blind=True) as store:
        assert [(each.name, each.facts) for each in read_other_annotators(store)] == [
            ("bob", "4 items of sample")
        ]
