"""A category's cases with errata: other golden answers where they fit, and equivalence rules for the checker."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, replace

from fcreview.corrections.equivalence import Rule
from fcreview.corrections.errata_file import Errata
from fcreview.corrections.erratum import Entry
from fcreview.importers.bfcl.dataset import DatasetItem, parse_golden_calls
from fcreview.importers.bfcl.joining import is_same_answer
from fcreview.importers.common.golden_corrections import Corrections
from fcreview.importers.common.records import names_of
from fcreview.model.item import Erratum, ImportIssue, Message, Repeated, Run


@dataclass(slots=True)
class CorrectedItem:
    item: DatasetItem
    """With errata, if any fit."""
    original: DatasetItem | None = None
    """What it was without, if that is another one."""
    erratum: Erratum | None = None
    """The correction of its golden answer, applied or stale."""


class GoldenCorrector:
    """`issues` has, when all items went through, which entries are stale."""

    def __init__(self, errata: Errata | None, run: Run, category: str) -> None:
        self.category = category
        self._errata = errata
        self._run = run
        self._corrections = Corrections(errata or Errata(), run, category, is_same_answer)

    @property
    def issues(self) -> list[ImportIssue]:
        return self._corrections.issues

    def correct(self, name: str, case: DatasetItem, opening: Sequence[Message]) -> CorrectedItem:
        """The case of an item with errata. Cases are shared by all runs."""
        if self._errata is None or case.ground_truth is None:
            return CorrectedItem(case)
        found = self._corrections.of(name, case.ground_truth, opening)
        names = names_of(case.functions)
        rules = tuple(rule for rule in self._errata.rules if rule.function == "" or rule.function in names)
        if found.entry is None and not rules:
            return CorrectedItem(case, erratum=found.erratum)
        key = f"errata:{self._errata.digest}:{name}"
        made = case.expected_calls_cache.get(key)
        if made is None:
            made = case.expected_calls_cache[key] = self._corrected_item(case, found.entry, rules)
        return CorrectedItem(made, case, found.erratum)

    def report_absent_items(self, known: Container[str]) -> None:
        """Entries for items that the dataset, of which `known` are the ids, does not have."""
        self._corrections.tell_absent(known)

    def _corrected_item(self, case: DatasetItem, entry: Entry | None, rules: tuple[Rule, ...]) -> DatasetItem:
        """Its hash stays that of the dataset's own answer: reviews of the item, by which the answer was mended, are no
        more stale than before."""
        made = replace(case, equivalence_rules=rules, expected_calls_cache={}, evaluation_cache={}, reply_cache={})
        if entry is not None:
            made.ground_truth = entry.new
            made.golden_calls = Repeated(
                parse_golden_calls(entry.new, case.category, self._run.generation, case.functions)
            )
        return made
