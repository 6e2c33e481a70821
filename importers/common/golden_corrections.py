"""Find the errata entry of each item of a category. An issue reports each entry that is not applied."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass
from typing import Any, Literal

from fcreview.errata import Errata, ErrataEntry, hash_question
from fcreview.model.item import Erratum, ImportIssue, Message, Run
from fcreview.model.json_value import canonical_json


@dataclass(frozen=True, slots=True)
class GoldenCorrection:
    entry: ErrataEntry | None = None
    """The entry to apply; None if there is none or it is stale."""
    erratum: Erratum | None = None
    """The applied or stale entry as shown with the item."""


NO_CORRECTION = GoldenCorrection()


def is_same_json(one: Any, other: Any) -> bool:
    """Return whether two values have the same JSON text, so `1`, `1.0` and `true` are all different."""
    return canonical_json(one) == canonical_json(other)


class CategoryCorrections:
    """The errata entries for the items of one category of a run.

    After `find_correction` was called for all items, `issues` contains a warning for each stale entry and a notice for
    each entry that is no longer needed.
    """

    def __init__(
        self, errata: Errata, run: Run, category: str, is_same: Callable[[Any, Any], bool] = is_same_json
    ) -> None:
        self.issues: list[ImportIssue] = []
        self.run, self._errata, self._is_same = run, errata, is_same
        prefix = (run.benchmark, run.generation, run.language, category)
        self.entries = {entry.id: entry for entry in errata.entries.values() if entry.key[:4] == prefix}

    def find_correction(self, item_id: str, golden: Any, messages: Iterable[Message]) -> GoldenCorrection:
        """Find the entry for an item and check it against the dataset's golden answer and the question."""
        entry = self.entries.get(item_id)
        if entry is None:
            return NO_CORRECTION
        if hash_question(messages) != entry.question_hash:
            return self.reject_entry(entry, "the question has changed")
        if self._is_same(golden, entry.old):
            return GoldenCorrection(entry, self._make_erratum(entry, old=entry.old))
        if self._is_same(golden, entry.new):
            self._add_issue(entry, "erratum not needed: the dataset already has this golden answer", "notice")
            return NO_CORRECTION
        return self.reject_entry(entry, "the dataset's golden answer is neither the old nor the new one")

    def reject_entry(self, entry: ErrataEntry, reason: str) -> GoldenCorrection:
        self._add_issue(entry, f"stale erratum, not applied: {reason}", "warning")
        return GoldenCorrection(None, self._make_erratum(entry, stale_reason=reason))

    def report_absent_items(self, dataset_ids: Container[str]) -> None:
        """Reject the entries for items that the dataset does not contain."""
        for item_id, entry in self.entries.items():
            if item_id not in dataset_ids:
                self.reject_entry(entry, "the dataset has no such item")

    def _make_erratum(self, entry: ErrataEntry, *, old: Any = None, stale_reason: str = "") -> Erratum:
        return Erratum([*entry.settled_by], self._errata.date, [*entry.reasons], old, stale_reason)

    def _add_issue(self, entry: ErrataEntry, what: str, severity: Literal["warning", "notice"]) -> None:
        self.issues.append(ImportIssue(self._errata.path, entry.line, what, item=entry.id, severity=severity))
