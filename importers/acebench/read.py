"""Read ACEBench items: join results with questions, golden answers, errata, scores and dialogue
histories.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import orjson

from fcreview.errata import CategoryCorrections
from fcreview.importers.acebench import checker
from fcreview.importers.acebench.agent import fill_agent_item
from fcreview.importers.acebench.checker import (
    COMPARISON_RULES,
    GROUND_TRUTH,
    MILE_STONE,
    CheckOutcome,
)
from fcreview.importers.acebench.decoding import (
    NEWEST_RULE_SET,
    RuleSet,
    decode_for_display,
    decode_reply,
    explain_undecodable_reply,
    split_text_around_calls,
)
from fcreview.importers.acebench.inputs import (
    CategoryInputs,
    CountedProcessAccuracy,
    get_counted_process_accuracy,
)
from fcreview.importers.acebench.leaderboard import PROCESS_ACCURACY
from fcreview.importers.acebench.not_run import find_missing_items
from fcreview.importers.acebench.run_inputs import load_run_inputs
from fcreview.importers.common.incidents import apply_incident, find_empty_reply
from fcreview.importers.common.jsonl import read_records
from fcreview.importers.common.records import (
    add_issue,
    as_object,
    fill_safely,
    function_names,
    last_question,
    list_objects,
    read_function_docs,
    report_missing_records,
)
from fcreview.importers.common.writeback import JsonObject, check_fix_fields, check_golden_call
from fcreview.matching.align import align_calls
from fcreview.matching.decisive_call import add_decisive_call
from fcreview.matching.first_difference import find_first_difference, set_difference_location
from fcreview.model.function_schema import read_declared_parameters
from fcreview.model.item import (
    AcceptedValues,
    Call,
    ImportIssue,
    Item,
    Message,
    ReadRecord,
    RecomputedVerdict,
    Run,
    Verdict,
)
from fcreview.model.json_value import answer_hash, is_string_list
from fcreview.model.verdict import MILESTONES_MET
from fcreview.run_plan import RunPlan

RULES_WITH_ERRATA = "ACEBench rules with errata"
NO_AGENT_ERRATA = "errata do not apply to agent items"
_SPEAKER = re.compile(r"^(user|system):[ ]?", re.MULTILINE)
"""Prefix that names the speaker of a message in a transcript. `system` means the assistant."""
_THOUGHT = re.compile(r"<think>(?P<thought>.*?)</think>", re.DOTALL)
_CALL_TEXT = re.compile(r'\w\(\s*(?:[A-Za-z_]\w*\s*=|\))|"(?:arguments|parameters)"\s*:')
"""Matches a call in Python syntax, or a call as JSON."""
OTHER_ANSWERS = "other accepted answers"
RULES = "ACEBench rules"


def read_items(plan: RunPlan) -> Iterator[ReadRecord]:
    run_inputs = load_run_inputs(plan)
    yield from run_inputs.issues
    yield from run_inputs.list_facts()
    for inputs in run_inputs.categories:
        if plan.errata is not None:
            inputs.corrections = CategoryCorrections(plan.errata, plan.run, inputs.category)
        yield from _read_category_items(inputs)
        yield from _report_missing_dataset_records(plan, inputs)
        yield from _report_errata(inputs)
    if plan.data:
        yield from find_missing_items(run_inputs.categories)


def _report_missing_dataset_records(plan: RunPlan, inputs: CategoryInputs) -> Iterator[ImportIssue]:
    if plan.run.dataset is None:
        return
    questions_file = Path(plan.run.dataset) / f"data_{inputs.category}.json"
    item_ids = {record["id"] for record in inputs.iterate_results()}
    yield from report_missing_records(questions_file, inputs.questions, inputs.answers, item_ids)


def _report_errata(inputs: CategoryInputs) -> Iterator[ImportIssue]:
    if inputs.corrections is None:
        return
    if inputs.questions:
        inputs.corrections.report_absent_items(inputs.questions)
    yield from inputs.corrections.issues


def _read_category_items(inputs: CategoryInputs) -> Iterator[Item | ImportIssue]:
    path = str(inputs.result_file)
    first_lines: dict[str, int] = {}
    for record in read_records(inputs.result_file):
        if isinstance(record, ImportIssue):
            yield record
            continue
        stated_id = record.value.get("id") if isinstance(record.value, dict) else None
        if not isinstance(stated_id, str):
            yield ImportIssue(path, record.line, what="the result record has no id and was skipped")
            continue

        item_id = stated_id
        if stated_id in first_lines:
            item_id = f"{stated_id}#{record.line}"
            what = (
                f"{stated_id} also occurs in line {first_lines[stated_id]}. This record is imported"
                f" as {item_id}"
            )
            yield ImportIssue(path, record.line, what=what, item=item_id)
        first_lines.setdefault(stated_id, record.line)

        item = Item(
            item_id,
            inputs.category,
            file=path,
            line=record.line,
            offset=record.offset,
            length=record.length,
        )
        yield fill_safely(item, partial(_fill_item, item, record.value, inputs))
    yield from _report_entries_without_result(inputs, first_lines)


def _report_entries_without_result(
    inputs: CategoryInputs, result_ids: Container[str]
) -> Iterator[ImportIssue]:
    for item_id in sorted(inputs.scored.entries):
        if item_id not in result_ids:
            what = f"the score file lists {item_id}, which has no result record"
            yield ImportIssue(str(inputs.scored.path), None, what=what, item=item_id)


def _fill_item(item: Item, result: dict[str, Any], inputs: CategoryInputs) -> None:
    question = inputs.questions.get(result["id"])
    answer = inputs.answers.get(result["id"])
    item.prediction_hash = answer_hash([result.get("result"), result.get("process")])
    item.golden_hash = answer_hash(answer) if answer is not None else ""
    item.functions = read_function_docs(question.get("function")) if question else []
    _add_official_verdict(item, inputs)
    _add_score_flags(item, inputs)

    if inputs.category.startswith("agent_"):
        _fill_agent_item(item, result, question, answer, inputs)
    else:
        _fill_non_agent_item(item, result, question, answer, inputs)
    if question is None:
        item.rule_note = "the dataset has no question for this item"
    # ACEBench writes no record for a failed request: its program stops instead.
    apply_incident(item, find_empty_reply(result.get("result"), "result"))


def _fill_agent_item(
    item: Item,
    result: JsonObject,
    question: JsonObject | None,
    answer: JsonObject | None,
    inputs: CategoryInputs,
) -> None:
    position = inputs.get_dataset_position(result["id"])
    fill_agent_item(item, result, question, answer, inputs.histories.get(position))
    _add_process_verdict(item, inputs, position)
    if inputs.corrections is not None:
        entry = inputs.corrections.entries.get(result["id"])
        if entry is not None:
            # An erratum for an agent item does not state whether it corrects the end state or the
            # milestones.
            item.extra.erratum = inputs.corrections.report_stale_entry(
                entry, NO_AGENT_ERRATA
            ).erratum
    add_decisive_call(item, only_effect_counts=True)


def _fill_non_agent_item(
    item: Item,
    result: JsonObject,
    question: JsonObject | None,
    answer: JsonObject | None,
    inputs: CategoryInputs,
) -> None:
    # Without a dataset, only the score file has golden answers, and only those of failing items.
    entry = inputs.scored.entries.get(result["id"]) or {}
    golden = answer.get(GROUND_TRUTH) if answer else entry.get("possible_answer")
    can_recompute = answer is not None and question is not None
    fill = partial(
        fill_non_agent_item,
        result=result,
        question=question,
        can_recompute=can_recompute,
        rule_set=inputs.rule_set,
    )
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
    item: Item,
    result: dict[str, Any],
    question: dict[str, Any] | None,
    golden: Any,
    corrections: CategoryCorrections,
) -> Any:
    correction = corrections.find_correction(
        str(result["id"]), golden, read_dialogue_messages(question)
    )
    if correction.entry is not None:
        error = check_golden_fix(corrections.run, item, {GROUND_TRUTH: correction.entry.new})
        if error is not None:
            reason = f"the new golden answer is not valid: {error}"
            correction = corrections.report_stale_entry(correction.entry, reason)
    item.extra.erratum = correction.erratum
    return golden if correction.entry is None else correction.entry.new


def check_golden_fix(run: Run, item: Item, golden_fix: JsonObject) -> str | None:  # noqa: ARG001
    if item.category.startswith("agent_"):
        return check_fix_fields(golden_fix, GROUND_TRUTH, MILE_STONE) or _find_agent_fix_error(
            golden_fix
        )
    if error := check_fix_fields(golden_fix, GROUND_TRUTH):
        return error
    truth = golden_fix[GROUND_TRUTH]
    if item.category == "special_irrelevant":
        return None if isinstance(truth, str) else f"{GROUND_TRUTH} must be a string"
    if item.category.startswith("special"):
        is_valid = isinstance(truth, dict) and truth and all(map(is_string_list, truth.values()))
        return (
            None
            if is_valid
            else f"{GROUND_TRUTH} must be an object whose values are lists of strings"
        )
    alternatives = truth if isinstance(truth, list) and truth else [truth]
    return next((error for each in alternatives if (error := _find_answer_error(each, item))), None)


def _find_answer_error(golden_answer: Any, item: Item) -> str | None:
    if not isinstance(golden_answer, dict) or not golden_answer:
        return (
            f'{GROUND_TRUTH} must be {{"function": {{"argument": value}}}}, or a list of such'
            " objects"
        )
    available = function_names(item.functions)
    calls = (
        (golden_key_to_function_name(key, available), arguments)
        for key, arguments in golden_answer.items()
    )
    errors = (check_golden_call(name, arguments, item.functions) for name, arguments in calls)
    return next(filter(None, errors), None)


def _find_agent_fix_error(golden_fix: JsonObject) -> str | None:
    truth, milestones = golden_fix.get(GROUND_TRUTH, []), golden_fix.get(MILE_STONE, [])
    if not isinstance(truth, list) or not all(
        isinstance(each, dict) and len(each) == 1 for each in truth
    ):
        return (
            f'{GROUND_TRUTH} must be a list of objects with exactly one key: {{"CLASS": {{expected'
            f" attributes}}}}"
        )
    is_nested = isinstance(milestones, list) and milestones and all(map(is_string_list, milestones))
    is_valid = is_nested or is_string_list(milestones)
    return (
        None
        if is_valid
        else f"{MILE_STONE} must be a list of calls as strings, or a list of such lists"
    )


def _add_official_verdict(item: Item, inputs: CategoryInputs) -> None:
    scored = inputs.scored
    item.official = scored.get_verdict(item.id)
    if item.official is None:
        return
    entry = scored.get_failure(item.id)
    item.error_type = (
        str(entry["error_type"]) if entry and entry.get("error_type") is not None else None
    )
    rationale = "\n".join(_list_error_texts(entry.get("error"))) or None if entry else None
    verdict = Verdict(
        "official",
        item.official,
        error_type=item.error_type,
        rationale=rationale,
        by=scored.path.name,
    )
    item.verdicts.append(verdict)


def _add_score_flags(item: Item, inputs: CategoryInputs) -> None:
    """Mark an item whose score entry quotes another reply, or that has several score entries."""
    if item.id in inputs.ids_with_other_reply:
        item.flags.append("other_reply")
        if inputs.scored.is_complete:
            what = "the score entry quotes another reply than the result file contains"
            add_issue(item, what, str(inputs.scored.path), severity="error")
    if item.id in inputs.scored.repeated_ids:
        item.flags.append("scored_twice")


def _add_process_verdict(item: Item, inputs: CategoryInputs, dataset_position: int) -> None:
    if inputs.process_entries is None:
        return
    entry = inputs.process_entries.get(f"{inputs.category}_{dataset_position}")
    value, note = get_counted_process_accuracy(entry) if entry else CountedProcessAccuracy(1.0)
    item.verdicts.append(
        Verdict("official", value, criterion=PROCESS_ACCURACY, rationale=note, by="process file")
    )
    if entry or item.official is False:  # A failing item without an entry met all milestones.
        item.extra.metadata.setdefault(MILESTONES_MET, value)


def _list_error_texts(error: Any) -> list[str]:
    if isinstance(error, list):
        return [text for part in error for text in _list_error_texts(part)]
    return [error if isinstance(error, str) else orjson.dumps(error).decode()] if error else []


def fill_non_agent_item(
    item: Item,
    golden_answer: Any,
    *,
    result: dict[str, Any],
    question: dict[str, Any] | None,
    can_recompute: bool,
    rule_set: RuleSet = NEWEST_RULE_SET,
) -> None:
    """Fill a normal or special item from its records in the result and question files.

    The golden answer may come from the score file. `can_recompute` is true if the dataset has the
    question and the golden answer.
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
        item.extra.golden_reply = _describe_required_reply(
            checker.REQUIRED_PHRASES[item.category], golden_answer
        )
        if can_recompute:
            _add_recomputed_verdict(
                item, checker.check_special_reply(reply, golden_answer, item.category)
            )
    else:
        _fill_normal_item(
            item, reply, golden_answer, turn=turn, can_recompute=can_recompute, rule_set=rule_set
        )


def read_dialogue_messages(question: dict[str, Any] | None) -> list[Message]:
    record = question or {}
    time, profile = (
        value if isinstance(value := record.get(name), str) else "" for name in ("time", "profile")
    )
    return parse_transcript(str(record.get("question", "")), time=time, user_profile=profile)


def _add_reply_message(item: Item, reply: Any, turn: int) -> None:
    step = max((message.step for message in item.messages if message.turn == turn), default=-1) + 1
    item.messages.append(
        Message(
            turn, step, role="assistant", content=reply if isinstance(reply, str) else repr(reply)
        )
    )


def _describe_required_reply(required_phrase: str, golden_answer: Any) -> str:
    lines = [f"required text: {required_phrase}"]
    for name, words in as_object(golden_answer).items():
        listed = ", ".join(map(str, words)) if isinstance(words, list) else str(words)
        lines.append(f"required words for {name}: {listed}")
    return "\n".join(lines)


def _fill_normal_item(
    item: Item, reply: Any, golden_answer: Any, *, turn: int, can_recompute: bool, rule_set: RuleSet
) -> None:
    decode_error = explain_undecodable_reply(reply, item.category, rule_set)
    if decode_error is None:
        _add_decoded_reply(item, reply, turn, rule_set)
    else:
        _add_undecoded_reply(item, reply, turn, decode_error)

    alternatives = list_objects(
        golden_answer if isinstance(golden_answer, list) else [golden_answer]
    )
    if alternatives:
        item.golden = parse_golden_calls(alternatives[0], item.functions, turn)
    if len(alternatives) > 1:
        item.extra.metadata[OTHER_ANSWERS] = alternatives[1:]
    item.pairs = align_calls(item.golden, item.predicted, COMPARISON_RULES)
    if alternatives:
        find_first_difference(item.pairs, item.golden, item.predicted).apply_to(item)

    if not can_recompute:
        return
    if decode_error is not None:
        _add_recomputed_verdict(
            item, CheckOutcome(False, error_type="wrong_output_format", message=decode_error)
        )
        return
    calls = decode_reply(reply, item.category, rule_set)
    _add_recomputed_verdict(item, checker.check_calls(calls, golden_answer, item.functions))


def _add_decoded_reply(item: Item, reply: str, turn: int, rule_set: RuleSet) -> None:
    """Add the calls of a reply, and the texts around them, which the evaluator ignores."""
    for index, (name, arguments) in enumerate(decode_for_display(reply, item.category, rule_set)):
        item.predicted.append(
            Call("predicted", name, arguments=arguments, turn=turn, step=0, index=index)
        )
    for text in split_text_around_calls(reply, item.category, rule_set):
        item.messages += _split_reasoning(text, turn)


def _split_reasoning(text: str, turn: int) -> list[Message]:
    """Return a text of the model as messages.

    Reasoning at its start becomes a message of its own.
    """
    thought = _THOUGHT.match(text)
    if thought is None:
        return [Message(turn, 0, role="assistant", content=text)]
    messages = [
        Message(turn, 0, role="assistant", content=thought["thought"].strip(), name="reasoning")
    ]
    rest = text[thought.end() :].strip()
    if rest:
        messages.append(Message(turn, 0, role="assistant", content=rest))
    return messages


def _add_undecoded_reply(item: Item, reply: Any, turn: int, decode_error: str) -> None:
    """Add a reply that the evaluator cannot decode: as a call that could not be decoded, or as a
    message.
    """
    text = reply if isinstance(reply, str) else repr(reply)
    if _CALL_TEXT.search(text):
        item.flags.append("undecoded")
    if "(" in text:
        item.predicted = [
            Call("predicted", "", arguments=None, turn=turn, raw=text, decode_error=decode_error)
        ]
    else:
        _add_reply_message(item, reply, turn)


def golden_key_to_function_name(key: str, available_functions: Container[str | None]) -> str:
    """Return the function that a key of a golden answer names.

    `f_2` means `f`, unless a function is called `f_2`.
    """
    return key if key in available_functions else re.sub(r"_\d+$", "", key)


def parse_golden_calls(
    answer: dict[str, Any], functions: list[dict[str, Any]], turn: int = 0
) -> list[Call]:
    """Convert a golden answer `{function: {argument: value}}` to calls.

    Several calls of the function `f` have the keys `f_1`, `f_2` and so on. Arguments that the
    function doc does not require are optional.
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
        calls.append(Call("golden", name, arguments=accepted, turn=turn, step=0, index=index))
    return calls


def _add_recomputed_verdict(item: Item, outcome: CheckOutcome) -> None:
    item.rule, item.rule_error_type = outcome.valid, outcome.error_type
    if not outcome.valid:
        set_difference_location(
            item, outcome.function or item.diff_function, outcome.argument or item.diff_argument
        )
    verdict = Verdict(
        "rule", outcome.valid, error_type=outcome.error_type, rationale=outcome.message, by=RULES
    )
    item.verdicts.append(verdict)


def parse_transcript(transcript: str, *, time: str = "", user_profile: str = "") -> list[Message]:
    """Split a transcript, in which `user:` or `system:` begins a message. Each user message begins
    a turn.

    The time and the user profile become system messages at the start, as in the model's prompt.
    """
    named_texts = (("time", time), ("profile", user_profile))
    messages = [
        Message(0, -1, role="system", content=text, name=name) for name, text in named_texts if text
    ]
    speakers = list(_SPEAKER.finditer(transcript))
    if not speakers:
        return [*messages, Message(0, -1, role="user", content=transcript.strip())]
    turn, step = -1, 0
    ends = [*(speaker.start() for speaker in speakers[1:]), len(transcript)]
    for speaker, end in zip(speakers, ends, strict=True):
        text = transcript[speaker.end() : end].rstrip("\n")
        if speaker[1] == "user":
            turn, step = turn + 1, 0
            messages.append(Message(turn, -1, role="user", content=text))
        else:
            messages.append(Message(max(turn, 0), step, role="assistant", content=text))
            step += 1
    return messages
