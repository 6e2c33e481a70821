"""The compact output draws the same screen with fewer bytes."""

from __future__ import annotations

import random

import pyte
import pytest

from fcreview.tui.terminal_output import compact_styles


def screen_of(*outputs: str) -> list[list[tuple[object, ...]]]:
    screen = pyte.Screen(40, 6)
    stream = pyte.Stream(screen)
    for output in outputs:
        stream.feed(output)
    return [[tuple(screen.buffer[y][x]) for x in range(40)] for y in range(6)]


def random_output(seed: int) -> str:
    draw = random.Random(seed)
    codes = ["1", "3", "4", "7", "31", "44", "97", "38;5;114", "48;5;20", "38;2;1;2;3", "48;2;200;100;50", "0", ""]
    parts = []
    for _ in range(draw.randint(1, 60)):
        parts.append(f"\x1b[{';'.join(draw.choices(codes, k=draw.randint(1, 3)))}m")
        parts.append(draw.choice(["x", "  ", "\x1b[3;7H", "\x1b[H", "abc\r\n", "", "\x1b[0m"]))
    return "".join(parts) + "\x1b[0m"


@pytest.mark.parametrize("seed", range(200))
def test_the_screen_is_the_same(seed: int) -> None:
    frames = [random_output(seed), random_output(seed + 10_000)]
    compact = [compact_styles(frame) for frame in frames]
    assert screen_of(*compact) == screen_of(*frames)


def test_only_what_changes_is_sent() -> None:
    text = "\x1b[38;2;1;2;3;48;2;4;5;6mone\x1b[0m\x1b[1;38;2;1;2;3;48;2;4;5;6mtwo\x1b[0m"
    assert compact_styles(text) == "\x1b[0m\x1b[38;2;1;2;3;48;2;4;5;6mone\x1b[1mtwo\x1b[0m"


@pytest.mark.parametrize("text", ["plain", "\x1b[53moverlined\x1b[0m", "\x1b[38;9mx"])
def test_unknown_sequences_are_left_alone(text: str) -> None:
    assert compact_styles(text) == text
