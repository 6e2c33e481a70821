"""Slow and malformed items neither stop an import nor change the verdicts on other items.

A script takes the place of the Python that has `bfcl-eval`, so these tests do not need the package.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fcreview.importers.bfcl.execution import child, executor
from fcreview.importers.bfcl.execution.executor import ExecutionError, Executor, MultiTurnQuestion

pytestmark = pytest.mark.process
PROGRAM = """#!{python} -S
import json, sys, time
classes = {classes}
greeting = dict(package="p", network="", data="/", visible_names=[])
print(json.dumps(dict(greeting, methods=dict.fromkeys(classes, ["pwd"]))), flush=True)
for number, line in enumerate(sys.stdin):
    {answer}
"""
RECORD: dict[str, Any] = {
    "id": "multi_turn_base_7",
    "initial_config": {},
    "involved_classes": ["MathAPI"],
}
QUESTION = MultiTurnQuestion.from_record(RECORD)
MakeExecutor = Callable[[str], Executor]


@pytest.fixture
def make_executor(tmp_path: Path) -> Iterator[MakeExecutor]:
    """Start an executor whose child runs this statement for each request."""
    running: list[Executor] = []

    def make(answer: str) -> Executor:
        script = tmp_path / "python"
        program = PROGRAM.format(python=sys.executable, classes=child.CLASSES, answer=answer)
        script.write_text(program)
        script.chmod(0o700)
        running.append(Executor(str(script)).__enter__())
        return running[0]

    yield make
    for each in running:
        each.close()


def find_failure(running: Executor, question: MultiTurnQuestion = QUESTION) -> str:
    with pytest.raises(ExecutionError) as caught:
        running.execute(question, [["pwd()"]])
    return str(caught.value)


def test_nothing_is_executed_after_many_slow_items(
    make_executor: MakeExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each slow item takes up to a minute, so a file of slow items would take hours."""
    monkeypatch.setattr(executor, "MAX_SLOW_ITEMS", 2)
    running = make_executor(f'print(json.dumps(dict(failure="{child.TOO_LONG}")), flush=True)')
    assert find_failure(running).endswith(child.TOO_LONG)
    assert find_failure(running).endswith(child.TOO_LONG)
    assert "of 2 other items take too long" in find_failure(running)


def test_late_reply_does_not_count_for_the_next_item(
    make_executor: MakeExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executor, "REPLY_SECONDS", 0.1)
    running = make_executor('time.sleep(0.3); print(json.dumps(dict(failure="late")), flush=True)')
    assert "take too long" in find_failure(running)
    time.sleep(0.4)
    assert "late" not in find_failure(running)


def test_deeply_nested_initial_state_is_refused(make_executor: MakeExecutor) -> None:
    running = make_executor('print(json.dumps(dict(failure="read")), flush=True)')
    config: dict[str, Any] = {}
    for _ in range(5_000):
        config = {"root": config}
    deep = MultiTurnQuestion.from_record(RECORD | {"initial_config": config})
    assert "recursion" in find_failure(running, deep)
    assert find_failure(running).endswith("read")
