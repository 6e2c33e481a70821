"""How things look: symbols and styles by meaning, chosen once from the environment.

Nothing is told by colour alone. Read from the environment: `NO_COLOR` (not empty: bold, reverse and underline only),
`FCREVIEW_COLOURS` (a set of `colours`), `FCREVIEW_ASCII` (`1` or `0` overrides the guess), `TERM`, and the locale's
encoding (`LC_ALL`, `LC_CTYPE`, `LANG`).

Colours by meaning, in four sets, and how each thing looks in them.

`terminal` takes the terminal's own sixteen: they suit its background and cost the fewest bytes. The others are of the
256 that nearly every terminal has: `dark` and `light` for backgrounds on which a terminal's own are hard to read,
`safe` for eyes that do not tell red from green (blue and orange instead), on either background.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from rich.style import Style


@dataclass(frozen=True, slots=True)
class Colours:
    good: str
    bad: str
    doubt: str
    odd: str
    """Disputed; missing."""
    accent: str


TERMINAL = "terminal"
COLOURS = {
    TERMINAL: Colours(good="green", bad="red", doubt="yellow", odd="magenta", accent="cyan"),
    "dark": Colours(good="color(114)", bad="color(210)", doubt="color(221)", odd="color(176)", accent="color(80)"),
    "light": Colours(good="color(28)", bad="color(160)", doubt="color(94)", odd="color(127)", accent="color(24)"),
    "safe": Colours(good="color(33)", bad="color(202)", doubt="color(136)", odd="color(168)", accent="color(31)"),
}


def coloured(name: str) -> Mapping[str, Style]:
    """How things look in one of `COLOURS`."""
    of = COLOURS[name]
    good, bad, doubt, odd, accent = (Style(color=each) for each in (of.good, of.bad, of.doubt, of.odd, of.accent))
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
        "diff": bad + BOLD + LINED,
        "near": accent + LINED,
        "key": accent + BOLD,
        "match": BOLD + LINED,
        "cursor": Style(reverse=True),
    }


DIM, BOLD, LINED = Style(dim=True), Style(bold=True), Style(underline=True)
PLAIN: Mapping[str, Style] = {
    "differs": BOLD,
    "missing": BOLD,
    "extra": BOLD,
    "fail": BOLD,
    "unsure": LINED,
    "disputed": BOLD + LINED,
    "strong": BOLD,
    "head": BOLD,
    "bad": BOLD,
    "warn": LINED,
    "diff": BOLD + LINED,
    "near": LINED,
    "key": BOLD,
    "match": BOLD + LINED,
    "cursor": Style(reverse=True),
}
"""How things look without colour; what is absent is drawn plainly."""


POOR_TERMINALS = ("linux", "vt100", "vt102", "vt220", "ansi", "cons25", "dumb")
"""Their fonts lack check marks and triangles."""
COLOURLESS_TERMINALS = ("dumb", "vt100", "vt102", "vt220")


@dataclass(frozen=True, slots=True)
class Symbols:
    """Every symbol is one cell wide in both sets."""

    passed: str = "✓"
    failed: str = "✗"
    unsure: str = "?"
    none: str = "·"
    disputed: str = "≠"
    part: str = "◐"
    stale: str = "↻"
    cursor: str = "▸"
    rule: str = "─"
    heavy: str = "━"
    bar: str = "│"
    ellipsis: str = "…"
    folded: str = "▸"
    unfolded: str = "▾"
    arrow: str = "→"
    between: str = "·"
    plus_minus: str = "±"
    blank: str = "␣"

    def yours(self, value: Any, parts: int) -> str:
        """As `verdict`, of an annotator; of an item of which only parts were judged, that."""
        return self.part if value is None and parts else self.verdict(value)

    def verdict(self, value: Any) -> str:
        """The symbol of a verdict: true, false, "unsure", "disputed", 0-2, or None for none given."""
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


ASCII = Symbols(
    passed="P",
    failed="F",
    unsure="?",
    none=".",
    disputed="X",
    part="o",
    stale="*",
    cursor=">",
    rule="-",
    heavy="=",
    bar="|",
    ellipsis=">",
    folded="+",
    unfolded="-",
    arrow=">",
    between="-",
    plus_minus="~",
    blank="_",
)
UNICODE = Symbols()

_NULL = Style()


def wants_ascii(env: Mapping[str, str]) -> bool:
    """Whether the ASCII set is safer. A locale that is not set says nothing; one that names another encoding does."""
    asked = env.get("FCREVIEW_ASCII", "").strip().lower()
    if asked:
        return asked not in ("0", "false", "no", "off")
    if env.get("TERM", "") in POOR_TERMINALS:
        return True
    locale = next((env[name] for name in ("LC_ALL", "LC_CTYPE", "LANG") if env.get(name)), "")
    language, _, encoding = locale.partition(".")
    if encoding:
        return encoding.partition("@")[0].lower().replace("-", "").replace("_", "") != "utf8"
    return language in ("C", "POSIX")


def wants_colour(env: Mapping[str, str]) -> bool:
    return not env.get("NO_COLOR") and env.get("TERM", "") not in COLOURLESS_TERMINALS


_chosen: str = TERMINAL


def choose(colours: str) -> None:
    """The set of colours that the person configured; the environment goes before it."""
    global _chosen
    _chosen = colours
    _styles.cache_clear()


@lru_cache(maxsize=1)
def symbols() -> Symbols:
    return ASCII if wants_ascii(os.environ) else UNICODE


@lru_cache(maxsize=1)
def _styles() -> Mapping[str, Style]:
    if not wants_colour(os.environ):
        return PLAIN
    asked = os.environ.get("FCREVIEW_COLOURS", "").strip().lower()
    return coloured(asked if asked in COLOURS else _chosen)


def style(name: str) -> Style:
    """The look of a meaning, such as `fail` or `dim`. An unknown or empty name is drawn plainly."""
    return _styles().get(name, _NULL)


def verdict_style(value: Any) -> str:
    """Name of the style a verdict is drawn in."""
    if value is True:
        return "pass"
    if value is False:
        return "fail"
    if value is None:
        return "dim"
    return "disputed" if value == "disputed" else "unsure"


STATE_STYLES = {"=": "equal", "~": "normalised", "!": "differs", "-": "missing", "+": "extra"}
"""Argument states to names of styles."""


def forget() -> None:
    """Looks at the environment again: tests change it."""
    symbols.cache_clear()
    _styles.cache_clear()
