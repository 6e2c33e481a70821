"""Fill the agent items of ACEBench: check the end state, and match the agent's calls with the
milestones.

This module reproduces the released process scorer (revision e6db74b). A call meets a milestone only
if it comes after the call that met the previous milestone. Matching stops at the first milestone
that no call meets.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Literal, NamedTuple

import orjson

from fcreview.importers.acebench.checker import (
    COMPARISON_RULES,
    GROUND_TRUTH,
    MILE_STONE,
    PASSED,
    CheckOutcome,
)
from fcreview.importers.acebench.conversation import (
    OTHER_CONVERSATION,
    add_conversation,
    find_call_expression,
    is_other_conversation,
)
from fcreview.importers.acebench.decoding import decode_with_whitespace
from fcreview.importers.acebench.dialogue_history import DialogueHistory, parse_dialogue_history
from fcreview.importers.acebench.leaderboard import PROCESS_ACCURACY
from fcreview.importers.common.jsonl import MAX_FILE_BYTES
from fcreview.importers.common.records import (
    Undecodable,
    add_issue,
    as_list,
    list_objects,
    shorten_question,
)
from fcreview.importers.common.writeback import JsonObject
from fcreview.matching.align import align_calls
from fcreview.matching.first_difference import find_first_difference, set_difference_location
from fcreview.model.item import (
    ABSENT,
    SIMULATED_USER_INSTRUCTION,
    AcceptedValues,
    Call,
    CallPair,
    Item,
    Message,
    StateDifference,
    Verdict,
)
from fcreview.model.json_value import to_plain_json
from fcreview.model.verdict import MILESTONES_MET
from fcreview.model.wording import format_count
from fcreview.safe_files import read_file

MAX_STATE_DIFFERENCES = 40
"""Maximum number of state differences that an item lists. If there are more, it states how many."""
MAX_STATE_DEPTH = 12
"""Maximum depth of values that are compared field by field.

Deeper values are compared as a whole.
"""


def fill_agent_item(
    item: Item,
    result: JsonObject,
    *,
    question: JsonObject | None,
    answer: JsonObject | None,
    history_file: Path | None,
) -> None:
    """Fill an agent item from its dialogue history and its records in the result, question and
    golden answer files.
    """
    process = _read_process(result)
    history = _load_history(item, process, history_file)
    fill_agent_item_from_history(item, result, question=question, answer=answer, history=history)


def fill_agent_item_from_history(
    item: Item,
    result: JsonObject,
    *,
    question: JsonObject | None,
    answer: JsonObject | None,
    history: DialogueHistory | None,
) -> None:
    """Fill an agent item from its records and, if there is one, its dialogue history."""
    _add_question(item, question or {})
    process = _read_process(result)
    steps = add_conversation(item, process, history)
    item.predicted = _decode_calls("predicted", process, steps)
    item.n_steps = len(process)
    if answer is not None:
        _grade_agent_item(item, process, result, answer)


def _read_process(result: JsonObject) -> list[str]:
    return [str(part) for part in as_list(result.get("process"))]


def _grade_agent_item(
    item: Item, process: Sequence[str], result: JsonObject, answer: JsonObject
) -> None:
    """Compare calls and end state with the milestones and the golden end state."""
    end_state = result.get("result")
    golden_state = answer.get(GROUND_TRUTH)
    milestones = answer.get(MILE_STONE) or []
    sequence = choose_milestone_sequence(process, milestones)
    n_met = _pair_with_milestones(item, process, sequence.best)
    outcome = check_end_state(end_state, golden_state)
    _add_recomputed_verdicts(item, outcome, result, milestones)
    if not outcome.valid:
        set_difference_location(item, outcome.function, outcome.argument)
        item.extra.state_differences = find_state_differences(end_state, golden_state)

    metadata = item.extra.metadata
    if sequence.others:
        metadata["other milestone sequences"] = sequence.others
    if sequence.best:
        metadata["milestones"] = describe_milestones(sequence.best, n_met)
    # This is the process accuracy if a review fails the end state.
    share = compute_process_accuracy(result.get("process"), milestones, is_end_state_correct=False)
    metadata[MILESTONES_MET] = share.in_mean
    metadata["end state"] = end_state
    metadata["golden end state"] = golden_state


def _add_question(item: Item, question: JsonObject) -> None:
    """Add the question as a message, and the initial state of the environment."""
    text = str(question.get("question", ""))
    item.question = shorten_question(text)
    message = Message(0, -1, role="user", content=text)
    if item.category == "agent_multi_turn":
        # The question instructs the simulated user, and the agent does not see it.
        message.role = "system"
        message.name = SIMULATED_USER_INSTRUCTION
    item.messages = [message]

    initial_state = question.get("initial_config")
    if initial_state:
        content = orjson.dumps(to_plain_json(initial_state)).decode()
        item.messages.append(Message(0, -1, role="state", content=content, name="at the start"))


def _load_history(
    item: Item, process: Sequence[str], history_file: Path | None
) -> DialogueHistory | None:
    """Load the dialogue history of an item.

    None if there is none, or if it belongs to another conversation.
    """
    if history_file is None:
        return None
    file = str(history_file)
    try:
        text = read_file(history_file, MAX_FILE_BYTES).decode("utf-8", "replace")
    except OSError as error:
        add_issue(item, f"the dialogue history cannot be read: {error.strerror}", file)
        return None

    history = parse_dialogue_history(text)
    if is_other_conversation(process, history):
        add_issue(item, OTHER_CONVERSATION, file)
        return None
    n_unreadable = len(history.unreadable_lines)
    if n_unreadable:
        lines = format_count(n_unreadable, "line")
        first_line = history.unreadable_lines[0]
        what = f"{lines} of the dialogue history, from line {first_line}, belong to no message"
        add_issue(item, what, file, severity="notice")
    return history


def _pair_with_milestones(item: Item, process: Sequence[str], milestones: Sequence[str]) -> int:
    """Add the milestones as golden calls, and pair them with the agent's calls.

    Return how many milestones the agent met before it missed one.
    """
    item.golden = _decode_calls("golden", milestones, range(len(milestones)))
    met_messages = find_milestone_messages(process, milestones)
    is_one_call_each = len(item.golden) == len(milestones) and len(item.predicted) == len(process)
    if is_one_call_each:
        # The indexes of messages are also the indexes of calls.
        item.pairs = pair_milestones(item.golden, item.predicted, met_messages)
    else:
        item.pairs = align_calls(item.golden, item.predicted, COMPARISON_RULES, keep_order=True)
    find_first_difference(item.pairs, item.golden, item.predicted).apply_to(item)
    return len(met_messages)


def _add_recomputed_verdicts(
    item: Item, outcome: CheckOutcome, result: JsonObject, milestones: Any
) -> None:
    """Add the verdict on the end state, and the process accuracy."""
    item.rule = outcome.valid
    item.rule_error_type = outcome.error_type
    verdict = Verdict("rule", outcome.valid, error_type=outcome.error_type, by="end state")
    verdict.rationale = outcome.message
    item.verdicts.append(verdict)

    accuracy = compute_process_accuracy(
        result.get("process"), milestones, is_end_state_correct=outcome.valid
    )
    verdict = Verdict("rule", accuracy.in_mean, criterion=PROCESS_ACCURACY, by="milestones")
    item.verdicts.append(verdict)


def _decode_calls(
    side: Literal["golden", "predicted"], texts: Sequence[str], steps: Sequence[int]
) -> list[Call]:
    """Decode the calls in milestones (golden) or in messages of the agent (predicted), each with
    its step number.
    """
    calls: list[Call] = []
    for step, text in zip(steps, texts, strict=True):
        for call in _decode_text(side, text):
            call.step = step
            call.index = len(calls)
            calls.append(call)
    return calls


def _decode_text(side: Literal["golden", "predicted"], text: str) -> Iterator[Call]:
    """Yield the calls in a text, or one call that could not be decoded."""
    stripped = text.strip()
    try:
        decoded = decode_with_whitespace(_add_brackets(stripped, side))
    except Undecodable as error:
        name, _, _ = stripped.strip("[ ").partition("(")
        yield Call(side, name, arguments=None, raw=text, decode_error=str(error))
        return

    for name, arguments in decoded:
        if side == "golden":
            arguments = {key: AcceptedValues([value]) for key, value in arguments.items()}
        yield Call(side, name, arguments=arguments, raw=text)


def _add_brackets(text: str, side: Literal["golden", "predicted"]) -> str:
    """Return the list of calls in a text. Missing brackets are added, as in the official runner."""
    expression = find_call_expression(text)
    if side == "predicted" and expression is not None:
        return expression
    if side == "golden" and text.startswith("["):
        return text
    return f"[{text}]"


class AttributeDifference(NamedTuple):
    """A difference between one attribute of an end state and the golden state."""

    attribute: str
    message: str


def check_end_state(end_state: Any, golden_state: Any) -> CheckOutcome:
    """Check an end state `[{class: {attribute: value}}]`.

    Golden classes that the end state lacks are not compared.
    """
    error_type = "wrong number of class"
    if not isinstance(end_state, list) or not isinstance(golden_state, list):
        message = "the result record has no end state"
        return CheckOutcome(False, error_type=error_type, message=message)
    if len(end_state) != len(golden_state):
        message = f"the end state has {len(end_state)} classes instead of {len(golden_state)}"
        return CheckOutcome(False, error_type=error_type, message=message)

    for golden_classes in golden_state:
        for class_name, golden_attributes in golden_classes.items():
            attributes = _find_attributes(end_state, class_name)
            if attributes is None:
                continue
            differences = find_attribute_differences(attributes, golden_attributes)
            if differences:
                attribute, text = differences[0]
                return CheckOutcome(
                    False,
                    error_type="class attributes wrong",
                    message=f"{class_name}.{attribute}: {text}",
                    function=class_name,
                    argument=attribute,
                )
    return PASSED


def _find_attributes(end_state: list[Any], class_name: str) -> Any:
    """Return the attributes of the first object of a class, or None."""
    for state in end_state:
        if isinstance(state, dict) and class_name in state:
            return state[class_name]
    return None


def find_attribute_differences(
    predicted: dict[str, Any], golden: dict[str, Any]
) -> list[AttributeDifference]:
    """Return the attributes whose values differ.

    Attributes that only the golden state has are ignored. In an object, keys that only the
    predicted state has are ignored too.
    """
    differences = []
    for name, value in predicted.items():
        if name not in golden:
            differences.append(AttributeDifference(name, "is not in the golden state"))
            continue

        expected = golden[name]
        if isinstance(expected, dict) and isinstance(value, dict):
            wrong_keys = []
            for key, expected_item in expected.items():
                if key not in value or value[key] != expected_item:
                    wrong_keys.append(str(key))
            if wrong_keys:
                text = f"the values of {', '.join(wrong_keys)} differ"
                differences.append(AttributeDifference(name, text))
        elif value != expected:
            differences.append(AttributeDifference(name, f"{value!r} instead of {expected!r}"))
    return differences


def find_state_differences(end_state: Any, golden_state: Any) -> dict[str, StateDifference] | None:
    """Return the differences between two end states by path, such as
    `FoodPlatform.users.Eve.balance`.

    The evaluator does not compare classes whose names differ only in case, so these are omitted.
    """
    if not isinstance(end_state, list) or not isinstance(golden_state, list):
        return None
    golden_classes = _get_attributes_by_class(golden_state)
    predicted_classes = _get_attributes_by_class(end_state)
    golden_names = {name.casefold() for name in golden_classes}
    predicted_names = {name.casefold() for name in predicted_classes}

    differences: dict[str, StateDifference] = {}
    for class_name, golden_attributes in golden_classes.items():
        if class_name in predicted_classes:
            differences |= _find_class_differences(
                class_name, golden_attributes, predicted_classes[class_name]
            )
        elif class_name.casefold() not in predicted_names:
            differences[class_name] = StateDifference(golden_attributes, ABSENT)
    for class_name, attributes in predicted_classes.items():
        if class_name.casefold() not in golden_names:
            differences[class_name] = StateDifference(ABSENT, attributes)
    return _cut_differences(differences) or None


def _find_class_differences(
    class_name: str, golden: dict[str, Any], predicted: dict[str, Any]
) -> dict[str, StateDifference]:
    differences: dict[str, StateDifference] = {}
    for attribute, _ in find_attribute_differences(predicted, golden):
        path = f"{class_name}.{attribute}"
        golden_value = golden.get(attribute, ABSENT)
        differences.update(_find_value_differences(path, golden_value, predicted[attribute]))
    return differences


def _cut_differences(differences: dict[str, StateDifference]) -> dict[str, StateDifference]:
    """Return the first differences, and an entry with the number of those that are left out."""
    n_more = len(differences) - MAX_STATE_DIFFERENCES
    if n_more <= 0:
        return differences
    listed = dict(islice(differences.items(), MAX_STATE_DIFFERENCES))
    listed[f"({n_more} more)"] = StateDifference("", "")
    return listed


def _get_attributes_by_class(state: list[Any]) -> dict[str, dict[str, Any]]:
    """Return class -> attributes of a state `[{class: {attribute: value}}]`."""
    attributes_by_class = {}
    for classes in list_objects(state):
        for name, attributes in classes.items():
            if isinstance(attributes, dict):
                attributes_by_class[str(name)] = attributes
    return attributes_by_class


def _find_value_differences(
    path: str, golden: Any, predicted: Any, depth: int = 0
) -> Iterator[tuple[str, StateDifference]]:
    """Yield (path, difference) for each differing value in two JSON values."""
    if golden == predicted:
        return
    if depth < MAX_STATE_DEPTH and isinstance(golden, dict) and isinstance(predicted, dict):
        for name in golden | predicted:
            yield from _find_value_differences(
                f"{path}.{name}", golden.get(name, ABSENT), predicted.get(name, ABSENT), depth + 1
            )
        return

    are_lists = isinstance(golden, list) and isinstance(predicted, list)
    if depth < MAX_STATE_DEPTH and are_lists and len(golden) == len(predicted):
        for index, golden_element in enumerate(golden):
            yield from _find_value_differences(
                f"{path}[{index}]", golden_element, predicted[index], depth + 1
            )
        return
    yield path, StateDifference(golden, predicted)


class ProcessAccuracy(NamedTuple):
    """The two values that the evaluator computes for the process accuracy of an agent item."""

    in_mean: float
    """Value for the official mean.

    If there are several milestone sequences, the best one counts.
    """
    in_process_file: float
    """Value for the process file, rounded.

    If there are several milestone sequences, the last one counts.
    """


def compute_process_accuracy(
    messages: Any, milestones: Any, *, is_end_state_correct: bool
) -> ProcessAccuracy:
    """Compute the process accuracy of an agent item from the agent's messages.

    It is 1 if the end state is correct.
    """
    if is_end_state_correct or not milestones:
        return ProcessAccuracy(1.0, 1.0)
    calls = messages if isinstance(messages, list) else []
    if isinstance(milestones[0], list):
        shares = [round(compute_milestone_share(calls, sequence), 3) for sequence in milestones]
        return ProcessAccuracy(in_mean=max(shares), in_process_file=shares[-1])
    share = compute_milestone_share(calls, milestones)
    return ProcessAccuracy(in_mean=share, in_process_file=round(share, 3))


def compute_milestone_share(messages: Sequence[Any], milestones: Sequence[str]) -> float:
    """Return the share of milestones that the agent met before it missed one, or 1 without
    milestones.
    """
    if not milestones:
        return 1.0
    return len(find_milestone_messages(messages, milestones)) / len(milestones)


def find_milestone_messages(messages: Sequence[Any], milestones: Sequence[str]) -> list[int]:
    """Return the index of the message that meets each milestone, without the first missed
    milestone and later ones.
    """
    texts = [str(message).strip() for message in messages]
    indexes: list[int] = []
    start = 0
    for milestone in milestones:
        try:
            index = texts.index(str(milestone).strip(), start)
        except ValueError:
            break
        indexes.append(index)
        start = index + 1
    return indexes


class MilestoneSequences(NamedTuple):
    best: list[str]
    """Sequence with the highest share of met milestones."""
    others: list[Any]


def choose_milestone_sequence(messages: Sequence[Any], milestones: Any) -> MilestoneSequences:
    """Choose the best of the alternative milestone sequences for the messages of an agent."""
    if not isinstance(milestones, list) or not milestones:
        return MilestoneSequences([], [])
    if not isinstance(milestones[0], list):
        return MilestoneSequences([str(milestone) for milestone in milestones], [])

    shares = [compute_milestone_share(list(messages), sequence) for sequence in milestones]
    best_index = shares.index(max(shares))
    best = [str(milestone) for milestone in milestones[best_index]]
    others = [sequence for index, sequence in enumerate(milestones) if index != best_index]
    return MilestoneSequences(best, others)


def describe_milestones(milestones: Sequence[str], n_met: int) -> str:
    """Describe the milestones that the agent met and the first missed one: `1 of 3 met: open;
    missed: login`.
    """
    names = [milestone.strip("[ ").partition("(")[0] for milestone in milestones]
    description = f"{n_met} of {len(names)} met"
    if n_met:
        description += f": {', '.join(names[:n_met])}"
    if n_met < len(names):
        description += f"; missed: {names[n_met]}"
    return description


def pair_milestones(
    milestones: Sequence[Call], predicted: Sequence[Call], met_indexes: Sequence[int]
) -> list[CallPair]:
    """Pair each met milestone with the call that met it, and align the missed milestones with the
    later calls.

    `met_indexes` contains the index of the predicted call for each met milestone.
    """
    n_met = len(met_indexes)
    met_pairs: list[CallPair] = []
    for milestone, index in zip(milestones[:n_met], met_indexes, strict=True):
        met_pairs += align_calls([milestone], [predicted[index]], COMPARISON_RULES)[:1]

    start = met_indexes[-1] + 1 if met_indexes else 0
    later_pairs = align_calls(
        milestones[n_met:], predicted[start:], COMPARISON_RULES, keep_order=True
    )
    missed = [pair for pair in later_pairs if pair.golden is not None]
    later_extra = [pair for pair in later_pairs if pair.golden is None]

    earlier_extra = []
    for call in predicted[:start]:
        if call.index not in met_indexes:
            pair = CallPair(call.turn, golden=None, predicted=call.index, name=call.name, state="+")
            earlier_extra.append(pair)
    return met_pairs + missed + earlier_extra + later_extra
