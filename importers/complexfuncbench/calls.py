"""Per-call verdicts: partner, tier and outcome of every predicted call, from the log where there is one, else from
the record.

Tiers: `rule`, `exact` (the exact-value gate), `response`, `judge`, `format`; `failed` where all tiers refused
without a judge's word, `unpaired` where nobody judged the call, `unknown` where no file says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fcreview.calls.align import align
from fcreview.importers.complexfuncbench.log import Comparison, Log, LogTurn
from fcreview.importers.complexfuncbench.rules import FREE, GENERIC_REPLY, error_word, format_error, gate, rule_equal
from fcreview.importers.complexfuncbench.sample import GoldenPath, Made
from fcreview.model import Call


@dataclass(slots=True)
class CallVerdict:
    predicted: Call
    golden: Call | None
    tier: str
    ok: bool | None
    """None where nobody judged the call, or no file says."""
    error_type: str | None = None
    rationale: str | None = None
    guessed: bool = False
    """The partner was not recorded; it is the most similar golden call."""


def judge_calls(made: Made, path: GoldenPath, functions: list[dict[str, Any]], log: Log | None) -> list[CallVerdict]:
    """One verdict a predicted call, in the model's order."""
    turns: list[LogTurn | None] = list(log.turns) if log else []
    verdicts: list[CallVerdict] = []
    done: set[int] = set()
    for step, calls in enumerate(made.steps):
        turn = turns[step] if step < len(turns) else None
        replies = made.replies[step]
        comparisons = list(turn.comparisons) if turn else []
        for position, call in enumerate(calls):
            reply = replies[position] if position < len(replies) else None
            found = _from_log(call, comparisons, path, done)
            verdicts.append(found or _from_record(call, reply, path, functions, done, log is not None))
        for verdict in verdicts[-len(calls) :] if calls else []:
            if verdict.ok and verdict.golden is not None:
                done.add(verdict.golden.index)
    return _with_guesses(verdicts, path, done)


def as_json(call: Call) -> dict[str, Any]:
    """`{"name": str, "arguments": {...}}`"""
    if call.side == "golden":
        return {"name": call.name, "arguments": {k: accept.any_of[0] for k, accept in (call.arguments or {}).items()}}
    return {"name": call.name, "arguments": call.arguments or {}}


def _from_log(call: Call, comparisons: list[Comparison], path: GoldenPath, done: set[int]) -> CallVerdict | None:
    for found in comparisons:
        if found.predicted == as_json(call):
            comparisons.remove(found)
            golden = _golden(found.golden, path, done)
            reason = found.message
            if found.judge is not None:
                reason = str(found.judge.get("reason"))
            error_type = found.error_type
            if not found.accepted and error_type is None and found.golden is not None:
                error_type = error_word(as_json(call), found.golden)[0]
            return CallVerdict(call, golden, found.tier, found.accepted, error_type, reason)
    return None


def _golden(wanted: dict[str, Any] | None, path: GoldenPath, done: set[int]) -> Call | None:
    """The golden call of that content, one that is still to do if there is a choice."""
    same = [call for call in path.calls if as_json(call) == wanted]
    return next((call for call in same if call.index not in done), same[0] if same else None)


def _from_record(
    call: Call, reply: Any, path: GoldenPath, functions: list[dict[str, Any]], done: set[int], logged: bool
) -> CallVerdict:
    if isinstance(reply, dict) and set(reply) == {"error"}:
        return CallVerdict(call, None, "format", False, "format_error", str(reply["error"]))
    if reply == GENERIC_REPLY:
        bad = format_error(as_json(call), functions)
        if bad:
            return CallVerdict(call, None, "format", False, "format_error", bad)
        return CallVerdict(call, None, "unpaired", None) if logged else CallVerdict(call, None, "unknown", False)
    if reply is not None:
        same = [one for one in path.calls if path.observations[one.index] == reply]
        best = next((one for one in same if one.index not in done), same[0] if same else None)
        if best is not None:
            return CallVerdict(call, best, "rule" if rule_equal(as_json(call), as_json(best)) else "unknown", True)
    if call.arguments is None:
        return CallVerdict(call, None, "format", False, "decode_error", call.decode_error)
    equal = next((one for one in path.calls if one.index not in done and rule_equal(as_json(call), as_json(one))), None)
    if equal is not None:
        return CallVerdict(call, equal, "rule", True)
    return CallVerdict(call, None, "unpaired" if logged else "unknown", None)


def _with_guesses(verdicts: list[CallVerdict], path: GoldenPath, done: set[int]) -> list[CallVerdict]:
    """Gives refused calls without a recorded partner the most similar golden call that is not done, marked as
    guessed."""
    open_calls = [v for v in verdicts if v.golden is None and v.predicted.arguments is not None]
    rest = [call for call in path.calls if call.index not in done]
    taken = {v.golden.index for v in verdicts if v.golden is not None}
    rest = [call for call in rest if call.index not in taken]
    by_index = {v.predicted.index: v for v in open_calls}
    for pair in align(rest, [v.predicted for v in open_calls]):
        if pair.golden is not None and pair.predicted is not None:
            verdict = by_index[pair.predicted]
            golden = next(call for call in rest if call.index == pair.golden)
            if golden.name == verdict.predicted.name:
                verdict.golden, verdict.guessed = golden, True
                if verdict.tier == "unknown":
                    failure = gate(as_json(verdict.predicted), as_json(golden))
                    if failure:
                        verdict.tier, verdict.error_type, verdict.rationale = "exact", failure[0], failure[1]
    return verdicts


def free(call: Call) -> bool:
    """Optional calls: skipping or repeating one is no error."""
    if call.name in FREE:
        return True
    accept = (call.arguments or {}).get("search_type")
    return call.name == "Search_Hotels" and accept is not None and accept.any_of == ["hotel"]


def uncovered(path: GoldenPath, verdicts: Sequence[CallVerdict]) -> list[Call]:
    """Golden calls, free ones aside, that no accepted call covers."""
    covered = {v.golden.index for v in verdicts if v.ok and v.golden is not None}
    return [call for call in path.calls if call.index not in covered and not free(call)]
