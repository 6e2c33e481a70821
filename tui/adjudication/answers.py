"""The answers to one dispute as lines: A, B, C, what the benchmark and most of the annotators say. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fcreview.agreement.answers import answer_text, majority_text, told_of, verdict_text
from fcreview.agreement.disputes import letter
from fcreview.model import Item
from fcreview.review import CORRECT, Opinion
from fcreview.sanitise import visible
from fcreview.store.rows import ItemDetail
from fcreview.targets import ITEM, words
from fcreview.text.words import count_of, word
from fcreview.tui.adjudication.docket import Case, Docket
from fcreview.tui.document.verdicts import value_words
from fcreview.tui.text.format import cut_middle
from fcreview.tui.text.lines import Line, Part, fit, labelled, line_width, rule, spread, wrap_text
from fcreview.tui.text.theme import symbols, verdict_style

NOTE_ROWS = 2
"""Rows of an answer's note; all of it is a key away."""
SAID = 10
"""Cells before what the benchmark says."""


def name_of(case: Case, detail: ItemDetail) -> str:
    """`simple_13 · turn 1 call 1 · equivalent`; visible text."""
    dispute = case.dispute
    about = [words(dispute.target)] if dispute.target != ITEM else []
    return visible(f" {symbols().between} ".join([detail.row.id, *about, dispute.criterion]))


def header_line(docket: Docket, detail: ItemDetail | None, cells: int) -> Line:
    """` disputed 2/7   simple_13 · call 1 · equivalent            settled 1 of 7`."""
    count = "all settled" if docket.done else f"settled {docket.settled} of {len(docket.cases)}"
    right: Line = ((f" {count} ", "good" if docket.done else "dim"),)
    if docket.case is None or detail is None:
        return spread(((" adjudication", "strong"),), right if docket.cases else (), cells)
    state = "settled" if docket.case.settled else "disputed"
    left: Line = ((f" {state} {docket.at + 1}/{len(docket.cases)}", "good" if docket.case.settled else "disputed"),)
    room = cells - line_width(left) - line_width(right) - 4
    return spread((*left, ("   ", ""), (cut_middle(name_of(docket.case, detail), room), "strong")), right, cells)


def answer_lines(case: Case, cells: int) -> list[Line]:
    """Whose an answer is stands there only when it is settled."""
    lines: list[Line] = []
    for at, answer in enumerate(case.dispute.answers):
        lines += _answer(at, answer, cells, named=case.settled)
    return lines


@dataclass(frozen=True, slots=True)
class Room:
    """For the answers and what belongs to them."""

    cells: int
    rows: int
    whole_key: str
    """Shows what is cut."""


def panel(case: Case, item: Item, mine: Opinion | None, room: Room) -> list[Line]:
    """The answers, what the adjudicator said, and as much of what the benchmark says as there is room for."""
    cells, most = room.cells, room.rows
    answers = [*answer_lines(case, cells), *_own(mine, cells)]
    told = benchmark_lines(case, item, cells)
    if len(answers) > most - 1:
        answers = [*answers[: most - 2], ((f"     {symbols().ellipsis} {room.whole_key}: all answers", "dim"),)]
    return [*answers, *told[: most - len(answers)]]


def _own(mine: Opinion | None, cells: int) -> list[Line]:
    if mine is None or (mine.verdict is None and not mine.fault and not mine.note):
        return []
    said = [word(mine.verdict, mine.criterion)] if mine.verdict is not None else []
    said += [f"wrong: {mine.fault}"] if mine.fault else []
    said += [visible(mine.note)] if mine.note else []
    return [fit(((f" {'you':<{SAID - 1}}", "strong"), (f" {symbols().between} ".join(said), "")), cells)]


def _answer(at: int, answer: Opinion, cells: int, *, named: bool) -> list[Line]:
    mark = value_words(answer.verdict, answer.criterion)
    shown = f" {mark}" if len(mark) == 1 and mark != answer_text(answer) else ""
    head: list[Part] = [
        (f" {letter(at)}", "key"),
        (shown, verdict_style(answer.verdict)),
        (f" {answer_text(answer)}", ""),
    ]
    head += [(f"   {visible(answer.annotator)}", "strong")] if named else []
    head += [(f"   tags {visible(', '.join(answer.tags))}", "dim")] if answer.tags else []
    head += [("   has a golden fix", "dim")] if answer.golden_fix else []
    lines = [fit(tuple(head), cells)]
    if answer.note:
        rows = wrap_text(answer.note, cells - 6, NOTE_ROWS + 1)
        cut = (
            rows[:NOTE_ROWS]
            if len(rows) <= NOTE_ROWS
            else [*rows[: NOTE_ROWS - 1], _more(rows[NOTE_ROWS - 1], cells - 6)]
        )
        lines += labelled("     ", cut, "dim")
    return lines


def _more(row: str, cells: int) -> str:
    return fit(((row, ""),), cells - 2)[0][0].rstrip() + " " + symbols().ellipsis


def benchmark_lines(case: Case, item: Item, cells: int) -> list[Line]:
    """What most say, and what the benchmark says of this very thing."""
    lines: list[Line] = labelled(f" {'majority':<{SAID - 1}}", wrap_text(majority_text(case.dispute), cells - SAID, 1))
    for verdict in told_of(item, case.dispute):
        text = verdict_text(verdict, case.dispute.criterion)
        made = wrap_text(text, cells - SAID, 3)
        lines += labelled(
            f" {verdict.source:<{SAID - 1}}", made[:2] if len(made) < 3 else [made[0], _more(made[1], cells - SAID)]
        )
    return lines


def mark_line(case: Case, cells: int) -> list[Line]:
    """Stands above the disputed part in the item's text."""
    about = "" if case.dispute.criterion == CORRECT else f" {symbols().between} {visible(case.dispute.criterion)}"
    what = "settled" if case.settled else "disputed"
    return [rule(((f"{what}{about}", "good" if case.settled else "disputed"),), cells)]


def whole_text(case: Case, detail: ItemDetail) -> str:
    """Every answer and what the benchmark says, as a text for the pager."""
    parts = []
    for at, answer in enumerate(case.dispute.answers):
        who = f" · {answer.annotator}" if case.settled else ""
        more = [f"tags: {', '.join(answer.tags)}"] if answer.tags else []
        more += [f"golden fix: {answer.golden_fix}"] if answer.golden_fix else []
        parts.append(
            "\n".join([f"{letter(at)}{who} · {answer_text(answer)}", *more, *([answer.note] if answer.note else [])])
        )
    parts.append(f"majority · {majority_text(case.dispute)}")
    parts += [f"{v.source} · {verdict_text(v, case.dispute.criterion)}" for v in told_of(detail.item, case.dispute)]
    return "\n\n".join(parts)


def names_of(answers: Sequence[Opinion]) -> str:
    """`A alice, B bob`: said once it is settled."""
    return visible(", ".join(f"{letter(at)} {answer.annotator}" for at, answer in enumerate(answers)))


def left_text(docket: Docket) -> str:
    open_ = len(docket.cases) - docket.settled
    if not docket.cases:
        return "nothing is disputed"
    return "all settled" if not open_ else f"{count_of(open_, 'target')} left to settle"
