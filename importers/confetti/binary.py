"""The binary verdict on a call record: BFCL v2's rules on CONFETTI's adapted documents and answers.

Source: BFCL v2's checker, with the three adaptations without which it cannot run on this data: a missing
`required` is empty, `object` and `number` are `dict` and `float`, and bare values inside golden objects are
wrapped in lists.
"""

from __future__ import annotations

from typing import Any

from fcreview.importers.bfcl.case import Case
from fcreview.importers.bfcl.check.evaluate import Evaluation, evaluate
from fcreview.model import Accept, Call, Fields

TYPES = {"object": "dict", "number": "float"}


def make_case(name: str, functions: list[dict[str, Any]], answer: Any) -> Case:
    return Case(name, "multiple", functions=[adapt_document(one) for one in functions], answer=adapt_answer(answer))


def check(result: Any, case: Case) -> Evaluation:
    return evaluate(result, case, generation="V2", category="multiple")


def adapt_document(document: dict[str, Any]) -> dict[str, Any]:
    parameters = document.get("parameters")
    parameters = parameters if isinstance(parameters, dict) else {}
    return {**document, "parameters": _schema({"required": [], **parameters, "type": "dict"})}


def _schema(schema: Any) -> Any:
    if not isinstance(schema, dict):
        return schema
    changed = dict(schema)
    if isinstance(changed.get("type"), str):
        changed["type"] = TYPES.get(changed["type"], changed["type"])
    if isinstance(changed.get("items"), dict):
        changed["items"] = _schema(changed["items"])
    if isinstance(changed.get("properties"), dict):
        changed["properties"] = {name: _schema(one) for name, one in changed["properties"].items()}
    return changed


def adapt_answer(answer: Any) -> Any:
    """`[{function: {parameter: [accepted]}}]` with the fields of golden objects wrapped: `{"a": 1}` -> `{"a": [1]}`."""
    if not isinstance(answer, list):
        return answer
    return [
        {name: {key: [_wrap(value) for value in accepted] for key, accepted in arguments.items()}}
        for call in answer
        if isinstance(call, dict)
        for name, arguments in call.items()
    ]


def _wrap(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: inner if isinstance(inner, list) else [inner] for key, inner in value.items()}
    return value


def golden_call(answer: Any, turn: int) -> list[Call]:
    """For display: the golden list as stored is one list of alternatives, objects with their own fields."""
    calls: list[Call] = []
    for call in answer if isinstance(answer, list) else []:
        for name, arguments in call.items():
            accepts = {key: Accept([_pattern(value) for value in accepted]) for key, accepted in arguments.items()}
            calls.append(Call("golden", name, accepts, turn, 0, len(calls)))
    return calls


def _pattern(value: Any) -> Any:
    return Fields({key: Accept([inner]) for key, inner in value.items()}) if isinstance(value, dict) else value
