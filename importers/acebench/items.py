"""Fill the items of ACEBench: first the normal and special categories, then the agent categories.

In the released process scorer (revision e6db74b), a call meets a milestone only if it comes after the call that met the
previous milestone. Matching stops at the first milestone that no call meets.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import orjson

from fcreview.importers.acebench import checker
from fcreview.importers.acebench.checker import (
    COMPARISON_RULES,
    GROUND_TRUTH,
    MILE_STONE,
    CheckOutcome,
    decode_for_display,
    decode_reply,
)
from fcreview.importers.acebench.leaderboard import PROCESS_ACCURACY
from fcreview.importers.common.jsonl import MAX_FILE_BYTES
from fcreview.importers.common.records import (
    Undecodable,
    as_list,
    as_object,
    explain_decoding_error,
    last_question,
    list_objects,
    shorten_question,
)
from fcreview.matching.align import align
from fcreview.matching.first_difference import find_first_difference, set_difference_location
from fcreview.model.function_schema import read_declared_parameters
from fcreview.model.item import (
    ABSENT,
    SIMULATED_USER_INSTRUCTION,
    AcceptedValues,
    Call,
    CallPair,
    ImportIssue,
    Item,
    Message,
    StateDifference,
    Verdict,
)
from fcreview.model.json_value import to_plain_json
from fcreview.model.verdict import MILESTONES_MET
from fcreview.safe_files import read_file

_SPEAKER = re.compile(r"^(user|system):[ ]?", re.MULTILINE)
"""Prefix that names the speaker of a message in a transcript. `system` means the assistant."""
OTHER_ANSWERS = "other accepted answers"
_SPACED_ERROR = re.compile(r"E r r o r   d u r i n g|E r r o r\s+d u r i n g")
JsonObject = dict[str, Any]
MAX_STATE_DIFFERENCES = 40
"""Maximum number of differences between two end states that an item lists. Of the others, it has only the number."""
MAX_STATE_DEPTH = 12
"""Maximum depth of values that are compared field by field. Deeper values are compared as a whole."""


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
    item.pairs = align(item.golden, item.predicted, COMPARISON_RULES)
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
    item.verdicts.append(
        Verdict("rule", outcome.valid, error_type=outcome.error_type, rationale=outcome.message, by="ACEBench rules")
    )


def parse_transcript(transcript: str, *, time: str = "", user_profile: str = "") -> list[Message]:
    """Split a transcript, in which `user:` or `system:` begins a message. Each user message begins a turn.

    The time and the user profile become system messages at the start, as in the model's prompt.
    """
    messages = [
        Message(0, -1, "system", text, name) for text, name in ((time, "time"), (user_profile, "profile")) if text
    ]
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


CallSteps = list[int]
"""Number of the step, from 0, in which the agent makes each of its calls."""


@dataclass(slots=True)
class HistoryMessage:
    sender: str
    recipient: str
    content: str


class DialogueHistory(NamedTuple):
    messages: list[HistoryMessage]
    unreadable_lines: list[int]
    """Numbers, from 1, of the lines that are not part of the table."""


def parse_dialogue_history(text: str) -> DialogueHistory:
    """Parse a dialogue history: a text table with the messages of a dialogue and the results of calls.

    The official runner splits a long message into several rows. Only the first row has a number, a sender and a
    recipient.
    """
    messages: list[HistoryMessage] = []
    odd_lines: list[int] = []
    in_table = False
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        if line.startswith("|-"):
            in_table = True
            continue
        cells = _split_table_row(line) if in_table else None
        if cells is None:
            if not line.startswith("| message_index"):
                odd_lines.append(number)
        elif cells[0].strip().isdigit():
            messages.append(HistoryMessage(cells[1].strip(), cells[2].strip(), cells[3].rstrip()))
        elif messages and not any(cell.strip() for cell in cells[:3]):
            messages[-1].content += cells[3].rstrip("\n")
        else:
            odd_lines.append(number)
    for message in messages:
        message.content = message.content.rstrip()
        if _SPACED_ERROR.match(message.content):  # The official runner puts spaces between the letters of an error.
            message.content = re.sub(r"(.) ", r"\1", message.content + " ").rstrip()
    return DialogueHistory(messages, odd_lines)


def _split_table_row(line: str) -> list[str] | None:
    parts = line.strip().split("|")
    if not line.startswith("|") or len(parts) < 6:
        return None
    return [*parts[1:4], "|".join(parts[4:-1]).removeprefix(" ")]


def pair_milestones(
    milestones: Sequence[Call], predicted: Sequence[Call], met_indexes: Sequence[int]
) -> list[CallPair]:
    """Pair each met milestone with the call that met it, and align the missed milestones with the later calls.

    `met_indexes` contains the index of the predicted call for each met milestone.
    """
    start = met_indexes[-1] + 1 if met_indexes else 0
    pairs = zip(milestones, met_indexes, strict=False)
    met_pairs = [align([milestone], [predicted[index]], COMPARISON_RULES)[0] for milestone, index in pairs]
    rest = align(milestones[len(met_indexes) :], predicted[start:], COMPARISON_RULES, keep_order=True)
    earlier = [CallPair(call.turn, None, call.index, call.name, "+") for call in predicted[:start]]
    unmatched = [pair for pair in earlier if pair.predicted not in met_indexes]
    missed = [pair for pair in rest if pair.golden is not None]
    return met_pairs + missed + unmatched + [pair for pair in rest if pair.golden is None]


def find_state_differences(end_state: Any, golden_state: Any) -> dict[str, StateDifference] | None:
    """Return the differences between two end states by path, such as `FoodPlatform.users.Eve.balance`, or None.

    The evaluator does not compare classes whose names differ only in case, so these are omitted.
    """
    if not isinstance(end_state, list) or not isinstance(golden_state, list):
        return None
    differences: dict[str, StateDifference] = {}
    expected_by_class, attributes_by_class = _get_attributes_by_class(golden_state), _get_attributes_by_class(end_state)
    on_both_sides = {name.casefold() for name in expected_by_class} & {name.casefold() for name in attributes_by_class}
    for name, expected in expected_by_class.items():
        attributes = attributes_by_class.get(name)
        if attributes is None:
            if name.casefold() not in on_both_sides:
                differences[name] = StateDifference(expected, ABSENT)
            continue
        for attribute, _ in checker.find_attribute_differences(attributes, expected):
            path, golden_value = f"{name}.{attribute}", expected.get(attribute, ABSENT)
            differences.update(_find_value_differences(path, golden_value, attributes[attribute], 0))
    for name, attributes in attributes_by_class.items():
        if name.casefold() not in on_both_sides:
            differences[name] = StateDifference(ABSENT, attributes)
    if len(differences) > MAX_STATE_DIFFERENCES:
        listed = dict(list(differences.items())[:MAX_STATE_DIFFERENCES])
        return listed | {f"({len(differences) - MAX_STATE_DIFFERENCES} more)": StateDifference("", "")}
    return differences or None


def _get_attributes_by_class(end_state: list[Any]) -> dict[str, dict[str, Any]]:
    pairs = (pair for state in list_objects(end_state) for pair in state.items())
    return {str(name): attributes for name, attributes in pairs if isinstance(attributes, dict)}


def _find_value_differences(
    path: str, golden: Any, predicted: Any, depth: int
) -> Iterator[tuple[str, StateDifference]]:
    if golden == predicted:
        return
    if depth < MAX_STATE_DEPTH and isinstance(golden, dict) and isinstance(predicted, dict):
        for name in {**golden, **predicted}:
            values = golden.get(name, ABSENT), predicted.get(name, ABSENT)
            yield from _find_value_differences(f"{path}.{name}", *values, depth + 1)
        return
    are_lists = depth < MAX_STATE_DEPTH and isinstance(golden, list) and isinstance(predicted, list)
    if are_lists and len(golden) == len(predicted):
        for index, values in enumerate(zip(golden, predicted, strict=True)):
            yield from _find_value_differences(f"{path}[{index}]", *values, depth + 1)
    else:
        yield path, StateDifference(golden, predicted)


def fill_agent_item(
    item: Item, result: JsonObject, question: JsonObject | None, answer: JsonObject | None, history_file: Path | None
) -> None:
    """Fill an agent item from its dialogue history and its records in the result, question and golden answer files."""
    text = str((question or {}).get("question", ""))
    item.question = shorten_question(text)
    is_simulated = item.category == "agent_multi_turn"  # the question is the instruction of the simulated user
    name = SIMULATED_USER_INSTRUCTION if is_simulated else None
    item.messages = [Message(0, -1, "system" if is_simulated else "user", text, name)]
    if initial := (question or {}).get("initial_config"):
        item.messages.append(Message(0, -1, "state", orjson.dumps(to_plain_json(initial)).decode(), "at the start"))
    process = [str(part) for part in as_list(result.get("process"))]
    steps = _add_history_messages(item, history_file) if history_file is not None else []
    if len(steps) != len(process):
        steps = list(range(len(process)))
    item.predicted = _decode_calls("predicted", process, steps)
    item.n_steps = len(process)
    if answer is None:
        return
    milestones, golden_state = answer.get(MILE_STONE) or [], answer.get(GROUND_TRUTH)
    sequence, others = checker.rank_milestone_sequences(process, milestones)
    item.golden = _decode_calls("golden", sequence, range(len(sequence)))
    if others:
        item.extra.metadata["other milestone sequences"] = others
    met = checker.find_milestone_message_indexes(process, sequence)
    if len(item.golden) == len(sequence) and len(item.predicted) == len(process):
        item.pairs = pair_milestones(item.golden, item.predicted, met)
    else:  # A milestone or a message contains several calls, so `met` does not contain indexes of calls.
        item.pairs = align(item.golden, item.predicted, COMPARISON_RULES, keep_order=True)
    find_first_difference(item.pairs, item.golden, item.predicted).apply_to(item)
    outcome = checker.check_end_state(result.get("result"), golden_state)
    item.rule, item.rule_error_type = outcome.valid, outcome.error_type
    accuracy, _ = checker.compute_process_accuracy(result.get("process"), milestones, outcome.valid)
    item.verdicts += [
        Verdict("rule", outcome.valid, error_type=outcome.error_type, rationale=outcome.message, by="end state"),
        Verdict("rule", accuracy, criterion=PROCESS_ACCURACY, by="milestones"),
    ]
    if sequence:
        item.extra.metadata["milestones"] = checker.describe_milestones(sequence, len(met))
    item.extra.metadata[MILESTONES_MET], _ = checker.compute_process_accuracy(result.get("process"), milestones, False)
    if not outcome.valid:
        set_difference_location(item, outcome.function, outcome.argument)
        item.extra.state_differences = find_state_differences(result.get("result"), golden_state)
    item.extra.metadata |= {"end state": result.get("result"), "golden end state": golden_state}


def _decode_calls(side: Literal["golden", "predicted"], texts: list[str], steps: Sequence[int]) -> list[Call]:
    """Decode the calls in milestones (golden) or in messages of the agent (predicted), each with its step number.

    Missing brackets are added, as in the official runner.
    """
    calls: list[Call] = []
    for step, text in zip(steps, texts, strict=True):
        expression = text.strip()
        start, end = expression.find("["), expression.rfind("]")
        if side == "predicted" and 0 <= start < end:
            expression = expression[start : end + 1]
        elif side == "predicted" or start != 0:
            expression = f"[{expression}]"
        try:
            decoded = decode_for_display(expression)
        except Undecodable as error:
            name = text.strip().strip("[ ").partition("(")[0]
            calls.append(Call(side, name, None, 0, step, len(calls), raw=text, decode_error=str(error)))
            continue
        for name, arguments in decoded:
            if side == "golden":
                arguments = {argument: AcceptedValues([value]) for argument, value in arguments.items()}
            calls.append(Call(side, name, arguments, 0, step, len(calls), raw=text))
    return calls


def _add_history_messages(item: Item, history_file: Path) -> CallSteps:
    """Add the messages of a dialogue history to the item, except the agent's calls. Return the steps of these calls."""
    try:
        messages, odd_lines = parse_dialogue_history(read_file(history_file, MAX_FILE_BYTES).decode("utf-8", "replace"))
    except OSError as error:
        item.issues.append(
            ImportIssue(str(history_file), None, f"the dialogue history cannot be read: {error.strerror}", item=item.id)
        )
        return []
    item.issues += [
        ImportIssue(str(history_file), line, "this line of the dialogue history is not a table row", item=item.id)
        for line in odd_lines
    ]
    known = {"".join(message.content.split()) for message in item.messages if message.role == "user"}
    call_steps: CallSteps = []
    step = -1
    for message in messages:
        if message.sender == "execution":
            tool_step = call_steps[-1] if call_steps else max(step, 0)
            item.messages.append(Message(0, tool_step, "tool", message.content))
        elif message.sender == "user":
            if step >= 0 or "".join(message.content.split()) not in known:
                item.messages.append(Message(0, step, "user", message.content))
        else:
            step += 1
            if message.recipient == "execution":
                call_steps.append(step)
            else:
                item.messages.append(Message(0, step, "assistant", message.content))
    return call_steps
