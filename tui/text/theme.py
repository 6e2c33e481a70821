"""Provide symbols and styles by meaning. No meaning is expressed by colour alone.

Colours by meaning come from a Textual theme and are corrected until they are readable and distinct. Golden answers,
predicted calls, pass, fail and people each have a colour of their own. A colour of the theme is used for a meaning if
its hue fits. All texts reach a contrast of at least 4.5:1 (WCAG 2.1, level AA) on the background, on bars and on the
row under the cursor.

Environment variables: `NO_COLOR` (if not empty, only bold, reverse and underline are used), `FCREVIEW_THEME` (the name
of a theme), `FCREVIEW_ASCII` (`1` or `0` selects the symbol set), `TERM`, and the encoding of the locale (`LC_ALL`,
`LC_CTYPE`, `LANG`). `FCREVIEW_COLOURS` is the earlier name of `FCREVIEW_THEME`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from colorsys import hls_to_rgb, rgb_to_hls
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from rich.style import Style

MIN_CONTRAST = 4.5
HUES = {"golden": 38, "predicted": 195, "passed": 105, "failed": 350, "people": 275}
"""Preferred hue of each semantic colour, in degrees."""
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
    """Whether the colours are those of the terminal. There are no background colours then."""
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


def _tint_background(background: str, colour: str, text: str) -> str:
    """Mix as much of `colour` into the background as possible without making `text` unreadable."""
    tints = (_blend(background, colour, percent / 100) for percent in range(34, 0, -2))
    return next((tint for tint in tints if contrast(text, tint) >= MIN_CONTRAST), background)


def _choose_colour(meaning: str, candidates: list[str], *, is_dark: bool) -> str:
    """Return the candidate whose hue is closest to the meaning's preferred hue, or a new colour if none is close."""
    target = HUES[meaning]

    def hue_distance(colour: str) -> float:
        distance = abs(rgb_to_hls(*parse_hex(colour))[0] * 360 - target) % 360
        return min(distance, 360 - distance)

    fitting = [each for each in candidates if rgb_to_hls(*parse_hex(each))[2] >= MIN_SATURATION]
    best = min(fitting, key=hue_distance, default=None)
    if best is not None and hue_distance(best) <= HUE_TOLERANCE:
        return best
    return format_hex(hls_to_rgb(target / 360, 0.68 if is_dark else 0.35, 0.65))


def derive_palette(colours: Mapping[str, str], theme_meanings: Mapping[str, str], *, is_dark: bool) -> Palette:
    """Derive the palette of a theme.

    Args:
        colours: `#rrggbb` of `background`, `foreground`, `primary`, `secondary`, `accent`, `success`, `warning` and
            `error`.
        theme_meanings: Colours that the theme itself defines for meanings. The keys are keys of `HUES`.
    """
    background = colours["background"]
    bar = _blend(background, colours["foreground"], 0.09)
    cursor_row = _blend(background, colours["primary"], 0.16)

    def readable(colour: str) -> str:
        return _make_readable(colour, (background, bar, cursor_row), is_dark=is_dark)

    foreground = readable(colours["foreground"])
    candidates = [colours[key] for key in ("warning", "secondary", "accent", "success", "error", "primary")]
    meanings = {
        meaning: readable(theme_meanings.get(meaning) or _choose_colour(meaning, candidates, is_dark=is_dark))
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
        golden_difference=_tint_background(background, meanings["golden"], meanings["golden"]),
        predicted_difference=_tint_background(background, meanings["failed"], foreground),
        **meanings,
    )


def heat_colours(rate: float, palette: Palette) -> tuple[str, str]:
    """Return (text, background) of a heat cell. `rate`: from 0 (red) to 1 (green)."""
    lightness, saturation, text = (0.26, 0.42, "#f2f5ff") if palette.is_dark else (0.82, 0.6, "#15171f")
    return text, format_hex(hls_to_rgb(max(0.0, min(rate, 1.0)) * HEAT_HUE_RANGE, lightness, saturation))


BOLD, UNDERLINE = Style(bold=True), Style(underline=True)
HEAT = "heat:"
"""Prefix of the styles of heat cells. A percentage follows: `heat:72`."""


def build_styles(palette: Palette) -> Mapping[str, Style]:
    golden, predicted, passed, failed, people, primary = (
        Style(color=each)
        for each in (palette.golden, palette.predicted, palette.passed, palette.failed, palette.people, palette.primary)
    )
    ansi = palette.is_ansi
    dim = Style(dim=True) if ansi else Style(color=palette.dim)
    reverse = Style(reverse=True)

    def on(colour: str, background: str) -> Style:
        return Style(color=colour, bgcolor=background, bold=True)

    def badge(colour: str) -> Style:
        return Style(color=colour, bold=True, reverse=True) if ansi else on(palette.background, colour)

    return {
        "equal": dim,
        "normalised": dim,
        "differs": failed + BOLD,
        "missing": failed + BOLD,
        "extra": failed + BOLD,
        "pass": passed,
        "fail": failed,
        "unsure": BOLD,
        "disputed": people + BOLD,
        "golden": golden,
        "predicted": predicted,
        "people": people,
        "dim": dim,
        "note": Style(italic=True),
        "strong": BOLD,
        "head": dim,
        "good": passed,
        "bad": failed,
        "warn": BOLD,
        "diff": predicted + BOLD + reverse if ansi else on(palette.foreground, palette.predicted_difference),
        "golden_diff": golden + BOLD + reverse if ansi else on(palette.golden, palette.golden_difference),
        "near": predicted + UNDERLINE,
        "key": primary + BOLD,
        "primary": primary,
        "track": Style(color=palette.track),
        "match": BOLD + UNDERLINE,
        "cursor": reverse if ansi else Style(bgcolor=palette.cursor_row, bold=True),
        "cursor_mark": primary + BOLD,
        "bar": Style() if ansi else Style(bgcolor=palette.bar),
        "app": reverse + BOLD if ansi else on(palette.background, palette.primary),
        "pass_badge": badge(palette.passed),
        "fail_badge": badge(palette.failed),
        "unsure_badge": reverse + BOLD if ansi else on(palette.background, palette.foreground),
        "no_badge": dim if ansi else Style(color=palette.dim, bgcolor=palette.bar),
    }


COLOURLESS_STYLES: Mapping[str, Style] = {
    "differs": BOLD,
    "missing": BOLD,
    "extra": BOLD,
    "fail": BOLD,
    "unsure": UNDERLINE,
    "disputed": BOLD + UNDERLINE,
    "strong": BOLD,
    "head": BOLD,
    "bad": BOLD,
    "warn": UNDERLINE,
    "diff": BOLD + UNDERLINE,
    "golden_diff": BOLD + UNDERLINE,
    "near": UNDERLINE,
    "key": BOLD,
    "match": BOLD + UNDERLINE,
    "cursor": Style(reverse=True),
    "cursor_mark": BOLD,
    "app": Style(reverse=True),
    "pass_badge": Style(reverse=True),
    "fail_badge": Style(reverse=True, bold=True),
    "unsure_badge": Style(reverse=True),
}
"""Styles without colour, by meaning. A meaning that is not listed has no style."""


POOR_TERMINALS = ("linux", "vt100", "vt102", "vt220", "ansi", "cons25", "dumb")
"""Terminals whose fonts lack check marks and triangles."""
COLOURLESS_TERMINALS = ("dumb", "vt100", "vt102", "vt220")


@dataclass(frozen=True, slots=True)
class Symbols:
    """Set of symbols, each one cell wide."""

    passed: str = "✓"
    failed: str = "✗"
    unsure: str = "?"
    none: str = "–"
    disputed: str = "⇆"
    partial: str = "◐"
    stale: str = "↻"
    cursor: str = "▸"
    rule: str = "─"
    heavy_rule: str = "━"
    bar: str = "│"
    ellipsis: str = "…"
    folded: str = "▸"
    unfolded: str = "▾"
    arrow: str = "→"
    separator: str = "·"
    plus_minus: str = "±"
    visible_space: str = "␣"
    equal: str = "="
    equivalent: str = "~"
    differs: str = "≠"
    cursor_mark: str = "▌"
    filled: str = "━"
    track: str = "─"
    point: str = "●"
    official: str = "┃"
    """Mark of the official score on the scale of an interval."""
    path: str = "›"
    top_left: str = "╭"
    top_right: str = "╮"
    bottom_left: str = "╰"
    bottom_right: str = "╯"

    def annotator_symbol(self, value: Any, n_parts: int) -> str:
        """Return the symbol of an annotator's verdict, or `partial` if only parts of the item were reviewed."""
        return self.partial if value is None and n_parts else self.verdict_symbol(value)

    def verdict_symbol(self, value: Any) -> str:
        """Return the symbol of a verdict: True, False, "unsure", "disputed", a score, or None for no verdict."""
        if value is True:
            return self.passed
        if value is False:
            return self.failed
        if value is None:
            return self.none
        if value == "disputed":
            return self.disputed
        if isinstance(value, int):
            return str(value) if 0 <= value <= 9 else "+"
        return self.unsure


ASCII_SYMBOLS = Symbols(
    passed="P",
    failed="F",
    unsure="?",
    none="-",
    disputed="X",
    partial="o",
    stale="*",
    cursor=">",
    rule="-",
    heavy_rule="=",
    bar="|",
    ellipsis="~",
    folded="+",
    unfolded="-",
    arrow=">",
    separator="-",
    plus_minus="+/-",
    visible_space="_",
    differs="!",
    cursor_mark=">",
    filled="=",
    track="-",
    point="o",
    official="|",
    path=">",
    top_left="+",
    top_right="+",
    bottom_left="+",
    bottom_right="+",
)
UNICODE_SYMBOLS = Symbols()

_NO_STYLE = Style()


def prefers_ascii(env: Mapping[str, str]) -> bool:
    """Return whether to use the ASCII symbols: on request, on a terminal with a poor font, or in a non-UTF-8 locale.

    An unset locale does not count as non-UTF-8.
    """
    setting = env.get("FCREVIEW_ASCII", "").strip().lower()
    if setting:
        return setting not in ("0", "false", "no", "off")
    if env.get("TERM", "") in POOR_TERMINALS:
        return True
    locale = next((env[name] for name in ("LC_ALL", "LC_CTYPE", "LANG") if env.get(name)), "")
    language, _, encoding = locale.partition(".")
    if encoding:
        return encoding.partition("@")[0].lower().replace("-", "").replace("_", "") != "utf8"
    return language in ("C", "POSIX")


def is_colour_enabled(env: Mapping[str, str]) -> bool:
    return not env.get("NO_COLOR") and env.get("TERM", "") not in COLOURLESS_TERMINALS


_palette: Palette = ANSI_PALETTE


def set_palette(palette: Palette) -> None:
    """Use these colours for everything that is drawn from now on."""
    global _palette
    _palette = palette
    _styles.cache_clear()
    _heat_style.cache_clear()


@lru_cache(maxsize=1)
def symbols() -> Symbols:
    """Return the active symbol set."""
    return ASCII_SYMBOLS if prefers_ascii(os.environ) else UNICODE_SYMBOLS


@lru_cache(maxsize=1)
def _styles() -> Mapping[str, Style]:
    return build_styles(_palette) if is_colour_enabled(os.environ) else COLOURLESS_STYLES


@lru_cache(maxsize=128)
def _heat_style(percent: int) -> Style:
    if _palette.is_ansi or not is_colour_enabled(os.environ):
        return _NO_STYLE
    text, background = heat_colours(percent / 100, _palette)
    return Style(color=text, bgcolor=background)


def style(name: str) -> Style:
    """Return the Rich style of a meaning such as `fail` or `heat:72`, or no style for an unknown or empty name."""
    if name.startswith(HEAT):
        return _heat_style(int(name.removeprefix(HEAT)))
    return _styles().get(name, _NO_STYLE)


def verdict_style(value: Any) -> str:
    if value is True:
        return "pass"
    if value is False:
        return "fail"
    if value is None:
        return "dim"
    return "disputed" if value == "disputed" else "unsure"


STATE_STYLES = {"=": "equal", "~": "normalised", "!": "differs", "-": "missing", "+": "extra", " ": "dim"}
"""Style names by the state of an argument: equal, equivalent, different, missing or unexpected."""


def clear_caches() -> None:
    """Clear the cached symbols and styles, so that a changed environment takes effect, as in tests."""
    symbols.cache_clear()
    _styles.cache_clear()
    _heat_style.cache_clear()
