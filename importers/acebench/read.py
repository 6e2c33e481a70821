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
from fcreview.importers.acebench.checker import process_accuracy
from fcreview.importers.acebench.discovery import recognise
from fcreview.importers.acebench.golden_records import FIELD, problem
from fcreview.importers.acebench.leaderboard import MILESTONES, PROCESS
from fcreview.importers.common.golden_corrections import Corrections
from fcreview.importers.common.jsonl import Record, records
from fcreview.importers.common.records import documents, guarded
from fcreview.model.item import RecomputedVerdict, ImportIssue, Item, Verdict
from fcreview.model.json_value import answer_hash
from fcreview.run_plan import RunPlan

WITH_ERRATA = "ACEBench rules with errata"
AGENT = "golden answers of agent items are not exchanged"


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model said, and what it was asked."""

    record: dict[str, Any]
    question: dict[str, Any] | None
    judged: bool
    """See `normal.fill`."""


def fill(item: Item, reply: Reply, golden: Any, corrections: Corrections | None) -> None:
    """An item of the normal and special categories, by the dataset's golden answer or the one that errata have. Its
    golden hash stays that of the dataset's own answer, so that reviews of it are no more stale than before."""
    new = golden if corrections is None else _corrected(item, reply, golden, corrections)
    _fill(item, reply, new)
    if new is golden:
        return
    own = Item(item.id, item.category, functions=item.functions)
    _fill(own, reply, golden)
    if (own.rule, own.rule_error_type) != (item.rule, item.rule_error_type):
        item.extra.without_errata = RecomputedVerdict(own.rule, own.rule_error_type)
        item.verdicts[-1].by = WITH_ERRATA


def refused(item: Item, name: str, corrections: Corrections | None) -> None:
    """An agent item: an entry does not say which of its golden fields (end state, milestones) it corrects."""
    entry = corrections.entries.get(name) if corrections else None
    if corrections is not None and entry is not None:
        item.extra.erratum = corrections.refused(entry, AGENT).erratum


def _corrected(item: Item, reply: Reply, golden: Any, corrections: Corrections) -> Any:
    """The golden answer that holds; sets what the item is shown with."""
    found = corrections.of(str(reply.record["id"]), golden, normal.asked(reply.question))
    if found.entry is not None:
        wrong = problem(corrections.run, item, {FIELD: found.entry.new})
        if wrong is not None:
            found = corrections.refused(found.entry, f"the new golden answer has another form: {wrong}")
    item.extra.erratum = found.erratum
    return golden if found.entry is None else found.entry.new


def _fill(item: Item, reply: Reply, golden: Any) -> None:
    normal.fill(item, reply.record, reply.question, golden, item.category, judged=reply.judged)


@dataclass(slots=True)
class Source:
    """One category of a run: everything its items are made of."""

    category: str
    results: Path
    language: str
    questions: dict[str, dict[str, Any]] = field(default_factory=dict)
    answers: dict[str, dict[str, Any]] = field(default_factory=dict)
    order: list[str] = field(default_factory=list)
    """Ids in dataset order: agent scores name items by position."""
    failures: dict[str, dict[str, Any]] | None = None
    """Failing entries by item id; None without a score file."""
    process: dict[str, dict[str, Any]] | None = None
    histories: dict[int, Path] = field(default_factory=dict)
    score_file: str = ""
    corrections: Corrections | None = None
    """Of golden answers, where the run is read with errata."""


def read(plan: RunPlan) -> Iterator[Item | ImportIssue]:
    for path in plan.results:
        known = recognise(path)
        if known is None:
            continue
        issues: list[ImportIssue] = []
        source = source_of(plan, path, known[0], issues)
        if plan.errata is not None:
            source.corrections = Corrections(plan.errata, plan.run, source.category)
        yield from issues
        yield from _items(source)
        yield from _told(source)


def _told(source: Source) -> list[ImportIssue]:
    """Of corrections that were not applied."""
    if source.corrections is None:
        return []
    if source.questions:
        source.corrections.tell_absent(source.questions)
    return source.corrections.issues


def source_of(plan: RunPlan, path: Path, category: str, issues: list[ImportIssue]) -> Source:
    source = Source(category, path, plan.run.language)
    for file in plan.data:
        if file.name == f"data_{category}.json":
            rows = _by_id(file, issues)
            if file.parent.name == "possible_answer":
                source.answers = rows
            else:
                source.questions, source.order = rows, list(rows)
    kind = category.removeprefix("agent_")
    source.histories = {
        int(number): file
        for file in plan.logs
        if file.parent.parent.name == kind and (number := file.name.partition("_")[0]).isdigit()
    }
    for file in plan.scores:
        known = recognise(file)
        if known == (category, "score"):
            _read_scores(file, source, plan, issues)
        elif known == (category, "process"):
            misses = [row.value for row in _records(file, issues) if isinstance(row.value, dict)]
            source.process = {key: value for row in misses for key, value in row.items() if isinstance(value, dict)}
    return source


def _records(path: Path, issues: list[ImportIssue]) -> Iterator[Record]:
    for row in records(path):
        if isinstance(row, Record):
            yield row
        else:
            issues.append(row)


def _by_id(path: Path, issues: list[ImportIssue]) -> dict[str, dict[str, Any]]:
    rows: dict[str, dict[str, Any]] = {}
    for row in _records(path, issues):
        if isinstance(row.value, dict) and isinstance(row.value.get("id"), str):
            rows[row.value["id"]] = row.value
        else:
            issues.append(ImportIssue(str(path), row.line, "a record without an id"))
    return rows


def _read_scores(path: Path, source: Source, plan: RunPlan, issues: list[ImportIssue]) -> None:
    source.failures, source.score_file = {}, path.name
    for row in _records(path, issues):
        entry = row.value
        if not isinstance(entry, dict):
            issues.append(ImportIssue(str(path), row.line, "not an object"))
        elif "id" not in entry and "total_count" in entry:
            plan.run.official_metrics[source.category] = entry
        elif isinstance(entry.get("id"), int):
            position = entry["id"]
            name = source.order[position] if 0 <= position < len(source.order) else f"{source.category}_{position}"
            source.failures[name] = entry
        else:
            source.failures[str(entry.get("id"))] = entry


def _items(source: Source) -> Iterator[Item | ImportIssue]:
    seen: dict[str, int] = {}
    counted = 0
    for row in records(source.results):
        if isinstance(row, ImportIssue):
            yield row
            continue
        record = row.value
        if not isinstance(record, dict) or not isinstance(record.get("id"), str):
            yield ImportIssue(str(source.results), row.line, "a result record without an id")
            continue
        name = record["id"]
        if name in seen:
            text = (
                f"{name} stands here again (first in line {seen[name]}): both are kept, this one as {name}#{row.line}"
            )
            yield ImportIssue(str(source.results), row.line, text, item=name)
            name = f"{name}#{row.line}"
        seen.setdefault(record["id"], row.line)
        counted += 1
        item = Item(id=name, category=source.category, file=str(source.results))
        item.line, item.offset, item.length = row.line, row.offset, row.length
        yield guarded(item, partial(_read_fill, item, record, source))
    for name in (source.failures or {}).keys() - seen.keys():
        yield ImportIssue(
            source.score_file, None, f"the score file names {name}, which has no result record", item=name
        )


def _read_fill(item: Item, record: dict[str, Any], source: Source) -> None:
    name = record["id"]
    question, answer = source.questions.get(name), source.answers.get(name)
    item.prediction_hash = answer_hash([record.get("result"), record.get("process")])
    item.golden_hash = answer_hash(answer) if answer is not None else ""
    item.functions = documents(question.get("function")) if question else []
    _official(item, source)
    if source.category.startswith("agent_"):
        position = source.order.index(name) if name in source.order else _number(name)
        agent.fill(item, record, question, answer, source.histories.get(position))
        _process_verdict(item, source, position)
        refused(item, name, source.corrections)
    else:
        golden = answer.get("ground_truth") if answer else _scored_answer(source, name)
        judged = answer is not None and question is not None
        reply = Reply(record, question, judged=judged)
        fill(item, reply, golden, source.corrections)
    if question is None:
        item.rule_note = "no question file: nothing to check against"


def _scored_answer(source: Source, name: str) -> Any:
    """The golden answer that a failing entry repeats; the multi-turn evaluator wraps it in a list."""
    return ((source.failures or {}).get(name) or {}).get("possible_answer")


def _official(item: Item, source: Source) -> None:
    if source.failures is None:
        return
    entry = source.failures.get(item.id)
    item.official = entry is None
    error_type = str(entry["error_type"]) if entry and entry.get("error_type") is not None else None
    text = "\n".join(_texts(entry.get("error"))) if entry else None
    item.error_type = error_type
    item.verdicts.insert(
        0, Verdict("official", item.official, error_type=error_type, rationale=text or None, by=source.score_file)
    )


def _process_verdict(item: Item, source: Source, position: int) -> None:
    if source.process is None:
        return
    entry = source.process.get(f"{source.category}_{position}")
    value, note = _counted(entry) if entry else (1.0, None)
    item.verdicts.append(Verdict("official", value, criterion=PROCESS, rationale=note, by="process file"))
    if entry or item.official is False:  # one that fails and is not listed met them all
        item.extra.metadata.setdefault(MILESTONES, value)


def _counted(entry: dict[str, Any]) -> tuple[Any, str | None]:
    """What counts towards the category's mean. Where milestones have alternative sequences the process file names the
    last one's share, but the mean takes the best."""
    stated, milestones = entry.get("process_accuracy"), entry.get("call_process")
    if not isinstance(milestones, list) or not isinstance(stated, (int, float)):
        return stated, None
    if len(milestones) < 2 or not isinstance(milestones[0], list):
        return stated, None
    best, last = process_accuracy(entry.get("model_output"), milestones, False)
    if last != stated or best == stated:
        return stated, None
    return best, f"the best of {len(milestones)} milestone sequences, as the mean takes it; the file names {stated}"


def _texts(error: Any) -> list[str]:
    if isinstance(error, list):
        return [text for part in error for text in _texts(part)]
    return [error if isinstance(error, str) else orjson.dumps(error).decode()] if error else []


def _number(name: str) -> int:
    tail = name.rpartition("_")[2]
    return int(tail) if tail.isdigit() else -1
