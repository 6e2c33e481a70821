"""Records of the generic format by what people say: the verdict that counted before says it now. A chat log has no
place for verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from fcreview.figures import Scored
from fcreview.importers.common.jsonl import read_whole
from fcreview.importers.common.writing.lines import Edits, edited, numbered
from fcreview.importers.common.writing.said import without_place
from fcreview.importers.generic.find import as_record
from fcreview.plan import NoPlace, Rewritten, RunPlan
from fcreview.review import CORRECT, OWN
from fcreview.rollup import SCORING
from fcreview.targets import ITEM

Json = dict[str, Any]


def rewrite(plan: RunPlan, rows: Sequence[Scored]) -> Iterator[Rewritten | NoPlace]:
    path = plan.results[0]
    raw = read_whole(path)
    by_id = {row.id: row for row in rows if row.overruled}
    edits, found, seen = Edits(), set[str](), set[str]()
    for line, record in numbered(raw):
        stated = record.get("id")
        if not isinstance(stated, str) or "fcreview" in record or as_record(record, line) is not record:
            continue
        name = f"{stated}#{line}" if stated in seen else stated
        seen.add(stated)
        if name in by_id:
            found.add(name)
            new = rewritten(record, by_id[name])
            if new != record:
                edits.replaced[line] = new
    yield from without_place(rows, lambda row, _: row.id in found)
    if edits:
        yield Rewritten(path, edited(raw, edits))


def summaries(plan: RunPlan) -> list[Path]:  # noqa: ARG001 - nobody makes any
    return []


def rewritten(record: Json, row: Scored) -> Json:
    """The record with people's verdicts in the place of the official ones, else the rule's, else the judge's; where it
    gives none on an item, the exact comparison counted, and the new one is the rule's too."""
    given = record.get("verdicts")
    verdicts: list[Json] = [dict(one) for one in given] if isinstance(given, list) else []
    for (target, criterion), value in row.overruled.items():
        if value is None:
            continue
        same = [
            one for one in verdicts if (one.get("target", ITEM), one.get("criterion", CORRECT)) == (target, criterion)
        ]
        same = [one for one in same if one.get("value") is not None]
        counts = next((one for source in SCORING for one in reversed(same) if one.get("source") == source), None)
        if counts is None or ((target, criterion) == OWN and counts.get("source") == "judge" and "golden" in record):
            verdicts.append(
                {"source": "rule", "value": value, "target": target, "criterion": criterion, "by": "people"}
            )
            continue
        counts["value"] = value
        if value is not False:
            counts.pop("error_type", None)
    return record | {"verdicts": verdicts} if verdicts else record
