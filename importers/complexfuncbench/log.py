"""The per-sample log of ComplexFuncBench's evaluator: the only place where a call's tier and the judge's words are
kept.

Source of the grammar: the released `utils/logger` and `runner` modules (commit c37b284). Reprs in a log are read
with a literal parser that cannot run code.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

RECORD_HEADER = re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} - evaluation_logger_\S+ - (?:DEBUG|INFO|WARNING|ERROR) - ")
MAX_LITERAL_CHARS = 4_000_000

JsonCall = dict[str, Any]
"""`{"name": str, "arguments": {...}}`"""


@dataclass(slots=True)
class LoggedComparison:
    """One pair that was compared. `tier`: rule, exact, response, judge, or failed (no tier accepted and no judge
    line)."""

    predicted: JsonCall | None
    golden: JsonCall | None
    tier: str = "failed"
    accepted: bool = False
    error_type: str | None = None
    message: str | None = None
    judge: dict[str, Any] | None = None


@dataclass(slots=True)
class LoggedTurn:
    predicted: list[JsonCall] = field(default_factory=list)
    pending: list[JsonCall] = field(default_factory=list)
    """Golden calls not yet done before this turn."""
    comparisons: list[LoggedComparison] = field(default_factory=list)
    matched: list[JsonCall] = field(default_factory=list)
    observations: list[Any] = field(default_factory=list)


@dataclass(slots=True)
class EvaluationLog:
    attempts: int = 0
    query: str = ""
    turns: list[LoggedTurn] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    final_response: str | None = None
    left_over: str | None = None
    surplus_call: str | None = None
    """The call too many, as the runner printed it."""
    message: str | None = None
    completeness: list[Any] = field(default_factory=list)
    correctness: list[Any] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    """Records whose body could not be read."""


def split_records(text: str) -> Iterator[str]:
    """Log records without their headers; a line without a header continues the record before."""
    current: list[str] | None = None
    for line in text.split("\n"):
        found = RECORD_HEADER.match(line)
        if found:
            if current is not None:
                yield "\n".join(current)
            current = [line[found.end() :]]
        elif current is not None:
            current.append(line)
    if current is not None:
        yield "\n".join(current)


def parse_literal(text: str) -> Any:
    """A Python literal, None if it is none."""
    if len(text) > MAX_LITERAL_CHARS:
        return None
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
        return None


def _parse_json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def parse_log(text: str) -> EvaluationLog:
    """The last try of a log; `tries` counts how many it holds."""
    log = EvaluationLog()
    comparison: LoggedComparison | None = None
    for record in split_records(text):
        head, _, body = record.partition("\n")
        turn = log.turns[-1] if log.turns else None
        if head.startswith("Test Example "):
            log = EvaluationLog(attempts=log.attempts + 1)
        elif head.startswith("Query: "):
            log.query = record[len("Query: ") :].rstrip("\n")
        elif head.startswith("Function Calls:"):
            log.turns.append(LoggedTurn(predicted=_as_calls(_parse_json(body), log, "Function Calls")))
        elif head.startswith("Golden Function Call:") and turn:
            turn.pending = _as_calls(_parse_json(body), log, "Golden Function Call")
        elif head.startswith("Start compare_single_call:") and turn:
            predicted, _, golden = body.partition("\n")
            comparison = LoggedComparison(_as_call(parse_literal(predicted)), _as_call(parse_literal(golden)))
            turn.comparisons.append(comparison)
        elif comparison is not None and apply_outcome_line(record, comparison):
            continue
        elif head.startswith("Success matched:") and turn:
            turn.matched = _as_calls(parse_literal(record.partition(":")[2]), log, "Success matched")
        elif head.startswith("Observations:") and turn:
            found = _parse_json(body)
            turn.observations = found if isinstance(found, list) else []
        else:
            _apply_sample_line(record, log)
    return log


def apply_outcome_line(record: str, comparison: LoggedComparison) -> bool:
    """Takes in one line about the pair under comparison; whether it was one."""
    if record.startswith("Rule-based compare success"):
        comparison.tier, comparison.accepted = "rule", True
    elif record.startswith("Response-based compare success"):
        comparison.tier, comparison.accepted = "response", True
    elif record.startswith("LLM-based comparison output:"):
        comparison.tier = "judge"
        found = parse_literal(record.partition(":")[2])
        comparison.judge = found if isinstance(found, dict) else {"reason": record.partition(":")[2].strip()}
    elif record.startswith("LLM-based compare success"):
        comparison.tier, comparison.accepted = "judge", True
    elif record.startswith("All compare method failed"):
        comparison.accepted = False
    elif record.startswith("{'error_type'"):
        found = parse_literal(record)
        comparison.tier, comparison.accepted = "exact", False
        if isinstance(found, dict):
            comparison.error_type, comparison.message = found.get("error_type"), found.get("content")
    else:
        return False
    return True


def _apply_sample_line(record: str, log: EvaluationLog) -> None:
    for start, target in (
        ("Thought: ", log.thoughts),
        ("Complete Result: ", log.completeness),
        ("Correct Result: ", log.correctness),
    ):
        if record.startswith(start):
            text = record[len(start) :].rstrip("\n")
            target.append(text if target is log.thoughts else parse_literal(text))
    if record.startswith("Final Response: "):
        log.final_response = record[len("Final Response: ") :].rstrip("\n")
    elif record.startswith("golden_function_calls = "):
        log.left_over = record.partition(" = ")[2]
    elif record.startswith("Output FC:"):
        log.surplus_call = record.partition(":")[2].strip()
    elif record.startswith("Message: "):
        log.message = record[len("Message: ") :].rstrip("\n")


def _as_call(value: Any) -> JsonCall | None:
    return value if isinstance(value, dict) and isinstance(value.get("name"), str) else None


def _as_calls(value: Any, log: EvaluationLog, where: str) -> list[JsonCall]:
    if not isinstance(value, list):
        log.problems.append(f"{where}: not a list of calls")
        return []
    return [call for call in map(_as_call, value) if call]
