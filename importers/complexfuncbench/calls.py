"""Per-call verdicts: partner, tier and outcome of every predicted call, from the log where there is one, else from
the record.

Tiers: `rule`, `exact` (the exact-value gate), `response`, `judge`, `format`; `failed` where all tiers refused
without a judge's word, `unpaired` where nobody judged the call, `unknown` where no file says.

The paper's 13 types of parameters, and in which parameters a call differs from its golden call.

Source: the paper's Table 4 names the types with an example each, Figure 5 shows error rates by them. Which parameter is
of which type is not published; here the words of its name decide. What fits none is `other`.

A result record and a dataset record as the vocabulary has them: messages, golden and predicted calls by step.

What the figures and the roll-up must know of every call: what answered which golden call, and was it accepted.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fcreview.importers.complexfuncbench.checker import (
    FREE_FUNCTIONS,
    GENERIC_REPLY,
    is_equal_value,
    find_call_error,
    find_format_error,
    check_exact_parameters,
    is_rule_match,
)
from fcreview.importers.complexfuncbench.log import LoggedComparison, EvaluationLog, LoggedTurn
from fcreview.matching.align import align
from fcreview.model.address import call_address
from fcreview.model.item import AcceptedValues, Call, Message, CallPair

_PARAMETER_TYPE_WORDS: dict[str, frozenset[str]] = {
    kind: frozenset(words.split())
    for kind, words in {
        "filter": "filter filters",
        "legs": "legs",
        "token": "token",
        "slug": "slug",
        "date": "date",
        "time": "time",
        "sort_by": "sort",
        "location": "query latitude longitude location country city",
        "key": "key",
        "id": "id",
        "type": "type",
        "age": "age ages children",
        "people": "adults people passengers",
    }.items()
}
"""In the order in which they are tried: `sort_option_id` is a sort_by."""
OTHER_TYPE = "other"
PARAMETER_TYPES = (*_PARAMETER_TYPE_WORDS, OTHER_TYPE)


def classify_parameter(parameter: str) -> str:
    """`arrival_date` and `departDate` are of type date, `search_key` of type key."""
    words = {word.lower() for word in re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+", parameter)}
    return next((kind for kind, known in _PARAMETER_TYPE_WORDS.items() if words & known), OTHER_TYPE)


def differing_parameters(ours: dict[str, Any], theirs: dict[str, Any]) -> list[str]:
    """Parameters that are on one side only or differ by the evaluator's equality, the golden call's first."""
    names = dict.fromkeys([*theirs, *ours])
    return [n for n in names if n not in ours or n not in theirs or not is_equal_value(n, ours[n], theirs[n])]


def sample_domain(sample_id: str) -> str:
    """`Car-Rental` of `Car-Rental-12`: the item's category."""
    return sample_id.rpartition("-")[0]


@dataclass(slots=True)
class GoldenPath:
    calls: list[Call] = field(default_factory=list)
    observations: list[Any] = field(default_factory=list)
    """One a call, in the same order."""
    steps: int = 0


def read_golden_path(record: dict[str, Any] | None) -> GoldenPath:
    path = GoldenPath()
    for entry in (record or {}).get("conversations") or []:
        if not isinstance(entry, dict):
            continue
        if entry.get("function_call"):
            for call in entry["function_call"]:
                given = call.get("arguments") if isinstance(call, dict) else None
                accepts = {name: AcceptedValues([value]) for name, value in given.items()} if isinstance(given, dict) else {}
                path.calls.append(Call("golden", str(call.get("name")), accepts, 0, path.steps, len(path.calls)))
            path.steps += 1
        elif entry.get("role") == "observation" and isinstance(entry.get("content"), list):
            path.observations += entry["content"]
    path.observations += [None] * (len(path.calls) - len(path.observations))
    return path


@dataclass(slots=True)
class PredictedPath:
    """What the model did. `steps[i]` are the calls of its i-th call turn, `replies[i]` what came back for each."""

    messages: list[Message] = field(default_factory=list)
    steps: list[list[Call]] = field(default_factory=list)
    replies: list[list[Any]] = field(default_factory=list)
    final: str | None = None


def read_predicted_path(record: dict[str, Any]) -> PredictedPath:
    """Reads `gen_convs` of every runner: replies as one list, or as one text a call; system turns piled up by the
    GLM runner are told apart from the dialogue and kept once."""
    out = PredictedPath()
    systems = 0
    for entry in record.get("gen_convs") or []:
        if not isinstance(entry, dict):
            continue
        role, content = entry.get("role"), entry.get("content")
        step = len(out.steps) - 1
        if called := entry.get("function_call"):
            first = sum(map(len, out.steps))
            given = called if isinstance(called, list) else [called]
            out.steps.append([_make_predicted_call(call, len(out.steps), at) for at, call in enumerate(given, first)])
            out.replies.append([])
            out.final = None
        elif role == "observation":
            replies = content if isinstance(content, list) else [_parse_json_text(content)]
            if out.replies:
                out.replies[-1] += replies
            out.messages += [Message(0, max(step, 0), "tool", to_text(reply)) for reply in replies]
        elif role == "system":
            systems += 1
            out.messages += [Message(0, -1, "system", to_text(content))] if systems == 1 else []
        elif role == "user":
            out.messages.append(Message(0, -1 if step < 0 else step, "user", to_text(content)))
        elif content is not None:
            out.messages.append(Message(0, step + 1, "assistant", to_text(content)))
            out.final = to_text(content)
    if systems > 1:
        out.messages.append(Message(0, -1, "log", f"{systems} copies of the system prompt stand in the record"))
    return out


def _make_predicted_call(call: Any, step: int, index: int) -> Call:
    if not isinstance(call, dict) or not isinstance(call.get("name"), str):
        return Call("predicted", "", None, 0, step, index, raw=to_text(call), decode_error="not a call")
    arguments = call.get("arguments")
    if isinstance(arguments, str):
        arguments = _parse_json_text(arguments)
    if not isinstance(arguments, dict):
        return Call(
            "predicted", call["name"], None, 0, step, index, raw=to_text(call), decode_error="arguments are no object"
        )
    return Call("predicted", call["name"], arguments, 0, step, index)


def _parse_json_text(text: Any) -> Any:
    try:
        return json.loads(text) if isinstance(text, str) else text
    except (ValueError, RecursionError):
        return text


def to_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


@dataclass(slots=True)
class CallVerdict:
    predicted: Call
    golden: Call | None
    tier: str
    ok: bool | None
    """None where nobody judged the call, or no file says."""
    error_type: str | None = None
    rationale: str | None = None
    is_partner_guessed: bool = False
    """The partner was not recorded; it is the most similar golden call."""


def derive_call_verdicts(made: PredictedPath, path: GoldenPath, functions: list[dict[str, Any]], log: EvaluationLog | None) -> list[CallVerdict]:
    """One verdict a predicted call, in the model's order."""
    turns: list[LoggedTurn | None] = list(log.turns) if log else []
    verdicts: list[CallVerdict] = []
    done: set[int] = set()
    for step, calls in enumerate(made.steps):
        turn = turns[step] if step < len(turns) else None
        replies = made.replies[step]
        comparisons = list(turn.comparisons) if turn else []
        for position, call in enumerate(calls):
            reply = replies[position] if position < len(replies) else None
            found = _verdict_from_log(call, comparisons, path, done)
            verdicts.append(found or _verdict_from_reply(call, reply, path, functions, done, log is not None))
        for verdict in verdicts[-len(calls) :] if calls else []:
            if verdict.ok and verdict.golden is not None:
                done.add(verdict.golden.index)
    return _guess_partners(verdicts, path, done)


def call_to_json(call: Call) -> dict[str, Any]:
    """`{"name": str, "arguments": {...}}`"""
    if call.side == "golden":
        return {"name": call.name, "arguments": {k: accept.any_of[0] for k, accept in (call.arguments or {}).items()}}
    return {"name": call.name, "arguments": call.arguments or {}}


def _verdict_from_log(call: Call, comparisons: list[LoggedComparison], path: GoldenPath, done: set[int]) -> CallVerdict | None:
    for found in comparisons:
        if found.predicted == call_to_json(call):
            comparisons.remove(found)
            golden = _find_golden_call(found.golden, path, done)
            reason = found.message
            if found.judge is not None:
                reason = str(found.judge.get("reason"))
            error_type = found.error_type
            if not found.accepted and error_type is None and found.golden is not None:
                error_type = find_call_error(call_to_json(call), found.golden)[0]
            return CallVerdict(call, golden, found.tier, found.accepted, error_type, reason)
    return None


def _find_golden_call(wanted: dict[str, Any] | None, path: GoldenPath, done: set[int]) -> Call | None:
    """The golden call of that content, one that is still to do if there is a choice."""
    same = [call for call in path.calls if call_to_json(call) == wanted]
    return next((call for call in same if call.index not in done), same[0] if same else None)


def _verdict_from_reply(
    call: Call, reply: Any, path: GoldenPath, functions: list[dict[str, Any]], done: set[int], logged: bool
) -> CallVerdict:
    if isinstance(reply, dict) and set(reply) == {"error"}:
        return CallVerdict(call, None, "format", False, "format_error", str(reply["error"]))
    if reply == GENERIC_REPLY:
        bad = find_format_error(call_to_json(call), functions)
        if bad:
            return CallVerdict(call, None, "format", False, "format_error", bad)
        return CallVerdict(call, None, "unpaired", None) if logged else CallVerdict(call, None, "unknown", False)
    if reply is not None:
        same = [one for one in path.calls if path.observations[one.index] == reply]
        best = next((one for one in same if one.index not in done), same[0] if same else None)
        if best is not None:
            return CallVerdict(call, best, "rule" if is_rule_match(call_to_json(call), call_to_json(best)) else "unknown", True)
    if call.arguments is None:
        return CallVerdict(call, None, "format", False, "decode_error", call.decode_error)
    equal = next((one for one in path.calls if one.index not in done and is_rule_match(call_to_json(call), call_to_json(one))), None)
    if equal is not None:
        return CallVerdict(call, equal, "rule", True)
    return CallVerdict(call, None, "unpaired" if logged else "unknown", None)


def _guess_partners(verdicts: list[CallVerdict], path: GoldenPath, done: set[int]) -> list[CallVerdict]:
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
                verdict.golden, verdict.is_partner_guessed = golden, True
                if verdict.tier == "unknown":
                    failure = check_exact_parameters(call_to_json(verdict.predicted), call_to_json(golden))
                    if failure:
                        verdict.tier, verdict.error_type, verdict.rationale = "exact", failure[0], failure[1]
    return verdicts


def is_free_call(call: Call) -> bool:
    """Optional calls: skipping or repeating one is no error."""
    if call.name in FREE_FUNCTIONS:
        return True
    accept = (call.arguments or {}).get("search_type")
    return call.name == "Search_Hotels" and accept is not None and accept.any_of == ["hotel"]


def uncovered_golden_calls(path: GoldenPath, verdicts: Sequence[CallVerdict]) -> list[Call]:
    """Golden calls, free ones aside, that no accepted call covers."""
    covered = {v.golden.index for v in verdicts if v.ok and v.golden is not None}
    return [call for call in path.calls if call.index not in covered and not is_free_call(call)]


def verdicts_by_address(pairs: Sequence[CallPair], verdicts: Sequence[CallVerdict]) -> dict[str, CallVerdict]:
    """The predicted calls by address."""
    by_predicted = {verdict.predicted.index: verdict for verdict in verdicts}
    places = ((call_address(0, place), pair.predicted) for place, pair in enumerate(pairs))
    return {address: by_predicted[index] for address, index in places if index is not None and index in by_predicted}


def summarize_calls(verdicts: Mapping[str, CallVerdict]) -> dict[str, dict[str, Any]]:
    """`{address: {"accepted": true, "golden": 4, "error": "value_error", "wrong": {"legs": "legs"}}}`

    `accepted` is null where nobody judged the call. `golden` is the place of the golden call it answers, from 1, left
    out if it answers none. `error` is the evaluator's word for it, of an accepted call the one it would get if refused.
    `wrong` are the parameters in which the two differ, with the paper's types.
    """
    return {address: _summarize_call(verdict) for address, verdict in verdicts.items()}


def _summarize_call(verdict: CallVerdict) -> dict[str, Any]:
    found: dict[str, Any] = {"accepted": verdict.ok}
    if verdict.golden is not None:
        found["golden"] = verdict.golden.index + 1
    wrong = _differing_parameters(verdict)
    error = verdict.error_type
    if error is None and wrong and verdict.golden is not None:
        error = find_call_error(call_to_json(verdict.predicted), call_to_json(verdict.golden))[0]
    if error is not None:
        found["error"] = error
    return found | ({"wrong": {name: classify_parameter(name) for name in wrong}} if wrong else {})


def _has_compared_values(verdict: CallVerdict) -> bool:
    """Whether values were: not of a malformed call, and not of another function."""
    return verdict.golden is not None and verdict.tier != "format" and verdict.golden.name == verdict.predicted.name


def _differing_parameters(verdict: CallVerdict) -> list[str]:
    if verdict.golden is None or not _has_compared_values(verdict):
        return []
    return differing_parameters(call_to_json(verdict.predicted)["arguments"], call_to_json(verdict.golden)["arguments"])


def count_compared_parameters(verdicts: Sequence[CallVerdict]) -> dict[str, int]:
    """How many parameters of each type were compared."""
    names = [
        name
        for verdict in verdicts
        if verdict.golden is not None and _has_compared_values(verdict)
        for name in {**call_to_json(verdict.golden)["arguments"], **call_to_json(verdict.predicted)["arguments"]}
    ]
    return dict(Counter(map(classify_parameter, names)))


def find_required_calls(path: GoldenPath, verdicts: Mapping[str, CallVerdict], success: bool) -> list[list[str]]:
    """What `Extra.needs` says: of the calls that answer a golden call, one is accepted; a free one may be left out, but
    an accepted one that turns out wrong is not forgiven.

    What the recorded outcome shows not to be needed is left out; where it failed for something else, nothing helps.
    """
    found: list[list[str]] = []
    met: list[list[str]] = []
    for call in path.calls:
        answers = [at for at, verdict in verdicts.items() if verdict.golden is not None and verdict.golden is call]
        accepted = any(verdicts[at].ok for at in answers)
        if accepted or not is_free_call(call):
            found.append(answers)
        if accepted:
            met.append(answers)
    if success:
        return met
    return [*found, []] if len(met) == len(found) else found
