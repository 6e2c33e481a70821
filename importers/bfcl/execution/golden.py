"""Execute a corrected golden answer of a multi-turn item before it is sent to the maintainers."""

from __future__ import annotations

from typing import Any

from fcreview.importers.bfcl.execution.executor import (
    Execution,
    ExecutionError,
    Executor,
    MultiTurnQuestion,
)
from fcreview.run_plan import ExecutedGoldenCall, GoldenExecution, GoldenExecutionError

GROUND_TRUTH = "ground_truth"
"""Field of an answer record with the golden calls."""
EXCEPTION_PREFIX = "Error during execution:"
ERROR_MARK = '{"error":'
"""Start of the output of a call that the API class refused."""


def execute_golden(question: dict[str, Any], fix_fields: dict[str, Any]) -> GoldenExecution | None:
    """Execute the golden calls of a multi-turn question. Returns None for other questions.

    Raises GoldenExecutionError if a call fails. No golden call of BFCL V4 does.
    """
    if not str(question.get("id")).startswith("multi_turn"):
        return None
    golden = fix_fields[GROUND_TRUTH]
    try:
        with Executor() as executor:
            execution = executor.execute(MultiTurnQuestion.from_record(question), golden)
            package = executor.package
    except ExecutionError as error:
        raise GoldenExecutionError(str(error)) from error

    calls = _list_executed_calls(golden, execution)
    for call in calls:
        if _has_failed(call.output):
            raise GoldenExecutionError(
                f"call {call.call[:200]!r} of turn {call.turn + 1} fails when it is executed:"
                f" {call.output[:200]}"
            )
    return GoldenExecution(package, calls)


def _list_executed_calls(golden: list[list[str]], execution: Execution) -> list[ExecutedGoldenCall]:
    calls = []
    for turn, texts in enumerate(golden):
        for text, output in zip(texts, execution.turns[turn].golden, strict=True):
            calls.append(ExecutedGoldenCall(turn, text, output))
    return calls


def _has_failed(output: str) -> bool:
    return output.startswith((EXCEPTION_PREFIX, ERROR_MARK))
