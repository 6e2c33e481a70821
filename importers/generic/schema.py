"""The generic format: one JSON object a line, for people with a benchmark of their own. `fcreview schema` prints it
as JSON Schema.

A file may open with a `Header`; every other line is a `Record`. A line with nothing but `messages` (an
OpenAI-style chat log) is a record too: its predicted calls are the `tool_calls` of its assistant messages.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, TypeAdapter

from fcreview.model.address import ADDRESS_FORMS, ITEM
from fcreview.model.review import CORRECT


class _StrictModel(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Header(_StrictModel):
    """Optional first line: what all records share."""

    fcreview: Literal[1] = Field(description="Version of this format.")
    benchmark: str = Field("generic", description="Name shown for the benchmark.")
    generation: str = ""
    language: str = ""
    model: str | None = Field(None, description="The model that was run; the file's name if left out.")
    settings: dict[str, JsonValue] = {}


class FunctionCall(BaseModel):
    name: str
    arguments: dict[str, JsonValue] | str = Field({}, description="An object, or the JSON text of one.")


class ToolCall(BaseModel):
    """As in the OpenAI chat format; a bare function call is taken too."""

    model_config = ConfigDict(extra="allow")

    id: str | None = None
    type: str = "function"
    function: FunctionCall


class ChatMessage(BaseModel):
    """As in the OpenAI chat format."""

    model_config = ConfigDict(extra="allow")

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[dict[str, JsonValue]] | None = None
    name: str | None = None
    tool_calls: list[ToolCall] | None = None
    tool_call_id: str | None = None


class Alternatives(_StrictModel):
    """What a golden argument accepts, where it is more than one value."""

    any_of: list[JsonValue]
    optional: bool = Field(False, description="The argument may be left out.")


class GoldenCall(_StrictModel):
    name: str
    arguments: dict[str, Annotated[Alternatives | JsonValue, Field(union_mode="left_to_right")]] = Field(
        {}, description='A value, or {"any_of": [...], "optional": false}.'
    )
    turn: int = Field(0, ge=0, description="From 0: the user message this call answers.")


class PredictedCall(_StrictModel):
    name: str
    arguments: dict[str, JsonValue] | str = {}
    turn: int = Field(0, ge=0)
    step: int = Field(0, ge=0)


class RecordVerdict(_StrictModel):
    source: Literal["official", "rule", "judge"]
    value: bool | int | float | str | list[str] | None
    target: str = Field(ITEM, description=f"{ADDRESS_FORMS}; counted from 1.")
    criterion: str = CORRECT
    error_type: str | None = None
    rationale: str | None = None
    by: str | None = Field(None, description="The judge model or the checker.")


class Record(_StrictModel):
    """One test case of a run."""

    id: str
    category: str = "all"
    group: str | None = Field(None, description="Conversation that several records belong to.")
    messages: list[ChatMessage]
    tools: list[dict[str, JsonValue]] = Field([], description="OpenAI tools, or bare function documents.")
    golden: list[GoldenCall] | None = Field(None, description="Left out: no golden answer. Empty: no call is right.")
    predicted: list[PredictedCall] | None = Field(None, description="Left out: the tool_calls in messages.")
    ordered: bool = Field(False, description="Calls must come in golden order.")
    verdicts: list[RecordVerdict] = []
    tokens_in: int | None = None
    tokens_out: int | None = None
    latency: float | None = Field(None, description="Seconds.")
    extra: dict[str, JsonValue] = {}


def json_schema() -> dict[str, Any]:
    """JSON Schema of one line."""
    schema: dict[str, Any] = TypeAdapter(Header | Record).json_schema()
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "fcreview generic format, one line",
    } | schema
