"""Convert messages of Anthropic's API, in which calls and results are content blocks, to the OpenAI
chat format.

A block `tool_use` of the assistant becomes a tool call, and a block `tool_result` of the user a
tool message.
"""

from __future__ import annotations

from typing import Any

from fcreview.importers.common.records import as_list, as_object, list_objects

CALL_BLOCK = "tool_use"
RESULT_BLOCK = "tool_result"


def convert_anthropic_record(record: Any) -> Any:
    """Convert the messages and tools of a record of the generic format.

    Other values are returned unchanged.
    """
    if not isinstance(record, dict) or not isinstance(record.get("messages"), list):
        return record
    converted = record | {"messages": convert_anthropic_messages(record["messages"])}
    if isinstance(record.get("tools"), list):
        converted["tools"] = [_convert_tool(tool) for tool in record["tools"]]
    return converted


def convert_anthropic_messages(messages: list[Any]) -> list[Any]:
    """Return messages with tool calls and tool messages instead of blocks.

    Other messages are returned unchanged.
    """
    converted: list[Any] = []
    call_names: dict[str, str] = {}  # id of a call -> its function, for the results that follow
    for message in messages:
        calls = _list_blocks(message, CALL_BLOCK)
        results = _list_blocks(message, RESULT_BLOCK)
        if not calls and not results:
            converted.append(message)
            continue

        for block in calls:
            call_names[str(block.get("id"))] = str(block.get("name"))
        converted += [_make_tool_message(block, call_names) for block in results]
        rest = [
            block for block in message["content"] if block not in calls and block not in results
        ]
        if calls or rest:
            converted.append(_make_message(message, rest, calls))
    return converted


def _list_blocks(message: Any, block_type: str) -> list[dict[str, Any]]:
    blocks = list_objects(as_object(message).get("content"))
    return [block for block in blocks if block.get("type") == block_type]


def _make_message(
    message: dict[str, Any], rest: list[Any], calls: list[dict[str, Any]]
) -> dict[str, Any]:
    converted: dict[str, Any] = message | {"content": rest or None}
    if calls:
        converted["tool_calls"] = [_make_tool_call(block) for block in calls]
    return converted


def _make_tool_call(block: dict[str, Any]) -> dict[str, Any]:
    function = {"name": str(block.get("name")), "arguments": block.get("input") or {}}
    return {"id": str(block.get("id")), "type": "function", "function": function}


def _make_tool_message(block: dict[str, Any], call_names: dict[str, str]) -> dict[str, Any]:
    call_id = str(block.get("tool_use_id"))
    content = block.get("content")
    return {
        "role": "tool",
        "tool_call_id": call_id,
        "name": call_names.get(call_id),
        "content": content if isinstance(content, str) else as_list(content),
    }


def _convert_tool(tool: Any) -> Any:
    """Return a tool with its schema in `parameters`, where Anthropic's API has it in
    `input_schema`.
    """
    if not isinstance(tool, dict) or "input_schema" not in tool:
        return tool
    return {name: value for name, value in tool.items() if name != "input_schema"} | {
        "parameters": tool["input_schema"]
    }
