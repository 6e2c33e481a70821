"""What there is to settle, where the adjudicator stands in it, and what has been settled since. Pure.

The answers to one dispute as lines: A, B, C, what the benchmark and most of the annotators say. Pure.

The item's text for an adjudicator: nobody's name before it is settled, and the disputed part marked.

From dispute to dispute: what the adjudicator says of each, on disk before the screen says so. Knows no Textual.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from fcreview.model.address import ITEM, words
from fcreview.model.decision import Dispute, letter
from fcreview.model.item import Item
from fcreview.model.review import CORRECT, UNSURE, Fault, Opinion, Said
from fcreview.model.sanitize import visible
from fcreview.model.verdict import Scale, scale_of
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


Name = tuple[int, str, str]
"""(item, target, criterion)"""


@dataclass(slots=True)
class Case:
    """One target on which annotators differ, as it was when it was last open."""

    item: int
    """`QueueRow.item`"""
    dispute: Dispute
    settled: bool = False

    @property
    def name(self) -> Name:
        return self.item, self.dispute.target, self.dispute.criterion


@dataclass(slots=True)
class Docket:
    """Parts stand before their item: what is settled of them often settles the item."""

    cases: list[Case] = field(default_factory=list)
    at: int = 0

    @classmethod
    def of(cls, found: Iterable[tuple[int, Dispute]]) -> Docket:
        """`found` in the order of items."""
        cases = [Case(item, dispute) for item, dispute in found]
        place = {item: at for at, item in enumerate(dict.fromkeys(case.item for case in cases))}
        return cls(sorted(cases, key=lambda case: (place[case.item], case.dispute.target == ITEM)))

    @property
    def case(self) -> Case | None:
        return self.cases[self.at] if self.cases else None

    @property
    def settled(self) -> int:
        return sum(case.settled for case in self.cases)

    @property
    def done(self) -> bool:
        return self.settled == len(self.cases)

    def renew(self, item: int, disputes: Sequence[Dispute]) -> None:
        """What is open of an item now. A dispute that came up stands behind the item's others."""
        here = self.case
        open_ = {(item, each.target, each.criterion): each for each in disputes}
        for case in self.cases:
            if case.item == item:
                now = open_.pop(case.name, None)
                case.settled, case.dispute = now is None, now or case.dispute
        last = max((at for at, case in enumerate(self.cases) if case.item == item), default=len(self.cases) - 1)
        self.cases[last + 1 : last + 1] = [Case(item, each) for each in open_.values()]
        if here is not None:
            self.at = self.cases.index(here)

    def next_open(self) -> bool:
        """To the next that is not settled, round at the end; False if there is none."""
        size = len(self.cases)
        for step in range(1, size + 1):
            if not self.cases[(self.at + step) % size].settled:
                self.at = (self.at + step) % size
                return True
        return False

    def step(self, by: int) -> bool:
        if not 0 <= self.at + by < len(self.cases):
            return False
        self.at += by
        return True

    def find(self, name: Name) -> bool:
        found = next((at for at, case in enumerate(self.cases) if case.name == name), None)
        if found is not None:
            self.at = found
        return found is not None


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


MARK = "disputed"


@dataclass(slots=True)
class DisputeCursor(Cursor):
    case: Case | None = None

    def put(self, case: Case, detail: ItemDetail) -> None:
        """Another dispute, from its place in the item."""
        self.case = case
        self.show(_unnamed(case, detail))
        self.at = self._place() if case.dispute.target != ITEM else self.at

    def put_again(self, case: Case, detail: ItemDetail) -> None:
        """The same after something was said of it."""
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


def _unnamed(case: Case, detail: ItemDetail) -> ItemDetail:
    return detail if case.settled else replace(detail, opinions=[], history=[])


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


class Settling:
    def __init__(self, session: Session, view: View, screen: AdjudicationView, key: KeyLookup) -> None:
        self.docket = Docket()
        self.detail: ItemDetail | None = None
        """Of the case on screen."""
        self.begun = False
        """It is known what there is to settle."""
        self._session, self._view, self._screen, self._key = session, view, screen, key
        self._runner = ActionRunner(session, screen.say, screen.run)

    def open(self) -> None:
        self._runner.do(self._open, "looking for what is disputed")

    def take(self, number: int) -> None:
        """The answer of this number, from 1."""
        case = self.docket.case
        if case is None or number > len(case.dispute.answers):
            return
        answer = case.dispute.answers[number - 1]
        if answer.verdict in (None, UNSURE):
            self._runner.say(f"{letter(number - 1)} is unsure: there is nothing to take", "warn")
            return
        self._say_of(case, verdict=answer.verdict, fault=answer.fault, golden_fix=answer.golden_fix)

    def verdict(self, key: str) -> None:
        """`key` is one of VERDICTS; those that pass or fail only where that is asked."""
        case = self.docket.case
        if case is None:
            return
        value, fault = VERDICTS[key]
        mine = self.mine
        if fault is None and mine is not None and mine.verdict is None:
            fault = mine.fault  # named before the verdict, which would take it back
        self._say_of(case, verdict=value, fault=fault)

    def other(self, text: str) -> None:
        """Any value of the criterion's scale, as people type it."""
        case = self.docket.case
        if case is None:
            return
        try:
            value = self._scale(case).value(text.strip())
        except ValueError as error:
            self._runner.say(f"{visible(case.dispute.criterion)} is {error}, not {visible(text)}", "warn")
            return
        self._say_of(case, verdict=value)

    def fault(self, fault: Fault) -> None:
        case = self.docket.case
        if case is not None:
            passes = only_fault(case.dispute) and not case.settled
            self._say_of(case, verdict=True if passes else None, fault=fault)

    def note(self, note: str) -> None:
        if self.docket.case is not None:
            self._say_of(self.docket.case, note=note)

    def undo(self) -> None:
        self._runner.do(self._undo)

    def step(self, by: int) -> None:
        self._runner.do(partial(self._step, by))

    def leave(self, done: Callable[[], Any]) -> None:
        """When all that was asked for before is done."""

        async def go() -> bool:
            done()
            return True

        self._runner.do(go)

    @property
    def mine(self) -> Opinion | None:
        """What this adjudicator said of the case on screen."""
        case, detail = self.docket.case, self.detail
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
        """What may be said of the case on screen."""
        return self._scale(self.docket.case).allowed() if self.docket.case else ""

    def _scale(self, case: Case) -> Scale:
        said = self.detail.item.verdicts if self.detail else []
        seen = [v.value for v in said if v.criterion == case.dispute.criterion]
        held = [o.verdict for o in case.dispute.answers if o.verdict != UNSURE]
        return scale_of(case.dispute.criterion, seen or held) or Scale()

    def _say_of(self, case: Case, **said: Any) -> None:
        """About the case that was on screen when the key was pressed."""
        act = Said(act="adjudicate", target=case.dispute.target, criterion=case.dispute.criterion, **said)
        self._runner.do(partial(self._save, case, act))

    async def _open(self) -> bool:
        await self._session.ready()
        self.docket = Docket.of(await self._session.ask(partial(_found, self._view)))
        self.begun = True
        await self._show(SILENT)
        return True

    async def _save(self, case: Case, said: Said) -> bool:
        words = _words(said)
        try:
            await self._session.review(case.item, said)
        except Exception as error:  # what is not saved must be told, whatever the reason
            self._runner.say(f"NOT SAVED ({words}): {visible(str(error) or type(error).__name__)}", "bad")
            return False
        was = case.settled
        await self._renew(case.item)
        goes_on = self.docket.case is case and said.verdict is not None
        if case.settled and not was:
            text = f"settled: {words} {self._names(case)}"
        else:
            text = f"saved: {words}" + (", so it stays open" if said.verdict == UNSURE else "")
        if goes_on and self.docket.next_open():
            await self._show(Remark(text))
        else:
            await self._again(Remark(f"{text} · {left_text(self.docket)}" if goes_on else text))
        return True

    @staticmethod
    def _names(case: Case) -> str:
        return f"({names_of(case.dispute.answers)})"

    async def _undo(self) -> bool:
        event = await self._session.undo()
        if event is None:
            self._runner.say("nothing to undo", "warn")
            return True
        item = await self._session.ask(lambda store: number_of(store, event.key))
        text = f"undone: {event_words(event)} · {visible(event.key.id)}"
        if item is None or not any(case.item == item for case in self.docket.cases):
            await self._again(Remark(f"{text} (not among these)", "warn"))
            return True
        await self._renew(item)
        self.docket.find((item, event.target, event.criterion))
        await self._show(Remark(text))
        return True

    async def _step(self, by: int) -> bool:
        if self.docket.step(by):
            await self._show(SILENT)
        else:
            self._runner.say("this is the last one" if by > 0 else "this is the first one", "warn")
        return True

    async def _renew(self, item: int) -> None:
        self.docket.renew(item, await self._session.ask(lambda store: store.told.disputes_in(item)))

    async def _show(self, remark: Remark) -> None:
        await self._read()
        self._screen.begin(remark)

    async def _again(self, remark: Remark) -> None:
        await self._read()
        self._screen.renew(remark)

    async def _read(self) -> None:
        case = self.docket.case
        self.detail = None if case is None else await self._session.ask(partial(_detail, case.item))


def _found(view: View, store: Store) -> Found:
    return [(each.item, each.dispute) for each in store.told.disputes(view)]


def _detail(item: int, store: Store) -> ItemDetail:
    return store.detail(item)


def _words(said: Said) -> str:
    parts = [word(said.verdict, said.criterion)] if said.verdict is not None else []
    parts += [f"{said.fault} is wrong"] if said.fault else []
    parts += ["golden fix"] if said.golden_fix else []
    parts += ["reason"] if said.note is not None else []
    return ", ".join(parts)
