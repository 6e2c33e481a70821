"""Provide a one-line input whose text may come from data, such as a cluster's filter or an earlier search.

Textual draws the text of an input unchanged. Here each drawn line is sanitized, and the text itself is not changed.
`safe_text_area` has the multi-line counterpart, which is a module of its own because it imports a slow parser.
"""

from __future__ import annotations

from rich.segment import Segment
from textual.strip import Strip
from textual.widgets import Input

from fcreview.model.sanitize import sanitize


def sanitize_strip(strip: Strip) -> Strip:
    """Return the strip with visible replacements for control characters, as wide as before."""
    if all(sanitize(segment.text) == segment.text for segment in strip):
        return strip
    drawn = [Segment(sanitize(segment.text), segment.style, segment.control) for segment in strip]
    return Strip(drawn).adjust_cell_length(strip.cell_length)


class SafeInput(Input):
    """Input that sanitizes what it draws."""

    def render_line(self, y: int) -> Strip:
        return sanitize_strip(super().render_line(y))
