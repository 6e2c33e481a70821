"""Recognise the dialect of a list of messages.

Some signs are certain, such as a content block that only one API has. The first dialect in the
list below of which any message has a sign is taken for all messages. The last three differ only in
details, so that a wrong choice among them loses nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from fcreview.importers.common.records import as_list, as_object, list_objects
from fcreview.importers.dialects import (
    ai_sdk,
    autogen,
    bedrock,
    mistral_entries,
    openai_responses,
    pydantic_ai,
)
from fcreview.importers.dialects.anthropic import is_anthropic_block
from fcreview.importers.dialects.haystack import is_haystack_message
from fcreview.importers.dialects.llama_index import is_llama_index_message
from fcreview.importers.dialects.openai_chat import DEFAULT_MISTRAL_ID
from fcreview.importers.dialects.sharegpt import is_sharegpt_message
from fcreview.importers.dialects.values import get_type

LANGCHAIN_TYPES = ("human", "ai", "AIMessageChunk", "remove")
BEDROCK_SIGNS = bedrock.BLOCK_KEYS
OPENAI_CHAT = "openai_chat"
BODY_FIELDS = ("content", "parts", "message", "tool_calls", "tool_results", "function_call")


def detect_dialects(messages: Sequence[Any]) -> list[str]:
    """Return the dialects of which the messages have signs, the one to read them with first.

    Without any sign, this is OpenAI's chat format, which many programs write.
    """
    found = [
        dialect
        for dialect, has_sign in SIGNS.items()
        if any(has_sign(as_object(message)) for message in messages)
    ]
    # Haystack writes its texts like Bedrock. So does Qwen-Agent, with calls like OpenAI's.
    is_other = "haystack" in found or any(map(_has_openai_call, messages))
    if "bedrock_converse" in found and is_other:
        found.remove("bedrock_converse")
    return found or [OPENAI_CHAT]


def _has_openai_call(message: Any) -> bool:
    fields = as_object(message)
    return fields.get("role") == "function" or isinstance(fields.get("function_call"), dict)


def detect_dialect(message: Mapping[str, Any]) -> str:
    """Return the dialect of which a single message has a sign, or else OpenAI's chat format."""
    for dialect, has_sign in SIGNS.items():
        if has_sign(message):
            return dialect
    return OPENAI_CHAT


def is_mixture(dialects: Sequence[str]) -> bool:
    """Whether messages have signs of dialects that cannot be read alike."""
    return sum(dialect not in READ_LIKE_OPENAI_CHAT for dialect in dialects) > 1


def is_message_list(value: Any) -> bool:
    """Whether a JSON value is a list of messages in any dialect.

    Later elements may be of a kind that is not known yet.
    """
    messages = as_list(value)
    if not messages or not all(isinstance(message, dict) for message in messages):
        return False
    # The first two show the dialect.
    return all(is_message(message) for message in messages[:2])


def is_message(value: Any) -> bool:
    """Whether a JSON value is a message, or an item of a flat list, in any dialect."""
    if not isinstance(value, dict):
        return False
    has_body = any(name in value for name in BODY_FIELDS)
    if isinstance(value.get("role"), str) and has_body:
        return True
    return any(has_sign(value) for has_sign in SIGNS.values())


def _is_langchain(message: Mapping[str, Any]) -> bool:
    """Whether a message has one of the forms in which programs write messages of LangChain."""
    kind = message.get("type")
    # `dumpd` writes the constructor of each object.
    if message.get("lc") == 1 and kind == "constructor":
        return True
    # `messages_to_dict` writes the fields of a message into `data`, and `model_dump` beside its
    # type.
    if "additional_kwargs" in as_object(message.get("data")):
        return True
    if "additional_kwargs" in message and not is_llama_index_message(message):
        return True
    # Without that field, a type of message is left that no other dialect has.
    if kind in LANGCHAIN_TYPES and ("data" in message or "content" in message):
        return True
    return kind == "tool" and "tool_call_id" in message and "role" not in message


def _is_pydantic_ai(message: Mapping[str, Any]) -> bool:
    if "parts" not in message:
        return False
    return any(pydantic_ai.PART_KIND in part for part in list_objects(message["parts"]))


def _is_ai_sdk(message: Mapping[str, Any]) -> bool:
    if "toolInvocations" in message:
        return True
    if "parts" in message:
        return any(ai_sdk.is_ui_part(part) for part in list_objects(message["parts"]))
    parts = list_objects(message.get("content"))
    return any(get_type(part) in ai_sdk.MODEL_PARTS for part in parts)


def _is_autogen(message: Mapping[str, Any]) -> bool:
    return get_type(message) in autogen.SIGN_TYPES


def _is_otel_genai(message: Mapping[str, Any]) -> bool:
    parts = list_objects(message.get("parts"))
    return any("type" in part and not ai_sdk.is_ui_part(part) for part in parts)


def _is_gemini(message: Mapping[str, Any]) -> bool:
    if message.get("role") == "model" and "finishReason" in message:
        return True
    parts = list_objects(message.get("parts"))
    return any("type" not in part and pydantic_ai.PART_KIND not in part for part in parts)


def _is_bedrock(message: Mapping[str, Any]) -> bool:
    for part in list_objects(message.get("content")):
        if "type" not in part and part.keys() & BEDROCK_SIGNS:
            return True
    return False


def _is_mistral_entry(message: Mapping[str, Any]) -> bool:
    return get_type(message) in mistral_entries.ROLES_BY_ENTRY


def _is_openai_responses(message: Mapping[str, Any]) -> bool:
    if "role" not in message and get_type(message) in openai_responses.SIGN_ITEMS:
        return True
    parts = list_objects(message.get("content"))
    return any(get_type(part) in openai_responses.SIGN_PARTS for part in parts)


def _is_cohere_v1(message: Mapping[str, Any]) -> bool:
    role = message.get("role")
    has_capitals = isinstance(role, str) and role.isupper()
    return has_capitals and ("message" in message or "tool_results" in message)


def _is_anthropic(message: Mapping[str, Any]) -> bool:
    # Cohere and Mistral have parts of the type `thinking` beside calls outside the content.
    if "tool_calls" in message:
        return False
    return any(is_anthropic_block(part) for part in as_list(message.get("content")))


def _is_cohere_v2(message: Mapping[str, Any]) -> bool:
    return "tool_plan" in message


def _is_ollama(message: Mapping[str, Any]) -> bool:
    if message.get("role") == "tool" and "tool_name" in message:
        return True
    return any(
        call.get("id") is None and isinstance(_get_arguments(call), dict)
        for call in list_objects(message.get("tool_calls"))
    )


def _is_mistral(message: Mapping[str, Any]) -> bool:
    """Whether a message has Mistral's default id of a call, or its list of reasoning parts."""
    calls = list_objects(message.get("tool_calls"))
    if any(call.get("id") == DEFAULT_MISTRAL_ID for call in calls):
        return True
    parts = list_objects(message.get("content"))
    return any(isinstance(part.get("thinking"), list) for part in parts)


def _get_arguments(call: Mapping[str, Any]) -> Any:
    return as_object(call.get("function")).get("arguments")


SIGNS: Mapping[str, Callable[[Mapping[str, Any]], bool]] = {
    "langchain": _is_langchain,
    "pydantic_ai": _is_pydantic_ai,
    "ai_sdk": _is_ai_sdk,
    "autogen": _is_autogen,
    "llama_index": is_llama_index_message,
    "haystack": is_haystack_message,
    "otel_genai": _is_otel_genai,
    "gemini": _is_gemini,
    "bedrock_converse": _is_bedrock,
    "mistral_entries": _is_mistral_entry,
    "openai_responses": _is_openai_responses,
    "cohere_v1": _is_cohere_v1,
    "anthropic": _is_anthropic,
    "sharegpt": is_sharegpt_message,
    "cohere_v2": _is_cohere_v2,
    "ollama": _is_ollama,
    "mistral": _is_mistral,
}
"""Whether a message has a sign of a dialect, by dialect, in the order in which they are tried."""
READ_LIKE_OPENAI_CHAT = ("cohere_v2", "ollama", "mistral", OPENAI_CHAT)


def list_dialects() -> Iterator[str]:
    """Yield the names of all dialects."""
    yield from SIGNS
    yield OPENAI_CHAT
