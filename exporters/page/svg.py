"""Shares as bars, drawn in place: one below the other, an interval as a line over its bar."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from fcreview.reporting.blocks import Bar

HEIGHT = 6
"""Of a bar with the gap below it; 100 is the width."""
THICK = 5


def bars(found: Sequence[Bar]) -> str:
    """An `svg` element, or nothing."""
    if not found:
        return ""
    said = escape(", ".join(map(_said, found)), quote=True)
    head = f'<svg viewBox="0 0 100 {HEIGHT * len(found)}" preserveAspectRatio="none" role="img" aria-label="{said}">'
    return head + "".join(part for at, bar in enumerate(found) for part in _bar(bar, at * HEIGHT)) + "</svg>"


def _bar(bar: Bar, top: int) -> Iterator[str]:
    yield f'<rect class="track" x="0" y="{top}" width="100" height="{THICK}"/>'
    yield f'<rect class="{bar.source}" x="0" y="{top}" width="{100 * bar.value:.2f}" height="{THICK}"/>'
    if bar.low is not None and bar.high is not None:
        ends, middle = (100 * bar.low, 100 * bar.high), top + THICK / 2
        yield f'<line class="whisker" x1="{ends[0]:.2f}" x2="{ends[1]:.2f}" y1="{middle}" y2="{middle}"/>'
        for end in ends:
            yield f'<line class="whisker" x1="{end:.2f}" x2="{end:.2f}" y1="{top}" y2="{top + THICK}"/>'


def _said(bar: Bar) -> str:
    interval = f" from {100 * bar.low:.1f} to {100 * bar.high:.1f}" if bar.low is not None and bar.high else ""
    return f"{bar.source} {100 * bar.value:.1f} %{interval}"
