"""List the themes of fcreview and of Textual, and choose the theme to start with.

A theme is chosen by `FCREVIEW_THEME` (earlier `FCREVIEW_COLOURS`), in the app with `:theme`, or by the setting `theme`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

from textual.theme import BUILTIN_THEMES, Theme

from fcreview.tui.text.theme import ANSI_PALETTE, HUES, Palette, derive_palette, is_colour_enabled

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


@lru_cache(maxsize=64)
def build_palette(name: str) -> Palette:
    """Return the palette of a theme. Raises: KeyError if there is no theme of this name."""
    if name in ANSI_THEMES:
        return ANSI_PALETTE if name == "ansi-dark" else replace(ANSI_PALETTE, is_dark=False, primary="blue")
    theme = next((each for each in OWN_THEMES if each.name == name), None) or BUILTIN_THEMES[name]
    colours = {key: value[:7] for key, value in theme.to_color_system().generate().items()}
    chosen = {key: value for key, value in theme.variables.items() if key in HUES}
    return derive_palette(colours, chosen, is_dark=theme.dark)


def css_variables(name: str) -> dict[str, str]:
    """Return the CSS variables of a theme, such as `$golden`. They replace Textual's variables with the same names."""
    palette = build_palette(name)
    names = ("golden", "predicted", "passed", "failed", "people", "bar")
    if palette.is_ansi:
        ansi = {each: f"ansi_{getattr(palette, each)}" for each in names}
        dim, focus = "ansi_bright_black", f"ansi_{palette.primary}"
        return {**ansi, "foreground": "ansi_default", "dim": dim, "focus": focus, "border": dim}
    variables = {each: getattr(palette, each) for each in (*names, "foreground", "dim")}
    return {**variables, "focus": palette.primary, "border": palette.track}


def find_theme(name: str) -> str | None:
    """Return the name of a theme from its current or earlier name (`terminal`, `dark`). None for an unknown name."""
    name = name.strip().lower()
    name = OLD_NAMES.get(name, name)
    return name if name in list_theme_names() else None


def choose_theme(env: Mapping[str, str], preferred: str | None, n_terminal_colours: int) -> str:
    """Return the theme to start with.

    Args:
        preferred: Theme that the user chose or the configuration sets.
        n_terminal_colours: Number of colours of the terminal. With 16 colours the terminal's own colours are used.
    """
    if not is_colour_enabled(env):
        return ANSI_THEMES[0]
    for name in (env.get("FCREVIEW_THEME", ""), env.get("FCREVIEW_COLOURS", ""), preferred or ""):
        if theme := find_theme(name):
            return theme
    return FCREVIEW_DARK.name if n_terminal_colours > 16 else ANSI_THEMES[0]
