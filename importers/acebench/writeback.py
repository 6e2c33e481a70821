"""The way back: this benchmark's own files by what people say.

The entries of items that the evaluator passed and people fail, with the fields that its own entries have.

ACEBench's score and process files by what people say. `result.xlsx` is over all models of a language, and made by
the official program.

Source: `eval_main.py` and the checkers of the released evaluator (revision e6db74b).

ACEBench's golden answers from stored items, and the verdict with another one. Forms as in `golden`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from fcreview.errors import MALFORMED_DATA
from fcreview.importers.acebench.checker import check, check_special
from fcreview.importers.acebench.decode import decode
from fcreview.importers.acebench.discovery import recognise
from fcreview.importers.acebench.golden_records import FIELD, problem, rewrite_golden
from fcreview.importers.acebench.leaderboard import MULTIPLE, PROCESS, by_dialogue, process_of, share_of
from fcreview.importers.acebench.read import Source, source_of
from fcreview.importers.common.jsonl import Record, records
from fcreview.importers.common.records import Undecodable, documents
from fcreview.importers.common.writeback import (
    WORDS,
    Edits,
    Json,
    Key,
    counted,
    edited,
    first_line,
    first_values,
    in_order,
    numbered,
    only_own,
    own,
    readable,
    told_apart,
    without_place,
)
from fcreview.model.address import ITEM
from fcreview.model.item import Item, Run
from fcreview.model.metric import ScoredItem
from fcreview.run_plan import Unrepresentable, RewrittenFile, RunPlan
from fcreview.safe_files import read_file

__all__ = ["golden_template", "problem", "recheck", "rewrite", "rewrite_golden", "summaries"]


def results_of(source: Source) -> dict[str, Json]:
    """Result records by id; of two with one id the first, which the evaluator scored."""
    found: dict[str, Json] = {}
    for row in records(source.results):
        if isinstance(row, Record) and isinstance(row.value, dict) and isinstance(row.value.get("id"), str):
            found.setdefault(row.value["id"], row.value)
    return found


def position_of(source: Source, item: str) -> int:
    """An agent item's place in the question file, by which score and process files name it."""
    if item in source.order:
        return source.order.index(item)
    tail = item.rpartition("_")[2]
    return int(tail) if tail.isdigit() else -1


def entry(source: Source, row: ScoredItem, result: Json) -> Json:
    """`error_type` is null where nobody has named one."""
    head: Json = {"valid": False, "error": [WORDS], "error_type": row.error_type}
    if source.category.startswith("agent_"):
        return {"id": position_of(source, row.id)} | head | {"error": [[WORDS]]}
    golden = (source.answers.get(row.id) or {}).get("ground_truth")
    reply = result.get("result")
    if source.category.startswith("special"):
        return {"id": row.id} | head | {"model_result_decoded": reply, "possible_answer": golden}
    bare = "".join(reply.split()) if isinstance(reply, str) else reply
    if source.category in MULTIPLE:
        turn = {"id": row.id, "turn": str(row.group).rpartition("_")[2]}
        return turn | head | {"model_result": bare, "possible_answer": [golden]}
    return {"id": row.id} | head | {"model_result": bare, "possible_answer": golden}


def process_entry(source: Source, row: ScoredItem, result: Json) -> Json:
    milestones = (source.answers.get(row.id) or {}).get("mile_stone") or []
    return {PROCESS: None, "model_output": result.get("process") or [], "call_process": milestones}


def counted_and_listed(source: Source, row: ScoredItem, results: dict[str, Json]) -> bool:
    """Whether an item that is listed as failing is counted as right all the same: the evaluator's fault with those that
    pass by a later alternative."""
    golden = (source.answers.get(row.id) or {}).get("ground_truth")
    if not isinstance(golden, list) or len(golden) < 2 or source.category in MULTIPLE:
        return False
    functions = documents((source.questions.get(row.id) or {}).get("function"))
    try:
        return check(decode(results.get(row.id, {}).get("result")), golden, functions).valid
    except (Undecodable, *MALFORMED_DATA):
        return False


def rewrite(plan: RunPlan, rows: Sequence[ScoredItem]) -> Iterator[RewrittenFile | Unrepresentable]:
    yield from without_place(rows, _held)
    for path in plan.results:
        known = recognise(path)
        part = [row for row in rows if known is not None and row.category == known[0]]
        if known is None or not any(_speaks(row) for row in part):
            continue
        source = source_of(plan, path, known[0], [])
        scores = next((file for file in plan.scores if recognise(file) == (source.category, "score")), None)
        process = next((file for file in plan.scores if recognise(file) == (source.category, "process")), None)
        if scores is None or source.failures is None:
            yield Unrepresentable(f"items of {source.category}, which has no score file", sum(map(_speaks, part)))
            continue
        yield RewrittenFile(scores, _scores(read_file(scores), source, part))
        if process is not None:
            yield RewrittenFile(process, _process(read_file(process), source, part))
            open_ones = sum(_speaks(row) and share_of(row) is None for row in part)
            if open_ones:  # in the process file, what is not listed has met its milestones
                yield Unrepresentable(f"that it is not known which milestones items of {source.category} met", open_ones)


def summaries(plan: RunPlan) -> list[Path]:
    tables = dict.fromkeys(folder / "result.xlsx" for path in plan.scores for folder in list(path.parents)[1:4])
    return [path for path in tables if path.is_file()]


def _held(row: ScoredItem, key: Key) -> bool:
    return only_own(row, key) or (key == (ITEM, PROCESS) and row.category.startswith("agent_"))


def _speaks(row: ScoredItem) -> bool:
    return own(row) is not None or isinstance(row.overrides.get((ITEM, PROCESS)), (int, float))


def _scores(raw: bytes, source: Source, rows: Sequence[ScoredItem]) -> bytes:
    failures = source.failures or {}
    order = in_order([row.id for row in rows])
    lines = {name: line for line, name in _named(raw, source).items()}
    edits = Edits(places={line: order[name] for name, line in lines.items() if name in order})
    results = results_of(source)
    gained = 0
    right: list[bool | None] = []
    for row in rows:
        said = own(row)
        right.append(row.id not in failures if said is None else said)
        if said is True and row.id in lines:
            edits.gone.add(lines[row.id])
            gained += not counted_and_listed(source, row, results)
        elif said is False and row.id not in failures:
            edits.added.append((order[row.id], entry(source, row, results.get(row.id, {}))))
            gained -= 1
    header = next((record for _, record in numbered(raw) if "total_count" in record), {})
    edits.replaced[first_line(raw)] = _header(header, source.category, rows, right, gained)
    return edited(raw, edits)


def _process(raw: bytes, source: Source, rows: Sequence[ScoredItem]) -> bytes:
    """Lists the items that are not right and did not meet every milestone."""
    lines = {key: line for line, record in numbered(raw) for key in record}
    names = {row.id: f"{source.category}_{position_of(source, row.id)}" for row in rows}
    order = in_order([names[row.id] for row in rows])
    edits = Edits(places={line: order[key] for key, line in lines.items() if key in order})
    results = results_of(source)
    for row in filter(_speaks, rows):
        key, share = names[row.id], share_of(row)
        if key in lines:
            edits.gone.add(lines[key])
        if share is not None and share != 1:
            listed = (source.process or {}).get(key) or process_entry(source, row, results.get(row.id, {}))
            exact = (ITEM, PROCESS) in row.overrides
            edits.added.append((order[key], {key: listed | {PROCESS: share if exact else round(share, 3)}}))
    return edited(raw, edits)


def _named(raw: bytes, source: Source) -> dict[int, str]:
    """Line -> item; agent entries name the item by its place in the question file."""
    found: dict[int, str] = {}
    for line, record in numbered(raw):
        stated = record.get("id")
        if isinstance(stated, int):
            known = 0 <= stated < len(source.order)
            found[line] = source.order[stated] if known else f"{source.category}_{stated}"
        elif stated is not None:
            found[line] = str(stated)
    return found


def _header(
    header: dict[str, Any], category: str, rows: Sequence[ScoredItem], right: Sequence[bool | None], gained: int
) -> dict[str, Any]:
    """By the evaluator's arithmetic: of dialogues in multi-turn categories, not rounded in special ones."""
    if category.startswith("agent_"):
        found = counted(header, gained, digits=3, rate="end_to_end_accuracy")
        share = process_of(rows).value
        return found | ({"process_accuracy": share} if share is not None else {})
    if category in MULTIPLE:
        whole, process = by_dialogue([(str(row.group), one) for row, one in zip(rows, right, strict=True)])
        return counted(header, gained) | {"accuracy": whole.value, "process_accuracy": process.value}
    digits = None if category.startswith("special") else 3
    return counted(header, gained, digits=digits)


OTHERS = "other accepted answers"
"""Where an item has them in `more`."""


def golden_template(run: Run, item: Item) -> Json | None:  # noqa: ARG001
    """The golden answer as a fix of it; None where the store does not have it in full: agent and special items."""
    if not item.category.startswith("normal") or not readable(item.golden):
        return None
    first = told_apart(item.golden, [first_values(call) for call in item.golden], 1)
    others = item.extra.metadata.get(OTHERS)
    return {FIELD: [first, *others] if isinstance(others, list) and others else first}


def recheck(run: Run, item: Item, fix: Json, record: Any) -> bool | None:  # noqa: ARG001
    """The rule verdict with that golden answer; None where it is not recomputed: agents."""
    reply, golden = record.get("result") if isinstance(record, dict) else None, fix.get(FIELD)
    if reply is None or item.category.startswith("agent_"):
        return None
    if item.category.startswith("special"):
        return check_special(reply, golden, item.category).valid
    try:
        calls = decode(reply)
    except Undecodable:
        return False
    return check(calls, golden, item.functions).valid
