"""Figures as people read them: the same in commands and on screens. Pure."""

from __future__ import annotations

from fcreview.figures import Unit


def number(value: float | None, unit: Unit, digits: int = 1) -> str:
    """A value in its unit: `57.1 %`, `12`, `0.734`, `0.02 s`, `6.56 $`; `·` for none."""
    if value is None:
        return "·"
    if unit == "share":
        return f"{100 * value:.{digits}f} %"
    if unit == "percent":
        return f"{value:.{digits}f} %"
    if unit in ("seconds", "dollars"):
        return f"{value:.{digits}f} {'s' if unit == 'seconds' else '$'}"
    return f"{value:,.0f}" if unit == "count" else f"{value:.3f}"
