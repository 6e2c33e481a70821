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
    r" - ",
    re.MULTILINE,
)
ERROR_LEVELS = (" - WARNING - ", " - ERROR - ")
OUTCOME = "Message: "
SURPLUS_CALL = "Output FC:"
"""Beginning of the only error record that the released runner writes itself: a call although no
golden call is left.
"""
COMPARISON = "Start compare_single_call:"
TITLES_IN_TURNS = ("Golden Function Call:", COMPARISON, "Success matched:", "Observations:")
"""Beginnings of records about the calls of the current turn."""
RULE_SUCCESS = "Rule-based compare success"
RESPONSE_SUCCESS = "Response-based compare success"
JUDGE_OUTPUT = "LLM-based comparison output:"
JUDGE_SUCCESS = "LLM-based compare success"
FAILURE = "All compare method failed"
EXACT_FAILURE = "{'error_type'"
OUTCOME_BEGINNINGS = (
    RULE_SUCCESS,
    RESPONSE_SUCCESS,
    JUDGE_OUTPUT,
    JUDGE_SUCCESS,
    FAILURE,
    EXACT_FAILURE,
)
"""Beginnings of the records that state an outcome of a comparison."""
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
    observations_text: str = ""
    """The replies to the calls as JSON. They are parsed only if there is no result record."""

    def parse_observations(self) -> list[Any]:
        return as_list(_parse_json(self.observations_text))


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
    body: str
    """The record without its header."""


def split_log_records(text: str) -> Iterator[LogRecord]:
    """Yield the records of a log. A line without a header belongs to the record above it."""
    header = ""
    start_of_body = 0
    for match in RECORD_HEADER.finditer(text):
        if match.start() > 0:
            # The record above ends before the line break.
            yield LogRecord(header, text[start_of_body : match.start() - 1])
        header = match.group()
        start_of_body = match.end()
    yield LogRecord(header, text[start_of_body:])


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
    reader = _LogReader()
    for record in split_log_records(text):
        if record.header:
            reader.read_record(record)
    return reader.log


class _LogReader:
    """Reads a log record by record."""

    def __init__(self) -> None:
        self.log = EvaluationLog()
        """Content of the current attempt."""
        self._comparison: LoggedComparison | None = None
        """Comparison to which the next outcome belongs."""

    def read_record(self, record: LogRecord) -> None:
        """Read the next record. Its first line states what it contains."""
        title, _, content = record.body.partition("\n")
        if title.startswith("Test Example "):
            self.log = EvaluationLog(attempts=self.log.attempts + 1)
        elif title.startswith("Function Calls:"):
            calls = self._read_calls(_parse_json(content), "Function Calls")
            self.log.turns.append(LoggedTurn(predicted=calls))
        elif self.log.turns and title.startswith(TITLES_IN_TURNS):
            self._read_record_of_turn(record, self.log.turns[-1])
        elif self._comparison is not None and is_comparison_outcome(record.body):
            apply_comparison_outcome(record.body, self._comparison)
        else:
            self._read_single_line(record)

    def _read_record_of_turn(self, record: LogRecord, turn: LoggedTurn) -> None:
        """Read a record about the calls of a turn. Its title is one of `TITLES_IN_TURNS`."""
        title, _, content = record.body.partition("\n")
        if title.startswith("Golden Function Call:"):
            self._read_calls(_parse_json(content), "Golden Function Call")
        elif title.startswith(COMPARISON):
            self._comparison = _parse_comparison(content)
            turn.comparisons.append(self._comparison)
        elif title.startswith("Success matched:"):
            _, _, matched = record.body.partition(":")
            self._read_calls(parse_python_literal(matched), "Success matched")
        else:
            turn.observations_text = content

    def _read_calls(self, value: Any, record_title: str) -> list[JsonCall]:
        """Return the calls in a list.

        For another value, add a problem with the title of the record to the log.
        """
        if not isinstance(value, list):
            problem = f"the log record '{record_title}' does not contain a list of calls"
            self.log.problems.append(problem)
            return []
        calls = [_get_call_or_none(element) for element in value]
        return [call for call in calls if call is not None]

    def _read_single_line(self, record: LogRecord) -> None:
        """Read the query, a surplus call, the outcome of the attempt, or an error."""
        text = record.body
        if text.startswith("Query: "):
            self.log.query = text.removeprefix("Query: ").rstrip("\n")
        elif text.startswith(SURPLUS_CALL):
            self.log.surplus_call = text.removeprefix(SURPLUS_CALL).strip()
        elif text.startswith(OUTCOME):
            self.log.outcome = text.removeprefix(OUTCOME).strip()
        elif record.header.endswith(ERROR_LEVELS):
            self.log.error = text.strip()


def _parse_comparison(content: str) -> LoggedComparison:
    """Parse two lines with the predicted and the golden call as Python literals."""
    predicted, _, golden = content.partition("\n")
    return LoggedComparison(
        _get_call_or_none(parse_python_literal(predicted)),
        _get_call_or_none(parse_python_literal(golden)),
    )


def is_comparison_outcome(record_text: str) -> bool:
    """Return whether a log record states an outcome of the comparison before it."""
    return record_text.startswith(OUTCOME_BEGINNINGS)


def apply_comparison_outcome(record_text: str, comparison: LoggedComparison) -> None:
    """Set the outcome of a comparison from a record of the evaluator's log.

    The tier is the step of the comparison that decided: equal calls ("rule"), equal responses of
    the API ("response"), an LLM ("judge"), or a parameter that must be equal ("exact"). A record
    that states no outcome changes nothing.
    """
    if record_text.startswith(RULE_SUCCESS):
        comparison.tier = "rule"
        comparison.accepted = True
    elif record_text.startswith(RESPONSE_SUCCESS):
        comparison.tier = "response"
        comparison.accepted = True
    elif record_text.startswith(JUDGE_SUCCESS):
        comparison.tier = "judge"
        comparison.accepted = True
    elif record_text.startswith(JUDGE_OUTPUT):
        comparison.tier = "judge"
        comparison.judge = _parse_judge_output(record_text.removeprefix(JUDGE_OUTPUT))
    elif record_text.startswith(EXACT_FAILURE):
        error = as_object(parse_python_literal(record_text))
        comparison.tier = "exact"
        comparison.accepted = False
        comparison.error_type = error.get("error_type")
        comparison.message = error.get("content")
    elif record_text.startswith(FAILURE):
        comparison.accepted = False


def _parse_judge_output(text: str) -> dict[str, Any]:
    """Return the judge's answer. A text that is not a Python object becomes the reason."""
    answer = parse_python_literal(text)
    return answer if isinstance(answer, dict) else {"reason": text.strip()}


def _get_call_or_none(value: Any) -> JsonCall | None:
    return value if isinstance(as_object(value).get("name"), str) else None
