"""Remember the annotator's last override of an automatic verdict, and offer reasons for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from fcreview.model.review import Annotation, Event
from fcreview.model.sanitize import display_width, sanitize
from fcreview.model.verdict import DECISIVE_STEP
from fcreview.tui.review.recorder import KeyLookup, ReviewSubject, format_verdict_with_criterion
from fcreview.tui.text.lines import truncate_middle

REASON_ACTIONS = ("item.score_1", "item.score_2", "item.reason_3")
"""Actions that select the first three override reasons on an item without scores."""
SOURCE_NAMES = {"official": "checker", "rule": "checker", "judge": "judge"}
REASON_LABELS = {"too strict": "{} too strict", "misread": "{} misread answer"}
"""Label of each default reason. `{}` stands for the source of the contradicted verdict. Journals store the default
reasons."""
MIN_NAME_CELLS = 10


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
        """Return `Why pass although the checker failed simple_3?`. A long name is shortened to fit into `cells`."""
        value, verdict = self.contradicted.get("value"), format_verdict_with_criterion(self.verdict, self.criterion)
        said = f"gave {format_verdict_with_criterion(value, self.criterion)} to"
        if isinstance(value, bool) and isinstance(self.verdict, bool):
            said = "passed" if value else "failed"
        start = f"Why {verdict} although the {self.contradicted_source_name} {said} "
        part, item = self.subject.part_name, sanitize(self.subject.detail.row.id)
        name = f"{part} of {item}" if part else item
        return f"{start}{truncate_middle(name, max(cells - display_width(start) - 1, MIN_NAME_CELLS))}?"

    def format_reason_label(self, reason: str) -> str:
        return REASON_LABELS.get(reason, sanitize(reason)).replace("{}", self.contradicted_source_name)


class OverrideReasons:
    """Last override, and the reasons that the annotator can choose for an override."""

    def __init__(self, reasons: Sequence[str], key: KeyLookup) -> None:
        self.override: Override | None = None
        self.is_answered = False
        """Whether `override` has a reason. The screen then does not ask for one."""
        self._reasons, self._key = reasons, key

    def remember_override(self, subject: ReviewSubject, event: Event | None) -> None:
        """Set the last override from an event with a verdict, or clear it if the verdict contradicts nothing."""
        if event is not None and event.verdict is not None and event.criterion != DECISIVE_STEP:
            subject = replace(subject, target=event.target)  # The target of a score can differ from the cursor.
            over = event.overrules
            self.override = Override(subject, event.criterion, event.verdict, over) if over else None
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
        return f"reasons: {', '.join(f'{number} {sanitize(reason)}' for number, reason in enumerate(self._reasons, 1))}"

    def key_hints(self, *, has_scores: bool) -> list[tuple[str, str]]:
        """Return (key, label) pairs of the keys that select a reason. On a `has_scores` item, digits set scores, so
        that a key opens the list of reasons."""
        if self.override is None or self.is_answered:
            return []
        labels = map(self.override.format_reason_label, self._reasons)
        reasons = [] if has_scores else zip(map(self._key, REASON_ACTIONS), labels, strict=False)
        return [(key, label) for key, label in reasons if key] or [(self._key("item.why"), "reasons")]
