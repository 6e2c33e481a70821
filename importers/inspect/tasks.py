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
from typing import Any, NamedTuple

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
from fcreview.model.item import Call, GoldenObject, ImportIssue, Item, StateDifference, Verdict
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
    return (
        _find_cause_of_task_fail(item) if item.official is False else _find_cause_of_bfcl_fail(item)
    )


def _find_cause_of_task_fail(item: Item) -> Cause:
    if any(call.arguments is None for call in item.predicted):
        return UNDECODABLE_CALL
    if find_category_rules(item.category, is_v1=False).language != "python":
        return TYPED_VALUE
    golden = [accepted for call in item.golden for accepted in (call.arguments or {}).values()]
    return OBJECT_VALUE if any(_contains_object(accepted.any_of) for accepted in golden) else OTHER


def _contains_object(value: Any) -> bool:
    if isinstance(value, list):
        return any(map(_contains_object, value))
    return isinstance(value, (dict, GoldenObject))


def _find_cause_of_bfcl_fail(item: Item) -> Cause:
    text = " ".join(
        [
            item.rule_error_type or "",
            *(v.rationale or "" for v in item.verdicts if v.source == "rule"),
        ]
    )
    found = next(
        (cause for cause, parts in _CAUSE_TEXTS if any(part in text for part in parts)), None
    )
    return found or (NAME_SPELLING if _has_mixed_spellings(item) else OTHER)


def _has_mixed_spellings(item: Item) -> bool:
    flat = {call.name.replace(".", "_") for call in item.golden if "." in call.name}
    return any("." in call.name for call in item.predicted) and any(
        call.name in flat for call in item.predicted
    )


RULES = "BFCL rules"
MULTI_TURN, AGENTIC = "multi_turn", "agentic"
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
_FAILING_TURN = re.compile(r"Response mismatch at turn (\d{1,4})")
_STATE = re.compile(r'^  (\w{1,80}): model="(.*?)", expected="(.*?)"$', re.MULTILINE | re.DOTALL)
MAX_STATE_DIFFERENCES = 20


@dataclass(slots=True)
class BfclTask:
    """The dataset files of a run, by category."""

    files: dict[str, DatasetFiles] = field(default_factory=dict)

    def find_dataset_item(
        self, item_id: str, category: str, metadata: dict[str, Any], issues: list[ImportIssue]
    ) -> DatasetItem:
        """Return the dataset item if it has the sample's question and golden answer, else make
        one from the sample.
        """
        own = _make_item_from_sample(item_id, category, metadata)
        files = self.files.get(category)
        found = load_dataset(files, category).items.get(item_id) if files is not None else None
        if files is None or found is None:
            return own
        if not is_same_question(found.turns, metadata.get("turns") or metadata.get("raw_question")):
            what = "question"
        elif own.ground_truth is not None and not is_same_golden_answer(
            found.ground_truth, own.ground_truth
        ):
            what = "golden answer"
        else:
            return found
        text = (
            f"the {what} in the dataset differs from the one in the log. Using the one in the log"
        )
        issues.append(ImportIssue(str(files.questions), None, what=text, item=item_id))
        return own


def _make_item_from_sample(item_id: str, category: str, metadata: dict[str, Any]) -> DatasetItem:
    docs = list_objects(metadata.get("tools"))
    if metadata.get("language") in ("java", "js", "javascript"):
        docs = [restore_parameter_types(each) for each in docs]
    question = {"question": metadata.get("turns") or metadata.get("raw_question"), "function": docs}
    answer = metadata.get("raw_ground_truth")
    has_answer = answer not in (None, "", []) and metadata.get("scorer") not in (
        "irrelevance",
        "relevance",
    )
    return make_dataset_item(
        item_id, category, question, {"ground_truth": answer} if has_answer else None
    )


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
    description = as_object(schema).get("description")
    if not isinstance(description, str):
        return schema
    if _ANY_HINT.search(description):
        return schema | {"type": "any"}
    hint, element = _TYPE_HINT.search(description), _ELEMENT_HINT.search(description)
    if hint is None:
        return schema
    return schema | {"type": hint[1]} | ({"items": {"type": element[1]}} if element else {})


def is_bfcl_sample(sample_value: dict[str, Any]) -> bool:
    metadata = as_object(sample_value.get("metadata"))
    return isinstance(metadata.get("category_name"), str) and "scorer" in metadata


def fill_bfcl_item(item: Item, sample: LogSample, task: BfclTask) -> Conversation:
    """Fill the golden calls, the pairs and the recomputed verdict of an item. Return its
    conversation.

    The item's official verdict is set later. `set_bfcl_error_type` then compares the two verdicts.
    """
    value = sample.value
    metadata: dict[str, Any] = value["metadata"]
    category, kind = str(metadata.get("category_name")), metadata.get("scorer")
    item.category = category
    item.extra.metadata["metadata"] = {
        name: part
        for name, part in item.extra.metadata.get("metadata", {}).items()
        if name not in _SHOWN_FIELDS
    }
    dataset_item = task.find_dataset_item(str(value.get("id")), category, metadata, item.issues)
    item.question = dataset_item.question
    item.functions, item.golden = dataset_item.functions, dataset_item.golden_calls
    item.golden_hash = dataset_item.golden_hash
    conversation = build_conversation(
        value.get("messages"), is_turn_per_user_message=kind == MULTI_TURN
    )
    if not conversation.messages:
        conversation.messages = list(dataset_item.opening_messages)
    conversation.apply_to(item)
    if kind == AGENTIC:
        answers = metadata.get("raw_ground_truth")
        item.golden = []
        item.extra.accepted_answers = answers if isinstance(answers, list) else None
        item.extra.final_answer = find_last_reply_text(item.messages)
        item.rule_note = NOT_RECOMPUTED_NOTES["agentic"]
    elif kind == MULTI_TURN:
        item.pairs = align_calls_by_turn(item.golden, item.predicted, COMPARISON_RULES)
        item.rule_note = NOT_RECOMPUTED_NOTES["multi_turn"]
    else:
        _recompute_verdict(
            item, dataset_item, category, has_sample_error=value.get("error") is not None
        )
    return conversation


def _recompute_verdict(
    item: Item, dataset_item: DatasetItem, category: str, *, has_sample_error: bool
) -> None:
    # In BFCL, all calls of a single-turn reply are one step.
    for index, call in enumerate(item.predicted):
        call.turn, call.step, call.index = 0, 0, index
    rules = find_category_rules(category, is_v1=False)
    if has_sample_error:
        item.pairs = pair_calls(dataset_item, item.predicted, rules, with_schema_violations=False)
        item.rule_note = "the sample ended with an error, so there is no reply to check"
        return
    evaluation = evaluate_sample(item.predicted, dataset_item, category)
    is_failing = evaluation.valid is False
    item.pairs = pair_calls(dataset_item, item.predicted, rules, with_schema_violations=is_failing)
    item.rule, item.rule_note = evaluation.valid, evaluation.note
    if category.startswith("exec_"):
        item.rule_note = NO_EXEC_NOTE
    if evaluation.valid is not None:
        item.rule_error_type = evaluation.error_type
        rationale = "\n".join(evaluation.messages) or None
        verdict = Verdict(
            "rule",
            evaluation.valid,
            target="item",
            criterion="correct",
            error_type=evaluation.error_type,
            rationale=rationale,
            by=RULES,
        )
        item.verdicts.append(verdict)
        item.extra.metadata["is_recomputed"] = True
    if evaluation.valid is False:
        set_first_difference(item, item.pairs, evaluation)


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
    undecodable = next((call.decode_error for call in predicted if call.arguments is None), None)
    if undecodable is not None:
        return evaluate_undecodable_reply(undecodable, dataset_item, rules)
    calls = [(call.name, call.arguments or {}) for call in predicted]
    spelling: NameSpelling = "dotted" if any("." in call.name for call in predicted) else "flat"
    return evaluate_calls(calls, dataset_item, rules, spelling)


def set_bfcl_error_type(item: Item, explanation: str | None) -> None:
    """Set the error type of the task's verdict.

    If the recomputed verdict differs, the cause is stored in the metadata. If the task's verdict is
    a fail, the cause is also its error type.
    """
    official = next(
        (each for each in item.verdicts if each.source == "official" and each.target == "item"),
        None,
    )
    if item.official is None or official is None:
        return
    if item.rule is not None and item.rule is not item.official:
        cause = find_difference_cause(item)
        item.extra.metadata["cause"] = cause.name
        official.rationale = "\n".join(filter(None, (explanation, cause.text)))
        official.error_type = item.error_type = cause.name if item.official is False else None
        return
    if item.official:
        item.error_type = official.error_type = None
        return
    found = next(
        (name for pattern, name in _ERROR_TYPES.items() if re.match(pattern, explanation or "")),
        None,
    )
    if item.rule is False or found is not None:  # The recomputed error type is more exact.
        item.error_type = official.error_type = None if item.rule is False else found
    _add_failing_turn_and_state_differences(item, explanation or "")
    if item.rule is None and item.category.startswith("multi_turn"):
        failing = item.extra.failing_turn
        set_first_difference(
            item, [pair for pair in item.pairs if failing in (None, pair.turn)], None
        )
    if item.first_difference is None and explanation:
        item.first_difference = " ".join(explanation[:600].split())[:300]


def _add_failing_turn_and_state_differences(item: Item, explanation: str) -> None:
    turn = _FAILING_TURN.match(explanation)
    if turn is not None and int(turn[1]) < item.n_turns:
        item.extra.failing_turn = int(turn[1])
        item.verdicts.append(
            Verdict("official", False, target=turn_address(int(turn[1])), by="bfcl_scorer")
        )
    if explanation.startswith("State mismatch"):
        found = _STATE.findall(explanation[:200_000])[:MAX_STATE_DIFFERENCES]
        if found:
            item.extra.state_differences = {
                name: StateDifference(golden, model) for name, model, golden in found
            }


def list_sample_categories(sample_ids: Any) -> list[str]:
    """Return the categories in the ids of samples, such as `simple_java` for `simple_java_14`."""
    names = dict.fromkeys(
        filenames.get_id_category(each) for each in as_list(sample_ids) if isinstance(each, str)
    )
    return [
        name
        for name in names
        if find_category_rules(name, is_v1=False).check != "none" or name.startswith(MULTI_TURN)
    ]


_REWARD_PARTS = {
    "database": "DB",
    "communicat": "COMMUNICATE",
    "environment assertion": "ENV_ASSERTION",
    "action": "ACTION",
}
"""Word in the scorer's explanation -> part of the reward that failed."""
NOT_RECOMPUTED_NOTE = "the verdict depends on the simulated environment"


def is_tau2_sample(sample_value: dict[str, Any]) -> bool:
    task = as_object(as_object(sample_value.get("metadata")).get("task"))
    return "evaluation_criteria" in task and "user_scenario" in task


def fill_tau2_item(item: Item, sample_value: dict[str, Any]) -> Conversation:
    """Fill the conversation, the golden actions and their pairs. Return the conversation."""
    task: dict[str, Any] = sample_value["metadata"]["task"]
    trajectory = _read_agent_trajectory(sample_value.get("store"))
    messages = trajectory or _read_user_conversation(sample_value.get("messages"))
    add_conversation(item, messages)
    question, instruction = read_scenario(task)
    add_instruction(item, instruction)
    item.question = shorten_question(question) or item.question
    criteria = as_object(task.get("evaluation_criteria"))
    basis = read_reward_basis(criteria)
    pair_golden_actions(item, read_golden_actions(criteria))
    item.extra.uncounted_states = "+" if "ACTION" in basis else "-!+"
    checks = {
        name: criteria[name]
        for name in ("communicate_info", "env_assertions")
        if criteria.get(name)
    }
    item.extra.metadata["metadata"] = {"reward_basis": basis, **to_plain_json(checks)}
    item.golden_hash = answer_hash(to_plain_json(task))
    item.prediction_hash = answer_hash(
        [
            [each.role, each.content, [[call.name, call.arguments] for call in each.calls]]
            for each in messages
        ]
    )
    item.rule_note = NOT_RECOMPUTED_NOTE
    return Conversation(item.messages, item.predicted, item.n_turns, item.n_steps)


def set_tau2_error_type(item: Item, explanation: str | None) -> None:
    """Set the error type to the failed part of the reward, and the first difference to the
    scorer's explanation.
    """
    if item.official is not False:
        return
    text = (explanation or "").lower()
    part = next((name for word, name in _REWARD_PARTS.items() if word in text), None)
    if part is not None:
        item.error_type = part
        for verdict in item.verdicts:
            if verdict.source == "official" and verdict.criterion == "correct":
                verdict.error_type = part
    item.first_difference = (
        " ".join((explanation or "")[:600].split())[:300] or item.first_difference
    )


def _read_agent_trajectory(store: Any) -> list[ConversationMessage]:
    """Return the messages of the agent and the user in order, or none if the store has no
    trajectory.
    """
    names = [
        name
        for name in as_object(store)
        if name.startswith(AGENT_STATE_PREFIX) and name.endswith(":trajectory")
    ]
    entries = list_objects(store[names[0]]) if names else []
    messages = ((each.get("message"), str(each.get("role"))) for each in entries)
    return [
        _convert_message(message, role) for message, role in messages if isinstance(message, dict)
    ]


def _read_user_conversation(messages: Any) -> list[ConversationMessage]:
    """Return the conversation as the simulated user sees it, but with the roles of user and
    assistant exchanged.

    It is used if a sample has no trajectory of the agent.
    """
    return [
        _convert_message(message, "user" if message["role"] == "assistant" else "assistant")
        for message in list_objects(messages)
        if message.get("role") in ("user", "assistant", "tool")
    ]


def _convert_message(message: dict[str, Any], speaker: str) -> ConversationMessage:
    text = get_text_and_error(message)
    if message.get("role") == "tool":
        return ConversationMessage("tool", text, name=str(message.get("function") or "") or None)
    calls = [
        ToolCall(*read_tool_call(call))
        for call in message.get("tool_calls") or ()
        if isinstance(call, dict)
    ]
    return ConversationMessage(
        "user" if speaker == "user" else "assistant", content=text, calls=calls
    )
