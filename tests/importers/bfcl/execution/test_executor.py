"""The official package executes golden and predicted calls of multi-turn items.

These tests need `bfcl-eval`: in this Python, or in the one that FCREVIEW_BFCL_PYTHON names.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fcreview.importers.bfcl.execution.calls import CallSafety
from fcreview.importers.bfcl.execution.executor import (
    ExecutionError,
    Executor,
    MultiTurnQuestion,
)
from fcreview.importers.bfcl.execution.golden import execute_golden
from fcreview.run_plan import GoldenExecutionError

pytestmark = pytest.mark.process
CONFIG = {
    "root": {"alex": {"type": "directory", "contents": {"a.txt": {"type": "file", "content": "x"}}}}
}
RECORD = {
    "id": "multi_turn_base_7",
    "initial_config": {"GorillaFileSystem": CONFIG},
    "involved_classes": ["GorillaFileSystem", "MathAPI"],
}
QUESTION = MultiTurnQuestion.from_record(RECORD)


@pytest.fixture(scope="module")
def executor() -> Iterator[Executor]:
    try:
        running = Executor().__enter__()
    except ExecutionError as error:
        pytest.skip(f"bfcl-eval is not installed: {error}")
    yield running
    running.close()


def test_equal_calls_pass(executor: Executor) -> None:
    calls = [["touch(file_name='b.txt')"], ["ls()"]]
    execution = executor.execute(QUESTION, calls, [[calls[0]], [calls[1]]])
    assert (execution.valid, execution.error_type, execution.skipped) == (True, None, [])
    assert json.loads(execution.turns[1].golden[0]) == {
        "current_directory_content": ["a.txt", "b.txt"]
    }
    assert [turn.differences for turn in execution.turns] == [{}, {}]


def test_other_state_fails_with_the_differences_of_each_turn(executor: Executor) -> None:
    golden = [["touch(file_name='b.txt')"], ["rm(file_name='b.txt')"]]
    execution = executor.execute(QUESTION, golden, [[["ls()"]], [["ls()"]]])
    assert execution.valid is False
    assert execution.error_type == "multi_turn:instance_state_mismatch"
    assert list(execution.turns[0].differences) == ["GorillaFileSystem.root"]
    assert execution.turns[1].differences == {}


def test_unknown_function_counts_as_a_failed_call(executor: Executor) -> None:
    execution = executor.execute(QUESTION, [["ls()"]], [[["list_files()"], ["ls()"]]])
    assert execution.valid is True
    (skipped,) = execution.skipped
    assert (skipped.text, skipped.safety) == ("list_files()", CallSafety.FAILS)


@pytest.mark.parametrize("text", ["ls(a=open('/etc/passwd'))", "print(1)", "__import__('os')"])
def test_call_with_unknown_effect_leaves_the_verdict_open(executor: Executor, text: str) -> None:
    execution = executor.execute(QUESTION, [["ls()"]], [[[text], ["ls()"]]])
    assert execution.valid is None
    assert execution.turns[0].model[0][0].startswith("Error during execution: name 'fcreview_")
    assert execution.skipped[0].safety is CallSafety.UNKNOWN


def test_golden_call_with_unknown_effect_is_refused(executor: Executor) -> None:
    with pytest.raises(ExecutionError, match="turn 1 is no call of a known function"):
        executor.execute(QUESTION, [["__import__('os').system('id')"]])


@pytest.mark.sweep
def test_call_that_takes_too_long_does_not_stop_the_next_item(executor: Executor) -> None:
    with pytest.raises(ExecutionError, match=r"too long|too much memory"):
        executor.execute(QUESTION, [["logarithm(value=10, base=3, precision=30000000)"]])
    assert executor.execute(QUESTION, [["pwd()"]]).turns[0].golden


@pytest.mark.parametrize(
    "change",
    [
        {"involved_classes": ["WebSearchAPI"]},
        {"involved_classes": ["os"]},
        {"initial_config": None},
        {"id": "multi_turn_base_1'; import os"},
        {"id": "memory_1"},
    ],
)
def test_question_with_other_classes_or_names_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ExecutionError):
        MultiTurnQuestion.from_record(RECORD | change)


def test_golden_answer_whose_call_fails_is_refused(executor: Executor) -> None:
    good = execute_golden(RECORD, {"ground_truth": [["cat(file_name='a.txt')"]]})
    assert good is not None and good.package.startswith("bfcl-eval ")
    assert [call.call for call in good.calls] == ["cat(file_name='a.txt')"]
    with pytest.raises(
        GoldenExecutionError, match=r"of turn 1 fails when it is executed: .*c\.txt"
    ):
        execute_golden(RECORD, {"ground_truth": [["cat(file_name='c.txt')"]]})


def test_single_turn_answers_are_not_executed() -> None:
    assert execute_golden({"id": "simple_python_0"}, {"ground_truth": [{"f": {}}]}) is None


def test_missing_package_is_reported_with_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("FCREVIEW_BFCL_PYTHON", str(tmp_path / "no-python"))
    with pytest.raises(GoldenExecutionError, match="no-python"):
        execute_golden(RECORD, {"ground_truth": [["ls()"]]})
