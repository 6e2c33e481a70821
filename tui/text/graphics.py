"""Draw badges, bars, heat cells, intervals, frames and the top line.

Their text is readable without colour.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fcreview.model.sanitize import display_width, pad
from fcreview.tui.text.lines import (
    Line,
    StyledText,
    fit_line,
    justify_line,
    line_width,
    truncate,
    truncate_middle,
)
from fcreview.tui.text.styles import HEAT, symbols

PROGRAM_NAME = "fcreview"


def verdict_badge(value: Any) -> StyledText:
    """Return the badge of a verdict: ` PASS `, ` FAIL `, ` UNSURE `, a score such as ` 2 `, or `
    – ` for None.
    """
    if value is True:
        return " PASS ", "pass_badge"
    if value is False:
        return " FAIL ", "fail_badge"
    if value is None:
        return f" {symbols().none} ", "no_badge"
    return f" {str(value).upper()} ", "unsure_badge"


def share_bar(filled_share: float, cells: int, style: str = "primary") -> Line:
    """Return a bar whose filled part is `filled_share` (0 to 1).

    A share above 0 fills at least one cell.
    """
    sign = symbols()
    filled = 0 if filled_share <= 0 else max(round(min(filled_share, 1.0) * cells), 1)
    return (sign.filled * filled, style), (sign.track * (cells - filled), "track")


def progress_bar_line(name: str, done: int, total: int, cells: int) -> Line:
    """Return a line such as `pilot · anna  ━━━━──── 12 / 30`."""
    figure = f"{done:,} / {total:,}"
    bar_cells = max(min(18, cells - display_width(figure) - 16), 0)
    name_cells = max(cells - bar_cells - display_width(figure) - 3, 4)
    return (
        (pad(truncate_middle(name, name_cells), name_cells), "people"),
        ("  ", ""),
        *share_bar(done / total if total else 0, bar_cells),
        (" ", ""),
        (figure, ""),
    )


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

    def find_column(value: float) -> int:
        share = (value - scale[0]) / ((scale[1] - scale[0]) or 1)
        return round(max(0.0, min(share, 1.0)) * (cells - 1))

    first, last = find_column(low), find_column(high)
    parts = [
        (sign.filled, "") if first <= at <= last else (sign.track, "track") for at in range(cells)
    ]
    if marked_value is not None:
        parts[find_column(marked_value)] = (sign.official, "primary")
    parts[find_column(point)] = (sign.point, "strong")
    return tuple(parts)


FRAME_CELLS = 4
"""Width, in cells, of the two sides of a frame."""


def frame_top(title: Line, cells: int, border: str = "track") -> Line:
    """Return the upper border of a frame, with a title on the left."""
    sign, fitted = symbols(), fit_line(title, max(cells - 7, 1))
    rest = sign.rule * max(cells - 5 - line_width(fitted), 0)
    return ((f"{sign.top_left}{sign.rule} ", border), *fitted, (f" {rest}{sign.top_right}", border))


def frame_side(line: Line, cells: int, border: str = "track") -> Line:
    """Return a line between the two sides of a frame."""
    sign, inner = symbols(), max(cells - FRAME_CELLS, 1)
    fitted = fit_line(line, inner)
    blank = " " * max(inner - line_width(fitted), 0)
    return ((f"{sign.bar} ", border), *fitted, (blank, ""), (f" {sign.bar}", border))


def frame_bottom(right_text: Line, cells: int, border: str = "track") -> Line:
    """Return the lower border of a frame, with a text on the right."""
    sign, fitted = symbols(), fit_line(right_text, max(cells - 6, 1))
    gap = " " if fitted else sign.rule
    rest = sign.rule * max(cells - 5 - line_width(fitted), 0)
    return (
        (f"{sign.bottom_left}{rest}{gap}", border),
        *fitted,
        (f"{gap}{sign.rule}{sign.bottom_right}", border),
    )


def box_lines(title: str, lines: Sequence[Line], cells: int, bottom_right: Line = ()) -> list[Line]:
    """Return lines in a frame that is `cells` wide, with a title at the top left and a text at
    the bottom right.
    """
    head: Line = ((truncate(title, max(cells - 7, 1)), "strong"),)
    return [
        frame_top(head, cells),
        *(frame_side(line, cells) for line in lines),
        frame_bottom(bottom_right, cells),
    ]


def join_boxes(boxes: Sequence[Sequence[Line]]) -> list[Line]:
    """Return boxes of the same height side by side, one cell apart."""
    return [
        tuple(part for at, line in enumerate(row) for part in (*([(" ", "")] if at else []), *line))
        for row in zip(*boxes, strict=True)
    ]


MIN_NAME_CELLS = 6
"""Minimum width, in cells, of a name in the path whose beginning is cut."""


def top_line(path: tuple[str, ...], right_text: Line, cells: int) -> Line:
    """Return the top line of a screen: the program name, the path to the screen, and a text on the
    right.

    `path`: sanitized names, the name of the screen last. If the line is too short, the first names
    are omitted or lose their beginning, because the end of a run's name distinguishes it from other
    runs of the model.
    """
    sign = symbols()
    name: StyledText = (f" {PROGRAM_NAME} ", "app")
    room = cells - display_width(name[0]) - sum(display_width(text) for text, _ in right_text) - 4
    names, omitted = list(path), ""
    while len(names) > 1 and sum(display_width(each) + 3 for each in names) > room:
        omitted = names.pop(0)
    free = room - sum(display_width(each) + 3 for each in names) - 3
    if omitted and free >= MIN_NAME_CELLS:
        names.insert(0, truncate_middle(omitted, free, 0))
    left: list[StyledText] = [name, ("  ", "")]
    for at, each in enumerate(names):
        is_last = at == len(names) - 1
        left.append((truncate_middle(each, max(room, 4)), "strong" if is_last else "dim"))
        if not is_last:
            left.append((f" {sign.path} ", "dim"))
    return justify_line(tuple(left), (*right_text, (" ", "")), cells)
