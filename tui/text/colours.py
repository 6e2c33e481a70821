"""Colours by meaning, in four sets, and how each thing looks in them.

`terminal` takes the terminal's own sixteen: they suit its background and cost the fewest bytes. The others are of the
256 that nearly every terminal has: `dark` and `light` for backgrounds on which a terminal's own are hard to read,
`safe` for eyes that do not tell red from green (blue and orange instead), on either background.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

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
