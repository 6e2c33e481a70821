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
    """Return a line such as `pilot · anna  ━━━━──── 12 / 30`."""
    figure = f"{done:,} / {total:,}"
    room = cells - display_width(figure)
    bar_cells = max(min(MAX_PROGRESS_BAR_CELLS, room - PROGRESS_NAME_MARGIN), 0)
    name_cells = max(room - bar_cells - 3, MIN_PROGRESS_NAME_CELLS)

    line = LineBuilder()
    line.add_padded(truncate_middle(name, name_cells), name_cells, "people")
    line.add("  ")
    line.add_line(share_bar(done / total if total else 0, bar_cells))
    line.add(" ")
    line.add(figure)
    return line.build()


def heat_cell(rate: float | None, cells: int) -> StyledText:
    """Return a rate (0 to 1) in percent, such as `76.2`, on a background from red to green."""
    if rate is None:
        return symbols().none.center(cells), "dim"
    return f"{rate * 100:.1f}".center(cells), f"{HEAT}{round(rate * 100)}"


def interval_bar(
    low: float,
    point: float,
    high: float,
    scale: tuple[float, float],
    cells: int,
    marked_value: float | None = None,
) -> Line:
    """Draw an interval with its point estimate and a mark at `marked_value`, if given. `scale`:
    (lowest, highest) value on the line.
    """
    sign = symbols()
    first_column = _find_column(low, scale, cells)
    last_column = _find_column(high, scale, cells)

    parts: list[StyledText] = [(sign.track, "track")] * cells
    for column in range(first_column, last_column + 1):
        parts[column] = (sign.filled, "")
    if marked_value is not None:
        parts[_find_column(marked_value, scale, cells)] = (sign.official, "primary")
    parts[_find_column(point, scale, cells)] = (sign.point, "strong")
    return tuple(parts)


def _find_column(value: float, scale: tuple[float, float], cells: int) -> int:
    """Return the column, from 0, of a value on a line that is `cells` wide."""
    lowest, highest = scale
    share = (value - lowest) / ((highest - lowest) or 1)
    limited_share = max(0.0, min(share, 1.0))
    return round(limited_share * (cells - 1))


FRAME_CELLS = 4
"""Width, in cells, of the two sides of a frame."""


def frame_top(title: Line, cells: int, border: str = "track") -> Line:
    """Return the upper border of a frame, with a title on the left."""
    sign = symbols()
    fitted = fit_line(title, max(cells - 7, 1))
    rule = sign.rule * max(cells - 5 - line_width(fitted), 0)
    return (
        (f"{sign.top_left}{sign.rule} ", border),
        *fitted,
        (f" {rule}{sign.top_right}", border),
    )


def frame_side(line: Line, cells: int, border: str = "track") -> Line:
    """Return a line between the two sides of a frame."""
    sign = symbols()
    inner_cells = max(cells - FRAME_CELLS, 1)
    fitted = fit_line(line, inner_cells)
    blank = " " * max(inner_cells - line_width(fitted), 0)
    return ((f"{sign.bar} ", border), *fitted, (blank, ""), (f" {sign.bar}", border))


def frame_bottom(right_text: Line, cells: int, border: str = "track") -> Line:
    """Return the lower border of a frame, with a text on the right."""
    sign = symbols()
    fitted = fit_line(right_text, max(cells - 6, 1))
    gap = " " if fitted else sign.rule
    rule = sign.rule * max(cells - 5 - line_width(fitted), 0)
    return (
        (f"{sign.bottom_left}{rule}{gap}", border),
        *fitted,
        (f"{gap}{sign.rule}{sign.bottom_right}", border),
    )


def box_lines(title: str, lines: Sequence[Line], cells: int, bottom_right: Line = ()) -> list[Line]:
    """Return lines in a frame that is `cells` wide, with a title at the top left and a text at the
    bottom right.
    """
    fitted_title = truncate(title, max(cells - 7, 1))
    sides = [frame_side(line, cells) for line in lines]
    return [
        frame_top(make_line(fitted_title, "strong"), cells),
        *sides,
        frame_bottom(bottom_right, cells),
    ]


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


MIN_NAME_CELLS = 6
"""Minimum width, in cells, of a name in the path whose beginning is cut."""


def top_line(path: tuple[str, ...], right_text: Line, cells: int) -> Line:
    """Return the top line of a screen: the program name, the path to the screen, and a text on the
    right.

    `path`: sanitized names, the name of the screen last. If the line is too short, the first names
    are omitted or lose their beginning, because the end of a run's name distinguishes it from other
    runs of the model.
    """
    program = f" {PROGRAM_NAME} "
    room = cells - display_width(program) - line_width(right_text) - 4
    names = [truncate_middle(name, max(room, 4)) for name in _fit_path(path, room)]

    left = LineBuilder()
    left.add(program, "app")
    left.add("  ")
    for parent in names[:-1]:
        left.add(parent, "dim")
        left.add(f" {symbols().path} ", "dim")
    for name in names[-1:]:
        left.add(name, "strong")
    return justify_line(left.build(), (*right_text, (" ", "")), cells)


PATH_SEPARATOR_CELLS = 3


def _fit_path(path: Sequence[str], room: int) -> list[str]:
    """Omit the first names of a path until it fits into `room`. If there is room, the last omitted
    name keeps its end.
    """
    names = list(path)
    omitted = ""
    while len(names) > 1 and _path_width(names) > room:
        omitted = names.pop(0)

    free = room - _path_width(names) - PATH_SEPARATOR_CELLS
    if omitted and free >= MIN_NAME_CELLS:
        names.insert(0, truncate_middle(omitted, free, head_share=0))
    return names


def _path_width(names: Sequence[str]) -> int:
    return sum(display_width(name) + PATH_SEPARATOR_CELLS for name in names)
