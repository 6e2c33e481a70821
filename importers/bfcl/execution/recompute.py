"""Recompute the verdicts of multi-turn items with the official package (`import --execute`)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from fcreview.importers.bfcl.dataset import DatasetItem
from fcreview.importers.bfcl.decoders.base import Calls, Decoder, DecoderContext, WrongFormat
from fcreview.importers.bfcl.decoders.registry import decode_result
from fcreview.importers.bfcl.execution.calls import CallSafety
from fcreview.importers.bfcl.execution.executor import (
    ExecutedTurn,
    Execution,
    ExecutionError,
    Executor,
    MultiTurnQuestion,
    SkippedCall,
)
from fcreview.importers.common.records import Undecodable
from fcreview.run_plan import RunPlan

INFERENCE_ERROR = "multi_turn:inference_error"
FORCE_TERMINATED = "multi_turn:force_terminated"
_TURN_IN_MESSAGE = re.compile(r"for turn (\d+)")


@dataclass(frozen=True, slots=True)
class MultiTurnVerdict:
    """Verdict of the official package on a multi-turn item."""

    valid: bool | None
    """None if the effect of a call is unknown, or if the calls could not be executed."""
    error_type: str | None = None
    message: str | None = None
    note: str = ""
    """Why there is no verdict."""
    failing_turn: int | None = None
    turns: Sequence[ExecutedTurn] = ()
    skipped: Sequence[SkippedCall] = field(default_factory=tuple)
    """Predicted calls that were not executed."""


@contextmanager
def open_executor(plan: RunPlan) -> Iterator[Executor | None]:
    """Start the executor if the user allowed it for this import, else yield None.

    Raises ExecutionError if the official package is missing.
    """
    if not plan.executes:
        yield None
        return
    with Executor() as executor:
        yield executor


def recompute_multi_turn(
    executor: Executor,
    item: DatasetItem,
    *,
    uncorrected: DatasetItem,
    result: Any,
    decoder: Decoder,
    version: str,
) -> MultiTurnVerdict:
    """Return the verdict on the replies of an item, as `eval_runner.py` of BFCL computes it.

    Args:
        executor: Executes the calls.
        item: The question, with the golden answer that counts.
        uncorrected: The question as the dataset has it.
        result: The replies: `result[turn][step]`.
        decoder: The decoder of the model.
        version: The version of BFCL.
    """
    golden = item.ground_truth
    if version != "V4":
        return MultiTurnVerdict(None, note=f"{executor.package} has the API classes of V4")
    if not isinstance(golden, list):
        return MultiTurnVerdict(None, note="the golden answer is missing")
    if not isinstance(result, list):
        return MultiTurnVerdict(False, INFERENCE_ERROR, message="the result is no list of turns")
    if len(result) != len(golden):
        message = f"the result has {len(result)} turns, the golden answer {len(golden)}"
        return MultiTurnVerdict(False, FORCE_TERMINATED, message=message)

    try:
        question = MultiTurnQuestion.from_record({**item.extra, "id": item.id})
        problem = executor.explain_other_dataset(question, uncorrected.ground_truth)
        if problem:
            return MultiTurnVerdict(None, note=problem)
        model = [_decode_turn(turn, decoder, version) for turn in result]
        execution = executor.execute(question, golden, model)
    except ExecutionError as error:
        return MultiTurnVerdict(None, note=str(error))
    return _make_verdict(execution, golden)


def _make_verdict(execution: Execution, golden: Sequence[Sequence[str]]) -> MultiTurnVerdict:
    """Convert the result of an execution to the verdict on an item, with the turn that failed.

    There is no verdict if a call was not executed whose effect is unknown.
    """
    note = ""
    if execution.valid is None:
        note = "the effect of a call that was not executed is unknown"
    failing_turn = None
    if execution.valid is False:
        failing_turn = _find_failing_turn(execution, golden)
    return MultiTurnVerdict(
        execution.valid,
        error_type=execution.error_type,
        message=execution.error_message,
        note=note,
        failing_turn=failing_turn,
        turns=execution.turns,
        skipped=execution.skipped,
    )


def _find_failing_turn(execution: Execution, golden: Sequence[Sequence[str]]) -> int | None:
    """Return the turn at which the official checker stopped. It checks only turns with golden
    calls, and the message about a state has no turn.
    """
    match = _TURN_IN_MESSAGE.search(execution.error_message or "")
    if match is not None:
        return int(match[1])
    for turn, executed in enumerate(execution.turns):
        if golden[turn] and executed.differences:
            return turn
    return None


def _decode_turn(steps: Any, decoder: Decoder, version: str) -> list[list[str]]:
    """Return the call texts of each step. The official program ignores steps without calls."""
    decoded = []
    for reply in steps if isinstance(steps, list) else [steps]:
        texts = decode_call_texts(reply, decoder, version)
        if texts:
            decoded.append(texts)
    return decoded


def decode_call_texts(reply: Any, decoder: Decoder, version: str) -> list[str]:
    """Return the calls of a reply as texts, as the official handlers write them before they are
    executed. The list is empty if the reply cannot be decoded.

    Source: `convert_to_function_call` and `decoded_output_to_execution_list` of
    `model_handler/utils.py`.
    """
    # The handlers write calls in a text otherwise than native calls.
    format_value: Callable[[Any], str] = repr
    separator = ","
    if isinstance(reply, str):
        format_value = _format_nested_value
        separator = ", "

    try:
        calls: Calls = decode_result(reply, decoder, DecoderContext(version))
        texts = []
        for name, arguments in calls:
            formatted = [f"{key}={format_value(value)}" for key, value in arguments.items()]
            texts.append(f"{name}({separator.join(formatted)})")
    except (Undecodable, WrongFormat, RecursionError, MemoryError):
        return []
    return texts


def _format_nested_value(value: Any) -> str:
    """Write a value of a reply in text form, as `parse_nested_value` of `model_handler/utils.py`
    does.

    This function of the benchmark takes an object of objects for a nested call: it writes a call of
    the first key, and drops the others. An empty object makes the step undecodable.
    """
    if not isinstance(value, dict):
        return repr(value)
    if not value:
        raise Undecodable("an empty object as an argument")
    if not all(isinstance(member, dict) for member in value.values()):
        members = [f"'{name}': {_format_nested_value(member)}" for name, member in value.items()]
        return "{" + ", ".join(members) + "}"
    name, arguments = next(iter(value.items()))
    formatted = [f"{key}={_format_nested_value(member)}" for key, member in arguments.items()]
    return f"{name}({', '.join(formatted)})"


def describe_skipped_call(call: SkippedCall, max_length: int) -> str:
    """Return why a predicted call was not executed, for an import issue."""
    text = call.text
    if len(text) > max_length:
        text = f"{text[:max_length]}…"
    reason = "there is no such function"
    if call.safety is CallSafety.UNKNOWN:
        reason = "it is no call of a known function with literal arguments"
    return f"turn {call.turn + 1}: {text} was not executed, because {reason}"
