"""Fill the items of two tasks whose logs contain more than Inspect's scores: `bfcl` and tau2-bench.

The metadata of a `bfcl` sample contains the golden answer and the function docs. In these docs, the
task replaced the types of Java and JavaScript parameters by `string`, and moved the types to the
descriptions. If the dataset has the same question and golden answer, fcreview uses the dataset's
function docs. Otherwise, it restores the types from the descriptions.

The `messages` of a tau2-bench sample are the conversation as the simulated user sees it. The
conversation of the agent, with the calls of both, is in the store under
`StoredAgentState:AGENT:trajectory`. The golden actions are one way to solve the task. They count
only if `ACTION` is part of the reward.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from fcreview.importers.bfcl import filenames
from fcreview.importers.bfcl.checker.call_check import pair_calls
from fcreview.importers.bfcl.checker.evaluate import (
    Evaluation,
    evaluate_calls,
    evaluate_undecodable_reply,
)
from fcreview.importers.bfcl.checker.rules import NOT_RECOMPUTED_NOTES, find_category_rules
from fcreview.importers.bfcl.checker.schema import COMPARISON_RULES
from fcreview.importers.bfcl.dataset import (
    DatasetFiles,
    DatasetItem,
    load_dataset,
    make_dataset_item,
)
from fcreview.importers.bfcl.decoders.base import NameSpelling
from fcreview.importers.bfcl.items import set_first_difference
from fcreview.importers.bfcl.joining import is_same_golden_answer, is_same_question
from fcreview.importers.common.records import as_list, as_object, list_objects, shorten_question
from fcreview.importers.inspect.content import get_text_and_error, read_tool_call
from fcreview.importers.inspect.messages import (
    Conversation,
    build_conversation,
    find_last_reply_text,
)
from fcreview.importers.inspect.sample import AGENT_STATE_PREFIX, LogSample
from fcreview.importers.inspect.scores import shorten_explanation
from fcreview.importers.tau.checker import read_reward_basis
from fcreview.importers.tau.conversation import (
    ConversationMessage,
    ToolCall,
    add_conversation,
    add_instruction,
    pair_golden_actions,
    read_golden_actions,
)
from fcreview.importers.tau.read import read_scenario
from fcreview.matching.align import align_calls_by_turn
from fcreview.model.address import turn_address
from fcreview.model.item import (
    Call,
    CallPair,
    GoldenObject,
    ImportIssue,
    Item,
    StateDifference,
    Verdict,
)
from fcreview.model.json_value import answer_hash, to_plain_json


class Cause(NamedTuple):
    """Reason why the verdicts of the task `bfcl` and of BFCL differ.

    `name` is the item's error type.
    """

    name: str
    text: str


TYPED_VALUE = Cause(
    "task:typed_value",
    "The task compares the text of a Java or JavaScript value with the golden value. BFCL converts"
    " the text first.",
)
OBJECT_VALUE = Cause(
    "task:object_value",
    "The task compares an object with a golden object that lists accepted values. BFCL compares the"
    " single fields.",
)
UNDECODABLE_CALL = Cause(
    "task:undecodable_call",
    "The task counts a call whose arguments are not JSON. BFCL does not count it, and the golden"
    " answer has no call.",
)
NUMBER_IN_LIST = Cause(
    "task:number_in_list",
    "The task accepts whole numbers in a list of floats. BFCL fails them (type_error:nested).",
)
TYPED_REPLY = Cause(
    "task:typed_reply",
    "The task accepts a typed Java or JavaScript value. BFCL expects a string with its source"
    " code.",
)
DEFAULT_VALUE = Cause(
    "task:default_value",
    "The task accepts a missing optional parameter and an unexpected one with its default value."
    " BFCL fails both.",
)
NAME_SPELLING = Cause(
    "task:name_spelling",
    "The task accepts both `.` and `_` in function names. BFCL expects one spelling.",
)
OTHER = Cause(
    "task:other",
    "The task and BFCL score this reply differently. fcreview does not know the reason.",
)
_CAUSE_TEXTS = (
    (TYPED_REPLY, ("type_error:js", "type_error:java", "is not a string with")),
    (NUMBER_IN_LIST, ("type_error:nested", "has elements that are not")),
    (NAME_SPELLING, ("wrong_func_name", "is called instead of")),
    (DEFAULT_VALUE, ("missing_optional", "must not omit", "unexpected_param", "not expected in")),
)
"""Each cause, and texts of the recomputed verdict that show it.

The first matching cause applies.
"""


def find_difference_cause(item: Item) -> Cause:
    """Return why the task's verdict on an item differs from the recomputed one."""
    if item.official is False:
        return _find_cause_of_task_fail(item)
    return _find_cause_of_bfcl_fail(item)


def _find_cause_of_task_fail(item: Item) -> Cause:
    """Return why Inspect's task fails an item that passes by BFCL's own rules."""
    if any(call.arguments is None for call in item.predicted):
        return UNDECODABLE_CALL
    if find_category_rules(item.category, is_v1=False).language != "python":
        return TYPED_VALUE

    for call in item.golden:
        for accepted in (call.arguments or {}).values():
            if _contains_object(accepted.any_of):
                return OBJECT_VALUE
    return OTHER


def _contains_object(value: Any) -> bool:
    if isinstance(value, list):
        return any(map(_contains_object, value))
    return isinstance(value, (dict, GoldenObject))


def _find_cause_of_bfcl_fail(item: Item) -> Cause:
    """Return the probable cause of a fail, by texts in the error type and in the reasons of the
    recomputed verdicts. If none is known, see whether the names are spelled in two ways.
    """
    rationales = [verdict.rationale or "" for verdict in item.verdicts if verdict.source == "rule"]
    text = " ".join([item.rule_error_type or "", *rationales])
    for cause, telling_texts in _CAUSE_TEXTS:
        if any(telling_text in text for telling_text in telling_texts):
            return cause

    if _has_mixed_spellings(item):
        return NAME_SPELLING
    return OTHER


def _has_mixed_spellings(item: Item) -> bool:
    """Whether the reply has names with a dot, and also a golden name with `_` instead of it."""
    flat_golden_names = {call.name.replace(".", "_") for call in item.golden if "." in call.name}
    has_dotted_name = any("." in call.name for call in item.predicted)
    has_flat_name = any(call.name in flat_golden_names for call in item.predicted)
    return has_dotted_name and has_flat_name


RULES = "BFCL rules"
MULTI_TURN = "multi_turn"
AGENTIC = "agentic"
NO_EXEC_NOTE = "BFCL V4 has no executable categories"
_SHOWN_FIELDS = frozenset(
    {
        "tools",
        "raw_question",
        "raw_ground_truth",
        "parsed_ground_truth",
        "turns",
        "model_execution_calls",
        "model_execution_results",
        "missed_function_docs",
    }
)
"""Metadata fields of a sample whose content the item already has as messages, functions or
calls.
"""
_TYPE_HINT = re.compile(
    r"This is (?:Java|JavaScript) (\S{1,40}) type parameter in string representation\."
)
_ANY_HINT = re.compile(
    r"This parameter can be of any type of (?:Java|JavaScript) object in string representation\."
)
_ELEMENT_HINT = re.compile(
    r"The list elements are of type (\S{1,40}); they are not in string representation\."
)
_ERROR_TYPES = {
    r"Missing required parameter: \S": "missing_required",
    r"Unexpected parameter: \S": "unexpected_param",
    r"Invalid value for \S+?:": "wrong_value",
    r"Invalid type for \S+?[:.]": "type_error",
    r"Nested type checking failed": "type_error:nested",
    r"Function name mismatch": "wrong_func_name",
    r"Expected 1 function call|Wrong number of function calls": "wrong_count",
    r"No match found for: \S": "cannot_find_match",
    r"Incorrectly produced": "irrelevance_error",
    r"State mismatch": "multi_turn:instance_state_mismatch",
    r"Response mismatch": "multi_turn:execution_response_mismatch",
    r"Response (?:does not contain|contains none)": "agentic:answer_not_found",
}
"""Pattern at the start of the scorer's explanation -> error type."""
_FAILING_TURN = re.compile(r"Response mismatch at turn (?P<turn>\d{1,4})")
_STATE = re.compile(r'^  (\w{1,80}): model="(.*?)", expected="(.*?)"$', re.MULTILINE | re.DOTALL)
MAX_STATE_DIFFERENCES = 20
MAX_STATE_TEXT = 200_000
"""Number of characters of an explanation that are searched for state differences."""


@dataclass(slots=True)
class BfclTask:
    """The dataset files of a run, by category."""

    files: dict[str, DatasetFiles] = field(default_factory=dict)

    def find_dataset_item(
        self, item_id: str, category: str, metadata: dict[str, Any], issues: list[ImportIssue]
    ) -> DatasetItem:
        """Return the BFCL item of a sample: the dataset's, if it has the question and the golden
        answer of the sample, else one made from the sample.

        A difference is an issue, because the dataset may be of another version.
        """
        item_of_log = _make_item_from_sample(item_id, category, metadata)
        files = self.files.get(category)
        if files is None:
            return item_of_log
        item_of_dataset = load_dataset(files, category).items.get(item_id)
        if item_of_dataset is None:
            return item_of_log

        different_part = _find_different_part(item_of_dataset, item_of_log, metadata)
        if different_part is None:
            return item_of_dataset
        issues.append(_make_difference_issue(files, item_id, different_part))
        return item_of_log


def _make_difference_issue(files: DatasetFiles, item_id: str, part: str) -> ImportIssue:
    text = f"the {part} in the dataset differs from the one in the log. Using the one in the log"
    return ImportIssue(str(files.questions), None, what=text, item=item_id)


def _find_different_part(
    item_of_dataset: DatasetItem, item_of_log: DatasetItem, metadata: dict[str, Any]
) -> str | None:
    """Return which part of a dataset item differs from the log, or None if it is the same item."""
    turns = metadata.get("turns") or metadata.get("raw_question")
    if not is_same_question(item_of_dataset.turns, turns):
        return "question"
    if item_of_log.ground_truth is None:
        return None
    if not is_same_golden_answer(item_of_dataset.ground_truth, item_of_log.ground_truth):
        return "golden answer"
    return None


def _make_item_from_sample(item_id: str, category: str, metadata: dict[str, Any]) -> DatasetItem:
    """Make a BFCL dataset item from the metadata of a sample, in which Inspect keeps the question,
    the functions and the golden answer.

    Inspect changes the parameter types of Java and JavaScript functions, so they are restored.
    """
    function_docs = list_objects(metadata.get("tools"))
    if metadata.get("language") in ("java", "js", "javascript"):
        function_docs = [restore_parameter_types(doc) for doc in function_docs]
    turns = metadata.get("turns") or metadata.get("raw_question")
    question = {"question": turns, "function": function_docs}

    # The scorers `relevance` and `irrelevance` check only whether there is a call.
    golden_answer = metadata.get("raw_ground_truth")
    is_relevance = metadata.get("scorer") in ("irrelevance", "relevance")
    answer_record = None
    if golden_answer not in (None, "", []) and not is_relevance:
        answer_record = {"ground_truth": golden_answer}
    return make_dataset_item(item_id, category, question, answer_record)


def restore_parameter_types(function_doc: dict[str, Any]) -> dict[str, Any]:
    """Return a function doc in which each parameter has the type that its description names,
    instead of `string`.
    """
    parameters = as_object(function_doc.get("parameters"))
    properties = parameters.get("properties")
    if not isinstance(properties, dict):
        return function_doc
    restored = {name: _restore_parameter_type(schema) for name, schema in properties.items()}
    return function_doc | {"parameters": parameters | {"properties": restored}}


def _restore_parameter_type(schema: Any) -> Any:
    """Return the schema of a parameter with its original type, which Inspect's conversion moved
    into the description. Without such a hint, the schema is returned unchanged.
    """
    description = as_object(schema).get("description")
    if not isinstance(description, str):
        return schema
    if _ANY_HINT.search(description):
        return schema | {"type": "any"}

    type_hint = _TYPE_HINT.search(description)
    if type_hint is None:
        return schema
    restored = schema | {"type": type_hint[1]}
    element_hint = _ELEMENT_HINT.search(description)
    if element_hint is not None:
        restored["items"] = {"type": element_hint[1]}
    return restored


def fill_bfcl_item(item: Item, sample: LogSample, task: BfclTask) -> Conversation:
    """Fill an item of BFCL, which Inspect ran: golden calls, conversation, pairs and the recomputed
    verdict. Return the conversation.

    The official verdict is set later. `set_bfcl_error_type` then compares the two verdicts.
    """
    sample_value = sample.value
    metadata: dict[str, Any] = sample_value["metadata"]
    item.category = str(metadata.get("category_name"))
    _remove_shown_metadata(item)
    dataset_item = task.find_dataset_item(
        str(sample_value.get("id")), item.category, metadata, item.issues
    )
    item.question = dataset_item.question
    item.functions = dataset_item.functions
    item.golden = dataset_item.golden_calls
    item.golden_hash = dataset_item.golden_hash

    conversation = _read_bfcl_conversation(sample_value, dataset_item)
    conversation.apply_to(item)
    _compare_with_golden_answer(item, dataset_item, sample_value)
    return conversation


def _read_bfcl_conversation(
    sample_value: dict[str, Any], dataset_item: DatasetItem
) -> Conversation:
    """Read the conversation of a sample. A sample that failed early has no messages, so it shows
    those of the question.
    """
    scorer = sample_value["metadata"].get("scorer")
    conversation = build_conversation(
        sample_value.get("messages"), is_turn_per_user_message=scorer == MULTI_TURN
    )
    if not conversation.messages:
        conversation.messages = list(dataset_item.opening_messages)
    return conversation


def _compare_with_golden_answer(
    item: Item, dataset_item: DatasetItem, sample_value: dict[str, Any]
) -> None:
    """Compare the reply with the golden answer. The scorer says what kind of golden answer the item
    has: texts, turns of calls, or calls.
    """
    metadata = sample_value["metadata"]
    scorer = metadata.get("scorer")
    if scorer == AGENTIC:
        _fill_agentic_item(item, metadata.get("raw_ground_truth"))
    elif scorer == MULTI_TURN:
        item.pairs = align_calls_by_turn(item.golden, item.predicted, COMPARISON_RULES)
        item.rule_note = NOT_RECOMPUTED_NOTES["multi_turn"]
    else:
        has_error = sample_value.get("error") is not None
        _recompute_verdict(item, dataset_item, item.category, has_sample_error=has_error)


def _remove_shown_metadata(item: Item) -> None:
    """Remove the metadata of the sample that the item shows in other places."""
    sample_metadata = item.extra.metadata.get("metadata", {})
    item.extra.metadata["metadata"] = {
        name: value for name, value in sample_metadata.items() if name not in _SHOWN_FIELDS
    }


def _fill_agentic_item(item: Item, accepted_answers: Any) -> None:
    """Fill the answers of an item of an agentic category, which are texts instead of calls."""
    item.golden = []
    if isinstance(accepted_answers, list):
        item.extra.accepted_answers = accepted_answers
    else:
        item.extra.accepted_answers = None
    item.extra.final_answer = find_last_reply_text(item.messages)
    item.rule_note = NOT_RECOMPUTED_NOTES["agentic"]


def _recompute_verdict(
    item: Item, dataset_item: DatasetItem, category: str, *, has_sample_error: bool
) -> None:
    """Pair the calls of an item, and recompute its verdict by BFCL's rules.

    A sample that ended with an error (`has_sample_error`) has no reply to check, so it gets no
    verdict.
    """
    _put_calls_into_one_step(item)
    rules = find_category_rules(category, is_v1=False)
    if has_sample_error:
        item.pairs = pair_calls(dataset_item, item.predicted, rules, with_schema_violations=False)
        item.rule_note = "the sample ended with an error, so there is no reply to check"
        return

    evaluation = evaluate_sample(item.predicted, dataset_item, category)
    is_failing = evaluation.valid is False
    item.pairs = pair_calls(dataset_item, item.predicted, rules, with_schema_violations=is_failing)
    item.rule = evaluation.valid
    item.rule_note = NO_EXEC_NOTE if category.startswith("exec_") else evaluation.note
    if evaluation.valid is not None:
        _add_recomputed_verdict(item, evaluation)
    if is_failing:
        set_first_difference(item, item.pairs, evaluation)


def _put_calls_into_one_step(item: Item) -> None:
    """Number the calls of an item. In BFCL, all calls of a single-turn reply are one step."""
    for index, call in enumerate(item.predicted):
        call.turn = 0
        call.step = 0
        call.index = index


def _add_recomputed_verdict(item: Item, evaluation: Evaluation) -> None:
    """Add the verdict of BFCL's own rules on an item."""
    item.rule_error_type = evaluation.error_type
    item.extra.metadata["is_recomputed"] = True
    verdict = Verdict(
        "rule",
        evaluation.valid,
        target="item",
        criterion="correct",
        error_type=evaluation.error_type,
        rationale="\n".join(evaluation.messages) or None,
        by=RULES,
    )
    item.verdicts.append(verdict)


def evaluate_sample(
    predicted: Sequence[Call], dataset_item: DatasetItem, category: str
) -> Evaluation:
    """Check a reply by BFCL's rules.

    BFCL accepts either `math.factorial` or `math_factorial`, depending on the model's family, which
    a log does not name. fcreview expects the dotted spelling if the reply uses it, else the other
    one, which the task shows the model. A reply with both spellings fails. A call whose arguments
    are not JSON makes the whole reply undecodable.
    """
    rules = find_category_rules(category, is_v1=False)
    for call in predicted:
        if call.arguments is None and call.decode_error is not None:
            return evaluate_undecodable_reply(call.decode_error, dataset_item, rules)

    names_and_arguments = [(call.name, call.arguments or {}) for call in predicted]
    spelling: NameSpelling = "flat"
    if any("." in call.name for call in predicted):
        spelling = "dotted"
    return evaluate_calls(names_and_arguments, dataset_item, rules, spelling)


def set_bfcl_error_type(item: Item, explanation: str | None) -> None:
    """Set the error type of the task's verdict.

    If the recomputed verdict differs, the cause is stored in the metadata. If the task's verdict is
    a fail, the cause is also its error type.
    """
    official = _find_official_item_verdict(item)
    if item.official is None or official is None:
        return

    if item.rule is not None and item.rule is not item.official:
        _set_difference_cause(item, official, explanation)
    elif item.official:
        item.error_type = None
        official.error_type = None
    else:
        _set_error_type_of_fail(item, official, explanation or "")


def _find_official_item_verdict(item: Item) -> Verdict | None:
    for verdict in item.verdicts:
        if verdict.source == "official" and verdict.target == "item":
            return verdict
    return None


def _set_difference_cause(item: Item, official: Verdict, explanation: str | None) -> None:
    """Store why the recomputed verdict differs from the task's verdict `official`."""
    cause = find_difference_cause(item)
    item.extra.metadata["cause"] = cause.name
    official.rationale = cause.text
    if explanation:
        official.rationale = f"{explanation}\n{cause.text}"

    error_type = cause.name if item.official is False else None
    item.error_type = error_type
    official.error_type = error_type


def _set_error_type_of_fail(item: Item, official: Verdict, explanation: str) -> None:
    """Set the error type and the first difference of an item that Inspect's BFCL task failed.

    They come from the scorer's explanation. An item whose recomputed verdict also fails has more
    exact ones, so it gets no other error type, and keeps its first difference.

    Args:
        item: The item. Its recomputed verdict is a fail too, or there is none.
        official: The verdict of the task.
        explanation: The text that the scorer wrote, or an empty one.
    """
    is_recomputed = item.rule is not None
    error_type = None if is_recomputed else _find_error_type(explanation)
    if is_recomputed or error_type is not None:
        item.error_type = error_type
        official.error_type = error_type

    _add_failing_turn(item, explanation)
    _add_state_differences(item, explanation)
    # fcreview does not check turns of calls again. Their first difference is looked for here,
    # because the failing turn is known now.
    if not is_recomputed and item.category.startswith("multi_turn"):
        set_first_difference(item, _list_pairs_of_failing_turn(item), None)
    if item.first_difference is None and explanation:
        item.first_difference = shorten_explanation(explanation)


def _find_error_type(explanation: str) -> str | None:
    for pattern, error_type in _ERROR_TYPES.items():
        if re.match(pattern, explanation):
            return error_type
    return None


def _list_pairs_of_failing_turn(item: Item) -> list[CallPair]:
    """Return the pairs of the turn that failed, or all pairs if the turn is unknown."""
    failing_turn = item.extra.failing_turn
    if failing_turn is None:
        return list(item.pairs)
    return [pair for pair in item.pairs if pair.turn == failing_turn]


def _add_failing_turn(item: Item, explanation: str) -> None:
    """Add a failing verdict on the turn that the scorer's explanation names."""
    match = _FAILING_TURN.match(explanation)
    if match is None:
        return
    turn = int(match["turn"])
    if turn >= item.n_turns:
        return

    item.extra.failing_turn = turn
    item.verdicts.append(Verdict("official", False, target=turn_address(turn), by="bfcl_scorer"))


def _add_state_differences(item: Item, explanation: str) -> None:
    """Add the differing states to the item, if the explanation of its score lists them."""
    if not explanation.startswith("State mismatch"):
        return
    matches = _STATE.findall(explanation[:MAX_STATE_TEXT])
    differences = {
        name: StateDifference(golden, model)
        for name, model, golden in matches[:MAX_STATE_DIFFERENCES]
    }
    if differences:
        item.extra.state_differences = differences


def list_sample_categories(sample_ids: Any) -> list[str]:
    """Return the categories in the ids of samples, such as `simple_java` for `simple_java_14`.

    Categories whose replies BFCL does not check are omitted, except multi-turn ones.
    """
    names: dict[str, None] = {}
    for sample_id in as_list(sample_ids):
        if isinstance(sample_id, str):
            names[filenames.get_id_category(sample_id)] = None

    categories = []
    for name in names:
        is_checked = find_category_rules(name, is_v1=False).check != "none"
        if is_checked or name.startswith(MULTI_TURN):
            categories.append(name)
    return categories


_REWARD_PARTS = {
    "database": "DB",
    "communicat": "COMMUNICATE",
    "environment assertion": "ENV_ASSERTION",
    "action": "ACTION",
}
"""Word in the scorer's explanation -> part of the reward that failed."""
NOT_RECOMPUTED_NOTE = "the verdict depends on the simulated environment"


def fill_tau2_item(item: Item, sample_value: dict[str, Any]) -> Conversation:
    """Fill an item of tau2-bench, which Inspect ran: conversation, golden actions and their pairs.
    Return the conversation.
    """
    task: dict[str, Any] = sample_value["metadata"]["task"]
    messages = _read_tau2_conversation(sample_value)
    add_conversation(item, messages)

    question, instruction = read_scenario(task)
    add_instruction(item, instruction)
    item.question = shorten_question(question) or item.question

    criteria = as_object(task.get("evaluation_criteria"))
    _add_reward_criteria(item, criteria)
    pair_golden_actions(item, read_golden_actions(criteria))
    item.golden_hash = answer_hash(to_plain_json(task))
    item.prediction_hash = _hash_conversation(messages)
    item.rule_note = NOT_RECOMPUTED_NOTE
    return Conversation(item.messages, item.predicted, item.n_turns, item.n_steps)


def _read_tau2_conversation(sample_value: dict[str, Any]) -> list[ConversationMessage]:
    """Return the agent's own trajectory, which is in the store of the sample. Without it, the
    messages of the sample, which are those of the simulated user.
    """
    messages = _read_agent_trajectory(sample_value.get("store"))
    if messages:
        return messages
    return _read_user_conversation(sample_value.get("messages"))


def _add_reward_criteria(item: Item, criteria: dict[str, Any]) -> None:
    """Store what the reward depends on, besides the golden actions."""
    basis = read_reward_basis(criteria)
    # Without `ACTION` in the basis, the golden actions are only one way to solve the task, so
    # that missing and different calls do not count either.
    item.extra.uncounted_states = "+" if "ACTION" in basis else "-!+"

    shown_criteria: dict[str, Any] = {"reward_basis": basis}
    for name in ("communicate_info", "env_assertions"):
        if criteria.get(name):
            shown_criteria[name] = to_plain_json(criteria[name])
    item.extra.metadata["metadata"] = shown_criteria


def _hash_conversation(messages: Sequence[ConversationMessage]) -> str:
    hashed_messages = []
    for message in messages:
        calls = [[call.name, call.arguments] for call in message.calls]
        hashed_messages.append([message.role, message.content, calls])
    return answer_hash(hashed_messages)


def set_tau2_error_type(item: Item, explanation: str | None) -> None:
    """Set the error type to the failed part of the reward, and the first difference to the
    scorer's explanation.
    """
    if item.official is not False:
        return

    failed_part = _find_failed_reward_part(explanation or "")
    if failed_part is not None:
        item.error_type = failed_part
        for verdict in item.verdicts:
            if verdict.source == "official" and verdict.criterion == "correct":
                verdict.error_type = failed_part
    item.first_difference = shorten_explanation(explanation or "") or item.first_difference


def _find_failed_reward_part(explanation: str) -> str | None:
    """Return the part of the reward that a scorer's explanation names, or None."""
    lower_explanation = explanation.lower()
    for word, reward_part in _REWARD_PARTS.items():
        if word in lower_explanation:
            return reward_part
    return None


def _read_agent_trajectory(store: Any) -> list[ConversationMessage]:
    """Return the messages of the agent and the user in order, or none if the store has no
    trajectory.
    """
    conversation = []
    for entry in _find_trajectory_entries(as_object(store)):
        message = entry.get("message")
        if isinstance(message, dict):
            conversation.append(_convert_message(message, speaker=str(entry.get("role"))))
    return conversation


def _find_trajectory_entries(store: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the entries of the first trajectory of an agent in the store, or none."""
    for name, entries in store.items():
        if name.startswith(AGENT_STATE_PREFIX) and name.endswith(":trajectory"):
            return list_objects(entries)
    return []


def _read_user_conversation(messages: Any) -> list[ConversationMessage]:
    """Return the conversation as the simulated user sees it, but with the roles of user and
    assistant exchanged.

    It is used if a sample has no trajectory of the agent.
    """
    conversation = []
    for message in list_objects(messages):
        role = message.get("role")
        if role == "assistant":
            conversation.append(_convert_message(message, speaker="user"))
        elif role in ("user", "tool"):
            conversation.append(_convert_message(message, speaker="assistant"))
    return conversation


def _convert_message(message: dict[str, Any], speaker: str) -> ConversationMessage:
    """Return a message of the user or the agent, as `speaker` says, or the result of a tool."""
    text = get_text_and_error(message)
    if message.get("role") == "tool":
        tool_name = str(message.get("function") or "") or None
        return ConversationMessage("tool", text, name=tool_name)

    calls = []
    for call in message.get("tool_calls") or ():
        if isinstance(call, dict):
            calls.append(ToolCall(*read_tool_call(call)))
    role: Literal["user", "assistant"] = "user" if speaker == "user" else "assistant"
    return ConversationMessage(role, content=text, calls=calls)
