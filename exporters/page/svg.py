"""Shares as bars, drawn in place: each source at its height, so that colour is not needed to tell them, and an interval
as a line over its bar. Colours stand in the drawing too, for readers without the page's style."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from fcreview.figures import SOURCES, FigureSource
from fcreview.reporting.blocks import Bar

HEIGHT = 6
"""Of a bar with the gap below it; 100 is the width."""
THICK = 5
COLOURS: dict[FigureSource, str] = {"official": "#8a8f98", "rule": "#4f8fd0", "corrected": "#2e9e6b"}


def bars(found: Sequence[Bar]) -> str:
    """An `svg` element, or nothing."""
    if not found:
        return ""
    said = escape(", ".join(map(_said, found)), quote=True)
    head = f'<svg viewBox="0 0 100 {HEIGHT * len(SOURCES)}" preserveAspectRatio="none" role="img" aria-label="{said}">'
    return head + "".join(part for bar in found for part in _bar(bar, HEIGHT * SOURCES.index(bar.source))) + "</svg>"


def _bar(bar: Bar, top: int) -> Iterator[str]:
    place, width = f'x="0" y="{top}" height="{THICK}"', f"{100 * bar.value:.2f}"
    yield f'<rect class="track" fill="#ddd" {place} width="100"/>'
    yield f'<rect class="{bar.source}" fill="{COLOURS[bar.source]}" {place} width="{width}"/>'
    if bar.low is not None and bar.high is not None:
        ends, middle = (100 * bar.low, 100 * bar.high), top + THICK / 2
        yield f'<line class="whisker" stroke="#000" x1="{ends[0]:.2f}" x2="{ends[1]:.2f}" y1="{middle}" y2="{middle}"/>'
        for end in ends:
            yield f'<line class="whisker" stroke="#000" x1="{end:.2f}" x2="{end:.2f}" y1="{top}" y2="{top + THICK}"/>'


def _said(bar: Bar) -> str:
    interval = f" from {100 * bar.low:.1f} to {100 * bar.high:.1f}" if bar.low is not None and bar.high else ""
    return f"{bar.source} {100 * bar.value:.1f} %{interval}"
