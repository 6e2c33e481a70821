"""Adjudication without the screen: the list of disagreements, the lines that show one, and the adjudicator's reviews.

Annotators' names are hidden until a disagreement is resolved. A review is on disk before its message is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from fcreview.model.address import ITEM, words
from fcreview.model.decision import Dispute, letter
from fcreview.model.item import Item
from fcreview.model.review import CORRECT, Fault, Opinion, Said
from fcreview.model.sanitize import visible
from fcreview.model.verdict import Scale, decides, scale_of
from fcreview.model.wording import count_of, word
from fcreview.stats.agreement import answer_text, majority_text, only_fault, told_of, verdict_text
from fcreview.store.rows import ItemDetail, View
from fcreview.tui.item_view.blocks import Block
from fcreview.tui.item_view.verdicts import value_words
from fcreview.tui.review.cursor import Cursor
from fcreview.tui.review.item_reviewer import ActionRunner
from fcreview.tui.review.judge import VERDICTS, KeyLookup, event_words
from fcreview.tui.review.prefetch import number_of
from fcreview.tui.review.status import SILENT, Remark
from fcreview.tui.text.lines import Line, Part, cut_middle, fit, labelled, line_width, rule, spread, wrap_text
from fcreview.tui.text.theme import symbols, verdict_style

if TYPE_CHECKING:
    from fcreview.store.store import Store
    from fcreview.tui.session import Session


CaseKey = tuple[int, str, str]
"""(item, target, criterion)"""


@dataclass(slots=True)
class AdjudicationCase:
    """A target on which annotators disagree, as it was when it was last open."""

    item: int
    """`QueueRow.item`"""
    dispute: Dispute
    resolved: bool = False

    @property
    def key(self) -> CaseKey:
        return self.item, self.dispute.target, self.dispute.criterion


@dataclass(slots=True)
class CaseList:
    """Disagreements and the position of the adjudicator. Parts come before their item, because resolving them often
    resolves the item."""

    cases: list[AdjudicationCase] = field(default_factory=list)
    at: int = 0

    @classmethod
    def of(cls, found: Iterable[tuple[int, Dispute]]) -> CaseList:
        """Make the list. `found`: (item, dispute) pairs in the order of items."""
        cases = [AdjudicationCase(item, dispute) for item, dispute in found]
        place = {item: at for at, item in enumerate(dict.fromkeys(case.item for case in cases))}
        return cls(sorted(cases, key=lambda case: (place[case.item], case.dispute.target == ITEM)))

    @property
    def case(self) -> AdjudicationCase | None:
        """The displayed case, or None if the list is empty."""
        return self.cases[self.at] if self.cases else None

    @property
    def resolved(self) -> int:
        """Number of resolved cases."""
        return sum(case.resolved for case in self.cases)

    @property
    def done(self) -> bool:
        return self.resolved == len(self.cases)

    def renew(self, item: int, disputes: Sequence[Dispute]) -> None:
        """Update the cases of an item to its open disputes. A new dispute is placed after the item's other ones."""
        here = self.case
        open_ = {(item, each.target, each.criterion): each for each in disputes}
        for case in self.cases:
            if case.item == item:
                now = open_.pop(case.key, None)
                case.resolved, case.dispute = now is None, now or case.dispute
        last = max((at for at, case in enumerate(self.cases) if case.item == item), default=len(self.cases) - 1)
        self.cases[last + 1 : last + 1] = [AdjudicationCase(item, each) for each in open_.values()]
        if here is not None:
            self.at = self.cases.index(here)

    def next_open(self) -> bool:
        """Move to the next unresolved case, wrapping around. False if there is none."""
        size = len(self.cases)
        for step in range(1, size + 1):
            if not self.cases[(self.at + step) % size].resolved:
                self.at = (self.at + step) % size
                return True
        return False

    def step(self, by: int) -> bool:
        """Move to the next (1) or previous (-1) case. False at either end."""
        if not 0 <= self.at + by < len(self.cases):
            return False
        self.at += by
        return True

    def find(self, key: CaseKey) -> bool:
        """Move to the case with this key. False if there is none."""
        found = next((at for at, case in enumerate(self.cases) if case.key == key), None)
        if found is not None:
            self.at = found
        return found is not None


NOTE_ROWS = 2
"""Rows shown of an answer's note. The pager shows all of it."""
LABEL_CELLS = 10
"""Width of the label in front of a verdict, in cells."""


def name_of(case: AdjudicationCase, detail: ItemDetail) -> str:
    """The case's name as safe text: `simple_13 · turn 1 call 1 · equivalent`."""
    dispute = case.dispute
    about = [words(dispute.target)] if dispute.target != ITEM else []
    return visible(f" {symbols().between} ".join([detail.row.id, *about, dispute.criterion]))


def header_line(cases: CaseList, detail: ItemDetail | None, cells: int) -> Line:
    """` disputed 2/7   simple_13 · call 1 · equivalent            resolved 1 of 7`."""
    count = "all resolved" if cases.done else f"resolved {cases.resolved} of {len(cases.cases)}"
    right: Line = ((f" {count} ", "good" if cases.done else "dim"),)
    if cases.case is None or detail is None:
        return spread(((" adjudication", "strong"),), right if cases.cases else (), cells)
    state = "resolved" if cases.case.resolved else "disputed"
    left: Line = ((f" {state} {cases.at + 1}/{len(cases.cases)}", "good" if cases.case.resolved else "disputed"),)
    room = cells - line_width(left) - line_width(right) - 4
    return spread((*left, ("   ", ""), (cut_middle(name_of(cases.case, detail), room), "strong")), right, cells)


def answer_lines(case: AdjudicationCase, cells: int) -> list[Line]:
    """The answers, with their annotators' names once the case is resolved."""
    lines: list[Line] = []
    for at, answer in enumerate(case.dispute.answers):
        lines += _answer(at, answer, cells, named=case.resolved)
    return lines


@dataclass(frozen=True, slots=True)
class PanelSize:
    """Size of the panel of answers."""

    cells: int
    rows: int
    pager_key: str
    """Key that shows all answers in the pager."""


def panel(case: AdjudicationCase, item: Item, mine: Opinion | None, size: PanelSize) -> list[Line]:
    """The answers, the adjudicator's own review, and as many of the benchmark's verdicts as fit."""
    cells, most = size.cells, size.rows
    answers = [*answer_lines(case, cells), *_own(mine, cells)]
    automatic = benchmark_lines(case, item, cells)
    if len(answers) > most - 1:
        answers = [*answers[: most - 2], ((f"     {symbols().ellipsis} {size.pager_key}: all answers", "dim"),)]
    return [*answers, *automatic[: most - len(answers)]]


def _own(mine: Opinion | None, cells: int) -> list[Line]:
    if mine is None or (mine.verdict is None and not mine.fault and not mine.note):
        return []
    parts = [word(mine.verdict, mine.criterion)] if mine.verdict is not None else []
    parts += [f"fault: {mine.fault}"] if mine.fault else []
    parts += [visible(mine.note)] if mine.note else []
    return [fit(((f" {'you':<{LABEL_CELLS - 1}}", "strong"), (f" {symbols().between} ".join(parts), "")), cells)]


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


def benchmark_lines(case: AdjudicationCase, item: Item, cells: int) -> list[Line]:
    """The majority and the benchmark's verdicts on the target and criterion."""
    lines: list[Line] = labelled(
        f" {'majority':<{LABEL_CELLS - 1}}", wrap_text(majority_text(case.dispute), cells - LABEL_CELLS, 1)
    )
    for verdict in told_of(item, case.dispute):
        text = verdict_text(verdict, case.dispute.criterion)
        made = wrap_text(text, cells - LABEL_CELLS, 3)
        rows = made[:2] if len(made) < 3 else [made[0], _more(made[1], cells - LABEL_CELLS)]
        lines += labelled(f" {verdict.source:<{LABEL_CELLS - 1}}", rows)
    return lines


def mark_line(case: AdjudicationCase, cells: int) -> list[Line]:
    """The line above the disputed part in the item's text."""
    about = "" if case.dispute.criterion == CORRECT else f" {symbols().between} {visible(case.dispute.criterion)}"
    what = "resolved" if case.resolved else "disputed"
    return [rule(((f"{what}{about}", "good" if case.resolved else "disputed"),), cells)]


def whole_text(case: AdjudicationCase, detail: ItemDetail) -> str:
    """All answers and the benchmark's verdicts as a text for the pager."""
    parts = []
    for at, answer in enumerate(case.dispute.answers):
        who = f" · {answer.annotator}" if case.resolved else ""
        more = [f"tags: {', '.join(answer.tags)}"] if answer.tags else []
        more += [f"golden fix: {answer.golden_fix}"] if answer.golden_fix else []
        parts.append(
            "\n".join([f"{letter(at)}{who} · {answer_text(answer)}", *more, *([answer.note] if answer.note else [])])
        )
    parts.append(f"majority · {majority_text(case.dispute)}")
    parts += [f"{v.source} · {verdict_text(v, case.dispute.criterion)}" for v in told_of(detail.item, case.dispute)]
    return "\n\n".join(parts)


def names_of(answers: Sequence[Opinion]) -> str:
    """The annotators of the answers: `A alice, B bob`."""
    return visible(", ".join(f"{letter(at)} {answer.annotator}" for at, answer in enumerate(answers)))


def left_text(cases: CaseList) -> str:
    """Number of cases left: `2 targets left to resolve`."""
    open_ = len(cases.cases) - cases.resolved
    if not cases.cases:
        return "no disagreements"
    return "all resolved" if not open_ else f"{count_of(open_, 'target')} left to resolve"


MARK = "disputed"


@dataclass(slots=True)
class DisputeCursor(Cursor):
    """A cursor in the item of a case, with the disputed part marked."""

    case: AdjudicationCase | None = None

    def show_case(self, case: AdjudicationCase, detail: ItemDetail) -> None:
        """Show another case with the cursor at its target."""
        self.case = case
        self.show(_unnamed(case, detail))
        self.at = self._place() if case.dispute.target != ITEM else self.at

    def renew_case(self, case: AdjudicationCase, detail: ItemDetail) -> None:
        """Show the same case with its current reviews."""
        self.case = case
        self.renew(_unnamed(case, detail))

    def _place(self) -> int:
        target = self.case.dispute.target if self.case else ITEM
        exact = (at for at, block in enumerate(self.blocks) if target in (block.target, block.key))
        return next(exact, self.index_of(target))

    def _build(self, key: str) -> None:
        Cursor._build(self, key)
        if self.case is not None and self.case.dispute.target != ITEM:
            at = self._place()
            self.blocks.insert(at, Block(MARK, partial(mark_line, self.case), parent=self.blocks[at].parent))


def _unnamed(case: AdjudicationCase, detail: ItemDetail) -> ItemDetail:
    return detail if case.resolved else replace(detail, opinions=[], history=[])


Found = list[tuple[int, "Dispute"]]


class AdjudicationView(Protocol):
    """The screen that shows a dispute, as `Adjudicator` uses it."""

    def say(self, remark: Remark) -> None:
        """Show a message in the status line."""
        ...

    def run(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine as long as the screen exists."""
        ...

    def begin(self, remark: Remark) -> None:
        """Show another dispute, or that there is none."""
        ...

    def renew(self, remark: Remark) -> None:
        """Show the same dispute with its current reviews."""
        ...


class Adjudicator:
    """Records the adjudicator's reviews and moves from case to case."""

    def __init__(self, session: Session, view: View, screen: AdjudicationView, key: KeyLookup) -> None:
        self.cases = CaseList()
        self.detail: ItemDetail | None = None
        """The item of the displayed case."""
        self.begun = False
        """True once the list of cases was read."""
        self._session, self._view, self._screen, self._key = session, view, screen, key
        self._runner = ActionRunner(session, screen.say, screen.run)

    def open(self) -> None:
        self._runner.do(self._open, "searching for disagreements")

    def take(self, number: int) -> None:
        """Accept the answer with this number, from 1."""
        case = self.cases.case
        if case is None or number > len(case.dispute.answers):
            return
        answer = case.dispute.answers[number - 1]
        if not decides(answer.verdict):
            self._runner.say(f"{letter(number - 1)} is unsure and cannot be accepted", "warn")
            return
        self._review(case, verdict=answer.verdict, fault=answer.fault, golden_fix=answer.golden_fix)

    def verdict(self, key: str) -> None:
        """Record a verdict. `key` is one of `judge.VERDICTS`."""
        case = self.cases.case
        if case is None:
            return
        value, fault = VERDICTS[key]
        mine = self.mine
        if fault is None and mine is not None and mine.verdict is None:
            fault = mine.fault  # recorded before the verdict, which would clear it
        self._review(case, verdict=value, fault=fault)

    def other(self, text: str) -> None:
        """Record another value of the criterion's scale. `text`: as it was typed."""
        case = self.cases.case
        if case is None:
            return
        try:
            value = self._scale(case).value(text.strip())
        except ValueError as error:
            self._runner.say(f"{visible(case.dispute.criterion)} is {error}, not {visible(text)}", "warn")
            return
        self._review(case, verdict=value)

    def fault(self, fault: Fault) -> None:
        """Record who is to blame."""
        case = self.cases.case
        if case is not None:
            passes = only_fault(case.dispute) and not case.resolved
            self._review(case, verdict=True if passes else None, fault=fault)

    def note(self, note: str) -> None:
        """Record a note."""
        if self.cases.case is not None:
            self._review(self.cases.case, note=note)

    def undo(self) -> None:
        """Retract the adjudicator's latest review and show its case."""
        self._runner.do(self._undo)

    def step(self, by: int) -> None:
        self._runner.do(partial(self._step, by))

    def leave(self, done: Callable[[], Any]) -> None:
        """Call `done` after the queued actions."""

        async def go() -> bool:
            done()
            return True

        self._runner.do(go)

    @property
    def mine(self) -> Opinion | None:
        """This adjudicator's review of the displayed case."""
        case, detail = self.cases.case, self.detail
        if case is None or detail is None:
            return None
        wanted = (self._session.annotator, case.dispute.target, case.dispute.criterion, True)
        return next(
            (
                o
                for o in detail.opinions
                if (o.annotator, o.target, o.criterion, o.adjudicated) == wanted and not o.stale
            ),
            None,
        )

    def allowed(self) -> str:
        """The values of the displayed case's scale, as text."""
        return self._scale(self.cases.case).allowed() if self.cases.case else ""

    def _scale(self, case: AdjudicationCase) -> Scale:
        verdicts = self.detail.item.verdicts if self.detail else []
        seen = [v.value for v in verdicts if v.criterion == case.dispute.criterion]
        held = [o.verdict for o in case.dispute.answers if decides(o.verdict)]
        return scale_of(case.dispute.criterion, seen or held) or Scale()

    def _review(self, case: AdjudicationCase, **fields: Any) -> None:
        """Record a review of the case that was on screen when the key was pressed."""
        act = Said(act="adjudicate", target=case.dispute.target, criterion=case.dispute.criterion, **fields)
        self._runner.do(partial(self._save, case, act))

    async def _open(self) -> bool:
        await self._session.ready()
        self.cases = CaseList.of(await self._session.ask(partial(_found, self._view)))
        self.begun = True
        await self._show(SILENT)
        return True

    async def _save(self, case: AdjudicationCase, annotation: Said) -> bool:
        words = _words(annotation)
        try:
            await self._session.review(case.item, annotation)
        except Exception as error:  # whatever the reason, the adjudicator must see that it is not saved
            self._runner.say(f"NOT SAVED ({words}): {visible(str(error) or type(error).__name__)}", "bad")
            return False
        was = case.resolved
        await self._renew(case.item)
        goes_on = self.cases.case is case and annotation.verdict is not None
        if case.resolved and not was:
            text = f"resolved: {words} {self._names(case)}"
        else:
            unresolved = annotation.verdict is not None and not decides(annotation.verdict)
            text = f"saved: {words}" + (" (still unresolved)" if unresolved else "")
        if goes_on and self.cases.next_open():
            await self._show(Remark(text))
        else:
            await self._again(Remark(f"{text} · {left_text(self.cases)}" if goes_on else text))
        return True

    @staticmethod
    def _names(case: AdjudicationCase) -> str:
        return f"({names_of(case.dispute.answers)})"

    async def _undo(self) -> bool:
        event = await self._session.undo()
        if event is None:
            self._runner.say("nothing to undo", "warn")
            return True
        item = await self._session.ask(lambda store: number_of(store, event.key))
        text = f"undone: {event_words(event)} · {visible(event.key.id)}"
        if item is None or not any(case.item == item for case in self.cases.cases):
            await self._again(Remark(f"{text} (not in this list)", "warn"))
            return True
        await self._renew(item)
        self.cases.find((item, event.target, event.criterion))
        await self._show(Remark(text))
        return True

    async def _step(self, by: int) -> bool:
        if self.cases.step(by):
            await self._show(SILENT)
        else:
            self._runner.say("this is the last disagreement" if by > 0 else "this is the first disagreement", "warn")
        return True

    async def _renew(self, item: int) -> None:
        self.cases.renew(item, await self._session.ask(lambda store: store.told.disputes_in(item)))

    async def _show(self, remark: Remark) -> None:
        await self._read()
        self._screen.begin(remark)

    async def _again(self, remark: Remark) -> None:
        await self._read()
        self._screen.renew(remark)

    async def _read(self) -> None:
        case = self.cases.case
        self.detail = None if case is None else await self._session.ask(partial(_detail, case.item))


def _found(view: View, store: Store) -> Found:
    return [(each.item, each.dispute) for each in store.told.disputes(view)]


def _detail(item: int, store: Store) -> ItemDetail:
    return store.detail(item)


def _words(annotation: Said) -> str:
    parts = [word(annotation.verdict, annotation.criterion)] if annotation.verdict is not None else []
    parts += [f"{annotation.fault} is wrong"] if annotation.fault else []
    parts += ["golden fix"] if annotation.golden_fix else []
    parts += ["reason"] if annotation.note is not None else []
    return ", ".join(parts)
