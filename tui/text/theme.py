"""Provide symbols and styles by meaning. No meaning is expressed by colour alone.

Environment variables: `NO_COLOR` (if not empty, only bold, reverse and underline are used), `FCREVIEW_THEME` (the name
of a theme), `FCREVIEW_ASCII` (`1` or `0` selects the symbol set), `TERM`, and the encoding of the locale (`LC_ALL`,
`LC_CTYPE`, `LANG`). `FCREVIEW_COLOURS` is the earlier name of `FCREVIEW_THEME`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from rich.style import Style

from fcreview.tui.text.palette import ANSI_PALETTE, Palette, heat_colours

BOLD, UNDERLINE = Style(bold=True), Style(underline=True)
HEAT = "heat:"
"""Prefix of the styles of heat cells. A percentage follows: `heat:72`."""


def build_styles(palette: Palette) -> Mapping[str, Style]:
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
"""Styles by meaning without colour. A meaning that is not listed has no style."""


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
    plus_minus="~",
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


def is_ascii_preferred(env: Mapping[str, str]) -> bool:
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
    return ASCII_SYMBOLS if is_ascii_preferred(os.environ) else UNICODE_SYMBOLS


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
