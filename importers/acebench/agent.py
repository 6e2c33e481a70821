"""Fill the agent items of ACEBench: check the end state, and match the agent's calls with the
milestones.

This module reproduces the released process scorer (revision e6db74b). A call meets a milestone only
if it comes after the call that met the previous milestone. Matching stops at the first milestone
that no call meets.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
    question: JsonObject | None,
    answer: JsonObject | None,
    history_file: Path | None,
) -> None:
    """Fill an agent item from its dialogue history and its records in the result, question and
    golden answer files.
    """
    _add_question(item, question or {})
    process = [str(part) for part in as_list(result.get("process"))]
    steps = add_conversation(item, process, _load_history(item, process, history_file))
    item.predicted = _decode_calls("predicted", process, steps)
    item.n_steps = len(process)
    if answer is None:
        return

    milestones = answer.get(MILE_STONE) or []
    _add_milestones(item, process, milestones)
    outcome = check_end_state(result.get("result"), answer.get(GROUND_TRUTH))
    _add_recomputed_verdicts(item, outcome, result, milestones)
    if not outcome.valid:
        set_difference_location(item, outcome.function, outcome.argument)
        item.extra.state_differences = find_state_differences(
            result.get("result"), answer.get(GROUND_TRUTH)
        )
    item.extra.metadata |= {
        "end state": result.get("result"),
        "golden end state": answer.get(GROUND_TRUTH),
    }


def _add_question(item: Item, question: JsonObject) -> None:
    text = str(question.get("question", ""))
    item.question = shorten_question(text)
    if item.category == "agent_multi_turn":
        item.messages = [
            Message(0, -1, role="system", content=text, name=SIMULATED_USER_INSTRUCTION)
        ]
    else:
        item.messages = [Message(0, -1, role="user", content=text)]
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
    try:
        text = read_file(history_file, MAX_FILE_BYTES).decode("utf-8", "replace")
    except OSError as error:
        add_issue(item, f"the dialogue history cannot be read: {error.strerror}", str(history_file))
        return None
    history = parse_dialogue_history(text)
    if is_other_conversation(process, history):
        add_issue(item, OTHER_CONVERSATION, str(history_file))
        return None
    n_unreadable = len(history.unreadable_lines)
    if n_unreadable:
        lines = format_count(n_unreadable, "line")
        what = (
            f"{lines} of the dialogue history, from line {history.unreadable_lines[0]}, belong to"
            " no message"
        )
        add_issue(item, what, str(history_file), severity="notice")
    return history


def _add_milestones(item: Item, process: Sequence[str], milestones: Any) -> None:
    """Add the golden calls, and pair them with the agent's calls."""
    sequence, others = choose_milestone_sequence(process, milestones)
    item.golden = _decode_calls("golden", sequence, range(len(sequence)))
    if others:
        item.extra.metadata["other milestone sequences"] = others
    met = find_milestone_messages(process, sequence)
    if len(item.golden) == len(sequence) and len(item.predicted) == len(process):
        item.pairs = pair_milestones(item.golden, item.predicted, met)
    else:
        # A milestone or a message contains several calls, so `met` does not contain indexes of
        # calls.
        item.pairs = align_calls(item.golden, item.predicted, COMPARISON_RULES, keep_order=True)
    find_first_difference(item.pairs, item.golden, item.predicted).apply_to(item)
    if sequence:
        item.extra.metadata["milestones"] = describe_milestones(sequence, len(met))


def _add_recomputed_verdicts(
    item: Item, outcome: CheckOutcome, result: JsonObject, milestones: Any
) -> None:
    item.rule = outcome.valid
    item.rule_error_type = outcome.error_type
    accuracy, _ = compute_process_accuracy(result.get("process"), milestones, outcome.valid)
    item.verdicts += [
        Verdict(
            "rule",
            outcome.valid,
            error_type=outcome.error_type,
            rationale=outcome.message,
            by="end state",
        ),
        Verdict("rule", accuracy, criterion=PROCESS_ACCURACY, by="milestones"),
    ]
    item.extra.metadata[MILESTONES_MET], _ = compute_process_accuracy(
        result.get("process"), milestones, False
    )


def _decode_calls(
    side: Literal["golden", "predicted"], texts: Sequence[str], steps: Sequence[int]
) -> list[Call]:
    """Decode the calls in milestones (golden) or in messages of the agent (predicted), each with
    its step number.
    """
    calls: list[Call] = []
    for step, text in zip(steps, texts, strict=True):
        try:
            decoded = decode_with_whitespace(_add_brackets(text.strip(), side))
        except Undecodable as error:
            name = text.strip().strip("[ ").partition("(")[0]
            calls.append(
                Call(
                    side,
                    name,
                    arguments=None,
                    step=step,
                    index=len(calls),
                    raw=text,
                    decode_error=str(error),
                )
            )
            continue
        for name, arguments in decoded:
            if side == "golden":
                arguments = {
                    argument: AcceptedValues([value]) for argument, value in arguments.items()
                }
            calls.append(
                Call(side, name, arguments=arguments, step=step, index=len(calls), raw=text)
            )
    return calls


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
    if not isinstance(end_state, list) or not isinstance(golden_state, list):
        return CheckOutcome(
            False, error_type="wrong number of class", message="the result record has no end state"
        )
    if len(end_state) != len(golden_state):
        text = f"the end state has {len(end_state)} classes instead of {len(golden_state)}"
        return CheckOutcome(False, error_type="wrong number of class", message=text)
    for expected in golden_state:
        for name, golden_attributes in expected.items():
            states = (
                state[name] for state in end_state if isinstance(state, dict) and name in state
            )
            attributes = next(states, None)
            if attributes is None:
                continue
            for attribute, text in find_attribute_differences(attributes, golden_attributes):
                return CheckOutcome(
                    False,
                    error_type="class attributes wrong",
                    message=f"{name}.{attribute}: {text}",
                    function=name,
                    argument=attribute,
                )
    return PASSED


def find_attribute_differences(
    predicted: dict[str, Any], golden: dict[str, Any]
) -> list[AttributeDifference]:
    """Return the attributes whose values differ.

    Attributes that only the golden state has are ignored.
    """
    found = []
    for name, value in predicted.items():
        if name not in golden:
            found.append(AttributeDifference(name, "is not in the golden state"))
            continue
        expected = golden[name]
        if isinstance(expected, dict) and isinstance(value, dict):
            if wrong := [
                key for key, item in expected.items() if key not in value or value[key] != item
            ]:
                found.append(
                    AttributeDifference(name, f"the values of {', '.join(map(str, wrong))} differ")
                )
        elif value != expected:
            found.append(AttributeDifference(name, f"{value!r} instead of {expected!r}"))
    return found


def find_state_differences(end_state: Any, golden_state: Any) -> dict[str, StateDifference] | None:
    """Return the differences between two end states by path, such as
    `FoodPlatform.users.Eve.balance`.

    The evaluator does not compare classes whose names differ only in case, so these are omitted.
    """
    if not isinstance(end_state, list) or not isinstance(golden_state, list):
        return None
    differences: dict[str, StateDifference] = {}
    expected_by_class, attributes_by_class = (
        _get_attributes_by_class(golden_state),
        _get_attributes_by_class(end_state),
    )
    on_both_sides = {name.casefold() for name in expected_by_class} & {
        name.casefold() for name in attributes_by_class
    }
    for name, expected in expected_by_class.items():
        attributes = attributes_by_class.get(name)
        if attributes is None:
            if name.casefold() not in on_both_sides:
                differences[name] = StateDifference(expected, ABSENT)
            continue
        for attribute, _ in find_attribute_differences(attributes, expected):
            path, golden_value = f"{name}.{attribute}", expected.get(attribute, ABSENT)
            differences.update(
                _find_value_differences(path, golden_value, attributes[attribute], 0)
            )
    for name, attributes in attributes_by_class.items():
        if name.casefold() not in on_both_sides:
            differences[name] = StateDifference(ABSENT, attributes)
    if len(differences) > MAX_STATE_DIFFERENCES:
        listed = dict(list(differences.items())[:MAX_STATE_DIFFERENCES])
        return listed | {
            f"({len(differences) - MAX_STATE_DIFFERENCES} more)": StateDifference("", "")
        }
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
    messages: Any, milestones: Any, is_end_state_correct: bool
) -> ProcessAccuracy:
    """Compute the process accuracy of an agent item from the agent's messages.

    It is 1 if the end state is correct.
    """
    if is_end_state_correct or not milestones:
        return ProcessAccuracy(1.0, 1.0)
    calls = messages if isinstance(messages, list) else []
    if isinstance(milestones[0], list):
        scores = [round(compute_milestone_share(calls, sequence), 3) for sequence in milestones]
        return ProcessAccuracy(max(scores), scores[-1])
    score = compute_milestone_share(calls, milestones)
    return ProcessAccuracy(score, round(score, 3))


def compute_milestone_share(messages: Sequence[Any], milestones: Sequence[str]) -> float:
    """Return the share of milestones that the agent met before it missed one, or 1 without
    milestones.
    """
    return (
        len(find_milestone_messages(messages, milestones)) / len(milestones) if milestones else 1.0
    )


def find_milestone_messages(messages: Sequence[Any], milestones: Sequence[str]) -> list[int]:
    """Return the index of the message that meets each milestone, without the first missed
    milestone and later ones.
    """
    texts = [str(message).strip() for message in messages]
    found: list[int] = []
    for milestone in milestones:
        try:
            found.append(texts.index(str(milestone).strip(), found[-1] + 1 if found else 0))
        except ValueError:
            break
    return found


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
    best = shares.index(max(shares))
    others = [sequence for index, sequence in enumerate(milestones) if index != best]
    return MilestoneSequences([str(milestone) for milestone in milestones[best]], others)


def describe_milestones(milestones: Sequence[str], n_met: int) -> str:
    """Describe the milestones that the agent met and the first missed one: `1 of 3 met: open;
    missed: login`.
    """
    names = [milestone.strip("[ ").partition("(")[0] for milestone in milestones]
    met = f": {', '.join(names[:n_met])}" if n_met else ""
    return f"{n_met} of {len(names)} met{met}" + (
        f"; missed: {names[n_met]}" if n_met < len(names) else ""
    )


def pair_milestones(
    milestones: Sequence[Call], predicted: Sequence[Call], met_indexes: Sequence[int]
) -> list[CallPair]:
    """Pair each met milestone with the call that met it, and align the missed milestones with the
    later calls.

    `met_indexes` contains the index of the predicted call for each met milestone.
    """
    start = met_indexes[-1] + 1 if met_indexes else 0
    pairs = zip(milestones, met_indexes, strict=False)
    met_pairs = [
        align_calls([milestone], [predicted[index]], COMPARISON_RULES)[0]
        for milestone, index in pairs
    ]
    rest = align_calls(
        milestones[len(met_indexes) :], predicted[start:], COMPARISON_RULES, keep_order=True
    )
    earlier = [
        CallPair(call.turn, golden=None, predicted=call.index, name=call.name, state="+")
        for call in predicted[:start]
    ]
    unmatched = [pair for pair in earlier if pair.predicted not in met_indexes]
    missed = [pair for pair in rest if pair.golden is not None]
    return met_pairs + missed + unmatched + [pair for pair in rest if pair.golden is None]
