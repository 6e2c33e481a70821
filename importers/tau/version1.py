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
from collections.abc import Iterator, Sequence
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
)
from fcreview.importers.tau.checker import (
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
    GoldenAction,
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
    return (
        bool(messages)
        and TOOLS_HEADING in messages[0].content
        and not any(message.calls for message in messages)
    )


def read_tools_in_text(messages: Sequence[ConversationMessage]) -> list[dict[str, Any]]:
    try:
        return read_tools(parse_json_prefix(messages[0].content.partition(TOOLS_HEADING)[2]))
    except (ValueError, RecursionError):
        return []


def convert_actions_in_text(messages: Sequence[ConversationMessage]) -> list[ConversationMessage]:
    """Convert the actions in the text of messages to calls and replies."""
    found: list[ConversationMessage] = []
    called: str | None = None
    for message in messages:
        if message.role == "assistant":
            found.append(_parse_action_text(message.content))
            called = found[-1].calls[0].name if found[-1].calls else None
        elif (
            message.role == "user"
            and called is not None
            and message.content.startswith(RESULT_PREFIX)
        ):
            found.append(
                ConversationMessage(
                    "tool", message.content.removeprefix(RESULT_PREFIX), name=called
                )
            )
            called = None
        else:
            found.append(message)
    return found


def _parse_action_text(message_text: str) -> ConversationMessage:
    thought, _, text = message_text.rpartition(ACTION_MARK)
    thought, text = thought.strip(), text.strip()
    try:
        action = json.loads(text)
    except (ValueError, RecursionError):
        return ConversationMessage("assistant", message_text, reply=text)
    if not isinstance(action, dict) or not isinstance(action.get("name"), str):
        return ConversationMessage(
            "assistant",
            content=thought,
            calls=[ToolCall("", None, text, "the text is not an action")],
        )
    name, arguments = action["name"], action.get("arguments")
    if not isinstance(arguments, dict):
        call = ToolCall(name, None, text, "the arguments are not a JSON object")
        return ConversationMessage("assistant", content=thought, calls=[call])
    if name != REPLY_ACTION:
        return ConversationMessage("assistant", content=thought, calls=[ToolCall(name, arguments)])
    reply = str(arguments["content"]) if isinstance(arguments.get("content"), str) else ""
    return ConversationMessage("assistant", f"{thought}\n\n{reply}".strip(), reply=reply)


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


def read_version1_items(path: Path, plan: RunPlan) -> Iterator[Item | ImportIssue]:
    document = read_json_document(path)
    yield from document.issues
    environment = guess_environment([record.value for record in document.records])
    ids = ItemIds()
    for record in document.records:
        entry = record.value
        if (
            not isinstance(entry, dict)
            or not is_task_id(entry.get("task_id"))
            or "reward" not in entry
        ):
            what = "an entry has no task_id or no reward and was skipped"
            yield ImportIssue(
                str(path), record.line, what=what, raw=make_excerpt(str(entry)), severity="error"
            )
            continue
        task, trial = str(entry["task_id"]), entry.get("trial")
        item_id, issue = ids.assign_id(task, trial, str(path), record.line)
        if issue is not None:
            yield issue
        yield _read_item(record, item_id, environment, path)
    plan.run.settings["environment"] = environment


def guess_environment(entries: Sequence[Any]) -> str:
    """Return the environment whose tools the entries use most, because the file does not state
    the environment.
    """
    names = Counter(name for entry in entries[:400] for name in _iterate_tool_names(entry))
    counts = {
        environment: sum(names[each] for each in tools)
        for environment, tools in ENVIRONMENT_TOOLS.items()
    }
    best = max(counts, key=counts.__getitem__)
    return best if counts[best] else UNKNOWN_ENVIRONMENT


def _iterate_tool_names(entry: Any) -> Iterator[str]:
    for message in list_objects(as_object(entry).get("traj")):
        if (name := parse_action_name(message.get("content"))) and message.get(
            "role"
        ) == "assistant":
            yield name
        names = (
            as_object(call.get("function")).get("name")
            for call in list_objects(message.get("tool_calls"))
        )
        yield from (name for name in names if isinstance(name, str))


def _read_item(record: JsonRecord, item_id: str, environment: str, path: Path) -> Item:
    entry = record.value
    info = as_object(entry.get("info"))
    item = Item(
        item_id, environment, group=f"task {entry['task_id']}", file=str(path), line=record.line
    )
    item.offset, item.length = record.offset, record.length
    item.prediction_hash = answer_hash(entry.get("traj"))
    item.golden_hash = answer_hash(info["task"]) if "task" in info else ""
    return fill_safely(item, partial(_fill_item, item, entry, info))


def _fill_item(item: Item, entry: dict[str, Any], info: dict[str, Any]) -> None:
    metadata = item.extra.metadata
    metadata["trial"] = entry.get("trial")
    if (cost := to_finite_number(info.get("user_cost"))) is not None:
        metadata["user cost"] = cost
    task = as_object(info.get("task"))
    messages = _read_conversation(item, entry.get("traj"), "error" in info)
    if messages is not None and has_actions_in_text(messages):
        item.functions = read_tools_in_text(messages)
        messages = convert_actions_in_text(messages)
    item.ended = _find_ending(info, messages or [])
    add_conversation(item, messages or [])
    add_instruction(item, get_content_text(task.get("instruction")))
    item.question = item.question or first_question(item.messages)
    if "error" in info:
        last_step = max(item.n_steps - 1, 0)
        item.messages.append(
            Message(
                item.n_turns - 1, last_step, role="log", content=get_content_text(info["error"])
            )
        )
    pair_golden_actions(item, list(_read_golden_actions(task.get("actions"))))
    item.extra.uncounted_states = "-!+"
    gradable = None if messages is None else select_gradable_messages(messages)
    _add_verdicts(item, entry, info, task, gradable)
    apply_incident(item, find_version1_incident(entry))


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
    item: Item, trajectory: Any, has_error: bool
) -> list[ConversationMessage] | None:
    try:
        if not trajectory and not has_error:
            raise ValueError("the field traj is empty")
        return _read_messages(trajectory)
    except MALFORMED_DATA as error:
        report_unreadable_conversation(item, error)
        return None


def _read_golden_actions(actions: Any) -> Iterator[GoldenAction]:
    for action in list_objects(actions):
        name, arguments = str(action.get("name")), action.get("kwargs")
        if name != REPLY_ACTION:
            yield GoldenAction(name, arguments if isinstance(arguments, dict) else None)


def _read_messages(trajectory: Any) -> list[ConversationMessage]:
    if trajectory is None:
        return []
    if not isinstance(trajectory, list):
        raise TypeError("the field traj is not a list")
    messages = []
    for raw in trajectory:
        try:
            messages.append(_read_message(raw))
        except MalformedMessageError as error:
            messages.append(make_unreadable_message(raw, str(error)))
    return messages


def _read_message(raw: Any) -> ConversationMessage:
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
    item: Item,
    entry: JsonObject,
    info: JsonObject,
    task: JsonObject,
    messages: Sequence[ConversationMessage] | None,
) -> None:
    reward, reward_info = to_finite_number(entry.get("reward")), info.get("reward_info")
    if reward is None:
        add_issue(item, "the recorded reward is not a number")
    if (
        "error" not in info
        and not isinstance(reward_info, dict)
        and (reward_info is not None or reward != 0)
    ):
        item.official = None if reward is None else is_success(reward)
        item.rule_note = "the recorded checks are missing or unreadable"
        add_issue(item, item.rule_note)
        return
    if "error" in info:
        rationale = "the run ended with an exception, which counts as a failure"
        add_unchecked_verdicts(item, reward, "error", rationale, is_left_out=reward is None)
        return
    if not isinstance(reward_info, dict):
        reason = "the run reached the step limit, and nothing was checked"
        add_unchecked_verdicts(item, reward, "not_ended", reason, is_left_out=reward is None)
        return
    recorded = as_object(reward_info.get("info"))
    outputs = _read_expected_outputs(item, task.get("outputs"), recorded)
    found_outputs = check_outputs(outputs or [], messages or [])
    official, recomputed = RewardParts(), RewardParts()
    for name in ("r_actions", "r_outputs"):
        value = recorded.get(name)
        if value is not None and to_part_value(value) is None:
            shown = abbreviate(value)
            add_issue(
                item,
                f"{name} is {shown}, which is not a number from 0 to 1, so this part has no"
                " verdict",
            )
    if "r_actions" in recorded:
        database = to_part_value(recorded["r_actions"])
    else:
        # tau-bench records only one of the two results. In two of three cases, the reward implies
        # the other one.
        is_implied_failure = (
            to_finite_number(recorded.get("r_outputs")) == 1 and OWN_FIELD not in recorded
        )
        database = (
            1.0
            if reward is not None and is_success(reward)
            else 0.0
            if is_implied_failure
            else None
        )
    official.values["DB"] = recomputed.values["DB"] = database
    if outputs is None or outputs:
        is_known = outputs is not None and messages is not None
        recomputed.values["COMMUNICATE"] = float(all(found_outputs.values())) if is_known else None
        official.values["COMMUNICATE"] = to_part_value(recorded.get("r_outputs"))
        recomputed.missing_texts = [text for text, found in found_outputs.items() if not found]
        official.missing_texts = [
            str(text) for text, ok in as_object(recorded.get("outputs")).items() if not ok
        ]
    add_reward_verdicts(
        item, reward, CheckedParts(official, recomputed), is_left_out=reward is None
    )


def _read_expected_outputs(
    item: Item, outputs: Any, recorded_checks: dict[str, Any]
) -> list[str] | None:
    """Return the outputs that the agent has to say.

    If the file does not contain them, add an issue and return None.
    """
    checked = as_object(recorded_checks.get("outputs"))
    if (
        isinstance(outputs, list)
        and all(isinstance(each, str) for each in outputs)
        and set(checked) <= set(outputs)
    ):
        return outputs
    if outputs is None and "r_outputs" not in recorded_checks:
        return []
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
    replies = [each for each in messages if each.role == "assistant" and not each.calls]
    return find_spoken_texts(
        expected_outputs, [each.content if each.reply is None else each.reply for each in replies]
    )
