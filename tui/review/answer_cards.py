"""Lay out a disagreement: the question, a card with the answer of each annotator, and the
automatic verdicts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fcreview.model.address import ITEM, describe_address
from fcreview.model.decision import format_answer_letter
from fcreview.model.effective_verdict import is_definite, is_same_verdict
from fcreview.model.incident import INCIDENT
from fcreview.model.item import Item, Verdict
from fcreview.model.review import CORRECT, Opinion
from fcreview.model.sanitize import display_width, sanitize
from fcreview.model.verdict import PASS_FAIL_CRITERIA
from fcreview.model.wording import format_verdict
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
from fcreview.tui.text.graphics import box_lines, join_boxes, share_bar, verdict_badge
from fcreview.tui.text.lines import (
    BLANK_LINE,
    Line,
    StyledText,
    fit_line,
    justify_line,
    key_hints_line,
    line_width,
    make_line,
    pad_text,
    truncate_middle,
    wrap_first_rows,
)
from fcreview.tui.text.styles import symbols

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
    """Return the question that the adjudicator answers, such as `Is this call correct?`.

    Sanitized.
    """
    criterion, last = case.disagreement.criterion, case.disagreement.target.rpartition("/")[2]
    part = _PARTS.get(last.partition(":")[0], "part")
    if is_fault_disagreement(case.disagreement):
        return "All pass. Which fault applies?"
    question = _QUESTIONS.get(criterion, "Which {criterion} applies?")
    return sanitize(question.format(criterion=criterion, part=part))


def question_line(cases: CaseList, case: AdjudicationCase, detail: ItemDetail, cells: int) -> Line:
    """Return the line ` Is this call correct?   simple_13 · turn 1 call 1            unresolved
    · 2 of 7`.
    """
    dot = f" {symbols().separator} "
    state, style = ("resolved", "good") if case.resolved else ("unresolved", "disputed")
    right: Line = (
        (" ", ""),
        (state, style),
        (f"{dot}{cases.at + 1} of {len(cases.cases)} ", "dim"),
    )
    target = case.disagreement.target
    name = sanitize(
        dot.join([detail.row.id, *([describe_address(target)] if target != ITEM else [])])
    )
    question = format_question(case)
    room = cells - line_width(right) - 5 - len(question)
    if room < min(len(name), MIN_CARD_CELLS):
        short = truncate_middle(case_name(case, detail), cells - line_width(right) - 3)
        return justify_line(((f" {short}", "strong"),), right, cells)
    return justify_line(
        ((f" {question}", "strong"), ("   ", ""), (truncate_middle(name, room), "dim")),
        right,
        cells,
    )


def adjudication_progress_line(cases: CaseList, annotator: str, cells: int) -> Line:
    """Return the right part of the top line: `━━━─── 3 of 8 resolved  lead`.

    `cells`: width of the screen.
    """
    total, done = len(cases.cases), cases.n_resolved
    name: Line = ((sanitize(annotator), "people"),)
    if not total:
        return name
    figure = "all resolved" if cases.are_all_resolved else f"{done} of {total} resolved"
    progress = share_bar(done / total, BAR_CELLS) if cells >= BOX_MIN_CELLS else ()
    return (*progress, (f"  {figure}  ", "strong"), *name)


def answer_lines(
    case: AdjudicationCase,
    item: Item,
    role: AdjudicatorRole,
    screen_size: tuple[int, int],
    pager_key: str,
) -> list[Line]:
    """Return the answers as cards, the adjudicator's review, the majority and the automatic
    verdicts, as far as they fit. Annotators are named only if the case is resolved. `screen_size`:
    (columns, rows).
    """
    cells, height = screen_size
    is_tall = height >= BOX_MIN_ROWS
    rows = height // 2 if is_tall else max(height * 3 // 8, MIN_CARD_ROWS + 3)
    has_box = is_tall and cells >= BOX_MIN_CELLS
    verdicts = _verdict_lines(case, item, role, cells - (4 if has_box else 1))
    below = box_lines("Majority and automatic verdicts", verdicts, cells) if has_box else verdicts
    hint = f"{symbols().ellipsis} {pager_key} shows all"
    shown = _answer_card_lines(
        case, cells, max(rows - len(below), MIN_CARD_ROWS + 1), hint, spaced=is_tall
    )
    if not has_box:
        below = [fit_line(((" ", ""), *line), cells) for line in below]
    return [*shown, *below[: max(rows - len(shown), 1)]]


def _answer_card_lines(
    case: AdjudicationCase, cells: int, max_rows: int, overflow_hint: str, *, spaced: bool
) -> list[Line]:
    answers = case.disagreement.answers
    per_row = max(min(len(answers), (cells + 1) // (MIN_CARD_CELLS + 1)), 1)
    n_rows = -(-len(answers) // per_row)
    if n_rows * MIN_CARD_ROWS > max_rows:
        lines = [
            _one_line_answer(at, answer, cells, show_name=case.resolved)
            for at, answer in enumerate(answers)
        ]
        return (
            lines
            if len(lines) <= max_rows
            else [*lines[: max_rows - 1], make_line(f" {overflow_hint}", "dim")]
        )
    width = (cells - per_row + 1) // per_row
    room = max_rows // n_rows - 2
    lines = []
    for first in range(0, len(answers), per_row):
        numbered = list(enumerate(answers))[first : first + per_row]
        contents = [
            _card_content(answer, width - 4, spaced=spaced and room > 3) for _, answer in numbered
        ]
        height = min(max(map(len, contents)), room)
        boxes = []
        for (at, answer), content in zip(numbered, contents, strict=True):
            if len(content) > height:
                content = (
                    [*content[: height - 1], make_line(overflow_hint, "dim")]
                    if height > 1
                    else content[:1]
                )
            blank: list[Line] = [BLANK_LINE] * (height - len(content))
            extra = (cells - per_row + 1) % per_row if at % per_row == per_row - 1 else 0
            boxes.append(
                box_lines(
                    _card_title(at, answer, show_name=case.resolved),
                    [*content, *blank],
                    width + extra,
                )
            )
        lines += join_boxes(boxes)
    return lines


def _card_title(index: int, answer: Opinion, *, show_name: bool) -> str:
    letter = format_answer_letter(index)
    return (
        f"{letter} {symbols().separator} {sanitize(answer.annotator)}"
        if show_name
        else f"Annotator {letter}"
    )


def _value_badge(value: Any, criterion: str) -> StyledText:
    if not is_definite(value) or (isinstance(value, bool) and criterion in PASS_FAIL_CRITERIA):
        return verdict_badge(value)
    return f" {format_verdict(value, criterion)} ", "unsure_badge"


def _card_content(answer: Opinion, cells: int, *, spaced: bool) -> list[Line]:
    badge = _value_badge(answer.verdict, answer.criterion)
    lines: list[Line] = [fit_line((badge,), cells)]
    if answer.fault:
        fault: Line = (("fault ", "dim"), (answer.fault, "strong"))
        joined = (badge, ("  ", ""), *fault)
        lines = [joined] if line_width(joined) <= cells else [*lines, fault]
    facts: list[Line] = (
        [make_line(f"tags {sanitize(', '.join(answer.tags))}", "dim")] if answer.tags else []
    )
    facts += [make_line("has a golden fix", "dim")] if answer.golden_fix else []
    lines += [fit_line(fact, cells) for fact in facts]
    if answer.note:
        rows, has_more = wrap_first_rows(answer.note, cells, MAX_NOTE_ROWS)
        if has_more:
            rows = [*rows[:-1], rows[-1].rstrip()[: cells - 2] + " " + symbols().ellipsis]
        lines += [
            *([BLANK_LINE] if spaced else []),
            *(make_line(row.rstrip(), "note") for row in rows),
        ]
    return lines


def _one_line_answer(index: int, answer: Opinion, cells: int, *, show_name: bool) -> Line:
    parts: list[StyledText] = [
        (f" {format_answer_letter(index)} ", "key"),
        _value_badge(answer.verdict, answer.criterion),
    ]
    parts += [("  fault ", "dim"), (answer.fault, "strong")] if answer.fault else []
    parts += [(f"  {sanitize(answer.annotator)}", "strong")] if show_name else []
    parts += [(f"  {wrap_first_rows(answer.note, cells, 1)[0][0]}", "note")] if answer.note else []
    return fit_line(tuple(parts), cells)


def _verdict_lines(
    case: AdjudicationCase, item: Item, role: AdjudicatorRole, cells: int
) -> list[Line]:
    disagreement, mine = case.disagreement, role.review
    rows: list[tuple[str, list[StyledText]]] = []
    if role.is_involved and not case.resolved:
        rows.append(("you", [("one answer is yours; let another person resolve it", "warn")]))
    if mine is not None and (mine.verdict is not None or mine.fault or mine.note):
        parts = [_value_badge(mine.verdict, mine.criterion)] if mine.verdict is not None else []
        parts += [("fault ", "dim"), (mine.fault, "strong")] if mine.fault else []
        rows.append(("you", [*parts, (sanitize(mine.note or ""), "note")]))
    if is_fault_disagreement(disagreement):
        rows.append(("majority", [(FAULT_UNRESOLVED, "")]))
    elif disagreement.majority is None:
        rows.append(("majority", [("none", "dim")]))
    else:
        votes = sum(
            is_same_verdict(answer.verdict, disagreement.majority)
            for answer in disagreement.answers
        )
        text = f"{votes} of {len(disagreement.answers)}, not applied"
        rows.append(
            (
                "majority",
                [_value_badge(disagreement.majority, disagreement.criterion), (text, "dim")],
            )
        )
    for verdict in list_verdicts_for_adjudication(item, disagreement):
        rows.append(
            (_source_name(verdict), _automatic_verdict_texts(verdict, disagreement.criterion))
        )
    label_cells = min(max(len(label) for label, _ in rows), MIN_CARD_CELLS)
    lines = []
    for label, parts in rows:
        line = _labelled_line(label, label_cells, parts)
        has_code = len(parts) > 1 and parts[-1][0] and parts[-1][1] == "dim"
        lines.append(line[:-2] if has_code and line_width(line) > cells else line)
    return lines


def _labelled_line(label: str, label_cells: int, parts: Sequence[StyledText]) -> Line:
    line: list[StyledText] = [pad_text(label, label_cells, "dim")]
    gap = "  "
    for text, style in parts:
        if text:
            line += [(gap, ""), (text, style)]
            gap = "" if text.endswith("fault ") else "  "
    return tuple(line)


def _source_name(verdict: Verdict) -> str:
    if verdict.source == "judge":
        return f"judge {sanitize(verdict.by)}" if verdict.by else "judge"
    return SOURCE_LABELS.get(verdict.source, verdict.source)


def _automatic_verdict_texts(verdict: Verdict, criterion: str) -> list[StyledText]:
    other = sanitize(verdict.criterion) if verdict.criterion != criterion else ""
    reason = sanitize(verdict.rationale or "")
    code = sanitize(verdict.error_type or "")
    return [
        (other, "dim"),
        _value_badge(verdict.value, verdict.criterion),
        (reason, "note"),
        (code, "dim"),
    ]


SHARED_ORDER = ("accept ", "pass", "fail", "golden wrong", "enter value", "fault", "note", "undo")
OPTIONAL_HINTS = (("previous", 2), ("unsure", 2), ("next", 2), ("palette", 1), ("golden wrong", 1))
"""(label, gap) of each hint that is omitted, in this order, if the line is too short. `gap`:
minimum number of blanks between hints, in cells.
"""


def adjudication_keys_line(hints: Sequence[tuple[str, str]], cells: int) -> Line:
    """Lay out (key, label) hints. The keys of verdict, fault, note and undo are never omitted."""
    accept = [(key, label) for key, label in hints if label.startswith("accept ")]
    kept = sorted((hint for hint in hints if hint not in accept), key=_hint_sort_key)
    if accept:
        keys = [key for key, _ in accept]
        are_consecutive = len(keys) > 1 and "".join(keys) in "123456789"
        joined = f"{keys[0]}-{keys[-1]}" if are_consecutive else " ".join(keys)
        kept.insert(
            0, (joined, "accept " + " ".join(label.removeprefix("accept ") for _, label in accept))
        )
    for label, gap in OPTIONAL_HINTS:
        if sum(display_width(f"{key} {name}") + gap for key, name in kept) > cells + gap - 1:
            kept = [hint for hint in kept if hint[1] != label]
    return key_hints_line(kept, cells, 1)


def _hint_sort_key(hint: tuple[str, str]) -> tuple[int, bool]:
    rank = next(
        (at for at, label in enumerate(SHARED_ORDER) if hint[1].startswith(label)),
        len(SHARED_ORDER),
    )
    return rank, hint[1] == "help"


def format_all_answers(case: AdjudicationCase, detail: ItemDetail) -> str:
    """Return all reviews of the annotators and the automatic verdicts as a text for the pager."""
    parts, disagreement = [], case.disagreement
    for at, answer in enumerate(disagreement.answers):
        annotator = f" · {answer.annotator}" if case.resolved else ""
        lines = [f"{format_answer_letter(at)}{annotator} · {format_opinion(answer)}"]
        lines += [f"tags: {', '.join(answer.tags)}"] if answer.tags else []
        lines += [f"golden fix: {answer.golden_fix}"] if answer.golden_fix else []
        lines += [answer.note] if answer.note else []
        parts.append("\n".join(lines))
    parts.append(f"majority · {format_majority(disagreement)}")
    for verdict in list_verdicts_for_adjudication(detail.item, disagreement):
        parts.append(f"{verdict.source} · {format_source_verdict(verdict, disagreement.criterion)}")
    return "\n\n".join(parts)
