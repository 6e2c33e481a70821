"""Parse ComplexFuncBench's evaluation logs, one for each sample.

Only the logs state which tier decided the verdict on each call, and the judge's reasons.

Source of the format: the modules `utils/logger` and `runner` of the release (commit c37b284).
Python literals in a log are parsed with `ast.literal_eval`, which runs no code.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from fcreview.importers.common.records import as_list, as_object

RECORD_HEADER = re.compile(
    r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} - evaluation_logger_\S+ - (?:DEBUG|INFO|WARNING|ERROR)"
    r" - "
)
ERROR_LEVELS = (" - WARNING - ", " - ERROR - ")
OUTCOME = "Message: "
SURPLUS_CALL = "Output FC:"
"""Beginning of the only error record that the released runner writes itself: a call although no
golden call is left.
"""
MAX_LITERAL_CHARS = 4_000_000

JsonCall = dict[str, Any]
"""A call as `{"name": str, "arguments": {...}}`."""


@dataclass(slots=True)
class LoggedComparison:
    """The evaluator's comparison of a predicted call with a golden call."""

    predicted: JsonCall | None
    golden: JsonCall | None
    tier: str = "failed"
    """Tier that decided the verdict. The module docstring of `checker` lists the tiers."""
    accepted: bool = False
    error_type: str | None = None
    message: str | None = None
    judge: dict[str, Any] | None = None


@dataclass(slots=True)
class LoggedTurn:
    """A model turn that contains calls."""

    predicted: list[JsonCall] = field(default_factory=list)
    comparisons: list[LoggedComparison] = field(default_factory=list)
    observations: list[Any] = field(default_factory=list)


@dataclass(slots=True)
class EvaluationLog:
    """The log of the last attempt at a sample."""

    attempts: int = 0
    """Number of attempts in the log file."""
    query: str = ""
    turns: list[LoggedTurn] = field(default_factory=list)
    surplus_call: str | None = None
    """Call that the model made although no golden call remained, as the runner printed it."""
    problems: list[str] = field(default_factory=list)
    outcome: str | None = None
    """Message with which the attempt ended, as printed. None if it ended without an outcome."""
    error: str | None = None
    """Last error or warning in the log, other than a surplus call."""


class LogRecord(NamedTuple):
    """A record of the log. The lines before the first record have an empty header."""

    header: str
    lines: list[str]

    @property
    def body(self) -> str:
        """The record without its header."""
        return "\n".join([self.lines[0][len(self.header) :], *self.lines[1:]])


def split_log_records(text: str) -> Iterator[LogRecord]:
    """Yield the records of a log. A line without a header belongs to the record above it."""
    record: LogRecord | None = None
    for line in text.split("\n"):
        header = RECORD_HEADER.match(line)
        if header or record is None:
            if record is not None:
                yield record
            record = LogRecord(header.group() if header else "", [line])
        else:
            record.lines.append(line)
    if record is not None:
        yield record


def parse_python_literal(text: str) -> Any:
    """Parse a Python literal. Return None for any other text."""
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
    """Parse the last attempt at a sample in a log."""
    log = EvaluationLog()
    comparison: LoggedComparison | None = None
    for log_record in split_log_records(text):
        if not log_record.header:
            continue
        record = log_record.body
        head, _, body = record.partition("\n")
        turn = log.turns[-1] if log.turns else None
        if head.startswith("Test Example "):
            log = EvaluationLog(attempts=log.attempts + 1)
        elif head.startswith("Function Calls:"):
            log.turns.append(
                LoggedTurn(predicted=_read_calls(_parse_json(body), log, "Function Calls"))
            )
        elif head.startswith("Golden Function Call:") and turn:
            _read_calls(_parse_json(body), log, "Golden Function Call")
        elif head.startswith("Start compare_single_call:") and turn:
            predicted, _, golden = body.partition("\n")
            first, second = (
                _get_call_or_none(parse_python_literal(text)) for text in (predicted, golden)
            )
            comparison = LoggedComparison(first, second)
            turn.comparisons.append(comparison)
        elif comparison is not None and try_apply_outcome(record, comparison):
            continue
        elif head.startswith("Success matched:") and turn:
            _read_calls(parse_python_literal(record.partition(":")[2]), log, "Success matched")
        elif head.startswith("Observations:") and turn:
            turn.observations = as_list(_parse_json(body))
        else:
            _read_query_or_surplus_call(record, log)
            _read_ending(log_record, log)
    return log


def _read_ending(record: LogRecord, log: EvaluationLog) -> None:
    """Set the outcome or the error of an attempt if a record states it."""
    text = record.body
    if text.startswith(OUTCOME):
        log.outcome = text.removeprefix(OUTCOME).strip()
    elif record.header.endswith(ERROR_LEVELS) and not text.startswith(SURPLUS_CALL):
        log.error = text.strip()


def _read_query_or_surplus_call(record_text: str, log: EvaluationLog) -> None:
    if record_text.startswith("Query: "):
        log.query = record_text.removeprefix("Query: ").rstrip("\n")
    elif record_text.startswith(SURPLUS_CALL):
        log.surplus_call = record_text.partition(":")[2].strip()


def try_apply_outcome(record_text: str, comparison: LoggedComparison) -> bool:
    """Set the outcome of a comparison from a later log record.

    Return False if the record states no outcome.
    """
    if record_text.startswith("Rule-based compare success"):
        comparison.tier, comparison.accepted = "rule", True
    elif record_text.startswith("Response-based compare success"):
        comparison.tier, comparison.accepted = "response", True
    elif record_text.startswith("LLM-based comparison output:"):
        comparison.tier = "judge"
        parsed = parse_python_literal(record_text.partition(":")[2])
        comparison.judge = (
            parsed
            if isinstance(parsed, dict)
            else {"reason": record_text.partition(":")[2].strip()}
        )
    elif record_text.startswith("LLM-based compare success"):
        comparison.tier, comparison.accepted = "judge", True
    elif record_text.startswith("All compare method failed"):
        comparison.accepted = False
    elif record_text.startswith("{'error_type'"):
        parsed = as_object(parse_python_literal(record_text))
        comparison.tier, comparison.accepted = "exact", False
        comparison.error_type, comparison.message = parsed.get("error_type"), parsed.get("content")
    else:
        return False
    return True


def _get_call_or_none(value: Any) -> JsonCall | None:
    return value if isinstance(as_object(value).get("name"), str) else None


def _read_calls(value: Any, log: EvaluationLog, record_title: str) -> list[JsonCall]:
    """Return the calls in a list.

    For another value, add a problem with the title of the record to the log.
    """
    if not isinstance(value, list):
        log.problems.append(f"the log record '{record_title}' does not contain a list of calls")
        return []
    return [call for call in map(_get_call_or_none, value) if call]
