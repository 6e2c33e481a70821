"""CONFETTI's score files and the judges' files beside them by what people say. `metrics.json` holds aggregates of them
and is left to whoever made it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from fcreview.figures import Scored
from fcreview.importers.common.jsonl import Record, read_whole, records
from fcreview.importers.common.writing.lines import Edits, counted, edited, first_line, in_order, numbered
from fcreview.importers.common.writing.said import WORDS, Key, own, without_place
from fcreview.importers.confetti import acts
from fcreview.importers.confetti.figures import HALLUCINATED
from fcreview.importers.confetti.figures import SOFT as SOFT_SCORE
from fcreview.importers.confetti.find import ACT_JUDGE, ACTS, CALLS, HALLUCINATION, METRICS, RESULTS, SCORES, SOFT
from fcreview.importers.confetti.sources import Sources, load
from fcreview.importers.confetti.writing.beside import flags_record, labels_record, soft_record
from fcreview.plan import NoPlace, Rewritten, RunPlan
from fcreview.review import OWN
from fcreview.targets import ITEM, RESPONSE, part_of

HELD = {
    OWN: SCORES,
    (ITEM, SOFT_SCORE): (SOFT,),
    (ITEM, HALLUCINATED): (HALLUCINATION,),
    (RESPONSE, acts.CRITERION): (ACT_JUDGE,),
}
"""What is held of an item, and by which file."""
HELD_OF_ARGUMENTS = {SOFT_SCORE: SOFT, HALLUCINATED: HALLUCINATION}


def rewrite(plan: RunPlan, rows: Sequence[Scored]) -> Iterator[Rewritten | NoPlace]:
    sources = load(plan, [])
    there = {path.name for path in plan.scores}
    yield from without_place(rows, lambda row, key: bool(there.intersection(_files(row, key))))
    by_id = {row.id: row for row in rows}
    beside: dict[str, Callable[[dict[str, Any], Scored], dict[str, Any]]] = {
        SOFT: soft_record, HALLUCINATION: flags_record, ACT_JUDGE: labels_record,
    }  # fmt: skip
    for path in plan.scores:
        raw = read_whole(path)
        if path.name in SCORES:
            edits = _scored(plan, SCORES[path.name], raw, sources, rows)
        else:
            edits = Edits()
            for line, record in numbered(raw):
                row = by_id.get(str(record.get("id")))
                new = beside[path.name](record, row) if row is not None and row.overruled else record
                if new != record:
                    edits.replaced[line] = new
        if edits:
            yield Rewritten(path, edited(raw, edits))


def summaries(plan: RunPlan) -> list[Path]:
    folders = dict.fromkeys(path.parent for path in plan.scores)
    return [folder / METRICS for folder in folders if (folder / METRICS).is_file()]


def _files(row: Scored, key: Key) -> Sequence[str]:
    target, criterion = key
    if key == OWN:
        return [name for name, category in SCORES.items() if category == row.category]
    part = part_of(target)
    if part is not None and part.argument is not None:
        return [HELD_OF_ARGUMENTS[criterion]] if criterion in HELD_OF_ARGUMENTS else []
    return list(HELD.get(key, ()))


def verdict(row: Scored) -> bool | None:
    """What the score file says of the item by what people say; None where it says the same as before."""
    if row.category == ACTS and (RESPONSE, acts.CRITERION) in row.overruled:
        return acts.verdict(row)
    return own(row)


def _scored(plan: RunPlan, category: str, raw: bytes, sources: Sources, rows: Sequence[Scored]) -> Edits:
    part = [row for row in rows if row.category == category]
    failing = sources.failures.get(category) or {}
    order = in_order([row.id for row in part])
    lines = {_name(record, category): line for line, record in numbered(raw) if "id" in record}
    edits = Edits(places={line: order[name] for name, line in lines.items() if name in order})
    results = _results(plan, category)
    gained = 0
    for row in part:
        said = verdict(row)
        if said is True and row.id in lines:
            edits.gone.add(lines[row.id])
            gained += 1
        elif said is False and row.id not in failing:
            edits.added.append((order[row.id], _entry(plan, sources, row, results.get(row.id))))
            gained -= 1
    header = next((record for _, record in numbered(raw) if "total_count" in record), None)
    if edits and header is not None:
        edits.replaced[first_line(raw)] = counted(header, gained)
    return edits


def _name(record: dict[str, Any], category: str) -> str:
    """As `sources` joins them: by the question that is repeated, else by the position, from 1."""
    prompt, position = record.get("prompt"), record["id"]
    name = prompt.get("id") if isinstance(prompt, dict) else None
    return str(name or (f"{category}_{position - 1}" if isinstance(position, int) else position))


def _results(plan: RunPlan, category: str) -> dict[str, Any]:
    paths = [path for path in plan.results if RESULTS[path.name] == category]
    found = (row.value for path in paths for row in records(path) if isinstance(row, Record))
    return {
        value["id"]: value.get("result")
        for value in found
        if isinstance(value, dict) and isinstance(value.get("id"), str | int)
    }


def _entry(plan: RunPlan, sources: Sources, row: Scored, result: Any) -> dict[str, Any]:
    number = row.id.rpartition("_")[2]
    found: dict[str, Any] = {
        "id": int(number) + 1 if number.isdigit() else row.id,
        "model_name": plan.run.model,
        "test_category": row.category,
        "valid": False,
        "error": [WORDS],
        "error_type": row.error_type,
    }
    if row.id in sources.questions:
        found["prompt"] = sources.questions[row.id]
    found["model_result_raw"] = result
    if row.category == CALLS and row.id in sources.answers:
        found["possible_answer"] = sources.answers[row.id].get("ground_truth")
    return found
