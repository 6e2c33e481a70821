"""The entry of an item that the evaluator passed and people fail: the fields that an entry of its kind has, as far as
results and dataset say them."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

from fcreview.figures import Scored
from fcreview.importers.bfcl import files
from fcreview.importers.bfcl.dataset import name_of
from fcreview.importers.bfcl.joining.cases import Category
from fcreview.importers.common.jsonl import Record, records
from fcreview.importers.common.writing.said import WORDS
from fcreview.plan import RunPlan
from fcreview.text.redact import redact


def entry(plan: RunPlan, category: Category, row: Scored) -> dict[str, Any]:
    """`error_type` is null where nobody has named one."""
    context = category.context
    result = (category.found.value(row.id) if row.id in category.found.found else None) or {}
    found: dict[str, Any] = {
        "id": _id(category, row.id, plan.run.generation),
        "model_name": plan.run.model,
        "test_category": context.category,
        "valid": False,
    }
    if context.kind == "single":
        found |= {"error": [WORDS], "error_type": row.error_type}
    else:
        found["error"] = {"error_message": [WORDS], "error_type": row.error_type}
    key = files.dataset_id(row.id, context.category) if category.renamed else row.id
    question, golden = _dataset(plan, category, key)
    if question is not None:
        found["prompt"] = question
    irrelevance = "relevance" in context.category
    found["model_result" if irrelevance else "model_result_raw"] = result.get("result")
    if golden is not None and not irrelevance:
        found["possible_answer"] = golden
    if context.kind != "single" and "inference_log" in result:
        found["inference_log"] = result["inference_log"]
    return redact(found) if context.category == "rest" else found


def _id(category: Category, item: str, generation: str) -> str | int:
    """As the other entries of the file have it: a text, or the position from 1 in the dataset."""
    known = [each.id for each in (category.scores.failing if category.scores else {}).values()]
    counted = isinstance(known[0], int) if known else generation in ("V1", "V2")
    number = files.sort_number(item)
    if number is not None and counted:
        return number + 1
    return next((stated for stated, names in category.found.shared.items() if item in names), item)


def _dataset(plan: RunPlan, category: Category, key: str) -> tuple[dict[str, Any] | None, Any]:
    """(question record, golden answer), if the dataset is the one that was scored."""
    case = category.data.cases.get(key) if category.joined else None
    if case is None:
        return None, None
    parts = plan.private[category.context.category]
    stem = files.split_id(key)[0]
    for source in parts.sources:
        question = _questions(source.questions, stem).get(key)
        if question is not None:
            if "involved_classes" in question:
                question = {name: value for name, value in question.items() if name != "function"}
            return question, case.answer
    return None, case.answer


@lru_cache(maxsize=4)
def _questions(path: Path, stem: str) -> dict[str, dict[str, Any]]:
    """By id; where the records have none, by place."""
    found: dict[str, dict[str, Any]] = {}
    seen: dict[str, int] = {}
    values = [row.value for row in records(path) if isinstance(row, Record) and isinstance(row.value, dict)]
    for place, value in enumerate(values):
        stated = value.get("id")
        item = stated if isinstance(stated, str) else f"{stem}_{place}"
        number = seen[item] = seen.get(item, -1) + 1
        found[name_of(item, number)] = value
    return found
