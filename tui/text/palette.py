"""Derive colours by meaning from a Textual theme, and correct them until they are readable and distinct.

Five meanings have a colour of their own: golden answers, predicted calls, pass, fail and people. A colour of the theme
is used for a meaning if its hue fits. All texts reach a contrast of at least 4.5:1 (WCAG 2.1, level AA) on the
background, on bars and on the row under the cursor.
"""

from __future__ import annotations

from collections.abc import Mapping
from colorsys import hls_to_rgb, rgb_to_hls
from dataclasses import dataclass

MIN_CONTRAST = 4.5
HUES = {"golden": 38, "predicted": 195, "passed": 105, "failed": 350, "people": 275}
"""Preferred hue of each meaning, in degrees."""
HUE_TOLERANCE = 17
"""Largest difference, in degrees, between the preferred hue of a meaning and the hue of a theme colour used for it."""
MIN_SATURATION = 0.35
"""Minimum saturation (HLS, 0 to 1) of a theme's colour that is used for a meaning. Less saturated colours look grey."""
CORRECTED_SATURATION = 0.75
"""Saturation of a colour that was made lighter or darker, so that it does not fade."""
HEAT_HUE_RANGE = 0.32
"""Hue (0 to 1) of a rate of 100 %. A rate of 0 % has hue 0, red."""


@dataclass(frozen=True, slots=True)
class Palette:
    """Colours of one theme, as Rich names them (`#rrggbb`, or names of the terminal's 16 colours)."""

    is_ansi: bool
    """Whether the colours are those of the terminal. Then there are no background colours."""
    is_dark: bool
    background: str
    bar: str
    """Background of the top line and the key line."""
    cursor_row: str
    """Background of the row under the cursor."""
    foreground: str
    dim: str
    track: str
    """Colour of the unfilled part of a bar."""
    primary: str
    """Colour of focus, keys and progress."""
    golden: str
    predicted: str
    passed: str
    failed: str
    people: str
    golden_difference: str
    """Background of differing characters in a golden answer."""
    predicted_difference: str


ANSI_PALETTE = Palette(
    is_ansi=True,
    is_dark=True,
    background="default",
    bar="default",
    cursor_row="default",
    foreground="default",
    dim="default",
    track="bright_black",
    primary="bright_blue",
    golden="yellow",
    predicted="cyan",
    passed="green",
    failed="red",
    people="magenta",
    golden_difference="default",
    predicted_difference="default",
)

RGB = tuple[float, float, float]


def parse_hex(colour: str) -> RGB:
    """Parse `#rrggbb` to parts from 0 to 1."""
    return int(colour[1:3], 16) / 255, int(colour[3:5], 16) / 255, int(colour[5:7], 16) / 255


def format_hex(colour: RGB) -> str:
    return "#" + "".join(f"{round(max(0.0, min(part, 1.0)) * 255):02x}" for part in colour)


def contrast(first: str, second: str) -> float:
    """Return the contrast ratio of two colours `#rrggbb`, from 1 to 21 (WCAG 2.1)."""
    light, dark = sorted((_luminance(parse_hex(each)) for each in (first, second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: RGB) -> float:
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _blend(colour: str, other: str, share: float) -> str:
    pairs = zip(parse_hex(colour), parse_hex(other), strict=True)
    return format_hex(tuple(a + (b - a) * share for a, b in pairs))  # type: ignore[arg-type]


def _make_readable(colour: str, backgrounds: tuple[str, ...], *, is_dark: bool) -> str:
    """Make a colour lighter (darker on a light theme) until its contrast suffices on all backgrounds."""
    hue, lightness, saturation = rgb_to_hls(*parse_hex(colour))
    if saturation >= MIN_SATURATION:
        saturation = max(saturation, CORRECTED_SATURATION)
    step = 0.01 if is_dark else -0.01
    while min(contrast(colour, each) for each in backgrounds) < MIN_CONTRAST and 0 < lightness + step < 1:
        lightness += step
        colour = format_hex(hls_to_rgb(hue, lightness, saturation))
    return colour


def _tint(background: str, colour: str, text: str) -> str:
    """Mix as much of `colour` into the background as possible without making `text` unreadable."""
    tints = (_blend(background, colour, percent / 100) for percent in range(34, 0, -2))
    return next((tint for tint in tints if contrast(text, tint) >= MIN_CONTRAST), background)


def _choose_colour(meaning: str, candidates: list[str], *, is_dark: bool) -> str:
    """Return the candidate whose hue is the closest to that of the meaning, or a new colour if none is close."""
    target = HUES[meaning]

    def hue_distance(colour: str) -> float:
        distance = abs(rgb_to_hls(*parse_hex(colour))[0] * 360 - target) % 360
        return min(distance, 360 - distance)

    fitting = [each for each in candidates if rgb_to_hls(*parse_hex(each))[2] >= MIN_SATURATION]
    best = min(fitting, key=hue_distance, default=None)
    if best is not None and hue_distance(best) <= HUE_TOLERANCE:
        return best
    return format_hex(hls_to_rgb(target / 360, 0.68 if is_dark else 0.35, 0.65))


def derive_palette(colours: Mapping[str, str], chosen: Mapping[str, str], *, is_dark: bool) -> Palette:
    """Derive the palette of a theme.

    Args:
        colours: `#rrggbb` of `background`, `foreground`, `primary`, `secondary`, `accent`, `success`, `warning` and
            `error`.
        chosen: Colours that the theme itself defines for meanings. The keys are keys of `HUES`.
    """
    background = colours["background"]
    bar = _blend(background, colours["foreground"], 0.09)
    cursor_row = _blend(background, colours["primary"], 0.16)

    def readable(colour: str) -> str:
        return _make_readable(colour, (background, bar, cursor_row), is_dark=is_dark)

    foreground = readable(colours["foreground"])
    candidates = [colours[key] for key in ("warning", "secondary", "accent", "success", "error", "primary")]
    meanings = {
        meaning: readable(chosen.get(meaning) or _choose_colour(meaning, candidates, is_dark=is_dark))
        for meaning in HUES
    }
    return Palette(
        is_ansi=False,
        is_dark=is_dark,
        background=background,
        bar=bar,
        cursor_row=cursor_row,
        foreground=foreground,
        dim=readable(_blend(foreground, background, 0.4)),
        track=_blend(background, foreground, 0.2),
        primary=readable(colours["primary"]),
        golden_difference=_tint(background, meanings["golden"], meanings["golden"]),
        predicted_difference=_tint(background, meanings["failed"], foreground),
        **meanings,
    )


def heat_colours(rate: float, palette: Palette) -> tuple[str, str]:
    """Return (text, background) of a heat cell. `rate`: from 0 (red) to 1 (green)."""
    lightness, saturation, text = (0.26, 0.42, "#f2f5ff") if palette.is_dark else (0.82, 0.6, "#15171f")
    return text, format_hex(hls_to_rgb(max(0.0, min(rate, 1.0)) * HEAT_HUE_RANGE, lightness, saturation))
