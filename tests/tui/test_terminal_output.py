"""The reduced output draws the same screen with fewer bytes."""

from __future__ import annotations

import random

import pyte
import pytest

from fcreview.tui.terminal_output import ScreenDiff

COLUMNS, ROWS = 40, 6


def draw_screen(*outputs: str) -> list[list[tuple[object, ...]]]:
    """Return the visible content of each cell."""
    screen = pyte.Screen(COLUMNS, ROWS)
    stream = pyte.Stream(screen)
    for output in outputs:
        stream.feed(output)
    return [[visible_cell(screen.buffer[y][x]) for x in range(COLUMNS)] for y in range(ROWS)]


def visible_cell(char: pyte.screens.Char) -> tuple[object, ...]:
    if char.data == " " and not (
        char.reverse or char.underscore or char.strikethrough or char.blink
    ):
        return (" ", char.bg)
    return tuple(char)


CODES = [
    "1",
    "2",
    "3",
    "4",
    "7",
    "31",
    "44",
    "97",
    "38;5;114",
    "48;5;20",
    "38;2;1;2;3",
    "48;2;200;100;50",
    "0",
    "",
]
TEXTS = ["x", "  ", "abc", "é▸─", "a b c", "東京", "都 東x", "e\u0301", "✓ pass"]


def random_frame(seed: int) -> str:
    """Return a frame as Textual sends it: spans of cells at positions, then the position of the
    cursor.
    """
    draw = random.Random(seed)
    parts = []
    for _ in range(draw.randint(1, 8)):
        row = draw.randint(1, ROWS)
        parts.append(f"\x1b[{row};{draw.randint(1, 14)}H")
        for _ in range(draw.randint(1, 4)):
            code = ";".join(draw.choices(CODES, k=draw.randint(1, 3)))
            parts.append(f"\x1b[{code}m{draw.choice(TEXTS)}\x1b[0m")
        parts.append(draw.choice(["", "\n"]) if row < ROWS else "")
    return "".join(parts) + "\x1b[1;1H"


@pytest.mark.parametrize("seed", range(0, 2000, 20))
def test_reduced_frames_draw_the_same_screen(seed: int) -> None:
    frames = [random_frame(seed + at) for at in range(6)]
    diff = ScreenDiff(erases=seed % 40 == 0)
    diff.size = (COLUMNS, ROWS)
    assert draw_screen(*map(diff.reduce_frame, frames)) == draw_screen(*frames)


def test_only_changed_cells_and_colours_are_sent() -> None:
    diff = ScreenDiff()
    style = "38;2;1;2;3;48;2;4;5;6"
    text = f"\x1b[2;3H\x1b[{style}mone \x1b[0m\x1b[1;{style}mtwo\x1b[0m\x1b[1;1H"
    assert diff.reduce_frame(text) == f"\x1b[2;3H\x1b[0;{style}mone \x1b[1mtwo\x1b[0m\x1b[1;1H"
    assert diff.reduce_frame(text) == "", "the same frame again"
    assert (
        diff.reduce_frame(text.replace("two", "twi"))
        == f"\x1b[2;9H\x1b[0;1;{style}mi\x1b[0m\x1b[1;1H"
    )
    diff.forget_content()
    assert "one" in diff.reduce_frame(text), "the complete frame after other changes of the screen"


def test_each_look_is_selected_once_in_a_frame() -> None:
    diff = ScreenDiff()
    one, two = "\x1b[38;2;1;2;3mone \x1b[0m", "\x1b[38;2;4;5;6mtwo \x1b[0m"
    output = diff.reduce_frame(
        "".join(f"\x1b[{row};1H{one}{two}{one}{two}" for row in range(1, ROWS)) + "\x1b[1;1H"
    )
    assert (output.count("38;2;1;2;3m"), output.count("38;2;4;5;6m")) == (1, 1)


@pytest.mark.parametrize(
    ("erases", "sent"), [(True, "\x1b[1;6H\x1b[0;48;5;20m\x1b[K"), (False, " " * 30)]
)
def test_blanks_are_erased_if_the_terminal_gives_them_the_background(
    erases: bool, sent: str
) -> None:
    diff = ScreenDiff(erases=erases)
    diff.size = (COLUMNS, ROWS)
    diff.reduce_frame(f"\x1b[1;1H\x1b[48;5;20m{'text ' * 8}\x1b[0m\x1b[1;1H")
    assert sent in diff.reduce_frame(f"\x1b[1;1H\x1b[48;5;20m{'text':{COLUMNS}}\x1b[0m\x1b[1;1H")


def test_only_changed_wide_characters_are_sent() -> None:
    diff = ScreenDiff()
    diff.reduce_frame("\x1b[1;1H東京 one\x1b[1;1H")
    assert "\x1b[1;6H\x1b[0mtwo" in diff.reduce_frame("\x1b[1;1H東京 two\x1b[1;1H")
    assert "都" in (output := diff.reduce_frame("\x1b[1;1H東都 two\x1b[1;1H"))
    assert "東" not in output


@pytest.mark.parametrize("erases", [True, False])
def test_wide_characters_over_others_draw_the_same_screen(erases: bool) -> None:
    """The second cells of all wide characters look the same."""
    draw = random.Random(1)
    for _ in range(40):
        frames = [f"\x1b[1;1H{''.join(draw.choices('東京a ', k=18)):18}\x1b[1;1H" for _ in range(4)]
        diff = ScreenDiff(erases=erases)
        assert draw_screen(*map(diff.reduce_frame, frames)) == draw_screen(*frames)


def test_half_covered_wide_character_is_sent_again() -> None:
    diff = ScreenDiff()
    diff.reduce_frame("\x1b[1;1H東京 one\x1b[1;1H")
    assert "x" in diff.reduce_frame("\x1b[1;4Hx\x1b[1;1H")
    assert "京" in diff.reduce_frame("\x1b[1;1H東京 one\x1b[1;1H")


def test_row_with_characters_of_doubtful_width_is_sent_completely() -> None:
    """A terminal that draws them wider or narrower has moved the rest of the row."""
    diff = ScreenDiff()
    diff.reduce_frame("\x1b[1;1H👩 e\u0301 list\x1b[1;20Hitem 1\x1b[1;1H")
    assert "item 1" in diff.reduce_frame("\x1b[1;20Hitem 1\x1b[1;1H")
    assert "item 2" in diff.reduce_frame("\x1b[1;20Hitem 2\x1b[1;1H")
    diff.reduce_frame(f"\x1b[1;1H{'list':25}\x1b[1;1H")
    assert diff.reduce_frame("\x1b[1;1Hlist\x1b[1;1H") == ""


def test_oversized_frame_is_followed_by_a_complete_frame() -> None:
    diff = ScreenDiff()
    diff.size = (20, 5)
    for larger in ("\x1b[6;1Hrow 6\x1b[1;1H", "\x1b[1;18Hlong\x1b[1;1H"):
        frame = "\x1b[1;1Hone\x1b[1;1H"
        diff.reduce_frame(frame)
        assert diff.reduce_frame(larger) == larger
        assert "one" in diff.reduce_frame(frame)


@pytest.mark.parametrize(
    "text",
    [
        "plain",
        "\x1b[1;1H\x1b[53moverlined\x1b[0m",
        "\x1b[1;1H\x1b[38;9mx",
        "\x1b[?1049h",
        "\x1b[1;1Ha\tb",
    ],
)
def test_other_output_is_unchanged_and_followed_by_a_complete_frame(text: str) -> None:
    diff = ScreenDiff()
    frame = "\x1b[1;1Hone\x1b[1;1H"
    diff.reduce_frame(frame)
    assert diff.reduce_frame(text) == text
    assert "one" in diff.reduce_frame(frame)


@pytest.mark.parametrize("text", ["\x1b[?2026h", "\x1b[?25l", "\x07"])
def test_modes_and_bell_change_no_cell(text: str) -> None:
    diff = ScreenDiff()
    frame = "\x1b[1;1Hone\x1b[1;1H"
    diff.reduce_frame(frame)
    assert diff.reduce_frame(text) == text
    assert diff.reduce_frame(frame) == ""
