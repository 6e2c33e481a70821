"""Apply errata to the dataset items of a category: corrected golden answers and equivalence rules."""

from __future__ import annotations

from dataclasses import dataclass, replace

from fcreview.errata import Errata
from fcreview.importers.bfcl.dataset import DatasetItem, parse_golden_calls
from fcreview.importers.bfcl.joining import is_same_answer
from fcreview.importers.common.golden_corrections import CategoryCorrections
from fcreview.importers.common.records import function_names
from fcreview.model.item import Erratum, Run, SharedList


@dataclass(slots=True)
class CorrectedItem:
    """A dataset item with the errata that apply to it."""

    item: DatasetItem
    original: DatasetItem | None = None
    """The item without errata; None if no erratum and no equivalence rule applies."""
    erratum: Erratum | None = None
    """Correction of the golden answer, applied or stale."""


class GoldenCorrector(CategoryCorrections):
    """Applies a run's errata to the dataset items of one category."""

    def __init__(self, errata: Errata | None, run: Run, category: str) -> None:
        super().__init__(errata or Errata(), run, category, is_same_answer)
        self.category = category

    def apply_errata(self, item_id: str, item: DatasetItem) -> CorrectedItem:
        """Return a dataset item with the errata that apply to it. The original, which other runs use, is not changed.

        The golden hash stays that of the original answer. Otherwise the reviews that led to the correction would become
        stale.
        """
        if item.ground_truth is None:
            return CorrectedItem(item)
        found = self.find_correction(item_id, item.ground_truth, item.opening_messages)
        names = function_names(item.functions) if self._errata.rules else ()
        rules = tuple(rule for rule in self._errata.rules if rule.function == "" or rule.function in names)
        if found.entry is None and not rules:
            return CorrectedItem(item, erratum=found.erratum)
        key = f"errata:{self._errata.digest}:{item_id}"
        corrected = item.expected_calls_cache.get(key)
        if corrected is None:
            corrected = replace(
                item, equivalence_rules=rules, expected_calls_cache={}, evaluation_cache={}, reply_cache={}
            )
            if found.entry is not None:
                corrected.ground_truth = found.entry.new
                corrected.golden_calls = SharedList(parse_golden_calls(found.entry.new, item.category, item.functions))
            item.expected_calls_cache[key] = corrected
        return CorrectedItem(corrected, item, found.erratum)
