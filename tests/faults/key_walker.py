"""Send random keys to an app, and compare reviews in the journals with the item on the screen."""

from __future__ import annotations

import asyncio
import json
import random
import re
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from textual.pilot import Pilot, WaitForScreenTimeout

from fcreview.store.workspace import Workspace
from fcreview.tui.actions import ACTIONS
from fcreview.tui.app import FcreviewApp
from fcreview.tui.screens.adjudication import AdjudicationScreen
from fcreview.tui.screens.item_pane import ItemScreen
from fcreview.tui.screens.queue import QueueScreen
from tests.tui.conftest import screen_lines
from tests.tui.idle import wait_for_workers
from tests.tui.key_input import send_keys
from tests.tui.messages.screen_facts import WHY, matches_cut_text
from tests.tui.screens.test_closing_while_opening import KEYS

QUITTING_ACTIONS = {"app.quit", "queue.quit", "overview.quit"}
SIZES = ((80, 24), (100, 30), (130, 32), (160, 50), (60, 15), (40, 10))
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
REVIEW_KEYS = ("p", "f", "g", "u", "0", "1", "2")
"""Keys that record a review at once, on the item screen or the adjudication screen."""
MOVING_KEYS = ("j", "k", "right_square_bracket", "left_square_bracket", "T", "z", "a")
REVIEW_VISITS = ("enter", "enter", "end enter", "x")
"""Keys that open the item screen or the adjudication screen from the list of items."""
N_COMPARED_KEYS = 10
MAX_BURST = 8
KEYS_PER_VISIT = 40
"""Number of random keys after the keys that open a screen."""
N_SHOWN_KEYS = 80
MORE_VISITS = (
    "i",
    "i enter",
    "enter h",
    "enter G enter",
    "enter G tab",
    "v M enter",
    "v X tab",
    "v H",
    "c enter",
    "s enter",
    "enter m",
    "enter K a T",
    "F",
)
"""Keys that open further screens, dialogs and panels from the list of items."""
WHOLE_WIDTH_ID = re.compile(r"^ fcreview +(?:.+ › )?(?P<id>.+?)(?: +[─━].*| {2,}.*)$")
BESIDE_LIST_ID = re.compile(r"[ ▸](?P<id>\S+(?: \S+)*) +[\d,]+/[\d,]+ ")


MAX_TIMEOUTS = 4
"""Number of times that the app may need longer than Textual allows, which is 30 seconds."""


async def pause(pilot: Pilot[Any]) -> None:
    """Wait until the app has handled its messages. A busy machine gets more time than Textual
    allows.
    """
    for _ in range(MAX_TIMEOUTS):
        try:
            return await pilot.pause()
        except WaitForScreenTimeout:
            continue
    return await pilot.pause()


async def resize(pilot: Pilot[Any], columns: int, rows: int) -> None:
    """Resize the terminal, and wait until the app has handled it."""
    # Textual posts the new size first. Then it waits, but only once.
    with suppress(WaitForScreenTimeout):
        await pilot.resize_terminal(columns, rows)
    await pause(pilot)


@dataclass(frozen=True, slots=True)
class Pause:
    """A wait of the walker for the app."""

    seconds: float
    screen: str
    """Class name of the screen at the start of the pause."""
    n_keys: int
    """Number of keys sent before."""


def list_keys() -> list[str]:
    """Return all keys that start an action on some screen, except those that quit the app."""
    keys = set(LETTERS)
    for action in ACTIONS.values():
        if action.id not in QUITTING_ACTIONS:
            keys.update(action.keys.split(","))
    return sorted(keys - {"ctrl+q", "ctrl+c"})


class NewEvents:
    """Reads the events that were added to the journals of a workspace since the last call."""

    def __init__(self, workspace: Workspace) -> None:
        self._folder = workspace.reviews
        self._n_read_bytes: dict[Path, int] = {}

    def read(self) -> list[dict[str, Any]]:
        events: list[dict[str, Any]] = []
        for path in sorted(self._folder.glob("*.jsonl")):
            data = path.read_bytes()[self._n_read_bytes.get(path, 0) :]
            self._n_read_bytes[path] = self._n_read_bytes.get(path, 0) + len(data)
            events += [json.loads(line) for line in data.splitlines()]
        return events


class KeyWalker:
    """Sends random keys to one app after the other, and remembers them."""

    def __init__(self, keys: Sequence[str]) -> None:
        self.n_keys = 0
        self.n_compared_reviews = 0
        """Number of reviews whose item was compared with the item on the screen."""
        self.screens: Counter[str] = Counter()
        """Number of visits that began, and bursts that ended, on each screen, by class name."""
        self.slowest_pause = Pause(seconds=0, screen="", n_keys=0)
        self.sent: list[str] = []
        self._keys = keys
        self._visits = [*KEYS.values(), *MORE_VISITS]

    async def walk(
        self, app: FcreviewApp, pilot: Pilot[Any], workspace: Workspace, max_keys: int
    ) -> None:
        """Visit screens until the app has ended or `max_keys` keys were sent in all."""
        events = NewEvents(workspace)
        while self.n_keys < max_keys and app.return_value is None:
            await self._go_to_random_screen(app, pilot)
            n_keys_at_end = min(self.n_keys + KEYS_PER_VISIT, max_keys)
            while self.n_keys < n_keys_at_end and app.return_value is None:
                await self._send_burst(app, pilot)
                self._count_screen(app)
            await self._review_some_items(app, pilot, events)
        await self._pause(app, pilot)

    async def _go_to_random_screen(self, app: FcreviewApp, pilot: Pilot[Any]) -> None:
        columns, rows = random.choice(SIZES)
        await resize(pilot, columns, rows)
        await self._go_to(app, pilot, random.choice(self._visits))
        self._count_screen(app)

    async def _go_to(self, app: FcreviewApp, pilot: Pilot[Any], keys: str) -> None:
        """Go back to the list of items, and press the keys there."""
        for _ in range(12):
            if isinstance(app.screen, QueueScreen):
                break
            self._send(app, ["escape"])
            await self._pause(app, pilot)
        for key in keys.split():
            self._send(app, [key])
            await self._pause(app, pilot)

    async def _send_burst(self, app: FcreviewApp, pilot: Pilot[Any]) -> None:
        for _ in range(random.randint(1, MAX_BURST)):
            self._send(app, [random.choice(self._keys)])
            for _ in range(random.choice((0, 0, 1, 2, 5))):
                await asyncio.sleep(0)
        if random.random() < 0.5:
            await self._pause(app, pilot)

    async def _review_some_items(
        self, app: FcreviewApp, pilot: Pilot[Any], events: NewEvents
    ) -> None:
        """Press keys when the screen is drawn and nothing waits, and compare each review with the
        screen.
        """
        await self._go_to(app, pilot, random.choice(REVIEW_VISITS))
        for _ in range(N_COMPARED_KEYS):
            await self._wait(app, pilot)
            screen = app.screen
            if not isinstance(screen, ItemScreen | AdjudicationScreen):
                return
            rows = screen_lines(app)
            events.read()
            self._send(app, [random.choice((*REVIEW_KEYS, *MOVING_KEYS))])
            await self._wait(app, pilot)
            self._compare_reviews(screen, rows, events.read())

    def _compare_reviews(
        self,
        screen: ItemScreen | AdjudicationScreen,
        rows: Sequence[str],
        events: Sequence[dict[str, Any]],
    ) -> None:
        for event in events:
            if event["act"] == "retract":  # an undo may retract the review of another item
                continue
            item = event["key"]["id"]
            if "verdict" not in event and "overrules" in event:
                assert asks_reason(rows, item) or names_item(screen, rows, item), (item, rows)
            else:
                assert names_item(screen, rows, item), (item, rows[:2])
            self.n_compared_reviews += 1

    async def _wait(self, app: FcreviewApp, pilot: Pilot[Any]) -> None:
        for _ in range(3):  # results of a worker may start another one
            await wait_for_workers(app)
            await self._pause(app, pilot)

    async def _pause(self, app: FcreviewApp, pilot: Pilot[Any]) -> None:
        """Wait for the app, and remember the pause if it is the slowest one."""
        screen = type(app.screen).__name__
        start = time.monotonic()
        await pause(pilot)
        seconds = time.monotonic() - start
        if seconds > self.slowest_pause.seconds:
            self.slowest_pause = Pause(seconds, screen, self.n_keys)

    def _count_screen(self, app: FcreviewApp) -> None:
        self.screens[type(app.screen).__name__] += 1

    def _send(self, app: FcreviewApp, keys: list[str]) -> None:
        self.n_keys += len(keys)
        self.sent += keys
        del self.sent[:-N_SHOWN_KEYS]
        send_keys(app, *keys)


def names_item(screen: ItemScreen | AdjudicationScreen, rows: Sequence[str], item: str) -> bool:
    """Whether the title of the screen names this item, and no other."""
    if isinstance(screen, AdjudicationScreen):
        # In a narrow terminal, the title is `ITEM · CRITERION`.
        parts = [part.strip() for part in re.split(r"  | · ", rows[1])]
        return any(matches_cut_text(part, item) for part in parts if part)
    beside_list = BESIDE_LIST_ID.search(rows[1])
    if beside_list:
        return matches_cut_text(beside_list["id"], item)
    whole_width = WHOLE_WIDTH_ID.search(rows[0])
    return whole_width is not None and matches_cut_text(whole_width["id"], item)


def asks_reason(rows: Sequence[str], item: str) -> bool:
    """Whether the question of a reason for the last override names this item."""
    questions = [question for row in rows if (question := WHY.search(row))]
    return any(matches_cut_text(question["why"].split(" of ")[-1], item) for question in questions)
