"""Which corrections of golden answers fit the items of a category, and what is told of those that do not."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass
from typing import Any, Literal

from fcreview.corrections.errata_file import Errata
from fcreview.corrections.erratum import ErrataEntry, hash_question
from fcreview.model.item import Erratum, ImportIssue, Message, Run
from fcreview.model.json_value import canonical_json


@dataclass(frozen=True, slots=True)
class GoldenCorrection:
    entry: ErrataEntry | None = None
    """That is to be applied."""
    erratum: Erratum | None = None
    """What the item is shown with; of an entry that is stale, too."""


NO_CORRECTION = GoldenCorrection()


def is_same_json(one: Any, other: Any) -> bool:
    """Written alike: `1`, `1.0` and `true` are three answers."""
    return canonical_json(one) == canonical_json(other)


class CategoryCorrections:
    """`issues` has, when all items went through, which entries are stale."""

    def __init__(self, errata: Errata, run: Run, category: str, same: Callable[[Any, Any], bool] = is_same_json) -> None:
        self.issues: list[ImportIssue] = []
        self.run, self._errata, self._is_same = run, errata, same
        of = (run.benchmark, run.generation, run.language, category)
        self.entries = {entry.id: entry for entry in errata.entries.values() if entry.key[:4] == of}

    def find(self, name: str, golden: Any, messages: Iterable[Message]) -> GoldenCorrection:
        """Of the item with this golden answer, as the dataset has it, and question."""
        entry = self.entries.get(name)
        if entry is None:
            return NO_CORRECTION
        if hash_question(messages) != entry.question_hash:
            return self.reject(entry, "the question is another one")
        if self._is_same(golden, entry.old):
            return GoldenCorrection(entry, self._make_erratum(entry, old=entry.old))
        if self._is_same(golden, entry.new):
            self._add_issue(entry, "erratum not needed: the dataset has this golden answer already", "notice")
            return NO_CORRECTION
        return self.reject(entry, "the golden answer is neither the old nor the new one")

    def reject(self, entry: ErrataEntry, why: str) -> GoldenCorrection:
        """An entry that does not fit; told."""
        self._add_issue(entry, f"stale erratum, not applied: {why}", "warning")
        return GoldenCorrection(None, self._make_erratum(entry, why=why))

    def report_absent_items(self, known: Container[str]) -> None:
        """Entries for items that the dataset, of which `known` are the ids, does not have."""
        for name, entry in self.entries.items():
            if name not in known:
                self.reject(entry, "the dataset has no such item")

    def _make_erratum(self, entry: ErrataEntry, *, old: Any = None, why: str = "") -> Erratum:
        return Erratum([*entry.settled_by], self._errata.date, [*entry.reasons], old, why)

    def _add_issue(self, entry: ErrataEntry, what: str, severity: Literal["warning", "notice"]) -> None:
        self.issues.append(ImportIssue(self._errata.path, entry.line, what, item=entry.id, severity=severity))
