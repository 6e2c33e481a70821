"""From item to item: what is on screen, what is said of it, and what comes next. Knows no Textual.

What keys ask for is done in their order, each about what was on screen when the key was pressed. An item whose verdict
is on disk gives way to the next one when nothing more is asked of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING

from fcreview.sanitise import visible
from fcreview.store.rows import ItemDetail, View
from fcreview.tui.in_order import Act
from fcreview.tui.item.acting import Acting
from fcreview.tui.item.ahead import LookAhead, Shown, Wanted
from fcreview.tui.item.face import Face
from fcreview.tui.item.judging import About, Judging, KeyOf, Outcome
from fcreview.tui.item.pace import Pace
from fcreview.tui.item.status import SILENT, Remark

if TYPE_CHECKING:
    from fcreview.tui.session import Session

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
        self.direction = -1 if before is not None and shown.walk.place < before.walk.place else 1
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
