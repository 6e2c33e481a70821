"""Write reviewed claims to the scored file of MCP-Atlas.

A reviewed claim replaces `score` and `covered` in `coverage_details_json`. The coverage and the
counts follow, also in their own columns. All other records keep their bytes.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from fcreview.importers.common.csv_records import CsvRecord, read_csv_records
from fcreview.importers.common.json_text import parse_json_text
from fcreview.importers.common.records import is_number
from fcreview.importers.common.writeback import CriterionKey, find_unrepresentable_reviews
from fcreview.importers.mcp_atlas import columns
from fcreview.importers.mcp_atlas.discovery import SPLITS, STATISTICS, RunFiles
from fcreview.model.address import RESPONSE
from fcreview.model.metric import ScoredItem
from fcreview.model.verdict import CLAIM_PREFIX, COVERAGE_DECIMALS
from fcreview.run_plan import RewrittenFile, RunPlan, Unrepresentable
from fcreview.safe_files import read_file

JsonObject = dict[str, Any]


def rewrite_scores(
    plan: RunPlan, items: Sequence[ScoredItem]
) -> Iterator[RewrittenFile | Unrepresentable]:
    files: RunFiles = plan.importer_data
    records = _list_records(files.results)
    yield from find_unrepresentable_reviews(
        items, lambda item, key: files.is_scored and _is_representable(records.get(item.id), key)
    )
    if not files.is_scored:
        return

    raw = read_file(files.results)
    parts: list[bytes] = []
    position = 0
    for item in sorted(items, key=lambda item: _get_offset(records, item)):
        record = records.get(item.id)
        if record is None or not record.is_regular:
            continue
        new_record = _apply_reviews(record, item)
        if new_record is None:
            continue
        old_bytes = raw[record.offset : record.offset + record.length]
        parts += [raw[position : record.offset], _encode(new_record, old_bytes)]
        position = record.offset + record.length
    if parts:
        yield RewrittenFile(files.results, b"".join([*parts, raw[position:]]))


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
        item_id = task_id if task_id not in records else f"{task_id}#{record.line}"
        records[item_id] = record
    return records


def _get_offset(records: dict[str, CsvRecord], item: ScoredItem) -> int:
    record = records.get(item.id)
    return -1 if record is None else record.offset


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
    """Return the cells of a record with reviewed claims, or None if no claim is overridden."""
    details = _read_details(record)
    claims = [dict(claim) if isinstance(claim, dict) else claim for claim in _list_claims(details)]
    has_changed = False
    for key, value in item.overrides.items():
        index = _get_claim_index(key)
        is_score = isinstance(value, bool) or is_number(value)
        if index is None or index >= len(claims) or not is_score:
            continue
        if isinstance(claims[index], dict):
            claims[index] |= {"score": float(value), "covered": _describe_covered(float(value))}
            has_changed = True
    if not has_changed:
        return None
    return _replace_scores(record, details | {"per_claim": claims})


def _describe_covered(score: float) -> bool | str:
    """Return `covered` of a claim with this score, as the scorer writes it."""
    if score >= 1:
        return True
    return "partial" if score >= 0.5 else False


def _replace_scores(record: CsvRecord, details: JsonObject) -> dict[str, str]:
    scores = [claim.get("score") for claim in details["per_claim"] if isinstance(claim, dict)]
    numbers = [float(score) if is_number(score) else 0.0 for score in scores]
    coverage = round(sum(numbers) / len(numbers), COVERAGE_DECIMALS)
    n_full = sum(number >= 1 for number in numbers)
    n_partial = sum(0.5 <= number < 1 for number in numbers)
    details |= {
        columns.COVERAGE: coverage,
        columns.FULLY: n_full,
        columns.PARTIALLY: n_partial,
    }
    cells = dict(record.cells)
    cells[columns.COVERAGE] = str(coverage)
    cells[columns.FULLY] = str(n_full)
    cells[columns.PARTIALLY] = str(n_partial)
    cells[columns.DETAILS] = json.dumps(details)
    return cells


def _encode(cells: dict[str, str], old_record: bytes) -> bytes:
    """Return a record as CSV, with the end of line of the old one."""
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(cells.values())
    end = b"\r\n" if old_record.endswith(b"\r\n") else b"\n"
    return text.getvalue().encode() + (end if old_record.endswith(b"\n") else b"")
