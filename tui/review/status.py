"""Build the status line and key line of the item screen, measure the pace of review, and offer
override reasons.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from typing import TYPE_CHECKING, Any

from fcreview.model.address import ITEM, describe_address
from fcreview.model.effective_verdict import is_definite
from fcreview.model.review import CORRECT, ITEM_CORRECT, Annotation, Event
from fcreview.model.sanitize import display_width, sanitize
from fcreview.model.verdict import DECISIVE_STEP, PASS_FAIL, PASS_FAIL_CRITERIA
from fcreview.model.wording import format_count
from fcreview.store.rows import (
    QueueRow,
    View,
)
from fcreview.tui.review.recorder import (
    GOLDEN_ANSWER_PREFIX,
    GOLDEN_WRONG_PREFIX,
    KeyLookup,
    PendingQuestion,
    ReviewSubject,
    format_verdict_with_criterion,
)
from fcreview.tui.text.lines import (
    BLANK_LINE,
    Line,
    join_lines,
    justify_line,
    line_width,
    make_line,
    truncate,
    truncate_middle,
)
from fcreview.tui.text.messages import StatusMessage
from fcreview.tui.text.styles import symbols

if TYPE_CHECKING:
    from fcreview.model.review import ItemKey
    from fcreview.store.store import Store

BREAK_SECONDS = 180.0
"""Minimum length of a break between two reviews, in seconds.

The time per item does not include breaks.
"""
AVERAGED_ITEMS = 50
REASON_ACTIONS = ("item.score_1", "item.score_2", "item.reason_3")
"""Actions that select the first three override reasons on an item without scores."""
SOURCE_NAMES = {"official": "checker", "rule": "checker", "judge": "judge"}
TOO_STRICT = "too strict"
TOO_LENIENT = "too lenient"
"""Reasons of a pass that a source failed, and of a fail that a source passed."""
REASON_LABELS = {
    TOO_STRICT: "{} too strict",
    TOO_LENIENT: "{} too lenient",
    "misread": "{} misread answer",
}
"""Label of each default reason. `{}` stands for the source of the contradicted verdict. Journals
store the default reasons.
"""
MIN_NAME_CELLS = 10


@dataclass(slots=True)
class Pace:
    """Pace of a review session: items reviewed, items left, and seconds per item."""

    n_left: int | None = None
    """Number of items of the list without a verdict by the annotator.

    None until the items are counted, and after a change that only a new count can follow.
    """
    n_changes: int = 0
    """Number of changes of reviews and lists. A count that began before a change is out of date."""
    reviewed_items: set[Hashable] = field(default_factory=set)
    _durations: list[float] = field(default_factory=list)
    _last_time: float | None = None
    """Time when the last review was recorded or the first item was shown, in seconds of a
    monotonic clock.
    """

    def record_item(self, item: Hashable, now: float, *, is_first_verdict: bool) -> None:
        """Count a reviewed item, and the time since the previous one, unless it was a break.

        `now`: time in seconds of a monotonic clock.
        """
        self.n_changes += 1
        if is_first_verdict and self.n_left is not None:
            self.n_left = max(self.n_left - 1, 0)
        if self._last_time is not None:
            duration = now - self._last_time
            if duration < BREAK_SECONDS:
                self._durations.append(duration)
                # Only the last items count, so that the pace follows the annotator.
                del self._durations[:-AVERAGED_ITEMS]
        self._last_time = now
        self.reviewed_items.add(item)

    def remove_item(self, item: Hashable) -> None:
        self.reviewed_items.discard(item)

    def restart_clock(self, now: float) -> None:
        self._last_time = now

    def request_count(self) -> None:
        """Forget how many items are left, because the list or its reviews changed."""
        self.n_changes += 1
        self.n_left = None

    def set_count(self, n_left: int, n_changes: int) -> None:
        """Set the number of items left, unless reviews or the list changed while they were counted.

        `n_changes`: value of `Pace.n_changes` when the count began.
        """
        if self.n_changes == n_changes:
            self.n_left = n_left

    @property
    def summary(self) -> str:
        """Progress as text: `30 reviewed · 1,482 left · 4.1 s/item`. Empty before the first
        review.
        """
        n_reviewed = len(self.reviewed_items)
        if not n_reviewed:
            return ""
        parts = [f"{n_reviewed:,} reviewed"]
        if self.n_left is not None:
            parts.append(f"{self.n_left:,} left")
        if self._durations:
            parts.append(f"{median(self._durations):.1f} s/item")
        return " · ".join(parts)


SCORE_ACTIONS = ("item.score", "item.score_1", "item.score_2")


@dataclass(frozen=True, slots=True)
class KeyHint:
    actions: tuple[str, ...]
    label: str
    priority: int
    """Priority of the hint.

    If the line is too short, hints with the lowest priority are omitted first.
    """


KEY_HINTS = (
    KeyHint(("item.next", "item.previous"), label="items", priority=3),
    KeyHint(("item.down", "item.up"), label="move", priority=3),
    KeyHint(("item.fold",), label="open", priority=1),
    KeyHint(("item.difference",), label="difference", priority=2),
    KeyHint(("item.decisive_step",), label="decisive step", priority=1),
    KeyHint(("item.dialogue",), label="dialogue", priority=1),
    KeyHint(("item.document",), label="function docs", priority=0),
    KeyHint(("item.raw",), label="records", priority=0),
    KeyHint(("item.search",), label="search", priority=1),
    KeyHint(("item.back",), label="list", priority=2),
)


@dataclass(frozen=True, slots=True)
class _StatusParts:
    """Parts at the right of the status line. A part without content is empty."""

    pace: Line
    in_arguments: Line
    score: Line
    """Question that the next score key answers."""
    target: Line
    """Target and criterion of the next verdict key."""
    position: Line

    @property
    def all_but_pace(self) -> Line:
        joined = _join_parts(self.in_arguments, self.score, self.target, self.position)
        return joined if self.position else (*joined, (" ", ""))

    @property
    def questions(self) -> Line:
        return _join_parts(self.score, self.target)


def status_line(
    message: tuple[str, str],
    question: PendingQuestion,
    scroll_position: str,
    is_in_arguments: bool,
    cells: int,
    key_names: Mapping[str, str] | None = None,
    pace: str = "",
) -> Line:
    """Return the status line of an item: a message on the left, the target of verdict keys on the
    right.

    Example: ` saved: fail · live_simple_3-2-1 T verdict on: turn 2 call 1 · 40 %`. Without a
    message, the line begins with key hints. If it is too long, both sides are shortened.

    Args:
        question: What a verdict key decides.
        scroll_position: See `DocumentLayout.scroll_position`.
        key_names: First key of each action, by action id.
        pace: How fast the annotator reviews.
    """
    key_names = key_names or {}
    # All parts that the right side can have. A part without content is blank.
    parts = _StatusParts(
        pace=make_line(f" {pace}", "dim") if pace else BLANK_LINE,
        in_arguments=make_line(" in arguments", "dim") if is_in_arguments else BLANK_LINE,
        score=_score_part(question, key_names),
        target=_target_part(question, key_names),
        position=make_line(f" {scroll_position} ", "dim") if scroll_position else BLANK_LINE,
    )
    text, style = message
    if not text:
        return _key_hints_status_line(parts, key_names, cells)
    return _message_status_line(text, style, parts, question, key_names, cells)


def _message_status_line(
    text: str,
    style: str,
    parts: _StatusParts,
    question: PendingQuestion,
    key_names: Mapping[str, str],
    cells: int,
) -> Line:
    """Return a status line with a message at the left, and with as many of the parts at the right
    as fit.

    After the message, the line names the key that undoes a saved review, if there is room.
    """
    right_forms = _list_right_parts(parts, question)
    narrowest_right = right_forms[-1]

    # The left side is the message, as long as possible beside the narrowest right side.
    left_cells = cells - line_width(narrowest_right)
    undo = _undo_part(text, key_names)
    shown_text = _omit_effect_on_runs(text, left_cells - line_width(undo) - BLANKS_AROUND_MESSAGE)
    left = _message_with_undo(make_line(f" {shown_text}", style), undo, left_cells)

    # The right side is the widest form that fits beside it.
    for right in right_forms:
        if line_width(left) + line_width(right) < cells:
            return justify_line(left, right, cells)

    # Not even the narrowest form fits.
    if not _names_target(shown_text, question):
        return justify_line(left, narrowest_right, cells)

    # Both sides name the target. Only the right side keeps it.
    right_with_target = narrowest_right
    if not parts.score:
        right_with_target = _plain_target_part(question, key_names)
    short_text_cells = cells - line_width(right_with_target) - BLANKS_AROUND_MESSAGE
    short_left = _message_without_target(shown_text, style, question, short_text_cells)
    return justify_line(short_left, right_with_target, cells)


BLANKS_AROUND_MESSAGE = 2


def _message_with_undo(message: Line, undo: Line, cells: int) -> Line:
    """Return the message with the key that undoes the review or, if both are not narrower than
    `cells`, only the message.
    """
    with_undo = (*message, *undo)
    return with_undo if line_width(with_undo) < cells else message


def _names_target(text: str, question: PendingQuestion) -> bool:
    """Whether a message ends with the name of the reviewed part, so that the line need not repeat
    it.
    """
    return question.target != ITEM and text.endswith(_target_ending(question))


def _target_ending(question: PendingQuestion) -> str:
    return f" · {sanitize(describe_address(question.target))}"


def _plain_target_part(question: PendingQuestion, key_names: Mapping[str, str]) -> Line:
    """Return ` T verdict on: turn 2 call 1`, without the criterion, which the message names."""
    target_name = sanitize(describe_address(question.target))
    return ((_target_key(key_names), "key"), (f"verdict on: {target_name}", "warn"))


def _message_without_target(text: str, style: str, question: PendingQuestion, cells: int) -> Line:
    room = max(cells, 1)
    short_text = _shorten_saved_message(text.removesuffix(_target_ending(question)), room)
    return make_line(f" {truncate(short_text, room)}", style)


def _key_hints_status_line(parts: _StatusParts, key_names: Mapping[str, str], cells: int) -> Line:
    """Return a status line with key hints at the left, because there is no message to show."""
    right = parts.all_but_pace
    if line_width(right) >= cells:
        right = parts.questions
    hints = format_key_hints(key_names, cells - line_width(right) - 2)
    return justify_line(make_line(f" {hints}", "dim"), right, cells)


def _list_right_parts(parts: _StatusParts, question: PendingQuestion) -> list[Line]:
    """Return texts for the right side of the status line, from the widest to the narrowest.

    The caller shows the first text that fits, else the last one. So if verdict keys apply to a part
    of the item, such as a call, even the last text names this part.
    """
    with_pace = _join_parts(parts.pace, parts.all_but_pace)
    if question.target == ITEM:
        return [
            with_pace,
            _join_parts(parts.pace, parts.score, parts.position),
            _join_parts(parts.score, parts.position),
            parts.score,
        ]

    choices = [with_pace, parts.all_but_pace, parts.questions]
    if parts.score and question.score_question.startswith(describe_address(question.target)):
        # The question of the score names the target.
        choices.append(parts.score)
    return choices


def _target_part(question: PendingQuestion, key_names: Mapping[str, str]) -> Line:
    """Return ` T verdict on: turn 2 call 1 equivalent`."""
    subject = describe_address(question.target)
    if question.criterion != CORRECT:
        subject += f" {question.criterion}"
    is_on_item = (question.target, question.criterion) == ITEM_CORRECT
    style = "dim" if is_on_item else "warn"
    return ((_target_key(key_names), "key"), (f"verdict on: {sanitize(subject)}", style))


def _target_key(key_names: Mapping[str, str]) -> str:
    """Return the key that switches the target, with blanks around it."""
    key = key_names.get("item.target", "")
    return f" {key} " if key else " "


def _score_part(question: PendingQuestion, key_names: Mapping[str, str]) -> Line:
    """Return ` 0 1 2 on: response completeness`. Empty if the item has no scores."""
    if not question.score_question:
        return BLANK_LINE
    keys = " ".join(key_names[action] for action in SCORE_ACTIONS if action in key_names)
    return make_line(f" {keys} on: {sanitize(question.score_question)}", "warn")


def _undo_part(text: str, key_names: Mapping[str, str]) -> Line:
    """Return ` · z undo` after the message about a saved review, else an empty line."""
    key = key_names.get("item.undo", "")
    if not key or not text.startswith("saved:"):
        return BLANK_LINE
    return ((" · ", "dim"), (key, "key"), (" undo", "dim"))


def _omit_effect_on_runs(text: str, cells: int) -> str:
    """Shorten the message about a saved golden answer to fit into `cells`. Other messages stay.

    The effect on the runs, in the middle, is omitted: `saved: golden answer accepted · pass ·
    changes 2 of 5 runs · simple_3` becomes `saved: golden answer accepted · pass · simple_3`.
    """
    is_about_golden = text.startswith(f"saved: {GOLDEN_ANSWER_PREFIX}")
    if not is_about_golden or display_width(text) <= cells:
        return text
    parts = text.split(" · ")
    if len(parts) <= 3:
        return text
    status, verdict, *_, item_id = parts
    return " · ".join((status, verdict, item_id))


def _shorten_saved_message(text: str, cells: int) -> str:
    """Shorten a message such as `saved: golden wrong, so pass` to fit into `cells`.

    The words `wrong, so` are replaced by a symbol or, if that is not enough, `golden wrong, so` by
    an ellipsis. The end of the message stays, because it has the criterion.
    """
    for beginning in (GOLDEN_WRONG_PREFIX, f"golden {symbols().failed} "):
        shortened = text.replace(GOLDEN_WRONG_PREFIX, beginning)
        if display_width(shortened) <= cells:
            return shortened
    return text.replace(GOLDEN_WRONG_PREFIX, f"{symbols().ellipsis} ")


def _join_parts(*parts: Line) -> Line:
    return join_lines(parts, (" ·", "dim"))


def score_prompt_message(target: str, criterion: str) -> StatusMessage:
    return StatusMessage(
        sanitize(f"press 0, 1 or 2 to score {criterion} of the {describe_address(target)}"), "warn"
    )


def format_key_hints(key_names: Mapping[str, str], cells: int) -> str:
    """Format as many key hints as fit into `cells`, by priority: `] [ items · j k move · .
    difference · q list`.
    """
    text = ""
    highest_priority = max(hint.priority for hint in KEY_HINTS)
    for lowest_priority in range(highest_priority + 1):
        text = _join_key_hints(key_names, lowest_priority)
        if len(text) <= cells:
            break
    return text


def _join_key_hints(key_names: Mapping[str, str], lowest_priority: int) -> str:
    """Return the key hints with at least this priority: `p pass · f fail`. Actions without a key
    are left out.
    """
    hints = []
    for hint in KEY_HINTS:
        keys = [key_names[action] for action in hint.actions if action in key_names]
        if keys and hint.priority >= lowest_priority:
            hints.append(" ".join([*keys, hint.label]))
    return " · ".join(hints)


MAX_SUMMARY_ITEMS = 5_000


def summarize_queue(
    store: Store,
    view: View,
    session_items: Mapping[int, str],
    pace: str,
    annotator: str,
    *,
    blind: bool,
) -> list[str]:
    """Return the lines that summarize a completed queue: verdicts, pace, and agreement with others.

    Blind review hides the agreement. If the view contains no reviewed items any more, the summary
    covers the items that were reviewed in this session. `session_items`: their ids by number.
    """
    summarized_view = view
    rows = _fetch_reviewed_rows(store, view)
    if not rows and session_items:
        numbers = ",".join(str(item) for item in session_items)
        summarized_view = View(f"item:{numbers}", "dataset")
        session_rows = _fetch_reviewed_rows(store, summarized_view)
        # After an import, a number can belong to another item.
        rows = [row for row in session_rows if row.id == session_items[row.item]]

    lines = [_format_verdict_counts(rows)]
    if pace:
        lines.append(pace)
    if not blind:
        agreement = _format_agreement(store, summarized_view, annotator)
        if agreement:
            lines.append(agreement)
    return lines


def _format_verdict_counts(rows: Sequence[QueueRow]) -> str:
    """Return `12 items reviewed: 8 pass, 3 fail, 1 unsure`, by the annotator's own verdicts."""
    counts = []
    for word, verdict in PASS_FAIL.items():
        count = sum(row.you == verdict for row in rows)
        counts.append(f"{count:,} {word}")
    return f"{format_count(len(rows), 'item')} reviewed: {', '.join(counts)}"


def _fetch_reviewed_rows(store: Store, view: View) -> list[QueueRow]:
    rows = store.fetch_page(view, 0, MAX_SUMMARY_ITEMS)
    return [row for row in rows if row.you is not None]


def _format_agreement(store: Store, view: View, annotator: str) -> str:
    """Return text such as `all annotators agree on 8 of 9 shared items`.

    A shared item has verdicts by this annotator and another one. Empty without any. In a queue
    file, only verdicts by annotators to whom an item is assigned count.
    """
    n_shared = 0
    n_agreed = 0
    for verdict_by_annotator in _collect_item_verdicts(store, view).values():
        if annotator not in verdict_by_annotator or len(verdict_by_annotator) < 2:
            continue
        n_shared += 1
        different_verdicts = set(verdict_by_annotator.values())
        if len(different_verdicts) == 1:
            n_agreed += 1
    if not n_shared:
        return ""
    return f"all annotators agree on {n_agreed:,} of {format_count(n_shared, 'shared item')}"


def _collect_item_verdicts(store: Store, view: View) -> dict[int, dict[str, object]]:
    """Return the verdicts on each item as a whole: item number -> annotator -> verdict.

    For a queue file, only the annotators count to whom it assigns the item.
    """
    assigned: Mapping[ItemKey, set[str]] | None = None
    if view.queue_file:
        assigned = _read_assigned_annotators(store, view.queue_file)
    verdicts: dict[int, dict[str, object]] = {}
    for rating in store.analysis.fetch_ratings(view):
        if assigned is not None and rating.annotator not in assigned.get(rating.key, ()):
            continue
        # Verdicts on parts of the item, and "unsure", do not count.
        is_item_verdict = (rating.target, rating.criterion) == ITEM_CORRECT
        if is_item_verdict and is_definite(rating.value):
            verdicts.setdefault(rating.item, {})[rating.annotator] = rating.value
    return verdicts


def _read_assigned_annotators(store: Store, queue_name: str) -> Mapping[ItemKey, set[str]]:
    """Return the annotators to whom a queue file assigns each item."""
    queue = store.load_queue(queue_name)
    assigned: dict[ItemKey, set[str]] = {}
    for share in queue.shares:
        # The order has the indexes of the annotator's items in the queue.
        for index in share.order:
            assigned.setdefault(queue.items[index].key, set()).add(share.annotator)
    return assigned


@dataclass(frozen=True, slots=True)
class Override:
    """The annotator's verdict that contradicts an automatic verdict."""

    subject: ReviewSubject
    criterion: str
    verdict: Any
    contradicted: dict[str, Any]
    """{source, by, value} of the automatic verdict, as in `Annotation.overrules`."""

    def make_annotation(self, reason: str) -> Annotation:
        overrules = {**self.contradicted, "reason": reason}
        return Annotation(target=self.subject.target, criterion=self.criterion, overrules=overrules)

    @property
    def contradicted_source_name(self) -> str:
        source = str(self.contradicted.get("source"))
        return SOURCE_NAMES.get(source, sanitize(source))

    @property
    def fails_passed_target(self) -> bool:
        """Whether the annotator fails what the contradicted source passed."""
        if self.criterion not in PASS_FAIL_CRITERIA:
            return False
        return self.verdict is False and self.contradicted.get("value") is True

    def choose_reasons(self, reasons: Sequence[str]) -> list[str]:
        """Return the reasons that fit the override, in the same order. A source that passed what
        the annotator fails was too lenient, not too strict.
        """
        if not self.fails_passed_target or TOO_LENIENT in reasons:
            return list(reasons)
        return [TOO_LENIENT if reason == TOO_STRICT else reason for reason in reasons]

    def format_question(self, cells: int) -> str:
        """Return the question for a reason: `Why pass although the checker failed simple_3?`.

        The name of the item is shortened to fit into `cells`, but never omitted, because another
        item may be on screen. If that is not enough, the question is only `Why pass for simple_3?`.
        """
        verdict = format_verdict_with_criterion(self.verdict, self.criterion)
        contradiction = f"the {self.contradicted_source_name} {self._contradicted_action}"
        start = f"Why {verdict} although {contradiction} "
        if display_width(start) + MIN_NAME_CELLS + 1 > cells:
            start = f"Why {verdict} for "

        name = sanitize(self.subject.detail.row.id)
        if self.subject.part_name:
            name = f"{self.subject.part_name} of {name}"
        room = max(cells - display_width(start) - 1, MIN_NAME_CELLS)
        return f"{start}{truncate_middle(name, room)}?"

    @property
    def _contradicted_action(self) -> str:
        """What the contradicted source did: `failed`, or `gave equivalent fail to`."""
        value = self.contradicted.get("value")
        are_pass_or_fail = isinstance(value, bool) and isinstance(self.verdict, bool)
        if are_pass_or_fail and self.criterion in PASS_FAIL_CRITERIA:
            return "passed" if value else "failed"
        return f"gave {format_verdict_with_criterion(value, self.criterion)} to"

    def format_reason_label(self, reason: str) -> str:
        label = REASON_LABELS.get(reason, sanitize(reason))
        return label.replace("{}", self.contradicted_source_name)


class OverrideReasons:
    """Last override, and the reasons that the annotator can choose for an override."""

    def __init__(self, reasons: Sequence[str], key: KeyLookup) -> None:
        self.override: Override | None = None
        self.is_answered = False
        """Whether `override` has a reason. The screen then does not ask for one."""
        self._reasons = reasons
        self._key = key

    def remember_override(self, subject: ReviewSubject, event: Event | None) -> None:
        """Remember a review that contradicts an automatic verdict, so that the screen asks for the
        reason.

        A verdict without a contradiction ends the question for an earlier override. `event`: the
        review as written to the journal, or None if nothing was written.
        """
        if event is None:
            return
        has_pass_or_fail = event.verdict is not None and event.criterion != DECISIVE_STEP
        if has_pass_or_fail:
            self._remember_verdict(subject, event)
        elif event.overrules:
            # An event without a verdict can add the reason for the last override.
            self.is_answered = True

    def _remember_verdict(self, subject: ReviewSubject, verdict: Event) -> None:
        # That the golden answer is wrong is itself the reason.
        self.is_answered = verdict.fault == "golden"
        if not verdict.overrules:
            self.override = None
            return
        # The target of a score can differ from the cursor.
        scored_subject = replace(subject, target=verdict.target)
        self.override = Override(
            scored_subject,
            verdict.criterion,
            verdict=verdict.verdict,
            contradicted=verdict.overrules,
        )

    def can_digits_record_reason(self, item: int) -> bool:
        """Whether a digit key on an item selects a reason for the last override.

        Before a reason is selected, the key works on every item, because the screen asks for the
        reason. After that, it changes the reason, and works only on the overridden item.
        """
        if self.override is None:
            return False
        return not self.is_answered or self.override.subject.item == item

    def find_reason(self, number: int) -> str:
        """Return the override reason with this number, from 1. Empty if there is no such reason."""
        reasons = self._list_reasons()
        if not 1 <= number <= len(reasons):
            return ""
        return reasons[number - 1]

    def _list_reasons(self) -> Sequence[str]:
        """Return the reasons for the last override, or all reasons without an override."""
        if self.override is None:
            return self._reasons
        return self.override.choose_reasons(self._reasons)

    @property
    def unavailable_message(self) -> str:
        """Message for a digit that selects no reason: the reasons, or that there is nothing to
        explain.
        """
        if self.override is None:
            return "your last verdict contradicts no automatic verdict"
        numbered = [
            f"{number} {sanitize(reason)}" for number, reason in enumerate(self._list_reasons(), 1)
        ]
        return f"reasons: {', '.join(numbered)}"

    def key_hints(self, *, digits_are_answers: bool) -> list[tuple[str, str]]:
        """Return (key, label) pairs for the key line: the keys that select a reason for the last
        override.

        An override is a review that contradicts an automatic verdict. The list is empty if there is
        no override, or if the last one has a reason already. If no digit can select a reason, only
        the key that opens the list of reasons is returned.

        Args:
            digits_are_answers: Whether digits give answers or scores instead of reasons.
        """
        if self.override is None or self.is_answered:
            return []
        open_list_hint = (self._key("item.why"), "reasons")
        if digits_are_answers:
            return [open_list_hint]

        hints = []
        for action, reason in zip(REASON_ACTIONS, self._list_reasons(), strict=False):
            key = self._key(action)
            if key:
                hints.append((key, self.override.format_reason_label(reason)))
        # The user may have removed the keys of all reasons, or configured no reason.
        if not hints:
            return [open_list_hint]
        return hints
