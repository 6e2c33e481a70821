"""Write reviewed claims to the scored file of MCP-Atlas.

A reviewed claim replaces `score` and `covered` in `coverage_details_json`. The coverage and the
counts follow, also in their own columns. All other records keep their bytes.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fcreview.importers.common.csv_records import CsvRecord, read_csv_records
from fcreview.importers.common.json_text import parse_json_text
from fcreview.importers.common.records import is_number, list_objects
from fcreview.importers.common.writeback import CriterionKey, find_unrepresentable_reviews
from fcreview.importers.mcp_atlas import columns
from fcreview.importers.mcp_atlas.discovery import SPLITS, STATISTICS, RunFiles
from fcreview.model.address import RESPONSE
from fcreview.model.derivation import COVERAGE_DECIMALS
from fcreview.model.metric import ScoredItem
from fcreview.model.verdict import CLAIM_PREFIX
from fcreview.run_plan import RewrittenFile, RunPlan, Unrepresentable
from fcreview.safe_files import read_file

JsonObject = dict[str, Any]
FULL_SCORE = 1.0
PARTIAL_SCORE = 0.5
"""Score from which a claim is partially covered."""


def rewrite_scores(
    plan: RunPlan, items: Sequence[ScoredItem]
) -> Iterator[RewrittenFile | Unrepresentable]:
    """Yield the file with scores, in which the reviews replace the recorded scores, and the reviews
    that it cannot represent.
    """
    files: RunFiles = plan.importer_data
    records = _list_records(files.results)
    yield from find_unrepresentable_reviews(
        items, lambda item, key: files.is_scored and _is_representable(records.get(item.id), key)
    )
    if not files.is_scored:
        return

    changes = list(_list_changes(records, items))
    if changes:
        raw = _replace_records(read_file(files.results), changes)
        yield RewrittenFile(files.results, raw)


@dataclass(frozen=True, slots=True)
class _Change:
    record: CsvRecord
    cells: dict[str, str]
    """New cells of the record."""


def _list_changes(records: dict[str, CsvRecord], items: Sequence[ScoredItem]) -> Iterator[_Change]:
    """Yield the records of items with overridden claims. `records` are by item id."""
    for item in items:
        record = records.get(item.id)
        if record is None or not record.is_regular:
            continue
        cells = _apply_reviews(record, item)
        if cells is not None:
            yield _Change(record, cells)


def _replace_records(raw: bytes, changes: Sequence[_Change]) -> bytes:
    """Return the content of a file with changed records. All bytes between them stay."""
    parts: list[bytes] = []
    position = 0
    for change in sorted(changes, key=lambda change: change.record.offset):
        start = change.record.offset
        end = start + change.record.length
        parts.append(raw[position:start])
        parts.append(_encode(change, old_record=raw[start:end]))
        position = end
    parts.append(raw[position:])
    return b"".join(parts)


def find_summary_files(plan: RunPlan) -> list[Path]:
    files: RunFiles = plan.importer_data
    names = [f"{STATISTICS}{files.model}_{split}.json" for split in SPLITS]
    paths = [files.results.with_name(name) for name in names]
    return [path for path in paths if path.is_file()]


def _list_records(path: Path) -> dict[str, CsvRecord]:
    """Return the records by the ids that the import gives."""
    records: dict[str, CsvRecord] = {}
    for record in read_csv_records(path):
        if not isinstance(record, CsvRecord):
            continue
        task_id = columns.get_task_id(record.cells)
        item_id = columns.make_item_id(task_id, record.line, records)
        records[item_id] = record
    return records


def _is_representable(record: CsvRecord | None, key: CriterionKey) -> bool:
    if record is None or not record.is_regular:
        return False
    index = _get_claim_index(key)
    return index is not None and index < len(_list_claims(_read_details(record)))


def _get_claim_index(key: CriterionKey) -> int | None:
    target, criterion = key
    number = criterion.removeprefix(CLAIM_PREFIX)
    if target != RESPONSE or number == criterion or not number.isdecimal():
        return None
    return int(number) - 1


def _read_details(record: CsvRecord) -> JsonObject:
    try:
        details = parse_json_text(record.cells.get(columns.DETAILS, ""), [])
    except (ValueError, RecursionError):
        return {}
    return details if isinstance(details, dict) else {}


def _list_claims(details: JsonObject) -> list[Any]:
    claims = details.get("per_claim")
    return claims if isinstance(claims, list) else []


def _apply_reviews(record: CsvRecord, item: ScoredItem) -> dict[str, str] | None:
    """Return the cells of a record with the reviewed scores of its claims, or None if no review
    changes a claim.

    The scores are in a JSON object in one of the cells, in a list with an entry for each claim.
    """
    details = _read_details(record)
    claims = list(_list_claims(details))
    score_by_claim = _list_reviewed_scores(item)
    has_changed = False
    for index, claim in enumerate(claims):
        score = score_by_claim.get(index)
        if score is not None and isinstance(claim, dict):
            claims[index] = claim | {"score": score, "covered": _describe_covered(score)}
            has_changed = True
    if not has_changed:
        return None
    return _replace_scores(record, details | {"per_claim": claims})


def _list_reviewed_scores(item: ScoredItem) -> dict[int, float]:
    """Return the reviewed scores by the index of the claim."""
    score_by_claim = {}
    for key, value in item.overrides.items():
        index = _get_claim_index(key)
        is_score = isinstance(value, bool) or is_number(value)
        if index is not None and is_score:
            score_by_claim[index] = float(value)
    return score_by_claim


def _describe_covered(score: float) -> bool | str:
    """Return `covered` of a claim with this score, as the scorer writes it."""
    if score >= FULL_SCORE:
        return True
    return "partial" if score >= PARTIAL_SCORE else False


def _replace_scores(record: CsvRecord, details: JsonObject) -> dict[str, str]:
    """Return the cells of a record with the new scores of its claims, and with the coverage and the
    counts that follow from them.

    `details` has the new scores.
    """
    figures = _compute_figures(details)
    cells = dict(record.cells)
    for column, figure in figures.items():
        has_decimal_comma = "," in cells.get(column, "")
        text = str(figure)
        cells[column] = text.replace(".", ",") if has_decimal_comma else text
    cells[columns.DETAILS] = json.dumps(details | figures)
    return cells


def _compute_figures(details: JsonObject) -> dict[str, float]:
    """Return the coverage, which is the mean score of the claims, and the numbers of claims that
    the answer covers fully and partly.

    As in the official `score_claims.py`, a claim without a score counts as 0, and a claim from 0.5
    to below 1 as partly covered.
    """
    claims = list_objects(details["per_claim"])
    stated_scores = [claim.get("score") for claim in claims]
    scores = [float(score) if is_number(score) else 0.0 for score in stated_scores]
    return {
        columns.COVERAGE: round(sum(scores) / len(scores), COVERAGE_DECIMALS),
        columns.FULLY: sum(score >= FULL_SCORE for score in scores),
        columns.PARTIALLY: sum(PARTIAL_SCORE <= score < FULL_SCORE for score in scores),
    }


def _encode(change: _Change, old_record: bytes) -> bytes:
    """Return a record as CSV, with the delimiter and the end of line of the old one. The last
    record of a file may have no end of line.
    """
    text = io.StringIO()
    writer = csv.writer(text, delimiter=change.record.delimiter, lineterminator="")
    writer.writerow(change.cells.values())
    record = text.getvalue().encode()
    for end in (b"\r\n", b"\n"):
        if old_record.endswith(end):
            return record + end
    return record
