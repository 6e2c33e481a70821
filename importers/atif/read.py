"""Read ATIF trajectories and Harbor trials as items."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from fcreview.importers.atif.discovery import LINE_SUFFIXES, JobFiles, TrialFiles
from fcreview.importers.atif.leaderboard import mean_rewards
from fcreview.importers.atif.rewards import (
    EXCEPTION_KEY,
    REWARDS_KEY,
    TrialRecord,
    add_official_verdicts,
    add_test_verdicts,
    as_object,
    read_rewards,
    read_trial,
)
from fcreview.importers.atif.trajectory import Conversation, FindDocument, JsonObject, add_document
from fcreview.importers.common.jsonl import read_json, read_records
from fcreview.importers.common.records import fill_safely, first_question, read_function_docs
from fcreview.matching.align import align_turns
from fcreview.model.item import ImportIssue, Item, Run, SourceName, Verdict
from fcreview.model.json_value import answer_hash
from fcreview.run_plan import RunPlan

ALL_ITEMS = "all"
"""Category of items that belong to no dataset."""
OWN_KEY = "fcreview"
"""Key in `extra` under which `fcreview export --format atif` writes its data."""
NO_GOLDEN_NOTE = "an ATIF trajectory has no golden answer"
READ_FIELDS = frozenset({
    "schema_version", "agent", "steps", "final_metrics", "subagent_trajectories", "extra", "continued_trajectory_ref",
})  # fmt: skip
"""Fields of a trajectory that become part of the item. All others become metadata."""
TOLERANCE = 1e-9
"""Maximum difference between a recorded and a recomputed metric that counts as a rounding error."""


def read_items(plan: RunPlan) -> Iterator[Item | ImportIssue]:
    """Yield an item for each trajectory or trial. Also sets the official metrics of a job's run."""
    files: JobFiles = plan.importer_data
    known_ids: set[str] = set()
    rewards: list[Mapping[str, float] | None] = []
    for trial in files.trials:
        reader = _read_lines if trial.documents and trial.documents[0].suffix in LINE_SUFFIXES else _read_trial
        for each in reader(trial, plan.run.generation or ALL_ITEMS):
            if isinstance(each, Item):
                if each.id in known_ids:
                    name, each.id = each.id, f"{each.id}#{len(known_ids) + 1}"
                    each.issues.append(ImportIssue(each.file, each.line, f"duplicate id {name}", item=each.id))
                known_ids.add(each.id)
                rewards.append(each.extra.metadata.get(REWARDS_KEY))
            yield each
    if files.job_result is not None:
        yield from _read_job(plan.run, files, rewards)


def _read_lines(trial: TrialFiles, category: str) -> Iterator[Item | ImportIssue]:
    """Read a file with one trajectory on each line."""
    path = trial.documents[0]
    for record in read_records(path):
        if isinstance(record, ImportIssue):
            yield record
            continue
        document = as_object(record.value)
        name = document.get("trajectory_id") or document.get("session_id") or f"{trial.name}:{record.line}"
        item = Item(str(name), category, file=str(path), line=record.line, offset=record.offset, length=record.length)
        if not document:
            item.issues.append(ImportIssue(str(path), record.line, "not a trajectory", severity="error"))
        yield fill_safely(item, partial(_fill_item, item, [document], TrialRecord(), lambda _: None))


def _read_trial(trial: TrialFiles, category: str) -> Iterator[Item | ImportIssue]:
    path = trial.main_file
    item = Item(trial.name, category, file=str(path), line=1, length=_file_size(path))
    record = read_trial(trial) if trial.result or trial.verifier else TrialRecord()
    item.issues += record.issues
    documents = []
    for each in trial.documents:
        document = read_json(each, item.issues, dict)
        if document is not None:
            documents.append(document)
    if not trial.documents:
        text = "the trial has no agent/trajectory.json: only its result is known"
        item.issues.append(ImportIssue(str(path), None, text, item=item.id, severity="notice"))
    if documents and len(documents) == len(trial.documents) and documents[-1].get("continued_trajectory_ref"):
        text = f"the trajectory continues in {documents[-1]['continued_trajectory_ref']}, which was not found"
        item.issues.append(ImportIssue(str(trial.documents[-1]), None, text[:300], item=item.id))
    find = _document_finder(trial, item.issues)
    yield fill_safely(item, partial(_fill_item, item, documents, record, find))


def _file_size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _document_finder(trial: TrialFiles, issues: list[ImportIssue]) -> FindDocument:
    """Return a function that reads a file by its relative path, if it is one of the trial's attachments."""
    folders = {path.parent for path in trial.documents}

    def find_document(reference: str) -> JsonObject | None:
        wanted = {Path(os.path.normpath(folder / reference)) for folder in folders}
        path = next((each for each in trial.attachments if each in wanted), None)
        return read_json(path, issues, dict) if path is not None else None

    return find_document


def _fill_item(item: Item, documents: list[JsonObject], record: TrialRecord, find_document: FindDocument) -> None:
    found = Conversation()
    item.rule_note = NO_GOLDEN_NOTE
    steps: list[Callable[[], None]] = [
        *(partial(add_document, found, document, find_document) for document in documents),
        partial(_add_conversation, item, found, documents),
        partial(_add_trial, item, record),
        partial(_add_metadata, item, documents, record),
        partial(_add_stated_verdicts, item, documents, record),
    ]
    for step in steps:  # a failure in one part must not lose the others, such as the verdict
        fill_safely(item, step)


def _add_conversation(item: Item, found: Conversation, documents: list[JsonObject]) -> None:
    item.messages, item.predicted = found.messages, found.calls
    item.n_turns, item.n_steps = found.n_turns, max(found.n_steps, 1)
    item.question = first_question(found.messages)
    item.pairs = align_turns([], item.predicted)
    item.prediction_hash = answer_hash(found.answers)
    for document in documents:
        item.functions = _read_tools(document) or item.functions
    for problem in dict.fromkeys(found.problems):
        item.issues.append(ImportIssue(item.file, item.line, problem, item=item.id))
    final = as_object(documents[-1].get("final_metrics")) if documents else {}
    item.tokens_in = _first_count(final.get("total_prompt_tokens"), found.tokens.prompt)
    item.tokens_out = _first_count(final.get("total_completion_tokens"), found.tokens.completion)
    cost = [value for value in (final.get("total_cost_usd"), found.tokens.cost) if _is_number(value)]
    cached = [value for value in (final.get("total_cached_tokens"), found.tokens.cached) if _is_number(value)]
    facts = {"cost_usd": cost[0] if cost else None, "cached_tokens": cached[0] if cached else None}
    facts |= {"steps": found.n_document_steps or None, "subagents": found.subagents or None}
    item.extra.metadata |= {name: value for name, value in facts.items() if value is not None}


def _read_tools(document: JsonObject) -> list[JsonObject]:
    tools = read_function_docs(as_object(document.get("agent")).get("tool_definitions"))
    return [tool["function"] if isinstance(tool.get("function"), dict) else tool for tool in tools]


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _first_count(*values: Any) -> int | None:
    return next((int(value) for value in values if _is_number(value) and 0 <= value < 2**62), None)


def _add_trial(item: Item, record: TrialRecord) -> None:
    """Add the verdict, tokens and error of a Harbor trial."""
    result = record.result
    if not result and record.rewards is None:
        return
    task = result.get("task_name")
    item.group = task if isinstance(task, str) else item.id.rpartition("__")[0] or None
    add_official_verdicts(item, record.rewards, "Harbor verifier")
    exception = as_object(result.get("exception_info"))
    if exception:
        item.error_type = str(exception.get("exception_type")) if item.official is not True else None
        item.first_difference = " ".join(f"{item.error_type}: {exception.get('exception_message')}".split())[:300]
        item.extra.metadata |= {
            EXCEPTION_KEY: str(exception.get("exception_type")),
            "exception message": str(exception.get("exception_message")),
        }
    add_test_verdicts(item, record.tests)
    usage = as_object(result.get("agent_result"))
    item.tokens_in = _first_count(usage.get("n_input_tokens"), item.tokens_in)
    item.tokens_out = _first_count(usage.get("n_output_tokens"), item.tokens_out)
    given = {"cached_tokens": usage.get("n_cache_tokens"), "cost_usd": usage.get("cost_usd")}
    item.extra.metadata |= {name: value for name, value in given.items() if _is_number(value)}


def _add_metadata(item: Item, documents: list[JsonObject], record: TrialRecord) -> None:
    metadata = item.extra.metadata
    for name in ("task_name", "task_id", "task_checksum", "step_results"):
        if record.result.get(name):
            metadata[name] = record.result[name]
    if record.rewards is not None:
        metadata[REWARDS_KEY] = record.rewards
    if record.output:
        metadata["verifier output"] = record.output
    for document in documents:
        agent = as_object(document.get("agent"))
        facts = {f"agent {name}": agent.get(name) for name in ("version", "model_name", "extra")}
        facts |= {name: value for name, value in document.items() if name not in READ_FIELDS}
        facts |= {"version": document.get("schema_version")}
        extra = as_object(document.get("extra"))
        facts |= {f"extra {name}": value for name, value in extra.items() if name != OWN_KEY}
        metadata |= {name: value for name, value in facts.items() if value is not None}


def _add_stated_verdicts(item: Item, documents: list[JsonObject], record: TrialRecord) -> None:
    """Add the verdicts in `extra` of the last document: a reward, or verdicts that fcreview exported."""
    extra = as_object(documents[-1].get("extra")) if documents else {}
    if record.result or record.rewards is not None:
        return
    stated = extra.get(REWARDS_KEY) if extra.get(REWARDS_KEY) is not None else extra.get("reward")
    rewards = read_rewards(stated)
    if rewards is not None:
        add_official_verdicts(item, rewards, "extra of the trajectory")
        item.extra.metadata[REWARDS_KEY] = rewards
    own = as_object(extra.get(OWN_KEY))
    sources: tuple[SourceName, ...] = ("official", "rule", "judge")
    for source in sources:
        value = own.get(source)
        if isinstance(value, bool) and getattr(item, source) is None:
            setattr(item, source, value)
            item.verdicts.append(Verdict(source, value, by="fcreview export"))


def _read_job(run: Run, files: JobFiles, rewards: list[Mapping[str, float] | None]) -> Iterator[ImportIssue]:
    """Set the official metrics of the run. Yield a notice for each recorded mean that differs from the trials' mean."""
    issues: list[ImportIssue] = []
    path = files.job_result
    job = (read_json(path, issues, dict) if path else None) or {}
    yield from issues
    stats = as_object(job.get("stats"))
    recorded = as_object(as_object(stats.get("evals")).get(files.evals_key))
    if not recorded:
        return
    run.official_metrics = {files.evals_key: recorded}
    metrics = recorded.get("metrics")
    stated = as_object(metrics[0]) if isinstance(metrics, list) and metrics else {}
    for name, value in mean_rewards(rewards).items():
        if name in stated and _is_number(stated[name]) and abs(stated[name] - value) > TOLERANCE:
            text = f"{name} is {stated[name]} in {path.name if path else ''}, but the mean of the trials is {value:.4g}"
            yield ImportIssue(str(path), None, text, severity="notice")
