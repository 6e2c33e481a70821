"""Adjudication shows only disagreements, hides names until they are resolved, and saves before
it reports.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual.pilot import Pilot

from fcreview.model.review import Annotation
from fcreview.store.reviewer import Reviewer
from fcreview.store.reviews.journal import Journal
from fcreview.store.store import Store
from fcreview.store.workspace import Workspace
from fcreview.tui.app import FcreviewApp
from fcreview.tui.screens.adjudication import AdjudicationScreen
from fcreview.tui.screens.queue import QueueScreen
from fcreview.tui.session import Session
from tests.store.factory import Imported
from tests.tui import idle
from tests.tui.conftest import screen_lines
from tests.tui.key_input import send_keys, wait_until

CALL = "turn:1/call:1"
SAID: dict[str, dict[int, list[Annotation]]] = {
    "alice": {
        0: [Annotation(verdict=True), Annotation(note="Hangzhou is in China")],
        1: [Annotation(verdict=True, fault="golden")],
        2: [Annotation(target=CALL, criterion="completeness", verdict=0)],
        3: [Annotation(verdict=False)],
    },
    "bob": {
        0: [Annotation(verdict=False, tags=["city"])],
        1: [Annotation(verdict=True)],
        2: [Annotation(target=CALL, criterion="completeness", verdict=2)],
        3: [Annotation(verdict=False)],
    },
    "carol": {0: [Annotation(verdict="unsure")]},
}
"""Disagreements: item 0 on the verdict, 1 on the fault, 2 on another criterion. Item 3 has none."""


@pytest.fixture
def workspace(imported: Imported, tmp_path: Path) -> Workspace:
    result = imported(tmp_path / "work", {"maple-8b": [{}, {}, {}, {}]})
    for who, items in SAID.items():
        with Store.open(result, who) as store:
            reviewer = Reviewer(store, Journal(result, who))
            for number, acts in items.items():
                for act in acts:
                    reviewer.review(store.find_items(f"simple_{number}")[0], act)
    return result


class AppDriver:
    def __init__(self, pilot: Pilot[Any], app: FcreviewApp, workspace: Workspace) -> None:
        self.app, self._pilot, self._workspace = app, pilot, workspace

    async def press(self, *keys: str) -> list[str]:
        for key in keys:
            await self._pilot.press(key)
            await idle.wait_for_workers(self.app)
            await self._pilot.pause()
        return self.lines

    @property
    def lines(self) -> list[str]:
        return screen_lines(self.app)

    @property
    def events(self) -> list[tuple[Any, ...]]:
        path = self._workspace.reviews / "dora.jsonl"
        found = (
            [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        )
        fields = ("act", "target", "criterion", "verdict", "fault", "note")
        return [(each["key"]["id"], *(each.get(name) for name in fields)) for each in found]

    def status(self) -> str:
        return self.lines[-2].strip()


@asynccontextmanager
async def open_adjudication(
    workspace: Workspace,
    size: tuple[int, int] = (80, 24),
    annotator: str = "dora",
    **options: Any,
) -> AsyncIterator[AppDriver]:
    app = FcreviewApp(Session(workspace, annotator), **{"adjudicate": True, **options})
    async with app.run_test(size=size) as pilot:
        person = AppDriver(pilot, app, workspace)
        await person.press()
        await idle.wait_for_workers(app)
        await pilot.pause()
        yield person


def find_answer_key(lines: list[str], word: str) -> str:
    """Return the key that accepts the answer whose card has this badge."""
    cards = next(at for at, line in enumerate(lines) if "Annotator A" in line)
    return str(re.findall(r"│ +([A-Z0-9]+)\b", lines[cards + 1]).index(word.upper()) + 1)


@pytest.mark.sweep
async def test_one_key_resolves_and_shows_the_next_disagreement(workspace: Workspace) -> None:
    async with open_adjudication(workspace) as person:
        assert person.lines[1].split("   ")[0].strip() == "Is this item correct?"
        assert "simple_0" in person.lines[1] and "unresolved · 1 of 3" in person.lines[1]
        assert (
            "0 of 3 resolved" in person.lines[0] and "maple-8b › disagreements" in person.lines[0]
        )
        assert "annotators in random order" in person.status()
        assert not any(name in line for line in person.lines for name in SAID)
        assert "decisive step" not in "\n".join(person.lines), "only available keys are shown"
        assert any("Hangzhou is in China" in line for line in person.lines)
        assert any(line.split() == ["majority", "none"] for line in person.lines)
        await person.press(find_answer_key(person.lines, "fail"))
        assert person.events == [("simple_0", "adjudicate", "item", "correct", False, None, None)]
        assert person.status().startswith("✓ simple_0 resolved: fail   A ")
        assert all(name in person.status() for name in SAID)
        assert "All pass. Which fault applies?   simple_1" in person.lines[1]
        assert "unresolved · 2 of 3" in person.lines[1]
        assert any("fault unresolved" in line for line in person.lines)
        await person.press("w", "g")
        assert person.events[-1] == (
            "simple_1",
            "adjudicate",
            "item",
            "correct",
            True,
            "golden",
            None,
        )
        assert person.status().startswith("✓ simple_1 resolved: pass, golden wrong   A ")
        assert "unresolved · 3 of 3" in person.lines[1]
        assert "simple_2 · turn 1 call 1" in person.lines[1]
        assert "Which completeness applies?" in person.lines[1]
        await person.press("0", "9", "enter")
        assert "completeness must be 0, 1, 2 or unsure; got 9" in person.status()
        await person.press("f", "0", "1", "enter")
        assert person.events[2:] == [
            ("simple_2", "adjudicate", CALL, "completeness", 1, None, None)
        ]
        assert "all resolved" in person.lines[0]
        assert "all resolved   q back" in person.status()
        assert any("· alice" in line for line in person.lines[2:-2])
    async with open_adjudication(workspace) as person:
        assert any("no disagreements" in line for line in person.lines)
        await person.press("1", "p", "n", "slash", "R", "plus")
        assert len(person.events) == 3


@pytest.mark.sweep
async def test_reason_is_saved_and_resolves_nothing(workspace: Workspace) -> None:
    async with open_adjudication(workspace) as person:
        await person.press("n", *"why", "enter")
        assert person.events == [("simple_0", "adjudicate", "item", "correct", None, None, "why")]
        assert "unresolved · 1 of 3" in person.lines[1]
        assert any(line.split()[:2] == ["adjudication", "why"] for line in person.lines)
        await person.press("p")
        assert "unresolved · 2 of 3" in person.lines[1]
    with Store.open(workspace) as store:
        (adjudication,) = [
            o
            for o in store.read_detail(store.find_items("simple_0")[0]).opinions
            if o.is_adjudication
        ]
        assert (adjudication.verdict, adjudication.note, adjudication.annotator) == (
            True,
            "why",
            "dora",
        )


@pytest.mark.sweep
async def test_undo_reopens_and_unsure_keeps_open(workspace: Workspace) -> None:
    async with open_adjudication(workspace) as person:
        await person.press("p", "z")
        assert "undone: pass · simple_0" in person.status()
        assert "simple_0" in person.lines[1] and "unresolved · 1 of 3" in person.lines[1]
        assert "0 of 3 resolved" in person.lines[0]
        await person.press("u")
        assert "unsure (still unresolved)" in person.status()
        assert "0 of 3 resolved" in person.lines[0]
        await person.press(
            "left_square_bracket",
            find_answer_key(await person.press("left_square_bracket"), "pass"),
        )
        assert "1 of 3 resolved" in person.lines[0]
        await person.press("left_square_bracket")
        assert " resolved · 1 of 3" in person.lines[1]
        assert any("· alice" in line for line in person.lines[2:-2])


@pytest.mark.sweep
async def test_unsure_answer_cannot_be_accepted(workspace: Workspace) -> None:
    async with open_adjudication(workspace) as person:
        await person.press(find_answer_key(person.lines, "unsure"))
        assert "is unsure and cannot be accepted" in person.status()
        assert person.events == []


async def test_escape_does_not_end_the_program_and_says_how_to_quit(workspace: Workspace) -> None:
    async with open_adjudication(workspace) as person:
        await person.press("escape")
        assert person.app.is_running and isinstance(person.app.screen, AdjudicationScreen)
        assert "Already at the top level; press q to quit" in person.status()
        assert "unresolved · 1 of 3" in person.lines[1]
        await person.press("q")
        assert person.app.return_code == 0 and not isinstance(person.app.screen, AdjudicationScreen)


@pytest.mark.sweep
async def test_key_opens_adjudication_and_escape_returns_to_the_queue(workspace: Workspace) -> None:
    async with open_adjudication(workspace, adjudicate=False) as person:
        await person.press("x")
        assert isinstance(person.app.screen, AdjudicationScreen)
        await person.press("p", "escape")
        assert isinstance(person.app.screen, QueueScreen)
        assert len(person.events) == 1


@pytest.mark.sweep
async def test_configured_keys_work_in_adjudication(workspace: Workspace) -> None:
    async with open_adjudication(
        workspace, key_names={"pass": "y", "adjudication.take_1": "a"}
    ) as person:
        assert "a 2 3 accept A B C" in person.lines[-1]
        assert "y pass" in person.lines[-1]
        await person.press("p", "y")
        assert [event[4] for event in person.events] == [True]


@pytest.mark.parametrize("size", [(60, 20), (80, 24), (160, 50)])
async def test_adjudication_is_readable_without_colour_and_in_ascii(
    workspace: Workspace, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    from fcreview.tui.text import styles

    monkeypatch.setenv("FCREVIEW_ASCII", "1")
    monkeypatch.setenv("NO_COLOR", "1")
    styles.clear_style_caches()
    async with open_adjudication(workspace, size) as person:
        lines = person.lines
        assert len(lines) == size[1]
        assert all(line.isascii() and len(line) <= size[0] for line in lines), lines
        assert lines[-1].split()[:3] == ["1-3", "accept", "A"]
        assert re.search(r" p pass +f fail .*w fault +n note +z undo ", lines[-1])
        assert lines[-1].endswith("? help")


@pytest.mark.sweep
async def test_adjudication_is_not_available_in_blind_mode(
    workspace: Workspace, get_screen_lines: Callable[..., list[str]]
) -> None:
    app = FcreviewApp(Session(workspace, "erin", blind=True))
    async with app.run_test(size=(160, 24)) as pilot:
        await idle.wait_for_workers(app)
        await pilot.pause()
        await pilot.press("x")
        assert isinstance(app.screen, QueueScreen)
        assert "adjudicate" not in get_screen_lines(app)[-1]


async def test_other_keys_give_a_reason(workspace: Workspace) -> None:
    async with open_adjudication(workspace) as person:
        assert "enter value" not in person.lines[-1]
        await person.press("0")
        assert "the only values are pass and fail; press p or f" in person.status()
        await person.press("T")
        assert "only the disputed target can be reviewed" in person.status()
        await person.press("C")
        assert "C (calibration) works in the list" in person.status()
        assert not person.events


async def test_disputed_argument_is_marked_above_its_call(
    imported: Imported, tmp_path: Path
) -> None:
    result = imported(tmp_path / "work", {"maple-8b": [{}]})
    for who, verdict in (("alice", True), ("bob", False)):
        with Store.open(result, who) as store:
            item = store.find_items("simple_0")[0]
            Reviewer(store, Journal(result, who)).review(
                item, Annotation(target=f"{CALL}/arg:city", verdict=verdict)
            )
    async with open_adjudication(result, (120, 34)) as person:
        mark = next(at for at, line in enumerate(person.lines) if "annotators disagree" in line)
        assert person.lines[mark + 1].strip().startswith("╭─ get_weather")
        at = next(line for line in person.lines if "▸" in line)
        assert "city" in at


async def test_keys_before_the_first_disagreement_wait_unless_they_review(
    workspace: Workspace,
) -> None:
    app = FcreviewApp(Session(workspace, "dora"))
    rung: list[bool] = []
    async with app.run_test(size=(80, 24)) as pilot:
        person = AppDriver(pilot, app, workspace)
        await person.press()
        app.bell = lambda: rung.append(True)  # type: ignore[method-assign]
        hold = threading.Event()
        app.session._thread.submit(hold.wait, 20)
        with idle.ignore_threads():
            await pilot.press("x")
            send_keys(app, "p", "1", "right_square_bracket", "n")
            await pilot.pause()
        assert isinstance(app.screen, AdjudicationScreen) and len(rung) == 3
        hold.set()
        await wait_until(lambda: "unresolved · 2 of 3" in person.lines[1])
        assert person.events == []
        await person.press("n", *"seen", "enter")
        assert [event[0] for event in person.events] == ["simple_1"]


async def test_answer_key_waits_until_the_disagreement_was_seen(workspace: Workspace) -> None:
    session, time = Session(workspace, "dora"), [1000.0]
    session.key_guard_time, session.clock = 0.2, lambda: time[0]
    app = FcreviewApp(session, adjudicate=True)
    async with app.run_test(size=(80, 24)) as pilot:
        person = AppDriver(pilot, app, workspace)

        async def settle() -> None:
            for _ in range(3):
                await pilot.pause()
                await idle.wait_for_workers(app)

        async def press_after(seconds: float, key: str) -> None:
            time[0] += seconds
            event = events.Key(key, key)
            event.time = time[0]
            event.set_sender(app)
            assert app._driver is not None
            app._driver.send_message(event)
            await settle()

        await settle()
        key = find_answer_key(person.lines, "fail")
        await press_after(0.1, key)
        assert f"{key} ignored: the item had just appeared" in person.status()
        assert person.events == []

        await press_after(1, key)
        await press_after(0.1, "p")
        assert "p ignored: the item had just appeared" in person.status()
        assert len(person.events) == 1


async def test_adjudication_and_own_answer_have_different_names(workspace: Workspace) -> None:
    async with open_adjudication(workspace, (110, 40), annotator="alice") as person:
        await person.press("f")
        lines = await person.press("left_square_bracket")
        assert " resolved " in lines[1], lines[1]
        words = [line.strip("│ ▸").split() for line in lines]
        assert ["adjudication", "FAIL"] in words
        assert not any(line[:2] == ["you", "FAIL"] for line in words)
        assert any(line[:3] == ["✓", "you", "pass"] for line in words)
