"""Find golden answers that people corrected: applied errata, and golden fixes in the reviews of the workspace.

A golden answer belongs to a question, so a fix that an annotator gave on one run counts for the same question in other
runs. A fix counts if an adjudicator gave it, or if it is the only fix and annotators do not disagree on the item.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from fcreview.exporters.base import ExportSource, Label
from fcreview.exporters.golden_patch import fix_authors
from fcreview.model.item import Call
from fcreview.model.json_value import canonical_json
from fcreview.model.review import ITEM_CORRECT
from fcreview.model.verdict import DISPUTED, same_verdict

if TYPE_CHECKING:
    from fcreview.store.rows import ItemDetail

QuestionKey = tuple[str, ...]
"""Benchmark, version, language, category, id and hash of the golden answer."""


@dataclass(frozen=True, slots=True)
class CorrectedGolden:
    calls: Sequence[Call]
    authors: Sequence[str]
    """Annotators who corrected the golden answer; may be empty for an erratum."""


@dataclass(frozen=True, slots=True)
class _Fix:
    value: dict[str, Any]
    authors: list[str]


class CorrectedGoldens:
    """Finds the corrected golden answer of an item. `agreed` annotators must agree, or one must have adjudicated."""

    def __init__(self, source: ExportSource, agreed: int) -> None:
        self._source = source
        self._agreed = agreed
        self._fixes = _collect_fixes(source, agreed)

    def find(self, detail: ItemDetail) -> CorrectedGolden | None:
        """Return the corrected golden calls of the item from a fix, else from an applied erratum. None if neither has
        calls."""
        item, run = detail.item, detail.run
        fix = self._fixes.get(
            (run.benchmark, run.generation, run.language, item.category, item.id, item.golden_hash or "")
        )
        if fix is not None and self._source.benchmarks.golden_problem(run, item, fix.value) is None:
            calls = self._source.benchmarks.golden_calls(run, item, fix.value)
            return CorrectedGolden(calls, fix.authors) if calls else None
        erratum = item.extra.erratum
        if erratum is None or erratum.stale or not item.golden or self._agreed > max(len(erratum.who), 1):
            return None
        return CorrectedGolden(item.golden, erratum.who)


def _collect_fixes(source: ExportSource, agreed: int) -> dict[QuestionKey, _Fix | None]:
    """Return question -> fix, from all runs of the workspace. The fix is None if a question has different fixes."""
    from fcreview.store.labels.read import LabelSelection
    from fcreview.store.rows import View

    found: dict[QuestionKey, _Fix | None] = {}
    for lines in source.store.iter_label_lines(View(), LabelSelection("reviewed")):
        for label in (orjson.loads(line) for line in lines if '"golden_fix":{' in line):
            fix = label["golden_fix"]
            if (label["target"], label["criterion"]) != ITEM_CORRECT or not fix or not _is_agreed(label, agreed):
                continue
            names = ("benchmark", "generation", "language", "category", "id", "golden_hash")
            key = tuple(str(label[name] or "") for name in names)
            known = found.setdefault(key, _Fix(fix, fix_authors(label)))
            if known is not None and canonical_json(known.value) != canonical_json(fix):
                found[key] = None
    return found


def _is_agreed(label: Label, agreed: int) -> bool:
    """Whether enough annotators agree on the item with the fix, or an adjudicator gave it."""
    if label["decided_by"] == DISPUTED:
        return False
    current = [each for each in label["opinions"] if not each["stale"]]
    agreeing = {
        each["annotator"] for each in current
        if each["golden_fix"] == label["golden_fix"] or same_verdict(each["value"], label["human"])
    }  # fmt: skip
    return len(agreeing) >= agreed or any(each["act"] == "adjudicate" for each in current)
