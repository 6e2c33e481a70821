"""List disagreements, and record the adjudicator's reviews of them.

Annotators' names are hidden until a disagreement is resolved. A review is on disk before its
message is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from fcreview.model.address import ITEM, describe_address
from fcreview.model.decision import Disagreement, format_answer_letter
from fcreview.model.effective_verdict import is_definite
from fcreview.model.golden_fix import ACCEPTED, REJECTED, count_changed_predictions
from fcreview.model.review import (
    Annotation,
    Event,
    Fault,
    Opinion,
)
from fcreview.model.sanitize import display_width, sanitize
from fcreview.model.verdict import Scale, find_scale
from fcreview.model.wording import format_count, format_verdict
from fcreview.stats.agreement_ratings import is_fault_disagreement
from fcreview.store.rows import ItemDetail, View
from fcreview.tui.action_queue import ActionScreen, QueuedAction
from fcreview.tui.review.prefetch import find_item_number
from fcreview.tui.review.recorder import (
    KeyLookup,
    ReviewNotSavedError,
    describe_bulk,
    describe_event,
)
from fcreview.tui.text.lines import truncate_middle
from fcreview.tui.text.messages import NO_MESSAGE, StatusMessage
from fcreview.tui.text.styles import symbols
from fcreview.tui.verdict_keys import (
    GOLDEN_WRONG_KEY,
    VERDICT_KEY_BY_NAME,
    VerdictKey,
)

if TYPE_CHECKING:
    from fcreview.tui.session import Session


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
        """Create the list from (item number, disagreement) pairs.

        The items stay in the order of the pairs. The disagreement on a whole item comes after those
        on parts of it, because resolving the parts often resolves the item.
        """
        cases_by_item: dict[int, list[AdjudicationCase]] = {}
        for item, disagreement in item_disagreements:
            case = AdjudicationCase(item, disagreement)
            cases_by_item.setdefault(item, []).append(case)

        sorted_cases: list[AdjudicationCase] = []
        for cases in cases_by_item.values():
            sorted_cases += [case for case in cases if case.disagreement.target != ITEM]
            sorted_cases += [case for case in cases if case.disagreement.target == ITEM]
        return cls(sorted_cases)

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
        """Update the cases of an item after its reviews changed.

        A case is resolved if its disagreement is no longer among the unresolved ones. New
        disagreements follow the other cases of the item. The displayed case stays the same.
        """
        displayed = self.current
        unresolved_cases: dict[CaseKey, AdjudicationCase] = {}
        for disagreement in unresolved:
            case = AdjudicationCase(item, disagreement)
            unresolved_cases[case.key] = case

        # Update the cases that the list has already. Those that remain are new.
        index_after_item = len(self.cases)
        for index, case in enumerate(self.cases):
            if case.item != item:
                continue
            index_after_item = index + 1
            still_unresolved = unresolved_cases.pop(case.key, None)
            case.resolved = still_unresolved is None
            if still_unresolved is not None:
                case.disagreement = still_unresolved.disagreement

        new_cases = list(unresolved_cases.values())
        self.cases = self.cases[:index_after_item] + new_cases + self.cases[index_after_item:]
        if displayed is not None:
            self.at = self.cases.index(displayed)

    def move_to_next_unresolved(self) -> bool:
        """Move to the next unresolved case, wrapping around. Return False if all cases are
        resolved.
        """
        n_cases = len(self.cases)
        for step in range(1, n_cases + 1):
            index = (self.at + step) % n_cases
            if not self.cases[index].resolved:
                self.at = index
                return True
        return False

    def step(self, direction: int) -> bool:
        """Move to the next (1) or previous (-1) case. Return False if there is none."""
        if not 0 <= self.at + direction < len(self.cases):
            return False
        self.at += direction
        return True

    def move_to(self, key: CaseKey) -> bool:
        """Move to the case with this key. Return False if there is none."""
        for index, case in enumerate(self.cases):
            if case.key == key:
                self.at = index
                return True
        return False


def case_name(case: AdjudicationCase, detail: ItemDetail) -> str:
    """Return the sanitized name of the case: `simple_13 · turn 1 call 1 · equivalent`."""
    parts = [detail.row.id]
    if case.disagreement.target != ITEM:
        parts.append(describe_address(case.disagreement.target))
    parts.append(case.disagreement.criterion)
    return sanitize(f" {symbols().separator} ".join(parts))


def format_annotator_names(answers: Sequence[Opinion]) -> str:
    """Return the letters and names of the annotators: `A was alice, B was bob`."""
    names = []
    for index, answer in enumerate(answers):
        names.append(f"{format_answer_letter(index)} was {answer.annotator}")
    return sanitize(", ".join(names))


PART_GAP = "   "


RESOLVED_MARK = " resolved: "
"""Text of a message between the name of the case and the resolution."""


def shorten_message(message: str, cells: int) -> str:
    """Shorten a message to fit into `cells`: omit its last parts, then cut the middle of a name.

    Example of a message: `✓ simple_13 resolved: pass · anna, bob · u undo`.
    """
    parts = message.split(PART_GAP)
    while len(parts) > 1 and display_width(PART_GAP.join(parts)) > cells:
        parts.pop()

    first = parts[0]
    name, mark, resolution = first.rpartition(RESOLVED_MARK)
    if mark and display_width(first) > cells:
        ending = mark + resolution
        name_cells = max(cells - display_width(ending), 1)
        parts[0] = truncate_middle(name, name_cells) + ending
    return PART_GAP.join(parts)


def format_unresolved_count(cases: CaseList) -> str:
    """Format the number of unresolved cases: `2 disagreements left`."""
    if not cases.cases:
        return "no disagreements"
    if cases.are_all_resolved:
        return "all resolved"
    n_unresolved = len(cases.cases) - cases.n_resolved
    return f"{format_count(n_unresolved, 'disagreement')} left"


SEARCHING = "searching for disagreements"
SHUFFLED = StatusMessage(
    "annotators in random order, names hidden until you resolve the case", "dim"
)
RECEIVED = StatusMessage("reviews of other annotators have arrived", "dim")


class AdjudicationView(ActionScreen, Protocol):
    """Methods of the adjudication screen that `Adjudicator` calls."""

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
        self._session = session
        self._view = view
        self._screen = screen
        self._key = key

    def load_cases(self) -> None:
        self._session.actions.add(self._load_cases, self._screen, slow_message=SEARCHING)

    def load_cases_of(self, view: View) -> None:
        """Load the disagreements of other items than before."""
        self._view = view
        self.is_loaded = False
        self.load_cases()

    def refresh_cases(self) -> None:
        """Read the disagreements again after reviews of other annotators arrived.

        The same case stays on screen.
        """
        self._add_action(self._reread_cases)

    def accept_answer(self, number: int) -> None:
        """Accept the answer with this number, from 1, as the resolution of the case."""
        case = self.cases.current
        if case is None or number > len(case.disagreement.answers):
            return
        answer = case.disagreement.answers[number - 1]
        # The answer proposes to correct the golden answer, and nobody has decided on that yet.
        has_open_fix = bool(answer.golden_fix and answer.golden_status)
        if has_open_fix:
            self._queue_review(_accept_with_golden_fix(answer))
            return
        if not is_definite(answer.verdict):
            letter = format_answer_letter(number - 1)
            self._show_message(f"answer {letter} is unsure and cannot be accepted", "warn")
            return

        # If other answers propose a correction, this one does not.
        golden_status = REJECTED if case.disagreement.golden_status else None
        review = Annotation(verdict=answer.verdict, fault=answer.fault, golden_status=golden_status)
        self._queue_review(review)

    def record_verdict(self, verdict_key: str) -> None:
        """Record a verdict. `verdict_key` is one of `verdict_keys.VERDICT_KEY_BY_NAME`."""
        key = VERDICT_KEY_BY_NAME[verdict_key]
        fault = key.fault
        own = self.own_review
        if fault is None and own is not None and own.verdict is None:
            # The fault was recorded before the verdict. A verdict without a fault would clear it.
            fault = own.fault
        review = Annotation(verdict=key.value, fault=fault)
        self._queue_review(self._decide_golden(review, key))

    def _decide_golden(self, review: Annotation, key: VerdictKey) -> Annotation:
        """Return the adjudicator's review with its decision about the golden answer.

        The annotators may have proposed to correct it. The verdict "golden wrong" accepts the
        correction if there is only one. Pass and fail reject it. Unsure decides nothing, and
        neither does "golden wrong" if there are several corrections.
        """
        # A case is the disagreement of annotators about one item.
        case = self.cases.current
        if case is None or case.disagreement.golden_status is None or not is_definite(key.value):
            return review
        if key is not GOLDEN_WRONG_KEY:
            return replace(review, golden_status=REJECTED)
        fixes = case.disagreement.golden_fixes
        if len(fixes) != 1:
            return review
        (fix,) = fixes
        # The recomputed verdicts are the same in all answers with this correction.
        answers = [answer for answer in case.disagreement.answers if answer.golden_fix == fix]
        return replace(
            review,
            golden_fix=fix,
            golden_status=ACCEPTED,
            golden_verdicts=answers[0].golden_verdicts,
        )

    def record_value(self, typed_value: str) -> None:
        """Record a typed value, or show an error if it is not on the scale of the criterion."""
        case = self.cases.current
        if case is None:
            return
        try:
            value = self._answer_scale(case).parse_typed_answer(typed_value.strip())
        except ValueError as error:
            criterion = sanitize(case.disagreement.criterion)
            self._show_message(f"{criterion} must be {error}; got {sanitize(typed_value)}", "warn")
            return
        self._queue_review(Annotation(verdict=value))

    def record_fault(self, fault: Fault) -> None:
        """Record the fault. If the annotators disagree only on the fault, also record a pass."""
        case = self.cases.current
        passes = case is not None and is_fault_disagreement(case.disagreement) and not case.resolved
        self._queue_review(Annotation(verdict=True if passes else None, fault=fault))

    def record_note(self, note: str) -> None:
        self._queue_review(Annotation(note=note))

    def undo(self) -> None:
        """Undo the adjudicator's latest review and show its case."""
        self._add_action(self._undo_latest_review)

    def step(self, direction: int) -> None:
        self._add_action(partial(self._step, direction))

    def _add_action(self, action: QueuedAction) -> None:
        """Run an action after the actions of all earlier keys."""
        self._session.actions.add(action, self._screen)

    def _show_message(self, text: str, style: str = "good") -> None:
        self._screen.show_message(StatusMessage(text, style))

    def call_after_queued_actions(self, callback: Callable[[], Any]) -> None:
        async def call() -> None:
            callback()

        self._add_action(call)

    @property
    def own_review(self) -> Opinion | None:
        """The adjudicator's own review of the displayed case, if it is still valid, or None."""
        case = self.cases.current
        if case is None or self.detail is None:
            return None
        subject = (case.disagreement.target, case.disagreement.criterion)
        for opinion in self.detail.opinions:
            is_own = opinion.annotator == self._session.annotator and opinion.is_adjudication
            is_current = not opinion.stale
            if is_own and is_current and (opinion.target, opinion.criterion) == subject:
                return opinion
        return None

    @property
    def role(self) -> AdjudicatorRole:
        case = self.cases.current
        answers = [] if case is None else case.disagreement.answers
        is_involved = any(answer.annotator == self._session.annotator for answer in answers)
        return AdjudicatorRole(self.own_review, is_involved)

    def describe_allowed_values(self) -> str:
        case = self.cases.current
        return "" if case is None else self._answer_scale(case).describe_answers()

    def _answer_scale(self, case: AdjudicationCase) -> Scale:
        """Return the answers that the criterion of the case allows, such as pass and fail.

        The scale of a criterion that fcreview does not know follows from the values of the
        benchmark, else from those of the annotators.
        """
        criterion = case.disagreement.criterion
        values = []
        if self.detail is not None:
            verdicts = self.detail.item.verdicts
            values = [verdict.value for verdict in verdicts if verdict.criterion == criterion]
        if not values:
            answers = case.disagreement.answers
            values = [answer.verdict for answer in answers if is_definite(answer.verdict)]
        return find_scale(criterion, values) or Scale()

    def _queue_review(self, review: Annotation) -> None:
        """Queue a review of the displayed case, which gives it its target and criterion."""
        case = self.cases.current
        if case is None:
            return
        adjudication = replace(
            review,
            act="adjudicate",
            target=case.disagreement.target,
            criterion=case.disagreement.criterion,
        )
        self._add_action(partial(self._save, case, adjudication))

    async def _load_cases(self) -> None:
        """Load the disagreements of the view, and show the first one.

        A message says that the annotators are anonymous and in random order.
        """
        await self._session.open_journal()
        disagreements = await self._session.read(
            lambda store: store.analysis.fetch_disagreements(self._view)
        )
        self.cases = CaseList.from_disagreements(
            (each.item, each.disagreement) for each in disagreements
        )
        await self._read_item()
        self.is_loaded = True
        self._screen.show_case(SHUFFLED if self.cases.cases else NO_MESSAGE)

    async def _reread_cases(self) -> None:
        """Read the disagreements again, because others may have reviewed or resolved some."""
        if not self.is_loaded:
            return
        disagreements = await self._session.read(
            lambda store: store.analysis.fetch_disagreements(self._view)
        )
        # An item without disagreements is in the dictionary too, so that its cases are resolved.
        by_item: dict[int, list[Disagreement]] = {case.item: [] for case in self.cases.cases}
        for each in disagreements:
            by_item.setdefault(each.item, []).append(each.disagreement)

        # The displayed item does not change until the adjudicator has resolved it.
        displayed = self.cases.current
        for item, unresolved in by_item.items():
            if displayed is None or item != displayed.item:
                self.cases.update_item_cases(item, unresolved)
        if displayed is None:
            await self._show_case(RECEIVED)
        else:
            await self._refresh_case(RECEIVED)

    async def _save(self, case: AdjudicationCase, annotation: Annotation) -> None:
        """Write the review of a case, then show the next unresolved case if the review has a
        verdict.

        Raises ReviewNotSavedError.
        """
        description = _describe_annotation(annotation)
        try:
            event = await self._session.record_review(case.item, annotation)
        except Exception as error:
            # Whatever the reason, the adjudicator must see that the review was not saved.
            reason = sanitize(str(error) or type(error).__name__)
            raise ReviewNotSavedError(f"NOT SAVED ({description}): {reason}") from error

        # To update the cases sets `resolved` of this and perhaps of other cases.
        was_resolved_before = case.resolved
        await self._update_decided_cases(case.item, annotation.golden_status)
        is_newly_resolved = case.resolved and not was_resolved_before
        saved = _format_saved_message(event, description, is_newly_resolved=is_newly_resolved)
        await self._show_saved_case(case, annotation, saved, is_newly_resolved=is_newly_resolved)

    async def _update_decided_cases(self, item: int, golden_status: str | None) -> None:
        """Update the cases of an item after a decision. A decision on the golden answer resolves
        cases of other runs too.
        """
        await self._update_cases(item)
        if golden_status is not None:
            await self._update_all_cases()

    async def _show_saved_case(
        self, case: AdjudicationCase, annotation: Annotation, saved: str, *, is_newly_resolved: bool
    ) -> None:
        """Show that a review was saved and, if it decides the case, go to the next unresolved
        one.

        `saved`: text that says what was saved.
        """
        decides = annotation.verdict is not None or annotation.golden_status is not None
        undo = f"{self._key('item.undo')} undo"

        # If the adjudicator has moved to another case in the meantime, that case stays on screen.
        if not decides or self.cases.current is not case:
            await self._refresh_case(_join_message(saved, undo))
            return

        has_next_case = self.cases.move_to_next_unresolved()
        if not has_next_case:
            n_unresolved = format_unresolved_count(self.cases)
            back = f"{self._key('item.back')} back"
            await self._refresh_case(_join_message(saved, n_unresolved, back, undo))
        elif is_newly_resolved:
            # The cards that named the annotators disappear, so the message names them.
            annotators = format_annotator_names(case.disagreement.answers)
            await self._show_case(_join_message(saved, annotators, undo))
        else:
            await self._show_case(_join_message(saved, undo))

    async def _undo_latest_review(self) -> None:
        """Undo the last review, and go back to the disagreement that it was about."""
        events = await self._session.undo_latest_review()
        if not events:
            self._show_message("nothing to undo", "warn")
            return
        event = events[-1]
        if event.bulk:
            await self._show_undone_bulk_review(events)
            return

        item = await self._session.read(lambda store: find_item_number(store, event.key))
        is_listed = any(case.item == item for case in self.cases.cases)
        text = f"undone: {describe_event(event)} · {sanitize(event.key.id)}"
        if item is None or not is_listed:
            text += " (this disagreement is not in this list)"
            await self._refresh_case(StatusMessage(text, "warn"))
            return

        await self._update_decided_cases(item, event.golden_status)
        self.cases.move_to((item, event.target, event.criterion))
        await self._show_case(StatusMessage(text))

    async def _show_undone_bulk_review(self, events: Sequence[Event]) -> None:
        await self._update_all_cases()
        text = f"undone: {describe_event(events[-1])} · {describe_bulk(events)}"
        await self._refresh_case(StatusMessage(text))

    async def _step(self, by: int) -> None:
        if self.cases.step(by):
            await self._show_case(NO_MESSAGE)
        else:
            self._show_message(f"this is the {'last' if by > 0 else 'first'} disagreement", "warn")

    async def _update_all_cases(self) -> None:
        for item in {case.item for case in self.cases.cases}:
            await self._update_cases(item)

    async def _update_cases(self, item: int) -> None:
        unresolved = await self._session.read(
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
        if case is None:
            self.detail = None
        else:
            self.detail = await self._session.read_detail(case.item)


def _join_message(*parts: str) -> StatusMessage:
    return StatusMessage(PART_GAP.join(parts))


def _accept_with_golden_fix(answer: Opinion) -> Annotation:
    """Return the review that accepts an answer, and with it its correction of the golden answer."""
    return Annotation(
        verdict=answer.verdict if is_definite(answer.verdict) else None,
        fault=answer.fault or "golden",
        golden_fix=answer.golden_fix,
        golden_status=ACCEPTED,
        golden_verdicts=answer.golden_verdicts,
    )


def _format_saved_message(event: Event, description: str, *, is_newly_resolved: bool) -> str:
    """Return `✓ simple_13 resolved: pass`, or `✓ simple_13 saved: unsure (still unresolved)`."""
    # With plain ASCII symbols, the sign of a pass is a letter, which would look like a word.
    has_only_ascii = symbols().rule.isascii()
    sign = "" if has_only_ascii else f"{symbols().passed} "
    state = "resolved" if is_newly_resolved else "saved"
    text = f"{sign}{sanitize(event.key.id)} {state}: {description}"
    if event.verdict is not None and not is_definite(event.verdict):
        text += " (still unresolved)"
    return text


def _describe_annotation(annotation: Annotation) -> str:
    """Describe what an adjudicator decided: `pass, fault: golden, golden fix accepted, note`."""
    parts = []
    if annotation.verdict is not None:
        parts.append(format_verdict(annotation.verdict, annotation.criterion))
    # This combination has a key and a name of its own.
    is_golden_wrong = annotation.verdict is True and annotation.fault == "golden"
    if is_golden_wrong:
        parts.append(GOLDEN_WRONG_KEY.label)
    elif annotation.fault:
        parts.append(f"fault: {annotation.fault}")
    golden_text = _describe_golden_decision(annotation)
    if golden_text:
        parts.append(golden_text)
    if annotation.note is not None:
        parts.append("note")
    return ", ".join(parts)


def _describe_golden_decision(annotation: Annotation) -> str:
    """Describe what a review decides about the golden answer. Empty if it decides nothing."""
    if annotation.golden_status == ACCEPTED:
        n_changes = count_changed_predictions(annotation.golden_verdicts)
        return f"golden fix accepted, {format_count(n_changes, 'verdict')} corrected"
    if annotation.golden_status == REJECTED:
        return "golden answer of the dataset stays"
    return "golden fix" if annotation.golden_fix else ""
