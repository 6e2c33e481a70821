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
from fcreview.importers.acebench.checker import check_calls, check_special
from fcreview.importers.acebench.decode import decode_reply
from fcreview.importers.acebench.discovery import parse_file_name
from fcreview.importers.acebench.golden_records import GROUND_TRUTH, check_golden_fix, rewrite_golden
from fcreview.importers.acebench.leaderboard import MULTI_TURN_CATEGORIES, PROCESS_ACCURACY, dialogue_rates, process_rate, process_share
from fcreview.importers.acebench.read import CategoryInputs, load_category_inputs
from fcreview.importers.common.jsonl import JsonRecord, read_records
from fcreview.importers.common.records import Undecodable, read_function_docs
from fcreview.importers.common.writeback import (
    ANNOTATOR_REASON,
    LineEdits,
    JsonObject,
    CriterionKey,
    update_counts,
    apply_edits,
    header_line_number,
    first_accepted_arguments,
    positions_by_name,
    parse_numbered_records,
    is_item_verdict,
    item_override,
    has_decoded_calls,
    key_by_function_name,
    find_unrepresentable,
)
from fcreview.model.address import ITEM
from fcreview.model.item import Item, Run
from fcreview.model.metric import ScoredItem
from fcreview.run_plan import Unrepresentable, RewrittenFile, RunPlan
from fcreview.safe_files import read_file

__all__ = ["make_golden_template", "check_golden_fix", "recheck", "rewrite_scores", "rewrite_golden", "find_summary_files"]


def load_results(source: CategoryInputs) -> dict[str, JsonObject]:
    """Result records by id; of two with one id the first, which the evaluator scored."""
    found: dict[str, JsonObject] = {}
    for row in read_records(source.result_file):
        if isinstance(row, JsonRecord) and isinstance(row.value, dict) and isinstance(row.value.get("id"), str):
            found.setdefault(row.value["id"], row.value)
    return found


def agent_position(source: CategoryInputs, item: str) -> int:
    """An agent item's place in the question file, by which score and process files name it."""
    if item in source.question_ids:
        return source.question_ids.index(item)
    tail = item.rpartition("_")[2]
    return int(tail) if tail.isdigit() else -1


def make_failing_entry(source: CategoryInputs, row: ScoredItem, result: JsonObject) -> JsonObject:
    """`error_type` is null where nobody has named one."""
    head: JsonObject = {"valid": False, "error": [ANNOTATOR_REASON], "error_type": row.error_type}
    if source.category.startswith("agent_"):
        return {"id": agent_position(source, row.id)} | head | {"error": [[ANNOTATOR_REASON]]}
    golden = (source.answers.get(row.id) or {}).get("ground_truth")
    reply = result.get("result")
    if source.category.startswith("special"):
        return {"id": row.id} | head | {"model_result_decoded": reply, "possible_answer": golden}
    bare = "".join(reply.split()) if isinstance(reply, str) else reply
    if source.category in MULTI_TURN_CATEGORIES:
        turn = {"id": row.id, "turn": str(row.group).rpartition("_")[2]}
        return turn | head | {"model_result": bare, "possible_answer": [golden]}
    return {"id": row.id} | head | {"model_result": bare, "possible_answer": golden}


def make_process_entry(source: CategoryInputs, row: ScoredItem, result: JsonObject) -> JsonObject:
    milestones = (source.answers.get(row.id) or {}).get("mile_stone") or []
    return {PROCESS_ACCURACY: None, "model_output": result.get("process") or [], "call_process": milestones}


def is_counted_and_listed(source: CategoryInputs, row: ScoredItem, results: dict[str, JsonObject]) -> bool:
    """Whether an item that is listed as failing is counted as right all the same: the evaluator's fault with those that
    pass by a later alternative."""
    golden = (source.answers.get(row.id) or {}).get("ground_truth")
    if not isinstance(golden, list) or len(golden) < 2 or source.category in MULTI_TURN_CATEGORIES:
        return False
    functions = read_function_docs((source.questions.get(row.id) or {}).get("function"))
    try:
        return check_calls(decode_reply(results.get(row.id, {}).get("result")), golden, functions).valid
    except (Undecodable, *MALFORMED_DATA):
        return False


def rewrite_scores(plan: RunPlan, rows: Sequence[ScoredItem]) -> Iterator[RewrittenFile | Unrepresentable]:
    yield from find_unrepresentable(rows, _is_representable)
    for path in plan.results:
        known = parse_file_name(path)
        part = [row for row in rows if known is not None and row.category == known[0]]
        if known is None or not any(_has_override(row) for row in part):
            continue
        source = load_category_inputs(plan, path, known[0], [])
        scores = next((file for file in plan.scores if parse_file_name(file) == (source.category, "score")), None)
        process = next((file for file in plan.scores if parse_file_name(file) == (source.category, "process")), None)
        if scores is None or source.failures is None:
            yield Unrepresentable(f"items of {source.category}, which has no score file", sum(map(_has_override, part)))
            continue
        yield RewrittenFile(scores, _rewrite_score_file(read_file(scores), source, part))
        if process is not None:
            yield RewrittenFile(process, _rewrite_process_file(read_file(process), source, part))
            open_ones = sum(_has_override(row) and process_share(row) is None for row in part)
            if open_ones:  # in the process file, what is not listed has met its milestones
                yield Unrepresentable(f"that it is not known which milestones items of {source.category} met", open_ones)


def find_summary_files(plan: RunPlan) -> list[Path]:
    tables = dict.fromkeys(folder / "result.xlsx" for path in plan.scores for folder in list(path.parents)[1:4])
    return [path for path in tables if path.is_file()]


def _is_representable(row: ScoredItem, key: CriterionKey) -> bool:
    return is_item_verdict(row, key) or (key == (ITEM, PROCESS_ACCURACY) and row.category.startswith("agent_"))


def _has_override(row: ScoredItem) -> bool:
    return item_override(row) is not None or isinstance(row.overrides.get((ITEM, PROCESS_ACCURACY)), (int, float))


def _rewrite_score_file(raw: bytes, source: CategoryInputs, rows: Sequence[ScoredItem]) -> bytes:
    failures = source.failures or {}
    order = positions_by_name([row.id for row in rows])
    lines = {name: line for line, name in _item_ids_by_line(raw, source).items()}
    edits = LineEdits(positions={line: order[name] for name, line in lines.items() if name in order})
    results = load_results(source)
    gained = 0
    right: list[bool | None] = []
    for row in rows:
        said = item_override(row)
        right.append(row.id not in failures if said is None else said)
        if said is True and row.id in lines:
            edits.removed.add(lines[row.id])
            gained += not is_counted_and_listed(source, row, results)
        elif said is False and row.id not in failures:
            edits.added.append((order[row.id], make_failing_entry(source, row, results.get(row.id, {}))))
            gained -= 1
    header = next((record for _, record in parse_numbered_records(raw) if "total_count" in record), {})
    edits.replaced[header_line_number(raw)] = _update_header(header, source.category, rows, right, gained)
    return apply_edits(raw, edits)


def _rewrite_process_file(raw: bytes, source: CategoryInputs, rows: Sequence[ScoredItem]) -> bytes:
    """Lists the items that are not right and did not meet every milestone."""
    lines = {key: line for line, record in parse_numbered_records(raw) for key in record}
    names = {row.id: f"{source.category}_{agent_position(source, row.id)}" for row in rows}
    order = positions_by_name([names[row.id] for row in rows])
    edits = LineEdits(positions={line: order[key] for key, line in lines.items() if key in order})
    results = load_results(source)
    for row in filter(_has_override, rows):
        key, share = names[row.id], process_share(row)
        if key in lines:
            edits.removed.add(lines[key])
        if share is not None and share != 1:
            listed = (source.process_entries or {}).get(key) or make_process_entry(source, row, results.get(row.id, {}))
            exact = (ITEM, PROCESS_ACCURACY) in row.overrides
            edits.added.append((order[key], {key: listed | {PROCESS_ACCURACY: share if exact else round(share, 3)}}))
    return apply_edits(raw, edits)


def _item_ids_by_line(raw: bytes, source: CategoryInputs) -> dict[int, str]:
    """Line -> item; agent entries name the item by its place in the question file."""
    found: dict[int, str] = {}
    for line, record in parse_numbered_records(raw):
        stated = record.get("id")
        if isinstance(stated, int):
            known = 0 <= stated < len(source.question_ids)
            found[line] = source.question_ids[stated] if known else f"{source.category}_{stated}"
        elif stated is not None:
            found[line] = str(stated)
    return found


def _update_header(
    header: dict[str, Any], category: str, rows: Sequence[ScoredItem], right: Sequence[bool | None], gained: int
) -> dict[str, Any]:
    """By the evaluator's arithmetic: of dialogues in multi-turn categories, not rounded in special ones."""
    if category.startswith("agent_"):
        found = update_counts(header, gained, digits=3, rate="end_to_end_accuracy")
        share = process_rate(rows).value
        return found | ({"process_accuracy": share} if share is not None else {})
    if category in MULTI_TURN_CATEGORIES:
        whole, process = dialogue_rates([(str(row.group), one) for row, one in zip(rows, right, strict=True)])
        return update_counts(header, gained) | {"accuracy": whole.value, "process_accuracy": process.value}
    digits = None if category.startswith("special") else 3
    return update_counts(header, gained, digits=digits)


OTHER_ANSWERS = "other accepted answers"
"""Where an item has them in `more`."""


def make_golden_template(run: Run, item: Item) -> JsonObject | None:  # noqa: ARG001
    """The golden answer as a fix of it; None where the store does not have it in full: agent and special items."""
    if not item.category.startswith("normal") or not has_decoded_calls(item.golden):
        return None
    first = key_by_function_name(item.golden, [first_accepted_arguments(call) for call in item.golden], 1)
    others = item.extra.metadata.get(OTHER_ANSWERS)
    return {GROUND_TRUTH: [first, *others] if isinstance(others, list) and others else first}


def recheck(run: Run, item: Item, fix: JsonObject, record: Any) -> bool | None:  # noqa: ARG001
    """The rule verdict with that golden answer; None where it is not recomputed: agents."""
    reply, golden = record.get("result") if isinstance(record, dict) else None, fix.get(GROUND_TRUTH)
    if reply is None or item.category.startswith("agent_"):
        return None
    if item.category.startswith("special"):
        return check_special(reply, golden, item.category).valid
    try:
        calls = decode_reply(reply)
    except Undecodable:
        return False
    return check_calls(calls, golden, item.functions).valid
