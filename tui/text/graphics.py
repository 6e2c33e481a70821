"""Draw badges, bars, heat cells, intervals, frames and the top line.

Their text is readable without colour.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fcreview.model.sanitize import display_width
from fcreview.tui.text.lines import (
    Line,
    LineBuilder,
    StyledText,
    fit_line,
    justify_line,
    line_width,
    make_line,
    truncate,
    truncate_middle,
)
from fcreview.tui.text.styles import HEAT, find_verdict_appearance, symbols

PROGRAM_NAME = "fcreview"


def verdict_badge(value: Any) -> StyledText:
    """Return the badge of a verdict: ` PASS `, ` FAIL `, ` UNSURE `, a score such as ` 2 `, or a
    dash.
    """
    appearance = find_verdict_appearance(value)
    if value is None:
        text = symbols().none
    elif isinstance(value, bool):
        text = appearance.meaning.upper()
    else:
        text = str(value).upper()
    return f" {text} ", appearance.badge_style


def share_bar(filled_share: float, cells: int, style: str = "primary") -> Line:
    """Return a bar whose filled part is `filled_share` (0 to 1). A share above 0 fills at least one
    cell.
    """
    n_filled = 0
    if filled_share > 0:
        n_filled = max(round(min(filled_share, 1.0) * cells), 1)
    n_unfilled = cells - n_filled
    return (symbols().filled * n_filled, style), (symbols().track * n_unfilled, "track")


MAX_PROGRESS_BAR_CELLS = 18
MIN_PROGRESS_NAME_CELLS = 4
PROGRESS_NAME_MARGIN = 16
"""Width, in cells, that a progress bar leaves for the name and the blanks."""


def progress_bar_line(name: str, done: int, total: int, cells: int) -> Line:
    """Return a line such as `pilot · anna ━━━━──── 12 / 30`: a name, a bar and a figure."""
    gap_after_name = "  "
    gap_after_bar = " "
    figure = f"{done:,} / {total:,}"
    share_done = done / total if total else 0

    # A narrow line has a short bar or none, so that the name keeps its margin.
    cells_beside_figure = cells - display_width(figure)
    bar_cells = max(min(MAX_PROGRESS_BAR_CELLS, cells_beside_figure - PROGRESS_NAME_MARGIN), 0)
    gap_cells = len(gap_after_name) + len(gap_after_bar)
    name_cells = max(cells_beside_figure - bar_cells - gap_cells, MIN_PROGRESS_NAME_CELLS)

    line = LineBuilder()
    line.add_padded(truncate_middle(name, name_cells), name_cells, "people")
    line.add(gap_after_name)
    line.add_line(share_bar(share_done, bar_cells))
    line.add(gap_after_bar)
    line.add(figure)
    return line.build()


def heat_cell(rate: float | None, cells: int) -> StyledText:
    """Return a rate (0 to 1) in percent, such as `76.2`, on a background from red to green."""
    if rate is None:
        return symbols().none.center(cells), "dim"
    percent = rate * 100
    return f"{percent:.1f}".center(cells), f"{HEAT}{round(percent)}"


def interval_bar(
    low: float,
    point: float,
    high: float,
    scale: tuple[float, float],
    cells: int,
    marked_value: float | None = None,
) -> Line:
    """Draw a confidence interval and its point estimate on a line: `──━━●━━──│──`.

    `scale`: the values at the left and right end of the line. `marked_value`: another value to
    mark, such as the official score.
    """
    sign = symbols()
    first_column = _find_column(low, scale, cells)
    last_column = _find_column(high, scale, cells)

    # The line begins as an empty track, one part for each cell. The interval replaces some of them.
    parts: list[StyledText] = [(sign.track, "track")] * cells
    for column in range(first_column, last_column + 1):
        parts[column] = (sign.filled, "")

    # The point comes last, because it covers the mark and the interval.
    if marked_value is not None:
        marked_column = _find_column(marked_value, scale, cells)
        parts[marked_column] = (sign.official, "primary")
    point_column = _find_column(point, scale, cells)
    parts[point_column] = (sign.point, "strong")
    return tuple(parts)


def _find_column(value: float, scale: tuple[float, float], cells: int) -> int:
    """Return the column, from 0, of a value on a line that is `cells` wide.

    A value outside the scale is in the first or last column.
    """
    lowest, highest = scale
    length = highest - lowest
    if length == 0:
        # All values of the scale are equal.
        length = 1
    share = max(0.0, min((value - lowest) / length, 1.0))
    return round(share * (cells - 1))


FRAME_CELLS = 4
"""Width, in cells, of the two sides of a frame."""
FRAME_TITLE_MARGIN = 7
"""Minimum width, in cells, of the upper border of a frame on both sides of its title."""


def frame_top(title: Line, cells: int, border: str = "track") -> Line:
    """Return the upper border of a frame, with a title on the left: `╭─ title ───╮`.

    A title that is too long is clipped.
    """
    sign = symbols()
    left_end = f"{sign.top_left}{sign.rule} "
    right_end = f" {sign.top_right}"
    fitted_title = fit_line(title, max(cells - FRAME_TITLE_MARGIN, 1))
    used_cells = display_width(left_end) + line_width(fitted_title) + display_width(right_end)
    rule = sign.rule * max(cells - used_cells, 0)

    line = LineBuilder()
    line.add(left_end, border)
    line.add_line(fitted_title)
    line.add(f" {rule}{sign.top_right}", border)
    return line.build()


def frame_side(line: Line, cells: int, border: str = "track") -> Line:
    """Return a line between the two sides of a frame."""
    sign = symbols()
    inner_cells = max(cells - FRAME_CELLS, 1)
    fitted = fit_line(line, inner_cells)
    blank = " " * max(inner_cells - line_width(fitted), 0)
    return ((f"{sign.bar} ", border), *fitted, (blank, ""), (f" {sign.bar}", border))


def frame_bottom(right_text: Line, cells: int, border: str = "track") -> Line:
    """Return the lower border of a frame, with a text on the right: `╰─── text ─╯`.

    Without a text, the border is a plain rule.
    """
    sign = symbols()
    left_end = sign.bottom_left
    right_end = f"{sign.rule}{sign.bottom_right}"
    cells_between = cells - display_width(left_end) - display_width(right_end)
    if not right_text:
        return make_line(f"{left_end}{sign.rule * cells_between}{right_end}", border)

    # A blank stands on both sides of the text, and at least one dash before it.
    rule_and_text_cells = cells_between - 2
    fitted_text = fit_line(right_text, max(rule_and_text_cells - 1, 1))
    rule = sign.rule * max(rule_and_text_cells - line_width(fitted_text), 0)

    line = LineBuilder()
    line.add(f"{left_end}{rule} ", border)
    line.add_line(fitted_text)
    line.add(f" {right_end}", border)
    return line.build()


def box_lines(title: str, lines: Sequence[Line], cells: int, bottom_right: Line = ()) -> list[Line]:
    """Return lines in a frame that is `cells` wide, with a title at the top left and a text at the
    bottom right.
    """
    # `truncate` cuts with the ellipsis of the active symbols.
    fitted_title = truncate(title, max(cells - FRAME_TITLE_MARGIN, 1))
    box = [frame_top(make_line(fitted_title, "strong"), cells)]
    for line in lines:
        box.append(frame_side(line, cells))
    box.append(frame_bottom(bottom_right, cells))
    return box


def join_boxes(boxes: Sequence[Sequence[Line]]) -> list[Line]:
    """Return boxes of the same height side by side, one cell apart."""
    joined: list[Line] = []
    for first, *others in zip(*boxes, strict=True):
        line = LineBuilder()
        line.add_line(first)
        for other in others:
            line.add(" ")
            line.add_line(other)
        joined.append(line.build())
    return joined


TOP_LINE_BLANKS = 4
"""Number of blanks after the program name (2), and before and after the text on the right."""
MIN_LAST_NAME_CELLS = 4
MIN_NAME_CELLS = 6
"""Minimum width, in cells, of a name in the path whose beginning is cut."""


def top_line(path: tuple[str, ...], right_text: Line, cells: int) -> Line:
    """Return the top line of a screen: `fcreview run › queue › item text on the right`.

    If the line is too short, names at the beginning of the path are omitted. The last of them may
    keep its end, because runs of one model differ at the end of their names.

    Args:
        path: Sanitized names of the open screens. The last one is the screen itself.
    """
    program = f" {PROGRAM_NAME} "
    path_cells = cells - display_width(program) - line_width(right_text) - TOP_LINE_BLANKS
    names = []
    for name in _fit_path(path, path_cells):
        names.append(truncate_middle(name, max(path_cells, MIN_LAST_NAME_CELLS)))

    left = LineBuilder()
    left.add(program, "app")
    left.add("  ")
    for parent in names[:-1]:
        left.add(parent, "dim")
        left.add(f" {symbols().path} ", "dim")
    # The path may be empty.
    if names:
        left.add(names[-1], "strong")
    right = (*right_text, (" ", ""))
    return justify_line(left.build(), right, cells)


PATH_SEPARATOR_CELLS = 3


def _fit_path(path: Sequence[str], cells: int) -> list[str]:
    """Omit the first names of a path until it fits into `cells`.

    If the remaining names leave room, the last omitted name is shown without its beginning.
    """
    names = list(path)
    last_omitted_name = ""
    while len(names) > 1 and _path_width(names) > cells:
        last_omitted_name = names.pop(0)

    free_cells = cells - _path_width(names) - PATH_SEPARATOR_CELLS
    if last_omitted_name and free_cells >= MIN_NAME_CELLS:
        names.insert(0, truncate_middle(last_omitted_name, free_cells, head_share=0))
    return names


def _path_width(names: Sequence[str]) -> int:
    return sum(display_width(name) + PATH_SEPARATOR_CELLS for name in names)
