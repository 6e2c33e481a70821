"""List the themes of fcreview and of Textual, choose the theme to start with, and make its colours
readable.

Golden answers, predicted calls, pass, fail and people each have a colour: a colour of the theme
with a suitable hue, or else a new one. The contrast of all texts is at least 4.5:1 (WCAG 2.1, level
AA) on the background, on bars and on the row under the cursor.

Users choose a theme with `FCREVIEW_THEME` (earlier `FCREVIEW_COLOURS`), with `:theme` in the app,
or with the setting `theme`.
"""

from __future__ import annotations

from collections.abc import Mapping
from colorsys import hls_to_rgb, rgb_to_hls
from dataclasses import replace
from functools import lru_cache

from textual.theme import BUILTIN_THEMES, Theme

from fcreview.tui.text.styles import ANSI_PALETTE, RGB, Palette, format_hex, is_colour_enabled

MIN_CONTRAST = 4.5
HUES = {"golden": 38, "predicted": 195, "passed": 105, "failed": 350, "people": 275}
"""Preferred hue of each meaning, in degrees."""
HUE_TOLERANCE = 17
"""Largest difference, in degrees, between the preferred hue of a meaning and the hue of the
theme colour for it.
"""
BAR_SHARE = 0.09
CURSOR_ROW_SHARE = 0.16
TRACK_SHARE = 0.2
"""Shares, from 0 to 1, of another colour in the backgrounds of bars, of the cursor's row and of the
empty part of drawn bars.
"""
DIM_SHARE = 0.4
"""Share of the background in dim text, as long as that is readable."""
MAX_TINT_PERCENT = 34
"""Largest share of a meaning's colour in the background of a difference."""
MIN_SATURATION = 0.35
"""Minimum saturation (HLS, 0 to 1) of a theme colour for a meaning.

Less saturated colours look grey.
"""
CORRECTED_SATURATION = 0.75
"""Minimum saturation of a coloured text that was made lighter or darker, so that it does not
look grey.
"""

FCREVIEW_DARK = Theme(
    name="fcreview-dark",
    dark=True,
    primary="#7aa2f7",
    secondary="#7dcfff",
    accent="#bb9af7",
    foreground="#c8d0e8",
    background="#14161f",
    surface="#1a1d29",
    panel="#232738",
    success="#9ece6a",
    warning="#e0af68",
    error="#f7768e",
    variables={"border": "#3b4261"},
)
FCREVIEW_LIGHT = Theme(
    name="fcreview-light",
    dark=False,
    primary="#2f56c0",
    secondary="#0a6f96",
    accent="#7a3fc0",
    foreground="#23283b",
    background="#fafbfe",
    surface="#f1f3f9",
    panel="#e4e8f2",
    success="#3a7514",
    warning="#8a5a00",
    error="#bf2344",
    variables={"border": "#b4bbd0"},
)
FCREVIEW_SAFE = Theme(
    name="fcreview-safe",
    dark=True,
    primary="#8fb4ff",
    foreground="#d5daf0",
    background="#14161f",
    variables={
        "border": "#3b4261",
        "golden": "#f0e442",
        "predicted": "#b7e3ff",
        "passed": "#3d9be9",
        "failed": "#f0803c",
        "people": "#d98cb8",
    },
)
"""Theme for colour-blind users: blue for pass and orange for fail."""
OWN_THEMES = (FCREVIEW_DARK, FCREVIEW_LIGHT, FCREVIEW_SAFE)
ANSI_THEMES = ("ansi-dark", "ansi-light")
"""Themes that use the 16 colours of the terminal."""
OLD_NAMES = {
    "terminal": "ansi-dark",
    "dark": FCREVIEW_DARK.name,
    "light": FCREVIEW_LIGHT.name,
    "safe": FCREVIEW_SAFE.name,
}
"""Theme for each value of the setting `colours`, which existed before themes."""


def list_theme_names() -> list[str]:
    """Return the names of all themes, the default first."""
    return [*(theme.name for theme in OWN_THEMES), *BUILTIN_THEMES]


def parse_hex(colour: str) -> RGB:
    """Parse `#rrggbb` to red, green and blue, each from 0 to 1."""
    return int(colour[1:3], 16) / 255, int(colour[3:5], 16) / 255, int(colour[5:7], 16) / 255


def measure_contrast(first: str, second: str) -> float:
    """Return the contrast ratio of two colours `#rrggbb`, from 1 to 21 (WCAG 2.1)."""
    light, dark = sorted(
        (_measure_luminance(parse_hex(each)) for each in (first, second)), reverse=True
    )
    return (light + 0.05) / (dark + 0.05)


def _measure_luminance(colour: RGB) -> float:
    """Return the relative luminance of a colour (WCAG 2.1), from 0 to 1."""
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _blend(colour: str, other: str, other_share: float) -> str:
    pairs = zip(parse_hex(colour), parse_hex(other), strict=True)
    return format_hex(tuple(a + (b - a) * other_share for a, b in pairs))  # type: ignore[arg-type]


def _make_readable(colour: str, backgrounds: tuple[str, ...], *, is_dark: bool) -> str:
    """Make a text colour lighter (darker on a light theme) until it is readable.

    It is readable if its contrast suffices on all backgrounds.
    """
    hue, lightness, saturation = rgb_to_hls(*parse_hex(colour))
    if saturation >= MIN_SATURATION:
        # A colour seems paler when it becomes lighter or darker.
        saturation = max(saturation, CORRECTED_SATURATION)

    step = 0.01 if is_dark else -0.01
    readable = colour
    while min(measure_contrast(readable, each) for each in backgrounds) < MIN_CONTRAST:
        lightness += step
        is_possible = 0 < lightness < 1
        if not is_possible:
            break
        readable = format_hex(hls_to_rgb(hue, lightness, saturation))
    return readable


def _tint_background(background: str, tint: str, text: str) -> str:
    """Mix as much of the colour `tint` into the background as possible while texts of colour
    `text` stay readable.
    """
    for percent in range(MAX_TINT_PERCENT, 0, -2):
        mixture = _blend(background, tint, percent / 100)
        if measure_contrast(text, mixture) >= MIN_CONTRAST:
            return mixture
    return background


def _choose_meaning_colour(meaning: str, candidates: list[str], *, is_dark: bool) -> str:
    """Return a colour for a meaning such as `passed`, which has a preferred hue (green).

    It is the candidate with the closest hue, or a new colour if none is close.
    """
    preferred_hue = HUES[meaning]

    def measure_hue_distance(colour: str) -> float:
        hue, _, _ = rgb_to_hls(*parse_hex(colour))
        # Hues are angles, so 350° and 10° are 20° apart.
        distance = abs(hue * 360 - preferred_hue) % 360
        return min(distance, 360 - distance)

    colourful_candidates = []
    for candidate in candidates:
        _, _, saturation = rgb_to_hls(*parse_hex(candidate))
        if saturation >= MIN_SATURATION:
            colourful_candidates.append(candidate)

    closest = min(colourful_candidates, key=measure_hue_distance, default=None)
    if closest is not None and measure_hue_distance(closest) <= HUE_TOLERANCE:
        return closest
    # The caller corrects the lightness if the colour is not readable on the backgrounds.
    lightness = 0.68 if is_dark else 0.35
    saturation = 0.65
    return format_hex(hls_to_rgb(preferred_hue / 360, lightness, saturation))


def derive_palette(
    colours: Mapping[str, str], colour_by_meaning: Mapping[str, str], *, is_dark: bool
) -> Palette:
    """Make a palette from the colours of a theme.

    Args:
        colours: `#rrggbb` of `background`, `foreground`, `primary`, `secondary`, `accent`,
            `success`, `warning` and `error`.
        colour_by_meaning: Colours that the theme itself defines for meanings. The keys are keys of
            `HUES`.
    """
    background = colours["background"]
    bar = _blend(background, colours["foreground"], BAR_SHARE)
    cursor_row = _blend(background, colours["primary"], CURSOR_ROW_SHARE)

    def make_readable(colour: str) -> str:
        return _make_readable(colour, (background, bar, cursor_row), is_dark=is_dark)

    chosen_colours = _choose_meaning_colours(colours, colour_by_meaning, is_dark=is_dark)
    meanings = {meaning: make_readable(colour) for meaning, colour in chosen_colours.items()}
    foreground = make_readable(colours["foreground"])
    return Palette(
        is_ansi=False,
        is_dark=is_dark,
        background=background,
        bar=bar,
        cursor_row=cursor_row,
        foreground=foreground,
        dim=make_readable(_blend(foreground, background, DIM_SHARE)),
        track=_blend(background, foreground, TRACK_SHARE),
        primary=make_readable(colours["primary"]),
        golden_difference=_tint_background(background, meanings["golden"], meanings["golden"]),
        predicted_difference=_tint_background(background, meanings["failed"], foreground),
        **meanings,
    )


def _choose_meaning_colours(
    colours: Mapping[str, str], colour_by_meaning: Mapping[str, str], *, is_dark: bool
) -> dict[str, str]:
    """Return a colour for each meaning: the one that the theme defines for it, else a fitting
    colour of the theme.
    """
    candidate_names = ("warning", "secondary", "accent", "success", "error", "primary")
    candidates = [colours[name] for name in candidate_names]
    chosen = {}
    for meaning in HUES:
        colour = colour_by_meaning.get(meaning)
        chosen[meaning] = colour or _choose_meaning_colour(meaning, candidates, is_dark=is_dark)
    return chosen


@lru_cache(maxsize=64)
def build_palette(theme_name: str) -> Palette:
    """Return the palette of a theme. Raises: KeyError if no theme has this name."""
    if theme_name == "ansi-dark":
        return ANSI_PALETTE
    if theme_name in ANSI_THEMES:
        return replace(ANSI_PALETTE, is_dark=False, primary="blue")

    theme = _find_theme(theme_name)
    # A colour may end with its opacity, which the palette does not use.
    generated = theme.to_color_system().generate()
    colours = {name: colour[: len("#rrggbb")] for name, colour in generated.items()}
    own_colours = {name: colour for name, colour in theme.variables.items() if name in HUES}
    return derive_palette(colours, own_colours, is_dark=theme.dark)


def _find_theme(name: str) -> Theme:
    for theme in OWN_THEMES:
        if theme.name == name:
            return theme
    return BUILTIN_THEMES[name]


def build_css_variables(theme_name: str) -> dict[str, str]:
    """Return the CSS variables of a theme by name, such as `golden`.

    They override Textual's variables. Colours of the terminal have other names in CSS than in the
    palette.
    """
    palette = build_palette(theme_name)
    names = ["golden", "predicted", "passed", "failed", "people", "bar"]
    if palette.is_ansi:
        variables = {name: f"ansi_{getattr(palette, name)}" for name in names}
        variables["foreground"] = "ansi_default"
        variables["dim"] = "ansi_bright_black"
        variables["focus"] = f"ansi_{palette.primary}"
        variables["border"] = "ansi_bright_black"
        return variables

    variables = {name: getattr(palette, name) for name in [*names, "foreground", "dim"]}
    variables["focus"] = palette.primary
    variables["border"] = palette.track
    return variables


def resolve_theme_name(name: str) -> str | None:
    """Return the current name of a theme from a current or earlier name such as `dark`.

    None if it is unknown.
    """
    name = name.strip().lower()
    name = OLD_NAMES.get(name, name)
    return name if name in list_theme_names() else None


def choose_theme_name(
    env: Mapping[str, str], preferred: str | None, n_terminal_colours: int
) -> str:
    """Return the name of the theme to start with.

    Environment variables come before the user's choice. An unknown name is ignored.

    Args:
        preferred: Name of the theme that the user chose or the configuration sets.
        n_terminal_colours: Number of colours of the terminal. With 16, a theme with the terminal's
            colours is chosen.
    """
    if not is_colour_enabled(env):
        return ANSI_THEMES[0]

    names = [env.get("FCREVIEW_THEME", ""), env.get("FCREVIEW_COLOURS", ""), preferred or ""]
    for name in names:
        theme = resolve_theme_name(name)
        if theme:
            return theme
    return FCREVIEW_DARK.name if n_terminal_colours > 16 else ANSI_THEMES[0]
