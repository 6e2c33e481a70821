"""Boxes to type in whose text may come from data: the filter of a cluster, a search of the past. Textual draws what is
in them as it is; here the drawn line goes through the sanitiser, and the text stays what it was. Boxes of several lines
are in `typed_lines`: they bring a parser with them that the first rows need not wait for."""

from __future__ import annotations

from rich.segment import Segment
from textual.strip import Strip
from textual.widgets import Input

from fcreview.model.sanitize import visible


def safely_drawn(strip: Strip) -> Strip:
    """The strip with pictures for what must not reach a terminal, as wide as before."""
    if all(visible(segment.text) == segment.text for segment in strip):
        return strip
    drawn = [Segment(visible(segment.text), segment.style, segment.control) for segment in strip]
    return Strip(drawn).adjust_cell_length(strip.cell_length)


class SafeInput(Input):
    def render_line(self, y: int) -> Strip:
        return safely_drawn(super().render_line(y))
