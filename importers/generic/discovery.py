"""Generic files and chat logs among files: told by their first line, without building models, which stays cheap."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fcreview.importers.common.jsonl import read_first_record
from fcreview.model.item import Run
from fcreview.model.json_value import to_plain_json
from fcreview.run_plan import DiscoveredRuns, RunPlan

SUFFIXES = (".jsonl", ".ndjson", ".json")
MAX_FIRST_LINE_BYTES = 8 << 20
RECORD_FIELDS = frozenset(
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

DISTINCTIVE_FIELDS = RECORD_FIELDS - {"id", "messages", "tools"}
"""A line with one of these is a record of ours, however it is spelt otherwise."""
CHAT_LOG_FIELDS = frozenset({"id", "custom_id", "messages", "tools", "request", "body", "response", "choices"})


def find_runs(files: Sequence[Path], data: Sequence[Path]) -> DiscoveredRuns:  # noqa: ARG001 (records carry their own golden answers)
    found = DiscoveredRuns()
    for path in files:
        if path.suffix in SUFFIXES:
            plan = _make_plan(path, read_first_record(path, MAX_FIRST_LINE_BYTES))
            if plan:
                found.plans.append(plan)
                found.claimed.add(path)
    return found


def _make_plan(path: Path, first: Any) -> RunPlan | None:
    if not isinstance(first, dict):
        return None
    if "fcreview" in first:
        first = to_plain_json(first)
        run = Run(
            str(first.get("benchmark") or "generic"),
            str(first.get("generation") or ""),
            str(first.get("language") or ""),
            str(first.get("model") or path.stem),
            str(path),
            needs_dataset=False,
        )
        settings = first.get("settings")
        run.settings = settings if isinstance(settings, dict) else {}
        return RunPlan(
            run,
            [path],
            confidence=1.0,
            reason="first line is a header of the generic format",
            needs_scores=False,
        )
    run = Run("generic", "", "", path.stem, str(path), needs_dataset=False)
    if isinstance(first.get("messages"), list) and "id" in first and first.keys() & DISTINCTIVE_FIELDS:
        return RunPlan(run, [path], confidence=0.6, reason="records with id and messages", needs_scores=False)
    if chat_log_to_record(first, 1) is not first:
        run.generation = "chat log"
        return RunPlan(run, [path], confidence=0.4, reason="an OpenAI-style chat log", needs_scores=False)
    return None


def chat_log_to_record(value: Any, line: int) -> Any:
    """Chat logs as records: `{"messages": [...]}`, `{"request": {...}, "response": {"choices": [...]}}`; others
    unchanged."""
    if not isinstance(value, dict) or value.keys() & DISTINCTIVE_FIELDS:
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
        "extra": {key: one for key, one in value.items() if key not in CHAT_LOG_FIELDS},
    }
