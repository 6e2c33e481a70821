"""The entries of items that the evaluator passed and people fail, with the fields that its own entries have."""

from __future__ import annotations

from typing import Any

from fcreview.figures import Scored
from fcreview.importers.acebench.check_normal import check
from fcreview.importers.acebench.decode import Undecodable, decode
from fcreview.importers.acebench.figures.rates import MULTIPLE, PROCESS
from fcreview.importers.acebench.read import Source
from fcreview.importers.common.guard import UNFORESEEN, documents
from fcreview.importers.common.jsonl import Record, records
from fcreview.importers.common.writing.said import WORDS

Json = dict[str, Any]


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


def entry(source: Source, row: Scored, result: Json) -> Json:
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


def process_entry(source: Source, row: Scored, result: Json) -> Json:
    milestones = (source.answers.get(row.id) or {}).get("mile_stone") or []
    return {PROCESS: None, "model_output": result.get("process") or [], "call_process": milestones}


def counted_and_listed(source: Source, row: Scored, results: dict[str, Json]) -> bool:
    """Whether an item that is listed as failing is counted as right all the same: the evaluator's fault with those that
    pass by a later alternative."""
    golden = (source.answers.get(row.id) or {}).get("ground_truth")
    if not isinstance(golden, list) or len(golden) < 2 or source.category in MULTIPLE:
        return False
    functions = documents((source.questions.get(row.id) or {}).get("function"))
    try:
        return check(decode(results.get(row.id, {}).get("result")), golden, functions).valid
    except (Undecodable, *UNFORESEEN):
        return False
