"""Read the items of tau-bench v1, one for each entry of a result file.

The reward is 1 if the agent said every expected output, and the final database equals the database
after the golden actions. Source: `tau_bench/envs/base.py` of sierra-research/tau-bench
(`calculate_reward`).

With the strategies `act` and `react`, the agent writes actions as text. A message of the agent ends
with `Action:` and a JSON object with name and arguments. Text that is not JSON is a reply. The
result of a call is the next user message, which begins with `API output: `. Source:
`agents/chat_react_agent.py` of sierra-research/tau-bench.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from fcreview.errors import MALFORMED_DATA
from fcreview.importers.common.incidents import apply_incident
from fcreview.importers.common.json_file import read_json_document
from fcreview.importers.common.json_text import parse_json_prefix
from fcreview.importers.common.jsonl import JsonRecord, make_excerpt
from fcreview.importers.common.records import (
    add_issue,
    as_object,
    fill_safely,
    first_question,
    list_objects,
    read_tools,
    set_position,
)
from fcreview.importers.dialects.embedded import split_by_form
from fcreview.importers.tau.checker import (
    ALL_DIFFERENCES,
    OWN_FIELD,
    CheckedParts,
    RewardParts,
    add_reward_verdicts,
    add_unchecked_verdicts,
    is_success,
    to_finite_number,
    to_part_value,
)
from fcreview.importers.tau.conversation import (
    ConversationMessage,
    MalformedMessageError,
    ToolCall,
    add_conversation,
    add_instruction,
    find_spoken_texts,
    get_content_text,
    make_message_of_unknown_role,
    make_unreadable_message,
    pair_golden_actions,
    parse_tool_call,
    read_role,
    report_unreadable_conversation,
    select_gradable_messages,
)
from fcreview.importers.tau.discovery import ItemIds, is_task_id
from fcreview.importers.tau.foreign_messages import (
    is_foreign_message,
    map_calls_to_functions,
    read_foreign_messages,
)
from fcreview.importers.tau.golden_action import GoldenAction
from fcreview.importers.tau.incidents import find_version1_incident
from fcreview.model.item import ImportIssue, Item, Message
from fcreview.model.json_value import abbreviate, answer_hash
from fcreview.run_plan import RunPlan

JsonObject = dict[str, Any]
ACTION_MARK = "Action:"
RESULT_PREFIX = "API output: "
TOOLS_HEADING = "\n#Available tools\n"
REPLY_ACTION = "respond"
STOP_WORD = "###STOP###"
TRANSFER_TOOL = "transfer_to_human_agents"


def has_actions_in_text(messages: Sequence[ConversationMessage]) -> bool:
    """Return whether the agent writes actions as text: the first message lists the tools, and no
    message has a call.
    """
    if not messages or TOOLS_HEADING not in messages[0].content:
        return False
    return not any(message.calls for message in messages)


def read_tools_in_text(messages: Sequence[ConversationMessage]) -> list[dict[str, Any]]:
    """Return the function docs that the first message lists as JSON below a heading."""
    _, _, text = messages[0].content.partition(TOOLS_HEADING)
    try:
        return read_tools(parse_json_prefix(text))
    except (ValueError, RecursionError):
        return []


def convert_actions_in_text(messages: Sequence[ConversationMessage]) -> list[ConversationMessage]:
    """Convert messages in which calls and results are plain text to messages with calls and
    results.

    The agent writes its calls as text, and gets the results as user messages. A user message is a
    result if it begins with `RESULT_PREFIX` and a call has no result yet.
    """
    converted: list[ConversationMessage] = []
    # Function that was called and has no result yet.
    open_function: str | None = None
    for message in messages:
        is_result = message.role == "user" and message.content.startswith(RESULT_PREFIX)
        if message.role == "assistant":
            action = _parse_action_text(message.content)
            open_function = action.calls[0].name if action.calls else None
            converted.append(action)
        elif is_result and open_function is not None:
            content = message.content.removeprefix(RESULT_PREFIX)
            converted.append(ConversationMessage("tool", content, name=open_function))
            open_function = None
        else:
            converted.append(message)
    return converted


def _parse_action_text(message_text: str) -> ConversationMessage:
    """Parse the text of an agent that writes a thought and then an action, as in
    `Thought: ...\\nAction: {"name": "f", "arguments": {...}}`.

    Returns a message with the thought as its text. An action is a call, or the reply to the user.
    """
    thought_text, _, action_text = message_text.rpartition(ACTION_MARK)
    thought = thought_text.strip()
    raw = action_text.strip()
    try:
        action = json.loads(raw)
    except (ValueError, RecursionError):
        # The official program sends text that is not JSON to the user.
        return ConversationMessage("assistant", message_text, reply=raw)

    reply = _get_reply_of_action(action)
    if reply is not None:
        return ConversationMessage("assistant", f"{thought}\n\n{reply}".strip(), reply=reply)
    call = _get_call_of_action(action, raw)
    return ConversationMessage("assistant", content=thought, calls=[call])


def _get_reply_of_action(action: Any) -> str | None:
    """Return the text that an action sends to the user. None if the action is a call."""
    if not isinstance(action, dict) or action.get("name") != REPLY_ACTION:
        return None
    arguments = action.get("arguments")
    # Such an action becomes a call that states the error.
    if not isinstance(arguments, dict):
        return None
    content = arguments.get("content")
    return content if isinstance(content, str) else ""


def _get_call_of_action(action: Any, raw: str) -> ToolCall:
    """Return the call of an action. If it is malformed, the call has `raw`, its text, and an
    error.
    """
    name = action.get("name") if isinstance(action, dict) else None
    if not isinstance(name, str):
        return ToolCall("", None, raw=raw, error="the text is not an action")
    arguments = action.get("arguments")
    if not isinstance(arguments, dict):
        return ToolCall(name, None, raw=raw, error="the arguments are not a JSON object")
    return ToolCall(name, arguments)


def parse_action_name(content: Any) -> str | None:
    """Return the function name in the action that a message ends with, or None."""
    if not isinstance(content, str) or ACTION_MARK not in content:
        return None
    calls = _parse_action_text(content).calls
    return calls[0].name if calls else None


ENVIRONMENT_TOOLS = {
    "airline": {
        "book_reservation",
        "cancel_reservation",
        "get_reservation_details",
        "list_all_airports",
        "search_direct_flight",
        "search_onestop_flight",
        "send_certificate",
        "update_reservation_baggages",
        "update_reservation_flights",
        "update_reservation_passengers",
    },
    "retail": {
        "cancel_pending_order",
        "exchange_delivered_order_items",
        "find_user_id_by_email",
        "find_user_id_by_name_zip",
        "get_order_details",
        "get_product_details",
        "list_all_product_types",
        "modify_pending_order_address",
        "modify_pending_order_items",
        "modify_pending_order_payment",
        "modify_user_address",
        "return_delivered_order_items",
    },
}
"""Environment -> tools that only this environment has."""
UNKNOWN_ENVIRONMENT = "unknown environment"
MAX_EXAMINED_ENTRIES = 400
"""Number of entries from which the environment is guessed."""


def read_version1_items(path: Path, plan: RunPlan) -> Iterator[Item | ImportIssue]:
    """Yield the items of a result file, and set the environment of the run."""
    document = read_json_document(path)
    yield from document.issues

    file = str(path)
    environment = guess_environment([record.value for record in document.records])
    ids = ItemIds()
    for record in document.records:
        entry = record.value
        if not _is_entry(entry):
            what = "an entry has no task_id or no reward and was skipped"
            excerpt = make_excerpt(str(entry))
            yield ImportIssue(file, record.line, what=what, raw=excerpt, severity="error")
            continue

        assigned = ids.assign_id(
            str(entry["task_id"]), entry.get("trial"), file=file, line=record.line
        )
        if assigned.issue is not None:
            yield assigned.issue
        yield _read_item(record, assigned.item_id, environment, path)
    plan.run.settings["environment"] = environment


def _is_entry(value: Any) -> bool:
    return isinstance(value, dict) and is_task_id(value.get("task_id")) and "reward" in value


def guess_environment(entries: Sequence[Any]) -> str:
    """Return the environment whose tools the entries use most, because the file does not state
    the environment.
    """
    counts: Counter[str] = Counter()
    for entry in entries[:MAX_EXAMINED_ENTRIES]:
        counts.update(_iterate_tool_names(entry))

    best = UNKNOWN_ENVIRONMENT
    n_best = 0
    for environment, tools in ENVIRONMENT_TOOLS.items():
        n_calls = sum(counts[tool] for tool in tools)
        # A tool of several environments counts for each of them.
        if n_calls > n_best:
            best = environment
            n_best = n_calls
    return best


def _iterate_tool_names(entry: Any) -> Iterator[str]:
    """Yield the functions that the agent calls in an entry, as text or as tool calls."""
    for message in list_objects(as_object(entry).get("traj")):
        if message.get("role") == "assistant":
            name_in_text = parse_action_name(message.get("content"))
            if name_in_text:
                yield name_in_text
        for call in list_objects(message.get("tool_calls")):
            name = as_object(call.get("function")).get("name")
            if isinstance(name, str):
                yield name


def _read_item(record: JsonRecord, item_id: str, environment: str, path: Path) -> Item:
    """Return the item of an entry."""
    entry = record.value
    info = as_object(entry.get("info"))
    group = f"task {entry['task_id']}"
    item = Item(item_id, environment, group=group, file=str(path))
    set_position(item, record)
    item.prediction_hash = answer_hash(entry.get("traj"))
    item.golden_hash = answer_hash(info["task"]) if "task" in info else ""
    return fill_safely(item, partial(fill_version1_item, item, entry, info))


def fill_version1_item(item: Item, entry: dict[str, Any], info: dict[str, Any]) -> None:
    """Fill an item of the first tau-bench: conversation, golden actions and verdicts.

    The order matters: pairs need the calls of the conversation, and verdicts need the pairs.

    `entry` is the record of the result file, and `info` its field with the task and the recorded
    checks.
    """
    item.extra.metadata = _make_metadata(entry, info)
    # The golden actions show one way to the expected database.
    item.extra.uncounted_states = ALL_DIFFERENCES
    # None means that the conversation is unreadable, so it can be neither shown nor graded.
    messages = _read_conversation(item, entry.get("traj"), has_error="error" in info)
    if messages is not None and has_actions_in_text(messages):
        item.functions = read_tools_in_text(messages)
        messages = convert_actions_in_text(messages)
    _add_shown_messages(item, messages or [], info)

    task = as_object(info.get("task"))
    pair_golden_actions(item, list(_read_golden_actions(task.get("actions"))))
    gradable = None if messages is None else select_gradable_messages(messages)
    item.extra.metadata |= _add_verdicts(item, entry, gradable)
    apply_incident(item, find_version1_incident(entry))


def _add_shown_messages(
    item: Item, messages: list[ConversationMessage], info: dict[str, Any]
) -> None:
    """Add the conversation with its ending, the instruction of the simulated user, and the error
    that ended the run.
    """
    item.ended = _find_ending(info, messages)
    add_conversation(item, messages)
    task = as_object(info.get("task"))
    add_instruction(item, get_content_text(task.get("instruction")))
    item.question = item.question or first_question(item.messages)
    if "error" in info:
        item.messages.append(_make_error_message(item, info["error"]))


def _make_metadata(entry: dict[str, Any], info: dict[str, Any]) -> dict[str, Any]:
    metadata = {"trial": entry.get("trial")}
    cost = to_finite_number(info.get("user_cost"))
    if cost is not None:
        metadata["user cost"] = cost
    return metadata


def _make_error_message(item: Item, error: Any) -> Message:
    """Return the exception that ended the conversation as a message of its last step."""
    last_step = max(item.n_steps - 1, 0)
    return Message(item.n_turns - 1, last_step, role="log", content=get_content_text(error))


def _find_ending(info: JsonObject, messages: Sequence[ConversationMessage]) -> str | None:
    """Return how the conversation ended. The file does not state it, but the last message and the
    checks show it.

    Source: `envs/base.py` of sierra-research/tau-bench (`step`): the user's stop word and the
    transfer to a human agent end a conversation, and the reward is then computed.
    """
    if "error" in info:
        return "error"
    if "reward_info" in info and info["reward_info"] is None:
        return "max_steps"

    last = messages[-1] if messages else None
    if last is None:
        return None
    if last.role == "user" and STOP_WORD in last.content:
        return "user_stop"
    if last.role == "tool" and last.name == TRANSFER_TOOL:
        return "transfer"
    return None


def _read_conversation(
    item: Item, trajectory: Any, *, has_error: bool
) -> list[ConversationMessage] | None:
    """Return the messages. If they are unreadable, add an issue and return None."""
    try:
        if not trajectory and not has_error:
            raise ValueError("the field traj is empty")
        return _read_messages(trajectory)
    except MALFORMED_DATA as error:
        report_unreadable_conversation(item, error)
        return None


def _read_golden_actions(actions: Any) -> Iterator[GoldenAction]:
    """Yield the golden actions of a task. An action `respond` is a reply, not a call."""
    for action in list_objects(actions):
        name = str(action.get("name"))
        arguments = action.get("kwargs")
        if name != REPLY_ACTION:
            yield GoldenAction(name, arguments if isinstance(arguments, dict) else None)


def _read_messages(trajectory: Any) -> list[ConversationMessage]:
    """Read the messages of a trajectory. Other programs write some of them in the form of another
    API, and these are read in that form.

    A malformed message is kept as a text. Raises TypeError if the trajectory is no list.
    """
    if trajectory is None:
        return []
    if not isinstance(trajectory, list):
        raise TypeError("the field traj is not a list")

    messages: list[ConversationMessage] = []
    functions: dict[str, str] = {}
    for block in split_by_form(trajectory, is_foreign_message):
        if block.is_foreign:
            messages += read_foreign_messages(block, functions, path="traj")
            continue
        for raw in block.messages:
            functions |= map_calls_to_functions(raw)
            try:
                messages.append(_read_message(raw))
            except MalformedMessageError as error:
                messages.append(make_unreadable_message(raw, str(error)))
    return messages


def _read_message(raw: Any) -> ConversationMessage:
    """Read a message in the form of OpenAI's API."""
    role = read_role(raw)
    if role is None:
        return make_message_of_unknown_role(raw)

    tool_name = raw.get("name") if role == "tool" else None
    return ConversationMessage(
        role,
        get_content_text(raw.get("content")),
        calls=[_parse_call(call) for call in raw.get("tool_calls") or ()],
        name=tool_name if isinstance(tool_name, str) else None,
    )


def _parse_call(call: Any) -> ToolCall:
    function = as_object(call).get("function")
    if not isinstance(function, dict):
        return ToolCall("", None, str(call), "the value is not a call")
    return parse_tool_call(str(function.get("name")), function.get("arguments") or {})


def _add_verdicts(
    item: Item, entry: JsonObject, messages: Sequence[ConversationMessage] | None
) -> JsonObject:
    """Add the verdicts on an item and on the parts of its reward. Return the parts as metadata.

    How much can be recomputed depends on what the entry recorded: an exception, a step limit,
    checks, or only a reward. `messages` is None if the conversation cannot be graded.
    """
    info = as_object(entry.get("info"))
    reward_info = info.get("reward_info")
    reward = to_finite_number(entry.get("reward"))
    if reward is None:
        add_issue(item, "the recorded reward is not a number")

    if "error" in info:
        rationale = "the run ended with an exception, which counts as a failure"
        add_unchecked_verdicts(item, reward, "error", rationale, is_left_out=reward is None)
        return {}
    if reward_info is None and reward == 0:
        rationale = "the run reached the step limit, and nothing was checked"
        add_unchecked_verdicts(item, reward, "not_ended", rationale)
        return {}
    if not isinstance(reward_info, dict):
        item.official = None if reward is None else is_success(reward)
        item.rule_note = "the recorded checks are missing or unreadable"
        add_issue(item, item.rule_note)
        return {}

    checks = as_object(reward_info.get("info"))
    task = as_object(info.get("task"))
    return _add_checked_verdicts(item, reward, checks=checks, task=task, messages=messages)


def _add_checked_verdicts(
    item: Item,
    reward: float | None,
    *,
    checks: JsonObject,
    task: JsonObject,
    messages: Sequence[ConversationMessage] | None,
) -> JsonObject:
    """Add the verdicts on an item whose reward the benchmark computed.

    A reward has two parts. DB is whether the final database is right, which only the benchmark can
    check. COMMUNICATE is whether the agent said the expected outputs. Returns both parts as fields
    for the metadata of the item.

    Args:
        item: The item.
        reward: The recorded reward, or None.
        checks: The recorded checks, `reward_info.info`.
        task: The task with the expected outputs.
        messages: The messages of the agent; None if they cannot be graded.
    """
    expected_outputs = _read_expected_outputs(item, task.get("outputs"), checks)
    _report_invalid_results(item, checks)
    # fcreview cannot recompute the database, so the recorded value is taken for both.
    database = _find_database_value(checks, reward)
    parts = CheckedParts(
        official=RewardParts({"DB": database}), recomputed=RewardParts({"DB": database})
    )
    # The benchmark checks what the agent said only if the task has expected outputs. If they cannot
    # be read, the part counts all the same, and its recomputed value is unknown.
    has_no_outputs = expected_outputs == []
    if not has_no_outputs:
        _add_output_parts(parts, checks, expected_outputs, messages)
    return add_reward_verdicts(item, reward, parts, is_left_out=reward is None)


def _report_invalid_results(item: Item, recorded: JsonObject) -> None:
    for name in ("r_actions", "r_outputs"):
        value = recorded.get(name)
        if value is not None and to_part_value(value) is None:
            what = f"{name} is {abbreviate(value)}, which is not a number from 0 to 1, so this part"
            add_issue(item, f"{what} has no verdict")


def _find_database_value(recorded: JsonObject, reward: float | None) -> float | None:
    """Return 1 if the final database was as expected, 0 if not, and None if it is unknown.

    tau-bench records only one of the two results, `r_actions` for the database or `r_outputs`. In
    two of three cases, the reward implies the other one (`calculate_reward`).
    """
    if "r_actions" in recorded:
        return to_part_value(recorded["r_actions"])
    # An item that passes, be it by a review, passes in all parts.
    if reward is not None and is_success(reward):
        return 1.0

    # If all outputs were said, only the database can have failed. But a reviewer can fail an item
    # for another reason.
    is_reviewed = OWN_FIELD in recorded
    were_outputs_said = to_finite_number(recorded.get("r_outputs")) == 1
    if were_outputs_said and not is_reviewed:
        return 0.0
    return None


def _add_output_parts(
    parts: CheckedParts,
    recorded: JsonObject,
    expected_outputs: Sequence[str] | None,
    messages: Sequence[ConversationMessage] | None,
) -> None:
    """Add the part COMMUNICATE of the reward: whether the agent said the expected outputs.

    If the outputs or the messages are unknown, the recomputed value is None.

    Args:
        parts: The official and the recomputed parts, which get this part.
        recorded: The recorded checks.
        expected_outputs: The texts that the agent must say; None if they are unknown.
        messages: The messages of the agent; None if they cannot be graded.
    """
    # Without messages, all expected outputs count as missing.
    said_by_text = check_outputs(expected_outputs or (), messages or ())
    missing_texts = _list_missing_texts(said_by_text)
    can_be_recomputed = expected_outputs is not None and messages is not None
    parts.recomputed.values["COMMUNICATE"] = float(not missing_texts) if can_be_recomputed else None
    parts.recomputed.missing_texts = missing_texts

    parts.official.values["COMMUNICATE"] = to_part_value(recorded.get("r_outputs"))
    parts.official.missing_texts = _list_missing_texts(as_object(recorded.get("outputs")))


def _list_missing_texts(said_by_text: Mapping[str, Any]) -> list[str]:
    """Return the texts that the agent did not say, from text -> whether it said the text."""
    return [str(text) for text, is_said in said_by_text.items() if not is_said]


def _read_expected_outputs(
    item: Item, outputs: Any, recorded_checks: dict[str, Any]
) -> list[str] | None:
    """Return the outputs that the agent has to say.

    If the file does not contain them, add an issue and return None.
    """
    # The benchmark records `r_outputs` for each task with outputs (`calculate_reward`), so without
    # it the task has none.
    if outputs is None and "r_outputs" not in recorded_checks:
        return []

    checked = as_object(recorded_checks.get("outputs"))
    is_text_list = isinstance(outputs, list) and all(isinstance(text, str) for text in outputs)
    if is_text_list and checked.keys() <= set(outputs):
        return list(outputs)
    what = (
        "the field `outputs` of the task is not a list of texts, or does not contain all texts that"
        " were checked"
    )
    add_issue(item, what)
    return None


def check_outputs(
    expected_outputs: Sequence[str], messages: Sequence[ConversationMessage]
) -> dict[str, bool]:
    """Return expected output -> whether a reply of the agent contains it."""
    replies = []
    for message in messages:
        if message.role == "assistant" and not message.calls:
            # Of a message that also contains the agent's thought, only what the user reads counts.
            spoken = message.content if message.reply is None else message.reply
            replies.append(spoken)
    return find_spoken_texts(expected_outputs, replies)
