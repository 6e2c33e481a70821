"""Provide the symbol and the Rich style of each meaning. Colour alone never expresses a meaning.

`fcreview.tui.themes` makes the colours from a theme.

Environment variables: `NO_COLOR` (if not empty, styles are only bold, reverse and underlined),
`FCREVIEW_ASCII` (`1` or `0` selects the symbol set), `TERM`, and the encoding of the locale
(`LC_ALL`, `LC_CTYPE`, `LANG`).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from colorsys import hls_to_rgb
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from rich.style import Style

HEAT_HUE_RANGE = 0.32
"""Hue (0 to 1) of a rate of 100 %. A rate of 0 % has hue 0, red."""


@dataclass(frozen=True, slots=True)
class Palette:
    """Colours of one theme, as Rich names them (`#rrggbb`, or names of the terminal's 16
    colours).
    """

    is_ansi: bool
    """Whether the palette consists of the terminal's 16 colours.

    It then has no background colours.
    """
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
    """Background of characters in a golden answer that differ from the predicted call."""
    predicted_difference: str
    """Background of characters in a predicted call that differ from the golden answer."""


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


def format_hex(colour: RGB) -> str:
    """Format red, green and blue (0 to 1) as `#rrggbb`."""
    return "#" + "".join(f"{round(max(0.0, min(part, 1.0)) * 255):02x}" for part in colour)


def make_heat_colours(rate: float, palette: Palette) -> tuple[str, str]:
    """Return (text colour, background colour) of a heat cell. `rate`: from 0 (red) to 1 (green)."""
    lightness, saturation, text = (
        (0.26, 0.42, "#f2f5ff") if palette.is_dark else (0.82, 0.6, "#15171f")
    )
    return text, format_hex(
        hls_to_rgb(max(0.0, min(rate, 1.0)) * HEAT_HUE_RANGE, lightness, saturation)
    )


BOLD, UNDERLINE = Style(bold=True), Style(underline=True)
HEAT = "heat:"
"""Prefix of the style names of heat cells. A percentage follows: `heat:72`."""


def build_styles(palette: Palette) -> Mapping[str, Style]:
    """Return the style of each meaning, except heat cells."""
    golden, predicted, passed, failed, people, primary = (
        Style(color=each)
        for each in (
            palette.golden,
            palette.predicted,
            palette.passed,
            palette.failed,
            palette.people,
            palette.primary,
        )
    )
    ansi = palette.is_ansi
    dim = Style(dim=True) if ansi else Style(color=palette.dim)
    reverse = Style(reverse=True)

    def make_bold(colour: str, background: str) -> Style:
        return Style(color=colour, bgcolor=background, bold=True)

    def make_badge(colour: str) -> Style:
        return (
            Style(color=colour, bold=True, reverse=True)
            if ansi
            else make_bold(palette.background, colour)
        )

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
        "diff": predicted + BOLD + reverse
        if ansi
        else make_bold(palette.foreground, palette.predicted_difference),
        "golden_diff": golden + BOLD + reverse
        if ansi
        else make_bold(palette.golden, palette.golden_difference),
        "near": predicted + UNDERLINE,
        "key": primary + BOLD,
        "primary": primary,
        "track": Style(color=palette.track),
        "match": BOLD + UNDERLINE,
        "cursor": reverse if ansi else Style(bgcolor=palette.cursor_row, bold=True),
        "cursor_mark": primary + BOLD,
        "bar": Style() if ansi else Style(bgcolor=palette.bar),
        "app": reverse + BOLD if ansi else make_bold(palette.background, palette.primary),
        "pass_badge": make_badge(palette.passed),
        "fail_badge": make_badge(palette.failed),
        "unsure_badge": reverse + BOLD
        if ansi
        else make_bold(palette.background, palette.foreground),
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
"""Styles without colour, by meaning. A missing meaning has no style."""


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

    def annotator_symbol(self, value: Any, n_reviewed_parts: int) -> str:
        """Return the symbol of an annotator's verdict: `partial` if the annotator reviewed only
        parts of the item.
        """
        return self.partial if value is None and n_reviewed_parts else self.verdict_symbol(value)

    def verdict_symbol(self, value: Any) -> str:
        """Return the symbol of a verdict: True, False, "unsure", "disputed", a score, or None
        for no verdict.
        """
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
    """Whether to use the ASCII symbols: on request, on a terminal with a poor font, or in a locale
    whose encoding is not UTF-8. An unset locale counts as UTF-8.
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
    """Draw everything with these colours from now on."""
    global _palette
    _palette = palette
    _get_active_styles.cache_clear()
    _get_heat_style.cache_clear()


@lru_cache(maxsize=1)
def symbols() -> Symbols:
    """Return the active symbol set."""
    return ASCII_SYMBOLS if prefers_ascii(os.environ) else UNICODE_SYMBOLS


@lru_cache(maxsize=1)
def _get_active_styles() -> Mapping[str, Style]:
    return build_styles(_palette) if is_colour_enabled(os.environ) else COLOURLESS_STYLES


@lru_cache(maxsize=128)
def _get_heat_style(percent: int) -> Style:
    if _palette.is_ansi or not is_colour_enabled(os.environ):
        return _NO_STYLE
    text, background = make_heat_colours(percent / 100, _palette)
    return Style(color=text, bgcolor=background)


def get_style(name: str) -> Style:
    """Return the active Rich style of a meaning such as `fail` or `heat:72`.

    An unknown name has no style.
    """
    if name.startswith(HEAT):
        return _get_heat_style(int(name.removeprefix(HEAT)))
    return _get_active_styles().get(name, _NO_STYLE)


def get_verdict_style(value: Any) -> str:
    """Return the name of the style of a verdict: True, False, "unsure", "disputed", a score, or
    None.
    """
    if value is True:
        return "pass"
    if value is False:
        return "fail"
    if value is None:
        return "dim"
    return "disputed" if value == "disputed" else "unsure"


STATE_STYLES = {
    "=": "equal",
    "~": "normalised",
    "!": "differs",
    "-": "missing",
    "+": "extra",
    " ": "dim",
}
"""Style names by the state of an argument: equal, equivalent, different, missing, unexpected, or
not compared.
"""


def clear_style_caches() -> None:
    """Clear the cached symbols and styles.

    Tests call this after they have changed the environment.
    """
    symbols.cache_clear()
    _get_active_styles.cache_clear()
    _get_heat_style.cache_clear()
