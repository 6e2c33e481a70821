"""A category's cases with errata: other golden answers where they fit, and equivalence rules for the checker."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, replace

from fcreview.errata.entry import Entry, question_hash
from fcreview.errata.file import Errata
from fcreview.errata.rules import Rule
from fcreview.extra import Erratum
from fcreview.importers.bfcl.case import Case
from fcreview.importers.bfcl.golden import golden_calls
from fcreview.importers.bfcl.joining.questions import same_answer
from fcreview.model import ImportIssue, Message, Run


@dataclass(slots=True)
class Mended:
    case: Case
    """With errata, if any fit."""
    before: Case | None = None
    """What it was without, if that is another one."""
    erratum: Erratum | None = None
    """The correction of its golden answer, applied or stale."""


class Mending:
    """`issues` has, when all items went through, which entries are stale."""

    def __init__(self, errata: Errata | None, run: Run, category: str) -> None:
        self.category = category
        self.issues: list[ImportIssue] = []
        self._errata = errata
        self._run = run
        self._entries = (
            {
                entry.id: entry
                for entry in errata.entries.values()
                if entry.key[:4] == (run.benchmark, run.generation, run.language, category)
            }
            if errata is not None
            else {}
        )

    def mended(self, name: str, case: Case, opening: Sequence[Message]) -> Mended:
        """The case of an item with errata. Cases are shared by all runs."""
        if self._errata is None or case.answer is None:
            return Mended(case)
        entry, erratum = self._entries.get(name), None
        if entry is not None:
            why = self._unfit(entry, case, opening)
            erratum = self._erratum(entry, why)
            entry = None if why is not None else entry
        names = {name for document in case.functions if isinstance(name := document.get("name"), str)}
        rules = tuple(rule for rule in self._errata.rules if rule.function == "" or rule.function in names)
        if entry is None and not rules:
            return Mended(case, erratum=erratum)
        key = f"errata:{self._errata.digest}:{name}"
        found = case.prepared.get(key)
        if found is None:
            found = case.prepared[key] = self._made(case, entry, rules)
        return Mended(found, case, erratum)

    def tell_absent(self, known: Container[str]) -> None:
        """Entries for items that the dataset, of which `known` are the ids, does not have."""
        for name, entry in self._entries.items():
            if name not in known:
                self._tell(entry, "the dataset has no such item")

    def _made(self, case: Case, entry: Entry | None, rules: tuple[Rule, ...]) -> Case:
        """Its hash stays that of the dataset's own answer: reviews of the item, by which the answer was mended, are no
        more stale than before."""
        found = replace(case, rules=rules, prepared={}, judged={})
        if entry is not None:
            found.answer = entry.new
            found.golden = golden_calls(entry.new, case.category, self._run.generation, case.functions)
        return found

    def _unfit(self, entry: Entry, case: Case, opening: Sequence[Message]) -> str | None:
        """Why it is not applied, which is told; None if it fits, empty if there is no need of it."""
        if question_hash(opening) != entry.question_hash:
            why = "the question is another one"
        elif same_answer(case.answer, entry.old):
            return None
        elif same_answer(case.answer, entry.new):
            self._tell(entry, "the dataset has this golden answer already", stale=False)
            return ""
        else:
            why = "the golden answer is neither the old nor the new one"
        self._tell(entry, why)
        return why

    def _erratum(self, entry: Entry, why: str | None) -> Erratum | None:
        """What the item is shown with."""
        if why == "" or self._errata is None:
            return None
        old = entry.old if why is None else None
        return Erratum([*entry.settled_by], self._errata.date, [*entry.reasons], old, why or "")

    def _tell(self, entry: Entry, why: str, *, stale: bool = True) -> None:
        path = self._errata.path if self._errata else ""
        what = f"stale erratum, not applied: {why}" if stale else f"erratum not needed: {why}"
        self.issues.append(
            ImportIssue(path, entry.line, what, item=entry.id, severity="warning" if stale else "notice")
        )
