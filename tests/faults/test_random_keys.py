"""Random keys, in bursts, on every screen and at several sizes never end the app."""

from __future__ import annotations

import asyncio
import random
import traceback
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from fcreview.cli.wiring import (
    build_form_fields,
    build_golden_services,
    build_report_services,
)
from fcreview.cli.workspace import WorkspaceSession
from fcreview.model.review import Annotation
from fcreview.store.reviews.journal import Journal
from fcreview.store.reviews.reviewer import Reviewer
from fcreview.store.rows import View
from fcreview.store.store import Store
from fcreview.tui.actions import ACTIONS
from fcreview.tui.app import FcreviewApp
from fcreview.tui.commands import CommandResult, CommandService
from fcreview.tui.screens.queue import QueueScreen
from tests.faults.processes import LONG, times
from tests.tui.conftest import make_app, wait_for_screen
from tests.tui.key_input import send_keys
from tests.tui.screens.test_closing_while_opening import KEYS

__all__ = ["make_app", "wait_for_screen"]

QUITTING_ACTIONS = {"app.quit", "queue.quit", "overview.quit"}
SIZES = ((80, 24), (100, 30), (130, 32), (160, 50), (60, 15), (40, 10))
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
MAX_BURST = 8
KEYS_PER_VISIT = 40
"""Number of random keys after the keys that open a screen."""
N_SHOWN_KEYS = 80
FAILING = {
    "official": False,
    "error_type": "value_error:string",
    "first_difference": 'city "a" (golden "b")',
    "messages": [
        {"turn": 0, "step": -1, "role": "user", "content": "Where is the tower?"},
        {"turn": 0, "step": 0, "role": "assistant", "content": "It is in the city.\n" * 30},
    ],
}
RUNS = {
    "maple-8b": [FAILING, {"official": True}, FAILING, {"official": True}, FAILING],
    "birch-8b": [{"official": True}, {"official": True}, FAILING],
}


def list_keys() -> list[str]:
    """Return all keys that start an action on some screen, except those that quit the app."""
    keys = set(LETTERS)
    for action in ACTIONS.values():
        if action.id not in QUITTING_ACTIONS:
            keys.update(action.keys.split(","))
    return sorted(keys - {"ctrl+q", "ctrl+c"})


class KeyWalker:
    """Sends random keys to one app after the other, and remembers them."""

    def __init__(self, keys: Sequence[str]) -> None:
        self.n_keys = 0
        self.screens: Counter[str] = Counter()
        """Number of bursts that ended on each screen, by class name."""
        self.sent: list[str] = []
        self._keys = keys

    async def walk(self, app: FcreviewApp, pilot: Pilot[Any], max_keys: int) -> None:
        """Visit screens until the app has ended or `max_keys` keys were sent in all."""
        while self.n_keys < max_keys and app.return_value is None:
            await self._go_to_random_screen(app, pilot)
            n_keys_at_end = min(self.n_keys + KEYS_PER_VISIT, max_keys)
            while self.n_keys < n_keys_at_end and app.return_value is None:
                await self._send_burst(app, pilot)
                self.screens[type(app.screen).__name__] += 1
        await pilot.pause()

    async def _go_to_random_screen(self, app: FcreviewApp, pilot: Pilot[Any]) -> None:
        columns, rows = random.choice(SIZES)
        await pilot.resize_terminal(columns, rows)
        for _ in range(12):
            if isinstance(app.screen, QueueScreen):
                break
            self._send(app, ["escape"])
            await pilot.pause()
        keys = random.choice(list(KEYS.values())).split()
        for key in keys:
            self._send(app, [key])
            await pilot.pause()

    async def _send_burst(self, app: FcreviewApp, pilot: Pilot[Any]) -> None:
        for _ in range(random.randint(1, MAX_BURST)):
            self._send(app, [random.choice(self._keys)])
            for _ in range(random.choice((0, 0, 1, 2, 5))):
                await asyncio.sleep(0)
        if random.random() < 0.5:
            await pilot.pause()

    def _send(self, app: FcreviewApp, keys: list[str]) -> None:
        self.n_keys += len(keys)
        self.sent += keys
        del self.sent[:-N_SHOWN_KEYS]
        send_keys(app, *keys)


def add_reviews(workspace: Any) -> None:
    """Let two other annotators disagree, so that there is something to adjudicate."""

    for annotator, verdict in (("bob", True), ("carol", False)):
        with Store.open(workspace, annotator) as store:
            reviewer = Reviewer(store, Journal(workspace, annotator))
            for item in [row.item for row in store.fetch_page(View(), 0, 2)]:
                reviewer.review(item, Annotation(verdict=verdict))


@pytest.mark.parametrize("blind", [False, True], ids=["open", "blind"])
async def test_random_keys_never_end_the_app(
    make_app: Any,
    screens: None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    blind: bool,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EDITOR", "true")
    seed = random.randrange(1 << 30)
    random.seed(seed)
    walker = KeyWalker(list_keys())
    max_keys = times(300, 50_000)

    async def run_command(command: str, _: Sequence[str]) -> CommandResult:
        await asyncio.sleep(random.choice((0, 0.02)))
        return CommandResult(f"{command} done\n", random.random() < 0.7)

    n_apps = 0
    while walker.n_keys < max_keys:
        app = make_app(runs=RUNS, view=View(queue="dataset"), blind=blind)
        if n_apps == 0:
            add_reviews(make_app.stores[-1].workspace)
        n_apps += 1
        session = WorkspaceSession(make_app.stores[-1].workspace, "alice")
        app.session.report_services = replace(
            build_report_services(session), commands=CommandService(build_form_fields, run_command)
        )
        app.session.golden_support = build_golden_services()
        try:
            async with app.run_test(size=(100, 30)) as pilot:
                await walker.walk(app, pilot, max_keys)
        except Exception:
            pytest.fail(f"seed {seed}, keys {walker.sent}\n{traceback.format_exc()}")
        assert app.return_code in (None, 0), walker.sent
    print(f"\n{walker.n_keys} keys, {n_apps} apps, {dict(walker.screens.most_common())}")
    if LONG and not blind:
        assert {each.__name__ for each in KEYS} <= set(walker.screens)
