"""Define the schema of the generic format. `fcreview schema` prints it as JSON Schema.

The first line of a file may be a `Header`. Every other line is a `Record`, or a line of an OpenAI-style chat log with
nothing but `messages`. If a record has no predicted calls, the `tool_calls` of its assistant messages are used.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, TypeAdapter

from fcreview.model.address import ADDRESS_FORMS, ITEM
from fcreview.model.review import CORRECT


class _StrictModel(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Header(_StrictModel):
    """Optional first line, with data that applies to all records."""

    fcreview: Literal[1] = Field(description="Version of this format.")
    benchmark: str = Field("generic", description="Display name of the benchmark.")
    generation: str = Field("", description="Version of the benchmark.")
    language: str = ""
    model: str | None = Field(None, description="Name of the model. Default: the file name without suffix.")
    settings: dict[str, JsonValue] = Field({}, description="Settings of the run, listed by fcreview.")


class FunctionCall(BaseModel):
    """A function call in the OpenAI chat format."""

    name: str
    arguments: dict[str, JsonValue] | str = Field({}, description="An object, or the JSON text of one.")


class ToolCall(BaseModel):
    """A tool call in the OpenAI chat format."""

    model_config = ConfigDict(extra="allow")

    id: str | None = None
    type: str = "function"
    function: FunctionCall


class ChatMessage(BaseModel):
    """A message in the OpenAI chat format."""

    model_config = ConfigDict(extra="allow")

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[dict[str, JsonValue]] | None = None
    name: str | None = None
    tool_calls: list[ToolCall] | None = None
    tool_call_id: str | None = None


class Alternatives(_StrictModel):
    """The accepted values of a golden argument, if there are several or it is optional."""

    any_of: list[JsonValue]
    optional: bool = Field(False, description="Whether the argument may be omitted.")


class GoldenCall(_StrictModel):
    """A call of the golden answer."""

    name: str
    arguments: dict[str, Annotated[Alternatives | JsonValue, Field(union_mode="left_to_right")]] = Field(
        {}, description='Argument name -> accepted value, or {"any_of": [...], "optional": false}.'
    )
    turn: int = Field(0, ge=0, description="Number of the turn, from 0. Each turn begins with a user message.")


class PredictedCall(_StrictModel):
    """A call by the model."""

    name: str
    arguments: dict[str, JsonValue] | str = Field({}, description="An object, or the JSON text of one.")
    turn: int = Field(0, ge=0, description="Number of the turn, from 0.")
    step: int = Field(0, ge=0, description="Number of the model's step in the turn, from 0.")


class RecordVerdict(_StrictModel):
    """A verdict on the item or one of its parts."""

    source: Literal["official", "rule", "judge"] = Field(description="`rule` is a verdict recomputed from rules.")
    value: bool | int | float | str | list[str] | None
    target: str = Field(ITEM, description=f"{ADDRESS_FORMS}. Turn and call numbers start at 1.")
    criterion: str = CORRECT
    error_type: str | None = None
    rationale: str | None = None
    by: str | None = Field(None, description="Name of the judge model or the checker.")


class Record(_StrictModel):
    """One item: a test case with the model's answer."""

    id: str
    category: str = "all"
    group: str | None = Field(None, description="Name of the conversation, if it has several records.")
    messages: list[ChatMessage]
    tools: list[dict[str, JsonValue]] = Field([], description="Available functions: OpenAI tools or function docs.")
    golden: list[GoldenCall] | None = Field(
        None,
        description="Golden answer. If omitted, there is none. An empty list means that the model must make no call.",
    )
    predicted: list[PredictedCall] | None = Field(
        None, description="Calls by the model. Default: the tool_calls of the assistant messages."
    )
    ordered: bool = Field(False, description="Whether the calls must be in the golden order.")
    verdicts: list[RecordVerdict] = []
    tokens_in: int | None = None
    tokens_out: int | None = None
    latency: float | None = Field(None, description="Seconds.")
    extra: dict[str, JsonValue] = Field({}, description="Metadata: any names and values.")


def json_schema() -> dict[str, Any]:
    """Build the JSON Schema of one line."""
    schema: dict[str, Any] = TypeAdapter(Header | Record).json_schema()
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "fcreview generic format, one line",
    } | schema
