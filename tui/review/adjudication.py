"""List disagreements, and record the adjudicator's reviews of them.

Annotators' names are hidden until a disagreement is resolved. A review is on disk before its
message is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from fcreview.model.address import ITEM, describe_address
from fcreview.model.decision import Disagreement, format_answer_letter
from fcreview.model.effective_verdict import is_definite
from fcreview.model.review import Annotation, Fault, Opinion
from fcreview.model.sanitize import display_width, sanitize
from fcreview.model.verdict import Scale, find_scale
from fcreview.model.wording import format_count, format_verdict
from fcreview.stats.agreement_ratings import is_fault_disagreement
from fcreview.store.rows import ItemDetail, View
from fcreview.tui.review.item_reviewer import ActionRunner
from fcreview.tui.review.prefetch import find_item_number
from fcreview.tui.review.recorder import KeyLookup, describe_bulk, describe_event
from fcreview.tui.review.status import NO_MESSAGE, StatusMessage
from fcreview.tui.review.verdict_keys import VERDICT_KEY_BY_NAME
from fcreview.tui.text.lines import truncate_middle
from fcreview.tui.text.styles import symbols

if TYPE_CHECKING:
    from fcreview.tui.session import ActionSucceeded, Session


CaseKey = tuple[int, str, str]
"""(item number, target, criterion) of a case."""


@dataclass(slots=True)
class AdjudicationCase:
    """Disagreement of annotators on a target and criterion, resolved or not."""

    item: int
    disagreement: Disagreement
    """Reviews of the annotators who disagree. They do not change when the case is resolved."""
    resolved: bool = False

    @property
    def key(self) -> CaseKey:
        return self.item, self.disagreement.target, self.disagreement.criterion


@dataclass(frozen=True, slots=True)
class AdjudicatorRole:
    """The adjudicator's part in a case."""

    review: Opinion | None = None
    """The adjudicator's own review of the case."""
    is_involved: bool = False
    """Whether the adjudicator gave one of the answers."""


@dataclass(slots=True)
class CaseList:
    """Cases in the order in which they are adjudicated.

    The cases on parts of an item come before the case on the item, because resolving the parts
    often resolves the item.
    """

    cases: list[AdjudicationCase] = field(default_factory=list)
    at: int = 0

    @classmethod
    def from_disagreements(cls, item_disagreements: Iterable[tuple[int, Disagreement]]) -> CaseList:
        """Create the list from (item number, disagreement) pairs. The items stay in this order."""
        cases = [AdjudicationCase(item, dispute) for item, dispute in item_disagreements]
        ranks = {item: rank for rank, item in enumerate(dict.fromkeys(case.item for case in cases))}
        return cls(
            sorted(cases, key=lambda case: (ranks[case.item], case.disagreement.target == ITEM))
        )

    @property
    def current(self) -> AdjudicationCase | None:
        return self.cases[self.at] if self.cases else None

    @property
    def n_resolved(self) -> int:
        return sum(case.resolved for case in self.cases)

    @property
    def are_all_resolved(self) -> bool:
        return self.n_resolved == len(self.cases)

    def update_item_cases(self, item: int, unresolved: Sequence[Disagreement]) -> None:
        """Mark the cases of an item as resolved or unresolved, and insert new cases after its
        existing cases.
        """
        displayed = self.current
        open_ = {(item, each.target, each.criterion): each for each in unresolved}
        for case in self.cases:
            if case.item == item:
                current = open_.pop(case.key, None)
                case.resolved, case.disagreement = current is None, current or case.disagreement
        last = max(
            (at for at, case in enumerate(self.cases) if case.item == item),
            default=len(self.cases) - 1,
        )
        self.cases[last + 1 : last + 1] = [AdjudicationCase(item, each) for each in open_.values()]
        if displayed is not None:
            self.at = self.cases.index(displayed)

    def move_to_next_unresolved(self) -> bool:
        """Move to the next unresolved case, wrapping around.

        Return False if all cases are resolved.
        """
        size = len(self.cases)
        for step in range(1, size + 1):
            if not self.cases[(self.at + step) % size].resolved:
                self.at = (self.at + step) % size
                return True
        return False

    def step(self, direction: int) -> bool:
        """Move to the next (1) or previous (-1) case. Return False if there is none."""
        if not 0 <= self.at + direction < len(self.cases):
            return False
        self.at += direction
        return True

    def move_to(self, key: CaseKey) -> bool:
        found = next((at for at, case in enumerate(self.cases) if case.key == key), None)
        if found is not None:
            self.at = found
        return found is not None


def case_name(case: AdjudicationCase, detail: ItemDetail) -> str:
    """Return the sanitized name of the case: `simple_13 · turn 1 call 1 · equivalent`."""
    target, criterion = case.disagreement.target, case.disagreement.criterion
    address = [describe_address(target)] if target != ITEM else []
    return sanitize(f" {symbols().separator} ".join([detail.row.id, *address, criterion]))


def format_annotator_names(answers: Sequence[Opinion]) -> str:
    """Return the letters and names of the annotators: `A was alice, B was bob`."""
    return sanitize(
        ", ".join(
            f"{format_answer_letter(at)} was {answer.annotator}"
            for at, answer in enumerate(answers)
        )
    )


PART_GAP = "   "


def shorten_message(message: str, cells: int) -> str:
    """Shorten a message of several parts to fit into `cells`: omit the last parts, then cut the
    middle of the name.
    """
    parts = message.split(PART_GAP)
    while len(parts) > 1 and display_width(PART_GAP.join(parts)) > cells:
        parts.pop()
    first, blank, rest = parts[0].rpartition(" resolved: ")
    if display_width(parts[0]) > cells and blank:
        parts[0] = (
            truncate_middle(first, max(cells - display_width(blank + rest), 1)) + blank + rest
        )
    return PART_GAP.join(parts)


def format_unresolved_count(cases: CaseList) -> str:
    """Format the number of unresolved cases: `2 disagreements left`."""
    open_ = len(cases.cases) - cases.n_resolved
    if not cases.cases:
        return "no disagreements"
    return f"{format_count(open_, 'disagreement')} left" if open_ else "all resolved"


SEARCHING = "searching for disagreements"
SHUFFLED = StatusMessage(
    "annotators are in random order; their names appear after you resolve the case", "dim"
)
RECEIVED = StatusMessage("reviews of other annotators have arrived", "dim")


class AdjudicationView(Protocol):
    """Methods of the adjudication screen that `Adjudicator` calls."""

    def show_message(self, message: StatusMessage) -> None: ...

    def run_coroutine(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine that is cancelled when the screen is removed."""
        ...

    def show_case(self, message: StatusMessage) -> None:
        """Show the current case of the `Adjudicator`. If there are no cases, show a message."""
        ...

    def refresh_case(self, message: StatusMessage) -> None:
        """Reload the current disagreement with its latest reviews."""
        ...


class Adjudicator:
    """Controller that records the adjudicator's reviews and moves from case to case."""

    def __init__(
        self, session: Session, view: View, screen: AdjudicationView, key: KeyLookup
    ) -> None:
        self.cases = CaseList()
        self.detail: ItemDetail | None = None
        self.is_loaded = False
        """Whether the cases and the item of the first case have been read from the store."""
        self._session, self._view, self._screen, self._key = session, view, screen, key
        self._runner = ActionRunner(session, screen.show_message, screen.run_coroutine)

    def load_cases(self) -> None:
        self._runner.queue_action(self._load_cases, SEARCHING)

    def refresh_cases(self) -> None:
        """Read the disagreements again after reviews of other annotators arrived.

        The same case stays on screen.
        """
        self._runner.queue_action(self._reread_cases)

    def accept_answer(self, number: int) -> None:
        """Accept the answer with this number, from 1, as the resolution of the case."""
        case = self.cases.current
        if case is None or number > len(case.disagreement.answers):
            return
        answer = case.disagreement.answers[number - 1]
        if not is_definite(answer.verdict):
            self._runner.show_message(
                f"answer {format_answer_letter(number - 1)} is unsure and cannot be accepted",
                "warn",
            )
            return
        self._queue_review(verdict=answer.verdict, fault=answer.fault, golden_fix=answer.golden_fix)

    def record_verdict(self, verdict_key: str) -> None:
        """Record a verdict. `verdict_key` is one of `verdict_keys.VERDICT_KEY_BY_NAME`."""
        key = VERDICT_KEY_BY_NAME[verdict_key]
        value, fault = key.value, key.fault
        mine = self.own_review
        if fault is None and mine is not None and mine.verdict is None:
            fault = mine.fault  # A verdict without a fault would clear the recorded fault.
        self._queue_review(verdict=value, fault=fault)

    def record_value(self, typed_value: str) -> None:
        """Record a typed value, or show an error if it is not on the scale of the criterion."""
        case = self.cases.current
        if case is None:
            return
        try:
            value = self._answer_scale(case).parse_typed_answer(typed_value.strip())
        except ValueError as error:
            criterion = sanitize(case.disagreement.criterion)
            self._runner.show_message(
                f"{criterion} must be {error}; got {sanitize(typed_value)}", "warn"
            )
            return
        self._queue_review(verdict=value)

    def record_fault(self, fault: Fault) -> None:
        """Record the fault. If the annotators disagree only on the fault, also record a pass."""
        case = self.cases.current
        passes = case is not None and is_fault_disagreement(case.disagreement) and not case.resolved
        self._queue_review(verdict=True if passes else None, fault=fault)

    def record_note(self, note: str) -> None:
        self._queue_review(note=note)

    def undo(self) -> None:
        """Undo the adjudicator's latest review and show its case."""
        self._runner.queue_action(self._undo_latest_review)

    def step(self, direction: int) -> None:
        self._runner.queue_action(partial(self._step, direction))

    def call_after_queued_actions(self, callback: Callable[[], Any]) -> None:
        async def call() -> ActionSucceeded:
            callback()
            return True

        self._runner.queue_action(call)

    @property
    def own_review(self) -> Opinion | None:
        """The adjudicator's review of the displayed case, or None."""
        case, detail = self.cases.current, self.detail
        if case is None or detail is None:
            return None
        wanted = (
            self._session.annotator,
            case.disagreement.target,
            case.disagreement.criterion,
            True,
        )
        current = (opinion for opinion in detail.opinions if not opinion.stale)
        return next(
            (
                o
                for o in current
                if (o.annotator, o.target, o.criterion, o.is_adjudication) == wanted
            ),
            None,
        )

    @property
    def role(self) -> AdjudicatorRole:
        case, own = self.cases.current, self._session.annotator
        is_involved = case is not None and any(
            each.annotator == own for each in case.disagreement.answers
        )
        return AdjudicatorRole(self.own_review, is_involved)

    def describe_allowed_values(self) -> str:
        return (
            self._answer_scale(self.cases.current).describe_answers() if self.cases.current else ""
        )

    def _answer_scale(self, case: AdjudicationCase) -> Scale:
        verdicts = self.detail.item.verdicts if self.detail else []
        automatic = [v.value for v in verdicts if v.criterion == case.disagreement.criterion]
        human = [
            answer.verdict for answer in case.disagreement.answers if is_definite(answer.verdict)
        ]
        return find_scale(case.disagreement.criterion, automatic or human) or Scale()

    def _queue_review(self, **fields: Any) -> None:
        """Queue a review of the displayed case.

        `fields`: fields of the `Annotation`, such as `verdict`.
        """
        case = self.cases.current
        if case is not None:
            disputed = case.disagreement
            act = Annotation(
                act="adjudicate", target=disputed.target, criterion=disputed.criterion, **fields
            )
            self._runner.queue_action(partial(self._save, case, act))

    async def _load_cases(self) -> ActionSucceeded:
        await self._session.open_journal()
        found = await self._session.query(
            lambda store: store.analysis.fetch_disagreements(self._view)
        )
        self.cases = CaseList.from_disagreements((each.item, each.disagreement) for each in found)
        await self._read_item()
        self.is_loaded = True
        self._screen.show_case(SHUFFLED if self.cases.cases else NO_MESSAGE)
        return True

    async def _reread_cases(self) -> ActionSucceeded:
        if not self.is_loaded:
            return True
        current: dict[int, list[Disagreement]] = {case.item: [] for case in self.cases.cases}
        for each in await self._session.query(
            lambda store: store.analysis.fetch_disagreements(self._view)
        ):
            current.setdefault(each.item, []).append(each.disagreement)
        displayed = self.cases.current
        for item, disagreements in current.items():
            if displayed is None or item != displayed.item:
                self.cases.update_item_cases(item, disagreements)
        await (self._show_case if displayed is None else self._refresh_case)(RECEIVED)
        return True

    async def _save(self, case: AdjudicationCase, annotation: Annotation) -> ActionSucceeded:
        words = _describe_annotation(annotation)
        try:
            event = await self._session.record_review(case.item, annotation)
        except (
            Exception
        ) as error:  # whatever the reason, the adjudicator must see that the review was not saved
            self._runner.show_message(
                f"NOT SAVED ({words}): {sanitize(str(error) or type(error).__name__)}", "bad"
            )
            return False
        was_resolved = case.resolved
        await self._update_cases(case.item)
        goes_on = self.cases.current is case and annotation.verdict is not None
        name, undo = sanitize(event.key.id), f"{self._key('item.undo')} undo"
        sign = "" if symbols().rule.isascii() else f"{symbols().passed} "
        is_new = case.resolved and not was_resolved
        unresolved = annotation.verdict is not None and not is_definite(annotation.verdict)
        state = "resolved" if is_new else "saved"
        parts = [f"{sign}{name} {state}: {words}" + (" (still unresolved)" if unresolved else "")]
        moved = goes_on and self.cases.move_to_next_unresolved()
        if moved and is_new:  # the cards show the names of a case that stays on screen
            parts.append(format_annotator_names(case.disagreement.answers))
        elif goes_on and not moved:
            parts += [format_unresolved_count(self.cases), f"{self._key('item.back')} back"]
        show = self._show_case if moved else self._refresh_case
        await show(StatusMessage(PART_GAP.join([*parts, undo])))
        return True

    async def _undo_latest_review(self) -> ActionSucceeded:
        events = await self._session.undo_latest_review()
        if not events:
            self._runner.show_message("nothing to undo", "warn")
            return True
        event = events[-1]
        if event.bulk:
            text = f"undone: {describe_event(event)} · {describe_bulk(events)}"
            for number in {case.item for case in self.cases.cases}:
                await self._update_cases(number)
            await self._refresh_case(StatusMessage(text))
            return True
        item = await self._session.query(lambda store: find_item_number(store, event.key))
        text = f"undone: {describe_event(event)} · {sanitize(event.key.id)}"
        if item is None or not any(case.item == item for case in self.cases.cases):
            await self._refresh_case(
                StatusMessage(f"{text} (this disagreement is not in this list)", "warn")
            )
            return True
        await self._update_cases(item)
        self.cases.move_to((item, event.target, event.criterion))
        await self._show_case(StatusMessage(text))
        return True

    async def _step(self, by: int) -> ActionSucceeded:
        if self.cases.step(by):
            await self._show_case(NO_MESSAGE)
        else:
            self._runner.show_message(
                f"this is the {'last' if by > 0 else 'first'} disagreement", "warn"
            )
        return True

    async def _update_cases(self, item: int) -> None:
        unresolved = await self._session.query(
            lambda store: store.analysis.fetch_item_disagreements(item)
        )
        self.cases.update_item_cases(item, unresolved)

    async def _show_case(self, message: StatusMessage) -> None:
        await self._read_item()
        self._screen.show_case(message)

    async def _refresh_case(self, message: StatusMessage) -> None:
        await self._read_item()
        self._screen.refresh_case(message)

    async def _read_item(self) -> None:
        case = self.cases.current
        self.detail = (
            None
            if case is None
            else await self._session.query(lambda store: store.read_detail(case.item))
        )


def _describe_annotation(annotation: Annotation) -> str:
    parts = (
        [format_verdict(annotation.verdict, annotation.criterion)]
        if annotation.verdict is not None
        else []
    )
    if annotation.fault:
        is_golden_wrong = annotation.verdict is True and annotation.fault == "golden"
        parts.append("golden wrong" if is_golden_wrong else f"fault: {annotation.fault}")
    parts += ["golden fix"] if annotation.golden_fix else []
    parts += ["note"] if annotation.note is not None else []
    return ", ".join(parts)
