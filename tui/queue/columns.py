"""Choose the columns of the queue that fit the width of the list, and format the cells of a row."""

from __future__ import annotations

import re
from collections.abc import (
    Mapping,
)
from dataclasses import (
    dataclass,
    replace,
)
from typing import Any, Literal, NamedTuple, assert_never

from fcreview.model.incident import WEAK_NOTE, describe_incident, format_incident_title
from fcreview.model.sanitize import display_width, pad, sanitize
from fcreview.model.wording import INCIDENT_PREFIX, describe_error_type
from fcreview.store.rows import SUSPECTS_QUEUE, ColumnWidths, QueueRow, Suspicion
from fcreview.tui.text.lines import (
    BLANK_LINE,
    Line,
    LineBuilder,
    StyledText,
    center_text,
    fit_line,
    line_width,
    make_line,
    plain_text,
    truncate,
    truncate_difference,
    truncate_middle,
)
from fcreview.tui.text.run_names import use_own_separator
from fcreview.tui.text.short_names import (
    measure_common_prefix,
    measure_distinguishing_endings,
    shorten_run_names,
)
from fcreview.tui.text.styles import get_verdict_style, symbols

EQUAL_CALLS = "calls are equal"
PASSES_WITH_CORRECTION = "passes with the golden fix"
CALLED_FUNCTION = re.compile(r"(?P<predicted>.+) called \(golden (?P<golden>.+)\)")
DIFFERENCE_TEXTS = (
    re.compile(r"(?P<predicted>\S+) called \(golden (?P<golden>.+)\)"),
    re.compile(r"(?P<predicted>a call that cannot be decoded) \(golden (?P<golden>.+)\)"),
    re.compile(r"(?P<predicted>\S+) called, not in golden"),
    re.compile(r"(?P<golden>\S+) not called"),
    re.compile(r"(?P<what>\S+) (?P<predicted>.+?) \((?:golden (?P<golden>.+)|not in golden)\)"),
)
NAME = re.compile(r"[\w.]+")
MIN_VALUE_CELLS = 4
ABSENT = ("missing", "not called")
"""Words for an argument or call that the prediction lacks."""
WORD_BOUNDARY = re.compile(r"[\W_]")


@dataclass(slots=True, kw_only=True)
class SuspectRow(QueueRow):
    """Row of the queue of suspects."""

    suspicion: Suspicion
    is_first_weak: bool
    """Whether the rows above are strong suspects, and this row and the rows below are not."""


def find_displayed_error_type(row: QueueRow) -> str:
    """Return the official error type or, without one, that of a recomputed fail. Else an empty
    text.
    """
    if row.error_type:
        return row.error_type
    if row.rule is False:
        return row.rule_error_type or ""
    return ""


def difference_line(row: QueueRow) -> Line:
    """Return the text in the last column of the queue, usually the first difference between the
    calls.

    For an item without an answer, the text is the reason. For an item that passes with a corrected
    golden answer, it says so. For an item without a difference, it is the meaning of the error
    type.
    """
    if row.is_incident:
        return make_line(describe_incident(row.incident or "", row.incident_certainty), "warn")
    if row.golden_verdict:
        # The difference is one from the golden answer that annotators replaced.
        return make_line(PASSES_WITH_CORRECTION, "dim")
    if not row.first_difference:
        return _line_without_difference(row)
    pair = _find_value_pair(row, row.first_difference)
    if pair is None:
        return make_line(sanitize(row.first_difference))
    return pair.build_line()


def _line_without_difference(row: QueueRow) -> Line:
    """Return the text of the last column for an item without a first difference: its error type in
    words.

    If the calls are equal and the item fails nevertheless, the text says so.
    """
    error_type = find_displayed_error_type(row)
    meaning = describe_error_type(error_type)
    if meaning:
        return make_line(meaning)
    has_calls = row.n_golden > 0 and row.n_predicted > 0
    if row.official is False and has_calls and not error_type:
        return make_line(EQUAL_CALLS, "dim")
    return BLANK_LINE


def _find_value_pair(row: QueueRow, text: str) -> _ValuePair | None:
    """Return the golden and the predicted side of an item's first difference, or None if they are
    unknown.

    `text`: the first difference in words. If the store has the two values, they count. If not, the
    text says which function is called on which side.
    """
    if row.diff_argument and (row.diff_golden or row.diff_predicted):
        return _ValuePair.sanitize(
            _find_differing_path(row.diff_argument, text),
            golden=row.diff_golden or "none",
            predicted=row.diff_predicted or "missing",
        )

    function = row.diff_function
    if function and text == f"{function} not called":
        return _ValuePair.sanitize("", golden=function, predicted="not called")
    if function and text == f"{function} called, not in golden":
        return _ValuePair.sanitize("", golden="no call", predicted=function)
    match = CALLED_FUNCTION.fullmatch(text)
    if match:
        return _ValuePair.sanitize("function", golden=match["golden"], predicted=match["predicted"])
    return None


def _find_differing_path(argument: str, text: str) -> str:
    """Return where an argument differs, according to the text that describes the difference.

    This is the path of a nested value, such as `address.city`, if the text begins with a path in
    the argument, and else the name of the argument.
    """
    path, _, _ = text.partition(" ")
    is_nested = path.startswith((f"{argument}.", f"{argument}["))
    return path if is_nested else argument


NAME_GAP = "  "


@dataclass(frozen=True, slots=True)
class _ValuePair:
    """The two sides of a first difference, sanitized."""

    name: str
    """Name of the argument. Empty if the calls as a whole differ."""
    golden: str
    predicted: str

    @classmethod
    def sanitize(cls, name: str | None, *, golden: str, predicted: str) -> _ValuePair:
        return cls(sanitize(name or ""), golden=sanitize(golden), predicted=sanitize(predicted))

    @classmethod
    def from_line(cls, line: Line) -> _ValuePair:
        """Return the pair from which `build_line` made the line."""
        *head, (golden, _), _, (predicted, _) = line
        name = plain_text(tuple(head)).removesuffix(NAME_GAP)
        return cls(name, golden=golden, predicted=predicted)

    @property
    def name_part(self) -> Line:
        return make_line(self.name + NAME_GAP) if self.name else BLANK_LINE

    @property
    def predicted_part(self) -> Line:
        return ((f" {symbols().arrow} ", "dim"), (self.predicted, "predicted"))

    def build_line(self) -> Line:
        return (*self.name_part, (self.golden, "golden"), *self.predicted_part)

    def find_room_for_values(self, width: int) -> int:
        """Return the cells that a line of `width` cells has for both values."""
        return width - line_width(self.build_line()) + self.values_width

    @property
    def values_width(self) -> int:
        return display_width(self.golden) + display_width(self.predicted)

    def cut_common_beginning(self, cells: int) -> _ValuePair:
        """Replace the common beginning of the values by an ellipsis. `cells`: width for each
        value.
        """
        start = _find_differing_word_start(self.golden, self.predicted, cells)
        if not start:
            return self
        ellipsis = symbols().ellipsis
        return replace(
            self,
            golden=ellipsis + self.golden[start:],
            predicted=ellipsis + self.predicted[start:],
        )

    def truncate_values(self, cells: int) -> _ValuePair:
        """Shorten both values to `cells`. A short value leaves its room to the other one."""
        golden_cells = max(cells // 2, cells - display_width(self.predicted))
        golden = _truncate_value(self.golden, min(golden_cells, display_width(self.golden)))
        predicted = _truncate_value(self.predicted, cells - display_width(golden))
        return replace(self, golden=golden, predicted=predicted)


def parse_difference_line(text: str) -> Line:
    """Return a first difference in words as a styled line with a golden and a predicted side.

    A text of unknown form is one part without a style.
    """
    for pattern in DIFFERENCE_TEXTS:
        match = pattern.fullmatch(text)
        if match is None:
            continue
        parts = match.groupdict()
        pair = _ValuePair.sanitize(
            parts.get("what"),
            golden=parts.get("golden") or "none",
            predicted=parts.get("predicted") or "not called",
        )
        return pair.build_line()
    return make_line(sanitize(text))


MIN_VALUE_PAIR_PARTS = 3
"""Number of parts of a line with two values: golden value, sign and predicted value."""


def shorten_difference_line(line: Line, width: int) -> Line:
    """Shorten a line of `difference_line`, such as `city Rome → Paris`, to `width` cells.

    The values are cut where they differ: first, their common beginning goes.
    """
    if line_width(line) <= width:
        return line
    is_value_pair = len(line) >= MIN_VALUE_PAIR_PARTS
    if not is_value_pair:
        text, style = line[0]
        return make_line(truncate_difference(text, width), style)

    whole_pair = _ValuePair.from_line(line)
    # The prediction lacks the argument or the call, so there are no two values to compare.
    if whole_pair.predicted in ABSENT:
        return _shorten_line_without_prediction(whole_pair, width)
    cells_of_value = whole_pair.find_room_for_values(width) // 2
    return _shorten_value_pair(whole_pair.cut_common_beginning(cells_of_value), width)


def _shorten_value_pair(pair: _ValuePair, width: int) -> Line:
    """Shorten the two values of a difference to fit into `width`.

    If the values would be narrower than their minimum, the name of the argument is cut too.
    """
    min_values_width = _find_min_values_width(pair, width)
    n_missing_cells = min_values_width - pair.find_room_for_values(width)
    narrower_pair = _shorten_argument_name(pair, n_missing_cells)

    values_width = narrower_pair.find_room_for_values(width)
    if values_width < min_values_width:
        # Even a short name leaves too little room, so the end of the line is cut.
        return fit_line(narrower_pair.build_line(), width)
    return narrower_pair.truncate_values(values_width).build_line()


def _shorten_argument_name(pair: _ValuePair, n_cells: int) -> _ValuePair:
    """Return the pair with a name that is `n_cells` narrower, but keeps at least
    `MIN_VALUE_CELLS`. A number below 1 changes nothing.
    """
    if n_cells <= 0 or not pair.name:
        return pair
    name_cells = max(display_width(pair.name) - n_cells, MIN_VALUE_CELLS)
    return replace(pair, name=truncate(pair.name.rstrip(), name_cells))


def _find_min_values_width(pair: _ValuePair, width: int) -> int:
    """Return the minimum width of both values together, in a line of `width` cells."""
    are_cut_to_ends = pair.predicted.startswith(symbols().ellipsis)
    if are_cut_to_ends:
        # Only the ends are left, in which the values differ.
        return min(pair.values_width, width // 2)
    return min(pair.values_width, 2 * MIN_VALUE_CELLS)


def _shorten_line_without_prediction(pair: _ValuePair, width: int) -> Line:
    """Shorten the line of a golden value or call that the prediction lacks: `city Rome → missing`.

    If the golden value does not fit beside the name of the argument, it is omitted, because the
    name says what is missing.
    """
    cells_without_prediction = width - line_width(pair.predicted_part)
    golden_cells = cells_without_prediction - line_width(pair.name_part)
    if golden_cells >= MIN_VALUE_CELLS:
        golden = _truncate_value(pair.golden, golden_cells)
        return (*pair.name_part, (golden, "golden"), *pair.predicted_part)

    # Only one part fits: the name of the argument or, for a call, its function.
    first_cells = max(cells_without_prediction, MIN_VALUE_CELLS)
    if pair.name:
        first_part = make_line(truncate(pair.name.rstrip(), first_cells))
    else:
        first_part = make_line(truncate(pair.golden, first_cells), "golden")
    return fit_line((*first_part, *pair.predicted_part), width)


def _find_differing_word_start(golden: str, predicted: str, width: int) -> int:
    """Return the index of the golden value at which its shown part begins, so that the difference
    fits into `width`.

    0 if the values are equal, or if only a few characters would be cut.
    """
    if golden == predicted:
        return 0

    # Begin with the whole word in which the values differ.
    n_common = measure_common_prefix((golden, predicted))
    word_starts = [match.end() for match in WORD_BOUNDARY.finditer(golden, 0, n_common)]
    start = max(word_starts, default=0)

    # A very long word would push the difference out of the column, so it is cut too.
    n_equal_in_word = n_common - start
    cells_for_difference = width - n_equal_in_word
    if cells_for_difference <= MIN_DIFFERENCE_CHARS:
        start = n_common - CONTEXT_CHARS

    # The ellipsis for only a few characters would save no room.
    return start if start >= MIN_OMITTED_CHARS else 0


MIN_DIFFERENCE_CHARS = 3
"""Number of characters after the equal ones of a word that must fit, or else the word is cut."""
MIN_OMITTED_CHARS = 3
"""Smallest number of characters that are worth an ellipsis."""
CONTEXT_CHARS = 2
"""Number of equal characters that are shown before the first difference inside a long word."""


def _truncate_value(text: str, width: int) -> str:
    if NAME.fullmatch(text) and display_width(text) > width:
        return truncate_middle(text, width, 0)
    return truncate(text, width)


CellColumnName = Literal["item", "model", "category", "score", "official", "rule", "judge", "you"]
"""Columns whose cells have one style. The difference has several."""
ColumnName = CellColumnName | Literal["difference"]
VerdictColumnName = Literal["official", "rule", "judge", "you"]
VERDICT_TITLES: dict[VerdictColumnName, str] = {
    "official": "official",
    "rule": "recomp.",
    "judge": "judge",
    "you": "you",
}
NARROW_TITLES: dict[VerdictColumnName, str] = VERDICT_TITLES | {"official": "offic."}
"""Titles of verdict columns in a list that has no room for the whole words."""
DIFFERENCE_TITLE = "first difference: golden {arrow} predicted"
SHORT_DIFFERENCE_TITLE = "golden {arrow} predicted"
"""Title of the first difference where the whole title does not fit."""
SUSPICION_TITLE = "reason for suspicion"
SCORE_CELLS = 5
FIRST_WEAK = "weak evidence from here"
MIN_DIFFERENCE_CELLS = 18
PREFERRED_DIFFERENCE_CELLS = 36
"""Preferred width, in cells, of the first difference, for which long ids and run names are cut."""
PREFERRED_SUSPICION_CELLS = 28
MIN_ID_CELLS = 12
COMFORTABLE_DIFFERENCE_CELLS = 28
"""Minimum width, in cells, of the first difference, for which verdict columns and the category
are omitted.
"""
MIN_COLUMN_CELLS = 8
NARROW_CELLS = 60
"""Width of the list, in cells, below which run names are cut to `MIN_MODEL_CELLS`."""
MIN_MODEL_CELLS = 5
MAX_SPARED_CELLS = 2
"""Number of cells that run names keep beyond the preferred width of the difference, if that shows
them whole.
"""
LEAD_CELLS = 3
"""Width, in cells, of the cursor, the flag and a blank before the columns."""
CATEGORY_MIN_CELLS = 90
"""Minimum width of the list, in cells, for the category."""
CATEGORY_MARGIN_CELLS = 2
"""Width, in cells, that the difference has beyond `COMFORTABLE_DIFFERENCE_CELLS` beside a
category.
"""


class QueueColumn(NamedTuple):
    name: ColumnName
    width: int
    """Width in cells, without the blank before the column."""


@dataclass(frozen=True, slots=True)
class QueueColumns:
    """Columns of the list of items, from left to right."""

    columns: tuple[QueueColumn, ...]
    shows_question: bool = False
    """Whether the column `difference` shows the question instead of the first difference."""
    has_narrow_titles: bool = False
    """Whether titles of verdict columns are shortened."""

    @classmethod
    def fit_to_width(cls, width: int, widths: ColumnWidths, *, blind: bool = False) -> QueueColumns:
        """Choose the columns of the queue and their widths, for a list that is `width` wide.

        Columns with the same value in all rows are omitted. In a narrow list, the recomputed, judge
        and official verdicts are omitted too, in this order, before ids are cut.
        """
        limits = _ColumnLimits.choose(width, widths)
        verdicts = _choose_verdict_columns(limits, _list_differing_verdicts(widths, blind=blind))

        # Each column takes its width and a blank from the free cells.
        free = limits.count_free_cells(verdicts)
        model = _choose_model_width(free, limits, widths)
        free_beside_model = free - _width_with_blank(model)
        item = _choose_item_width(free_beside_model, limits, widths)
        free_beside_item = free_beside_model - _width_with_blank(item)
        category = _choose_category_width(free_beside_item, limits, widths)

        # The difference gets the rest, without the blank before it.
        difference = free_beside_item - _width_with_blank(category) - 1
        if difference < MIN_COLUMN_CELLS:
            difference = 0

        columns = [
            QueueColumn("item", item),
            QueueColumn("model", model),
            QueueColumn("category", category),
            QueueColumn("score", limits.score),
            *verdicts.columns,
            QueueColumn("difference", difference),
        ]
        return cls(
            tuple(column for column in columns if column.width > 0),
            shows_question=blind or not (widths.has_difference or widths.error),
            has_narrow_titles=verdicts.has_narrow_titles,
        )


def _width_with_blank(width: int) -> int:
    """Return the cells that a column takes from the list. A column of width 0 is not shown."""
    return width + 1 if width > 0 else 0


@dataclass(frozen=True, slots=True)
class _SizeClass:
    """Largest and smallest widths of columns, for lists that are at least `min_list_width` wide.

    All numbers are cells.
    """

    min_list_width: int
    max_model: int
    min_item: int
    max_category: int


SIZE_CLASSES = (
    _SizeClass(min_list_width=140, max_model=30, min_item=34, max_category=22),
    _SizeClass(min_list_width=100, max_model=24, min_item=30, max_category=20),
    _SizeClass(min_list_width=0, max_model=16, min_item=18, max_category=14),
)
"""Size classes, the widest lists first."""
MIN_ITEM_WITHOUT_MODEL = 22
"""Width, in cells, below which ids are cut last in a narrow list without run names."""


@dataclass(frozen=True, slots=True)
class _ColumnLimits:
    """Limits of the columns of one list. All numbers are cells."""

    list_width: int
    max_model: int
    """Width of run names if there is room. 0 if all rows are of one run."""
    min_model: int
    min_item: int
    """Width below which ids are cut only for the least width of the difference."""
    max_category: int
    preferred_difference: int
    score: int
    """Width of the score. 0 if there is none."""

    @classmethod
    def choose(cls, list_width: int, widths: ColumnWidths) -> _ColumnLimits:
        """Choose the smallest and largest widths of the columns for a list that is `list_width`
        wide.

        `widths`: the widths of the longest texts.
        """
        size = _find_size_class(list_width)
        is_narrow = list_width < NARROW_CELLS

        if widths.model:
            max_model = min(max(widths.model, MIN_COLUMN_CELLS), size.max_model)
            min_model = MIN_MODEL_CELLS if is_narrow else MIN_COLUMN_CELLS
            min_item = size.min_item
        else:
            # All rows are of one run, so there is no column of run names.
            max_model = 0
            min_model = 0
            min_item = MIN_ITEM_WITHOUT_MODEL if is_narrow else size.min_item

        # Only the queue of suspects has scores. Its last column gives a reason for suspicion.
        score = 0
        preferred_difference = PREFERRED_DIFFERENCE_CELLS
        if widths.has_score:
            score = SCORE_CELLS
            preferred_difference = PREFERRED_SUSPICION_CELLS
        return cls(
            list_width=list_width,
            max_model=max_model,
            min_model=min_model,
            min_item=min(_needed_item_width(widths), min_item),
            max_category=size.max_category,
            preferred_difference=preferred_difference,
            score=score,
        )

    def count_free_cells(self, verdicts: _VerdictColumns) -> int:
        """Return the cells for the columns other than verdicts and score, with the blank before
        each column.
        """
        used = LEAD_CELLS + _width_with_blank(self.score) + verdicts.total_width
        return self.list_width - used

    def has_room_for_difference(self, verdicts: _VerdictColumns) -> bool:
        """Whether the first difference can have its preferred width beside these verdict columns.

        The columns of run names and ids then have their smallest widths.
        """
        free = self.count_free_cells(verdicts)
        difference = free - _width_with_blank(self.min_model) - _width_with_blank(self.min_item) - 1
        return difference >= self.preferred_difference


def _find_size_class(list_width: int) -> _SizeClass:
    for size in SIZE_CLASSES:
        if list_width >= size.min_list_width:
            return size
    raise ValueError(f"a list cannot be {list_width} cells wide")


@dataclass(frozen=True, slots=True)
class _VerdictColumns:
    """Verdict columns of a list. The annotator's own verdict is always shown."""

    automatic: frozenset[VerdictColumnName]
    has_narrow_titles: bool

    @property
    def columns(self) -> list[QueueColumn]:
        """The columns, which are as wide as their titles."""
        columns = []
        for name, title in _verdict_titles(is_narrow=self.has_narrow_titles).items():
            if name == "you" or name in self.automatic:
                columns.append(QueueColumn(name, len(title)))
        return columns

    @property
    def total_width(self) -> int:
        return sum(_width_with_blank(column.width) for column in self.columns)


def _list_differing_verdicts(widths: ColumnWidths, *, blind: bool) -> frozenset[VerdictColumnName]:
    """Return the automatic verdicts that have a column: those that exist and differ between rows.

    Blind review hides verdicts, and suspects need the room for the reasons.
    """
    is_queue_of_suspects = widths.has_score
    if blind or is_queue_of_suspects:
        return frozenset()
    existing: list[VerdictColumnName] = ["official"]
    if widths.has_rule:
        existing.append("rule")
    if widths.has_judge:
        existing.append("judge")
    return frozenset(name for name in existing if name not in widths.constant)


def _choose_verdict_columns(
    limits: _ColumnLimits, names: frozenset[VerdictColumnName]
) -> _VerdictColumns:
    """Return as many verdict columns as leave room for the first difference.

    If not all fit, their titles are shortened. If that is not enough, columns are omitted, those
    that matter least first.
    """
    choices = [
        _VerdictColumns(names, has_narrow_titles=False),
        _VerdictColumns(names, has_narrow_titles=True),
    ]
    omissions: tuple[VerdictColumnName, ...] = ("rule", "judge", "official")
    for n_omitted in range(1, len(omissions) + 1):
        remaining_names = names.difference(omissions[:n_omitted])
        choices.append(_VerdictColumns(remaining_names, has_narrow_titles=True))

    for choice in choices:
        if limits.has_room_for_difference(choice):
            return choice
    return choices[-1]


def _choose_model_width(free: int, limits: _ColumnLimits, widths: ColumnWidths) -> int:
    """Return the width of the column with run names, or 0 without this column.

    `free`: cells for this column and those after it.
    """
    width = limits.max_model
    if width:
        width = _shrink_model_column(width, free, limits, widths)
    if not widths.run_names:
        return width

    # The short forms can be narrower than the column.
    short_names = shorten_run_names(widths.run_names, width)
    return max(display_width(short_names.get(name, name)) for name in widths.run_names)


def _shrink_model_column(width: int, free: int, limits: _ColumnLimits, widths: ColumnWidths) -> int:
    """Return a smaller width for the column of run names, so that the column with the first
    difference between golden and predicted calls gets more room.

    The column of names shrinks until the difference has its preferred width. It keeps the endings
    by which the names differ, unless the difference would then be narrower than
    `COMFORTABLE_DIFFERENCE_CELLS`.

    Args:
        width: Width of the column of names before it shrinks.
        free: Cells for the names, the ids and the difference, each with a blank before it.
    """
    used_cells = _width_with_blank(width) + _width_with_blank(limits.min_item)
    blank_before_difference = 1
    difference_cells = free - used_cells - blank_before_difference

    # At these widths, the names leave a preferred or at least a comfortable difference.
    width_for_preferred = width - max(limits.preferred_difference - difference_cells, 0)
    width_for_comfort = width - max(COMFORTABLE_DIFFERENCE_CELLS - difference_cells, 0)

    endings_width = measure_distinguishing_endings(widths.run_names)
    kept_endings_width = min(endings_width, width_for_comfort)
    shrunk_width = max(width_for_preferred, kept_endings_width, limits.min_model)

    # To give a comfortable difference one or two more cells is no reason to cut a name in a word.
    is_comfortable = difference_cells >= COMFORTABLE_DIFFERENCE_CELLS
    if is_comfortable and width - shrunk_width <= MAX_SPARED_CELLS:
        return width
    return shrunk_width


def _needed_item_width(widths: ColumnWidths) -> int:
    return max(widths.item, len("item"))


def _choose_item_width(free: int, limits: _ColumnLimits, widths: ColumnWidths) -> int:
    """Return the width of the column of ids, which shares `free` cells with the first difference.

    The ids are shortened to `min_item` cells if the difference needs the room for its preferred
    width. They are shortened further, to `MIN_ID_CELLS`, only if the difference would be narrower
    than its minimum.
    """
    # A blank stands before the ids, and one before the difference.
    cells_for_both = free - 2
    beside_preferred_difference = cells_for_both - limits.preferred_difference
    beside_smallest_difference = cells_for_both - MIN_DIFFERENCE_CELLS
    return min(
        _needed_item_width(widths),
        max(beside_preferred_difference, limits.min_item),
        max(beside_smallest_difference, MIN_ID_CELLS),
    )


def _choose_category_width(free: int, limits: _ColumnLimits, widths: ColumnWidths) -> int:
    """Return the width of the category column.

    0 omits the column: if all items have the same category, if the ids contain it, or without room.
    """
    if not widths.category or widths.id_repeats_category:
        return 0
    if limits.list_width < CATEGORY_MIN_CELLS:
        return 0

    # A blank stands before the category, and one before the difference.
    cells_without_blanks = free - 2
    room = cells_without_blanks - COMFORTABLE_DIFFERENCE_CELLS - CATEGORY_MARGIN_CELLS
    needed = max(widths.category, len("category"))
    width = min(needed, limits.max_category, room)
    return width if width >= MIN_COLUMN_CELLS else 0


def _verdict_titles(*, is_narrow: bool) -> dict[VerdictColumnName, str]:
    return NARROW_TITLES if is_narrow else VERDICT_TITLES


EMPTY_COLUMNS = QueueColumns(())
NO_LABELS: Mapping[str, str] = {}


def queue_heading_line(columns: QueueColumns, queue_name: str = "") -> Line:
    """Return the titles of the columns of the queue, each cut to its column."""
    heading = LineBuilder()
    heading.add(" " * (LEAD_CELLS - 1), "dim")
    for column in columns.columns:
        title = _column_title(column.name, columns, queue_name)
        if display_width(title) > column.width:
            title = truncate(_shorten_difference_title(title), column.width)
        heading.add(f" {pad(title, column.width)}", "dim")
    return make_line(plain_text(heading.build()), "dim")


def _shorten_difference_title(title: str) -> str:
    """Return the short title of the first difference. Other titles have none."""
    arrow = symbols().arrow
    if title == DIFFERENCE_TITLE.format(arrow=arrow):
        return SHORT_DIFFERENCE_TITLE.format(arrow=arrow)
    return title


def _column_title(name: ColumnName, columns: QueueColumns, queue_name: str) -> str:
    """Return the title of a column. That of the last column depends on what the queue shows."""
    match name:
        case "item" | "model" | "category" | "score":
            return name
        case "official" | "rule" | "judge" | "you":
            return _verdict_titles(is_narrow=columns.has_narrow_titles)[name]
        case "difference":
            if queue_name == SUSPECTS_QUEUE:
                return SUSPICION_TITLE
            if columns.shows_question:
                return "question"
            return DIFFERENCE_TITLE.format(arrow=symbols().arrow)
        case _:
            assert_never(name)


def queue_row_line(
    row: QueueRow, columns: QueueColumns, short_names: Mapping[str, str] = NO_LABELS
) -> Line:
    """Return an item of the queue as a line: a flag and the cells of the columns.

    The flag is `i` for an item with import issues, or the symbol of a stale review. `short_names`:
    maps ids and run names to the forms that fit into their columns.
    """
    line = LineBuilder()
    line.add(*_row_flag(row))
    for column in columns.columns:
        line.add(" ")
        if column.name == "difference":
            line.add_line(_make_difference_cell(row, column.width, columns.shows_question))
        else:
            line.add(*_make_column_cell(row, column.name, column.width, short_names))
    return line.build()


def _row_flag(row: QueueRow) -> StyledText:
    if row.n_issues:
        return "i", "warn"
    if row.stale:
        return symbols().stale, "warn"
    return " ", ""


def _make_column_cell(
    row: QueueRow,
    column_name: CellColumnName,
    width: int,
    short_names: Mapping[str, str],
) -> StyledText:
    """Return the cell of a column other than the difference, padded to its width."""
    match column_name:
        case "item":
            return pad(_shorten_name(row.id, width, short_names), width), ""
        case "model":
            run_name = use_own_separator(_shorten_name(row.run_name, width, short_names))
            return pad(run_name, width), "dim"
        case "category":
            return pad(truncate_middle(sanitize(row.category), width), width), "dim"
        case "score":
            score = f"{row.suspicion.score:.2f}" if isinstance(row, SuspectRow) else ""
            return pad(score, width), ""
        case "official":
            return _automatic_verdict_cell(row.official, width)
        case "rule":
            return _automatic_verdict_cell(row.recomputed, width)
        case "judge":
            return _automatic_verdict_cell(row.judge, width)
        case "you":
            return _own_verdict_cell(row, width)
        case _:
            assert_never(column_name)


def _shorten_name(name: str, width: int, short_names: Mapping[str, str]) -> str:
    return short_names.get(name) or truncate_middle(sanitize(name), width)


def _automatic_verdict_cell(value: Any, width: int) -> StyledText:
    return center_text(symbols().verdict_symbol(value), width), get_verdict_style(value)


def _own_verdict_cell(row: QueueRow, width: int) -> StyledText:
    """Return the cell with the annotator's own verdict."""
    symbol = symbols().annotator_symbol(row.you, row.your_parts)
    if row.is_own_verdict_contradicted:
        # A verdict in parentheses does not count.
        return center_text(f"({symbol})", width), "dim"
    return center_text(symbol, width), get_verdict_style(row.you)


CODE_GAP = "   "
"""Blanks between the first difference and the code after it."""


def _make_difference_cell(row: QueueRow, width: int, shows_question: bool) -> Line:
    cell = LineBuilder()
    cell.add_line(_difference_text(row, width, shows_question=shows_question))
    cell.pad_to(width)
    return cell.build()


def _difference_text(row: QueueRow, width: int, *, shows_question: bool) -> Line:
    """Return the text of the last column, at most `width` wide.

    It is an incident, the question, a suspicion, or the first difference between the calls.
    """
    if row.is_incident:
        # In the list of suspects, the reason for the suspicion matters more.
        if isinstance(row, SuspectRow):
            return fit_line(_suspicion_line(row), width)
        # An incident reveals no verdict, so blind review shows it instead of the question.
        return _incident_text(row, width)

    if shows_question:
        return make_line(truncate(sanitize(row.question), width), "dim")
    if isinstance(row, SuspectRow):
        return fit_line(_suspicion_line(row), width)
    return _fit_difference(difference_line(row), row, width)


def _incident_text(row: QueueRow, width: int) -> Line:
    """Return what is missing in an item without an answer or, if that is too wide, only the title
    of the incident.
    """
    line = difference_line(row)
    if line_width(line) > width:
        line = make_line(format_incident_title(row.incident or ""), "warn")
    return _fit_difference(line, row, width)


def _fit_difference(line: Line, row: QueueRow, width: int) -> Line:
    """Shorten a line to `width`, or add the code of the difference if there is room."""
    n_free_cells = width - line_width(line)
    if n_free_cells < 0:
        return shorten_difference_line(line, width)
    code = _find_difference_code(row)
    if code and n_free_cells >= len(CODE_GAP) + display_width(code):
        return (*line, (CODE_GAP, ""), (code, "dim"))
    return line


def _find_difference_code(row: QueueRow) -> str:
    """Return the code that follows the first difference, usually the error type.

    For an item without an answer, it is the kind of the incident. If an empty reply may be an
    incident, it is a note on that.
    """
    if row.is_incident:
        return f"{INCIDENT_PREFIX}{row.incident}"
    if row.incident_certainty == "weak":
        return WEAK_NOTE
    return sanitize(find_displayed_error_type(row))


def _suspicion_line(row: SuspectRow) -> Line:
    """Return why a golden answer looks wrong, as `reason: details`.

    Weak reasons are dim. The suspects are sorted, and the first weak one is marked.
    """
    title, _, details = sanitize(row.suspicion.summary).partition(":")
    line = LineBuilder()
    if row.is_first_weak:
        line.add(f"{FIRST_WEAK} {symbols().separator} ", "warn")
    if row.suspicion.is_strong:
        line.add(f"{title}:", "strong")
        line.add(details)
    else:
        line.add(f"{title}:", "dim")
        line.add(details, "dim")
    return line.build()
