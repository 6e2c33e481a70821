"""From item to item: what is on screen, what is said of it, and what comes next. Knows no Textual.

What keys ask for is done in their order, each about what was on screen when the key was pressed. An item whose verdict
is on disk gives way to the next one when nothing more is asked of it.

What keys ask for on a screen that reviews: one thing after the other, and a person is told what came of each.

Why an automatic verdict was overruled: said of the verdict given last, with one key. Knows no screen.

What a screen has to be for items to be reviewed on it. Knows no Textual.

What is said with digits: scores, and why the verdict given last overrules the benchmark's. Knows no Textual.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, replace
from functools import partial
from time import monotonic
from typing import Any, Protocol

from fcreview.model.review import Event, Said
from fcreview.model.sanitize import visible
from fcreview.store.rows import ItemDetail, View
from fcreview.tui.action_queue import Act
from fcreview.tui.review.cursor import Cursor
from fcreview.tui.review.judge import About, Judging, KeyOf, Outcome, score_criteria
from fcreview.tui.review.prefetch import LookAhead, Shown, Wanted
from fcreview.tui.review.status import SILENT, Pace, Remark, asked_here
from fcreview.tui.session import Session
from fcreview.tui.text.lines import cut_middle

PATIENCE = 0.4
"""Seconds after which a person is told what the screen waits for."""


class Voice(Protocol):
    """The screen, as far as it is needed here."""

    def say(self, remark: Remark) -> None: ...

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Runs it beside the keys, as long as the screen is there."""
        ...


class Acting:
    def __init__(self, session: Session, voice: Voice) -> None:
        self._session, self._voice = session, voice
        self._said = SILENT

    def do(self, act: Act, waiting: str = "waiting for the disk") -> None:
        """`waiting`: what a person is told if it takes long."""
        if self._session.acts.add(partial(self._guarded, act, waiting)):
            self._voice.start(self._run())

    def say(self, text: str, style: str = "good") -> None:
        self._said = Remark(text, style)
        self._voice.say(self._said)

    async def _run(self) -> None:
        dropped = await self._session.acts.run()
        if dropped:
            keys = "1 key" if dropped == 1 else f"{dropped} keys"
            self.say(f"{self._said.text} · not done: {keys} pressed after it", "bad")

    async def _guarded(self, act: Act, waiting: str) -> bool:
        slow = asyncio.get_running_loop().call_later(PATIENCE, self.say, waiting, "warn")
        try:
            return await act()
        except asyncio.CancelledError:
            if not self._session.leaving:
                raise
            return True  # what cannot be shown any more does not keep what was said behind it from being written
        except Exception as error:  # an item that cannot be read must not end the program
            self.say(visible(str(error) or type(error).__name__), "bad")
            return False
        finally:
            slow.cancel()


NAME = 24
"""Cells of the item's or part's name in the line of keys."""
DIRECT = ("item.score_1", "item.score_2", "item.reason_3")
"""Actions that give the first reasons at once, where nothing is scored."""


@dataclass(frozen=True, slots=True)
class Overruled:
    """A verdict that contradicts an automatic one."""

    about: About
    criterion: str
    over: dict[str, Any]
    """{source, by, value}, as `Said.overrules`."""

    def says(self, reason: str) -> Said:
        """A part of its own: the verdict stays what it is."""
        return Said(target=self.about.target, criterion=self.criterion, overrules={**self.over, "reason": reason})


class Why:
    """The verdict given last, if it overrules one, and the reasons there are for that."""

    def __init__(self, reasons: Sequence[str], key: KeyOf) -> None:
        self.overruled: Overruled | None = None
        self._reasons, self._key = reasons, key

    def judged(self, about: About, event: Event | None) -> None:
        """What was said last, if it was a verdict."""
        if event is not None and event.verdict is not None:
            there = replace(about, target=event.target)  # a score is given wherever the cursor is
            self.overruled = Overruled(there, event.criterion, event.overrules) if event.overrules else None

    def reason(self, number: int) -> str:
        """The reason of this number, from 1; empty if there is none."""
        return self._reasons[number - 1] if 0 < number <= len(self._reasons) else ""

    @property
    def lacks(self) -> str:
        """Why no reason can be given, in words."""
        if self.overruled is None:
            return "the verdict given last overrules none"
        return f"reasons are {', '.join(f'{at} {visible(one)}' for at, one in enumerate(self._reasons, 1))}"

    def hints(self, *, scored: bool) -> list[tuple[str, str]]:
        """(key, what it says) for the line of keys: `1 too strict`, behind what it is about. Where the digits are
        scores, only the key that asks for a reason in a prompt. Nothing where nothing was overruled."""
        if self.overruled is None:
            return []
        asks = f"why {cut_middle(self.overruled.about.name, NAME)}"
        digits = [] if scored else zip(map(self._key, DIRECT), map(visible, self._reasons), strict=False)
        shown = [(key, says) for key, says in digits if key]
        return [(self._key("item.why"), f"{asks}:" if shown else asks), *shown]


class Face(Protocol):
    """The pane that an item is on."""

    @property
    def in_front(self) -> bool:
        """Nothing lies over it: another item may be shown."""
        ...

    def begin(self, shown: Shown, remark: Remark) -> None:
        """Shows another item."""
        ...

    def renew(self, shown: Shown, remark: Remark) -> None:
        """Shows the same item as it is now."""
        ...

    def say(self, remark: Remark) -> None: ...

    def leave(self, item: int) -> None: ...

    def said(self, item: int) -> None:
        """Something is on disk of the item: what else shows it is old."""
        ...

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Runs it beside the keys, as long as the screen is there."""
        ...


Judgement = Callable[[About], Awaitable[Outcome]]


class Reviewing:
    def __init__(self, session: Session, ahead: LookAhead, face: Face, key: KeyOf) -> None:
        self.judging = Judging(session, key)
        self.direction = 1
        """Which way the reader went last."""
        self._session, self._ahead, self._face, self._key = session, ahead, face, key
        self._acting = Acting(session, face)
        self._shown: Shown | None = None
        self._stale = False
        """Something was said of the item since it was read."""
        self.last: int | None = None
        """The item that was judged last."""
        self.pace = Pace()
        self._due: tuple[int, Remark] | None = None
        """The item to go to, and what is said there, as soon as nothing more is asked of this one."""
        self._wanted: Wanted | None = None
        """Until it is shown."""

    @property
    def begun(self) -> bool:
        """An item was read: keys do nothing before."""
        return self._shown is not None

    @property
    def shown(self) -> Shown:
        if self._shown is None:
            raise RuntimeError("no item was read yet")
        return self._shown

    @property
    def settled(self) -> bool:
        """An item is shown and none is to come."""
        return self._shown is not None and self._due is None and self._wanted is None

    def take_in(self, shown: Shown, last: int | None) -> None:
        """The same item in another store, and the one that was judged last there."""
        self._shown, self._stale, self.last, self.pace.left = shown, False, last, None
        self._ahead.turn_to(shown.walk.view)
        self._ahead.renumber()

    @property
    def behind(self) -> bool:
        """Another item is wanted than the one that is shown."""
        return self._wanted is not None

    def go_on_from(self, other: Reviewing) -> None:
        """Of another pane that is gone: its item, as if it had been here."""
        self._shown, self._stale, self._due = other._shown, other._stale, other._due
        self.last, self.pace, self.direction = other.last, other.pace, other.direction
        self.judging, self._wanted = other.judging, None
        self._ahead.turn_to(other._ahead.view)

    def open(self, item: int) -> None:
        self._do(partial(self._open, item))

    def shows(self, item: int, view: View) -> bool:
        """Or is about to; nothing else is on its way."""
        if self._wanted is not None:
            return (self._wanted.item, self._wanted.view) == (item, view)
        here = self._shown is not None and self._shown.item == item
        return here and self._ahead.view == view and not self._stale and self._due is None

    def want(self, wanted: Wanted) -> None:
        """To be shown by `follow`, when the list has come to rest."""
        self._wanted = wanted

    def follow(self) -> None:
        self._do(self._follow)

    def enter(self) -> None:
        """What is shown is going to be judged."""
        self._do(self._enter)

    def judge(self, about: About, judgement: Judgement) -> None:
        self._do(partial(self._judge, about, judgement))

    def undo(self) -> None:
        self._do(self._undo)

    def of_last(self, take: Callable[[About], None]) -> None:
        """What is asked is about the item judged last: behind the verdict that may be on its way."""
        self._do(partial(self._of_last, take))

    async def _of_last(self, take: Callable[[About], None]) -> bool:
        if self.last is None:
            self._say("no item was judged yet", "warn")
        else:
            take(About(self.last, await self._ahead.detail(self.last)))
        return True

    def step(self, by: int) -> None:
        """To the next (1) or previous (-1) item of the queue."""
        self._do(partial(self._step, by))

    def in_group(self, by: int) -> None:
        """To the next (1) or previous (-1) item of the same conversation, in the queue or not."""
        self._do(partial(self._in_group, by))

    def leave(self) -> None:
        self._do(self._leave)

    def resume(self) -> None:
        """Nothing lies over the screen any more."""
        if self._due is not None:
            self._do(self._go_on)

    def _do(self, act: Act) -> None:
        self._acting.do(act)

    def _say(self, text: str, style: str = "good") -> None:
        self._acting.say(text, style)

    async def _open(self, item: int) -> bool:
        await self._session.ready()
        self._begin(await self._ahead.read(item), SILENT)
        self.pace.begin(monotonic())
        return True

    async def _enter(self) -> bool:
        await self._session.ready()
        self.pace.begin(monotonic())
        return True

    async def _follow(self) -> bool:
        """What was wanted last; the same item is shown as it is now, as the reader left it."""
        wanted = self._wanted
        if wanted is None:
            return True
        if wanted.anew or wanted.view != self._ahead.view:
            self._ahead.turn_to(wanted.view)
            self._session.queue = wanted.view.file
        shown, before = await self._ahead.read(wanted.item), self._shown
        if self._wanted is not wanted:
            return True
        self._wanted = None
        self.direction = -1 if before is not None and shown.walk.last_position < before.walk.last_position else 1
        if before is not None and before.item == wanted.item:
            self._shown, self._stale, self._due = shown, False, None
            self._face.renew(shown, SILENT)
        else:
            self._begin(shown, SILENT)
        return True

    def _begin(self, shown: Shown, remark: Remark) -> None:
        self._shown, self._stale, self._due = shown, False, None
        self.judging.judged = shown.walk.view.queue == "judged"
        self._face.begin(shown, remark)

    async def _renew(self, remark: str) -> None:
        self._shown, self._stale = await self._ahead.again(self.shown), False
        self._face.renew(self._shown, Remark(remark))

    async def _to(self, item: int, remark: Remark) -> None:
        """Shows the item, as soon as nothing lies over the screen."""
        shown = await self._ahead.read(item, self.shown) if self._face.in_front else None
        if shown is not None and self._face.in_front:
            self._begin(shown, remark)
        else:
            self._due = (item, remark)

    async def _go_on(self) -> bool:
        if self._due is not None and self._face.in_front:
            await self._to(*self._due)
        return True

    async def _judge(self, about: About, judgement: Judgement) -> bool:
        """The judgement is about the item as it is now: what was said before may not have been on disk yet."""
        here = about.item == self.shown.item
        about = replace(about, detail=await self._latest(about))
        outcome = await judgement(about)
        if not outcome.done:
            self._say(outcome.said, outcome.style)
            return outcome.style != "bad"
        self._face.said(about.item)
        if outcome.goes_on:
            self.last = about.item
            self.pace.judged(about.detail.key, monotonic())
        if not here:
            self._ahead.forget()
            self._say(f"{outcome.said} · {visible(about.detail.row.id)}")
        elif outcome.goes_on:
            await self._judged(outcome)
        elif self._due is not None:
            self._stale, self._due = True, (self._due[0], Remark(outcome.message))
        else:
            await self._renew(outcome.message)
        return True

    async def _latest(self, about: About) -> ItemDetail:
        if about.item == self.shown.item and not self._stale:
            return self.shown.detail
        try:
            return await self._ahead.detail(about.item)
        except asyncio.CancelledError:
            if not self._session.leaving:
                raise
            return about.detail  # nothing is read any more, but what was said counts

    async def _judged(self, outcome: Outcome) -> None:
        self._stale = True
        following = await self._ahead.following(self.shown)
        if following is None:
            await self._renew(f"{outcome.said} · {await self._end()}")
            return
        self._due = (following, Remark(outcome.message))
        if not self._face.in_front:
            self._say(outcome.message)
        self._do(self._go_on)  # behind what was asked for meanwhile

    async def _end(self) -> str:
        """What is said behind the last item."""
        left = await self._ahead.left(self.shown)
        if not left.count:
            return "none left to review: fcreview export, fcreview report"
        key = self._key("item.next")
        return f"end of the queue, {left} left unreviewed{key and f': {key} goes there'}"

    async def _undo(self) -> bool:
        outcome = await self.judging.undo()
        if outcome.undone is None:
            self._say(outcome.said, outcome.style)
            return outcome.style != "bad"
        self._ahead.forget()
        item = await self._ahead.number(outcome.undone, outcome.presentation)
        self.pace.undone(outcome.undone)
        if item is not None:
            self._face.said(item)
        if item is None:
            await self._renew(f"{outcome.message} (an item that is not in this workspace)")
        elif item == self.shown.item:
            self._due = None
            await self._renew(outcome.message)
        else:
            await self._to(item, Remark(outcome.message))
        return True

    async def _step(self, by: int) -> bool:
        self.direction, self._due = by, None
        item, remark = await self._ahead.neighbour(self.shown, by), SILENT
        if item is None and by > 0 and (self._stale or self.shown.detail.row.you is not None):
            item = (await self._ahead.left(self.shown)).first
            remark = Remark("from the end of the queue to the first item left unreviewed")
        if item is None:
            self._say("this is the last item" if by > 0 else "this is the first item", "warn")
        else:
            await self._to(item, remark)
        return True

    async def _in_group(self, by: int) -> bool:
        group = [sibling.item for sibling in self.shown.detail.siblings]
        if len(group) < 2:
            self._say("this item belongs to no group", "warn")
            return True
        at = group.index(self.shown.item) + by
        if not 0 <= at < len(group):
            self._say(f"this is the {'last' if by > 0 else 'first'} item of its group", "warn")
            return True
        self._due = None
        await self._to(group[at], SILENT)
        return True

    async def _leave(self) -> bool:
        self._session.acts.clear()
        due, self._due = self._due, None
        self._face.leave(due[0] if due is not None else self.shown.item)
        return True


SCORES = (0, 1, 2)


class Places(Protocol):
    """The item's text, as far as it is needed here."""

    @property
    def reading(self) -> Cursor: ...

    def go_to(self, target: str) -> bool:
        """False where it is not shown."""
        ...


class Answering(Reviewing):
    def __init__(self, session: Session, ahead: LookAhead, face: Face, key: KeyOf) -> None:
        super().__init__(session, ahead, face, key)
        self.whys = Why(session.vocabulary.reasons, key)

    def go_on_from(self, other: Reviewing) -> None:
        super().go_on_from(other)
        if isinstance(other, Answering):
            self.whys = other.whys

    def judge(self, about: About, judgement: Judgement) -> None:
        super().judge(about, partial(self._heard, judgement))

    async def _heard(self, judgement: Judgement, about: About) -> Outcome:
        outcome = await judgement(about)
        self.whys.judged(about, outcome.event)
        return outcome

    async def _undo(self) -> bool:
        self.whys.overruled = None
        return await super()._undo()

    @property
    def hints(self) -> list[tuple[str, str]]:
        """Keys of reasons for the verdict given last, and what they say."""
        return self.whys.hints(scored=bool(score_criteria(self.shown.detail))) if self.begun else []

    def score(self, about: About, value: int, text: Places) -> None:
        """Given where it is asked: elsewhere the key leads there. Where none is asked it is the reason of that number,
        for the verdict given last, if that overrules one."""
        target, criterion = self.judging.next_score(about) or ("", "")
        if target and about.item != self.shown.item:
            self._say("no score was given: another item came", "bad")
        elif target and self.judging.leads(target, text.reading) and text.go_to(target):
            self._face.say(asked_here(target, criterion))
        else:
            self._do(partial(self._score, about, value))

    async def _score(self, about: About, value: int) -> bool:
        scored = bool(score_criteria(about.detail))
        if scored and value not in SCORES:
            self._say("a score is 0, 1 or 2", "warn")
            return True
        if not scored and value and self.whys.overruled is not None:
            return await self._why(value)
        return await self._judge(about, partial(self._heard, partial(self.judging.score, value=value)))

    def of_overruled(self, take: Callable[[str], None]) -> None:
        """`take` gets the name of what the verdict given last is about, behind one that may be on its way."""
        self._do(partial(self._of_overruled, take))

    async def _of_overruled(self, take: Callable[[str], None]) -> bool:
        if self.whys.overruled is None:
            self._say(self.whys.lacks, "warn")
        else:
            take(self.whys.overruled.about.name)
        return True

    def why(self, reason: int) -> None:
        """The reason of this number, from 1, for the verdict given last."""
        self._do(partial(self._why, reason))

    async def _why(self, number: int) -> bool:
        said, reason = self.whys.overruled, self.whys.reason(number)
        if said is None or not reason:
            self._say(self.whys.lacks, "warn")
            return True
        return await self._judge(said.about, partial(self.judging.why, said=said.says(reason), reason=reason))
