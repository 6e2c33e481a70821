"""Read CONFETTI items: call items and dialog act items.

A call item has the binary verdict, the soft score of each argument, the judge's flags of
hallucinated parameters, and its position in the chain of calls.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from fcreview.importers.bfcl.checker.evaluate import Evaluation
from fcreview.importers.bfcl.checker.schema import COMPARISON_RULES
from fcreview.importers.bfcl.incidents import find_incident, remove_reply_of_failed_request
from fcreview.importers.common.incidents import add_failed_verdict, apply_incident
from fcreview.importers.common.jsonl import (
    JsonRecord,
    make_excerpt,
    read_objects_with_id,
    read_records,
)
from fcreview.importers.common.not_run import compare_with_dataset
from fcreview.importers.common.records import (
    FailureList,
    add_issue,
    as_list,
    as_object,
    fill_safely,
    is_integer,
    last_question,
    list_objects,
    load_failure_list,
    load_records_by_id,
    read_function_docs,
    report_missing_records,
    set_position,
    validate_failure_list,
)
from fcreview.importers.confetti import checker
from fcreview.importers.confetti.checker import ChainPosition, find_chain_positions
from fcreview.importers.confetti.discovery import (
    ACT_JUDGE_FILE,
    ACTS_CATEGORY,
    CALLS_CATEGORY,
    HALLUCINATION_FILE,
    QUESTION_FILES,
    RESULT_FILES,
    SCORE_FILES,
    SOFT_SCORE_FILE,
)
from fcreview.matching.align import align_calls
from fcreview.matching.first_difference import find_first_difference, set_difference_location
from fcreview.model.address import RESPONSE, argument_address, call_address
from fcreview.model.derivation import GOLDEN_ACTS_KEY
from fcreview.model.item import (
    GOLDEN_CALL,
    ArgumentDiff,
    Call,
    CallPair,
    ImportIssue,
    Item,
    Message,
    ReadRecord,
    Role,
    SourceName,
    Verdict,
)
from fcreview.model.json_value import answer_hash, append_to_path, to_json_text
from fcreview.run_plan import RunPlan

JsonObject = dict[str, Any]
RecordsById = dict[str, JsonObject]


@dataclass(slots=True)
class RunRecords:
    """All records of a run except the results.

    Except for `scores_by_category`, the keys are item ids.
    """

    questions: RecordsById = field(default_factory=dict)
    answers: RecordsById = field(default_factory=dict)
    scores_by_category: dict[str, FailureList] = field(default_factory=dict)
    soft_scores: RecordsById = field(default_factory=dict)
    hallucination_flags: RecordsById = field(default_factory=dict)
    act_labels: RecordsById = field(default_factory=dict)
    chain_positions: dict[str, ChainPosition] = field(default_factory=dict)
    """Item id -> position of the call in its agent turn."""
    issues: list[ImportIssue] = field(default_factory=list)


def load_run_records(plan: RunPlan) -> RunRecords:
    """Load all files of a run except the results, and set the run's official metrics."""
    records = RunRecords()
    _load_dataset(records, plan.data)
    for path in plan.scores:
        if path.name in SCORE_FILES:
            _load_score_file(records, SCORE_FILES[path.name], path, plan)
        elif path.name == SOFT_SCORE_FILE:
            records.soft_scores = load_records_by_id(path, records.issues)
        elif path.name == HALLUCINATION_FILE:
            records.hallucination_flags = load_records_by_id(path, records.issues)
        elif path.name == ACT_JUDGE_FILE:
            records.act_labels = load_records_by_id(path, records.issues)
    return records


def _load_dataset(records: RunRecords, dataset_files: Sequence[Path]) -> None:
    """Load the questions and golden answers of both categories into `records`.

    Also finds the chains: golden calls that follow each other in one turn.
    """
    answers_by_category: dict[str, RecordsById] = {}
    for path in dataset_files:
        records_of_file = load_records_by_id(path, records.issues)
        if path.parent.name == "possible_answer":
            records.answers |= records_of_file
            answers_by_category[QUESTION_FILES[path.name]] = records_of_file
        else:
            records.questions |= records_of_file

    call_answers = answers_by_category.get(CALLS_CATEGORY, {})
    act_answers = answers_by_category.get(ACTS_CATEGORY, {})
    records.chain_positions = find_chain_positions(
        _select_records_of_dialogs(call_answers), _select_records_of_dialogs(act_answers)
    )


def _select_records_of_dialogs(records: RecordsById) -> list[JsonObject]:
    return [record for record in records.values() if isinstance(record.get("dialog_id"), str)]


def _load_score_file(records: RunRecords, category: str, score_file: Path, plan: RunPlan) -> None:
    """Load the score file of a category into `records`, and compare its counts with the results.

    A category without results is skipped. The header of the file becomes an official metric.
    """
    result_ids = []
    has_results = False
    for result_file in plan.results:
        if RESULT_FILES[result_file.name] == category:
            has_results = True
            result_ids += [record["id"] for record in read_objects_with_id(result_file)]
    if not has_results:
        return

    def find_item_id(entry: JsonObject) -> str:
        return get_failing_item_id(entry, category)

    scored = load_failure_list(score_file, find_item_id, records.issues)
    if scored.header:
        plan.run.official_metrics[category] = scored.header
    records.issues += _report_moved_entries(scored, category)
    validate_failure_list(scored, result_ids, records.issues)
    records.scores_by_category[category] = scored


def _report_moved_entries(scored: FailureList, category: str) -> Iterator[ImportIssue]:
    """Yield an issue for each entry whose line number and prompt identify different items."""
    # An entry is listed under the id in its prompt, if it has one. Without its prompt, the number
    # of the line in the dataset, which is its own id, determines the item.
    for item_id, entry in scored.entries.items():
        id_of_line = get_failing_item_id({"id": entry["id"]}, category)
        if item_id != id_of_line:
            what = f"score entry {entry['id']} should have the id {id_of_line}, but has {item_id}."
            what += f" Using {item_id}"
            yield ImportIssue(str(scored.path), what=what, item=item_id)


def get_failing_item_id(score_entry: dict[str, Any], category: str) -> str:
    """Return the item id of a score entry: the id in its prompt or, without one, the id for its
    line number, from 1.
    """
    prompt_id = as_object(score_entry.get("prompt")).get("id")
    if prompt_id:
        return str(prompt_id)
    line_number = score_entry["id"]
    if isinstance(line_number, int):
        return f"{category}_{line_number - 1}"
    return str(line_number)


def read_items(plan: RunPlan) -> Iterator[ReadRecord]:
    """Yield an item for each result record of a run, and an issue for each problem of its files.

    At the end, yields which items of the dataset are missing in the run.
    """
    records = load_run_records(plan)
    yield from records.issues

    result_ids: list[str] = []
    for path in plan.results:
        reader = _ResultFileReader(path, records)
        for record in read_records(path):
            if isinstance(record, ImportIssue):
                yield record
            else:
                yield from reader.read_record(record)
        yield from _report_entries_without_result(path, records, reader.result_ids)
        yield from _report_missing_dataset_records(plan, path, records, reader.result_ids)
        result_ids += reader.result_ids

    yield from compare_with_dataset(result_ids, records.questions, get_id_category)


@dataclass(slots=True)
class _ResultFileReader:
    """Reads the records of a result file in their order."""

    path: Path
    records: RunRecords
    """The contents of the other files of the run."""
    result_ids: set[str] = field(default_factory=set)
    """Ids of the records that were read."""

    def read_record(self, record: JsonRecord) -> Iterator[Item | ImportIssue]:
        """Yield the item of a result record, and an issue if its id is missing or occurs again.

        A repeated id gets the line number.
        """
        record_id = as_object(record.value).get("id")
        if not isinstance(record_id, str):
            what = "the result record has no id and was skipped"
            raw = str(record.value)[:300]
            yield ImportIssue(str(self.path), record.line, what=what, raw=raw)
            return

        item_id = record_id
        if record_id in self.result_ids:
            item_id = f"{record_id}#{record.line}"
            what = f"{record_id} occurs more than once. This record is imported as {item_id}."
            yield ImportIssue(str(self.path), record.line, what=what, item=item_id)
        self.result_ids.add(record_id)
        yield _read_item(item_id, record, self.path, self.records)


def _report_entries_without_result(
    result_file: Path, records: RunRecords, result_ids: Set[str]
) -> Iterator[ImportIssue]:
    """Yield an issue for each item that has a score but no result record."""
    scored = records.scores_by_category.get(RESULT_FILES[result_file.name])
    if scored is None:
        return
    for item_id in sorted(scored.entries.keys() - result_ids):
        what = f"{item_id} is in the score file but has no result record"
        yield ImportIssue(str(result_file), what=what, item=item_id)


def _report_missing_dataset_records(
    plan: RunPlan, result_file: Path, records: RunRecords, result_ids: Set[str]
) -> Iterator[ImportIssue]:
    """Yield an issue for items whose question or golden answer is not in the dataset."""
    if plan.run.dataset is not None:
        questions_file = Path(plan.run.dataset) / result_file.name.replace("_result", "")
        yield from report_missing_records(
            questions_file, records.questions, records.answers, result_ids
        )


def get_id_category(item_id: str) -> str:
    """Return the category of an item: `dialogacts` for `dialogacts_12`."""
    return item_id.rpartition("_")[0]


def _read_item(item_id: str, record: JsonRecord, result_file: Path, records: RunRecords) -> Item:
    """Make the item of a result record. `records` contains the other files of the run.

    The hashes show later whether the reply or the golden answer has changed.
    """
    result = record.value
    question = records.questions.get(result["id"], {})
    answer = records.answers.get(result["id"])
    category = RESULT_FILES[result_file.name]
    item = Item(item_id, category, file=str(result_file))
    set_position(item, record)
    item.prediction_hash = answer_hash(result.get("result"))
    item.golden_hash = answer_hash(answer.get("ground_truth")) if answer else ""
    fill = partial(_fill_item, item, result, question=question, answer=answer, records=records)
    return fill_safely(item, fill)


def _fill_item(
    item: Item,
    result: JsonObject,
    *,
    question: JsonObject,
    answer: JsonObject | None,
    records: RunRecords,
) -> None:
    """Fill an item: question, verdicts, tokens and reply.

    Args:
        item: The item.
        result: The result record, with the reply.
        question: The record of the question, or empty.
        answer: The record of the golden answer, if there is one.
        records: The contents of the other files of the run.
    """
    record_id = result["id"]
    _add_official_verdict(item, records.scores_by_category.get(item.category), record_id)
    _add_question(item, question, answer)
    if records.answers and (answer is None or "ground_truth" not in answer):
        add_issue(item, f"the dataset has no golden answer for {record_id}")
    _add_token_counts(item, result)

    if item.category == CALLS_CATEGORY:
        fill_call_item(item, result.get("result"), answer, record_id, records)
    else:
        judge_record = records.act_labels.get(record_id)
        _fill_dialog_act_item(item, result.get("result"), answer, judge_record)
    _apply_record_incident(item, result)


def _add_question(item: Item, question: JsonObject, answer: JsonObject | None) -> None:
    """Add the dialogue up to the reply, and the available functions."""
    dialog_record = question or answer or {}
    if "dialog_id" in dialog_record:
        item.group = checker.get_conversation_id(str(dialog_record["dialog_id"]))
    item.messages = read_messages(question.get("question"))
    item.n_turns = max((message.turn for message in item.messages), default=0) + 1
    item.question = last_question(item.messages)
    item.functions = read_function_docs(question.get("function"))


def _add_token_counts(item: Item, result: JsonObject) -> None:
    tokens_in = result.get("input_token_count")
    tokens_out = result.get("output_token_count")
    latency = result.get("latency")
    item.tokens_in = tokens_in if is_integer(tokens_in) else None
    item.tokens_out = tokens_out if is_integer(tokens_out) else None
    item.latency = latency if isinstance(latency, (int, float)) else None


def _apply_record_incident(item: Item, record: JsonObject) -> None:
    """Record an incident. CONFETTI's results are in BFCL's form, and so are its failed requests."""
    incident = find_incident(record)
    apply_incident(item, incident)
    if incident is None or not incident.counts:
        return
    # The text of a failed request was read as a reply. Without it, the calls are paired again.
    remove_reply_of_failed_request(item, record)
    item.pairs = align_calls(item.golden, item.predicted, COMPARISON_RULES)


def read_messages(question: Any) -> list[Message]:
    """Convert the dialogue in a question to messages with turn and step numbers.

    Each user message begins a turn, and each result of a call ends a step.
    """
    messages: list[Message] = []
    turn = -1
    step = 0
    for entry in list_objects(question):
        message = _read_message(entry)
        if message.role == "user":
            turn += 1
            step = 0
            message.turn = turn
            message.step = -1
        else:
            message.turn = max(turn, 0)
            message.step = step
        messages.append(message)
        if message.role == "tool":
            step += 1
    return messages


def _read_message(entry: JsonObject) -> Message:
    """Read a message of the dialogue, without its place.

    Content that is not text becomes JSON text. Roles that fcreview does not know are shown as a
    log.
    """
    content = entry.get("content")
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    stated_role = entry.get("role")
    role: Role = stated_role if stated_role in ("system", "user", "assistant", "tool") else "log"
    name = _name_content(entry.get("content_type"))
    return Message(turn=0, step=-1, role=role, content=text, name=name)


def _name_content(content_type: Any) -> str | None:
    """Return the name of a message whose content is not plain text or the result of a call."""
    if content_type in (None, "text", "function_result"):
        return None
    if content_type == "function_call":
        return GOLDEN_CALL
    return str(content_type)


def _add_official_verdict(item: Item, scored: FailureList | None, record_id: str) -> None:
    """Add the official verdict of an item, if its score file tells it.

    The score file lists failing items with the error. An item that it does not list passed, if the
    list is complete.
    """
    if scored is None:
        return
    item.official = scored.get_verdict(record_id)
    if item.official is None:
        return

    entry = scored.get_failure(record_id) or {}
    item.error_type = _to_text_or_none(entry.get("error_type"))
    verdict = Verdict("official", item.official, error_type=item.error_type, by="score file")
    error = entry.get("error")
    if isinstance(error, list):
        verdict.rationale = "\n".join(map(str, error))
    elif error:
        verdict.rationale = str(error)
    item.verdicts.append(verdict)


class ReplyPosition(NamedTuple):
    turn: int
    step: int


def _find_reply_position(item: Item) -> ReplyPosition:
    """Return the position of the model's reply, which follows the last message of the dialogue."""
    turn = item.n_turns - 1
    last_step = max((message.step for message in item.messages if message.turn == turn), default=-1)
    return ReplyPosition(turn, last_step + 1)


def fill_call_item(
    item: Item,
    reply: Any,
    golden_record: dict[str, Any] | None,
    record_id: str,
    records: RunRecords,
) -> None:
    """Fill an item whose reply must be one call.

    Adds the predicted and golden calls, the recomputed verdict, the soft scores (how similar the
    arguments are, from 0 to 1) and a judge's flags for arguments that the model made up.

    Args:
        item: The item, with its question.
        reply: The reply of the model.
        golden_record: The record with the golden call, if the dataset has it.
        record_id: The id in the records of all files.
        records: The contents of the other files of the run.
    """
    golden = golden_record.get("ground_truth") if golden_record else None
    dataset_item = checker.make_bfcl_dataset_item(record_id, item.functions, golden)
    outcome = checker.check_reply(reply, dataset_item)
    item.predicted = _make_predicted_calls(outcome, reply, _find_reply_position(item))
    if record_id in records.chain_positions:
        item.extra.metadata["chain"] = _describe_chain(records.chain_positions[record_id])
    if golden is None:
        item.rule_note = "the dataset has no golden answer for this item"
        item.pairs = align_calls([], item.predicted)
        return

    _add_golden_calls(item, golden)
    if item.functions:
        _add_recomputed_verdict(item, outcome)
    else:
        item.rule_note = "the dataset has no question for this item"

    _add_soft_scores(item, golden, records.soft_scores.get(record_id))
    judge_record = records.hallucination_flags.get(record_id)
    if judge_record is not None:
        _add_hallucination_flags(item, judge_record)


def _add_golden_calls(item: Item, golden: Any) -> None:
    """Add the golden calls, and compare the predicted calls with them."""
    item.golden = checker.make_golden_calls(golden, item.n_turns - 1)
    item.pairs = align_calls(item.golden, item.predicted, COMPARISON_RULES)
    _mark_ambiguous_golden_lists(item)
    find_first_difference(item.pairs, item.golden, item.predicted).apply_to(item)


def _describe_chain(position: ChainPosition) -> JsonObject:
    """Return the position of a call in its agent turn, from 1, as metadata."""
    return {
        "turn": position.turn,
        "position": position.index + 1,
        "length": position.length,
    }


def _make_predicted_calls(outcome: Evaluation, reply: Any, position: ReplyPosition) -> list[Call]:
    """Return the decoded calls of a reply.

    A reply that cannot be decoded becomes one call with its text and the error, and a blank reply
    no call. `position` is the turn and the step of the reply.
    """
    turn, step = position
    is_undecoded = outcome.calls is None and str(reply).strip() != ""
    if is_undecoded:
        call = Call("predicted", "", arguments=None, turn=turn, step=step, raw=str(reply))
        call.decode_error = outcome.decode_error
        return [call]

    calls = []
    for index, (name, arguments) in enumerate(outcome.calls or ()):
        call = Call("predicted", name, arguments=arguments, turn=turn, step=step, index=index)
        calls.append(call)
    return calls


def _add_recomputed_verdict(item: Item, outcome: Evaluation) -> None:
    """Add the verdict by BFCL's rules, and the place of the first error."""
    item.rule = outcome.valid
    item.rule_error_type = outcome.error_type
    verdict = Verdict("rule", outcome.valid, error_type=outcome.error_type)
    verdict.rationale = "; ".join(outcome.messages) or None
    verdict.by = "BFCL v2 rules, adapted"
    item.verdicts.append(verdict)
    if outcome.valid is False:
        function = outcome.function or item.diff_function
        set_difference_location(item, function, outcome.argument or item.diff_argument)


def _mark_ambiguous_golden_lists(item: Item) -> None:
    """Add a note to each compared argument with several golden values.

    The authors may have meant one list with these values, but the rules accept each of the values.
    """
    for pair in item.pairs:
        if pair.golden is None or pair.predicted is None:
            continue
        golden_arguments = item.golden[pair.golden].arguments or {}
        predicted_arguments = item.predicted[pair.predicted].arguments or {}
        for name, accepted in golden_arguments.items():
            is_ambiguous = len(accepted.any_of) >= 2
            if is_ambiguous and name in predicted_arguments:
                _add_note_on_list(pair, name, accepted.any_of)


def _add_note_on_list(pair: CallPair, name: str, values: list[Any]) -> None:
    """Add the golden list to the difference of an argument, or as a difference of its own."""
    note = f"the golden answer contains the list {to_json_text(values)}"
    path = append_to_path("", name)
    for difference in pair.diff:
        if difference.path == path:
            difference.reason = f"{difference.reason}; {note}"
            return
    reason = f"{note}, and the rules accept each element"
    pair.diff.append(ArgumentDiff(path, state="~", reason=reason))
    if pair.state == "=":
        pair.state = "~"


def _add_soft_scores(item: Item, golden_answer: Any, score_record: dict[str, Any] | None) -> None:
    """Add the soft scores of an item and of its arguments: how similar each argument is to the
    golden value, from 0 to 1, and their mean.

    They are recomputed and, if `score_record` is given, also added as recorded. If reviews of
    arguments cannot change the item's score, the metadata get the reason.
    """
    turn = item.n_turns - 1
    computed = _compute_argument_scores(item, golden_answer)
    soft_score = checker.compute_soft_score(computed.name_matches, computed.scores)
    item.verdicts += _make_soft_score_verdicts(
        "rule", soft_score, scores=computed.scores, turn=turn, by="token F1"
    )
    if score_record is not None:
        item.verdicts += _make_soft_score_verdicts(
            "official",
            score_record.get("soft_score"),
            scores=as_object(score_record.get("param_scores")),
            turn=turn,
            by="soft score file",
        )

    why_score_is_fixed = _explain_fixed_score(score_record, name_matches=computed.name_matches)
    if why_score_is_fixed is not None:
        item.extra.metadata[checker.FIXED_SCORE_REASON] = why_score_is_fixed


def _explain_fixed_score(score_record: dict[str, Any] | None, *, name_matches: bool) -> str | None:
    """Return why reviews of arguments cannot change the soft score of an item. None if they can.

    `name_matches` says whether the reply is exactly one call of the golden function. The score file
    can state this too, and then decides.
    """
    recorded = score_record or {}
    if not recorded.get("function_match", name_matches):
        # The score is then 0, whatever the arguments are.
        return "the reply is not exactly one call of the golden function"
    if score_record is None:
        return None
    recorded_scores = as_object(score_record.get("param_scores"))
    if not _is_mean_of_argument_scores(score_record.get("soft_score"), recorded_scores):
        return "the recorded soft score is not the mean of the argument scores"
    return None


class _ArgumentScores(NamedTuple):
    name_matches: bool
    """Whether the reply is exactly one call of the golden function."""
    scores: dict[str, float]
    """Argument -> its soft score. Empty if `name_matches` is false."""


def _compute_argument_scores(item: Item, golden_answer: Any) -> _ArgumentScores:
    """Compute the soft scores of arguments, if the reply is one call of the golden function."""
    golden_name = ""
    accepted: Any = {}
    if golden_answer:
        golden_name, accepted = next(iter(golden_answer[0].items()))
    if len(item.predicted) != 1:
        return _ArgumentScores(False, {})
    call = item.predicted[0]
    if call.arguments is None or call.name != golden_name:
        return _ArgumentScores(False, {})
    return _ArgumentScores(True, checker.compute_parameter_scores(accepted, call.arguments))


def _make_soft_score_verdicts(
    source: SourceName, soft_score: Any, *, scores: dict[str, Any], turn: int, by: str
) -> Iterator[Verdict]:
    """Yield the verdicts on the soft score of the item and on those of its arguments."""
    yield Verdict(source, soft_score, criterion="soft_score", by=by)
    for name, score in scores.items():
        address = _get_argument_address(turn, 0, name)
        yield Verdict(source, score, target=address, criterion="soft_score", by=by)


def _is_mean_of_argument_scores(soft_score: Any, argument_scores: dict[str, Any]) -> bool:
    """Whether the recorded score of a call follows from those of its arguments."""
    if not isinstance(soft_score, (int, float)):
        return False
    numbers = {}
    for name, value in argument_scores.items():
        if isinstance(value, (int, float)):
            numbers[name] = value
    difference = abs(soft_score - checker.compute_soft_score(True, numbers))
    return bool(difference < 10**-checker.SCORE_DECIMALS)


def _get_argument_address(turn: int, pair_position: int, name: str) -> str:
    return argument_address(turn, pair_position, append_to_path("", name))


def _add_hallucination_flags(item: Item, judge_record: dict[str, Any]) -> None:
    """Add a judge's flags for hallucinated arguments, values that the model made up, as verdicts.

    The flags are a list for each call with names of its arguments, such as `[["date"], []]`. A
    reply of the judge without flags becomes a failed verdict.
    """
    flags = judge_record.get("hallucinated_parameters")
    if not isinstance(flags, list):
        failure = _describe_unreadable_reply(judge_record)
        by = _get_judge_name(judge_record)
        add_failed_verdict(item, "judge", failure=failure, by=by, criterion="hallucinated")
        return

    flagged_by_call = [[str(name) for name in as_list(names)] for names in flags]
    item.verdicts += _make_hallucination_verdicts(item, flagged_by_call, judge_record)
    # Flags that do not fit are added as far as possible. The reader can compare them with the
    # judge's own words.
    if not _are_flags_of_calls(flagged_by_call, item.predicted):
        item.extra.metadata["judge's raw reply"] = judge_record.get("response")


def _get_judge_name(judge_record: dict[str, Any]) -> str:
    return str(judge_record.get("judge_model") or "judge")


def _make_hallucination_verdicts(
    item: Item, flagged_by_call: Sequence[Sequence[str]], judge_record: dict[str, Any]
) -> Iterator[Verdict]:
    """Yield the judge's verdicts on the item, on each call and on each argument."""
    all_flagged = list(chain.from_iterable(flagged_by_call))
    item_verdict = Verdict("judge", all_flagged, criterion="hallucinated")
    rationale = _to_text_or_none(judge_record.get("rationale"))
    for verdict in (item_verdict, *_make_verdicts_of_calls(item, flagged_by_call)):
        verdict.by = _get_judge_name(judge_record)
        # The judge explains its flags. The verdicts on the names of calls are computed.
        if verdict.criterion == "hallucinated":
            verdict.rationale = rationale
        yield verdict


def _are_flags_of_calls(flagged_by_call: Sequence[Sequence[str]], calls: Sequence[Call]) -> bool:
    """Whether a judge's flags fit the calls: as many lists, and only names of arguments."""
    if len(flagged_by_call) != len(calls):
        return False
    argument_names: set[str] = set()
    for call in calls:
        argument_names.update(call.arguments or {})
    return argument_names.issuperset(chain.from_iterable(flagged_by_call))


def _make_verdicts_of_calls(
    item: Item, flagged_by_call: Sequence[Sequence[str]]
) -> Iterator[Verdict]:
    """Yield a verdict on the name of each call, and one on each argument.

    A name must be that of the golden call, of which an item has only one. An argument is
    hallucinated if the judge's flags of its call (`flagged_by_call`) contain its name. All calls
    are in the last turn, which the model's reply ends.
    """
    turn = item.n_turns - 1
    golden_name = item.golden[0].name if item.golden else None
    pair_positions = {pair.predicted: position for position, pair in enumerate(item.pairs)}
    for call, flagged in zip(item.predicted, flagged_by_call, strict=False):
        position = pair_positions[call.index]
        address = call_address(turn, position)
        yield Verdict("judge", call.name == golden_name, target=address, criterion="name_matches")
        for name in call.arguments or {}:
            address = _get_argument_address(turn, position, name)
            yield Verdict("judge", name in flagged, target=address, criterion="hallucinated")


def _fill_dialog_act_item(
    item: Item, reply: Any, golden_record: JsonObject | None, judge_record: JsonObject | None
) -> None:
    """Fill an item whose reply must have the right dialog act, such as `inform`.

    The golden record has the accepted labels. A judge gave labels to the predicted reply
    (`judge_record`). The item passes if both have a label in common.
    """
    turn, step = _find_reply_position(item)
    item.messages.append(Message(turn, step, role="assistant", content=str(reply)))
    golden = None
    if golden_record:
        golden = golden_record.get("ground_truth")
        item.extra.metadata[GOLDEN_ACTS_KEY] = golden
        item.extra.golden_reply = _join_golden_content(golden_record.get("ground_truth_content"))
        if isinstance(golden, list):
            item.extra.golden_labels = [str(label) for label in golden]
    # Without labels of the reply, nothing can be compared.
    if judge_record is None:
        item.rule_note = "no file states a judge's labels for this reply"
    else:
        _add_act_verdicts(item, judge_record, golden)


def _add_act_verdicts(item: Item, judge_record: JsonObject, golden: Any) -> None:
    """Add the labels that a judge gave to a reply as a verdict, and compare them with the golden
    labels.

    Without labels, the judge failed, which says nothing about the reply.
    """
    judge_name = str(judge_record.get("judge_model") or "judge")
    labels = [str(label) for label in as_list(judge_record.get("predicted_dialog_acts"))]
    if not labels:
        _add_failed_act_verdict(item, judge_record, judge_name)
        return
    verdict = Verdict("judge", labels, target=RESPONSE, criterion=checker.ACT_CRITERION)
    verdict.rationale = _to_text_or_none(judge_record.get("response"))
    verdict.by = judge_name
    item.verdicts.append(verdict)
    if isinstance(golden, list):
        _compare_act_labels(item, labels, golden, judge_name)


def _compare_act_labels(item: Item, labels: list[str], golden: list[Any], judge_name: str) -> None:
    """Add the verdicts on an item by comparing the judge's labels of the reply with the golden
    ones.

    As in the paper, one common label suffices. The verdict is added twice, as a recomputed verdict
    and as a verdict of the judge, because it follows from the judge's labels.
    """
    passes = checker.has_common_act_label(labels, golden)
    reason = f"labels: {', '.join(labels)}; golden labels: {', '.join(map(str, golden))}"
    item.rule = passes
    item.judge = passes
    if not passes:
        item.rule_error_type = "dialog_act:no_overlap"
        item.first_difference = reason

    error_type = item.rule_error_type
    item.verdicts += [
        Verdict("rule", passes, error_type=error_type, rationale=reason, by="label overlap"),
        Verdict("judge", passes, error_type=error_type, rationale=reason, by=judge_name),
    ]


def _add_failed_act_verdict(item: Item, judge_record: JsonObject, judge_name: str) -> None:
    """Add the verdict of a judge that gave no label, so that the reply can be compared with
    nothing.
    """
    failure = _describe_unreadable_reply(judge_record)
    item.rule_note = f"no verdict, because {failure}"
    add_failed_verdict(
        item,
        "judge",
        failure=failure,
        by=judge_name,
        target=RESPONSE,
        criterion=checker.ACT_CRITERION,
    )


def _describe_unreadable_reply(judge_record: JsonObject) -> str:
    """Return why a judge's record states nothing, with the beginning of the judge's reply."""
    reply = _to_text_or_none(judge_record.get("response"))
    if not reply:
        return "the judge gave no reply"
    return f"the judge's reply cannot be read: {make_excerpt(reply)}"


def _join_golden_content(golden_content: Any) -> str | None:
    """Return the calls and texts of a golden reply as one text, each on its own line."""
    parts = golden_content if isinstance(golden_content, list) else [golden_content]
    return "\n".join(str(part) for part in parts if part is not None) or None


def _to_text_or_none(value: Any) -> str | None:
    return None if value is None else str(value)
