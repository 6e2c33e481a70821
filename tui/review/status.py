"""Build the status line and key line of the item screen, measure the pace of review, and offer
override reasons.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

from fcreview.model.address import ITEM, describe_address
from fcreview.model.effective_verdict import is_definite
from fcreview.model.review import CORRECT, ITEM_CORRECT, Annotation, Event
from fcreview.model.sanitize import display_width, sanitize
from fcreview.model.verdict import DECISIVE_STEP, PASS_FAIL, PASS_FAIL_CRITERIA
from fcreview.model.wording import format_count
from fcreview.store.rows import View
from fcreview.tui.review.recorder import (
    GOLDEN_WRONG_PREFIX,
    KeyLookup,
    PendingQuestion,
    ReviewSubject,
    format_verdict_with_criterion,
)
from fcreview.tui.text.lines import Line, justify_line, line_width, truncate, truncate_middle
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
REASON_LABELS = {"too strict": "{} too strict", "misread": "{} misread answer"}
"""Label of each default reason. `{}` stands for the source of the contradicted verdict. Journals
store the default reasons.
"""
MIN_NAME_CELLS = 10


@dataclass(slots=True)
class Pace:
    """Pace of a review session: items reviewed, items left, and seconds per item."""

    unreviewed_at_start: int | None = None
    """Number of items without a verdict by the annotator when the session began.

    None until the items are counted.
    """
    reviewed_items: set[Hashable] = field(default_factory=set)
    _durations: list[float] = field(default_factory=list)
    _last_time: float | None = None
    """Time when the last review was recorded or the first item was shown, in seconds of a
    monotonic clock.
    """

    def record_item(self, item: Hashable, now: float) -> None:
        """Count a reviewed item. `now`: time in seconds of a monotonic clock."""
        if self._last_time is not None and now - self._last_time < BREAK_SECONDS:
            self._durations = [*self._durations, now - self._last_time][-AVERAGED_ITEMS:]
        self._last_time = now
        self.reviewed_items.add(item)

    def remove_item(self, item: Hashable) -> None:
        self.reviewed_items.discard(item)

    def restart_clock(self, now: float) -> None:
        self._last_time = now

    def set_unreviewed_count(self, count: int) -> None:
        """Set the current number of items without a verdict by the annotator."""
        self.unreviewed_at_start = count + len(self.reviewed_items)

    @property
    def summary(self) -> str:
        """Progress as text: `30 reviewed · 1,482 left · 4.1 s/item`.

        Empty before the first review.
        """
        if not self.reviewed_items:
            return ""
        parts = [f"{len(self.reviewed_items):,} reviewed"]
        if self.unreviewed_at_start is not None:
            parts.append(f"{max(self.unreviewed_at_start - len(self.reviewed_items), 0):,} left")
        if self._durations:
            parts.append(f"{median(self._durations):.1f} s/item")
        return " · ".join(parts)


class StatusMessage(NamedTuple):
    text: str
    style: str = "good"


NO_MESSAGE = StatusMessage("", "")
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
    KeyHint(("item.back",), label="queue", priority=2),
)


def status_line(
    message: tuple[str, str],
    question: PendingQuestion,
    scroll_position: str,
    is_in_arguments: bool,
    cells: int,
    key_names: Mapping[str, str] | None = None,
    pace: str = "",
) -> Line:
    """Return ` saved: fail · live_simple_3-2-1     T verdict on: turn 2 call 1 · 40 %`.

    Without a message, the line begins with key hints.

    `scroll_position`: see `DocumentLayout.scroll_position`. `key_names`: first key of each action
    by action id.
    """
    key_names = key_names or {}
    target, target_name = question.target, describe_address(question.target)
    target_key = f" {key_names['item.target']} " if "item.target" in key_names else " "
    subject = (
        target_name if question.criterion == CORRECT else f"{target_name} {question.criterion}"
    )
    is_on_item = (target, question.criterion) == ITEM_CORRECT
    verdict: Line = (
        (target_key, "key"),
        (f"verdict on: {sanitize(subject)}", "dim" if is_on_item else "warn"),
    )
    score_keys = " ".join(key_names[action] for action in SCORE_ACTIONS if action in key_names)
    score: Line = ()
    if question.score_question:
        score = ((f" {score_keys} on: {sanitize(question.score_question)}", "warn"),)
    position: Line = ((f" {scroll_position} ", "dim"),) if scroll_position else ()
    right = _join_parts(
        ((" in arguments", "dim"),) if is_in_arguments else (), score, verdict, position
    )
    if not position:
        right = (*right, (" ", ""))
    without_position = _join_parts(score, verdict)
    text, style = message
    if not text:
        right = right if line_width(right) < cells else without_position
        return justify_line(
            ((" " + format_key_hints(key_names, cells - line_width(right) - 2), "dim"),),
            right,
            cells,
        )
    left: Line = ((" " + text, style),)
    undo_key = key_names.get("item.undo", "") if text.startswith("saved:") else ""
    undo: Line = ((" · ", "dim"), (undo_key, "key"), (" undo", "dim")) if undo_key else ()
    pace_part: Line = ((f" {pace}", "dim"),) if pace else ()
    if target == ITEM:
        choices = [_join_parts(pace_part, right), _join_parts(pace_part, score, position)]
        choices += [_join_parts(score, position), score]
    else:
        choices = [_join_parts(pace_part, right), right, without_position]
        if score and question.score_question.startswith(target_name):
            choices.append(score)
    undo = undo if line_width((*left, *undo, *choices[-1])) < cells else ()
    fitting = (each for each in choices if line_width((*left, *undo, *each)) < cells)
    chosen = next(fitting, choices[-1])  # The target must always be visible.
    suffix = f" · {sanitize(target_name)}"
    if target != ITEM and text.endswith(suffix) and line_width(left) + line_width(chosen) >= cells:
        if not score:  # A score question already names the target.
            chosen = ((target_key, "key"), (f"verdict on:{suffix[2:]}", "warn"))
        room, short = max(cells - line_width(chosen) - 2, 1), text.removesuffix(suffix)
        # keeps the criterion at the end
        for prefix in (
            f"golden {symbols().failed} ",
            f"{symbols().ellipsis} ",
        ):
            if display_width(short) > room:
                short = text.removesuffix(suffix).replace(GOLDEN_WRONG_PREFIX, prefix)
        left = ((" " + truncate(short, room), style),)
    return justify_line((*left, *undo), chosen, cells)


def _join_parts(*parts: Line) -> Line:
    joined: Line = ()
    for part in filter(None, parts):
        joined = (*joined, (" ·", "dim"), *part) if joined else part
    return joined


def score_prompt_message(target: str, criterion: str) -> StatusMessage:
    return StatusMessage(
        sanitize(f"press 0, 1 or 2 to score {criterion} of the {describe_address(target)}"), "warn"
    )


def format_key_hints(key_names: Mapping[str, str], cells: int) -> str:
    """Format as many key hints as fit into `cells`, by priority: `] [ items · j k move · .
    difference · q queue`.
    """
    highest = max(hint.priority for hint in KEY_HINTS)
    for lowest in range(highest + 1):
        hints = [
            " ".join(
                [*(key_names[action] for action in hint.actions if action in key_names), hint.label]
            )
            for hint in KEY_HINTS
            if hint.priority >= lowest and any(action in key_names for action in hint.actions)
        ]
        text = " · ".join(hints)
        if len(text) <= cells or lowest == highest:
            return text
    return ""


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
    """Return the lines of the summary: the annotator's verdicts, the pace and, unless review is
    blind, the agreement with others.

    If the view contains no reviewed items, the summary covers `session_items`: the items that were
    reviewed in this session, as {number: id}.
    """
    rows = [row for row in store.fetch_page(view, 0, MAX_SUMMARY_ITEMS) if row.you is not None]
    if not rows and session_items:
        view = View(f"item:{','.join(map(str, session_items))}", "dataset")
        rows = store.fetch_page(view, 0, MAX_SUMMARY_ITEMS)
        rows = [row for row in rows if row.you is not None and row.id == session_items[row.item]]
    counts = {word: sum(row.you == verdict for row in rows) for word, verdict in PASS_FAIL.items()}
    items = format_count(len(rows), "item")
    lines = [
        f"{items} reviewed: " + ", ".join(f"{count:,} {name}" for name, count in counts.items()),
        pace,
    ]
    if not blind and (agreement := _format_agreement(store, view, annotator)):
        lines.append(agreement)
    return [line for line in lines if line]


def _format_agreement(store: Store, view: View, annotator: str) -> str:
    """Return text such as `all annotators agree on 8 of 9 shared items`. Empty if no item has
    verdicts by this annotator and another.

    In a queue file, only verdicts by annotators to whom an item is assigned count.
    """
    assigned = _read_assigned_annotators(store, view.queue_file) if view.queue_file else None
    verdicts: dict[int, dict[str, object]] = {}
    for rating in store.analysis.fetch_ratings(view):
        is_assigned = assigned is None or rating.annotator in assigned.get(rating.key, ())
        if (
            is_assigned
            and rating.target == ITEM
            and rating.criterion == CORRECT
            and is_definite(rating.value)
        ):
            verdicts.setdefault(rating.item, {})[rating.annotator] = rating.value
    shared = [each for each in verdicts.values() if annotator in each and len(each) > 1]
    equal = sum(len(set(each.values())) == 1 for each in shared)
    if not shared:
        return ""
    return f"all annotators agree on {equal:,} of {format_count(len(shared), 'shared item')}"


def _read_assigned_annotators(store: Store, queue_name: str) -> Mapping[ItemKey, set[str]]:
    queue = store.load_queue(queue_name)
    assigned: dict[ItemKey, set[str]] = {}
    for share in queue.shares:
        for at in share.order:
            assigned.setdefault(queue.items[at].key, set()).add(share.annotator)
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

    def format_question(self, cells: int) -> str:
        """Return `Why pass although the checker failed simple_3?`.

        A long name is shortened to fit into `cells`.
        """
        value, verdict = (
            self.contradicted.get("value"),
            format_verdict_with_criterion(self.verdict, self.criterion),
        )
        action = f"gave {format_verdict_with_criterion(value, self.criterion)} to"
        if (
            self.criterion in PASS_FAIL_CRITERIA
            and isinstance(value, bool)
            and isinstance(self.verdict, bool)
        ):
            action = "passed" if value else "failed"
        start = f"Why {verdict} although the {self.contradicted_source_name} {action} "
        part, item = self.subject.part_name, sanitize(self.subject.detail.row.id)
        name = f"{part} of {item}" if part else item
        name_cells = max(cells - display_width(start) - 1, MIN_NAME_CELLS)
        return f"{start}{truncate_middle(name, name_cells)}?"

    def format_reason_label(self, reason: str) -> str:
        return REASON_LABELS.get(reason, sanitize(reason)).replace(
            "{}", self.contradicted_source_name
        )


class OverrideReasons:
    """Last override, and the reasons that the annotator can choose for an override."""

    def __init__(self, reasons: Sequence[str], key: KeyLookup) -> None:
        self.override: Override | None = None
        self.is_answered = False
        """Whether `override` has a reason. The screen then does not ask for one."""
        self._reasons, self._key = reasons, key

    def remember_override(self, subject: ReviewSubject, event: Event | None) -> None:
        """Set the last override from an event with a verdict, or clear it if the verdict
        contradicts nothing.
        """
        if event is not None and event.verdict is not None and event.criterion != DECISIVE_STEP:
            # The target of a score can differ from the cursor.
            subject = replace(subject, target=event.target)
            over = event.overrules
            self.override = (
                Override(
                    subject, criterion=event.criterion, verdict=event.verdict, contradicted=over
                )
                if over
                else None
            )
            self.is_answered = event.fault == "golden"  # A wrong golden answer is the reason.
        elif event is not None and event.overrules:
            self.is_answered = True

    def find_reason(self, number: int) -> str:
        """Return the override reason with this number, from 1. Empty if there is no such reason."""
        return self._reasons[number - 1] if 0 < number <= len(self._reasons) else ""

    @property
    def unavailable_message(self) -> str:
        if self.override is None:
            return "your last verdict contradicts no automatic verdict"
        reasons = [
            f"{number} {sanitize(reason)}" for number, reason in enumerate(self._reasons, start=1)
        ]
        return f"reasons: {', '.join(reasons)}"

    def key_hints(self, *, has_scores: bool) -> list[tuple[str, str]]:
        """Return (key, label) pairs of the keys that select a reason. On a `has_scores` item,
        digits set scores, so that a key opens the list of reasons.
        """
        if self.override is None or self.is_answered:
            return []
        labels = map(self.override.format_reason_label, self._reasons)
        reasons = [] if has_scores else zip(map(self._key, REASON_ACTIONS), labels, strict=False)
        return [(key, label) for key, label in reasons if key] or [
            (self._key("item.why"), "reasons")
        ]
