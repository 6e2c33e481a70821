"""A blind annotator sees exactly the same screens whatever the verdicts and the reviews of others
are.

The walk opens all screens and texts in two workspaces that differ only in verdicts and reviews. Add
new screens, keys and filters to the walks below; `test_walk_presses_every_key` finds missing keys.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from textual.command import CommandPalette
from textual.widgets import Input

from fcreview.cli.wiring import build_golden_services
from fcreview.store.filters.parser import FILTER_FLAGS, FILTER_KEYS, FilterError
from fcreview.store.rows import BUILTIN_QUEUES, View
from fcreview.store.store import Store, StoreError
from fcreview.store.workspace import Workspace
from fcreview.tui.actions import ITEM_ACTIONS, ITEM_TEXT_ACTIONS, QUEUE_ACTIONS
from fcreview.tui.app import FcreviewApp
from fcreview.tui.keymap import split_keys
from fcreview.tui.session import Session
from tests.examples import LONG, only_long
from tests.tui import idle
from tests.tui.blind.planted_workspaces import (
    ONE,
    OTHER,
    PLANTED,
    PlantedWorkspace,
    build_workspace,
)
from tests.tui.conftest import screen_lines

pytestmark = pytest.mark.slow

Step = tuple[str, ...]
"""Keys.

`=text` fills an input, or is typed where there is no input. The screen after each step is recorded.
"""


def list_filters() -> Iterator[str]:
    """Yield filters with each key and flag, and some whose number of matches would reveal
    verdicts.
    """
    for name in FILTER_KEYS:
        yield from (f"{name}:fail", f"{name}:none", f"-{name}:zaphod-one", f"{name}>0")
    for name in FILTER_FLAGS:
        yield from (name, f"-{name}")
    for word in PLANTED:
        yield from (word, f'text:"{word}-one"', f"{word}:x")


FILTERS = [
    f"={text}"
    for text in ("official:fail", "issues", "stale", "you:none", "zaphod", "annotator:bob", "tag:x")
]
QUEUE_WALK: list[Step] = [
    (),
    *[("o", *["down"] * at, "enter") for at in range(len(BUILTIN_QUEUES))],
    *[
        (key, "escape")
        for key in ("c", "i", "r", "percent_sign", "C", "x", "B", "Z", "question_mark")
    ],
    *[(key, "escape") for key in ("number_sign", "exclamation_mark", "greater_than_sign")],
    *[(key, "escape") for key in ("j", "end", "home", "pagedown", "d", "u", "g")],
    ("slash", "=zaphod", "enter"),
    ("backspace",),
    ("slash", "=quokka", "enter"),
    ("backspace",),
    ("slash", "=Please", "enter"),
    ("backspace",),
    *[
        ("v", key, "escape")
        for key in ("j", "tab", "shift+tab", *"12345", *"xsrbchlMXHo", "right", "left")
    ],
    ("v", "question_mark", "escape", "v"),
    ("v", "L"),
    ("v", "enter"),
    ("v", "3", "enter"),
    ("escape",),
    ("v", "slash", "=zaphod", "enter", "escape", "escape"),
    ("v", "o", "o", "slash", *"m", "escape", "escape"),
    ("v", "5", "enter"),
    ("backspace",),
    ("A",),
    ("escape",),
]


@pytest.fixture(autouse=True)
def hide_slow_actions(monkeypatch: pytest.MonkeyPatch) -> None:
    """The screen shows how long a slow disk takes, which differs from run to run."""
    monkeypatch.setattr("fcreview.tui.action_queue.SLOW_ACTION_DELAY", 60.0)


def palette_walk(*words: str) -> list[Step]:
    """Scroll through the palette, then type each word and press Enter and Esc."""
    return [
        *[("colon",), ("pagedown",), ("pagedown",), ("pagedown",), ("escape",)],
        *(step for word in words for step in (("colon", f"={word}"), ("enter",), ("escape",))),
    ]


PALETTE_WORDS = (
    *("item_", "compare", "overview", "estimates", "zaphod", "told"),
    *("review as", "@told", "report", "export csv", "disagreement", "official", "review all"),
)
HISTORY_WALK: list[Step] = [
    ("F", "up"),
    ("up",),
    ("escape",),
    ("F", "at"),
    ("tab",),
    ("escape",),
    ("slash", "up"),
    ("escape",),
]
ITEM_WALK: list[Step] = [
    *[
        (key,)
        for key in (
            "full_stop",
            "a",
            "j",
            "k",
            "J",
            "K",
            "t",
            "d",
            "enter",
            "end",
            "home",
            "R",
            "m",
            "T",
            "T",
            "right_parenthesis",
            "left_parenthesis",
        )
    ],
    ("D",),
    ("full_stop",),
    ("D",),
    ("z",),
    ("z",),
    ("I",),
    ("I",),
    ("z",),
    ("z",),
    ("y",),
    ("y",),
    *[("y", what) for what in "cdmj"],
    ("y", "escape"),
    ("G",),
    ("tab", "escape"),
    ("l", "escape"),
    ("slash", "=zaphod", "enter"),
    ("slash", "=quokka", "enter"),
    ("greater_than_sign",),
    ("less_than_sign",),
    ("slash", "=vellum", "enter"),
    ("e",),
    ("j", "escape"),
    ("w",),
    ("escape",),
    ("n", "=odd", "enter"),
    ("z",),
    ("question_mark",),
    ("escape",),
    ("0",),
    ("z",),
    ("right_curly_bracket",),
    ("left_curly_bracket",),
    ("v",),
    ("escape",),
    ("W",),
    ("escape",),
    ("E",),
    ("escape",),
    ("N",),
    ("escape",),
    ("O",),
    ("escape",),
    ("3",),
]


N_ITEMS = 3 if LONG else 2
"""Number of items. In the long form, they include all combinations of verdicts and an item of
several turns.
"""


async def walk(
    workspace: Workspace, size: tuple[int, int], part: str, *, blind: bool = True
) -> list[str]:
    """Return the screens of one part of the walk, which starts at the queue of failures."""
    app = FcreviewApp(
        Session(workspace, "alice", blind=blind, golden=build_golden_services()),
        View(queue="failures"),
    )
    screens: list[str] = []
    copied = workspace.root / "copied.txt"
    async with app.run_test(size=size) as pilot:

        async def perform(*steps: Step) -> None:
            for keys in steps:
                for key in keys:
                    if key.startswith("=") and isinstance(app.focused, Input):
                        app.focused.value += key[1:]
                        app.focused.cursor_position = len(app.focused.value)
                        await pilot.pause()
                    else:
                        await pilot.press(*(key[1:] if key.startswith("=") else (key,)))
                    await idle.wait_for_workers(app)
                await wait()
                screens.append(f"{' '.join(keys)}\n" + "\n".join(screen_lines(app)))
                if keys[:1] == ("y",):
                    screens.append(copied.read_text() if copied.exists() else "")

        async def wait() -> None:
            # rows, the item beside them and its position are loaded one after the other
            for _ in range(4):
                await idle.wait_for_workers(app)
                await pilot.pause()

        await wait()
        if part == "palette":
            await perform(*HISTORY_WALK, *palette_walk("fail", *PALETTE_WORDS), *HISTORY_WALK)
        if part == "queue":
            await perform(*QUEUE_WALK)
            for each in FILTERS:
                await perform(("F", each, "enter"), ("escape", "backspace"))
        for at in range(N_ITEMS if part == "items" else 0):
            if "enter open" in screen_lines(app)[-1]:
                await perform(("enter",))
            if at == 0:
                await perform(*palette_walk(*PALETTE_WORDS[:6], *PALETTE_WORDS[7:]))
            await perform(*ITEM_WALK, ("right_square_bracket",))
        await perform(("q",), ("o", "enter"), ("colon",), ("escape",))
    screens.append(f"left with: {app.return_value!r} {app.return_code}")
    return screens


def query_store(workspace: Workspace) -> list[str]:
    """Return the answers of the store to all queries."""
    found: list[str] = []
    with Store.open(workspace, "alice", blind=True) as store:
        found.append(repr([asdict(row) for row in store.fetch_runs()]))
        for queue in BUILTIN_QUEUES:
            found.append(
                f"{queue}: {[asdict(row) for row in store.fetch_page(View(queue=queue), 0, 20)]}"
            )
        items = [row.item for row in store.fetch_page(View(queue="dataset"), 0, 20)]
        found += [repr(asdict(store.read_detail(item))) for item in items]
        for text in list_filters():
            results = [
                _result_or_error(query, View(text))
                for query in (store.count_items, store.fetch_facets)
            ]
            found.append(f"{text}: {' '.join(results)}")
        for item in items:
            found += [
                _result_or_error(store.read_raw_record, item),
                _result_or_error(store.read_score_record, item),
            ]
        for question in (store.fetch_clusters, store.iter_label_batches, store.iter_details):
            found.append(f"{question.__name__}: {_result_or_error(question, View())}")
        found += [
            _result_or_error(store.search_item_ids, "item"),
            _result_or_error(store.fetch_issues),
            _result_or_error(lambda: store.analysis),
            _result_or_error(store.run_sql, "SELECT 1"),
        ]
    return found


def _result_or_error(question: Any, *arguments: Any) -> str:
    try:
        return repr(question(*arguments))
    except (FilterError, StoreError) as error:
        return f"{type(error).__name__}: {error}"


def run_in_both(place: Path, check: Any) -> tuple[list[str], list[str]]:
    def run_in(planted: PlantedWorkspace) -> list[str]:
        found = check(build_workspace(planted, place))
        return asyncio.run(found) if asyncio.iscoroutine(found) else found

    return run_in(ONE), run_in(OTHER)


def check_same(one: list[str], other: list[str]) -> None:
    assert len(one) == len(other)
    for before, after in zip(one, other, strict=True):
        assert before == after


def check_no_planted_word(screens: list[str], planted: PlantedWorkspace) -> None:
    """What the annotator types has no name of a workspace, so it is no planted word."""
    for each in screens:
        assert not [word for word in PLANTED if planted.word(word) in each], each


@pytest.mark.sweep
@pytest.mark.parametrize(
    "part", [*(pytest.param(part, marks=only_long) for part in ("palette", "queue")), "items"]
)
@pytest.mark.parametrize("size", [pytest.param((80, 24), marks=only_long), (160, 50)])
def test_screens_are_the_same_without_planted_words(
    tmp_path: Path, size: tuple[int, int], part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A screen may be read before or after the palette says that nothing matches.
    monkeypatch.setattr(CommandPalette, "_NO_MATCHES_COUNTDOWN", 3600)
    one, other = run_in_both(tmp_path / "work", lambda workspace: walk(workspace, size, part))
    check_same(one, other)
    check_no_planted_word(one, ONE)
    check_no_planted_word(other, OTHER)


@pytest.mark.sweep
def test_store_answers_are_the_same(tmp_path: Path) -> None:
    one, other = run_in_both(tmp_path / "work", query_store)
    check_same(one, other)


@pytest.mark.sweep
def test_workspaces_differ_for_unblinded_annotators(tmp_path: Path) -> None:
    """Otherwise the walk would prove nothing."""

    def read_details(workspace: Workspace) -> list[str]:
        with Store.open(workspace, "alice") as store:
            items = [row.item for row in store.fetch_page(View(queue="dataset"), 0, 20)]
            return [repr(asdict(store.read_detail(item))) for item in items] + [
                repr(store.fetch_issues())
            ]

    one, other = run_in_both(tmp_path / "work", read_details)
    assert all(before != after for before, after in zip(one, other, strict=True))
    assert all(f"{word}-one" in "".join(one) for word in PLANTED)


def test_walk_presses_every_key() -> None:
    """A new key of the queue or the item may be a new way to see verdicts."""
    pressed = {key for step in (*QUEUE_WALK, *ITEM_WALK) for key in step}
    pressed |= {
        "f",
        "F",
        "q",
        "p",
        "enter",
        "right_square_bracket",
        "left_square_bracket",
        "backspace",
        "escape",
    }
    deciding = {"item.pass", "item.fail", "item.golden_wrong", "item.unsure"}
    moving = {
        "item.line_down",
        "item.line_up",
        "item.page_down",
        "item.page_up",
        "item.score_1",
        "item.score_2",
    }
    for action in (*QUEUE_ACTIONS, *ITEM_ACTIONS, *ITEM_TEXT_ACTIONS):
        if action.id not in deciding | moving:
            assert set(split_keys(action.keys)) & pressed, action
