"""Provide the symbol and the Rich style of each meaning. Colour alone never expresses a meaning.

`fcreview.tui.themes` makes the colours from a theme.

Environment variables: `NO_COLOR` (if not empty, styles are only bold, reverse and underlined),
`FCREVIEW_ASCII` (`1` or `0` selects the symbol set), `TERM`, and the encoding of the locale
(`LC_ALL`, `LC_CTYPE`, `LANG`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from colorsys import hls_to_rgb
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from rich.style import Style

from fcreview.model.effective_verdict import DISPUTED
from fcreview.model.review import UNSURE

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
    hexadecimal = ""
    for share in colour:
        limited = max(0.0, min(share, 1.0))
        hexadecimal += f"{round(limited * 255):02x}"
    return f"#{hexadecimal}"


DARK_HEAT = (0.26, 0.42, "#f2f5ff")
LIGHT_HEAT = (0.82, 0.6, "#15171f")
"""(lightness, saturation, text colour) of a heat cell in a dark and in a light theme."""


def make_heat_colours(rate: float, palette: Palette) -> tuple[str, str]:
    """Return (text colour, background colour) of a heat cell. `rate`: from 0 (red) to 1 (green)."""
    lightness, saturation, text_colour = DARK_HEAT if palette.is_dark else LIGHT_HEAT
    hue = max(0.0, min(rate, 1.0)) * HEAT_HUE_RANGE
    return text_colour, format_hex(hls_to_rgb(hue, lightness, saturation))


BOLD = Style(bold=True)
UNDERLINE = Style(underline=True)
HEAT = "heat:"
"""Prefix of the style names of heat cells. A percentage follows: `heat:72`."""


def build_styles(palette: Palette) -> Mapping[str, Style]:
    """Return the style of each meaning, such as `pass` or `dim`, in the colours of a palette.

    The rest of the code names meanings instead of colours. The cells of heat maps have styles of
    their own.
    """
    dim = Style(dim=True) if palette.is_ansi else Style(color=palette.dim)
    golden = Style(color=palette.golden)
    predicted = Style(color=palette.predicted)
    passed = Style(color=palette.passed)
    failed = Style(color=palette.failed)
    people = Style(color=palette.people)
    primary = Style(color=palette.primary)

    styles = {
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
        "call_border": dim,
        "note": Style(italic=True),
        "strong": BOLD,
        "head": dim,
        "good": passed,
        "bad": failed,
        "warn": BOLD,
        "near": predicted + UNDERLINE,
        "key": primary + BOLD,
        "primary": primary,
        "track": Style(color=palette.track),
        "match": BOLD + UNDERLINE,
        "cursor_mark": primary + BOLD,
    }
    # A palette of the terminal's own colours has no colours for backgrounds.
    if palette.is_ansi:
        return styles | _build_reversed_styles(palette)
    return styles | _build_background_styles(palette)


def _build_reversed_styles(palette: Palette) -> dict[str, Style]:
    """Return the styles that stand out by reversed colours, because the palette has no background
    colours.
    """
    reverse = Style(reverse=True)
    bold_reverse = reverse + BOLD
    return {
        "diff": Style(color=palette.predicted) + bold_reverse,
        "golden_diff": Style(color=palette.golden) + bold_reverse,
        "cursor": reverse,
        "bar": Style(),
        "app": bold_reverse,
        "pass_badge": Style(color=palette.passed) + bold_reverse,
        "fail_badge": Style(color=palette.failed) + bold_reverse,
        "unsure_badge": bold_reverse,
        "no_badge": Style(dim=True),
    }


def _build_background_styles(palette: Palette) -> dict[str, Style]:
    """Return the styles that stand out by their background colours."""

    def make_bold(colour: str, background: str) -> Style:
        return Style(color=colour, bgcolor=background, bold=True)

    return {
        "diff": make_bold(palette.foreground, palette.predicted_difference),
        "golden_diff": make_bold(palette.golden, palette.golden_difference),
        "cursor": Style(bgcolor=palette.cursor_row, bold=True),
        "bar": Style(bgcolor=palette.bar),
        "app": make_bold(palette.background, palette.primary),
        "pass_badge": make_bold(palette.background, palette.passed),
        "fail_badge": make_bold(palette.background, palette.failed),
        "unsure_badge": make_bold(palette.background, palette.foreground),
        "no_badge": Style(color=palette.dim, bgcolor=palette.bar),
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


MAX_DIGIT = 9
"""Highest score whose symbol is the score itself."""


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
    missing: str = "∅"
    """Sign of a call or argument that the prediction lacks. `none` is the sign of no verdict."""
    extra: str = "+"
    cursor_mark: str = "▌"
    filled: str = "━"
    track: str = "─"
    point: str = "●"
    official: str = "┃"
    """Mark of the official score on the scale of an interval."""
    path: str = "›"
    remove: str = "×"
    """Mark of a chip that a key removes."""
    top_left: str = "╭"
    top_right: str = "╮"
    bottom_left: str = "╰"
    bottom_right: str = "╯"
    larger_score: str = "+"
    """Symbol of a score that has more than one digit."""

    def state_symbol(self, state: str) -> str:
        """Return the symbol of the state of a call or argument, see `STATE_STYLES`."""
        symbol_by_state = {
            "=": self.equal,
            "~": self.equivalent,
            "!": self.differs,
            "-": self.missing,
            "+": self.extra,
        }
        return symbol_by_state.get(state, state)

    def annotator_symbol(self, value: Any, n_reviewed_parts: int) -> str:
        """Return the symbol of an annotator's verdict: `partial` if the annotator reviewed only
        parts of the item.
        """
        if value is None and n_reviewed_parts:
            return self.partial
        return self.verdict_symbol(value)

    def verdict_symbol(self, value: Any) -> str:
        """Return the symbol of a verdict: True, False, "unsure", "disputed", a score, or None for
        no verdict.
        """
        is_score = isinstance(value, int) and not isinstance(value, bool)
        if is_score:
            return str(value) if 0 <= value <= MAX_DIGIT else self.larger_score
        return find_verdict_appearance(value).get_symbol(self)


ASCII_SYMBOLS = Symbols(
    passed="P",
    failed="F",
    none=".",
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
    missing="-",
    cursor_mark=">",
    filled="=",
    track="-",
    point="o",
    official="|",
    path=">",
    remove="x",
    top_left="+",
    top_right="+",
    bottom_left="+",
    bottom_right="+",
)
UNICODE_SYMBOLS = Symbols()


@dataclass(frozen=True, slots=True)
class VerdictAppearance:
    """How a verdict looks on screen: its symbol, its style and its badge."""

    value: Any
    """True, False, "unsure", "disputed", or None for no verdict."""
    meaning: str
    """Text of the help screen."""
    style: str
    """Name of the style of the symbol."""
    badge_style: str
    get_symbol: Callable[[Symbols], str]
    """Returns the symbol in a symbol set."""


_UNSURE_APPEARANCE = VerdictAppearance(
    UNSURE,
    meaning="unsure",
    style="unsure",
    badge_style="unsure_badge",
    get_symbol=lambda sign: sign.unsure,
)
VERDICT_APPEARANCES = (
    VerdictAppearance(
        True,
        meaning="pass",
        style="pass",
        badge_style="pass_badge",
        get_symbol=lambda sign: sign.passed,
    ),
    VerdictAppearance(
        False,
        meaning="fail",
        style="fail",
        badge_style="fail_badge",
        get_symbol=lambda sign: sign.failed,
    ),
    _UNSURE_APPEARANCE,
    VerdictAppearance(
        None,
        meaning="no verdict",
        style="dim",
        badge_style="no_badge",
        get_symbol=lambda sign: sign.none,
    ),
    VerdictAppearance(
        DISPUTED,
        meaning="annotators disagree",
        style="disputed",
        badge_style="unsure_badge",
        get_symbol=lambda sign: sign.disputed,
    ),
)


def find_verdict_appearance(value: Any) -> VerdictAppearance:
    """Return the appearance of a verdict. Scores, labels and other values look like `unsure`."""
    for appearance in VERDICT_APPEARANCES:
        # The type matters, because the score 1 equals True.
        if type(appearance.value) is type(value) and appearance.value == value:
            return appearance
    return _UNSURE_APPEARANCE


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
    return not _is_utf8_locale(_get_locale(env))


def _get_locale(env: Mapping[str, str]) -> str:
    """Return the locale of characters, such as `de_DE.UTF-8`. Empty if it is not set."""
    # POSIX: the first of these variables that is set and not empty decides.
    for name in ("LC_ALL", "LC_CTYPE", "LANG"):
        locale = env.get(name)
        if locale:
            return locale
    return ""


def _is_utf8_locale(locale: str) -> bool:
    """Whether a locale such as `de_DE.UTF-8@euro` has the encoding UTF-8.

    A locale without an encoding counts as UTF-8, except `C` and `POSIX`.
    """
    language, _, encoding_and_modifier = locale.partition(".")
    if not encoding_and_modifier:
        return language not in ("C", "POSIX")
    encoding, _, _ = encoding_and_modifier.partition("@")
    return encoding.lower().replace("-", "").replace("_", "") == "utf8"


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
    return find_verdict_appearance(value).style


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
