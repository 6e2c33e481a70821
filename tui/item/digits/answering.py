"""What is said with digits: scores, and why the verdict given last overrules the benchmark's. Knows no Textual."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Protocol

from fcreview.tui.item.ahead import LookAhead
from fcreview.tui.item.cursor import Cursor
from fcreview.tui.item.digits.why import Why
from fcreview.tui.item.face import Face
from fcreview.tui.item.judging import About, KeyOf, Outcome, score_criteria
from fcreview.tui.item.reviewing import Judgement, Reviewing
from fcreview.tui.item.status import asked_here
from fcreview.tui.session import Session

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
