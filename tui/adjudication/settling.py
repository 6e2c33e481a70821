"""From dispute to dispute: what the adjudicator says of each, on disk before the screen says so. Knows no Textual."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from fcreview.agreement.answers import only_fault
from fcreview.agreement.disputes import letter
from fcreview.criteria import Scale, scale_of
from fcreview.review import UNSURE, Fault, Opinion, Said
from fcreview.sanitise import visible
from fcreview.store.rows import ItemDetail, View
from fcreview.text.words import word
from fcreview.tui.adjudication.answers import left_text, names_of
from fcreview.tui.adjudication.docket import Case, Docket
from fcreview.tui.item.acting import Acting, Voice
from fcreview.tui.item.ahead import number_of
from fcreview.tui.item.judging import VERDICTS, KeyOf, event_words
from fcreview.tui.item.status import SILENT, Remark

if TYPE_CHECKING:
    from fcreview.agreement.disputes import Dispute
    from fcreview.store.store import Store
    from fcreview.tui.session import Session

Found = list[tuple[int, "Dispute"]]


class Bench(Voice, Protocol):
    """The screen, as far as it is needed here."""

    def begin(self, remark: Remark) -> None:
        """Shows another dispute, or that there is none."""
        ...

    def renew(self, remark: Remark) -> None:
        """Shows the same one as it is now."""
        ...


class Settling:
    def __init__(self, session: Session, view: View, bench: Bench, key: KeyOf) -> None:
        self.docket = Docket()
        self.detail: ItemDetail | None = None
        """Of the case on screen."""
        self.begun = False
        """It is known what there is to settle."""
        self._session, self._view, self._bench, self._key = session, view, bench, key
        self._acting = Acting(session, bench)

    def open(self) -> None:
        self._acting.do(self._open, "looking for what is disputed")

    def take(self, number: int) -> None:
        """The answer of this number, from 1."""
        case = self.docket.case
        if case is None or number > len(case.dispute.answers):
            return
        answer = case.dispute.answers[number - 1]
        if answer.verdict in (None, UNSURE):
            self._acting.say(f"{letter(number - 1)} is unsure: there is nothing to take", "warn")
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
            self._acting.say(f"{visible(case.dispute.criterion)} is {error}, not {visible(text)}", "warn")
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
        self._acting.do(self._undo)

    def step(self, by: int) -> None:
        self._acting.do(partial(self._step, by))

    def leave(self, done: Callable[[], Any]) -> None:
        """When all that was asked for before is done."""

        async def go() -> bool:
            done()
            return True

        self._acting.do(go)

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
        self._acting.do(partial(self._save, case, act))

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
            self._acting.say(f"NOT SAVED ({words}): {visible(str(error) or type(error).__name__)}", "bad")
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
            self._acting.say("nothing to undo", "warn")
            return True
        item = await self._session.ask(partial(number_of, event.key))
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
            self._acting.say("this is the last one" if by > 0 else "this is the first one", "warn")
        return True

    async def _renew(self, item: int) -> None:
        self.docket.renew(item, await self._session.ask(lambda store: store.told.disputes_in(item)))

    async def _show(self, remark: Remark) -> None:
        await self._read()
        self._bench.begin(remark)

    async def _again(self, remark: Remark) -> None:
        await self._read()
        self._bench.renew(remark)

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
