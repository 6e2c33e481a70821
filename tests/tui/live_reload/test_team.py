"""Reviews from a team's server arrive while the app is open."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from textual.css.query import NoMatches

from fcreview.model.review import Annotation
from fcreview.store.reviewer import Reviewer
from fcreview.store.reviews.journal import Journal
from fcreview.store.store import Store
from fcreview.store.team_exchange import SyncStatus
from fcreview.store.workspace import find_workspace
from fcreview.tui import live_reload
from tests.tui.conftest import MakeApp
from tests.tui.live_reload.conftest import cursor_line, make_row, wait_for_lines


class FakeSync:
    """Replacement of `TeamSync` with a status set by the test."""

    def __init__(self) -> None:
        self.status = SyncStatus()


@pytest.fixture(autouse=True)
def shorten_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_reload, "TEAM_INTERVAL", 0.02)


def deliver(place: Path, name: str, item: str, team: FakeSync, **fields: Any) -> None:
    from fcreview.store.store import Store

    workspace = find_workspace(place)
    with Store.open(workspace, name) as store:
        key, *hashes = store.reviews.fetch_key_and_hashes(store.find_items(item)[0])
    other = find_workspace(place.parent, place.parent / f"of-{name}")
    Journal(other, name).append(
        key, Annotation(**fields), prediction_hash=hashes[0], golden_hash=hashes[1]
    )
    workspace.team_reviews.mkdir(exist_ok=True)
    line = (other.reviews / f"{name}.jsonl").read_bytes()
    (workspace.team_reviews / f"{name}.jsonl").write_bytes(line)
    team.status = SyncStatus(received=team.status.received + 1)


async def test_review_of_another_annotator_appears_and_nothing_moves(
    make_app: MakeApp, wait_for_screen: Any, tmp_path: Path
) -> None:
    app = make_app([make_row(f"item_{n}") for n in range(40)])
    app.session.team = team = FakeSync()  # type: ignore[assignment]
    async with app.run_test(size=(120, 30)) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("j", "j", "j")
        before = cursor_line(await wait_for_screen(pilot))
        where = app.session.workspace_folder.parent
        deliver(where, "bob", before[1], team, verdict=True)
        counted = "1/40 reviewed"
        lines = await wait_for_lines(
            pilot, lambda lines: counted in "\n".join(lines) or "by anyone" in "\n".join(lines)
        )
        assert cursor_line(lines) == before


async def test_unsent_reviews_are_counted_in_the_top_line(
    make_app: MakeApp, wait_for_screen: Any
) -> None:
    app = make_app([make_row("a"), make_row("b")])
    app.session.team = team = FakeSync()  # type: ignore[assignment]
    async with app.run_test(size=(80, 24)) as pilot:
        assert "unsent" not in (await wait_for_screen(pilot))[0]
        team.status = SyncStatus(unsent=12, problem="server away")
        lines = await wait_for_lines(pilot, lambda lines: "12 unsent" in lines[0])
        await pilot.press("enter")
        lines = await wait_for_screen(pilot)
        assert "12 unsent" in lines[0]
        # the connection is back, and the reviews are being sent
        team.status = SyncStatus(unsent=12)
        await wait_for_lines(pilot, lambda lines: "unsent" not in lines[0])


async def test_new_disagreements_appear_while_adjudicating(
    make_app: MakeApp, wait_for_screen: Any, tmp_path: Path
) -> None:
    app = make_app([make_row("item_1"), make_row("item_2")], adjudicate=True)
    app.session.team = team = FakeSync()  # type: ignore[assignment]
    async with app.run_test(size=(80, 24)) as pilot:
        assert "no disagreements" in "\n".join(await wait_for_screen(pilot))
        where = app.session.workspace_folder.parent
        for item, shown in (("item_1", "0 of 1"), ("item_2", "0 of 2")):
            for name, verdict in (("bob", True), ("carol", False)):
                deliver(where, f"{name}-{item}", item, team, verdict=verdict)
            lines = await wait_for_lines(
                pilot, lambda lines, shown=shown: shown in "\n".join(lines)
            )
            assert "item_1" in "\n".join(lines[:2]), "the displayed case stays"


@pytest.mark.parametrize("n_failures", [0, 1])
async def test_review_of_another_browser_tab_appears_without_a_key(
    make_app: MakeApp, wait_for_screen: Any, monkeypatch: pytest.MonkeyPatch, n_failures: int
) -> None:
    """Also if showing it fails once, because a screen is just closing."""
    monkeypatch.setattr(live_reload, "JOURNAL_INTERVAL", 0.02)
    show = live_reload.LiveReload._try_to_replace_store
    failures = iter(range(n_failures))

    async def fail_first(*arguments: Any) -> bool:
        if next(failures, None) is not None:
            raise NoMatches
        return await show(*arguments)

    monkeypatch.setattr(live_reload.LiveReload, "_try_to_replace_store", fail_first)
    app = make_app([make_row(f"item_{n}") for n in range(4)])
    app.session.in_browser = True
    async with app.run_test(size=(120, 30)) as pilot:
        await wait_for_screen(pilot)
        workspace = app.session.workspace
        assert workspace is not None
        with Store.open(workspace, "alice") as store:  # as in the process of the other tab
            item = store.find_items("item_2")[0]
            Reviewer(store, Journal(workspace, "alice")).review(item, Annotation(verdict=False))
        await wait_for_lines(pilot, lambda lines: "1 of 4 reviewed" in "\n".join(lines))


async def test_own_review_in_a_browser_reloads_nothing(
    make_app: MakeApp, wait_for_screen: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise, an item would leave the list at once that a filter selected before its review."""
    monkeypatch.setattr(live_reload, "JOURNAL_INTERVAL", 0.02)
    app = make_app([make_row(f"item_{n}") for n in range(4)])
    app.session.in_browser = True
    async with app.run_test(size=(120, 30)) as pilot:
        await wait_for_screen(pilot)
        refreshed = []
        store = await app.session.read(lambda store: store)
        monkeypatch.setattr(store, "refresh_reviews", lambda: refreshed.append(1))
        await pilot.press("enter", "p")
        await wait_for_lines(pilot, lambda lines: "1 of 4 reviewed" in "\n".join(lines))
        await asyncio.sleep(0.3)
        assert refreshed == []
