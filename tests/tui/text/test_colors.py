"""Sets of colours: what can be read on which background, and by whom told apart."""

from __future__ import annotations

from itertools import combinations

import pytest
from rich.color import Color

from fcreview.tui.text import theme
from fcreview.tui.text.theme import COLOUR_SETS, COLOURLESS_STYLES, TERMINAL_COLOURS, build_styles

BLACK, DARK, WHITE = (0, 0, 0), (30, 30, 30), (255, 255, 255)
RGB = tuple[float, ...]
PROTANOPIA = ((0.152, 1.053, -0.205), (0.115, 0.786, 0.099), (-0.004, -0.048, 1.052))
DEUTERANOPIA = ((0.367, 0.861, -0.228), (0.280, 0.673, 0.047), (-0.012, 0.043, 0.969))
"""What is left of linear red, green and blue: Machado, Oliveira and Fernandes 2009, severity 1."""


def rgb(colour: str) -> tuple[int, int, int]:
    return tuple(Color.parse(colour).get_truecolor())


def linear(colour: RGB) -> RGB:
    return tuple(
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in (c / 255 for c in colour)
    )


def contrast(one: RGB, other: RGB) -> float:
    """As WCAG 2 counts it, 1 to 21."""
    light, dark = sorted(
        (sum(w * p for w, p in zip((0.2126, 0.7152, 0.0722), linear(each), strict=True)) for each in (one, other)),
        reverse=True,
    )
    return (light + 0.05) / (dark + 0.05)


def lab(colour: RGB, seen: tuple[RGB, ...] | None = None) -> RGB:
    """CIE L*a*b* of what an eye sees of it."""
    of = linear(colour)
    if seen:
        of = tuple(min(1.0, max(0.0, sum(w * p for w, p in zip(row, of, strict=True)))) for row in seen)
    to_xyz = ((0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505))
    x, y, z = (
        (t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116)
        for t in (
            sum(w * p for w, p in zip(row, of, strict=True)) / white
            for row, white in zip(to_xyz, (0.9505, 1.0, 1.089), strict=True)
        )
    )
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def apart(one: str, other: str, seen: tuple[RGB, ...] | None = None) -> float:
    return sum((a - b) ** 2 for a, b in zip(lab(rgb(one), seen), lab(rgb(other), seen), strict=True)) ** 0.5


def colours_of(name: str) -> list[str]:
    of = COLOUR_SETS[name]
    return [of.good, of.bad, of.warning, of.dispute, of.accent]


@pytest.mark.parametrize(
    ("name", "ground", "least"),
    [
        ("dark", BLACK, 7),
        ("dark", DARK, 6),
        ("light", WHITE, 4.5),
        ("safe", BLACK, 4.5),
        ("safe", DARK, 3),
        ("safe", WHITE, 3),
    ],
)
def test_every_colour_of_a_set_can_be_read_on_its_ground(name: str, ground: RGB, least: float) -> None:
    assert {
        each: round(contrast(rgb(each), ground), 1) for each in colours_of(name) if contrast(rgb(each), ground) < least
    } == {}


@pytest.mark.parametrize("seen", [None, PROTANOPIA, DEUTERANOPIA])
def test_the_safe_set_tells_pass_from_fail_in_every_eye(seen: tuple[RGB, ...] | None) -> None:
    of = COLOUR_SETS["safe"]
    assert apart(of.good, of.bad, seen) > 60
    assert min(apart(one, other, seen) for one, other in combinations((of.good, of.bad, of.dispute), 2)) > 50


def test_the_measure_sees_what_it_is_to_see() -> None:
    """Red and green of equal brightness are far apart, and near each other in an eye without one of the cones."""
    assert apart("rgb(200,60,60)", "rgb(110,120,40)") > 60
    assert apart("rgb(200,60,60)", "rgb(110,120,40)", PROTANOPIA) < 30


def test_every_set_draws_the_same_meanings_and_what_is_plain_has_no_colour() -> None:
    assert len({frozenset(build_styles(name)) for name in COLOUR_SETS}) == 1
    assert set(COLOURLESS_STYLES) <= set(build_styles(TERMINAL_COLOURS))
    assert all(style.color is None and style.bgcolor is None for style in COLOURLESS_STYLES.values())


def test_the_environment_goes_before_what_was_configured(monkeypatch: pytest.MonkeyPatch) -> None:
    def now() -> str | None:
        theme.set_colours("light")
        colour = theme.style("pass").color
        theme.set_colours(TERMINAL_COLOURS)
        return colour.name if colour else None

    assert now() == "color(28)"
    monkeypatch.setenv("FCREVIEW_COLOURS", "Safe")
    assert now() == "color(33)"
    monkeypatch.setenv("FCREVIEW_COLOURS", "no such set")
    assert now() == "color(28)"
    monkeypatch.setenv("NO_COLOR", "1")
    assert now() is None
