"""Lay out a disagreement: the question, a card with the answer of each annotator, and the
automatic verdicts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

from fcreview.model.address import ITEM, describe_address
from fcreview.model.decision import (
    Disagreement,
    format_answer_letter,
)
from fcreview.model.effective_verdict import is_definite, is_same_verdict
from fcreview.model.golden_fix import count_changed_predictions, count_rescored_predictions
from fcreview.model.incident import INCIDENT
from fcreview.model.item import Item, Verdict
from fcreview.model.json_value import to_json_text
from fcreview.model.review import CORRECT, Opinion
from fcreview.model.sanitize import display_width, sanitize
from fcreview.model.verdict import PASS_FAIL_CRITERIA
from fcreview.model.wording import format_count, format_verdict
from fcreview.stats.agreement_ratings import (
    FAULT_UNRESOLVED,
    format_majority,
    format_opinion,
    format_source_verdict,
    is_fault_disagreement,
    list_verdicts_for_adjudication,
)
from fcreview.store.rows import ItemDetail
from fcreview.tui.item_view.verdicts import SOURCE_LABELS
from fcreview.tui.review.adjudication import AdjudicationCase, AdjudicatorRole, CaseList, case_name
from fcreview.tui.text.graphics import (
    FRAME_CELLS,
    box_lines,
    join_boxes,
    share_bar,
    verdict_badge,
)
from fcreview.tui.text.lines import (
    BLANK_LINE,
    KeyHint,
    Line,
    LineBuilder,
    StyledText,
    fit_line,
    format_json,
    justify_line,
    key_hints_line,
    line_width,
    make_line,
    truncate_middle,
    wrap_first_rows,
)
from fcreview.tui.text.styles import symbols
from fcreview.tui.verdict_keys import FAIL_KEY, GOLDEN_WRONG_KEY, PASS_KEY, UNSURE_KEY

MIN_CARD_CELLS = 19
MIN_CARD_ROWS = 3
MAX_NOTE_ROWS = 6
BOX_MIN_CELLS, BOX_MIN_ROWS = 100, 30
BAR_CELLS = 12

_PARTS = {"item": "item", "turn": "turn", "call": "call", "arg": "argument", "response": "response"}
_QUESTIONS = {
    CORRECT: "Is this {part} correct?",
    "equivalent": "Is this {part} equivalent to the golden answer?",
    "hallucinated": "Is this {part} hallucinated?",
    INCIDENT: "Does this {part} have no answer, for a reason outside the question?",
}


def format_question(case: AdjudicationCase) -> str:
    """Return the question that the adjudicator answers, such as `Is this call correct?`. Sanitized.

    It depends on the criterion and on the part of the item on which annotators disagree.
    """
    if case.disagreement.is_only_about_golden:
        return "Is this golden answer right?"
    if is_fault_disagreement(case.disagreement):
        return "All pass. Which fault applies?"
    criterion = case.disagreement.criterion
    # The address of the part ends with its kind and number, such as `call:1`.
    _, _, last_part = case.disagreement.target.rpartition("/")
    kind, _, _ = last_part.partition(":")
    question = _QUESTIONS.get(criterion, "Which {criterion} applies?")
    return sanitize(question.format(criterion=criterion, part=_PARTS.get(kind, "part")))


def question_line(cases: CaseList, case: AdjudicationCase, detail: ItemDetail, cells: int) -> Line:
    """Return ` Is this call correct? simple_13 · turn 1 call 1 unresolved · 2 of 7`.

    The line has the question, the name of the part on which annotators disagree, and the state of
    the case. A narrow line has the criterion instead of the question.
    """
    right = _case_state_line(cases, case)
    start = f" {format_question(case)}"
    gap = "   "
    # A blank is kept free before the state.
    free_cells = cells - line_width(right) - 1
    name = _name_disputed_part(case, detail)
    name_cells = free_cells - len(start) - len(gap)
    if name_cells >= min(len(name), MIN_CARD_CELLS):
        short_name = truncate_middle(name, name_cells)
        left: Line = ((start, "strong"), (gap, ""), (short_name, "dim"))
        return justify_line(left, right, cells)

    # Without room for the question, the criterion is a part of the name.
    short_name = truncate_middle(case_name(case, detail), free_cells - 2)
    return justify_line(make_line(f" {short_name}", "strong"), right, cells)


def _case_state_line(cases: CaseList, case: AdjudicationCase) -> Line:
    """Return ` unresolved · 2 of 7 `."""
    line = LineBuilder()
    line.add(" ")
    if case.resolved:
        line.add("resolved", "good")
    else:
        line.add("unresolved", "disputed")
    line.add(f" {symbols().separator} {cases.at + 1} of {len(cases.cases)} ", "dim")
    return line.build()


def _name_disputed_part(case: AdjudicationCase, detail: ItemDetail) -> str:
    """Return `simple_13 · turn 1 call 1`, or only the id if the item is disputed."""
    name = detail.row.id
    if case.disagreement.target != ITEM:
        name += f" {symbols().separator} {describe_address(case.disagreement.target)}"
    return sanitize(name)


def adjudication_progress_line(cases: CaseList, annotator: str, cells: int) -> Line:
    """Return the right part of the top line: `━━━─── 3 of 8 resolved lead`.

    A narrow screen, whose width is `cells`, has no bar.
    """
    n_cases = len(cases.cases)
    line = LineBuilder()
    if n_cases and cells >= BOX_MIN_CELLS:
        line.add_line(share_bar(cases.n_resolved / n_cases, BAR_CELLS))
    if n_cases:
        figure = f"{cases.n_resolved} of {n_cases} resolved"
        if cases.are_all_resolved:
            figure = "all resolved"
        line.add(f"  {figure}  ", "strong")
    line.add(sanitize(annotator), "people")
    return line.build()


def answer_lines(
    case: AdjudicationCase,
    item: Item,
    role: AdjudicatorRole,
    screen_size: tuple[int, int],
    pager_key: str,
) -> list[Line]:
    """Return the lines of a disagreement on the adjudication screen.

    The annotators' answers come first, as cards. Below them are the verdicts of the adjudicator,
    the majority and the automatic sources.

    Args:
        case: The disagreement. Annotators are named only if it is resolved.
        role: Who adjudicates.
        screen_size: Columns and rows of the screen.
        pager_key: Key that shows cards in full. A hint on a cut card names it.
    """
    cells, screen_rows = screen_size
    is_tall = screen_rows >= BOX_MIN_ROWS
    max_rows = _choose_max_rows(screen_rows)
    has_box = is_tall and cells >= BOX_MIN_CELLS
    below = _lines_below_cards(case, item, role, cells, has_box=has_box)

    cards = _answer_card_lines(
        case,
        cells,
        max_rows=max(max_rows - len(below), MIN_CARD_ROWS + 1),
        overflow_hint=f"{symbols().ellipsis} {pager_key} shows all",
        spaced=is_tall,
    )
    # If the cards need more rows than planned, the last verdicts are cut.
    n_rows_below = max(max_rows - len(cards), 1)
    return cards + below[:n_rows_below]


def _choose_max_rows(screen_rows: int) -> int:
    """Return the number of rows for answers and verdicts. The item below gets the others."""
    if screen_rows >= BOX_MIN_ROWS:
        return screen_rows // 2
    return max(screen_rows * 3 // 8, MIN_CARD_ROWS + 3)


def _lines_below_cards(
    case: AdjudicationCase, item: Item, role: AdjudicatorRole, cells: int, *, has_box: bool
) -> list[Line]:
    """Return the verdicts of the adjudicator, the majority and the automatic sources."""
    if has_box:
        verdicts = _verdict_lines(case, item, role, cells - FRAME_CELLS)
        return box_lines("Majority and automatic verdicts", verdicts, cells)
    # Without a box, a blank stands before each line.
    verdicts = _verdict_lines(case, item, role, cells - 1)
    return [fit_line(((" ", ""), *line), cells) for line in verdicts]


@dataclass(frozen=True, slots=True)
class _CardLayout:
    """Sizes of the cards of a disagreement, and what they show."""

    cells: int
    """Width of a row of cards."""
    cards_per_row: int
    max_content_rows: int
    """Maximum number of rows of a card, without the border."""
    overflow_hint: str
    """Last line of a card that does not fit."""
    spaced: bool
    """Whether a blank line precedes notes."""
    shows_names: bool

    def card_width(self, column: int) -> int:
        """Return the width, in cells, of the cards in a column. The first column is 0.

        Between two cards of a row is one free cell.
        """
        room = self.cells - self.cards_per_row + 1
        width = room // self.cards_per_row
        if column == self.cards_per_row - 1:
            # The last card takes the cells that do not divide evenly.
            width += room % self.cards_per_row
        return width

    def fit_content(self, content: list[Line], n_rows: int) -> list[Line]:
        """Fill a card with blank lines, or cut it, to `n_rows` rows."""
        if len(content) <= n_rows:
            return content + [BLANK_LINE] * (n_rows - len(content))
        if n_rows == 1:
            return content[:1]
        return [*content[: n_rows - 1], make_line(self.overflow_hint, "dim")]


def _answer_card_lines(
    case: AdjudicationCase, cells: int, *, max_rows: int, overflow_hint: str, spaced: bool
) -> list[Line]:
    """Return the answers as cards side by side. If there is no room for cards, return a line for
    each.

    Args:
        overflow_hint: Text at the end of a card that is cut.
        spaced: Whether to use blank lines inside cards if there is room.
    """
    answers = case.disagreement.answers
    # A blank stands between two cards.
    n_fitting_per_row = (cells + 1) // (MIN_CARD_CELLS + 1)
    per_row = max(min(len(answers), n_fitting_per_row), 1)
    n_card_rows = ceil(len(answers) / per_row)
    if n_card_rows * MIN_CARD_ROWS > max_rows:
        return _one_line_answers(case, cells, max_rows, overflow_hint)

    # All rows of cards have the same height.
    max_content_rows = max_rows // n_card_rows - BORDER_ROWS
    layout = _CardLayout(
        cells=cells,
        cards_per_row=per_row,
        max_content_rows=max_content_rows,
        overflow_hint=overflow_hint,
        spaced=spaced and max_content_rows > MIN_CARD_ROWS,
        shows_names=case.resolved,
    )
    lines: list[Line] = []
    for first_index in range(0, len(answers), per_row):
        row_answers = answers[first_index : first_index + per_row]
        lines += _card_row_lines(row_answers, first_index, layout)
    return lines


BORDER_ROWS = 2


def _card_row_lines(
    answers: Sequence[Opinion], first_index: int, layout: _CardLayout
) -> list[Line]:
    """Return cards of equal height side by side.

    `first_index`: index of the first answer. The index determines the letter of an answer, such as
    A.
    """
    # Only the last card of a row can be a few cells wider. All cards have the same text width, so
    # that equal texts look equal.
    content_cells = layout.card_width(0) - FRAME_CELLS
    contents = [_card_content(answer, content_cells, spaced=layout.spaced) for answer in answers]
    highest = max(len(content) for content in contents)
    n_rows = min(highest, layout.max_content_rows)

    boxes = []
    for column, (answer, content) in enumerate(zip(answers, contents, strict=True)):
        title = _card_title(first_index + column, answer, show_name=layout.shows_names)
        lines = layout.fit_content(content, n_rows)
        boxes.append(box_lines(title, lines, layout.card_width(column)))
    return join_boxes(boxes)


def _one_line_answers(
    case: AdjudicationCase, cells: int, max_rows: int, overflow_hint: str
) -> list[Line]:
    """Return the answers of the annotators, one on each line. The last line says that there are
    more.
    """
    lines = []
    for index, answer in enumerate(case.disagreement.answers):
        lines.append(_one_line_answer(index, answer, cells, show_name=case.resolved))
    if len(lines) <= max_rows:
        return lines
    return [*lines[: max_rows - 1], make_line(f" {overflow_hint}", "dim")]


def _card_title(index: int, answer: Opinion, *, show_name: bool) -> str:
    letter = format_answer_letter(index)
    if not show_name:
        return f"Annotator {letter}"
    return f"{letter} {symbols().separator} {sanitize(answer.annotator)}"


def _value_badge(value: Any, criterion: str) -> StyledText:
    is_pass_or_fail = isinstance(value, bool) and criterion in PASS_FAIL_CRITERIA
    if is_pass_or_fail or not is_definite(value):
        return verdict_badge(value)
    return f" {format_verdict(value, criterion)} ", "unsure_badge"


def _card_content(answer: Opinion, cells: int, *, spaced: bool) -> list[Line]:
    """Return the lines inside a card: verdict, fault, tags, golden fix and note."""
    lines = _card_verdict_lines(answer, cells)
    if answer.tags:
        tags = make_line(f"tags {sanitize(', '.join(answer.tags))}", "dim")
        lines.append(fit_line(tags, cells))
    lines += _golden_fix_lines(answer, cells)
    if not answer.note:
        return lines

    if spaced:
        lines.append(BLANK_LINE)
    rows, has_more = wrap_first_rows(answer.note, cells, MAX_NOTE_ROWS)
    if has_more:
        rows[-1] = _add_ellipsis(rows[-1], cells)
    lines += [make_line(row.rstrip(), "note") for row in rows]
    return lines


def _add_ellipsis(row: str, cells: int) -> str:
    """Return the last row of a text that goes on, with an ellipsis after a blank."""
    ellipsis = f" {symbols().ellipsis}"
    room = cells - len(ellipsis)
    return row.rstrip()[:room] + ellipsis


MAX_FIX_ROWS = 4


def _golden_fix_lines(answer: Opinion, cells: int) -> list[Line]:
    """Return the golden fix of an answer, and how many verdicts it changes."""
    if not answer.golden_fix:
        return []
    title = f"golden fix{_describe_fix_effect(answer)}"
    lines = [fit_line(make_line(title, "golden"), cells)]
    text = to_json_text(_unwrap_single_field(answer.golden_fix))
    rows, has_more = wrap_first_rows(text, cells, MAX_FIX_ROWS)
    if has_more:
        rows[-1] = _add_ellipsis(rows[-1], cells)
    return lines + [make_line(row.rstrip(), "golden") for row in rows]


def _unwrap_single_field(golden_fix: dict[str, Any]) -> Any:
    """Return the golden answer without the name of the only field of its record."""
    if len(golden_fix) != 1:
        return golden_fix
    (value,) = golden_fix.values()
    return value


def _describe_fix_effect(answer: Opinion) -> str:
    """Return ` proposed · changes 2 of 12 answers`. Empty for a fix without a status."""
    if answer.golden_status is None:
        return ""
    n_answers = count_rescored_predictions(answer.golden_verdicts)
    n_changes = count_changed_predictions(answer.golden_verdicts)
    answers = format_count(n_answers, "answer")
    return (
        f" {sanitize(answer.golden_status)} {symbols().separator} changes {n_changes} of {answers}"
    )


def _card_verdict_lines(answer: Opinion, cells: int) -> list[Line]:
    """Return the verdict and the fault, on one line if they fit."""
    badge = _value_badge(answer.verdict, answer.criterion)
    if not answer.fault:
        return [fit_line((badge,), cells)]
    fault: Line = (("fault ", "dim"), (answer.fault, "strong"))
    joined: Line = (badge, ("  ", ""), *fault)
    if line_width(joined) <= cells:
        return [joined]
    return [fit_line((badge,), cells), fault]


def _one_line_answer(index: int, answer: Opinion, cells: int, *, show_name: bool) -> Line:
    """Return an answer on one line, where there is no room for cards."""
    line = LineBuilder()
    line.add(f" {format_answer_letter(index)} ", "key")
    line.add(*_value_badge(answer.verdict, answer.criterion))
    if answer.fault:
        line.add("  fault ", "dim")
        line.add(answer.fault, "strong")
    if answer.golden_fix:
        line.add(f"  golden fix{_describe_fix_effect(answer)}", "golden")
    if show_name:
        line.add(f"  {sanitize(answer.annotator)}", "strong")
    if answer.note:
        first_rows = wrap_first_rows(answer.note, cells, 1)
        line.add(f"  {first_rows.rows[0]}", "note")
    return fit_line(line.build(), cells)


@dataclass(frozen=True, slots=True)
class _VerdictRow:
    """Line about a verdict, below the answers."""

    label: str
    parts: Sequence[StyledText]
    """Texts with gaps between them. Empty texts are omitted."""
    optional_part: StyledText = ("", "")
    """Text at the end that is omitted if it does not fit."""

    def build_line(self, label_cells: int, cells: int) -> Line:
        line = _labelled_line(self.label, label_cells, [*self.parts, self.optional_part])
        if line_width(line) <= cells:
            return line
        return _labelled_line(self.label, label_cells, self.parts)


def _verdict_lines(
    case: AdjudicationCase, item: Item, role: AdjudicatorRole, cells: int
) -> list[Line]:
    """Return the rows below the answers, with their labels in a column. A line may be wider than
    `cells`.
    """
    rows = _list_own_verdict_rows(case, role)
    rows.append(_majority_row(case.disagreement))
    for verdict in list_verdicts_for_adjudication(item, case.disagreement):
        rows.append(_automatic_verdict_row(verdict, case.disagreement.criterion))

    longest_label = max(len(row.label) for row in rows)
    label_cells = min(longest_label, MIN_CARD_CELLS)
    return [row.build_line(label_cells, cells) for row in rows]


def _list_own_verdict_rows(case: AdjudicationCase, role: AdjudicatorRole) -> list[_VerdictRow]:
    """Return the rows about the adjudicator: a warning, and their own review.

    The warning appears if one of the disputed answers is theirs, because another person should
    decide.
    """
    rows = []
    if role.is_involved and not case.resolved:
        warning = "one answer is yours; let another person resolve it"
        rows.append(_VerdictRow("you", [(warning, "warn")]))

    own = role.review
    if own is None or (own.verdict is None and not own.fault and not own.note):
        return rows
    parts: list[StyledText] = []
    if own.verdict is not None:
        parts.append(_value_badge(own.verdict, own.criterion))
    if own.fault:
        parts.append(("fault ", "dim"))
        parts.append((own.fault, "strong"))
    parts.append((sanitize(own.note or ""), "note"))
    # The item's list of reviews uses `you` for their answer as an annotator, which can differ.
    rows.append(_VerdictRow("adjudication", parts))
    return rows


def _majority_row(disagreement: Disagreement) -> _VerdictRow:
    """Return what most annotators answered. The majority is information only, and is not
    applied.
    """
    if is_fault_disagreement(disagreement):
        return _VerdictRow("majority", [(FAULT_UNRESOLVED, "")])
    majority = disagreement.majority
    if majority is None:
        return _VerdictRow("majority", [("none", "dim")])
    n_answers = len(disagreement.answers)
    n_votes = sum(is_same_verdict(answer.verdict, majority) for answer in disagreement.answers)
    return _VerdictRow(
        "majority",
        [_value_badge(majority, disagreement.criterion)],
        optional_part=(f"{n_votes} of {n_answers}, not applied", "dim"),
    )


def _automatic_verdict_row(verdict: Verdict, disputed_criterion: str) -> _VerdictRow:
    """Return an automatic verdict with its rationale and its error type.

    Its criterion is named only if it is another one than the disputed one.
    """
    criterion = ""
    if verdict.criterion != disputed_criterion:
        criterion = sanitize(verdict.criterion)
    return _VerdictRow(
        _source_name(verdict),
        [
            (criterion, "dim"),
            _value_badge(verdict.value, verdict.criterion),
            (sanitize(verdict.rationale or ""), "note"),
        ],
        optional_part=(sanitize(verdict.error_type or ""), "dim"),
    )


def _labelled_line(label: str, label_cells: int, parts: Sequence[StyledText]) -> Line:
    """Return a label and the parts that exist, with gaps between them: `you FAIL fault model`."""
    line = LineBuilder()
    line.add_padded(label, label_cells, "dim")
    previous_text = label
    for text, style in parts:
        if not text:
            continue
        # After the title `fault `, which ends with a blank, comes the fault itself.
        if not previous_text.endswith("fault "):
            line.add("  ")
        line.add(text, style)
        previous_text = text
    return line.build()


def _source_name(verdict: Verdict) -> str:
    if verdict.source == "judge":
        return f"judge {sanitize(verdict.by)}" if verdict.by else "judge"
    return SOURCE_LABELS.get(verdict.source, verdict.source)


ACCEPT_PREFIX = "accept "
SHARED_ORDER = (
    ACCEPT_PREFIX,
    PASS_KEY.label,
    FAIL_KEY.label,
    GOLDEN_WRONG_KEY.label,
    "enter value",
    "fault",
    "note",
    "undo",
)
"""Beginnings of the labels of the first hints, in their order."""
OPTIONAL_HINTS = (
    ("previous", 2),
    (UNSURE_KEY.label, 2),
    ("next", 2),
    ("palette", 1),
    (GOLDEN_WRONG_KEY.label, 1),
)
"""(label, gap) of each hint that is omitted, in this order, if the line is too short.

The hint is omitted if fewer than `gap` blanks would be between hints. So the first hints are
already omitted for comfortable gaps, and the last ones only if not even single blanks fit.
"""


def adjudication_keys_line(hints: Sequence[KeyHint], cells: int) -> Line:
    """Return the key line of the adjudication screen.

    The keys that accept an answer come first, joined to one hint. If there is no room, optional
    hints are omitted, but never the keys of verdict, fault, note and undo. `hints`: (key, label)
    pairs.
    """
    accept_hints = [(key, label) for key, label in hints if label.startswith(ACCEPT_PREFIX)]
    other_hints = [(key, label) for key, label in hints if not label.startswith(ACCEPT_PREFIX)]
    shown = sorted(other_hints, key=_hint_sort_key)
    if accept_hints:
        shown.insert(0, _join_accept_hints(accept_hints))

    # Omit one optional hint after the other, each only if the remaining hints are too wide.
    for optional_label, gap in OPTIONAL_HINTS:
        if not _hints_fit(shown, gap, cells):
            shown = [(key, label) for key, label in shown if label != optional_label]
    return key_hints_line(shown, cells, n_always_shown=1)


def _hints_fit(hints: Sequence[KeyHint], gap: int, cells: int) -> bool:
    """Whether hints with at least `gap` blanks between them fit into a line of `cells`."""
    hint_cells = sum(display_width(f"{key} {label}") for key, label in hints)
    gap_cells = (len(hints) - 1) * gap
    # The line begins with a blank.
    return 1 + hint_cells + gap_cells <= cells


def _join_accept_hints(hints: Sequence[KeyHint]) -> KeyHint:
    """Return one hint for several answers, such as `1-3` and `accept A B C`."""
    keys = [key for key, _ in hints]
    letters = [label.removeprefix(ACCEPT_PREFIX) for _, label in hints]

    joined_keys = " ".join(keys)
    are_consecutive_digits = len(keys) > 1 and "".join(keys) in "123456789"
    if are_consecutive_digits:
        joined_keys = f"{keys[0]}-{keys[-1]}"
    return joined_keys, ACCEPT_PREFIX + " ".join(letters)


def _hint_sort_key(hint: KeyHint) -> tuple[int, bool]:
    """Return the sort key of a hint in the key line: the rank of its label in `SHARED_ORDER`.

    Other hints follow, and the hint for the help is last.
    """
    _, label = hint
    for rank, beginning in enumerate(SHARED_ORDER):
        if label.startswith(beginning):
            return rank, False
    return len(SHARED_ORDER), label == "help"


def format_all_answers(case: AdjudicationCase, detail: ItemDetail) -> str:
    """Return all reviews of the annotators and the automatic verdicts as a text for the pager."""
    disagreement = case.disagreement
    paragraphs = []
    for index, answer in enumerate(disagreement.answers):
        paragraphs.append(_format_answer(index, answer, show_name=case.resolved))
    paragraphs.append(f"majority · {format_majority(disagreement)}")
    for verdict in list_verdicts_for_adjudication(detail.item, disagreement):
        value = format_source_verdict(verdict, disagreement.criterion)
        paragraphs.append(f"{verdict.source} · {value}")
    return "\n\n".join(paragraphs)


def _format_answer(index: int, answer: Opinion, *, show_name: bool) -> str:
    """Format an answer in full: verdict, tags, golden fix and note, each on a line."""
    annotator = f" · {answer.annotator}" if show_name else ""
    lines = [f"{format_answer_letter(index)}{annotator} · {format_opinion(answer)}"]
    if answer.tags:
        lines.append(f"tags: {', '.join(answer.tags)}")
    if answer.golden_fix:
        lines.append(f"golden fix{_describe_fix_effect(answer)}:")
        lines.append(format_json(answer.golden_fix))
    if answer.note:
        lines.append(answer.note)
    return "\n".join(lines)
