"""Symbols and styles by meaning, chosen from the environment. No meaning is expressed by colour alone.

Environment variables: `NO_COLOR` (if not empty, only bold, reverse and underline are used), `FCREVIEW_COLOURS` (the
name of a colour set), `FCREVIEW_ASCII` (`1` or `0` selects the symbol set), `TERM`, and the encoding of the locale
(`LC_ALL`, `LC_CTYPE`, `LANG`).

The colour set `terminal` uses the terminal's own 16 colours, which suit its background and need the fewest bytes. The
other sets use the 256-colour palette: `dark` and `light` for backgrounds on which the terminal's colours are hard to
read, and `safe` with blue and orange instead of red and green, for colour-blind readers, on either background.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from rich.style import Style


@dataclass(frozen=True, slots=True)
class ColourSet:
    """Colours by meaning, as Rich names them."""

    good: str
    bad: str
    warning: str
    dispute: str
    """Colour of disagreements and of missing calls or arguments."""
    accent: str


TERMINAL_COLOURS = "terminal"
COLOUR_SETS = {
    TERMINAL_COLOURS: ColourSet(good="green", bad="red", warning="yellow", dispute="magenta", accent="cyan"),
    "dark": ColourSet(
        good="color(114)", bad="color(210)", warning="color(221)", dispute="color(176)", accent="color(80)"
    ),
    "light": ColourSet(
        good="color(28)", bad="color(160)", warning="color(94)", dispute="color(127)", accent="color(24)"
    ),
    "safe": ColourSet(
        good="color(33)", bad="color(202)", warning="color(136)", dispute="color(168)", accent="color(31)"
    ),
}


def build_styles(name: str) -> Mapping[str, Style]:
    """Return the style of each meaning in the colour set `name`, a key of `COLOURS`."""
    colours = COLOUR_SETS[name]
    good, bad, doubt, odd, accent = (
        Style(color=colour) for colour in (colours.good, colours.bad, colours.warning, colours.dispute, colours.accent)
    )
    return {
        "equal": DIM,
        "normalised": accent,
        "differs": bad + BOLD,
        "missing": odd + BOLD,
        "extra": doubt + BOLD,
        "pass": good,
        "fail": bad,
        "unsure": doubt,
        "disputed": odd + BOLD,
        "golden": good,
        "predicted": accent,
        "dim": DIM,
        "strong": BOLD,
        "head": BOLD,
        "good": good,
        "bad": bad,
        "warn": doubt,
        "diff": bad + BOLD + UNDERLINE,
        "near": accent + UNDERLINE,
        "key": accent + BOLD,
        "match": BOLD + UNDERLINE,
        "cursor": Style(reverse=True),
    }


DIM, BOLD, UNDERLINE = Style(dim=True), Style(bold=True), Style(underline=True)
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
    "near": UNDERLINE,
    "key": BOLD,
    "match": BOLD + UNDERLINE,
    "cursor": Style(reverse=True),
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
    none: str = "·"
    disputed: str = "≠"
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
    none=".",
    disputed="X",
    partial="o",
    stale="*",
    cursor=">",
    rule="-",
    heavy_rule="=",
    bar="|",
    ellipsis=">",
    folded="+",
    unfolded="-",
    arrow=">",
    separator="-",
    plus_minus="~",
    visible_space="_",
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
    """Return whether to use colours."""
    return not env.get("NO_COLOR") and env.get("TERM", "") not in COLOURLESS_TERMINALS


_configured_colours: str = TERMINAL_COLOURS


def set_colours(name: str) -> None:
    """Use the colour set that the configuration file names. `FCREVIEW_COLOURS` takes precedence."""
    global _configured_colours
    _configured_colours = name
    _styles.cache_clear()


@lru_cache(maxsize=1)
def symbols() -> Symbols:
    """Return the active symbol set."""
    return ASCII_SYMBOLS if is_ascii_preferred(os.environ) else UNICODE_SYMBOLS


@lru_cache(maxsize=1)
def _styles() -> Mapping[str, Style]:
    if not is_colour_enabled(os.environ):
        return COLOURLESS_STYLES
    setting = os.environ.get("FCREVIEW_COLOURS", "").strip().lower()
    return build_styles(setting if setting in COLOUR_SETS else _configured_colours)


def style(name: str) -> Style:
    """Return the Rich style of a meaning such as `fail` or `dim`, or no style for an unknown or empty name."""
    return _styles().get(name, _NO_STYLE)


def verdict_style(value: Any) -> str:
    """Return the name of the style of a verdict."""
    if value is True:
        return "pass"
    if value is False:
        return "fail"
    if value is None:
        return "dim"
    return "disputed" if value == "disputed" else "unsure"


STATE_STYLES = {"=": "equal", "~": "normalised", "!": "differs", "-": "missing", "+": "extra"}
"""Style names by the state of an argument: equal, equivalent, different, missing or unexpected."""


def clear_caches() -> None:
    """Clear the cached symbols and styles, so that a changed environment takes effect, as in tests."""
    symbols.cache_clear()
    _styles.cache_clear()
