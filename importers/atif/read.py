"""Read ATIF trajectories and Harbor trials as items.

A trial passes if its reward is 1, and fails if it has another reward. This also applies if the
verifier ran after an exception.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from fcreview.importers.atif.conversation import Conversation, add_document, make_subagent_reader
from fcreview.importers.atif.discovery import LINE_SUFFIXES, JobFiles, TrialFiles
from fcreview.importers.atif.incidents import apply_trial_incident
from fcreview.importers.atif.leaderboard import (
    EXCEPTION_KEY,
    REWARD,
    REWARDS_KEY,
    compute_mean_rewards,
)
from fcreview.importers.atif.rubric import RUBRIC_FILE, Rubric, add_rubric_verdicts, read_rubric
from fcreview.importers.atif.subagents import ReadDocumentAt, SubagentReader
from fcreview.importers.common.json_file import read_json
from fcreview.importers.common.jsonl import MAX_FILE_BYTES, read_records
from fcreview.importers.common.records import (
    add_issue,
    as_list,
    as_object,
    fill_safely,
    first_question,
    is_number,
    list_objects,
    read_tools,
    set_position,
)
from fcreview.importers.common.writeback import JsonObject
from fcreview.importers.dialects.to_item import make_issues
from fcreview.matching.align import align_calls_by_turn
from fcreview.model.item import ImportIssue, Item, Run, SourceName, Verdict
from fcreview.model.json_value import answer_hash, to_json_text
from fcreview.run_plan import RunPlan
from fcreview.safe_files import read_file

OWN_KEY = "fcreview"
"""Key in `extra` under which `fcreview export --format atif` writes its data."""
READ_FIELDS = frozenset(
    {
        "schema_version",
        "agent",
        "steps",
        "final_metrics",
        "subagent_trajectories",
        "extra",
        "continued_trajectory_ref",
    }
)
"""Fields of a trajectory that become attributes of the item. All other fields become metadata."""
TOLERANCE = 1e-9
"""Maximum difference between a recorded and a recomputed metric that is treated as a rounding
error.
"""
FULL_REWARD_TOLERANCE = 1e-6
"""A trial passes if its reward differs from 1 by at most this value. tau-bench uses the same
value.
"""
MAX_REWARD = 1e300
"""Absolute value from which a reward is not a number that can be averaged."""
MAX_REWARD_TEXT_LENGTH = 40
"""Length of the content of `reward.txt` from which it is not read as a number."""
MAX_SHOWN_REWARD_LENGTH = 60
MAX_ISSUE_LENGTH = 300
MAX_DIFFERENCE_LENGTH = 300
"""Number of characters of `Item.first_difference`."""
MAX_TOKENS = 2**62
"""Number of tokens from which a count is not valid."""
VERIFIER_FILES_IN_ORDER = (
    "reward.json",
    "reward.txt",
    "ctrf.json",
    "rubric_breakdown.json",
    "test-stdout.txt",
)
"""Files of a verifier, in the order in which they are read. The first reward counts."""
EXPORTED_SOURCES: tuple[SourceName, ...] = ("official", "rule", "judge")
"""Sources of the verdicts that fcreview exports."""
MAX_PROBLEMS = 200
"""Maximum number of import issues about the steps of an item."""
COMPLETED = "completed"
"""`Item.ended` of a trial without an exception."""
MAX_OUTPUT_LENGTH = 20_000
"""Number of characters that are kept from the end of the verifier's output."""
CTRF_VERDICTS = {"passed": True, "failed": False, "other": False}
"""Status of a CTRF test -> verdict.

Tests with other statuses, such as `skipped`, have no verdict.
"""


@dataclass(slots=True)
class TrialRecord:
    result: JsonObject = field(default_factory=dict)
    rewards: dict[str, float] | None = None
    tests: list[JsonObject] = field(default_factory=list)
    rubric: Rubric | None = None
    output: str = ""
    issues: list[ImportIssue] = field(default_factory=list)


def read_items(plan: RunPlan) -> Iterator[Item | ImportIssue]:
    """Yield an item for each trial (one attempt at a task) or single trajectory.

    At the end, sets the official metrics of the run from the results of its Harbor job, if there is
    one, and yields a notice for each mean reward that differs from those of the trials.
    """
    files: JobFiles = plan.importer_data
    category = plan.run.generation or "all"
    known_ids: set[str] = set()
    rewards: list[Mapping[str, float] | None] = []
    for record in _read_all_trials(files.trials, category):
        if isinstance(record, Item):
            _make_id_unique(record, known_ids)
            rewards.append(record.extra.metadata.get(REWARDS_KEY))
        yield record

    if files.job_result is not None:
        yield from _set_official_metrics(plan.run, files.job_result, files.evals_key, rewards)


def _read_all_trials(trials: Iterable[TrialFiles], category: str) -> Iterator[Item | ImportIssue]:
    for trial in trials:
        if trial.documents and trial.documents[0].suffix in LINE_SUFFIXES:
            yield from _read_jsonl_items(trial, category)
        else:
            yield _read_trial_item(trial, category)


def _make_id_unique(item: Item, known_ids: set[str]) -> None:
    """Append a number to the id of an item if another item has the same id."""
    if item.id in known_ids:
        repeated_id = item.id
        item.id = f"{repeated_id}#{len(known_ids) + 1}"
        add_issue(item, f"several trials have the id {repeated_id}")
    known_ids.add(item.id)


def _read_jsonl_items(trial: TrialFiles, category: str) -> Iterator[Item | ImportIssue]:
    """Yield an item for each line of a JSON Lines file. Each line is a whole trajectory."""
    path = trial.documents[0]
    for record in read_records(path):
        if isinstance(record, ImportIssue):
            yield record
            continue

        document = as_object(record.value)
        own_name = document.get("trajectory_id") or document.get("session_id")
        item = Item(str(own_name or f"{trial.name}:{record.line}"), category, file=str(path))
        set_position(item, record)
        if not document:
            what = "the line is not a trajectory"
            item.issues.append(ImportIssue(str(path), record.line, what=what, severity="error"))
        # The line has no trial with results, and other lines are not searched for subagents.
        fill = partial(_fill_item, item, [document], TrialRecord(), _find_no_document)
        yield fill_safely(item, fill)


def _find_no_document(reference: str) -> JsonObject | None:  # noqa: ARG001
    """A trajectory on a line has no files beside it."""
    return None


def _read_trial_item(trial: TrialFiles, category: str) -> Item:
    """Read a trial, or a single trajectory with its continuations."""
    path = trial.main_file
    size = path.stat().st_size if path.is_file() else 0
    item = Item(trial.name, category, file=str(path), line=1, length=size)
    record = TrialRecord()
    if trial.result or trial.verifier:
        record = read_trial_record(trial)
    item.issues += record.issues

    documents = _read_documents(trial, item)
    subagent_files = _SubagentFiles(trial, item.issues)
    fill = partial(_fill_item, item, documents, record, subagent_files.read)
    return fill_safely(item, fill)


def _read_documents(trial: TrialFiles, item: Item) -> list[JsonObject]:
    """Return the documents of a trial's trajectory, which can continue in further files.

    Documents that are missing or cannot be read become issues of the item.
    """
    if not trial.documents:
        text = "the trial has no agent/trajectory.json, so only its result is known"
        add_issue(item, text, str(trial.main_file), severity="notice")
        return []

    documents: list[JsonObject] = []
    for path in trial.documents:
        document = read_json(path, item.issues, dict)
        if document is not None:
            documents.append(document)
    # If a document cannot be read, the missing continuation may be that one.
    if len(documents) == len(trial.documents):
        _report_missing_continuation(item, trial.documents[-1], documents[-1])
    return documents


def _report_missing_continuation(item: Item, path: Path, last_document: JsonObject) -> None:
    """Add an issue if the last document names a further one, which was not found."""
    missing_continuation = last_document.get("continued_trajectory_ref")
    if missing_continuation:
        text = f"the trajectory continues in {missing_continuation}, which was not found"
        add_issue(item, text[:MAX_ISSUE_LENGTH], str(path))


class _SubagentFiles:
    """Reads the files beside a trajectory to which it refers."""

    def __init__(self, trial: TrialFiles, issues: list[ImportIssue]) -> None:
        self._folders = {path.parent for path in trial.documents}
        self._position_by_path = {path: index for index, path in enumerate(trial.attachments)}
        self._issues = issues

    def read(self, reference: str) -> JsonObject | None:
        """Return the trajectory at a relative path, or None if the trial has no such file."""
        paths = {Path(os.path.normpath(folder / reference)) for folder in self._folders}
        known_paths = [path for path in paths if path in self._position_by_path]
        if not known_paths:
            return None
        # Several folders of the trial can have a file at this relative path. The first one found
        # counts.
        first_path = min(known_paths, key=self._position_by_path.__getitem__)
        return read_json(first_path, self._issues, dict)


def _fill_item(
    item: Item, documents: list[JsonObject], record: TrialRecord, read_document_at: ReadDocumentAt
) -> None:
    """Fill an item from the documents of its trajectory and from the results of its trial.

    `read_document_at` reads the documents of subagents, to which the trajectory refers.
    """
    conversation = Conversation()
    subagents = make_subagent_reader(read_document_at)
    item.rule_note = "an ATIF trajectory has no golden answer"

    # Each part is filled on its own, so that a failure in one does not lose the others, such as the
    # verdict.
    steps: list[Callable[[], None]] = []
    for document in documents:
        steps.append(partial(add_document, conversation, document, subagents))
    steps += [
        partial(_add_subagent_problems, conversation, subagents),
        partial(_add_conversation, item, conversation, documents),
        partial(_add_trial_result, item, record),
        partial(_add_metadata, item, documents, record),
        partial(_add_recorded_verdicts, item, documents, record),
        partial(apply_trial_incident, item, record.result, conversation.answers),
    ]
    for step in steps:
        fill_safely(item, step)


def _add_conversation(item: Item, conversation: Conversation, documents: list[JsonObject]) -> None:
    """Copy the finished conversation to the item, with its functions, problems and usage."""
    item.messages = conversation.messages
    item.predicted = conversation.calls
    item.n_turns = conversation.n_turns
    item.n_steps = max(conversation.n_steps, 1)
    item.question = first_question(conversation.messages)
    item.pairs = align_calls_by_turn([], item.predicted)
    item.prediction_hash = answer_hash(conversation.answers)
    _set_functions(item, documents)

    _add_problems(item, conversation.problems)
    item.issues.extend(make_issues(item, conversation.issues))
    final_metrics = as_object(documents[-1].get("final_metrics")) if documents else {}
    _add_usage(item, conversation, final_metrics)


def _set_functions(item: Item, documents: list[JsonObject]) -> None:
    """Set the functions to those of the last document that defines some. A continuation without
    definitions has those of the documents before it.
    """
    for document in documents:
        functions = read_tools(as_object(document.get("agent")).get("tool_definitions"))
        if functions:
            item.functions = functions


def _add_problems(item: Item, problems: list[str]) -> None:
    distinct_problems = list(dict.fromkeys(problems))
    for problem in distinct_problems[:MAX_PROBLEMS]:
        add_issue(item, problem)
    n_others = len(distinct_problems) - MAX_PROBLEMS
    if n_others > 0:
        add_issue(item, f"{n_others:,} more problems of this kind are not listed")


def _add_usage(item: Item, conversation: Conversation, final_metrics: JsonObject) -> None:
    """Set the tokens, the cost and the counts of an item.

    `final_metrics` are the totals that the trajectory states. A total that it does not state is
    the sum over the agent's steps.
    """
    step_sums = conversation.usage
    item.tokens_in = _first_valid_count(
        final_metrics.get("total_prompt_tokens"), step_sums.get("prompt_tokens")
    )
    item.tokens_out = _first_valid_count(
        final_metrics.get("total_completion_tokens"), step_sums.get("completion_tokens")
    )
    # The counts are left out if they are 0.
    facts: JsonObject = {
        "cost_usd": _first_number(final_metrics.get("total_cost_usd"), step_sums.get("cost_usd")),
        "cached_tokens": _first_number(
            final_metrics.get("total_cached_tokens"), step_sums.get("cached_tokens")
        ),
        "steps": conversation.n_document_steps or None,
        "subagents": conversation.subagents or None,
    }
    item.extra.metadata |= {name: value for name, value in facts.items() if value is not None}


def _first_number(total: Any, step_sum: float | None) -> float | None:
    """Return a stated total or, if it is not a number, the sum over the steps."""
    return total if is_number(total) else step_sum


def _add_subagent_problems(conversation: Conversation, subagents: SubagentReader) -> None:
    # What was cut comes first, because the list of problems is limited.
    conversation.problems = [
        *subagents.list_refusals(),
        *conversation.problems,
        *subagents.problems,
    ]


def _first_valid_count(*values: Any) -> int | None:
    for value in values:
        if is_number(value) and 0 <= value < MAX_TOKENS:
            return int(value)
    return None


def _add_trial_result(item: Item, record: TrialRecord) -> None:
    """Add the results of a Harbor trial: the task, the official verdicts, the exception, the tests
    and rubric of the verifier, and the usage.
    """
    result = record.result
    if not result and record.rewards is None:
        return

    item.group = _find_task_name(item, result)
    add_official_verdicts(item, record.rewards, "Harbor verifier")
    if result:
        item.ended = COMPLETED
    exception = as_object(result.get("exception_info"))
    if exception:
        _add_exception(item, exception)
    add_test_verdicts(item, record.tests)
    if record.rubric is not None:
        add_rubric_verdicts(item, record.rubric)
    _replace_usage(item, as_object(result.get("agent_result")))


def _replace_usage(item: Item, usage: JsonObject) -> None:
    """Replace the usage of an item, which is from the trajectory, by that in the result."""
    item.tokens_in = _first_valid_count(usage.get("n_input_tokens"), item.tokens_in)
    item.tokens_out = _first_valid_count(usage.get("n_output_tokens"), item.tokens_out)
    facts = {"cached_tokens": usage.get("n_cache_tokens"), "cost_usd": usage.get("cost_usd")}
    item.extra.metadata |= {name: value for name, value in facts.items() if is_number(value)}


def _find_task_name(item: Item, result: JsonObject) -> str | None:
    task = result.get("task_name")
    if isinstance(task, str):
        return task
    # The name of a trial folder is TASK__ABCDEFG.
    name, _, _ = item.id.rpartition("__")
    return name or None


def _add_exception(item: Item, exception: JsonObject) -> None:
    """Add the exception of a trial.

    A trial with an exception has often still been verified. Then the reward counts.
    """
    kind = str(exception.get("exception_type"))
    message = str(exception.get("exception_message"))
    item.ended = kind
    item.error_type = None if item.official is True else kind
    difference = " ".join(f"{kind}: {message}".split())
    item.first_difference = difference[:MAX_DIFFERENCE_LENGTH]
    item.extra.metadata |= {EXCEPTION_KEY: kind, "exception message": message}


def _add_metadata(item: Item, documents: list[JsonObject], record: TrialRecord) -> None:
    """Add facts about the trial to the metadata of its item: from its result, the verifier and the
    documents.
    """
    metadata = item.extra.metadata
    for name in ("task_name", "task_id", "task_checksum", "step_results"):
        if record.result.get(name):
            metadata[name] = record.result[name]
    if record.rewards is not None:
        metadata[REWARDS_KEY] = record.rewards
    if record.output:
        metadata["verifier output"] = record.output

    for document in documents:
        facts = _list_document_facts(document)
        metadata |= {name: value for name, value in facts.items() if value is not None}


def _list_document_facts(document: JsonObject) -> JsonObject:
    """Return the facts of a trajectory that become metadata of the item.

    These are the version, facts about the agent, all fields that ATIF does not define, and the
    field `extra`, except what fcreview itself wrote there.
    """
    agent = as_object(document.get("agent"))
    facts: JsonObject = {}
    for name in ("version", "model_name", "extra"):
        facts[f"agent {name}"] = agent.get(name)
    for name, value in document.items():
        if name not in READ_FIELDS:
            facts[name] = value
    facts["version"] = document.get("schema_version")
    for name, value in as_object(document.get("extra")).items():
        if name != OWN_KEY:
            facts[f"extra {name}"] = value
    return facts


def _add_recorded_verdicts(item: Item, documents: list[JsonObject], record: TrialRecord) -> None:
    """Add the reward and the verdicts that the trajectory itself records in its field `extra`.

    Exports of fcreview write verdicts there. A trajectory of a Harbor trial is skipped, because the
    result of the trial counts.
    """
    extra = documents[-1].get("extra") if documents else None
    if extra is not None and not isinstance(extra, dict):
        add_issue(item, "the field extra is not an object, so a reward in it gives no verdict")
    has_trial_result = bool(record.result) or record.rewards is not None
    if has_trial_result or not isinstance(extra, dict):
        return

    _add_recorded_reward(item, extra)
    exported = as_object(extra.get(OWN_KEY))
    for source in EXPORTED_SOURCES:
        _add_exported_verdict(item, source, exported.get(source))


def _add_recorded_reward(item: Item, extra: JsonObject) -> None:
    """Add the reward that the trajectory itself records, as official verdicts."""
    recorded = extra.get(REWARDS_KEY)
    if recorded is None:
        recorded = extra.get("reward")
    for problem in find_reward_problems(recorded):
        add_issue(item, problem, severity="notice")
    rewards = read_rewards(recorded)
    if rewards is not None:
        add_official_verdicts(item, rewards, "field extra of the trajectory")
        item.extra.metadata[REWARDS_KEY] = rewards


def _add_exported_verdict(item: Item, source: SourceName, value: Any) -> None:
    """Set a verdict that fcreview exported, unless the item has a verdict of this source."""
    if value is None:
        return
    if not isinstance(value, bool):
        shown_value = to_json_text(value)[:MAX_SHOWN_REWARD_LENGTH]
        add_issue(
            item,
            f"the {source} verdict in the field extra is {shown_value} instead of true or false",
        )
        return
    if getattr(item, source) is None:
        setattr(item, source, value)
        item.verdicts.append(Verdict(source, value, by="fcreview export"))


def read_trial_record(trial: TrialFiles) -> TrialRecord:
    """Read the results of a trial: its `result.json`, and the files that the verifier wrote.

    The rewards in `result.json` count before those in the verifier's files.
    """
    record = TrialRecord()
    if trial.result is not None:
        record.result = read_json(trial.result, record.issues, dict) or {}
        stated_rewards = as_object(record.result.get("verifier_result")).get("rewards")
        record.rewards = _read_and_check_rewards(stated_rewards, trial.result, record)

    # A task in several steps has verifier files of each step. The last ones count.
    verifier_files = {path.name: path for path in trial.verifier}
    for name in VERIFIER_FILES_IN_ORDER:
        if name in verifier_files:
            _read_verifier_file(verifier_files[name], record)
    return record


def _read_verifier_file(path: Path, record: TrialRecord) -> None:
    """Add the content of one file of the verifier to the record of a trial.

    The name of the file says what it contains: rewards, results of tests (`ctrf.json`), a judge's
    rubric, or the output of the tests.
    """
    if path.name == "reward.json":
        stated_rewards = read_json(path, record.issues, dict)
        _merge_rewards(record, path, _read_and_check_rewards(stated_rewards, path, record))
    elif path.name == "reward.txt":
        _merge_rewards(record, path, _read_reward_file(path, record))
    elif path.name == "ctrf.json":
        report = read_json(path, record.issues, dict) or {}
        record.tests = list_objects(as_object(report.get("results")).get("tests"))
    elif path.name == RUBRIC_FILE:
        record.rubric = read_rubric(path, record.issues)
    else:
        record.output = _read_text(path, record)[-MAX_OUTPUT_LENGTH:]


def _merge_rewards(record: TrialRecord, path: Path, rewards: dict[str, float] | None) -> None:
    """Use the rewards of a verifier file if `result.json` has none.

    If it has other rewards, add an issue.
    """
    if record.rewards is None:
        record.rewards = rewards
        return
    if rewards is None:
        return

    if path.name == "reward.json":
        is_different = rewards != record.rewards
    else:
        # A text file has one number, without its name.
        is_different = rewards[REWARD] not in record.rewards.values()
    if is_different:
        what = "the reward differs from the reward in result.json, which is used"
        record.issues.append(ImportIssue(str(path), what=what))


def read_rewards(value: Any) -> dict[str, float] | None:
    """Return the finite rewards by name, or None without any. True is read as 1, and false as 0."""
    rewards = {
        name: float(number)
        for name, number in _name_rewards(value).items()
        if _is_usable_reward(number)
    }
    return rewards or None


def _name_rewards(value: Any) -> dict[str, Any]:
    """Return rewards by name. A single reward has the name `reward`."""
    if value is None or isinstance(value, (dict, list)):
        return as_object(value)
    return {REWARD: value}


def _is_usable_reward(value: Any) -> bool:
    return isinstance(value, (int, float)) and abs(value) < MAX_REWARD and not math.isnan(value)


def find_reward_problems(value: Any) -> list[str]:
    """Describe the problems of the rewards of a trial, one sentence for each.

    A reward must be a finite number, or null. Any other value gives no verdict, except true and
    false, which count as 1 and 0.
    """
    if isinstance(value, list):
        return ["the rewards are a list instead of an object of numbers, so they give no verdict"]

    problems = []
    for name, reward in _name_rewards(value).items():
        if isinstance(reward, bool):
            problems.append(
                f"the reward {name!r} is {to_json_text(reward)} instead of a number. It counts as"
                f" {reward:d}"
            )
        elif reward is not None and not _is_usable_reward(reward):
            shown = to_json_text(reward)[:MAX_SHOWN_REWARD_LENGTH]
            problems.append(
                f"the reward {name!r} is {shown}, which is not a finite number, so it gives no"
                " verdict"
            )
    return problems


def _read_and_check_rewards(value: Any, path: Path, record: TrialRecord) -> dict[str, float] | None:
    """Return the rewards in a file of a trial, and add a notice for each that gives no verdict."""
    for problem in find_reward_problems(value):
        record.issues.append(ImportIssue(str(path), what=problem, severity="notice"))
    return read_rewards(value)


def _read_text(path: Path, record: TrialRecord) -> str:
    """Return the text of a file. If it cannot be read, `record` gets an issue."""
    try:
        return read_file(path, MAX_FILE_BYTES).decode("utf-8", "replace")
    except OSError as error:
        record.issues.append(
            ImportIssue(str(path), what=f"the file cannot be read: {error.strerror or error}")
        )
        return ""


def _read_reward_file(path: Path, record: TrialRecord) -> dict[str, float] | None:
    """Read the file with the reward of a trial. Returns None if it contains no number."""
    text = _read_text(path, record).strip()
    try:
        reward = float(text) if len(text) < MAX_REWARD_TEXT_LENGTH else None
    except ValueError:
        what = "the file does not contain a number, so the trial has no reward"
        record.issues.append(ImportIssue(str(path), line=1, what=what, raw=text[:100]))
        return None
    return _read_and_check_rewards(reward, path, record)


def find_deciding_reward_name(rewards: dict[str, float] | None) -> str | None:
    """Return the name of the reward that decides the verdict, or None if no reward decides it.

    The name is `reward` or, if the trial has only one reward, the name of this reward.
    """
    if not rewards:
        return None
    if REWARD in rewards:
        return REWARD
    if len(rewards) == 1:
        return next(iter(rewards))
    return None


def add_official_verdicts(item: Item, rewards: dict[str, float] | None, origin: str) -> None:
    """Add the official verdict to an item, and each of its rewards as a score.

    One reward decides the verdict. As a score, it has the criterion `reward`.
    """
    if not rewards:
        return

    deciding_name = find_deciding_reward_name(rewards)
    if deciding_name is not None:
        # Only the full reward, 1, is a pass.
        item.official = abs(rewards[deciding_name] - 1) <= FULL_REWARD_TOLERANCE
        item.verdicts.append(Verdict("official", item.official, by=origin))
    for name, value in rewards.items():
        criterion = REWARD if name == deciding_name else name
        item.verdicts.append(Verdict("official", value, criterion=criterion, by=origin))


def add_test_verdicts(item: Item, tests: list[JsonObject]) -> None:
    """Add a verdict for each test of the verifier, from its report in the format CTRF.

    If the item failed and has no error type yet, the first failed test becomes its error type and
    its first difference.
    """
    for test in tests:
        verdict = _make_test_verdict(test)
        item.verdicts.append(verdict)
        is_first_failure = (
            verdict.value is False and item.official is False and item.error_type is None
        )
        if is_first_failure:
            name = str(test.get("name"))
            item.error_type = f"failed_test:{name}"
            # All white space becomes single spaces, because the list shows one line.
            words = f"test {name} failed: {verdict.rationale or ''}".rstrip(": ").split()
            item.first_difference = " ".join(words)[:MAX_DIFFERENCE_LENGTH]


def _make_test_verdict(test: JsonObject) -> Verdict:
    """Make the verdict of a test. Its reason is the message and the trace."""
    # A status such as `skipped` is no verdict, and gives None.
    passed = CTRF_VERDICTS.get(str(test.get("status")))
    reasons = [str(test[key]) for key in ("message", "trace") if test.get(key)]
    return Verdict(
        "official",
        passed,
        criterion=f"test {test.get('name')}",
        rationale="\n".join(reasons) or None,
        by="CTRF",
    )


def _set_official_metrics(
    run: Run, path: Path, evals_key: str, rewards: list[Mapping[str, float] | None]
) -> Iterator[ImportIssue]:
    """Set the run's official metrics from the result of its Harbor job.

    Yields a notice for each recorded mean reward that differs from the mean over the trials.

    Args:
        run: The run.
        path: The file with the result of the job.
        evals_key: The key of the run's agent, model and dataset in `stats.evals`.
        rewards: The rewards of each trial by name.
    """
    issues: list[ImportIssue] = []
    job = read_json(path, issues, dict) or {}
    yield from issues
    evals = as_object(as_object(job.get("stats")).get("evals"))
    recorded = as_object(evals.get(evals_key))
    if recorded:
        run.official_metrics = {evals_key: recorded}
        yield from _compare_mean_rewards(recorded, path, compute_mean_rewards(rewards))


def _compare_mean_rewards(
    recorded: JsonObject, path: Path, computed_means: Mapping[str, float]
) -> Iterator[ImportIssue]:
    """Yield a notice for each mean reward in the metrics of a job that differs from the computed
    one.
    """
    recorded_metrics = as_list(recorded.get("metrics"))
    recorded_means = as_object(recorded_metrics[0]) if recorded_metrics else {}
    for name, computed_mean in computed_means.items():
        mean = recorded_means.get(name)
        if is_number(mean) and abs(mean - computed_mean) > TOLERANCE:
            text = (
                f"{name} is {mean} in {path.name}, but the mean of the trials is"
                f" {computed_mean:.4g}"
            )
            yield ImportIssue(str(path), what=text, severity="notice")
