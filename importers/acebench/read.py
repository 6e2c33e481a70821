"""ACEBench items: results joined with questions, golden answers, scores and dialogue histories.

Items of ACEBench with corrected golden answers, as errata have them: calls, pairs and the rule verdict anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import orjson

from fcreview.importers.acebench import agent, normal
from fcreview.importers.acebench.checker import compute_process_accuracy
from fcreview.importers.acebench.discovery import parse_file_name
from fcreview.importers.acebench.golden_records import GROUND_TRUTH, check_golden_fix
from fcreview.importers.acebench.leaderboard import MILESTONES_MET, PROCESS_ACCURACY
from fcreview.importers.common.golden_corrections import CategoryCorrections
from fcreview.importers.common.jsonl import JsonRecord, read_records
from fcreview.importers.common.records import read_function_docs, fill_safely
from fcreview.model.item import RecomputedVerdict, ImportIssue, Item, Verdict
from fcreview.model.json_value import answer_hash
from fcreview.run_plan import RunPlan

RULES_WITH_ERRATA = "ACEBench rules with errata"
AGENT_NOT_CORRECTED = "golden answers of agent items are not exchanged"


@dataclass(frozen=True, slots=True)
class ModelReply:
    """What a model said, and what it was asked."""

    record: dict[str, Any]
    question: dict[str, Any] | None
    can_recompute: bool
    """See `normal.fill`."""


def fill_reply_item(item: Item, reply: ModelReply, golden: Any, corrections: CategoryCorrections | None) -> None:
    """An item of the normal and special categories, by the dataset's golden answer or the one that errata have. Its
    golden hash stays that of the dataset's own answer, so that reviews of it are no more stale than before."""
    new = golden if corrections is None else _choose_golden(item, reply, golden, corrections)
    _fill_with_golden(item, reply, new)
    if new is golden:
        return
    own = Item(item.id, item.category, functions=item.functions)
    _fill_with_golden(own, reply, golden)
    if (own.rule, own.rule_error_type) != (item.rule, item.rule_error_type):
        item.extra.without_errata = RecomputedVerdict(own.rule, own.rule_error_type)
        item.verdicts[-1].by = RULES_WITH_ERRATA


def reject_agent_erratum(item: Item, name: str, corrections: CategoryCorrections | None) -> None:
    """An agent item: an entry does not say which of its golden fields (end state, milestones) it corrects."""
    entry = corrections.entries.get(name) if corrections else None
    if corrections is not None and entry is not None:
        item.extra.erratum = corrections.reject(entry, AGENT_NOT_CORRECTED).erratum


def _choose_golden(item: Item, reply: ModelReply, golden: Any, corrections: CategoryCorrections) -> Any:
    """The golden answer that holds; sets what the item is shown with."""
    found = corrections.find(str(reply.record["id"]), golden, normal.dialogue_messages(reply.question))
    if found.entry is not None:
        wrong = check_golden_fix(corrections.run, item, {GROUND_TRUTH: found.entry.new})
        if wrong is not None:
            found = corrections.reject(found.entry, f"the new golden answer has another form: {wrong}")
    item.extra.erratum = found.erratum
    return golden if found.entry is None else found.entry.new


def _fill_with_golden(item: Item, reply: ModelReply, golden: Any) -> None:
    normal.fill_item(item, reply.record, reply.question, golden, item.category, can_recompute=reply.can_recompute)


@dataclass(slots=True)
class CategoryInputs:
    """One category of a run: everything its items are made of."""

    category: str
    result_file: Path
    language: str
    questions: dict[str, dict[str, Any]] = field(default_factory=dict)
    answers: dict[str, dict[str, Any]] = field(default_factory=dict)
    question_ids: list[str] = field(default_factory=list)
    """Ids in dataset order: agent scores name items by position."""
    failures: dict[str, dict[str, Any]] | None = None
    """Failing entries by item id; None without a score file."""
    process_entries: dict[str, dict[str, Any]] | None = None
    histories: dict[int, Path] = field(default_factory=dict)
    score_file: str = ""
    corrections: CategoryCorrections | None = None
    """Of golden answers, where the run is read with errata."""


def read_items(plan: RunPlan) -> Iterator[Item | ImportIssue]:
    for path in plan.results:
        known = parse_file_name(path)
        if known is None:
            continue
        issues: list[ImportIssue] = []
        source = load_category_inputs(plan, path, known[0], issues)
        if plan.errata is not None:
            source.corrections = CategoryCorrections(plan.errata, plan.run, source.category)
        yield from issues
        yield from _read_category_items(source)
        yield from _correction_issues(source)


def _correction_issues(source: CategoryInputs) -> list[ImportIssue]:
    """Of corrections that were not applied."""
    if source.corrections is None:
        return []
    if source.questions:
        source.corrections.report_absent_items(source.questions)
    return source.corrections.issues


def load_category_inputs(plan: RunPlan, path: Path, category: str, issues: list[ImportIssue]) -> CategoryInputs:
    source = CategoryInputs(category, path, plan.run.language)
    for file in plan.data:
        if file.name == f"data_{category}.json":
            rows = _load_by_id(file, issues)
            if file.parent.name == "possible_answer":
                source.answers = rows
            else:
                source.questions, source.question_ids = rows, list(rows)
    kind = category.removeprefix("agent_")
    source.histories = {
        int(number): file
        for file in plan.logs
        if file.parent.parent.name == kind and (number := file.name.partition("_")[0]).isdigit()
    }
    for file in plan.scores:
        known = parse_file_name(file)
        if known == (category, "score"):
            _read_scores(file, source, plan, issues)
        elif known == (category, "process"):
            misses = [row.value for row in _records(file, issues) if isinstance(row.value, dict)]
            source.process_entries = {key: value for row in misses for key, value in row.items() if isinstance(value, dict)}
    return source


def _records(path: Path, issues: list[ImportIssue]) -> Iterator[JsonRecord]:
    for row in read_records(path):
        if isinstance(row, JsonRecord):
            yield row
        else:
            issues.append(row)


def _load_by_id(path: Path, issues: list[ImportIssue]) -> dict[str, dict[str, Any]]:
    rows: dict[str, dict[str, Any]] = {}
    for row in _records(path, issues):
        if isinstance(row.value, dict) and isinstance(row.value.get("id"), str):
            rows[row.value["id"]] = row.value
        else:
            issues.append(ImportIssue(str(path), row.line, "a record without an id"))
    return rows


def _read_scores(path: Path, source: CategoryInputs, plan: RunPlan, issues: list[ImportIssue]) -> None:
    source.failures, source.score_file = {}, path.name
    for row in _records(path, issues):
        entry = row.value
        if not isinstance(entry, dict):
            issues.append(ImportIssue(str(path), row.line, "not an object"))
        elif "id" not in entry and "total_count" in entry:
            plan.run.official_metrics[source.category] = entry
        elif isinstance(entry.get("id"), int):
            position = entry["id"]
            name = source.question_ids[position] if 0 <= position < len(source.question_ids) else f"{source.category}_{position}"
            source.failures[name] = entry
        else:
            source.failures[str(entry.get("id"))] = entry


def _read_category_items(source: CategoryInputs) -> Iterator[Item | ImportIssue]:
    seen: dict[str, int] = {}
    counted = 0
    for row in read_records(source.result_file):
        if isinstance(row, ImportIssue):
            yield row
            continue
        record = row.value
        if not isinstance(record, dict) or not isinstance(record.get("id"), str):
            yield ImportIssue(str(source.result_file), row.line, "a result record without an id")
            continue
        name = record["id"]
        if name in seen:
            text = (
                f"{name} stands here again (first in line {seen[name]}): both are kept, this one as {name}#{row.line}"
            )
            yield ImportIssue(str(source.result_file), row.line, text, item=name)
            name = f"{name}#{row.line}"
        seen.setdefault(record["id"], row.line)
        counted += 1
        item = Item(id=name, category=source.category, file=str(source.result_file))
        item.line, item.offset, item.length = row.line, row.offset, row.length
        yield fill_safely(item, partial(_fill_item, item, record, source))
    for name in (source.failures or {}).keys() - seen.keys():
        yield ImportIssue(
            source.score_file, None, f"the score file names {name}, which has no result record", item=name
        )


def _fill_item(item: Item, record: dict[str, Any], source: CategoryInputs) -> None:
    name = record["id"]
    question, answer = source.questions.get(name), source.answers.get(name)
    item.prediction_hash = answer_hash([record.get("result"), record.get("process")])
    item.golden_hash = answer_hash(answer) if answer is not None else ""
    item.functions = read_function_docs(question.get("function")) if question else []
    _add_official_verdict(item, source)
    if source.category.startswith("agent_"):
        position = source.question_ids.index(name) if name in source.question_ids else _id_number(name)
        agent.fill_item(item, record, question, answer, source.histories.get(position))
        _add_process_verdict(item, source, position)
        reject_agent_erratum(item, name, source.corrections)
    else:
        golden = answer.get("ground_truth") if answer else _scored_answer(source, name)
        judged = answer is not None and question is not None
        reply = ModelReply(record, question, can_recompute=judged)
        fill_reply_item(item, reply, golden, source.corrections)
    if question is None:
        item.rule_note = "no question file: nothing to check against"


def _scored_answer(source: CategoryInputs, name: str) -> Any:
    """The golden answer that a failing entry repeats; the multi-turn evaluator wraps it in a list."""
    return ((source.failures or {}).get(name) or {}).get("possible_answer")


def _add_official_verdict(item: Item, source: CategoryInputs) -> None:
    if source.failures is None:
        return
    entry = source.failures.get(item.id)
    item.official = entry is None
    error_type = str(entry["error_type"]) if entry and entry.get("error_type") is not None else None
    text = "\n".join(_error_texts(entry.get("error"))) if entry else None
    item.error_type = error_type
    item.verdicts.insert(
        0, Verdict("official", item.official, error_type=error_type, rationale=text or None, by=source.score_file)
    )


def _add_process_verdict(item: Item, source: CategoryInputs, position: int) -> None:
    if source.process_entries is None:
        return
    entry = source.process_entries.get(f"{source.category}_{position}")
    value, note = _counted_share(entry) if entry else (1.0, None)
    item.verdicts.append(Verdict("official", value, criterion=PROCESS_ACCURACY, rationale=note, by="process file"))
    if entry or item.official is False:  # one that fails and is not listed met them all
        item.extra.metadata.setdefault(MILESTONES_MET, value)


def _counted_share(entry: dict[str, Any]) -> tuple[Any, str | None]:
    """What counts towards the category's mean. Where milestones have alternative sequences the process file names the
    last one's share, but the mean takes the best."""
    stated, milestones = entry.get("process_accuracy"), entry.get("call_process")
    if not isinstance(milestones, list) or not isinstance(stated, (int, float)):
        return stated, None
    if len(milestones) < 2 or not isinstance(milestones[0], list):
        return stated, None
    best, last = compute_process_accuracy(entry.get("model_output"), milestones, False)
    if last != stated or best == stated:
        return stated, None
    return best, f"the best of {len(milestones)} milestone sequences, as the mean takes it; the file names {stated}"


def _error_texts(error: Any) -> list[str]:
    if isinstance(error, list):
        return [text for part in error for text in _error_texts(part)]
    return [error if isinstance(error, str) else orjson.dumps(error).decode()] if error else []


def _id_number(name: str) -> int:
    tail = name.rpartition("_")[2]
    return int(tail) if tail.isdigit() else -1
