"""Review without a screen: print an item as lines of text, read a one-letter answer, continue with the next item.

Words replace what the screen shows by position, colour and symbol, so that a screen reader reads everything.
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Coroutine, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from fcreview.cli.commands.show import heading
from fcreview.cli.errors import CommandError
from fcreview.cli.output import emit
from fcreview.model.sanitize import sanitize
from fcreview.model.wording import format_count
from fcreview.tui.item_view.blocks import DisplayOptions
from fcreview.tui.item_view.document import build_document
from fcreview.tui.queue.loader import QueueNavigator
from fcreview.tui.review.judge import ReviewOutcome, ReviewRecorder, ReviewSubject
from fcreview.tui.session import Session
from fcreview.tui.text.lines import plain_text

if TYPE_CHECKING:
    from fcreview.cli.workspace import WorkspaceSession
    from fcreview.store.rows import ItemDetail, View
    from fcreview.store.store import Store

WIDTH = 100
"""Width of text in cells before it is split into lines."""
SIDES = ("golden", "predicted")
RULES = re.compile("[─-]{2,} ?")
STATES = {
    "=": "equal",
    "~": "equal after normalisation",
    "!": "differs",
    "-": "missing in prediction",
    "+": "not golden",
}
VERDICTS = {"p": "pass", "f": "fail", "g": "golden", "u": "unsure"}
HEADING = ["argument", "golden", "predicted"]
PROMPT = "verdict? [p f g u s q, ? for all] "
HELP = (
    "p pass, f fail, g pass because the golden answer is wrong, u unsure, 0 1 2 score",
    "s skip, b back, n TEXT add a note, w FAULT set the fault, z undo",
    "t print the item again in full, q quit",
)


def review_lines(session: WorkspaceSession, view: View, *, blind: bool) -> None:
    """Review items until the queue or the input ends. CommandError if a review could not be saved."""
    from fcreview.store.reviews.reviewer import Reviewer
    from fcreview.store.store import Store

    session.close()
    with Store.open(session.workspace, session.annotator, blind=blind) as store:
        if view.queue_file is not None:
            store.load_queue(view.queue_file)
        reviewer = Reviewer(store, session.journal())
        reviews = Session(None, session.annotator, store, reviewer, blind=blind)
        reviews.queue_file = view.queue_file
        try:
            done = ReviewLoop(store, view, reviews).run()
        finally:
            reviews.close()
    emit(f"{format_count(done, 'review')} saved")


class ReviewLoop:
    """Prints items, reads answers and records them."""

    def __init__(self, store: Store, view: View, reviews: Session) -> None:
        self._store, self._view, self._reviews = store, view, reviews
        self._recorder = ReviewRecorder(reviews, lambda _: "", is_judged_queue=view.queue == "judged")
        self._walk: QueueNavigator | None = None
        self._saved = 0

    def run(self) -> int:
        """Run the loop and return how many reviews were saved."""
        rows = self._store.fetch_page(self._view, 0, 1)
        if not rows:
            emit("No items match.")
            return 0
        first = QueueNavigator.locate(self._store, self._view, rows[0].item)
        start = first.item if rows[0].you is None else first.find_next_unreviewed(self._store)
        if start is None:
            emit("You have reviewed every item here.")
            return 0
        self._show(start)
        while (answer := self._read_answer()) is not None:
            if not self._handle(*answer):
                break
        return self._saved

    def _read_answer(self) -> tuple[str, str] | None:
        """The first letter of an answer and the rest of its line; None at the end of the input."""
        sys.stdout.write(PROMPT)
        sys.stdout.flush()
        try:
            line = sys.stdin.readline()
        except KeyboardInterrupt:
            line = ""
        if not line:
            emit()
            return None
        text = line.strip()
        return text[:1], text[1:].strip()

    def _handle(self, letter: str, rest: str) -> bool:
        """Carry out an answer. Returns whether to ask for another."""
        subject = self._subject
        if letter == "q":
            return False
        if letter in VERDICTS and not rest:
            return self._advance(self._run(self._recorder.record_verdict(subject, VERDICTS[letter])))
        if letter in "012" and letter and not rest:
            return self._advance(self._run(self._recorder.record_score(subject, int(letter))))
        if letter == "n" and rest:
            self._run(self._recorder.record_note(subject, rest))
        elif letter == "w" and rest:
            self._fault(subject, rest)
        elif letter == "z":
            self._run(self._recorder.undo())
        elif letter == "t":
            self._show(subject.item, full=True)
        elif letter in ("s", "b"):
            return self._step(1 if letter == "s" else -1)
        else:
            for line in HELP:
                emit(line)
        return True

    @property
    def _position(self) -> QueueNavigator:
        if self._walk is None:
            raise RuntimeError("no item is shown")
        return self._walk

    @property
    def _subject(self) -> ReviewSubject:
        return ReviewSubject(self._position.item, self._store.read_detail(self._position.item))

    def _fault(self, subject: ReviewSubject, name: str) -> None:
        from fcreview.model.review import FAULTS

        fault = next((each for each in FAULTS if each.startswith(name)), None)
        if fault is None:
            emit(f"Choose a fault: {', '.join(FAULTS)}")
        else:
            self._run(self._recorder.record_fault(subject, fault))

    def _run(self, act: Coroutine[Any, Any, ReviewOutcome]) -> ReviewOutcome:
        outcome = asyncio.run(act)
        emit(outcome.message)
        if outcome.style == "bad":
            raise CommandError("The review could not be saved. Review stopped.")
        self._saved += outcome.succeeded and outcome.undone is None
        return outcome

    def _advance(self, outcome: ReviewOutcome) -> bool:
        if not outcome.completes_item:
            return True
        following = self._position.find_next_unreviewed(self._store)
        if following is None:
            left = self._position.count_remaining(self._store)
            emit(
                "Queue complete." if not left.count else f"End of the queue; {left} earlier in it not reviewed by you."
            )
            return False
        self._show(following)
        return True

    def _step(self, by: int) -> bool:
        item = self._position.find_neighbour(self._store, by)
        if item is None:
            emit("This is the last item." if by > 0 else "This is the first item.")
        else:
            self._show(item)
        return True

    def _show(self, item: int, *, full: bool = False) -> None:
        self._walk = QueueNavigator.locate(self._store, self._view, item, self._walk)
        detail = self._store.read_detail(item)
        position = "" if self._walk.position is None else f", {self._walk.position + 1} of {self._walk.count}"
        emit()
        emit(
            f"item {sanitize(detail.row.id)}{position}, {sanitize(detail.run.full_title)}, {sanitize(detail.run.model)}"
        )
        for line in item_text(
            detail, self._reviews.annotator, hidden=self._store.blind and detail.row.you is None, full=full
        ):
            emit(line)


def item_text(detail: ItemDetail, annotator: str, *, hidden: bool, full: bool = False) -> Iterator[str]:
    """The item as lines of safe text, without columns and rules."""
    if not hidden:
        yield heading(detail)
    options = DisplayOptions(
        hide_verdicts=hidden, full_dialogue=full, unfold_all=full, print_hint="press t for the full text"
    )
    for block in build_document(detail, annotator, options):
        if block.is_argument and block.copied_value is not None:
            yield _argument(plain_text(block.lines(WIDTH)[0])[:1], block.copied_value())
        else:
            lines = (RULES.sub("", plain_text(line)).strip() for line in block.lines(WIDTH))
            yield from (line for line in lines if line and line.split() != HEADING)


def _argument(state: str, values: Mapping[str, str | None]) -> str:
    """`days, differs. golden: [1, 2]. predicted: [1]`; `values` are {argument, golden, predicted}."""
    golden, predicted = (sanitize(text) if (text := values[side]) is not None else "none" for side in SIDES)
    name = sanitize(values["argument"] or "function")
    if state == "=":
        return f"{name}, equal: {predicted if values['predicted'] is not None else 'omitted'}"
    return f"{name}, {STATES.get(state, 'differs')}. golden: {golden}. predicted: {predicted}"
