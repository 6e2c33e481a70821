"""Read CONFETTI items: call items and dialog act items.

A call item has the binary verdict, the soft score of each argument, the judge's flags of
hallucinated parameters, and its position in the chain of calls.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

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
from fcreview.model.item import (
    GOLDEN_CALL,
    ArgumentDiff,
    Call,
    ImportIssue,
    Item,
    Message,
    ReadRecord,
    Role,
    Verdict,
)
from fcreview.model.json_value import answer_hash, append_to_path, to_json_text
from fcreview.model.verdict import GOLDEN_ACTS_KEY
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


def load_run_records(plan: RunPlan, issues: list[ImportIssue]) -> RunRecords:
    """Load all files of a run except the results."""
    loaded = RunRecords()
    answers: dict[str, RecordsById] = {CALLS_CATEGORY: {}, ACTS_CATEGORY: {}}
    for path in plan.data:
        records = load_records_by_id(path, issues)
        if path.parent.name == "possible_answer":
            loaded.answers |= records
            answers[QUESTION_FILES[path.name]] = records
        else:
            loaded.questions |= records
    calls, acts = (
        [each for each in part.values() if isinstance(each.get("dialog_id"), str)]
        for part in answers.values()
    )
    loaded.chain_positions = find_chain_positions(calls, acts)
    for path in plan.scores:
        if path.name in SCORE_FILES:
            _load_score_file(SCORE_FILES[path.name], path, loaded, plan, issues)
        elif path.name == SOFT_SCORE_FILE:
            loaded.soft_scores = load_records_by_id(path, issues)
        elif path.name == HALLUCINATION_FILE:
            loaded.hallucination_flags = load_records_by_id(path, issues)
        elif path.name == ACT_JUDGE_FILE:
            loaded.act_labels = load_records_by_id(path, issues)
    return loaded


def _load_score_file(
    category: str, score_file: Path, records: RunRecords, plan: RunPlan, issues: list[ImportIssue]
) -> None:
    """Load the score file of a category and compare its counts with the results.

    Skip a category without results.
    """
    result_files = [file for file in plan.results if RESULT_FILES[file.name] == category]
    if not result_files:
        return
    scored = load_failure_list(
        score_file, lambda entry: get_failing_item_id(entry, category), issues
    )
    if scored.header:
        plan.run.official_metrics[category] = scored.header
    for item_id, entry in scored.entries.items():
        if item_id != (expected := get_failing_item_id({"id": entry["id"]}, category)):
            text = (
                f"score entry {entry['id']} should have the id {expected}, but has {item_id}. Using"
                f" {item_id}"
            )
            issues.append(ImportIssue(str(score_file), None, what=text, item=item_id))
    validate_failure_list(
        scored, [each["id"] for file in result_files for each in read_objects_with_id(file)], issues
    )
    records.scores_by_category[category] = scored


def get_failing_item_id(score_entry: dict[str, Any], category: str) -> str:
    """Return the item id of a score entry: the id in its prompt or, without one, the id for its
    line number, from 1.
    """
    prompt_id, position = as_object(score_entry.get("prompt")).get("id"), score_entry["id"]
    return str(
        prompt_id or (f"{category}_{position - 1}" if isinstance(position, int) else position)
    )


def read_items(plan: RunPlan) -> Iterator[ReadRecord]:
    issues: list[ImportIssue] = []
    records = load_run_records(plan, issues)
    yield from issues
    result_ids: list[str] = []
    for path in plan.results:
        seen_ids: set[str] = set()
        for row in read_records(path):
            if isinstance(row, ImportIssue):
                yield row
            elif not isinstance(row.value, dict) or not isinstance(row.value.get("id"), str):
                what = "the result record has no id and was skipped"
                yield ImportIssue(str(path), row.line, what=what, raw=str(row.value)[:300])
            else:
                name = row.value["id"]
                if name in seen_ids:
                    name = f"{name}#{row.line}"
                    text = (
                        f"{row.value['id']} occurs more than once. This record is imported as"
                        f" {name}."
                    )
                    yield ImportIssue(str(path), row.line, what=text, item=name)
                seen_ids.add(row.value["id"])
                yield _read_item(name, row, path, records)
        scored = records.scores_by_category.get(RESULT_FILES[path.name])
        for name in sorted(scored.entries.keys() - seen_ids) if scored else ():
            yield ImportIssue(
                str(path),
                None,
                what=f"{name} is in the score file but has no result record",
                item=name,
            )
        if plan.run.dataset is not None:
            questions_file = Path(plan.run.dataset) / path.name.replace("_result", "")
            yield from report_missing_records(
                questions_file, records.questions, records.answers, seen_ids
            )
        result_ids += seen_ids
    yield from compare_with_dataset(result_ids, records.questions, get_id_category)


def get_id_category(item_id: str) -> str:
    """Return the category of an item: `dialogacts` for `dialogacts_12`."""
    return item_id.rpartition("_")[0]


def _read_item(item_id: str, row: JsonRecord, result_file: Path, records: RunRecords) -> Item:
    record, category = row.value, RESULT_FILES[result_file.name]
    question, answer = records.questions.get(record["id"], {}), records.answers.get(record["id"])
    item = Item(
        item_id,
        category,
        file=str(result_file),
        line=row.line,
        offset=row.offset,
        length=row.length,
    )
    item.prediction_hash = answer_hash(record.get("result"))
    item.golden_hash = answer_hash(answer.get("ground_truth")) if answer else ""
    return fill_safely(item, lambda: _fill_item(item, record, question, answer, records))


def _fill_item(
    item: Item,
    record: JsonObject,
    question: JsonObject,
    answer: JsonObject | None,
    records: RunRecords,
) -> None:
    category, record_id = item.category, record["id"]
    _add_official_verdict(item, category, record_id, records)
    source = question or answer or {}
    item.group = (
        checker.get_conversation_id(str(source["dialog_id"])) if "dialog_id" in source else None
    )
    item.messages = read_messages(question.get("question"))
    item.n_turns = max((message.turn for message in item.messages), default=0) + 1
    if records.answers and (answer is None or "ground_truth" not in answer):
        add_issue(item, f"the dataset has no golden answer for {record_id}")
    item.question = last_question(item.messages)
    item.functions = read_function_docs(question.get("function"))
    tokens_in, tokens_out = record.get("input_token_count"), record.get("output_token_count")
    item.tokens_in = tokens_in if is_integer(tokens_in) else None
    item.tokens_out = tokens_out if is_integer(tokens_out) else None
    item.latency = record["latency"] if isinstance(record.get("latency"), (int, float)) else None
    if category == CALLS_CATEGORY:
        fill_call_item(item, record.get("result"), answer, record_id, records)
    else:
        _fill_dialog_act_item(item, record.get("result"), answer, record_id, records)
    _apply_record_incident(item, record)


def _apply_record_incident(item: Item, record: JsonObject) -> None:
    """Record an incident. CONFETTI's results are in BFCL's form, and so are its failed requests."""
    incident = find_incident(record)
    apply_incident(item, incident)
    if incident is None or not incident.counts:
        return
    remove_reply_of_failed_request(item, record)
    item.pairs = align_calls(item.golden, item.predicted, COMPARISON_RULES)


def read_messages(question: Any) -> list[Message]:
    """Read the dialogue of a question.

    Each user message begins a turn. Content that is not text becomes JSON text.
    """
    messages: list[Message] = []
    turn, step = -1, 0
    for entry in list_objects(question):
        role, content = entry.get("role"), entry.get("content")
        text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
        content_type = entry.get("content_type")
        is_plain = content_type in (None, "text", "function_result")
        name = (
            GOLDEN_CALL
            if content_type == "function_call"
            else None
            if is_plain
            else str(content_type)
        )
        if role == "user":
            turn, step = turn + 1, 0
            messages.append(Message(turn, -1, role="user", content=text, name=name))
        else:
            message_role: Role = role if role in ("system", "assistant", "tool") else "log"
            messages.append(Message(max(turn, 0), step, role=message_role, content=text, name=name))
            step += role == "tool"
    return messages


def _add_official_verdict(item: Item, category: str, record_id: str, records: RunRecords) -> None:
    scored = records.scores_by_category.get(category)
    item.official = scored.get_verdict(record_id) if scored else None
    if scored is None or item.official is None:
        return
    entry = scored.get_failure(record_id) or {}
    item.error_type, error = _to_text_or_none(entry.get("error_type")), entry.get("error")
    rationale = (
        "\n".join(map(str, error)) if isinstance(error, list) else str(error) if error else None
    )
    verdict = Verdict(
        "official", item.official, error_type=item.error_type, rationale=rationale, by="score file"
    )
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
    turn, step = _find_reply_position(item)
    golden = golden_record.get("ground_truth") if golden_record else None
    outcome = checker.check_reply(
        reply, checker.make_bfcl_dataset_item(record_id, item.functions, golden)
    )
    item.predicted = [
        Call("predicted", name, arguments=arguments, turn=turn, step=step, index=index)
        for index, (name, arguments) in enumerate(outcome.calls or ())
    ]
    if outcome.calls is None and str(reply).strip():
        item.predicted = [
            Call(
                "predicted",
                "",
                arguments=None,
                turn=turn,
                step=step,
                index=0,
                raw=str(reply),
                decode_error=outcome.decode_error,
            )
        ]
    if position := records.chain_positions.get(record_id):
        chain = {"turn": position.turn, "position": position.index + 1, "length": position.length}
        item.extra.metadata["chain"] = chain
    if golden is None:
        item.rule_note = "the dataset has no golden answer for this item"
        item.pairs = align_calls([], item.predicted)
        return
    item.golden = checker.make_golden_calls(golden, turn)
    item.pairs = align_calls(item.golden, item.predicted, COMPARISON_RULES)
    _mark_ambiguous_golden_lists(item)
    find_first_difference(item.pairs, item.golden, item.predicted).apply_to(item)
    if item.functions:
        item.rule, item.rule_error_type = outcome.valid, outcome.error_type
        rationale = "; ".join(outcome.messages) or None
        by = "BFCL v2 rules, adapted"
        item.verdicts.append(
            Verdict(
                "rule", outcome.valid, error_type=outcome.error_type, rationale=rationale, by=by
            )
        )
        if outcome.valid is False:
            location = (
                outcome.function or item.diff_function,
                outcome.argument or item.diff_argument,
            )
            set_difference_location(item, *location)
    else:
        item.rule_note = "the dataset has no question for this item"
    _add_soft_scores(item, golden, records.soft_scores.get(record_id))
    _add_hallucination_flags(item, records.hallucination_flags.get(record_id))


def _mark_ambiguous_golden_lists(item: Item) -> None:
    """Add a note to each compared argument with several golden values.

    The authors may have meant one list with these values, but the rules accept each of the values.
    """
    for pair in item.pairs:
        golden_arguments = item.golden[pair.golden].arguments if pair.golden is not None else None
        predicted_arguments = (
            item.predicted[pair.predicted].arguments if pair.predicted is not None else None
        )
        for name, accepted in (golden_arguments or {}).items():
            if len(accepted.any_of) < 2 or name not in (predicted_arguments or {}):
                continue
            path = append_to_path("", name)
            stored = f"the golden answer contains the list {to_json_text(accepted.any_of)}"
            if (found := next((each for each in pair.diff if each.path == path), None)) is not None:
                found.reason = f"{found.reason}; {stored}"
                continue
            pair.diff.append(
                ArgumentDiff(path, state="~", reason=f"{stored}, and the rules accept each element")
            )
            pair.state = "~" if pair.state == "=" else pair.state


def _add_soft_scores(item: Item, golden_answer: Any, score_record: dict[str, Any] | None) -> None:
    turn = item.n_turns - 1
    name, accepted = next(iter(golden_answer[0].items())) if golden_answer else ("", {})
    call = (
        item.predicted[0]
        if len(item.predicted) == 1 and item.predicted[0].arguments is not None
        else None
    )
    name_matches = call is not None and call.name == name
    argument_scores: dict[str, float] = {}
    if call is not None and name_matches:
        argument_scores = checker.compute_parameter_scores(accepted, call.arguments or {})
    soft_score = checker.compute_soft_score(name_matches, argument_scores)
    item.verdicts.append(Verdict("rule", soft_score, criterion="soft_score", by="token F1"))
    item.verdicts += [
        Verdict(
            "rule",
            score,
            target=_get_argument_address(turn, 0, parameter),
            criterion="soft_score",
            by="token F1",
        )
        for parameter, score in argument_scores.items()
    ]
    if score_record is not None:
        official = score_record.get("soft_score")
        item.verdicts.append(
            Verdict("official", official, criterion="soft_score", by="soft score file")
        )
        scores = as_object(score_record.get("param_scores"))
        name_matches = bool(score_record.get("function_match", name_matches))
        if name_matches and not _is_mean_of_argument_scores(official, scores):
            reason = "the recorded soft score is not the mean of the argument scores"
            item.extra.metadata[checker.FIXED_SCORE_REASON] = reason
        for parameter, score in scores.items():
            address = _get_argument_address(turn, 0, parameter)
            item.verdicts.append(
                Verdict(
                    "official", score, target=address, criterion="soft_score", by="soft score file"
                )
            )
    if not name_matches:
        item.extra.metadata[checker.FIXED_SCORE_REASON] = (
            "the reply is not exactly one call of the golden function"
        )


def _is_mean_of_argument_scores(soft_score: Any, argument_scores: dict[str, Any]) -> bool:
    numbers = {
        name: value for name, value in argument_scores.items() if isinstance(value, (int, float))
    }
    return (
        isinstance(soft_score, (int, float))
        and abs(soft_score - checker.compute_soft_score(True, numbers))
        < 10**-checker.SCORE_DECIMALS
    )


def _get_argument_address(turn: int, pair_position: int, name: str) -> str:
    return argument_address(turn, pair_position, append_to_path("", name))


def _add_hallucination_flags(item: Item, judge_record: dict[str, Any] | None) -> None:
    """Add the judge's flags as verdicts on arguments.

    If a flag matches no argument, also add the judge's raw reply.
    """
    if judge_record is None:
        return
    judge_name = str(judge_record.get("judge_model") or "judge")
    rationale = _to_text_or_none(judge_record.get("rationale"))
    if not isinstance(judge_record.get("hallucinated_parameters"), list):
        failure = _describe_unreadable_reply(judge_record)
        add_failed_verdict(item, "judge", failure=failure, by=judge_name, criterion="hallucinated")
        return
    flags = as_list(judge_record.get("hallucinated_parameters"))
    flagged_by_call = [[str(name) for name in as_list(names)] for names in flags]
    flagged_names = [name for names_of_call in flagged_by_call for name in names_of_call]
    item.verdicts.append(
        Verdict(
            "judge", flagged_names, criterion="hallucinated", rationale=rationale, by=judge_name
        )
    )
    golden_name = item.golden[0].name if item.golden else None
    turn = item.n_turns - 1
    positions = {pair.predicted: position for position, pair in enumerate(item.pairs)}
    unmatched = set(flagged_names)
    for call, flagged in zip(item.predicted, flagged_by_call, strict=False):
        position = positions.get(call.index, call.index)
        names = list(call.arguments or {})
        unmatched -= set(names)
        address, name_ok = call_address(turn, position), call.name == golden_name
        item.verdicts.append(
            Verdict("judge", name_ok, target=address, criterion="name_matches", by=judge_name)
        )
        for name in names:
            address, flag = _get_argument_address(turn, position, name), name in flagged
            item.verdicts.append(
                Verdict(
                    "judge",
                    flag,
                    target=address,
                    criterion="hallucinated",
                    error_type=None,
                    rationale=rationale,
                    by=judge_name,
                )
            )
    if unmatched or len(flagged_by_call) != len(item.predicted):
        item.extra.metadata["judge's raw reply"] = judge_record.get("response")


def _fill_dialog_act_item(
    item: Item, reply: Any, golden_record: JsonObject | None, record_id: str, records: RunRecords
) -> None:
    """Fill a dialog act item.

    Compare the golden labels with those that a judge gave to the predicted reply.
    """
    turn, step = _find_reply_position(item)
    item.messages.append(Message(turn, step, role="assistant", content=str(reply)))
    golden = golden_record.get("ground_truth") if golden_record else None
    if golden_record:
        item.extra.metadata[GOLDEN_ACTS_KEY] = golden
        item.extra.golden_reply = _join_golden_content(golden_record.get("ground_truth_content"))
        item.extra.golden_labels = (
            [str(label) for label in golden] if isinstance(golden, list) else None
        )
    judge_record = records.act_labels.get(record_id)
    if judge_record is None:
        item.rule_note = "no file states a judge's labels for this reply"
        return
    judge_name = str(judge_record.get("judge_model") or "judge")
    judge_reply = _to_text_or_none(judge_record.get("response"))
    labels = [str(label) for label in as_list(judge_record.get("predicted_dialog_acts"))]
    if not labels:
        _add_failed_act_verdict(item, judge_record, judge_name)
        return
    item.verdicts.append(
        Verdict(
            "judge",
            labels,
            target=RESPONSE,
            criterion=checker.ACT_CRITERION,
            error_type=None,
            rationale=judge_reply,
            by=judge_name,
        )
    )
    if isinstance(golden, list):
        item.rule = checker.has_common_act_label(labels, golden)
        item.rule_error_type = None if item.rule else "dialog_act:no_overlap"
        reason = (
            f"labels: {', '.join(labels) or 'none'}; golden labels: {', '.join(map(str, golden))}"
        )
        error_type, by = item.rule_error_type, "label overlap"
        item.verdicts.append(
            Verdict("rule", item.rule, error_type=error_type, rationale=reason, by=by)
        )
        item.judge = item.rule
        item.verdicts.append(
            Verdict("judge", item.judge, error_type=error_type, rationale=reason, by=judge_name)
        )
        item.first_difference = None if item.rule else reason


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
