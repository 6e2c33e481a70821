"""Draw styled lines in widgets: a scrollable document, bars and blocks of lines, the top line
and the key line.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Region, Size
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from fcreview.model.sanitize import display_width
from fcreview.tui.actions import ITEM_ACTIONS
from fcreview.tui.keymap import list_key_hints
from fcreview.tui.text.graphics import top_line
from fcreview.tui.text.layout import DOCUMENT_START, DocumentLayout, DocumentSource, RowPosition
from fcreview.tui.text.lines import Line, fit_line, key_hints_line
from fcreview.tui.text.styles import get_style, symbols
from fcreview.tui.widgets.base import StaticFocusWidget

GUTTER_WIDTH = 1
"""Width of the cursor column on the left, in cells."""
WHEEL_ROWS = 3
"""Rows scrolled by one step of the mouse wheel."""
ASCII_REPLACEMENTS = str.maketrans("·…–", ".~-")
"""Replacements for the punctuation of fcreview's own messages when only ASCII symbols are used."""


def render_strip(
    line: Line, cells: int, base: Style, *, gutter: str = "", highlight: str = ""
) -> Strip:
    """Render a line as a Textual strip of exactly `cells`, with the matches of `highlight`
    (casefolded) highlighted.
    """
    segments = (
        [Segment(gutter, base + get_style("cursor") if gutter.strip() else base)] if gutter else []
    )
    ascii_only = symbols().rule.isascii()
    for text, name in line:
        if ascii_only and not text.isascii():
            text = text.translate(ASCII_REPLACEMENTS)
        text_style = base + get_style(name)
        segments += (
            _highlight_matches(text, text_style, highlight)
            if highlight
            else [Segment(text, text_style)]
        )
    segments = list(Segment.simplify(segments))  # Fewer colour codes help on a slow connection.
    used = sum(display_width(segment.text) for segment in segments)
    if used < cells:
        segments.append(Segment(" " * (cells - used), base))
        return Strip(segments, cells)
    return (
        Strip(segments).adjust_cell_length(cells, base) if used > cells else Strip(segments, cells)
    )


def _highlight_matches(text: str, text_style: Style, highlight: str) -> list[Segment]:
    folded = text.casefold()
    if highlight not in folded or len(folded) != len(text):
        return [Segment(text, text_style)]
    segments: list[Segment] = []
    start = 0
    while (at := folded.find(highlight, start)) >= 0:
        end = at + len(highlight)
        segments += [
            Segment(text[start:at], text_style),
            Segment(text[at:end], text_style + get_style("match")),
        ]
        start = end
    segments.append(Segment(text[start:], text_style))
    return [segment for segment in segments if segment.text]


class LineBar(Widget):
    """Widget that shows one line of text, such as a title or a status line."""

    DEFAULT_CSS = "LineBar { height: 1; width: 1fr; }"

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's own name
        super().__init__(id=id)
        self.line: Line = ()

    def show(self, line: Line) -> None:
        if line != self.line:
            self.line = line
            self.refresh()

    def render_line(self, y: int) -> Strip:
        return render_strip(
            fit_line(self.line, self.size.width) if y == 0 else (), self.size.width, self.rich_style
        )


class DocumentView(StaticFocusWidget, can_focus=True):
    """Widget that shows a document through a `DocumentLayout` and redraws only the rows that
    changed.

    The screen that owns the widget binds the keys.
    """

    DEFAULT_CSS = "DocumentView { height: 1fr; width: 1fr; }"

    @dataclass
    class Scrolled(Message):
        """Posted when the mouse wheel scrolled the document."""

    def __init__(self, *, gutter: bool = True, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.document_layout: DocumentLayout | None = None
        self.cursor: int | None = None
        self.highlight = ""
        """Casefolded text whose matches are highlighted."""
        self.footer: Callable[[int], Sequence[Line]] = lambda _: ()
        """Returns lines for the bottom of the view. The argument is the number of rows that the
        document leaves free. Lines that do not fit are omitted.
        """
        self._gutter = gutter
        self._strips: list[Strip] = []
        self._drawn_size = Size(0, 0)
        self._revealed: list[tuple[int, int, bool]] = []
        """Arguments of the last calls of `reveal`: all while the view has no size, later at most
        two.

        They are repeated when the size changes.
        """

    @property
    def cells(self) -> int:
        """Width of the document in cells, without the cursor column."""
        return max(self.size.width - (GUTTER_WIDTH if self._gutter else 0), 1)

    def show(
        self,
        source: DocumentSource,
        *,
        top: RowPosition = DOCUMENT_START,
        cursor: int | None = None,
    ) -> None:
        """Show a document from row `top` with the cursor on block `cursor`, now or as soon as
        the view has a size.
        """
        self.document_layout = DocumentLayout(source, self.cells, max(self.size.height, 1))
        self.document_layout.top = self.document_layout.clamp_top(top) if self.size else top
        if not self.size:  # A hidden view must be laid out when it is shown again.
            self._drawn_size = self.size
        self.cursor, self._revealed = cursor, []
        self.redraw()

    def reveal(
        self, index: int, row: int = 0, *, entire_block: bool = True, keep_previous: bool = False
    ) -> None:
        """Scroll to a row of block `index`, see `DocumentLayout.reveal`. Keep the row visible when
        the size changes.

        With `keep_previous`, keep the row of the previous call visible too, if both fit.
        """
        previous = self._revealed if not self.size else self._revealed[-1:] if keep_previous else []
        self._revealed = [*previous, (index, row, entire_block)]
        if self.size and self.document_layout is not None:
            self.document_layout.reveal(index, row, entire_block=entire_block)
            self.redraw()

    def redraw(self) -> None:
        """Draw the rows that differ from the screen."""
        if not self.size:
            return
        if self._drawn_size != self.size:
            self._fit_to_size()
            self.refresh()
            return
        before, self._strips = self._strips, self._render_strips()
        changed = [
            y for y, (old, new) in enumerate(zip(before, self._strips, strict=True)) if old != new
        ]
        if changed:
            self.refresh(*(Region(0, y, self.size.width, 1) for y in changed))

    def _fit_to_size(self) -> None:
        self._drawn_size = self.size
        if self.document_layout is not None:
            self.document_layout.resize(self.cells, max(self.size.height, 1))
            for index, row, whole in self._revealed:
                self.document_layout.reveal(index, row, entire_block=whole)
            self._revealed = self._revealed[-2:]
        self._strips = self._render_strips()

    def _render_strips(self) -> list[Strip]:
        layout, base, cells = self.document_layout, self.rich_style, self.size.width
        strips: list[Strip] = []
        if layout is not None:
            for index, row in layout.visible_rows():
                mark = (
                    (symbols().cursor if index == self.cursor and row == 0 else " ")
                    if self._gutter
                    else ""
                )
                strips.append(
                    render_strip(
                        layout.block_lines(index)[row],
                        cells,
                        base,
                        gutter=mark,
                        highlight=self.highlight,
                    )
                )
        free = self.size.height - len(strips)
        mark = " " if self._gutter else ""
        lines = self.footer(free)[:free] if free > 0 else ()
        foot = [render_strip(line, cells, base, gutter=mark) for line in lines]
        return strips + [Strip.blank(cells, base)] * (free - len(foot)) + foot

    def render_line(self, y: int) -> Strip:
        if self._drawn_size != self.size:
            self._fit_to_size()
        if y < len(self._strips):
            return self._strips[y]
        return Strip.blank(self.size.width, self.rich_style)

    def on_resize(self) -> None:
        self.redraw()

    def scroll_rows(self, rows: int) -> None:
        """Scroll down by `rows`, or up if negative."""
        self._revealed = []
        if self.document_layout is not None:
            self.document_layout.scroll_by(rows)
            self.redraw()

    def scroll_to_edge(self, side: int) -> None:
        """Scroll to the end (1) or the beginning (-1) of the document."""
        self._revealed = []
        if self.document_layout is not None:
            self.document_layout.scroll_to(
                DOCUMENT_START if side < 0 else self.document_layout.find_last_top()
            )
            self.redraw()

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self.scroll_rows(WHEEL_ROWS)
        self.post_message(self.Scrolled())

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self.scroll_rows(-WHEEL_ROWS)
        self.post_message(self.Scrolled())


class Divider(Widget):
    """Vertical line between two panes."""

    DEFAULT_CSS = "Divider { width: 1; height: 1fr; }"

    def render_line(self, y: int) -> Strip:  # noqa: ARG002 - all its lines are the same
        return render_strip(((symbols().bar, "dim"),), 1, self.rich_style)


class LineBlock(Widget):
    """Widget that is as high as the number of its lines."""

    DEFAULT_CSS = "LineBlock { height: 1; width: 1fr; }"

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's own name
        super().__init__(id=id)
        self.lines: Sequence[Line] = ()

    def show(self, lines: Sequence[Line]) -> None:
        """Show these lines, and set the height to the number of lines."""
        if lines != self.lines:
            self.lines = lines
            self.styles.height = max(len(lines), 1)
            self.refresh()

    def render_line(self, y: int) -> Strip:
        return render_strip(
            self.lines[y] if y < len(self.lines) else (), self.size.width, self.rich_style
        )


VERDICT_LABELS = [action.label for action in ITEM_ACTIONS if action.action.startswith("verdict(")]
LAST_LABELS = ("quit", "palette", "help")
"""Labels of the hints that come last in the key line, in this order."""


class TopLine(LineBar):
    """Top line of a screen: the path to the screen, and a text on the right."""

    DEFAULT_CSS = "TopLine { background: $bar; }"

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's own name
        super().__init__(id=id)
        self._path: tuple[str, ...] = ()
        self._right: Line = ()

    def show_path(self, path: tuple[str, ...], right: Line = ()) -> None:
        """Show a path and a text on the right, both sanitized."""
        self._path, self._right = path, right
        self.on_resize()

    def on_resize(self) -> None:
        note: str = getattr(self.app, "team_note", "")
        right = (*self._right, ("  ", ""), (note, "warn")) if note else self._right
        self.show(top_line(self._path, right, self.size.width))


class KeyLine(LineBar):
    """Key line of a screen: hints for its active bindings.

    The last `keep_last` hints are never omitted.
    """

    DEFAULT_CSS = "KeyLine { background: $bar; }"

    def __init__(self, *, keep_last: int = 2, id: str | None = None) -> None:  # noqa: A002 - Textual's own name
        super().__init__(id=id)
        self._always = keep_last
        self._priority_hints: list[tuple[str, str]] = []

    def update(self) -> None:
        """Show the hints of the bindings that are active now."""
        hints = list_key_hints(self.screen)
        if self._priority_hints:
            verdicts = [hint for hint in hints if hint[1] in VERDICT_LABELS]
            others = [hint for hint in hints if hint not in verdicts]
            hints = [(" ".join(key for key, _ in verdicts), ""), *self._priority_hints, *others]
        hints.sort(key=lambda hint: LAST_LABELS.index(hint[1]) if hint[1] in LAST_LABELS else -1)
        always = self._always + any(label == "palette" for _, label in hints)
        self.show(key_hints_line(hints, self.size.width, always))

    def set_priority_hints(self, hints: list[tuple[str, str]]) -> None:
        """Show these (key, label) hints before all others, except the verdict keys, which lose
        their labels.
        """
        if hints != self._priority_hints:
            self._priority_hints = hints
            self.update()

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, lambda _: self.update())

    def on_resize(self) -> None:
        self.update()
