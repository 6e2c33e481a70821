"""The reader of each dialect."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from fcreview.importers.dialects import (
    ai_sdk,
    anthropic,
    autogen,
    bedrock,
    cohere_v1,
    gemini,
    haystack,
    langchain,
    llama_index,
    mistral_entries,
    openai_chat,
    openai_responses,
    otel_genai,
    pydantic_ai,
    sharegpt,
)
from fcreview.importers.dialects.conversation import MessageIssue, ParsedMessage
from fcreview.importers.dialects.detection import READ_LIKE_OPENAI_CHAT

MessageReader = Callable[[Sequence[Any]], Iterator[ParsedMessage | MessageIssue]]
READERS: Mapping[str, MessageReader] = {
    "langchain": langchain.read_messages,
    "pydantic_ai": pydantic_ai.read_messages,
    "ai_sdk": ai_sdk.read_messages,
    "autogen": autogen.read_messages,
    "llama_index": llama_index.read_messages,
    "haystack": haystack.read_messages,
    "otel_genai": otel_genai.read_messages,
    "gemini": gemini.read_messages,
    "bedrock_converse": bedrock.read_messages,
    "mistral_entries": mistral_entries.read_messages,
    "openai_responses": openai_responses.read_messages,
    "cohere_v1": cohere_v1.read_messages,
    "anthropic": anthropic.read_messages,
    sharegpt.NAME: sharegpt.read_messages,
    **dict.fromkeys(READ_LIKE_OPENAI_CHAT, openai_chat.read_messages),
}


def get_reader(dialect: str) -> MessageReader:
    return READERS.get(dialect, openai_chat.read_messages)
