"""LlamaIndex: messages with blocks that have a `block_type`. Until version 0.11, they had a text.

What the API of the model wrote beside the text, such as calls and ids, is in `additional_kwargs`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fcreview.importers.common.records import as_object, list_objects
from fcreview.importers.dialects import openai_chat, values
from fcreview.importers.dialects.conversation import (
    MessageIssue,
    Note,
    ParsedMessage,
    Reading,
    Reasoning,
    Role,
)
from fcreview.importers.dialects.reading import (
    collect_fragments,
    read_message,
)

BLOCK_TYPE = "block_type"
KWARGS = "additional_kwargs"
MESSAGE_FIELDS = {"role", "content", "blocks", KWARGS}
KWARGS_FIELDS = {"tool_calls", "function_call", "tool_call_id", "name", "refusal"}
CALL_FIELDS = {BLOCK_TYPE, "tool_call_id", "tool_name", "tool_kwargs"}
FILE_BLOCKS = ("image", "audio", "document", "video")


def is_llama_index_message(message: Mapping[str, Any]) -> bool:
    """Whether a message has a role and `additional_kwargs`. LangChain's messages have a type."""
    if "role" not in message or "type" in message:
        return False
    has_blocks = any(BLOCK_TYPE in block for block in list_objects(message.get("blocks")))
    return has_blocks or isinstance(message.get(KWARGS), dict)


def read_messages(messages: Sequence[Any]) -> Iterator[ParsedMessage | MessageIssue]:
    for index, message in enumerate(messages):
        yield from _read_message(message, path=f"messages[{index}]")


def _read_message(message: Any, *, path: str) -> Iterator[ParsedMessage | MessageIssue]:
    """Yield a message, and issues about what is not read."""
    parsed = yield from read_message(message, MESSAGE_FIELDS, _read_by_role, path=path)
    if parsed is not None:
        yield parsed


def _read_by_role(message: dict[str, Any], role: Role, *, path: str) -> Iterator[Reading]:
    """Yield what a message contains, with issues about unknown fields of `additional_kwargs`."""
    kwargs = message.get(KWARGS)
    if kwargs is not None and not isinstance(kwargs, dict):
        yield MessageIssue(f"{KWARGS} is not an object", path=path, raw=kwargs)
    yield from values.report_unknown_fields(
        as_object(kwargs), KWARGS_FIELDS, path=f"{path}.{KWARGS}"
    )
    if role == "tool":
        yield from _read_tool_message(message, path=path)
    else:
        yield from _read_spoken_message(message, role, path=path)


def _read_spoken_message(message: dict[str, Any], role: Role, *, path: str) -> Iterator[Reading]:
    yield from _read_content(message, role, path=path)
    # The API's own calls repeat those in the blocks.
    blocks = list_objects(message.get("blocks"))
    call_blocks = [block for block in blocks if block.get(BLOCK_TYPE) == "tool_call"]
    kwargs = as_object(message.get(KWARGS))
    if not call_blocks:
        yield from openai_chat.read_calls(kwargs, path=f"{path}.{KWARGS}")
        return
    ids_of_blocks = [block.get("tool_call_id") for block in call_blocks]
    for call in list_objects(kwargs.get("tool_calls")):
        if call.get("id") not in ids_of_blocks:
            what = f"a call in {KWARGS} is not among the blocks, and is not read"
            yield MessageIssue(what, path=path, raw=call)


def _read_tool_message(message: dict[str, Any], *, path: str) -> Iterator[Reading]:
    """Yield the result of a call, which is a message with the role `tool`."""
    fragments = yield from collect_fragments(_read_content(message, "tool", path=path))
    kwargs = as_object(message.get(KWARGS))
    yield from values.read_result(
        kwargs.get("tool_call_id"), fragments, name=kwargs.get("name"), path=path
    )


def _read_content(message: dict[str, Any], role: Role, *, path: str) -> Iterator[Reading]:
    """Yield the fragments of the blocks of a message or, in old versions, of its content."""
    blocks = message.get("blocks")
    if isinstance(blocks, list):
        for index, block in enumerate(blocks):
            yield from _read_block(block, path=f"{path}.blocks[{index}]")
        return
    if blocks is not None:
        yield from values.read_unknown("form of blocks", blocks, path=path)
        return

    if "content" not in message:
        yield MessageIssue("message without blocks and content", path=path, raw=message)
    yield from openai_chat.read_content(message.get("content"), path=f"{path}.content", role=role)


def _read_block(block: Any, *, path: str) -> Iterator[Reading]:
    """Yield the fragments of a block, by its type. A block of an unknown type is reported."""
    fields = as_object(block)
    kind = fields.get(BLOCK_TYPE)
    match kind:
        case "text":
            yield from values.read_text(fields.get("text"), path=path)
        case "thinking":
            yield from _read_thinking(fields, path=path)
        case "tool_call":
            yield from values.report_unknown_fields(fields, CALL_FIELDS, path=path)
            yield from values.read_call(
                fields.get("tool_call_id"),
                fields.get("tool_name"),
                fields.get("tool_kwargs"),
                path=path,
            )
        case str() if kind in FILE_BLOCKS:
            media_type = fields.get(f"{kind}_mimetype")
            yield from values.read_file(
                kind, media_type=media_type, data=fields.get(kind), path=path
            )
        case "cache":
            yield Note(block)
        case _:
            label = f"block {values.to_text(kind)}".strip()
            yield from values.read_unknown(label, block, path=path)


def _read_thinking(block: dict[str, Any], *, path: str) -> Iterator[Reading]:
    content = block.get("content")
    if isinstance(content, str):
        yield Reasoning(content)
    elif content is not None or not block.get("additional_information"):
        # Hidden reasoning has only its signature.
        yield MessageIssue("thinking is not a text", path=path, raw=block)
