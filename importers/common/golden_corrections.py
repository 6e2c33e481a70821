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
class Correction:
    entry: ErrataEntry | None = None
    """That is to be applied."""
    erratum: Erratum | None = None
    """What the item is shown with; of an entry that is stale, too."""


NONE = Correction()


def same_json(one: Any, other: Any) -> bool:
    """Written alike: `1`, `1.0` and `true` are three answers."""
    return canonical_json(one) == canonical_json(other)


class Corrections:
    """`issues` has, when all items went through, which entries are stale."""

    def __init__(self, errata: Errata, run: Run, category: str, same: Callable[[Any, Any], bool] = same_json) -> None:
        self.issues: list[ImportIssue] = []
        self.run, self._errata, self._same = run, errata, same
        of = (run.benchmark, run.generation, run.language, category)
        self.entries = {entry.id: entry for entry in errata.entries.values() if entry.key[:4] == of}

    def of(self, name: str, golden: Any, messages: Iterable[Message]) -> Correction:
        """Of the item with this golden answer, as the dataset has it, and question."""
        entry = self.entries.get(name)
        if entry is None:
            return NONE
        if hash_question(messages) != entry.question_hash:
            return self.refused(entry, "the question is another one")
        if self._same(golden, entry.old):
            return Correction(entry, self._erratum(entry, old=entry.old))
        if self._same(golden, entry.new):
            self._tell(entry, "erratum not needed: the dataset has this golden answer already", "notice")
            return NONE
        return self.refused(entry, "the golden answer is neither the old nor the new one")

    def refused(self, entry: ErrataEntry, why: str) -> Correction:
        """An entry that does not fit; told."""
        self._tell(entry, f"stale erratum, not applied: {why}", "warning")
        return Correction(None, self._erratum(entry, why=why))

    def tell_absent(self, known: Container[str]) -> None:
        """Entries for items that the dataset, of which `known` are the ids, does not have."""
        for name, entry in self.entries.items():
            if name not in known:
                self.refused(entry, "the dataset has no such item")

    def _erratum(self, entry: ErrataEntry, *, old: Any = None, why: str = "") -> Erratum:
        return Erratum([*entry.settled_by], self._errata.date, [*entry.reasons], old, why)

    def _tell(self, entry: ErrataEntry, what: str, severity: Literal["warning", "notice"]) -> None:
        self.issues.append(ImportIssue(self._errata.path, entry.line, what, item=entry.id, severity=severity))
