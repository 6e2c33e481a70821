"""What a line of a generic file or chat log looks like, told without building models: finding runs must stay cheap."""

from __future__ import annotations

from typing import Any

FIELDS = frozenset(
    [
        "id",
        "category",
        "group",
        "messages",
        "tools",
        "golden",
        "predicted",
        "ordered",
        "verdicts",
        "tokens_in",
        "tokens_out",
        "latency",
        "extra",
    ]
)
"""The fields of `schema.Record`."""

OWN_FIELDS = FIELDS - {"id", "messages", "tools"}
"""A line with one of these is a record of ours, however it is spelt otherwise."""
USED = frozenset({"id", "custom_id", "messages", "tools", "request", "body", "response", "choices"})


def as_record(value: Any, line: int) -> Any:
    """Chat logs as records: `{"messages": [...]}`, `{"request": {...}, "response": {"choices": [...]}}`; others
    unchanged."""
    if not isinstance(value, dict) or value.keys() & OWN_FIELDS:
        return value
    request = value.get("request") or value.get("body") or value
    if not isinstance(request, dict) or not isinstance(request.get("messages"), list):
        return value
    answer = value.get("response") or {}
    answer = answer.get("body", answer) if isinstance(answer, dict) else {}
    choices = answer.get("choices") or value.get("choices") or [] if isinstance(answer, dict) else []
    replies = [
        c["message"]
        for c in (choices[:1] if isinstance(choices, list) else [])
        if isinstance(c, dict) and isinstance(c.get("message"), dict)
    ]
    usage = answer.get("usage") if isinstance(answer, dict) else None
    usage = usage if isinstance(usage, dict) else {}
    tools = request.get("tools") or value.get("tools")
    return {
        "id": str(value.get("id") or value.get("custom_id") or f"chat_{line}"),
        "category": "chat",
        "messages": [*request["messages"], *replies],
        "tools": [tool for tool in tools if isinstance(tool, dict)] if isinstance(tools, list) else [],
        "tokens_in": usage.get("prompt_tokens"),
        "tokens_out": usage.get("completion_tokens"),
        "extra": {key: one for key, one in value.items() if key not in USED},
    }
