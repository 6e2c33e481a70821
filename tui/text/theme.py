"""How things look: symbols and styles by meaning, chosen once from the environment.

Nothing is told by colour alone. Read from the environment: `NO_COLOR` (not empty: bold, reverse and underline only),
`FCREVIEW_COLOURS` (a set of `colours`), `FCREVIEW_ASCII` (`1` or `0` overrides the guess), `TERM`, and the locale's
encoding (`LC_ALL`, `LC_CTYPE`, `LANG`).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from rich.style import Style

from fcreview.tui.text.colours import COLOURS, PLAIN, TERMINAL, coloured

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
