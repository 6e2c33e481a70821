"""Define messages in the OpenAI chat format, as the schema of the generic format describes them."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue


class StrictModel(BaseModel):
    """A model without other fields."""

    model_config = ConfigDict(extra="forbid")


class FunctionCall(BaseModel):
    """A function call in the OpenAI chat format."""

    name: str
    arguments: dict[str, JsonValue] | str = Field(
        {}, description="A JSON object, or a string that contains one."
    )


class CallDecoding(StrictModel):
    """Text of a call, as `fcreview export --format generic` writes it."""

    raw: str | None = Field(None, description="Text from which the call was decoded.")
    decode_error: str | None = Field(
        None, description="Why the text could not be decoded. The call then has no arguments."
    )


class MessagePlace(StrictModel):
    """Place of a message, as `fcreview export --format generic` writes it."""

    turn: int = Field(ge=0, description="Number of the turn, from 0.")
    step: int = Field(
        ge=-1, description="Number of the model's step in the turn, from 0; -1 before the first."
    )
    role: Literal["state", "log", "other"] | None = Field(
        None, description="Role of a message that the model did not see or that has no other role."
    )


class ToolCall(BaseModel):
    """A tool call in the OpenAI chat format."""

    model_config = ConfigDict(extra="allow")

    fcreview: CallDecoding | None = None

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
    fcreview: MessagePlace | None = Field(
        None,
        description="Turn and step of the message. Give them to all messages of a record or to"
        " none. Without them, each user message after an answer begins a turn.",
    )
