"""A blind annotator who has not decided is shown the same, byte for byte, whatever verdicts and others' reviews are.

The walk goes over every screen and every text that there is, in two workspaces that differ in these only. A new screen,
key or filter belongs into `WALK` or is found by `test_the_walk_presses_every_key`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from textual.widgets import Input

from fcreview.cli.wiring import build_golden_services
from fcreview.store.filters.keys import FILTER_FLAGS, FILTER_KEYS
from fcreview.store.filters.parser import FilterError
from fcreview.store.rows import BUILTIN_QUEUES, View
from fcreview.store.store import Store, StoreError
from fcreview.store.workspace import Workspace
from fcreview.tui.actions import ITEM_ACTIONS, ITEM_TEXT_ACTIONS, QUEUE_ACTIONS
from fcreview.tui.app import FcreviewApp
from fcreview.tui.keymap import split_keys
from fcreview.tui.session import Session
from tests.examples import only_long
from tests.tui import idle
from tests.tui.blind.worlds import ONE, OTHER, PLANTED, World, built
from tests.tui.conftest import screen_lines

pytestmark = pytest.mark.slow

Step = tuple[str, ...]
"""Keys. `=text` fills an input at once, or is pressed key by key where there is none. Each step's screen is kept."""


def filters() -> Iterator[str]:
    """Every key and flag, and some that would tell by the number of items they find."""
    for name in FILTER_KEYS:
        yield from (f"{name}:fail", f"{name}:none", f"-{name}:zaphod-one", f"{name}>0")
    for name in FILTER_FLAGS:
        yield from (name, f"-{name}")
    for word in PLANTED:
        yield from (word, f'text:"{word}-one"', f"{word}:x")


TYPED = [f"={text}" for text in ("official:fail", "issues", "stale", "you:none", "zaphod", "annotator:bob", "tag:x")]
QUEUE_WALK: list[Step] = [
    (),
    *[("o", *["down"] * at, "enter") for at in range(len(BUILTIN_QUEUES))],
    *[(key, "escape") for key in ("c", "i", "r", "a", "C", "x", "B", "question_mark")],
    *[(key, "escape") for key in ("j", "end", "home", "pagedown", "d", "u", "G", "g")],
    ("slash", "=zaphod", "enter"), ("F",), ("slash", "=quokka", "enter"), ("F",), ("slash", "=Please", "enter"), ("F",),
    *[("v", key, "escape") for key in ("j", "tab", "shift+tab", *"12345", *"xsrchlneHo", "right", "left")],
    ("v", "question_mark", "escape", "v"), ("v", "f"), ("v", "enter"), ("v", "3", "enter"), ("escape",),
    ("v", "slash", "=zaphod", "enter", "escape", "escape"), ("v", "o", "o", "slash", *"m", "escape", "escape"),
    ("v", "5", "enter"), ("F",),
]  # fmt: skip


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """How long the disk takes is told on the screen, and is never the same."""
    monkeypatch.setattr("fcreview.tui.review.item_reviewer.SLOW_ACTION_DELAY", 60.0)


def palette_walk(*words: str) -> list[Step]:
    """All of it, then what each word finds, and where enter leads; esc comes back from there."""
    return [
        *[("colon",), ("pagedown",), ("pagedown",), ("pagedown",), ("escape",)],
        *(step for word in words for step in (("colon", f"={word}"), ("enter",), ("escape",))),
    ]


OFFERED = (
    *("item_", "compare", "overview", "estimates", "zaphod", "told"),
    *("@told", "report", "export csv", "disagreement", "official", "review all"),
)
HISTORY_WALK: list[Step] = [
    ("f", "up"), ("up",), ("escape",), ("f", "at"), ("tab",), ("escape",), ("slash", "up"), ("escape",),
]  # fmt: skip
ITEM_WALK: list[Step] = [
    *[(key,) for key in ("full_stop", "a", "j", "k", "J", "K", "t", "d", "enter", "end", "home", "R", "m", "T", "T")],
    ("D",), ("full_stop",), ("D",), ("z",), ("z",),
    ("y",), ("y",), *[("y", what) for what in "cdmj"], ("y", "escape"), ("G",), ("tab", "escape"), ("l", "escape"),
    ("slash", "=zaphod", "enter"), ("slash", "=quokka", "enter"), ("s",), ("S",), ("slash", "=vellum", "enter"),
    ("e",), ("j", "escape"), ("w",), ("escape",), ("n", "=odd", "enter"), ("z",), ("question_mark",), ("escape",),
    ("0",), ("z",), ("right_curly_bracket",), ("left_curly_bracket",),
    ("v",), ("escape",), ("W",), ("escape",), ("E",), ("escape",), ("N",), ("escape",), ("O",), ("escape",), ("3",),
]  # fmt: skip


WALKED = 3
"""Items: each way of passing and failing, and one of several turns, is among them."""


async def walked(workspace: Workspace, size: tuple[int, int], part: str) -> list[str]:
    """What was on screen, step by step. Each part of the walk starts on the queue of failures."""
    app = FcreviewApp(Session(workspace, "alice", blind=True, golden=build_golden_services()), View(queue="failures"))
    kept: list[str] = []
    copied = workspace.root / "copied.txt"
    async with app.run_test(size=size) as pilot:

        async def do(*steps: Step) -> None:
            for keys in steps:
                for key in keys:
                    if key.startswith("=") and isinstance(app.focused, Input):
                        app.focused.value += key[1:]
                        app.focused.cursor_position = len(app.focused.value)
                        await pilot.pause()
                    else:
                        await pilot.press(*(key[1:] if key.startswith("=") else (key,)))
                    await idle.worked(app)
                await settle()
                kept.append(f"{' '.join(keys)}\n" + "\n".join(screen_lines(app)))
                if keys[:1] == ("y",):
                    kept.append(copied.read_text() if copied.exists() else "")

        async def settle() -> None:
            for _ in range(4):  # one thing leads to the next: rows, the item beside them, its place in the list
                await idle.worked(app)
                await pilot.pause()

        await settle()
        if part == "palette":
            await do(*HISTORY_WALK, *palette_walk("fail", *OFFERED), *HISTORY_WALK)
        if part == "queue":
            await do(*QUEUE_WALK)
            for each in TYPED:
                await do(("f", each, "enter"), ("escape", "F"))
        for at in range(WALKED if part == "items" else 0):
            if "enter open" in screen_lines(app)[-1]:
                await do(("enter",))
            if at == 0:
                await do(*palette_walk(*OFFERED[:6], *OFFERED[7:]))
            await do(*ITEM_WALK, ("right_square_bracket",))
        await do(("q",), ("o", "enter"), ("colon",), ("escape",))
    kept.append(f"left with: {app.return_value!r} {app.return_code}")
    return kept


def asked(workspace: Workspace) -> list[str]:
    """What the store answers, whoever asks."""
    found: list[str] = []
    with Store.open(workspace, "alice", blind=True) as store:
        found.append(repr([asdict(row) for row in store.fetch_runs()]))
        for queue in BUILTIN_QUEUES:
            found.append(f"{queue}: {[asdict(row) for row in store.fetch_page(View(queue=queue), 0, 20)]}")
        items = [row.item for row in store.fetch_page(View(queue="dataset"), 0, 20)]
        found += [repr(asdict(store.read_detail(item))) for item in items]
        for text in filters():
            found.append(f"{text}: {_said(store.count_items, View(text))} {_said(store.fetch_facets, View(text))}")
        for item in items:
            found += [
                _said(store.read_raw_record, item),
                _said(store.read_score_record, item),
                _said(store.fetch_issues, item),
            ]
        for question in (store.fetch_clusters, store.iter_labels, store.iter_details):
            found.append(f"{question.__name__}: {_said(question, View())}")
        found += [
            _said(store.search_item_ids, "item"),
            _said(store.fetch_issues),
            _said(lambda: store.analysis),
            _said(store.run_sql, "SELECT 1"),
        ]
    return found


def _said(question: Any, *arguments: Any) -> str:
    try:
        return repr(question(*arguments))
    except (FilterError, StoreError) as error:
        return f"{type(error).__name__}: {error}"


def both(place: Path, of: Any) -> tuple[list[str], list[str]]:
    def one(world: World) -> list[str]:
        found = of(built(world, place))
        return asyncio.run(found) if asyncio.iscoroutine(found) else found

    return one(ONE), one(OTHER)


def same(one: list[str], other: list[str]) -> None:
    assert len(one) == len(other)
    for before, after in zip(one, other, strict=True):
        assert before == after


def hidden(of: list[str], world: World) -> None:
    """No planted word: what the annotator types is without the world's name."""
    for each in of:
        assert not [word for word in PLANTED if world.word(word) in each], each


@pytest.mark.sweep
@pytest.mark.parametrize("part", ["palette", "queue", "items"])
@pytest.mark.parametrize("size", [pytest.param((80, 24), marks=only_long), (160, 50)])
def test_all_that_is_shown_is_the_same_and_no_planted_word(tmp_path: Path, size: tuple[int, int], part: str) -> None:
    one, other = both(tmp_path / "work", lambda workspace: walked(workspace, size, part))
    same(one, other)
    hidden(one, ONE)
    hidden(other, OTHER)


@pytest.mark.sweep
def test_what_the_store_answers_is_the_same(tmp_path: Path) -> None:
    one, other = both(tmp_path / "work", asked)
    same(one, other)


@pytest.mark.sweep
def test_the_worlds_differ_for_who_is_not_blind(tmp_path: Path) -> None:
    """What is planted is there to be seen: else the walk would prove nothing."""

    def seen(workspace: Workspace) -> list[str]:
        with Store.open(workspace, "alice") as store:
            items = [row.item for row in store.fetch_page(View(queue="dataset"), 0, 20)]
            return [repr(asdict(store.read_detail(item))) for item in items] + [repr(store.fetch_issues())]

    one, other = both(tmp_path / "work", seen)
    assert all(before != after for before, after in zip(one, other, strict=True))
    assert all(f"{word}-one" in "".join(one) for word in PLANTED)


def test_the_walk_presses_every_key() -> None:
    """Of the queue and the item: a new one is a new way to be told something."""
    pressed = {key for step in (*QUEUE_WALK, *ITEM_WALK) for key in step}
    pressed |= {"f", "F", "q", "p", "enter", "right_square_bracket", "left_square_bracket", "backspace", "escape"}
    deciding = {"item.pass", "item.fail", "item.golden_wrong", "item.unsure"}
    moving = {"item.line_down", "item.line_up", "item.page_down", "item.page_up", "item.score_1", "item.score_2"}
    for action in (*QUEUE_ACTIONS, *ITEM_ACTIONS, *ITEM_TEXT_ACTIONS):
        if action.id not in deciding | moving:
            assert set(split_keys(action.keys)) & pressed, action
