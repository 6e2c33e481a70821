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
from textual.selection import Selection
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
    """Render a styled line as a Textual strip, which is exactly `cells` wide.

    `gutter`: text before the line. `highlight`: casefolded text whose matches stand out.
    """
    segments: list[Segment] = []
    if gutter:
        segments.append(_gutter_segment(gutter, base))
    for text, style_name in line:
        style = base + get_style(style_name)
        segments += _highlight_matches(_replace_non_ascii_punctuation(text), style, highlight)

    # Fewer colour codes help on a slow connection.
    simple_segments = list(Segment.simplify(segments))
    used_cells = sum(display_width(segment.text) for segment in simple_segments)
    if used_cells > cells:
        return Strip(simple_segments).adjust_cell_length(cells, base)
    if used_cells < cells:
        simple_segments.append(Segment(" " * (cells - used_cells), base))
    return Strip(simple_segments, cells)


def _gutter_segment(gutter: str, base: Style) -> Segment:
    """Return the cell of the cursor column. A blank has no colour."""
    has_cursor = gutter.strip() != ""
    return Segment(gutter, base + get_style("cursor") if has_cursor else base)


def _replace_non_ascii_punctuation(text: str) -> str:
    """Return the text for a terminal with ASCII symbols only, or the same text for others."""
    uses_ascii = symbols().rule.isascii()
    if not uses_ascii or text.isascii():
        return text
    return text.translate(ASCII_REPLACEMENTS)


def _highlight_matches(text: str, text_style: Style, highlight: str) -> list[Segment]:
    """Divide a text into segments, so that the matches of `highlight` have another style.

    `highlight`: casefolded text. Upper and lower case are not distinguished.
    """
    folded = text.casefold()
    # Positions in the folded text are valid only if folding did not change the length.
    if not highlight or len(folded) != len(text):
        return [Segment(text, text_style)]

    match_style = text_style + get_style("match")
    segments: list[Segment] = []
    position = 0
    # A match follows each part, except the last one.
    for part in folded.split(highlight):
        match_start = position + len(part)
        match_end = match_start + len(highlight)
        segments.append(Segment(text[position:match_start], text_style))
        segments.append(Segment(text[match_start:match_end], match_style))
        position = match_end
    return [segment for segment in segments if segment.text]


class LineBar(Widget):
    """Widget that shows one line of text, such as a title or a status line."""

    ALLOW_SELECT = False
    DEFAULT_CSS = "LineBar { height: 1; width: 1fr; }"

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's own name
        super().__init__(id=id)
        self.line: Line = ()

    def show(self, line: Line) -> None:
        if line != self.line:
            self.line = line
            self.refresh()

    def render_line(self, y: int) -> Strip:
        cells = self.size.width
        line = fit_line(self.line, cells) if y == 0 else ()
        return render_strip(line, cells, self.rich_style)


@dataclass(frozen=True, slots=True)
class _RevealedRow:
    """Row that the view keeps visible: the arguments of `DocumentLayout.reveal`."""

    block_index: int
    row: int
    entire_block: bool

    def reveal_in(self, layout: DocumentLayout) -> None:
        layout.reveal(self.block_index, self.row, entire_block=self.entire_block)


@dataclass(frozen=True, slots=True)
class _RevealedContext:
    """Block that the view shows below its header, see `DocumentLayout.reveal_in_context`."""

    block_index: int
    header_index: int
    only_if_hidden: bool

    def reveal_in(self, layout: DocumentLayout) -> None:
        is_visible = layout.contains(self.header_index, self.block_index)
        if not (self.only_if_hidden and is_visible):
            layout.reveal_in_context(self.block_index, self.header_index)


SELECTED = Style(reverse=True)
"""Style that is added to the text that the mouse selects."""


def _focus_border(line: Line) -> Line:
    """Return a line of a framed call with the border of a focused panel."""
    return tuple((text, "primary" if style == "call_border" else style) for text, style in line)


def _remove_right_border(row: str) -> str:
    """Remove the right side of a frame, and blanks, from a row."""
    return row.rstrip().removesuffix(symbols().bar).rstrip()


def _remove_left_border(row: str) -> str:
    """Remove the cursor, or the blank in its place, and the left side of a frame from a row."""
    beginnings = (f"{symbols().cursor}{symbols().bar} ", f" {symbols().bar} ", f"{symbols().bar} ")
    for beginning in beginnings:
        if row.startswith(beginning):
            return row.removeprefix(beginning)
    return row


class DocumentView(StaticFocusWidget, can_focus=True):
    """Widget that shows a document through a `DocumentLayout` and redraws only the rows that
    changed.

    The screen that owns the widget binds the keys.
    """

    ALLOW_SELECT = True
    DEFAULT_CSS = "DocumentView { height: 1fr; width: 1fr; }"

    @dataclass
    class Scrolled(Message):
        """Posted when the mouse wheel scrolled the document."""

    def __init__(self, *, gutter: bool = True, id: str | None = None) -> None:  # noqa: A002
        """Begin without a document. `gutter`: whether a column at the left marks the row of the
        cursor.
        """
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
        self._is_blank = False
        """Whether the rows are blank, because the document does not belong on the screen now."""
        self._strips: list[Strip] = []
        self._drawn_size = Size(0, 0)
        self._revealed: list[_RevealedRow | _RevealedContext] = []
        """Rows of the last calls of `reveal`, which is repeated when the size changes.

        All calls while the view has no size, later at most two.
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
        """Show a document from row `top`, with the cursor on block `cursor`.

        If the view has no size yet, the document appears as soon as it has one.
        """
        layout = DocumentLayout(source, self.cells, max(self.size.height, 1))
        if self.size:
            layout.top = layout.clamp_top(top)
        else:
            layout.top = top
        self.document_layout = layout
        self.cursor = cursor
        self._revealed = []
        self.redraw()

    def reveal(
        self, index: int, row: int = 0, *, entire_block: bool = True, keep_previous: bool = False
    ) -> None:
        """Scroll to a row of block `index` (see `DocumentLayout.reveal`), and keep it visible when
        the size changes.

        With `keep_previous`, the row of the previous call stays visible too, if both fit.
        """
        revealed = _RevealedRow(index, row, entire_block)
        has_size = bool(self.size)
        if not has_size:
            # Nothing can be scrolled yet, so all calls are repeated when there is a size.
            self._revealed.append(revealed)
            return

        previous = self._revealed[-1:] if keep_previous else []
        self._revealed = [*previous, revealed]
        if self.document_layout is not None:
            self.document_layout.reveal(index, row, entire_block=entire_block)
            self.redraw()

    def reveal_in_context(
        self, index: int, header_index: int, *, only_if_hidden: bool = False
    ) -> None:
        """Show block `index` a third down, with the block `header_index` above it. Repeat this when
        the size changes.

        With `only_if_hidden`, do nothing while both blocks are visible.
        """
        context = _RevealedContext(index, header_index, only_if_hidden)
        self._revealed = [context]
        if self.size and self.document_layout is not None:
            context.reveal_in(self.document_layout)
            self.redraw()

    def set_blank(self, is_blank: bool) -> None:
        """Draw blank rows instead of the document, or the document again. The focus stays."""
        if is_blank != self._is_blank:
            self._is_blank = is_blank
            self.redraw()

    def redraw(self) -> None:
        """Draw the rows that differ from the screen. Drawing less helps on a slow connection."""
        if not self.size:
            # A hidden view has no size. When it is shown again, its first frame must not have the
            # rows that were drawn before.
            self._drawn_size = self.size
            self._strips = []
            self.refresh()
            return
        if self._drawn_size != self.size:
            self._fit_to_size()
            self.refresh()
            return

        old_strips = self._strips
        self._strips = self._render_strips()
        changed_rows = []
        for y, (old, new) in enumerate(zip(old_strips, self._strips, strict=True)):
            if old != new:
                changed_rows.append(Region(0, y, self.size.width, 1))
        if changed_rows:
            self._clear_outdated_selection()
            self.refresh(*changed_rows)

    def _fit_to_size(self) -> None:
        """Lay out and render the document again after the size has changed.

        The rows that were scrolled to stay visible.
        """
        self._drawn_size = self.size
        if self.document_layout is not None:
            self.document_layout.resize(self.cells, max(self.size.height, 1))
            for revealed in self._revealed:
                revealed.reveal_in(self.document_layout)
            # While the view had no size, all calls of `reveal` were kept. Now only the last one and
            # the one before it matter, as in a view with a size.
            self._revealed = self._revealed[-2:]
        self._strips = self._render_strips()

    def _render_strips(self) -> list[Strip]:
        """Return the strips of all rows: the document, free rows, and the footer."""
        blank = Strip.blank(self.size.width, self.rich_style)
        if self._is_blank:
            return [blank] * self.size.height
        strips = self._render_document_strips()
        n_free_rows = self.size.height - len(strips)
        if n_free_rows <= 0:
            return strips

        # The footer is at the bottom.
        footer = self._render_footer_strips(n_free_rows)
        n_blank_rows = n_free_rows - len(footer)
        return strips + [blank] * n_blank_rows + footer

    def _render_document_strips(self) -> list[Strip]:
        """Render the visible rows of the document. The mark of the cursor stands before a block's
        first row.
        """
        layout = self.document_layout
        if layout is None:
            return []
        focused_blocks = self.find_focused_blocks()
        strips = []
        for block_index, row in layout.visible_rows():
            line = layout.block_lines(block_index)[row]
            if block_index in focused_blocks:
                line = _focus_border(line)
            has_cursor = block_index == self.cursor and row == 0
            strips.append(self._render_row(line, has_cursor=has_cursor, highlight=self.highlight))
        return strips

    def find_focused_blocks(self) -> range:
        """Return the indexes of the blocks whose frame is drawn like that of a focused panel."""
        return range(0)

    def _render_footer_strips(self, n_free_rows: int) -> list[Strip]:
        lines = self.footer(n_free_rows)[:n_free_rows]
        return [self._render_row(line) for line in lines]

    def _render_row(self, line: Line, *, has_cursor: bool = False, highlight: str = "") -> Strip:
        """Render a line, with a cursor in the gutter before it, and with the matches of the search
        marked.
        """
        gutter = ""
        if self._gutter:
            gutter = symbols().cursor if has_cursor else " "
        return render_strip(
            line, self.size.width, self.rich_style, gutter=gutter, highlight=highlight
        )

    def render_line(self, y: int) -> Strip:
        if self._drawn_size != self.size:
            self._fit_to_size()
        if y >= len(self._strips):
            return Strip.blank(self.size.width, self.rich_style)
        # The offsets tell Textual which character is under the mouse.
        return self._mark_selection(self._strips[y], y).apply_offsets(0, y)

    def on_resize(self) -> None:
        self.redraw()

    # -- text that the user selects with the mouse

    def _mark_selection(self, strip: Strip, y: int) -> Strip:
        """Swap the colours of the selected part of a row, which is visible without colours too."""
        selection = self.text_selection
        span = selection.get_span(y) if selection is not None else None
        if span is None:
            return strip
        start, end = span
        text = strip.text
        start_cell = display_width(text[:start])
        end_cell = strip.cell_length if end < 0 else display_width(text[:end])
        selected_part = Strip(
            Segment.apply_style(strip.crop(start_cell, end_cell), post_style=SELECTED)
        )
        return Strip.join(
            [strip.crop(0, start_cell), selected_part, strip.crop(end_cell, strip.cell_length)]
        )

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """Return the selected text of the visible rows, without the frames around it."""
        rows = [_remove_right_border(strip.text) for strip in self._strips]
        selected_text = selection.extract("\n".join(rows))
        lines = [_remove_left_border(line) for line in selected_text.splitlines()]
        return "\n".join(lines), "\n"

    def text_select_all(self) -> None:
        """Select nothing: a double click is no selection."""

    def _clear_outdated_selection(self) -> None:
        """Clear the selection when other text appears, because it belongs to rows of the view."""
        if self.text_selection is not None:
            self.screen.clear_selection()

    def scroll_rows(self, rows: int) -> None:
        """Scroll down by `rows`, or up if negative."""
        self._revealed = []
        if self.document_layout is not None:
            self.document_layout.scroll_by(rows)
            self.redraw()

    def scroll_to_edge(self, side: int) -> None:
        """Scroll to the end (1) or the beginning (-1) of the document."""
        self._revealed = []
        if self.document_layout is None:
            return
        if side < 0:
            self.document_layout.scroll_to(DOCUMENT_START)
        else:
            self.document_layout.scroll_to(self.document_layout.find_last_top())
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

    ALLOW_SELECT = False
    DEFAULT_CSS = "Divider { width: 1; height: 1fr; }"

    def render_line(self, y: int) -> Strip:  # noqa: ARG002 - all its lines are the same
        return render_strip(((symbols().bar, "dim"),), 1, self.rich_style)


class LineBlock(Widget):
    """Widget that is as high as the number of its lines."""

    ALLOW_SELECT = False
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
        line = self.lines[y] if y < len(self.lines) else ()
        return render_strip(line, self.size.width, self.rich_style)


VERDICT_LABELS = [action.label for action in ITEM_ACTIONS if action.action.startswith("verdict(")]
LAST_LABELS = ("palette", "help")
"""Labels of the hints that come last in the key line, in this order."""


def _last_label_order(hint: tuple[str, str]) -> int:
    """Sort key that moves the hints of `LAST_LABELS` to the end."""
    _, label = hint
    return LAST_LABELS.index(label) if label in LAST_LABELS else -1


class TopLine(LineBar):
    """Top line of a screen: the path to the screen, and a text on the right."""

    DEFAULT_CSS = "TopLine { background: $bar; }"

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's own name
        super().__init__(id=id)
        self._path: tuple[str, ...] = ()
        self._right: Line = ()

    def show_path(self, path: tuple[str, ...], right: Line = ()) -> None:
        """Show a path and a text on the right, both sanitized."""
        self._path = path
        self._right = right
        self._draw()

    def on_resize(self) -> None:
        self._draw()

    def _draw(self) -> None:
        right = self._right
        team_note: str = getattr(self.app, "team_note", "")
        if team_note:
            right = (*right, ("  ", ""), (team_note, "warn"))
        self.show(top_line(self._path, right, self.size.width))


class KeyLine(LineBar):
    """Key line of a screen: hints for its active bindings.

    The last `keep_last` hints are never omitted.
    """

    DEFAULT_CSS = "KeyLine { background: $bar; }"

    def __init__(self, *, keep_last: int = 2, id: str | None = None) -> None:  # noqa: A002 - Textual's own name
        super().__init__(id=id)
        self._keep_last = keep_last
        self._priority_hints: list[tuple[str, str]] = []

    def update(self) -> None:
        """Show the keys that are active now, the most important ones first."""
        hints = list_key_hints(self.screen)
        if self._priority_hints:
            hints = self._insert_priority_hints(hints)
        hints.sort(key=_last_label_order)

        # The key of the palette leads to all other actions.
        has_palette = any(label == "palette" for _, label in hints)
        n_always_shown = self._keep_last + 1 if has_palette else self._keep_last
        self.show(key_hints_line(hints, self.size.width, n_always_shown))

    def _insert_priority_hints(self, hints: list[tuple[str, str]]) -> list[tuple[str, str]]:
        """Return the verdict keys without labels, the priority hints, and the other hints."""
        verdict_keys = [key for key, label in hints if label in VERDICT_LABELS]
        other_hints = [(key, label) for key, label in hints if label not in VERDICT_LABELS]
        return [(" ".join(verdict_keys), ""), *self._priority_hints, *other_hints]

    def set_priority_hints(self, hints: list[tuple[str, str]]) -> None:
        """Show these (key, label) hints before the other hints of the line.

        Only the verdict keys stay before them, without their labels.
        """
        if hints != self._priority_hints:
            self._priority_hints = hints
            self.update()

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, lambda _: self.update())

    def on_resize(self) -> None:
        self.update()
