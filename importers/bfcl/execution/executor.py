"""Start and use the child process that executes multi-turn calls (`child.py`)."""

from __future__ import annotations

import contextlib
import json
import os
import re
import selectors
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Any

from fcreview.errors import FcreviewError
from fcreview.importers.bfcl.execution import child
from fcreview.importers.bfcl.execution.calls import (
    NOT_EXECUTED,
    CallNames,
    CallSafety,
    classify_call,
)
from fcreview.importers.common.jsonl import JsonRecord, read_records
from fcreview.importers.common.records import list_objects

PYTHON_VARIABLE = "FCREVIEW_BFCL_PYTHON"
"""Environment variable with the Python that has `bfcl-eval`, if fcreview's own lacks it."""
INSTALL_ADVICE = (
    "Run pip install 'fcreview[bfcl]' and pip install --no-deps bfcl-eval, or set"
    f" {PYTHON_VARIABLE} to a Python that has bfcl-eval"
)
START_SECONDS = 60
REPLY_SECONDS = child.MAX_WALL_SECONDS + 20
MAX_SLOW_ITEMS = 10
"""Number of items whose calls may take too long. Each of them takes up to a minute, so a file with
many of them would take hours."""
MAX_LINE_BYTES = child.MAX_REPLY_BYTES * 2
PART_BYTES = 1 << 16
"""Number of bytes of a reply that are read at once."""
_ITEM_ID = re.compile(r"multi_turn_[a-z_]+_\d+")


class ExecutionError(FcreviewError):
    """Raised if calls cannot be executed."""


@dataclass(frozen=True, slots=True)
class MultiTurnQuestion:
    """What the official classes need of a question."""

    id: str
    initial_config: dict[str, Any]
    involved_classes: Sequence[str]

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> MultiTurnQuestion:
        """Read a record of a question file. Raises ExecutionError if it is not complete."""
        config = record.get("initial_config")
        classes = record.get("involved_classes")
        question_id = str(record.get("id"))
        if not isinstance(config, dict) or not isinstance(classes, list):
            raise ExecutionError("the question has no initial_config or involved_classes")
        if _ITEM_ID.fullmatch(question_id) is None:
            raise ExecutionError(f"{question_id[:80]!r} is not the id of a multi-turn question")
        unknown = [name for name in classes if name not in child.CLASSES]
        if unknown:
            raise ExecutionError(f"the class {str(unknown[0])[:80]!r} cannot be executed")
        return cls(question_id, config, classes)


@dataclass(frozen=True, slots=True)
class OwnItem:
    """An item of the dataset of the official package."""

    question: dict[str, Any]
    ground_truth: Any


@dataclass(frozen=True, slots=True)
class ExecutedTurn:
    golden: list[str]
    """Output of each golden call."""
    model: list[list[str]] = field(default_factory=list)
    """Outputs of each step."""
    differences: dict[str, dict[str, str]] = field(default_factory=dict)
    """`Class.attribute` -> its values after the golden and after the predicted calls."""


@dataclass(frozen=True, slots=True)
class SkippedCall:
    turn: int
    text: str
    safety: CallSafety


@dataclass(frozen=True, slots=True)
class Execution:
    turns: list[ExecutedTurn]
    valid: bool | None = None
    """Official verdict. None without predicted calls, or if a call that was not executed could
    change it."""
    error_type: str | None = None
    error_message: str | None = None
    skipped: list[SkippedCall] = field(default_factory=list)


class Executor:
    """Executes the calls of multi-turn items one after the other. A context manager."""

    def __init__(self, python: str | None = None) -> None:
        self._python = python or os.environ.get(PYTHON_VARIABLE) or sys.executable
        self._folder = tempfile.TemporaryDirectory(prefix="fcreview-bfcl-")
        self._unread = b""
        self._n_slow_items = 0
        self.package = ""
        """Name and version of the official package."""
        self.network = ""
        """How the child is kept from the network."""
        self._data_folder = Path()
        self._records: dict[Path, dict[str, dict[str, Any]]] = {}
        self._methods: dict[str, list[str]] = {}
        self._visible_names: frozenset[str] = frozenset()

    def __enter__(self) -> Executor:
        """Start the process that executes calls, isolated from the user's files and environment."""
        try:
            self._process = subprocess.Popen(  # noqa: S603 - the program is ours
                [self._python, "-I", "-B", "-X", "utf8", child.__file__],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd=self._folder.name,
                env={},
                start_new_session=True,
            )
        except OSError as error:
            self._folder.cleanup()
            raise ExecutionError(f"{self._python}: {error.strerror or error}") from error
        try:
            self._read_greeting()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                # An input that the child has not read is lost.
                with contextlib.suppress(OSError):
                    stream.close()
        self._folder.cleanup()

    def _read_greeting(self) -> None:
        """Read what the process says when it has started: its package and its functions."""
        greeting = self._read_reply(START_SECONDS)
        if "failure" in greeting:
            raise ExecutionError(
                f"multi-turn answers must be executed, and {Path(self._python).name} cannot import"
                f" bfcl-eval ({greeting['failure']}). {INSTALL_ADVICE}"
            )
        self.package = greeting["package"]
        self.network = greeting["network"]
        self._data_folder = Path(greeting["data"])
        self._methods = greeting["methods"]
        self._visible_names = frozenset(greeting["visible_names"])

    def explain_other_dataset(
        self, question: MultiTurnQuestion, golden: Sequence[Sequence[str]]
    ) -> str:
        """Return why the package's API classes may not fit an item of the imported dataset, or an
        empty text. The classes change together with the dataset.
        """
        category, _, _ = question.id.rpartition("_")
        name = f"BFCL_v4_{category}.json"
        own_question = self._find_record(self._data_folder / name, question.id)
        own_answer = self._find_record(self._data_folder / "possible_answer" / name, question.id)
        is_same = (
            own_question.get("initial_config") == question.initial_config
            and own_question.get("involved_classes") == list(question.involved_classes)
            and own_answer.get("ground_truth") == golden
        )
        return "" if is_same else f"the item differs from the dataset of {self.package}"

    def find_own_item(self, item_id: str) -> OwnItem | None:
        """Return an item of the package's own dataset, or None."""
        category, _, _ = item_id.rpartition("_")
        name = f"BFCL_v4_{category}.json"
        if _ITEM_ID.fullmatch(item_id) is None:
            return None
        question = self._find_record(self._data_folder / name, item_id)
        answer = self._find_record(self._data_folder / "possible_answer" / name, item_id)
        if not question or "ground_truth" not in answer:
            return None
        return OwnItem(question, answer["ground_truth"])

    def _find_record(self, path: Path, record_id: str) -> dict[str, Any]:
        """Return a record of the package's own dataset, or an empty object."""
        if path not in self._records:
            self._records[path] = _read_records_by_id(path)
        return self._records[path].get(record_id, {})

    def execute(
        self,
        question: MultiTurnQuestion,
        golden: Sequence[Sequence[str]],
        model: Sequence[Sequence[Sequence[str]]] | None = None,
    ) -> Execution:
        """Execute the golden calls of each turn, and the predicted calls of each step if given.

        Raises ExecutionError if a golden call is not allowed, or if the calls need too much.
        """
        names = self._list_names(question)
        _require_safe_golden_calls(golden, names)

        skipped: list[SkippedCall] = []
        allowed_model = None
        if model is not None:
            skipped = list(_find_unsafe_calls(model, names))
            unsafe_texts = {call.text for call in skipped}
            allowed_model = [_replace_calls(steps, unsafe_texts) for steps in model]

        reply = self._request(
            {
                "id": question.id,
                "initial_config": question.initial_config,
                "involved_classes": list(question.involved_classes),
                "golden": [list(calls) for calls in golden],
                "model": allowed_model,
            }
        )
        return _parse_execution(reply, skipped)

    def _list_names(self, question: MultiTurnQuestion) -> CallNames:
        methods: set[str] = set()
        for class_name in question.involved_classes:
            methods.update(self._methods[class_name])
        return CallNames(methods, self._visible_names)

    def _request(self, request: dict[str, Any]) -> dict[str, Any]:
        """Send a request to the child, and return its reply. Raises ExecutionError if the child
        cannot answer, and for each further request after too many slow ones.
        """
        if self._n_slow_items >= MAX_SLOW_ITEMS:
            raise ExecutionError(
                "the calls are not executed, because the calls of"
                f" {MAX_SLOW_ITEMS} other items take too long"
            )
        assert self._process.stdin is not None  # noqa: S101 - for the type checker
        try:
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
        # RecursionError: the initial state of a question may be nested deeply.
        except (OSError, ValueError, RecursionError) as error:
            raise ExecutionError(f"the calls cannot be executed: {error}") from error

        reply = self._read_reply(REPLY_SECONDS)
        failure = reply.get("failure")
        if failure == child.TOO_LONG:
            self._n_slow_items += 1
        if failure is not None:
            raise ExecutionError(f"the calls cannot be executed: {failure}")
        return reply

    def _read_reply(self, seconds: float) -> dict[str, Any]:
        """Return the next line of the child. Raises ExecutionError if there is none in time."""
        line = self._read_line(deadline=time.monotonic() + seconds)
        reply: dict[str, Any] = json.loads(line)
        return reply

    def _read_line(self, deadline: float) -> bytes:
        """Read parts of the child's output until a line is complete. Keep what follows the line."""
        assert self._process.stdout is not None  # noqa: S101 - for the type checker
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while b"\n" not in self._unread:
                seconds_left = max(0.0, deadline - time.monotonic())
                if not selector.select(seconds_left):
                    # A late reply would be taken for the reply to the next request.
                    self._process.kill()
                    raise ExecutionError("the calls cannot be executed: they take too long")
                part = os.read(self._process.stdout.fileno(), PART_BYTES)
                if not part or len(self._unread) > MAX_LINE_BYTES:
                    raise ExecutionError("the process that executes calls ended")
                self._unread += part
        line, _, self._unread = self._unread.partition(b"\n")
        return line


def _read_records_by_id(path: Path) -> dict[str, dict[str, Any]]:
    if not path.is_file():
        return {}
    values = [each.value for each in read_records(path) if isinstance(each, JsonRecord)]
    return {str(record.get("id")): record for record in list_objects(values)}


def _require_safe_golden_calls(golden: Sequence[Sequence[str]], names: CallNames) -> None:
    """Raise ExecutionError for the first golden call that may not be executed."""
    for turn, calls in enumerate(golden):
        for text in calls:
            if classify_call(text, names) is not CallSafety.SAFE:
                raise ExecutionError(
                    f"golden call {text[:200]!r} of turn {turn + 1} is no call of a known"
                    " function with literal arguments, so it is not executed"
                )


def _find_unsafe_calls(
    model: Sequence[Sequence[Sequence[str]]], names: CallNames
) -> Iterator[SkippedCall]:
    """Yield the predicted calls that may not be executed."""
    for turn, steps in enumerate(model):
        for text in chain.from_iterable(steps):
            safety = classify_call(text, names)
            if safety is not CallSafety.SAFE:
                yield SkippedCall(turn, text, safety)


def _replace_calls(steps: Sequence[Sequence[str]], replaced: Set[str]) -> list[list[str]]:
    """Return the steps of a turn with `NOT_EXECUTED` for some calls."""
    new_steps = []
    for calls in steps:
        new_steps.append([NOT_EXECUTED if text in replaced else text for text in calls])
    return new_steps


def _parse_execution(reply: dict[str, Any], skipped: list[SkippedCall]) -> Execution:
    """Convert the reply of the child process.

    It has the verdict of the official checker only if the model's calls were sent too.
    """
    turns = []
    for turn in reply["turns"]:
        turns.append(
            ExecutedTurn(turn["golden"], turn.get("model", []), turn.get("differences", {}))
        )

    check = reply.get("check")
    # A call that was not executed could have changed the result, so the check does not count.
    has_unknown_effect = any(call.safety is CallSafety.UNKNOWN for call in skipped)
    if check is None or has_unknown_effect:
        return Execution(turns, skipped=skipped)
    return Execution(
        turns,
        valid=check["valid"],
        error_type=check["error_type"],
        error_message=check["error_message"],
        skipped=skipped,
    )
