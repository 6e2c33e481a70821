"""Table of a figure, independent of where it is shown.

All texts are visible: the modules of the figures sanitize text from data.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Literal

SEPARATOR = " · "
"""Separates names in a cell. A terminal without this sign shows another."""
CellStyle = Literal["", "strong", "dim", "warn", "pass", "fail"]
Scale = Literal["share", "difference", "rank"]
"""Scale of the intervals of a table: to 1 from 0, or from a lower value if one is negative; or of
differences, which contains 0; or of ranks, from 1 to the worst.
"""
Cut = Literal["end", "middle", "run name", "word", "error type", "value pair", "id list"]
"""How a narrow table shortens a long text.

* `end`, `middle`: names mostly differ at their ends, so the middle of a name is cut
* `run name`: on a screen, the part stays in which the name differs from the others of the column
* `word`: after a word, or after the first name of a list
* `error type`: the part after the last colon stays, because error types of a family begin alike
* `value pair`: the beginnings of both values of `golden -> predicted` stay
* `id list`: ids at the end are omitted
"""
ALWAYS_SHOWN = 100
"""Priority of a column that no table omits."""


@dataclass(frozen=True, slots=True)
class Column:
    title: str
    _: KW_ONLY
    align_right: bool = False
    cut: Cut = "end"
    min_cells: int = 6
    """Width, in terminal cells, below which the column shrinks only if no other column can."""
    priority: int = ALWAYS_SHOWN
    """A table without room omits the columns with the lowest priority first. Columns with the same
    priority belong together, so that all of them are omitted.
    """
    is_code: bool = False
    """Whether the texts are identifiers, which HTML sets in a monospaced font."""


@dataclass(frozen=True, slots=True)
class Cell:
    text: str
    style: CellStyle = ""
    value: float | None = None
    """Number that the text shows, for a heat map: a rate from 0 to 1."""


EMPTY_CELL = Cell("")


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar of a bar chart.

    `share` is its length relative to the longest bar of the table, from 0 to 1.
    """

    share: float


@dataclass(frozen=True, slots=True)
class Whisker:
    """A figure with the ends of its 95 % interval and, for an estimate, the official pass rate.

    Shares are from 0 to 1. Agreement coefficients may be negative.
    """

    low: float
    value: float
    high: float
    official: float | None = None


def make_whisker(low: float | None, value: float | None, high: float | None) -> Whisker | None:
    """Return a whisker, or None if a part is unknown."""
    if low is None or value is None or high is None:
        return None
    return Whisker(low, value, high)


@dataclass(frozen=True, slots=True)
class Row:
    cells: Sequence[Cell]
    _: KW_ONLY
    level: int = 0
    """Indentation of the first cell. A row belongs to the last row above it with a lower level."""
    graphic: Bar | Whisker | None = None
    items: tuple[int, ...] = ()
    """Numbers of the items that the row is about. A screen opens them."""
    explanation: str = ""
    """Text about the row. A screen shows it below the table while the cursor is on the row, and a
    command below the row.
    """

    @property
    def texts(self) -> list[str]:
        return [cell.text for cell in self.cells]

    @property
    def is_heading(self) -> bool:
        """Whether only the first cell has a text, as in the heading of a group of rows."""
        return len(self.cells) > 1 and not any(cell.text for cell in self.cells[1:])


@dataclass(frozen=True, slots=True)
class Table:
    columns: Sequence[Column]
    rows: Sequence[Row]
    _: KW_ONLY
    title: str = ""
    """Title in lower case. Empty if the place where the table stands names it."""
    notes: Sequence[str] = ()
    """Sentences that explain the table."""
    graphic_at: int | None = None
    """Index of the column before which the graphics of the rows are drawn, if there is room. The
    number of columns stands for the right end, None for no graphics.
    """
    scale: Scale = "share"
    explained_column: int | None = None
    """Index of the column below which commands print the explanations of the rows. None if they do
    not print them.
    """
    heat_from: int = 0
    """Index of the first column whose cells have a background by their value. 0 for none."""

    @property
    def titles(self) -> list[str]:
        return [column.title for column in self.columns]

    @property
    def right_columns(self) -> list[int]:
        """Indexes of the columns that are aligned to the right."""
        return [index for index, column in enumerate(self.columns) if column.align_right]

    @property
    def scale_ends(self) -> tuple[float, float]:
        """Lowest and highest value of the common scale of the intervals.

        Ranks start at 1. Shares end at 1. A scale of shares or differences contains 0.
        """
        lows = [whisker.low for whisker in self.whiskers]
        highs = [whisker.high for whisker in self.whiskers]
        if self.scale == "rank":
            return 1.0, max([1.0, *highs])
        if self.scale == "share":
            return min([0.0, *lows]), 1.0
        return min([0.0, *lows]), max([0.0, *highs])

    @property
    def whiskers(self) -> list[Whisker]:
        return [row.graphic for row in self.rows if isinstance(row.graphic, Whisker)]

    @property
    def has_bars(self) -> bool:
        """Whether the graphics are bars, and not intervals."""
        return any(isinstance(row.graphic, Bar) for row in self.rows)

    def without_graphics(self) -> Table:
        """Return the table without the graphics of its rows."""
        rows = [replace(row, graphic=None) for row in self.rows]
        return replace(self, rows=rows, graphic_at=None)

    def without(self, titles: Collection[str]) -> Table:
        """Return the table without the columns that have one of these titles."""
        kept = [index for index, title in enumerate(self.titles) if title not in titles]

        def find_new_index(index: int | None) -> int | None:
            """Return the new index of a column: the number of kept columns before it."""
            if index is None:
                return None
            return sum(kept_index < index for kept_index in kept)

        rows = []
        for row in self.rows:
            rows.append(replace(row, cells=[row.cells[index] for index in kept]))
        return replace(
            self,
            columns=[self.columns[index] for index in kept],
            rows=rows,
            graphic_at=find_new_index(self.graphic_at),
            explained_column=find_new_index(self.explained_column),
        )


def make_row(texts: Iterable[str], *, level: int = 0, graphic: Bar | Whisker | None = None) -> Row:
    """Return a row of cells without styles."""
    return Row([Cell(text) for text in texts], level=level, graphic=graphic)


def make_heading_row(
    text: str, n_columns: int, *, items: tuple[int, ...] = (), explanation: str = ""
) -> Row:
    """Return a row that has only a heading in its first column."""
    cells = [Cell(text, "strong"), *[EMPTY_CELL] * (n_columns - 1)]
    return Row(cells, items=items, explanation=explanation)


def make_table(
    titles: Sequence[str], rows: Iterable[Sequence[str]], right_aligned: Collection[int] = ()
) -> Table:
    """Return a table of texts. `right_aligned` are indexes of columns."""
    columns = []
    for index, title in enumerate(titles):
        columns.append(Column(title, align_right=index in right_aligned))
    return Table(columns, [make_row(texts) for texts in rows])
