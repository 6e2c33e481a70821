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
from fcreview.model.derivation import MILESTONES_MET
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
    """Grade an agent item by the two rules of the evaluator.

    The agent acts on simulated apps. Rule 1: the state of the apps after its last call must equal
    the golden end state. Rule 2: the agent should make the golden calls, called milestones, in
    order; the share that it met is the process accuracy.

    Args:
        item: The item that gets the pairs, verdicts and differences.
        process: The agent's messages, each with calls such as `[login(name='Eve')]`.
        result: The item's record in the result file, with the end state of the apps.
        answer: The item's record in the file of golden answers.
    """
    milestones = answer.get(MILE_STONE) or []
    # The golden answer may contain alternative milestone sequences.
    sequence = choose_milestone_sequence(process, milestones)
    n_met = _pair_with_milestones(item, process, sequence.best)
    if sequence.others:
        item.extra.metadata["other milestone sequences"] = sequence.others
    if sequence.best:
        item.extra.metadata["milestones"] = describe_milestones(sequence.best, n_met)

    end_state = result.get("result")
    golden_state = answer.get(GROUND_TRUTH)
    outcome = check_end_state(end_state, golden_state)
    _add_recomputed_verdicts(item, outcome, result, milestones)
    if not outcome.valid:
        set_difference_location(item, outcome.function, outcome.argument)
        item.extra.state_differences = find_state_differences(end_state, golden_state)
    item.extra.metadata["end state"] = end_state
    item.extra.metadata["golden end state"] = golden_state

    # With a correct end state, the process accuracy is 1 whatever the agent called. If a reviewer
    # decides that the end state is wrong, this stored share replaces it.
    share = compute_process_accuracy(result.get("process"), milestones, is_end_state_correct=False)
    item.extra.metadata[MILESTONES_MET] = share.in_mean


def _add_question(item: Item, question: JsonObject) -> None:
    """Add the question as a message, and the initial state of the environment."""
    text = str(question.get("question", ""))
    item.question = shorten_question(text)
    message = Message(turn=0, step=-1, role="user", content=text)
    if item.category == "agent_multi_turn":
        # The question instructs the simulated user, and the agent does not see it.
        message.role = "system"
        message.name = SIMULATED_USER_INSTRUCTION
    item.messages = [message]

    initial_state = question.get("initial_config")
    if initial_state:
        content = orjson.dumps(to_plain_json(initial_state)).decode()
        item.messages.append(
            Message(turn=0, step=-1, role="state", content=content, name="at the start")
        )


def _load_history(
    item: Item, process: Sequence[str], history_file: Path | None
) -> DialogueHistory | None:
    """Load the dialogue history of an item, the file in which the runner logged all messages.

    Returns None if there is no readable file, or if its calls differ from those in `process`, the
    agent's messages in the result file. Problems become import issues of the item.
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
        problem = f"{lines} of the dialogue history, from line {first_line}, belong to no message"
        add_issue(item, problem, file, severity="notice")
    return history


def _pair_with_milestones(item: Item, process: Sequence[str], milestones: Sequence[str]) -> int:
    """Add the milestones to an item as golden calls, and pair them with the agent's calls.

    `process` contains the agent's messages and `milestones` the golden calls, each as text such as
    `[login(name='Eve')]`. Returns how many milestones the agent met before it missed one.
    """
    item.golden = _decode_calls("golden", milestones, range(len(milestones)))
    met_messages = find_milestone_messages(process, milestones)

    is_one_call_each = len(item.golden) == len(milestones) and len(item.predicted) == len(process)
    if is_one_call_each:
        # A message and its only call have the same index, so the met messages name the met calls.
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
    """Yield the calls in a text such as `[login(name='Eve'), open()]`.

    If the text cannot be decoded, yield one call with the text and the decoding error.
    """
    stripped = text.strip()
    try:
        decoded = decode_with_whitespace(_add_brackets(stripped, side))
    except Undecodable as error:
        # The name before the first parenthesis is a guess that only helps the reader.
        name, _, _ = stripped.strip("[ ").partition("(")
        yield Call(side, name, arguments=None, raw=text, decode_error=str(error))
        return

    for name, arguments in decoded:
        if side == "golden":
            # A golden argument lists the accepted values. A milestone has exactly one.
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
    """Check the state of the simulated apps after the agent's last call.

    A state is a list of objects with one app each: `[{"Phone": {"wifi": true}}]`. As in the
    evaluator, the states must have equally many apps, and each app that both have must have the
    golden attributes. The outcome names the first wrong attribute.
    """
    error_type = "wrong number of class"
    if not isinstance(end_state, list) or not isinstance(golden_state, list):
        message = "the result record has no end state"
        return CheckOutcome(False, error_type=error_type, message=message)
    if len(end_state) != len(golden_state):
        message = f"the end state has {len(end_state)} classes instead of {len(golden_state)}"
        return CheckOutcome(False, error_type=error_type, message=message)

    for golden_apps in golden_state:
        for app_name, golden_attributes in golden_apps.items():
            outcome = _check_app(end_state, app_name, golden_attributes)
            if not outcome.valid:
                return outcome
    return PASSED


def _check_app(
    end_state: list[Any], app_name: str, golden_attributes: dict[str, Any]
) -> CheckOutcome:
    """Check the attributes of one app in an end state."""
    attributes = _find_attributes(end_state, app_name)
    # The evaluator ignores a golden app that the end state lacks.
    if attributes is None:
        return PASSED
    differences = find_attribute_differences(attributes, golden_attributes)
    if not differences:
        return PASSED
    first = differences[0]
    return CheckOutcome(
        False,
        error_type="class attributes wrong",
        message=f"{app_name}.{first.attribute}: {first.message}",
        function=app_name,
        argument=first.attribute,
    )


def _find_attributes(end_state: list[Any], class_name: str) -> Any:
    """Return the attributes of the first object of a class, or None."""
    for state in end_state:
        if isinstance(state, dict) and class_name in state:
            return state[class_name]
    return None


def find_attribute_differences(
    predicted: dict[str, Any], golden: dict[str, Any]
) -> list[AttributeDifference]:
    """Compare the attributes of one simulated app with the golden ones, as the evaluator does.

    Every predicted attribute must equal the golden one. An attribute that is missing in the
    prediction is ignored.
    """
    differences = []
    for name, value in predicted.items():
        if name not in golden:
            differences.append(AttributeDifference(name, "is not in the golden state"))
            continue

        golden_value = golden[name]
        if isinstance(golden_value, dict) and isinstance(value, dict):
            wrong_keys = _list_wrong_keys(value, golden_value)
            if wrong_keys:
                message = f"the values of {', '.join(wrong_keys)} differ"
                differences.append(AttributeDifference(name, message))
        elif value != golden_value:
            message = f"{value!r} instead of {golden_value!r}"
            differences.append(AttributeDifference(name, message))
    return differences


def _list_wrong_keys(predicted: dict[str, Any], golden: dict[str, Any]) -> list[str]:
    """List the golden keys that are missing or have another value. Further predicted keys are
    allowed.
    """
    return [
        str(key)
        for key, golden_value in golden.items()
        if key not in predicted or predicted[key] != golden_value
    ]


def find_state_differences(end_state: Any, golden_state: Any) -> dict[str, StateDifference] | None:
    """Return all differences between two states of the simulated apps, to show them to reviewers.

    The keys are paths such as `FoodPlatform.users.Eve.balance`. Returns None if there are none, or
    if a state is not a list.
    """
    if not isinstance(end_state, list) or not isinstance(golden_state, list):
        return None
    golden_apps = _get_attributes_by_class(golden_state)
    predicted_apps = _get_attributes_by_class(end_state)

    # The evaluator does not compare apps whose names differ only in case. They are not shown as
    # missing, because they did not cause the failure.
    golden_names = {name.casefold() for name in golden_apps}
    predicted_names = {name.casefold() for name in predicted_apps}

    differences: dict[str, StateDifference] = {}
    for name, golden_attributes in golden_apps.items():
        if name in predicted_apps:
            differences |= _find_class_differences(name, golden_attributes, predicted_apps[name])
        elif name.casefold() not in predicted_names:
            differences[name] = StateDifference(golden_attributes, ABSENT)
    for name, attributes in predicted_apps.items():
        if name.casefold() not in golden_names:
            differences[name] = StateDifference(ABSENT, attributes)
    return _cut_differences(differences) or None


def _find_class_differences(
    class_name: str, golden: dict[str, Any], predicted: dict[str, Any]
) -> dict[str, StateDifference]:
    """Return the differences between two states of an app, by path."""
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
    """Compare two JSON values, and yield the path and the two values of each difference.

    Objects are compared key by key, and lists of equal length element by element. All other
    values, and those below the maximum depth, are compared as a whole.
    """
    if golden == predicted:
        return

    is_comparable_depth = depth < MAX_STATE_DEPTH
    if is_comparable_depth and isinstance(golden, dict) and isinstance(predicted, dict):
        # A key of only one object is a difference too.
        for key in golden | predicted:
            golden_value = golden.get(key, ABSENT)
            predicted_value = predicted.get(key, ABSENT)
            yield from _find_value_differences(
                f"{path}.{key}", golden_value, predicted_value, depth + 1
            )
        return

    are_lists = isinstance(golden, list) and isinstance(predicted, list)
    if is_comparable_depth and are_lists and len(golden) == len(predicted):
        for index, golden_value in enumerate(golden):
            yield from _find_value_differences(
                f"{path}[{index}]", golden_value, predicted[index], depth + 1
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


N_DECIMALS = 3
"""Decimals of the process accuracies that the evaluator rounds."""


def compute_process_accuracy(
    messages: Any, milestones: Any, *, is_end_state_correct: bool
) -> ProcessAccuracy:
    """Compute the share of milestones, the golden calls, that the agent met in order.

    As in the evaluator, the accuracy is 1 if the end state is correct, whatever the agent called.
    The evaluator rounds the share of an alternative sequence before it looks for the best one, but
    the share of a single sequence only when it writes it to the process file.

    Args:
        messages: The agent's messages with its calls.
        milestones: A list of calls, or a list of alternative lists.
        is_end_state_correct: Whether the simulated apps ended in the golden state.
    """
    if is_end_state_correct or not milestones:
        return ProcessAccuracy(1.0, 1.0)

    calls = messages if isinstance(messages, list) else []
    has_alternatives = isinstance(milestones[0], list)
    if has_alternatives:
        # The official mean uses the best alternative, the process file the last one.
        rounded_shares = [
            round(compute_milestone_share(calls, sequence), N_DECIMALS) for sequence in milestones
        ]
        return ProcessAccuracy(in_mean=max(rounded_shares), in_process_file=rounded_shares[-1])

    share = compute_milestone_share(calls, milestones)
    return ProcessAccuracy(in_mean=share, in_process_file=round(share, N_DECIMALS))


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
    """Choose the sequence of golden calls of which the agent made the largest share.

    `milestones` is a list of golden calls, or a list of alternative lists, of which one suffices.
    """
    if not isinstance(milestones, list) or not milestones:
        return MilestoneSequences([], [])
    has_alternatives = isinstance(milestones[0], list)
    if not has_alternatives:
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
    """Pair milestones, the golden calls, with the agent's calls.

    The agent met the first milestones in order, until it missed one. These are paired with the
    calls that met them. The others are aligned with the calls after that, to show the reader what
    the agent did instead. Calls that no milestone demands are listed last, in the agent's order.

    Args:
        milestones: All milestones, the met ones first.
        predicted: All calls of the agent. The index of a call is its position in this list.
        met_indexes: For each met milestone, the index of the call that met it, in rising order.
    """
    n_met = len(met_indexes)
    met_calls = [predicted[index] for index in met_indexes]
    met_pairs = [
        _pair_with_met_milestone(milestone, call)
        for milestone, call in zip(milestones[:n_met], met_calls, strict=True)
    ]

    # Calls up to the one that met the last milestone precede all missed milestones.
    n_earlier = met_indexes[-1] + 1 if met_indexes else 0
    earlier_extra = [
        _make_extra_pair(call) for call in predicted[:n_earlier] if call.index not in met_indexes
    ]
    later_pairs = align_calls(
        milestones[n_met:], predicted[n_earlier:], COMPARISON_RULES, keep_order=True
    )
    missed = [pair for pair in later_pairs if pair.golden is not None]
    later_extra = [pair for pair in later_pairs if pair.golden is None]
    return met_pairs + missed + earlier_extra + later_extra


def _pair_with_met_milestone(milestone: Call, call: Call) -> CallPair:
    (pair,) = align_calls([milestone], [call], COMPARISON_RULES)
    return pair


def _make_extra_pair(call: Call) -> CallPair:
    """Make the pair of a predicted call without a golden call."""
    return CallPair(call.turn, golden=None, predicted=call.index, name=call.name, state="+")
