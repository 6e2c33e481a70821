"""Read ACEBench items: join results with questions, golden answers, errata, scores and dialogue histories."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from fcreview.errata import CategoryCorrections
from fcreview.errors import MALFORMED_DATA
from fcreview.importers.acebench import checker
from fcreview.importers.acebench.agent import compute_process_accuracy, fill_agent_item
from fcreview.importers.acebench.checker import (
    COMPARISON_RULES,
    GROUND_TRUTH,
    MILE_STONE,
    CheckOutcome,
    check_calls,
    decode_for_display,
    decode_reply,
)
from fcreview.importers.acebench.discovery import parse_file_name
from fcreview.importers.acebench.leaderboard import MULTI_TURN_CATEGORIES, PROCESS_ACCURACY
from fcreview.importers.common.jsonl import read_objects_with_id, read_records
from fcreview.importers.common.records import (
    FailureList,
    Undecodable,
    as_object,
    explain_decoding_error,
    fill_safely,
    function_names,
    last_question,
    list_objects,
    load_failure_list,
    load_records_by_id,
    read_failure_count,
    read_function_docs,
    report_missing_records,
    validate_failure_list,
)
from fcreview.importers.common.writeback import JsonObject, check_fix_fields, check_golden_call
from fcreview.matching.align import align_calls
from fcreview.matching.decisive_call import add_decisive_call
from fcreview.matching.first_difference import find_first_difference, set_difference_location
from fcreview.model.function_schema import read_declared_parameters
from fcreview.model.item import AcceptedValues, Call, ImportIssue, Item, Message, RecomputedVerdict, Run, Verdict
from fcreview.model.json_value import answer_hash, is_string_list
from fcreview.model.verdict import MILESTONES_MET
from fcreview.run_plan import RunPlan

RULES_WITH_ERRATA = "ACEBench rules with errata"
MAX_ROUNDING_ERROR = 0.001
"""Maximum difference between the computed mean process accuracy and the mean in a header with three decimals."""
NO_AGENT_ERRATA = "errata do not apply to agent items"
_SPEAKER = re.compile(r"^(user|system):[ ]?", re.MULTILINE)
"""Prefix that names the speaker of a message in a transcript. `system` means the assistant."""
OTHER_ANSWERS = "other accepted answers"
RULES = "ACEBench rules"


@dataclass(slots=True)
class CategoryInputs:
    """Content of the files of one category of a run, except the result records, which are read one by one."""

    category: str
    result_file: Path
    questions: dict[str, dict[str, Any]] = field(default_factory=dict)
    answers: dict[str, dict[str, Any]] = field(default_factory=dict)
    question_ids: list[str] = field(default_factory=list)
    """Ids in dataset order. Score and process files identify agent items by their position in it."""
    scored: FailureList = field(default_factory=FailureList)
    process_entries: dict[str, dict[str, Any]] | None = None
    """Entries of the process file by category and position, such as `agent_multi_turn_3`, or None without the file."""
    histories: dict[int, Path] = field(default_factory=dict)
    corrections: CategoryCorrections | None = None

    def get_dataset_position(self, item_id: str) -> int:
        """Return the position of an item in the question file, from 0.

        If the file does not contain the item, return the number at the end of the item id, or -1.
        """
        if item_id in self.question_ids:
            return self.question_ids.index(item_id)
        number = item_id.rpartition("_")[2]
        return int(number) if number.isdigit() else -1

    def get_item_id(self, entry_id: Any) -> str:
        """Return the item id for the `id` of a score file entry. For agent items, the `id` is a dataset position."""
        if not isinstance(entry_id, int):
            return str(entry_id)
        return self.question_ids[entry_id] if 0 <= entry_id < len(self.question_ids) else f"{self.category}_{entry_id}"


def read_items(plan: RunPlan) -> Iterator[Item | ImportIssue]:
    for path in plan.results:
        issues: list[ImportIssue] = []
        inputs = load_category_inputs(plan, path, issues)
        if plan.errata is not None:
            inputs.corrections = CategoryCorrections(plan.errata, plan.run, inputs.category)
        yield from issues
        yield from _read_category_items(inputs)
        if plan.run.dataset is not None:
            questions_file = Path(plan.run.dataset) / f"data_{inputs.category}.json"
            item_ids = {record["id"] for record in read_objects_with_id(path)}
            yield from report_missing_records(questions_file, inputs.questions, inputs.answers, item_ids)
        if inputs.corrections is not None:
            if inputs.questions:
                inputs.corrections.report_absent_items(inputs.questions)
            yield from inputs.corrections.issues


def load_category_inputs(plan: RunPlan, result_file: Path, issues: list[ImportIssue]) -> CategoryInputs:
    """Load the dataset, scores and process entries of a category, and set the run's official metrics."""
    category, _ = parse_file_name(result_file)
    inputs = CategoryInputs(category, result_file)
    for file in plan.data:
        if file.name == f"data_{category}.json":
            records = load_records_by_id(file, issues)
            if file.parent.name == "possible_answer":
                inputs.answers = records
            else:
                inputs.questions, inputs.question_ids = records, list(records)
    kind = category.removeprefix("agent_")
    inputs.histories = {
        int(number): file
        for file in plan.logs
        if file.parent.parent.name == kind and (number := file.name.partition("_")[0]).isdigit()
    }
    for file in plan.scores:
        if parse_file_name(file) == (category, "score"):
            _load_scores(file, inputs, plan, issues)
    for file in plan.scores:
        if parse_file_name(file) == (category, "process"):
            inputs.process_entries = {}
            for record in read_records(file):
                if isinstance(record, ImportIssue):
                    issues.append(record)
                else:
                    entries = as_object(record.value).items()
                    inputs.process_entries |= {name: value for name, value in entries if isinstance(value, dict)}
            _discard_invalid_process_entries(file, inputs, issues)
    return inputs


def _load_scores(score_file: Path, inputs: CategoryInputs, plan: RunPlan, issues: list[ImportIssue]) -> None:
    scored = inputs.scored = load_failure_list(score_file, lambda entry: inputs.get_item_id(entry["id"]), issues)
    if scored.header:
        plan.run.official_metrics[inputs.category] = scored.header
    results = [(each["id"], each.get("result")) for each in read_objects_with_id(inputs.result_file)]
    passed = {item_id for item_id, reply in results if _matches_later_golden_answer(inputs, item_id, reply)}
    if passed and read_failure_count(scored.header) == len(scored.entries) - len(passed):
        for item_id in sorted(passed):
            del scored.entries[item_id]
            what = (
                f"{item_id} is listed as failing, but it matches a later golden answer. The header counts it as passed"
            )
            issues.append(ImportIssue(str(score_file), None, what, item=item_id, severity="notice"))
    validate_failure_list(scored, [item_id for item_id, _ in results], issues)


def _matches_later_golden_answer(inputs: CategoryInputs, item_id: str, reply: Any) -> bool:
    golden = (inputs.answers.get(item_id) or {}).get(GROUND_TRUTH)
    if item_id not in inputs.scored.entries or inputs.category in MULTI_TURN_CATEGORIES:
        return False
    if not isinstance(golden, list) or len(golden) < 2 or not inputs.category.startswith("normal"):
        return False
    functions = read_function_docs((inputs.questions.get(item_id) or {}).get("function"))
    try:
        return check_calls(decode_reply(reply), golden, functions).valid
    except (Undecodable, *MALFORMED_DATA):
        return False


def _discard_invalid_process_entries(process_file: Path, inputs: CategoryInputs, issues: list[ImportIssue]) -> None:
    """Discard the entries of a process file whose mean differs from the one in the score file's header.

    A process file lists only items that missed a milestone. A lost entry would therefore count as 1.
    """
    header = inputs.scored.header
    stated, total, entries = header.get(PROCESS_ACCURACY), header.get("total_count"), inputs.process_entries or {}
    values = [_get_counted_process_accuracy(entry).value for entry in entries.values()]
    if not isinstance(stated, (int, float)) or type(total) is not int or total < len(values):
        what = "this file cannot be checked, because no score file has process_accuracy and total_count"
    elif not all(isinstance(value, (int, float)) for value in values):
        what = "an entry of the process file has no process_accuracy"
    elif abs((mean := (sum(values) + total - len(values)) / max(total, 1)) - stated) > MAX_ROUNDING_ERROR:
        what = f"the mean process accuracy is {mean:.4g} in this file, but {stated} in the score file"
    else:
        return
    inputs.process_entries = None
    what = f"{what}. The process accuracies are unknown"
    issues.append(ImportIssue(str(process_file), None, what, severity="error"))


def _read_category_items(inputs: CategoryInputs) -> Iterator[Item | ImportIssue]:
    path = str(inputs.result_file)
    first_lines: dict[str, int] = {}
    for record in read_records(inputs.result_file):
        if isinstance(record, ImportIssue):
            yield record
            continue
        result, line = record.value, record.line
        stated = result.get("id") if isinstance(result, dict) else None
        if not isinstance(stated, str):
            yield ImportIssue(path, line, "the result record has no id and was skipped")
            continue
        item_id = f"{stated}#{line}" if stated in first_lines else stated
        if item_id != stated:
            what = f"{stated} also occurs in line {first_lines[stated]}. This record is imported as {item_id}"
            yield ImportIssue(path, line, what, item=item_id)
        first_lines.setdefault(stated, line)
        item = Item(item_id, inputs.category, file=path, line=line, offset=record.offset, length=record.length)
        yield fill_safely(item, partial(_fill_item, item, result, inputs))
    for item_id in sorted(inputs.scored.entries.keys() - first_lines.keys()):
        what = f"the score file lists {item_id}, which has no result record"
        yield ImportIssue(str(inputs.scored.path), None, what, item=item_id)


def _fill_item(item: Item, result: dict[str, Any], inputs: CategoryInputs) -> None:
    item_id = result["id"]
    question, answer = inputs.questions.get(item_id), inputs.answers.get(item_id)
    item.prediction_hash = answer_hash([result.get("result"), result.get("process")])
    item.golden_hash = answer_hash(answer) if answer is not None else ""
    item.functions = read_function_docs(question.get("function")) if question else []
    _add_official_verdict(item, inputs)
    if inputs.category.startswith("agent_"):
        position = inputs.get_dataset_position(item_id)
        fill_agent_item(item, result, question, answer, inputs.histories.get(position))
        _add_process_verdict(item, inputs, position)
        if inputs.corrections is not None and (entry := inputs.corrections.entries.get(item_id)) is not None:
            # An erratum for an agent item does not state whether it corrects the end state or the milestones.
            item.extra.erratum = inputs.corrections.report_stale_entry(entry, NO_AGENT_ERRATA).erratum
        add_decisive_call(item, only_effect_counts=True)
    else:
        _fill_non_agent_item(item, result, question, answer, inputs)
    if question is None:
        item.rule_note = "the dataset has no question for this item"


def _fill_non_agent_item(
    item: Item, result: JsonObject, question: JsonObject | None, answer: JsonObject | None, inputs: CategoryInputs
) -> None:
    # Without a dataset, only the score file has golden answers, and only those of failing items.
    entry = inputs.scored.entries.get(result["id"]) or {}
    golden = answer.get(GROUND_TRUTH) if answer else entry.get("possible_answer")
    can_recompute = answer is not None and question is not None
    fill = partial(fill_non_agent_item, result=result, question=question, can_recompute=can_recompute)
    corrected = golden
    if inputs.corrections is not None:
        corrected = _apply_erratum(item, result, question, golden, inputs.corrections)
    fill(item, corrected)
    if corrected is golden:
        return
    uncorrected = Item(item.id, item.category, functions=item.functions)
    fill(uncorrected, golden)
    if (uncorrected.rule, uncorrected.rule_error_type) != (item.rule, item.rule_error_type):
        item.extra.without_errata = RecomputedVerdict(uncorrected.rule, uncorrected.rule_error_type)
        item.verdicts[-1].by = RULES_WITH_ERRATA


def _apply_erratum(
    item: Item, result: dict[str, Any], question: dict[str, Any] | None, golden: Any, corrections: CategoryCorrections
) -> Any:
    correction = corrections.find_correction(str(result["id"]), golden, read_dialogue_messages(question))
    if correction.entry is not None:
        error = check_golden_fix(corrections.run, item, {GROUND_TRUTH: correction.entry.new})
        if error is not None:
            reason = f"the new golden answer is not valid: {error}"
            correction = corrections.report_stale_entry(correction.entry, reason)
    item.extra.erratum = correction.erratum
    return golden if correction.entry is None else correction.entry.new


def check_golden_fix(run: Run, item: Item, golden_fix: JsonObject) -> str | None:  # noqa: ARG001
    if item.category.startswith("agent_"):
        return check_fix_fields(golden_fix, GROUND_TRUTH, MILE_STONE) or _find_agent_fix_error(golden_fix)
    if error := check_fix_fields(golden_fix, GROUND_TRUTH):
        return error
    truth = golden_fix[GROUND_TRUTH]
    if item.category == "special_irrelevant":
        return None if isinstance(truth, str) else f"{GROUND_TRUTH} must be a string"
    if item.category.startswith("special"):
        is_valid = isinstance(truth, dict) and truth and all(map(is_string_list, truth.values()))
        return None if is_valid else f"{GROUND_TRUTH} must be an object whose values are lists of strings"
    alternatives = truth if isinstance(truth, list) and truth else [truth]
    return next((error for each in alternatives if (error := _find_answer_error(each, item))), None)


def _find_answer_error(golden_answer: Any, item: Item) -> str | None:
    if not isinstance(golden_answer, dict) or not golden_answer:
        return f'{GROUND_TRUTH} must be {{"function": {{"argument": value}}}}, or a list of such objects'
    available = function_names(item.functions)
    calls = ((golden_key_to_function_name(key, available), arguments) for key, arguments in golden_answer.items())
    errors = (check_golden_call(name, arguments, item.functions) for name, arguments in calls)
    return next(filter(None, errors), None)


def _find_agent_fix_error(golden_fix: JsonObject) -> str | None:
    truth, milestones = golden_fix.get(GROUND_TRUTH, []), golden_fix.get(MILE_STONE, [])
    if not isinstance(truth, list) or not all(isinstance(each, dict) and len(each) == 1 for each in truth):
        return f'{GROUND_TRUTH} must be a list of objects with exactly one key: {{"CLASS": {{expected attributes}}}}'
    is_nested = isinstance(milestones, list) and milestones and all(map(is_string_list, milestones))
    is_valid = is_nested or is_string_list(milestones)
    return None if is_valid else f"{MILE_STONE} must be a list of calls as strings, or a list of such lists"


def _add_official_verdict(item: Item, inputs: CategoryInputs) -> None:
    scored = inputs.scored
    item.official = scored.get_verdict(item.id)
    if item.official is None:
        return
    entry = scored.get_failure(item.id)
    item.error_type = str(entry["error_type"]) if entry and entry.get("error_type") is not None else None
    rationale = "\n".join(_list_error_texts(entry.get("error"))) or None if entry else None
    verdict = Verdict("official", item.official, error_type=item.error_type, rationale=rationale, by=scored.path.name)
    item.verdicts.append(verdict)


def _add_process_verdict(item: Item, inputs: CategoryInputs, dataset_position: int) -> None:
    if inputs.process_entries is None:
        return
    entry = inputs.process_entries.get(f"{inputs.category}_{dataset_position}")
    value, note = _get_counted_process_accuracy(entry) if entry else RecordedProcessAccuracy(1.0)
    item.verdicts.append(Verdict("official", value, criterion=PROCESS_ACCURACY, rationale=note, by="process file"))
    if entry or item.official is False:  # A failing item without an entry met all milestones.
        item.extra.metadata.setdefault(MILESTONES_MET, value)


class RecordedProcessAccuracy(NamedTuple):
    """Process accuracy of an entry in the process file, as the official mean counts it."""

    value: Any
    note: str | None = None
    """Why the value differs from the one in the file."""


def _get_counted_process_accuracy(entry: dict[str, Any]) -> RecordedProcessAccuracy:
    stated, milestones = entry.get("process_accuracy"), entry.get("call_process")
    if not isinstance(milestones, list) or not isinstance(stated, (int, float)):
        return RecordedProcessAccuracy(stated)
    if len(milestones) < 2 or not isinstance(milestones[0], list):
        return RecordedProcessAccuracy(stated)
    best, last = compute_process_accuracy(entry.get("model_output"), milestones, False)
    if last != stated or best == stated:
        return RecordedProcessAccuracy(stated)
    note = f"best of {len(milestones)} milestone sequences, as in the official mean; the process file has {stated}"
    return RecordedProcessAccuracy(best, note)


def _list_error_texts(error: Any) -> list[str]:
    if isinstance(error, list):
        return [text for part in error for text in _list_error_texts(part)]
    return [error if isinstance(error, str) else orjson.dumps(error).decode()] if error else []


def fill_non_agent_item(
    item: Item, golden_answer: Any, *, result: dict[str, Any], question: dict[str, Any] | None, can_recompute: bool
) -> None:
    """Fill a normal or special item from its records in the result and question files.

    The golden answer may come from the score file. `can_recompute` is true if the dataset has the question and the
    golden answer.
    """
    reply = result.get("result")
    item.messages = read_dialogue_messages(question)
    turn = max((message.turn for message in item.messages), default=0)
    item.n_turns = turn + 1
    item.question = last_question(item.messages)
    if item.category.startswith("normal_multi_turn"):
        item.group = item.id.rpartition("_")[0]
    if item.category.startswith("special"):
        _add_reply_message(item, reply, turn)
        item.extra.golden_reply = _describe_required_reply(checker.REQUIRED_PHRASES[item.category], golden_answer)
        if can_recompute:
            _add_recomputed_verdict(item, checker.check_special_reply(reply, golden_answer, item.category))
    else:
        _fill_normal_item(item, reply, golden_answer, turn, can_recompute)


def read_dialogue_messages(question: dict[str, Any] | None) -> list[Message]:
    record = question or {}
    time, profile = (value if isinstance(value := record.get(name), str) else "" for name in ("time", "profile"))
    return parse_transcript(str(record.get("question", "")), time=time, user_profile=profile)


def _add_reply_message(item: Item, reply: Any, turn: int) -> None:
    step = max((message.step for message in item.messages if message.turn == turn), default=-1) + 1
    item.messages.append(Message(turn, step, "assistant", reply if isinstance(reply, str) else repr(reply)))


def _describe_required_reply(required_phrase: str, golden_answer: Any) -> str:
    lines = [f"required text: {required_phrase}"]
    for name, words in as_object(golden_answer).items():
        listed = ", ".join(map(str, words)) if isinstance(words, list) else str(words)
        lines.append(f"required words for {name}: {listed}")
    return "\n".join(lines)


def _fill_normal_item(item: Item, reply: Any, golden_answer: Any, turn: int, can_recompute: bool) -> None:
    calls, decode_error = None, None
    try:
        calls = decode_reply(reply)
        item.predicted = [
            Call("predicted", name, arguments, turn, 0, index)
            for index, (name, arguments) in enumerate(decode_for_display(reply))
        ]
    except Undecodable as error:
        decode_error = explain_decoding_error(reply, error, decode_reply)
        text = reply if isinstance(reply, str) else repr(reply)
        if "(" in text:
            item.predicted = [Call("predicted", "", None, turn, 0, 0, text, decode_error)]
        else:
            _add_reply_message(item, reply, turn)
    alternatives = list_objects(golden_answer if isinstance(golden_answer, list) else [golden_answer])
    if alternatives:
        item.golden = parse_golden_calls(alternatives[0], item.functions, turn)
    if len(alternatives) > 1:
        item.extra.metadata[OTHER_ANSWERS] = alternatives[1:]
    item.pairs = align_calls(item.golden, item.predicted, COMPARISON_RULES)
    if alternatives:
        find_first_difference(item.pairs, item.golden, item.predicted).apply_to(item)
    if can_recompute and calls is None:
        _add_recomputed_verdict(item, CheckOutcome(False, "wrong_output_format", decode_error))
    elif can_recompute:
        _add_recomputed_verdict(item, checker.check_calls(calls or [], golden_answer, item.functions))


def golden_key_to_function_name(key: str, available_functions: Container[str | None]) -> str:
    """Return the function that a key of a golden answer names. `f_2` means `f`, unless a function is called `f_2`."""
    return key if key in available_functions else re.sub(r"_\d+$", "", key)


def parse_golden_calls(answer: dict[str, Any], functions: list[dict[str, Any]], turn: int = 0) -> list[Call]:
    """Convert a golden answer `{function: {argument: value}}` to calls.

    Several calls of the function `f` have the keys `f_1`, `f_2` and so on. Arguments that the function doc does not
    require are optional.
    """
    docs = {function.get("name"): function for function in functions}
    calls = []
    for index, (key, arguments) in enumerate(answer.items()):
        name = golden_key_to_function_name(key, docs)
        required = read_declared_parameters(docs.get(name, {})).required or ()
        accepted = {
            argument: AcceptedValues([value], name in docs and argument not in required)
            for argument, value in as_object(arguments).items()
        }
        calls.append(Call("golden", name, accepted, turn, 0, index))
    return calls


def _add_recomputed_verdict(item: Item, outcome: CheckOutcome) -> None:
    item.rule, item.rule_error_type = outcome.valid, outcome.error_type
    if not outcome.valid:
        set_difference_location(item, outcome.function or item.diff_function, outcome.argument or item.diff_argument)
    verdict = Verdict("rule", outcome.valid, error_type=outcome.error_type, rationale=outcome.message, by=RULES)
    item.verdicts.append(verdict)


def parse_transcript(transcript: str, *, time: str = "", user_profile: str = "") -> list[Message]:
    """Split a transcript, in which `user:` or `system:` begins a message. Each user message begins a turn.

    The time and the user profile become system messages at the start, as in the model's prompt.
    """
    named_texts = (("time", time), ("profile", user_profile))
    messages = [Message(0, -1, "system", text, name) for name, text in named_texts if text]
    speakers = list(_SPEAKER.finditer(transcript))
    if not speakers:
        return [*messages, Message(0, -1, "user", transcript.strip())]
    turn, step = -1, 0
    ends = [*(speaker.start() for speaker in speakers[1:]), len(transcript)]
    for speaker, end in zip(speakers, ends, strict=True):
        text = transcript[speaker.end() : end].rstrip("\n")
        if speaker[1] == "user":
            turn, step = turn + 1, 0
            messages.append(Message(turn, -1, "user", text))
        else:
            messages.append(Message(max(turn, 0), step, "assistant", text))
            step += 1
    return messages
