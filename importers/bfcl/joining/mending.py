"""A category's cases with errata: other golden answers where they fit, and equivalence rules for the checker."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import replace

from fcreview.errata.entry import Entry, question_hash
from fcreview.errata.file import Errata
from fcreview.errata.rules import Rule
from fcreview.importers.bfcl.case import Case
from fcreview.importers.bfcl.golden import golden_calls
from fcreview.importers.bfcl.joining.questions import same_answer
from fcreview.model import ImportIssue, Message, Repeated, Run


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

    def mended(self, name: str, case: Case, opening: Sequence[Message]) -> tuple[Case, Case | None]:
        """The case of an item with errata, and what it was without, if that is another one. Shared by all runs."""
        if self._errata is None or case.answer is None:
            return case, None
        entry = self._entries.get(name)
        if entry is not None and not self._fits(entry, case, opening):
            entry = None
        names = {document.get("name") for document in case.functions}
        rules = tuple(rule for rule in self._errata.rules if rule.function == "" or rule.function in names)
        if entry is None and not rules:
            return case, None
        key = f"errata:{self._errata.digest}:{name}"
        found = case.prepared.get(key)
        if found is None:
            found = case.prepared[key] = self._made(case, entry, rules)
        return found, case

    def tell_absent(self, known: Container[str]) -> None:
        """Entries for items that the dataset, of which `known` are the ids, does not have."""
        for name, entry in self._entries.items():
            if name not in known:
                self._tell(entry, "the dataset has no such item")

    def _made(self, case: Case, entry: Entry | None, rules: tuple[Rule, ...]) -> Case:
        """Its hash stays that of the dataset's own answer: reviews of the item, by which the answer was mended, are no
        more stale than before."""
        found = replace(case, rules=rules, prepared={}, judged={}, replies={})
        if entry is not None:
            found.answer = entry.new
            found.golden = Repeated(golden_calls(entry.new, case.category, self._run.generation, case.functions))
        return found

    def _fits(self, entry: Entry, case: Case, opening: Sequence[Message]) -> bool:
        if question_hash(opening) != entry.question_hash:
            self._tell(entry, "the question is another one")
        elif same_answer(case.answer, entry.old):
            return True
        elif same_answer(case.answer, entry.new):
            self._tell(entry, "the dataset has this golden answer already", stale=False)
        else:
            self._tell(entry, "the golden answer is neither the old nor the new one")
        return False

    def _tell(self, entry: Entry, why: str, *, stale: bool = True) -> None:
        path = self._errata.path if self._errata else ""
        what = f"stale erratum, not applied: {why}" if stale else f"erratum not needed: {why}"
        self.issues.append(
            ImportIssue(path, entry.line, what, item=entry.id, severity="warning" if stale else "notice")
        )
