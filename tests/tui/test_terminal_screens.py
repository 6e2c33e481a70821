"""fcreview's driver and Textual's own output draw the same screens, for any texts and keys."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pyte
import pytest
from textual import events
from textual.geometry import Size
from wcwidth import wcwidth

from fcreview.tui.terminal_output import CompactDriver
from fcreview.tui.text import styles
from tests.examples import only_long

TEXTS = (
    "plain words",
    "東京タワーの高さ",
    "e\u0301tude a\u0308\u0323",
    "👩\u200d👩\u200d👧 ❤\ufe0f 🇩🇪 ok",
    "שלום עולם",
    "مرحبا بالعالم",
    "\x1b[31mred\x07\u202e \t tab",
    "ｆｕｌｌ　ｗｉｄｔｈ",
    "½ ± µ ß ñ",
)
KEY_NAMES = (
    "enter",
    "escape",
    "tab",
    "slash",
    "question_mark",
    "pagedown",
    "pageup",
    "end",
    "home",
    "full_stop",
)
WALK = [
    *"jjkJKaavbtdR]]][[pfuzecrfmTy",
    *KEY_NAMES,
    "escape",
    "escape",
    "space",
    "left",
    "right",
    "colon",
    "escape",
]
EVENTS = ["theme", "resize 130 32", "resize 80 24", "resize 80 24", "suspend", "ctrl+l"]
"""Events besides keys: another theme, another size, the same size again, `$EDITOR`, and ctrl+l
on a damaged screen.
"""
WIDTHS: dict[str, Callable[[str], int]] = {
    "usual": wcwidth,
    "narrow emoji": lambda char: 1 if char > "\U0001f000" else wcwidth(char),
    "marks with a cell": lambda char: 1 if not wcwidth(char) and char > " " else wcwidth(char),
}


class RecordingDriver(CompactDriver):
    """A driver that records the output of Textual and what it sends to the terminal."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._screen_diff.erases = True
        self.plain: list[str] = []
        self.sent: list[str] = []
        self._writer_thread: Any = SimpleNamespace(write=self.sent.append)

    def write(self, data: str) -> None:
        self.plain.append(data)
        super().write(data)

    def start_application_mode(self) -> None:
        size = Size(*(self._size or (80, 24)))
        asyncio.get_running_loop().create_task(self._app._post_message(events.Resize(size, size)))

    def disable_input(self) -> None: ...
    def stop_application_mode(self) -> None: ...
    def flush(self) -> None: ...
    def close(self) -> None: ...


class Terminals:
    """Two terminals: one receives Textual's own output, the other what fcreview sends."""

    def __init__(self, columns: int, rows: int) -> None:
        self.screens = [pyte.Screen(columns, rows) for _ in range(2)]
        self.streams = [pyte.Stream(screen) for screen in self.screens]
        self.damage("\x1b[?7l")  # Textual turns line wrapping off

    def feed(self, driver: RecordingDriver) -> None:
        for stream, output in zip(self.streams, (driver.plain, driver.sent), strict=True):
            stream.feed("".join(output))
            output.clear()

    def resize(self, columns: int, rows: int) -> None:
        for screen in self.screens:
            screen.resize(rows, columns)

    def damage(self, text: str) -> None:
        """Write text on the screens that neither output knows of."""
        for stream in self.streams:
            stream.feed(text)

    @property
    def difference(self) -> list[tuple[int, int, Any, Any]]:
        plain, sent = self.screens
        if plain.buffer == sent.buffer:
            return []
        cells = ((row, column) for row in range(plain.lines) for column in range(plain.columns))
        pairs = (
            (at, visible_cell(plain.buffer[at[0]][at[1]]), visible_cell(sent.buffer[at[0]][at[1]]))
            for at in cells
        )
        return [(*at, one, other) for at, one, other in pairs if one != other]


def visible_cell(char: Any) -> tuple[Any, ...]:
    """Return the visible content of a cell: a blank has no foreground colour and is neither bold
    nor italic.
    """
    if char.data == " " and not (
        char.reverse or char.underscore or char.strikethrough or char.blink
    ):
        return (" ", char.bg)
    return tuple(char)


def make_rows() -> list[dict[str, Any]]:
    items = []
    for at, text in enumerate(TEXTS * 4):
        messages = [
            {"turn": 0, "step": step, "role": role, "content": f"{text} {at}\n" + text * (at % 3)}
            for step, role in ((-1, "user"), (0, "assistant"))
        ]
        items.append(
            {
                "id": f"{text[:6]}_{at}",
                "question": text,
                "messages": messages,
                "official": at % 5 == 0,
            }
        )
    return items


async def compare_screens(
    app: Any, size: tuple[int, int], keys: list[str], wait_for_screen: Any
) -> int:
    """Walk and compare both screens after each key. Returns the number of compared frames."""
    app.driver_class = RecordingDriver
    terminals = Terminals(*size)
    n_frames = 0
    async with app.run_test(headless=False, size=size) as pilot:
        driver = app._driver
        await wait_for_screen(pilot)
        for at, key in enumerate(["", *keys]):
            if key == "theme":
                app.theme = ("nord", "textual-light", "ansi-dark", "fcreview-dark")[at % 4]
            elif key.startswith("resize"):
                columns, lines = (int(each) for each in key.split()[1:])
                terminals.resize(columns, lines)
                terminals.damage("\x1b[3;3Hgarbage of a terminal that rearranges its text")
                await app._post_message(events.Resize(Size(columns, lines), Size(columns, lines)))
            elif key == "suspend":
                driver.write("\x1b[?1049l")
                terminals.damage("\x1b[2J\x1b[1;1Htext of an editor")
                driver.write("\x1b[?1049h")
                app.refresh(layout=True)
            elif key:
                if key == "ctrl+l":
                    terminals.damage("\x1b[5;1Hwall: message from root")
                await pilot.press(key)
            await pilot.pause()
            n_frames += bool(driver.plain)
            terminals.feed(driver)
            assert terminals.difference[:3] == [], (key, keys[:at])
    return n_frames


@pytest.fixture(
    params=[
        "usual",
        *(
            pytest.param(each, marks=[pytest.mark.sweep, only_long])
            for each in WIDTHS
            if each != "usual"
        ),
    ]
)
def width(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Set the character widths of the terminal, which differ between terminals."""
    monkeypatch.setattr(pyte.screens, "wcwidth", WIDTHS[request.param])
    return str(request.param)


SIZES = {"usual": (80, 24), "narrow emoji": (130, 32), "marks with a cell": (100, 30)}
ENVIRONMENTS = {
    "usual": {},
    "narrow emoji": {"FCREVIEW_ASCII": "1"},
    "marks with a cell": {"NO_COLOR": "1"},
}


async def test_both_outputs_draw_the_same_screens(
    make_app: Any, wait_for_screen: Any, monkeypatch: pytest.MonkeyPatch, width: str
) -> None:
    for name, value in ENVIRONMENTS[width].items():
        monkeypatch.setenv(name, value)
    styles.clear_style_caches()
    keys = random.Random(len(width)).choices(WALK + EVENTS, k=24)
    app = make_app(runs={"a": make_rows(), "b": make_rows()})
    assert await compare_screens(app, SIZES[width], [*EVENTS, *keys], wait_for_screen) > 15


@pytest.mark.sweep
async def test_outputs_are_the_same_on_long_walks(
    make_app: Any, wait_for_screen: Any, width: str
) -> None:
    keys = random.Random(SIZES[width][0]).choices(WALK + EVENTS, k=60)
    await compare_screens(
        make_app(runs={"a": make_rows(), "b": make_rows()}), (160, 45), keys, wait_for_screen
    )
