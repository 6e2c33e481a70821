"""ComplexFuncBench's result records by what people say: outcome, counts and response scores.

A record is what the model did and what the evaluator made of it in one; only the latter changes. The logs tell how
each call was compared when it was run, and stay.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from fcreview.figures import Scored
from fcreview.importers.common.writing.lines import Edits, edited, numbered
from fcreview.importers.common.writing.said import WORDS, Key, own, without_place
from fcreview.importers.complexfuncbench.judged import call_counts, error, judged
from fcreview.opinions import ROLLING
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
    raw = path.read_bytes()
    by_id = {row.id: row for row in rows if row.overruled}
    edits, found, seen = Edits(), set[str](), set[str]()
    for line, record in numbered(raw):
        name = str(record.get("id"))
        name = f"{name}#{line}" if name in seen else name
        seen.add(str(record.get("id")))
        if name in by_id:
            found.add(name)
            new = rewritten(record, by_id[name])
            if new != record:
                edits.replaced[line] = new
    yield from without_place(rows, lambda row, key: row.id in found and _held(row, key))
    if edits:
        yield Rewritten(path, edited(raw, edits))


def summaries(plan: RunPlan) -> list[Path]:
    """What `print_results.py` printed, where somebody kept it."""
    return [path for one in plan.results if (path := one.with_suffix(".print_results.txt")).is_file()]


def _held(row: Scored, key: Key) -> bool:
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
            before = scores.get(name) if isinstance(scores.get(name), dict) else {}
            scores[name] = before | {"score": value}
            found["resp_eval"] = scores
    return found


def _accepted(row: Scored) -> int:
    return call_counts(row, judged(row)).correct


def _unjudged() -> Json:
    return {name: {"score": NO_REPLY, "reason": "not judged"} for name in SCORES.values()}
