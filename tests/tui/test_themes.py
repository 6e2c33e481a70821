"""Texts of all themes are readable, and the five meanings have different colours."""

from __future__ import annotations

from itertools import combinations

import pytest
from textual.content import Content
from textual.style import Style

from fcreview.tui.screens.command_palette import FuzzyMatch, PaletteCommand
from fcreview.tui.text import styles
from fcreview.tui.text.styles import (
    ANSI_PALETTE,
    COLOURLESS_STYLES,
    RGB,
    build_styles,
    make_heat_colours,
)
from fcreview.tui.themes import (
    ANSI_THEMES,
    FCREVIEW_SAFE,
    MIN_CONTRAST,
    OLD_NAMES,
    build_css_variables,
    build_palette,
    choose_theme_name,
    list_theme_names,
    measure_contrast,
    parse_hex,
    resolve_theme_name,
)

THEMES = [name for name in list_theme_names() if name not in ANSI_THEMES]
MEANINGS = ("golden", "predicted", "passed", "failed", "people")
PROTANOPIA = ((0.152, 1.053, -0.205), (0.115, 0.786, 0.099), (-0.004, -0.048, 1.052))
DEUTERANOPIA = ((0.367, 0.861, -0.228), (0.280, 0.673, 0.047), (-0.012, 0.043, 0.969))
"""Matrix for linear red, green and blue as seen with a colour deficiency: Machado, Oliveira and
Fernandes 2009, severity 1.
"""


def lab_coordinates(colour: str, eye: tuple[RGB, ...] | None = None) -> RGB:
    """Return the CIE L*a*b* coordinates of a colour."""
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in parse_hex(colour)
    ]
    if eye:
        linear = [
            min(1.0, max(0.0, sum(w * p for w, p in zip(row, linear, strict=True)))) for row in eye
        ]
    to_xyz = ((0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505))
    x, y, z = (
        (t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116)
        for t in (
            sum(w * p for w, p in zip(row, linear, strict=True)) / white
            for row, white in zip(to_xyz, (0.9505, 1.0, 1.089), strict=True)
        )
    )
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def distance(one: str, other: str, eye: tuple[RGB, ...] | None = None) -> float:
    """Return the CIE 1976 colour difference. About 2 is just noticeable."""
    return (
        sum(
            (a - b) ** 2
            for a, b in zip(lab_coordinates(one, eye), lab_coordinates(other, eye), strict=True)
        )
        ** 0.5
    )


@pytest.mark.parametrize("name", THEMES)
def test_all_texts_are_readable(name: str) -> None:
    palette = build_palette(name)
    texts = (*MEANINGS, "foreground", "dim", "primary")
    backgrounds = (palette.background, palette.bar, palette.cursor_row)
    faint = {
        text: round(worst, 2)
        for text in texts
        if (worst := min(measure_contrast(getattr(palette, text), each) for each in backgrounds))
        < MIN_CONTRAST
    }
    assert faint == {}
    drawn = build_css_variables(name)
    assert {each: drawn[each] for each in ("foreground", "dim")} == {
        each: getattr(palette, each) for each in ("foreground", "dim")
    }, "other texts, and facts in borders"
    assert measure_contrast(palette.golden, palette.golden_difference) >= MIN_CONTRAST
    assert measure_contrast(palette.foreground, palette.predicted_difference) >= MIN_CONTRAST
    assert (
        min(measure_contrast(*make_heat_colours(percent / 100, palette)) for percent in range(101))
        >= MIN_CONTRAST
    )


@pytest.mark.parametrize("name", THEMES)
def test_meanings_have_different_colours(name: str) -> None:
    palette = build_palette(name)
    for one, other in combinations(MEANINGS, 2):
        assert distance(getattr(palette, one), getattr(palette, other)) > 20, (one, other)


def test_meanings_have_different_ansi_colours() -> None:
    for name in ANSI_THEMES:
        palette = build_palette(name)
        assert (
            len({getattr(palette, each) for each in (*MEANINGS, "primary", "foreground")})
            == len(MEANINGS) + 2
        )


@pytest.mark.parametrize("eye", [None, PROTANOPIA, DEUTERANOPIA])
def test_safe_theme_separates_pass_and_fail_for_colour_deficiencies(
    eye: tuple[RGB, ...] | None,
) -> None:
    safe = build_palette(FCREVIEW_SAFE.name)
    assert distance(safe.passed, safe.failed, eye) > 60


def test_distance_depends_on_colour_deficiency() -> None:
    assert distance("#c83c3c", "#6e7828") > 60
    assert distance("#c83c3c", "#6e7828", PROTANOPIA) < 30


def test_all_palettes_style_the_same_meanings() -> None:
    names = set(build_styles(ANSI_PALETTE))
    assert all(set(build_styles(build_palette(each))) == names for each in THEMES)
    assert set(COLOURLESS_STYLES) <= names
    assert all(
        style.color is None and style.bgcolor is None for style in COLOURLESS_STYLES.values()
    )
    assert {frozenset(build_css_variables(each)) for each in list_theme_names()} == {
        frozenset(build_css_variables("nord"))
    }


@pytest.mark.parametrize(
    ("env", "chosen", "n_colours", "name"),
    [
        ({}, None, 1 << 24, "fcreview-dark"),
        ({}, None, 256, "fcreview-dark"),
        ({}, None, 16, "ansi-dark"),
        ({}, "nord", 256, "nord"),
        ({"FCREVIEW_COLOURS": "Safe"}, "nord", 256, "fcreview-safe"),
        ({"FCREVIEW_THEME": "dracula", "FCREVIEW_COLOURS": "safe"}, "nord", 256, "dracula"),
        ({"FCREVIEW_THEME": "no such theme"}, "nord", 256, "nord"),
        ({"NO_COLOR": "1", "FCREVIEW_THEME": "dracula"}, "nord", 256, "ansi-dark"),
    ],
)
def test_environment_precedes_configuration(
    env: dict[str, str], chosen: str | None, n_colours: int, name: str
) -> None:
    assert choose_theme_name(env, chosen, n_colours) == name


def test_old_colour_names_are_themes() -> None:
    assert {old: resolve_theme_name(old) for old in OLD_NAMES} == OLD_NAMES
    assert resolve_theme_name("pink") is None


def test_heat_cells_go_from_red_to_green() -> None:
    styles.set_palette(build_palette("fcreview-dark"))
    cold, hot = (styles.get_style(f"heat:{percent}").bgcolor for percent in (0, 100))
    assert (
        cold is not None
        and hot is not None
        and cold.triplet is not None
        and hot.triplet is not None
    )
    assert cold.triplet.red > cold.triplet.green and hot.triplet.green > hot.triplet.red
    styles.set_palette(ANSI_PALETTE)
    assert styles.get_style("heat:50").bgcolor is None


def test_secondary_palette_text_has_the_dim_colour() -> None:
    styles.set_palette(build_palette("solarized-light"))
    prompt = (
        PaletteCommand("order", "failures", lambda: None, "help")
        .to_search_hit(1, FuzzyMatch(1), Style())
        .prompt
    )
    styles.set_palette(build_palette("fcreview-dark"))
    dim = build_css_variables("solarized-light")["dim"]
    assert isinstance(prompt, Content) and [span.style for span in prompt.spans] == [
        dim,
        "bold",
        dim,
    ]
