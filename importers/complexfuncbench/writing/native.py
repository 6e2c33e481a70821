"""ComplexFuncBench's result records and logs by what people say: outcome, counts, response scores, and in the logs how
each call was judged.

A record is what the model did and what the evaluator made of it in one; only the latter changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from fcreview.agreement.held import ROLLING
from fcreview.figures import Scored
from fcreview.importers.common.jsonl import read_whole
from fcreview.importers.common.writing.lines import Edits, edited, numbered
from fcreview.importers.common.writing.said import WORDS, Key, own, without_place
from fcreview.importers.complexfuncbench.judged import call_counts, error, judged
from fcreview.importers.complexfuncbench.read import dataset
from fcreview.importers.complexfuncbench.writing.logs import with_calls
from fcreview.plan import NoPlace, Rewritten, RunPlan
from fcreview.review import OWN
from fcreview.targets import RESPONSE, part_of

SCORES = {"completeness": "complete", "correctness": "correct"}
"""Criterion -> its name in `resp_eval`."""
NO_REPLY = -1
"""The score of a judge that gave no usable reply."""
Json = dict[str, Any]


def rewrite(plan: RunPlan, rows: Sequence[Scored]) -> Iterator[Rewritten | NoPlace]:
    path = plan.results[0]
    raw = read_whole(path)
    by_id = {row.id: row for row in rows if row.overruled}
    samples = dataset(plan.data, []) if by_id else {}
    edits, found, lost = Edits(), set[str](), 0
    for line, name, record in _named(raw):
        row = by_id.get(name)
        if row is None:
            continue
        found.add(name)
        new = rewritten(record, row)
        if new != record:
            edits.replaced[line] = new
        log, missing = _log(plan, record, row, samples)
        lost += missing
        if log is not None:
            yield log
    yield from without_place(rows, lambda row, key: row.id in found and _held(key))
    if lost:
        yield NoPlace("how a call was compared, where no log says: only the count of accepted calls follows", lost)
    if edits:
        yield Rewritten(path, edited(raw, edits))


def _named(raw: bytes) -> Iterator[tuple[int, str, Json]]:
    """(line, item, record)"""
    seen: set[str] = set()
    for line, record in numbered(raw):
        name = str(record.get("id"))
        yield line, f"{name}#{line}" if name in seen else name, record
        seen.add(name)


def _log(plan: RunPlan, record: Json, row: Scored, samples: dict[str, Json]) -> tuple[Rewritten | None, int]:
    """The sample's log, if it changes; and how many calls it says nothing of."""
    said = {target: value for (target, criterion), value in row.overruled.items()
            if criterion in ROLLING and isinstance(value, bool) and part_of(target) is not None}  # fmt: skip
    if not said:
        return None, 0
    path = next((each for each in plan.logs if each.stem == row.id), None)
    if path is None:
        return None, len(said)
    text = read_whole(path).decode("utf-8", "surrogateescape")
    new, missing = with_calls(text, record, samples.get(row.id), said)
    content = new.encode("utf-8", "surrogateescape")
    return (Rewritten(path, content) if new != text else None), len(missing)


def summaries(plan: RunPlan) -> list[Path]:
    """What `print_results.py` printed, where somebody kept it."""
    return [path for one in plan.results if (path := one.with_suffix(".print_results.txt")).is_file()]


def _held(key: Key) -> bool:
    """Of calls the counts say how many were accepted, and what the sample came to."""
    target, criterion = key
    part = part_of(target)
    if part is not None:
        return part.call is not None and part.argument is None and criterion in ROLLING
    return key == OWN or (target == RESPONSE and criterion in SCORES)


def rewritten(record: Json, row: Scored) -> Json:
    """The record with the outcome, the accepted calls and the scores that people's verdicts come to."""
    found, calls = dict(record), judged(row)
    if own(row) is True:
        found["message"] = "Success."
    elif own(row) is False:
        found["message"] = {"error_type": error(row, calls), "content": WORDS}
    counts = record.get("count_dict")
    if isinstance(counts, dict) and any(call.people is not None for call in calls):
        found["count_dict"] = counts | {"correct_call_num": _accepted(row)}
    scores = record.get("resp_eval")
    for criterion, name in SCORES.items():
        value = row.overruled.get((RESPONSE, criterion))
        if isinstance(value, int):
            scores = dict(scores) if isinstance(scores, dict) else _unjudged()
            before = scores.get(name)
            scores[name] = (before if isinstance(before, dict) else {}) | {"score": value}
            found["resp_eval"] = scores
    return found


def _accepted(row: Scored) -> int:
    return call_counts(row, judged(row)).correct


def _unjudged() -> Json:
    return {name: {"score": NO_REPLY, "reason": "not judged"} for name in SCORES.values()}
