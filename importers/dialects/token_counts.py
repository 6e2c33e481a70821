"""Read how many tokens a response took, in the form of any API."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fcreview.importers.common.records import as_object, is_integer

MAX_DIGITS = 18
USAGE_PATHS: Sequence[Sequence[str]] = (
    ("usage",),
    ("usage", "tokens"),  # Cohere
    ("x_groq", "usage"),  # pieces of Groq's streams
    ("usageMetadata",),  # Gemini
    ("usage_metadata",),  # Gemini in Python, LangChain
    ("raw", "usage"),  # LlamaIndex
    ("additional_kwargs",),  # older versions of LlamaIndex
    (),  # Ollama
)
"""Paths of the object with the counts, from the response inwards."""


@dataclass(frozen=True, slots=True)
class TokenFields:
    """Names of the counts in an API. Names in one tuple are added, because they count different
    tokens.
    """

    tokens_in: Sequence[str]
    tokens_out: Sequence[str]


API_FIELDS: Sequence[TokenFields] = (
    # OpenAI's chat completions
    TokenFields(("prompt_tokens",), ("completion_tokens",)),
    # OpenAI's Responses, Cohere, Anthropic. Only Anthropic counts the tokens of the cache apart.
    TokenFields(
        ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"),
        ("output_tokens",),
    ),
    # Bedrock, and results of Claude Code
    TokenFields(
        (
            "inputTokens",
            "cacheReadInputTokens",
            "cacheWriteInputTokens",
            "cacheCreationInputTokens",
        ),
        ("outputTokens",),
    ),
    # Gemini
    TokenFields(
        ("promptTokenCount", "toolUsePromptTokenCount"),
        ("candidatesTokenCount", "thoughtsTokenCount"),
    ),
    TokenFields(
        ("prompt_token_count", "tool_use_prompt_token_count"),
        ("candidates_token_count", "thoughts_token_count"),
    ),
    # Ollama
    TokenFields(("prompt_eval_count",), ("eval_count",)),
)


@dataclass(frozen=True, slots=True)
class TokenCounts:
    """Numbers of tokens. None if the response does not state them."""

    tokens_in: int | None
    tokens_out: int | None


NO_COUNTS = TokenCounts(None, None)


def read_token_counts(response: Mapping[str, Any]) -> TokenCounts:
    """Return the numbers of tokens that a response states."""
    for path in USAGE_PATHS:
        usage = _get_object(response, path)
        for fields in API_FIELDS:
            counts = TokenCounts(_add(usage, fields.tokens_in), _add(usage, fields.tokens_out))
            if counts != NO_COUNTS:
                return counts
    return NO_COUNTS


def _get_object(response: Mapping[str, Any], path: Iterable[str]) -> Mapping[str, Any]:
    value = response
    for name in path:
        value = as_object(value.get(name))
    return value


def _add(usage: Mapping[str, Any], names: Sequence[str]) -> int | None:
    """Return the sum of the counts with some names, or None if none of them is a whole number."""
    counts = [count for count in map(_read_count, map(usage.get, names)) if count is not None]
    return sum(counts) if counts else None


def _read_count(value: Any) -> int | None:
    """Return a count. Tables have it as text."""
    if is_integer(value):
        return value
    is_number_text = isinstance(value, str) and value.isdecimal() and len(value) <= MAX_DIGITS
    return int(value) if is_number_text else None
