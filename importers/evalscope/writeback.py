"""Write reviewed verdicts to the reviews of EvalScope.

EvalScope reads its own reviews again (`use_cache`), and computes the report from them. A reviewed
verdict replaces the value that decides the verdict. `score.metadata` keeps the value before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from fcreview.importers.common.records import as_object, is_integer, is_number
from fcreview.importers.common.writeback import (
    CriterionKey,
    LineEdits,
    apply_line_edits,
    find_unrepresentable_reviews,
    parse_numbered_records,
)
from fcreview.importers.evalscope.discovery import BenchmarkFiles
from fcreview.importers.evalscope.leaderboard import CRITERIA, INDEX, MAIN_SCORE
from fcreview.importers.evalscope.samples import JsonObject
from fcreview.model.address import ITEM
from fcreview.model.metric import ScoredItem
from fcreview.model.review import ITEM_CORRECT
from fcreview.run_plan import RewrittenFile, RunPlan, Unrepresentable
from fcreview.safe_files import read_file

OWN_FIELD = "fcreview"
"""Field of `score.metadata` with the values that reviews replaced."""
VALUE_NAMES = {criterion: name for name, criterion in CRITERIA.items()}
"""Criterion of a verdict -> name of the value in `score.value`, if the names differ."""
OverriddenItems = Mapping[int, ScoredItem]
"""Index of a sample in its subset -> item with overrides."""


def rewrite_scores(
    plan: RunPlan, items: Sequence[ScoredItem]
) -> Iterator[RewrittenFile | Unrepresentable]:
    """Write the reviewed values of a run into EvalScope's files of reviews, which contain the
    scores.

    Yields the files that change, and the fcreview reviews that they cannot represent.
    """
    files: BenchmarkFiles = plan.importer_data
    score_file_by_subset = {subset.name: subset.review for subset in files.subsets}

    def is_representable(item: ScoredItem, key: CriterionKey) -> bool:
        return score_file_by_subset.get(item.category) is not None and _is_representable(key)

    yield from find_unrepresentable_reviews(items, is_representable)
    for subset, score_file in score_file_by_subset.items():
        overridden = _find_overridden_items(items, subset)
        if score_file is None or not overridden:
            continue
        raw = read_file(score_file)
        edits = _edit_lines(raw, overridden)
        if edits:
            yield RewrittenFile(score_file, apply_line_edits(raw, edits))


def find_summary_files(plan: RunPlan) -> list[Path]:
    """Return the report, which EvalScope computes from the reviews."""
    files: BenchmarkFiles = plan.importer_data
    return [files.report] if files.report is not None and files.report.is_file() else []


def _is_representable(key: CriterionKey) -> bool:
    target, criterion = key
    return key == ITEM_CORRECT or (target == ITEM and criterion in VALUE_NAMES)


def _find_overridden_items(items: Sequence[ScoredItem], subset: str) -> OverriddenItems:
    overridden: dict[int, ScoredItem] = {}
    for item in items:
        index = item.metadata.get(INDEX)
        if item.category == subset and item.overrides and is_integer(index):
            overridden[index] = item
    return overridden


def _edit_lines(raw: bytes, overridden: OverriddenItems) -> LineEdits:
    """Return the edits of a file. Of a repeated index, the last line counts."""
    lines_by_index: dict[int, tuple[int, JsonObject]] = {}
    for line, record in parse_numbered_records(raw):
        index = record.get("index")
        if is_integer(index) and index in overridden:
            lines_by_index[index] = (line, record)

    edits = LineEdits()
    for index, (line, record) in lines_by_index.items():
        new_record = _apply_overrides(record, overridden[index])
        if new_record != record:
            edits.replaced[line] = new_record
    return edits


def _apply_overrides(review: JsonObject, item: ScoredItem) -> JsonObject:
    """Return a record of EvalScope's reviews with the values that annotators gave to an item.

    The replaced values are kept in the metadata of the score, so that nothing is lost.
    """
    sample_score = as_object(review.get("sample_score"))
    score = as_object(sample_score.get("score"))
    old_values = as_object(score.get("value"))
    new_values = _list_reviewed_values(item, old_values)
    replaced = {
        name: old_values.get(name)
        for name, value in new_values.items()
        if value != old_values.get(name)
    }
    if not replaced:
        return review

    metadata = as_object(score.get("metadata")) | {OWN_FIELD: {"replaced": replaced}}
    new_score = score | {"value": old_values | new_values, "metadata": metadata}
    return review | {"sample_score": sample_score | {"score": new_score}}


def _list_reviewed_values(item: ScoredItem, old_values: JsonObject) -> JsonObject:
    """Return name -> value for each override that a score can represent."""
    values: JsonObject = {}
    for (target, criterion), verdict in item.overrides.items():
        name = _find_value_name(target, criterion, item)
        if name is not None and (isinstance(verdict, bool) or is_number(verdict)):
            values[name] = _convert_like(verdict, old_values.get(name))
    return values


def _find_value_name(target: str, criterion: str, item: ScoredItem) -> str | None:
    if (target, criterion) == ITEM_CORRECT:
        name = item.metadata.get(MAIN_SCORE)
        return name if isinstance(name, str) else None
    return VALUE_NAMES.get(criterion) if target == ITEM else None


def _convert_like(verdict: Any, old_value: Any) -> Any:
    """Return a verdict in the type of the value that it replaces: true, 1 or 1.0."""
    if isinstance(old_value, bool) or not isinstance(verdict, bool):
        return verdict
    return float(verdict) if isinstance(old_value, float) else int(verdict)
