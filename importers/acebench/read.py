"""Read ACEBench items: join results with questions, golden answers, errata, scores and dialogue
histories.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import orjson

from fcreview.errata import CategoryCorrections, GoldenCorrection
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
from fcreview.importers.common.jsonl import JsonRecord
from fcreview.importers.common.records import (
    add_issue,
    as_object,
    fill_safely,
    function_names,
    last_question,
    list_objects,
    read_function_docs,
    report_missing_records,
    set_position,
)
from fcreview.importers.common.writeback import JsonObject, check_fix_fields, check_golden_call
from fcreview.matching.align import align_calls
from fcreview.matching.decisive_call import add_decisive_call
from fcreview.matching.first_difference import find_first_difference, set_difference_location
from fcreview.model.derivation import MILESTONES_MET
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
from fcreview.run_plan import RunPlan

RULES_WITH_ERRATA = "ACEBench rules with errata"
NO_AGENT_ERRATA = "errata do not apply to agent items"
_SPEAKER = re.compile(r"^(?P<name>user|system):[ ]?", re.MULTILINE)
"""Prefix that names the speaker of a message in a transcript. `system` means the assistant."""
_THOUGHT = re.compile(r"<think>(?P<thought>.*?)</think>", re.DOTALL)
_CALL_TEXT = re.compile(r'\w\(\s*(?:[A-Za-z_]\w*\s*=|\))|"(?:arguments|parameters)"\s*:')
"""Matches a call in Python syntax, or a call as JSON."""
OTHER_ANSWERS = "other accepted answers"
RULES = "ACEBench rules"


def read_items(plan: RunPlan) -> Iterator[ReadRecord]:
    """Yield the items of a run category by category, with the problems of their files."""
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
    """Yield an issue for items whose question or golden answer is not in the dataset."""
    if plan.run.dataset is None:
        return
    questions_file = Path(plan.run.dataset) / f"data_{inputs.category}.json"
    item_ids = {record["id"] for record in inputs.results.read_answers()}
    yield from report_missing_records(questions_file, inputs.questions, inputs.answers, item_ids)


def _report_errata(inputs: CategoryInputs) -> Iterator[ImportIssue]:
    if inputs.corrections is None:
        return
    if inputs.questions:
        inputs.corrections.report_absent_items(inputs.questions)
    yield from inputs.corrections.issues


def _read_category_items(inputs: CategoryInputs) -> Iterator[Item | ImportIssue]:
    """Yield an item for each result record of a category, and an issue for each problem."""
    reader = _ResultReader(inputs)
    for record in inputs.results.read_records():
        if isinstance(record, ImportIssue):
            yield record
        else:
            yield from reader.read_record(record)
    yield from _report_entries_without_result(inputs, reader.first_line_by_id)


@dataclass(slots=True)
class _ResultReader:
    """Reads the records of a result file in their order.

    If an id occurs in several records, all of them become items. The id of the second one gets its
    line number, as in `normal_atom_bool_5#31`.
    """

    inputs: CategoryInputs
    first_line_by_id: dict[str, int] = field(default_factory=dict)
    """Id of a record that was read -> its line."""

    def read_record(self, record: JsonRecord) -> Iterator[Item | ImportIssue]:
        """Yield the item of a record, and an issue if its id is missing or occurs again."""
        file = str(self.inputs.result_file)
        item_id = as_object(record.value).get("id")
        if not isinstance(item_id, str):
            yield ImportIssue(file, record.line, what="the result record has no id and was skipped")
            return

        item = Item(item_id, self.inputs.category, file=file)
        set_position(item, record)
        if item_id in self.first_line_by_id:
            item.id = f"{item_id}#{record.line}"
            problem = (
                f"{item_id} also occurs in line {self.first_line_by_id[item_id]}."
                f" This record is imported as {item.id}"
            )
            yield ImportIssue(file, record.line, what=problem, item=item.id)
        self.first_line_by_id.setdefault(item_id, record.line)
        # An error while the item is filled becomes an issue of the item.
        yield fill_safely(item, partial(_fill_item, item, record.value, self.inputs))


def _report_entries_without_result(
    inputs: CategoryInputs, result_ids: Container[str]
) -> Iterator[ImportIssue]:
    for item_id in sorted(inputs.scored.entries):
        if item_id not in result_ids:
            what = f"the score file lists {item_id}, which has no result record"
            yield ImportIssue(str(inputs.scored.path), what=what, item=item_id)


def _fill_item(item: Item, result: dict[str, Any], inputs: CategoryInputs) -> None:
    """Fill an item with its content and verdicts.

    `result` is the item's record in the result file. `inputs` contains the other files of the
    category: questions, golden answers and scores.
    """
    question = inputs.questions.get(result["id"])
    answer = inputs.answers.get(result["id"])

    # Reviews refer to these hashes. They show whether the reply or the golden answer has changed.
    item.prediction_hash = answer_hash([result.get("result"), result.get("process")])
    if answer is not None:
        item.golden_hash = answer_hash(answer)

    if question:
        item.functions = read_function_docs(question.get("function"))
    _add_official_verdict(item, inputs)
    _add_score_flags(item, inputs)

    if inputs.category.startswith("agent_"):
        _fill_agent_item(item, result, question=question, answer=answer, inputs=inputs)
    else:
        _fill_non_agent_item(item, result, question=question, answer=answer, inputs=inputs)
    if question is None:
        item.rule_note = "the dataset has no question for this item"
    # ACEBench writes no record for a failed request, so only an empty reply can be an incident.
    apply_incident(item, find_empty_reply(result.get("result"), "result"))


def _fill_agent_item(
    item: Item,
    result: JsonObject,
    *,
    question: JsonObject | None,
    answer: JsonObject | None,
    inputs: CategoryInputs,
) -> None:
    """Fill an item in which an agent acts on simulated apps.

    Besides its records, such an item can have a dialogue history, a log of all messages, and an
    entry in the process file, with the share of golden calls that the agent made in order.
    """
    # Histories and process entries are numbered by the position of the question in the dataset.
    position = inputs.get_dataset_position(result["id"])
    history_file = inputs.histories.get(position)
    fill_agent_item(item, result, question=question, answer=answer, history_file=history_file)

    if inputs.process_entries is not None:
        process_entry = inputs.process_entries.get(f"{inputs.category}_{position}")
        _add_process_verdict(item, process_entry)

    if inputs.corrections is not None and result["id"] in inputs.corrections.entries:
        _list_unapplied_erratum(item, inputs.corrections, result["id"])
    add_decisive_call(item, only_effect_counts=True)


def _list_unapplied_erratum(item: Item, corrections: CategoryCorrections, item_id: str) -> None:
    """List an erratum for an agent item, and report that it is not applied: it does not state
    whether it corrects the end state or the golden calls.
    """
    correction = corrections.report_stale_entry(corrections.entries[item_id], NO_AGENT_ERRATA)
    item.extra.erratum = correction.erratum


@dataclass(frozen=True, slots=True)
class Reply:
    """Reply to a normal or special question, with all that its grading needs besides the golden
    answer.
    """

    content: Any
    question: JsonObject | None
    can_recompute: bool
    """Whether the dataset has the question and the golden answer."""
    rule_set: RuleSet = NEWEST_RULE_SET


def _fill_non_agent_item(
    item: Item,
    result: JsonObject,
    *,
    question: JsonObject | None,
    answer: JsonObject | None,
    inputs: CategoryInputs,
) -> None:
    """Fill a normal or special item, which has one reply.

    If the user's errata correct the golden answer, the reply is graded with the corrected one, and
    the verdict with the original one is recorded beside it.
    """
    reply = Reply(
        result.get("result"),
        question=question,
        can_recompute=answer is not None and question is not None,
        rule_set=inputs.rule_set,
    )
    golden = _choose_golden_answer(answer, inputs.scored.entries.get(result["id"]))
    correction = GoldenCorrection()
    if inputs.corrections is not None:
        correction = _find_correction(
            item, result, question, golden, corrections=inputs.corrections
        )
        item.extra.erratum = correction.erratum

    if correction.entry is None:
        grade_reply(item, reply, golden)
        return
    grade_reply(item, reply, correction.entry.new)
    _add_verdict_without_errata(item, reply, golden)


def _choose_golden_answer(answer: JsonObject | None, score_entry: JsonObject | None) -> Any:
    """Return the golden answer of the dataset or, without one, that of the score entry.

    Score files have entries only for failing items.
    """
    if answer:
        return answer.get(GROUND_TRUTH)
    return as_object(score_entry).get("possible_answer")


def _add_verdict_without_errata(item: Item, reply: Reply, golden: Any) -> None:
    """Record the verdict with the golden answer of the dataset, if the erratum changes it.

    The item was just graded with the erratum, so its last verdict is the recomputed one.
    """
    uncorrected = Item(item.id, item.category, functions=item.functions)
    grade_reply(uncorrected, reply, golden)
    original = RecomputedVerdict(uncorrected.rule, uncorrected.rule_error_type)
    if original != RecomputedVerdict(item.rule, item.rule_error_type):
        item.extra.without_errata = original
        recomputed_verdict = item.verdicts[-1]
        recomputed_verdict.by = RULES_WITH_ERRATA


def _find_correction(
    item: Item,
    result: JsonObject,
    question: JsonObject | None,
    golden: Any,
    *,
    corrections: CategoryCorrections,
) -> GoldenCorrection:
    """Find the correction of a golden answer. A correction with an invalid answer is stale."""
    messages = read_dialogue_messages(question)
    correction = corrections.find_correction(str(result["id"]), golden, messages)
    if correction.entry is None:
        return correction

    error = check_golden_fix(corrections.run, item, {GROUND_TRUTH: correction.entry.new})
    if error is None:
        return correction
    reason = f"the new golden answer is not valid: {error}"
    return corrections.report_stale_entry(correction.entry, reason)


def check_golden_fix(run: Run, item: Item, golden_fix: JsonObject) -> str | None:  # noqa: ARG001
    """Check the form of a golden answer that a reviewer wrote. Return the first error, or None."""
    # The golden answer of an agent item has end states and calls.
    if item.category.startswith("agent_"):
        error = check_fix_fields(golden_fix, GROUND_TRUTH, MILE_STONE)
        return error or _find_agent_fix_error(golden_fix)

    error = check_fix_fields(golden_fix, GROUND_TRUTH)
    if error:
        return error
    golden = golden_fix[GROUND_TRUTH]
    # The golden answer of a special item has words that the reply must contain.
    if item.category == "special_irrelevant":
        return None if isinstance(golden, str) else f"{GROUND_TRUTH} must be a string"
    if item.category.startswith("special"):
        return _find_special_answer_error(golden)

    # The golden answer of a normal item has calls. A list contains alternatives.
    alternatives = golden if isinstance(golden, list) and golden else [golden]
    for answer in alternatives:
        error = _find_answer_error(answer, item)
        if error is not None:
            return error
    return None


def _find_special_answer_error(golden: Any) -> str | None:
    is_valid = isinstance(golden, dict) and golden and all(map(is_string_list, golden.values()))
    if is_valid:
        return None
    return f"{GROUND_TRUTH} must be an object whose values are lists of strings"


def _find_answer_error(golden_answer: Any, item: Item) -> str | None:
    """Return what is wrong with the form of a golden answer, or None."""
    if not isinstance(golden_answer, dict) or not golden_answer:
        form = '{"function": {"argument": value}}'
        return f"{GROUND_TRUTH} must be {form}, or a list of such objects"

    available_functions = function_names(item.functions)
    for key, arguments in golden_answer.items():
        name = golden_key_to_function_name(key, available_functions)
        error = check_golden_call(name, arguments, item.functions)
        if error:
            return error
    return None


def _find_agent_fix_error(golden_fix: JsonObject) -> str | None:
    """Check the form of a reviewer's golden answer for an agent item. Return the error, or None.

    Its end state is a list such as `[{"Phone": {"wifi": true}}]`. Its milestones, the golden calls,
    are a list of texts, or a list of alternative lists.
    """
    states = golden_fix.get(GROUND_TRUTH, [])
    are_states_valid = isinstance(states, list) and all(
        isinstance(state, dict) and len(state) == 1 for state in states
    )
    if not are_states_valid:
        form = '{"CLASS": {expected attributes}}'
        return f"{GROUND_TRUTH} must be a list of objects with exactly one key: {form}"

    milestones = golden_fix.get(MILE_STONE, [])
    # A single list of calls may be empty; a list of alternatives may not.
    if is_string_list(milestones):
        return None
    is_filled_list = isinstance(milestones, list) and milestones
    if is_filled_list and all(is_string_list(alternative) for alternative in milestones):
        return None
    return f"{MILE_STONE} must be a list of calls as strings, or a list of such lists"


def _add_official_verdict(item: Item, inputs: CategoryInputs) -> None:
    """Add the verdict of the score file, if it is known."""
    item.official = inputs.scored.get_verdict(item.id)
    if item.official is None:
        return

    verdict = Verdict("official", item.official, by=inputs.scored.path.name)
    entry = inputs.scored.get_failure(item.id)
    if entry:
        if entry.get("error_type") is not None:
            item.error_type = str(entry["error_type"])
        verdict.error_type = item.error_type
        verdict.rationale = "\n".join(_iterate_error_texts(entry.get("error"))) or None
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


def _add_process_verdict(item: Item, entry: JsonObject | None) -> None:
    """Add the process accuracy of the process file. An item without an entry counts as 1."""
    accuracy = get_counted_process_accuracy(entry) if entry else CountedProcessAccuracy(1.0)
    verdict = Verdict("official", accuracy.value, criterion=PROCESS_ACCURACY, by="process file")
    verdict.rationale = accuracy.note
    item.verdicts.append(verdict)
    # A failing item without an entry met all milestones. A passing one counts as 1 whatever it
    # called (`compute_process_accuracy`), so the file says nothing about its milestones.
    if entry or item.official is False:
        item.extra.metadata.setdefault(MILESTONES_MET, accuracy.value)


def _iterate_error_texts(error: Any) -> Iterator[str]:
    """Yield the texts of an error, which the evaluator writes as a text, or as nested lists."""
    if not error:
        return
    if isinstance(error, list):
        for part in error:
            yield from _iterate_error_texts(part)
    elif isinstance(error, str):
        yield error
    else:
        yield orjson.dumps(error).decode()


def grade_reply(item: Item, reply: Reply, golden_answer: Any) -> None:
    """Fill a normal or special item with its messages, and grade its reply.

    The reply belongs to the last turn of the dialogue in the question.
    """
    item.messages = read_dialogue_messages(reply.question)
    last_turn = max((message.turn for message in item.messages), default=0)
    item.n_turns = last_turn + 1
    item.question = last_question(item.messages)
    if item.category.startswith("normal_multi_turn"):
        # The steps of a dialogue have ids such as `normal_multi_turn_user_adjust_3_1`.
        item.group, _, _ = item.id.rpartition("_")

    if item.category.startswith("special"):
        _grade_special_reply(item, reply, golden_answer, last_turn)
    else:
        _grade_normal_reply(item, reply, golden_answer, last_turn)


def _grade_special_reply(item: Item, reply: Reply, golden_answer: Any, turn: int) -> None:
    """Grade a reply that must contain certain words instead of calls."""
    _add_reply_message(item, reply.content, turn)
    required_phrase = checker.REQUIRED_PHRASES[item.category]
    item.extra.golden_reply = _describe_required_reply(required_phrase, golden_answer)
    if reply.can_recompute:
        outcome = checker.check_special_reply(reply.content, golden_answer, item.category)
        _add_recomputed_verdict(item, outcome)


def read_dialogue_messages(question: dict[str, Any] | None) -> list[Message]:
    """Read the dialogue of a normal or special question, with the time and the user profile."""
    record = question or {}
    time = record.get("time")
    profile = record.get("profile")
    return parse_transcript(
        str(record.get("question", "")),
        time=time if isinstance(time, str) else "",
        user_profile=profile if isinstance(profile, str) else "",
    )


def _add_reply_message(item: Item, reply: Any, turn: int) -> None:
    """Add a reply as the last message of a turn."""
    text = reply if isinstance(reply, str) else repr(reply)
    steps = [message.step for message in item.messages if message.turn == turn]
    step = max(steps, default=-1) + 1
    item.messages.append(Message(turn, step, role="assistant", content=text))


def _describe_required_reply(required_phrase: str, golden_answer: Any) -> str:
    lines = [f"required text: {required_phrase}"]
    for name, words in as_object(golden_answer).items():
        listed = ", ".join(map(str, words)) if isinstance(words, list) else str(words)
        lines.append(f"required words for {name}: {listed}")
    return "\n".join(lines)


def _grade_normal_reply(item: Item, reply: Reply, golden_answer: Any, turn: int) -> None:
    """Add the predicted and the golden calls of a reply to an item, pair them, and recompute the
    verdict if the dataset is known.

    `golden_answer` is one answer, or a list of alternatives.
    """
    decode_error = explain_undecodable_reply(reply.content, item.category, reply.rule_set)
    if decode_error is None:
        _add_decoded_reply(item, reply.content, turn=turn, rule_set=reply.rule_set)
    else:
        _add_undecoded_reply(item, reply.content, turn=turn, decode_error=decode_error)

    _pair_with_golden_answer(item, golden_answer, turn)
    if reply.can_recompute:
        outcome = _check_normal_reply(item, reply, golden_answer, decode_error)
        _add_recomputed_verdict(item, outcome)


def _pair_with_golden_answer(item: Item, golden_answer: Any, turn: int) -> None:
    """Add the golden calls, and compare the predicted calls with them.

    Any one of several answers suffices. The first one is shown beside the predicted calls.
    """
    entries = golden_answer if isinstance(golden_answer, list) else [golden_answer]
    answers = list_objects(entries)
    if answers:
        item.golden = parse_golden_calls(answers[0], item.functions, turn)
    if len(answers) > 1:
        item.extra.metadata[OTHER_ANSWERS] = answers[1:]
    item.pairs = align_calls(item.golden, item.predicted, COMPARISON_RULES)
    if answers:
        find_first_difference(item.pairs, item.golden, item.predicted).apply_to(item)


def _check_normal_reply(
    item: Item, reply: Reply, golden_answer: Any, decode_error: str | None
) -> CheckOutcome:
    if decode_error is not None:
        return CheckOutcome(False, error_type="wrong_output_format", message=decode_error)
    calls = decode_reply(reply.content, item.category, reply.rule_set)
    return checker.check_calls(calls, golden_answer, item.functions)


def _add_decoded_reply(item: Item, reply: str, *, turn: int, rule_set: RuleSet) -> None:
    """Add the calls of a reply, and the texts around them, which the evaluator ignores."""
    for index, (name, arguments) in enumerate(decode_for_display(reply, item.category, rule_set)):
        call = Call("predicted", name, arguments=arguments, turn=turn, step=0, index=index)
        item.predicted.append(call)
    for text in split_text_around_calls(reply, item.category, rule_set):
        item.messages += _split_reasoning(text, turn)


def _split_reasoning(text: str, turn: int) -> list[Message]:
    """Return a text of the model as messages.

    Reasoning at its start becomes a message of its own.
    """
    thought = _THOUGHT.match(text)
    if thought is None:
        return [Message(turn=turn, step=0, role="assistant", content=text)]

    reasoning = thought["thought"].strip()
    messages = [Message(turn=turn, step=0, role="assistant", content=reasoning, name="reasoning")]
    rest = text[thought.end() :].strip()
    if rest:
        messages.append(Message(turn=turn, step=0, role="assistant", content=rest))
    return messages


def _add_undecoded_reply(item: Item, reply: Any, *, turn: int, decode_error: str) -> None:
    """Add a reply that the evaluator cannot decode: as a call that could not be decoded, or as a
    message.
    """
    text = reply if isinstance(reply, str) else repr(reply)
    # The flag marks what is certainly a call. It leads reviewers to the item.
    if _CALL_TEXT.search(text):
        item.flags.append("undecoded")
    # Any text with a parenthesis can be meant as a call. It is shown beside the golden call.
    if "(" not in text:
        _add_reply_message(item, reply, turn)
        return
    call = Call("predicted", "", arguments=None, turn=turn, raw=text, decode_error=decode_error)
    item.predicted = [call]


def golden_key_to_function_name(key: str, available_functions: Container[str | None]) -> str:
    """Return the function that a key of a golden answer names.

    `f_2` means `f`, unless a function is called `f_2`.
    """
    if key in available_functions:
        return key
    return re.sub(r"_\d+$", "", key)


def parse_golden_calls(
    answer: dict[str, Any], functions: list[dict[str, Any]], turn: int = 0
) -> list[Call]:
    """Convert a golden answer such as `{"set_alarm": {"hour": 7}}` to calls.

    Several calls of the function `f` have the keys `f_1`, `f_2` and so on. An argument that the
    function doc does not require may be omitted by the model.
    """
    doc_by_name = {function.get("name"): function for function in functions}
    calls = []
    for index, (key, arguments) in enumerate(answer.items()):
        name = golden_key_to_function_name(key, doc_by_name)
        required = read_declared_parameters(doc_by_name.get(name, {})).required or ()

        accepted = {}
        for argument, value in as_object(arguments).items():
            is_optional = name in doc_by_name and argument not in required
            accepted[argument] = AcceptedValues([value], is_optional)
        calls.append(Call("golden", name, arguments=accepted, turn=turn, step=0, index=index))
    return calls


def _add_recomputed_verdict(item: Item, outcome: CheckOutcome) -> None:
    """Set the verdict that fcreview computes by the benchmark's rules, with the function and
    argument that are wrong.
    """
    item.rule = outcome.valid
    item.rule_error_type = outcome.error_type
    if not outcome.valid:
        function = outcome.function or item.diff_function
        set_difference_location(item, function, outcome.argument or item.diff_argument)
    verdict = Verdict("rule", outcome.valid, error_type=outcome.error_type, by=RULES)
    verdict.rationale = outcome.message
    item.verdicts.append(verdict)


def parse_transcript(transcript: str, *, time: str = "", user_profile: str = "") -> list[Message]:
    """Split a dialogue such as `user: Hi\\nsystem: Hello` into messages.

    `system:` marks the replies of the model. Each user message begins a turn. The time and the
    user profile become system messages at the start, as in the model's prompt.
    """
    messages = []
    if time:
        messages.append(Message(turn=0, step=-1, role="system", content=time, name="time"))
    if user_profile:
        messages.append(
            Message(turn=0, step=-1, role="system", content=user_profile, name="profile")
        )

    utterances = _split_utterances(transcript)
    if not utterances:
        messages.append(Message(turn=0, step=-1, role="user", content=transcript.strip()))
        return messages

    turn = -1
    step = 0
    for speaker, text in utterances:
        if speaker == "user":
            turn += 1
            step = 0
            messages.append(Message(turn=turn, step=-1, role="user", content=text))
        else:
            messages.append(Message(max(turn, 0), step, role="assistant", content=text))
            step += 1
    return messages


def _split_utterances(transcript: str) -> list[tuple[str, str]]:
    """Split a transcript into (speaker, text). Empty if it names no speaker.

    An utterance ends where the next speaker begins, so it may contain line breaks.
    """
    speakers = list(_SPEAKER.finditer(transcript))
    starts = [speaker.start() for speaker in speakers]
    ends = [*starts[1:], len(transcript)]
    utterances = []
    for speaker, end in zip(speakers, ends, strict=False):
        text = transcript[speaker.end() : end].rstrip("\n")
        utterances.append((speaker["name"], text))
    return utterances
