"""Golden answers as calls of the vocabulary, for display and comparison."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from fcreview.importers.bfcl.decode.call_text import parse_call_text
from fcreview.importers.common.guard import names_of
from fcreview.model import Accept, Call, Fields

_NUMBER = re.compile(r"[_ ]\d+\Z")


def golden_calls(answer: Any, category: str, generation: str, functions: Sequence[dict[str, Any]]) -> list[Call]:  # noqa: ARG001
    """`ground_truth` of any category and generation as golden calls.

    V1 `{name_N: {param: [..]}}`, V2+ `[{name: {param: [..]}}]`, executable `["f(a=1)"]`, multi-turn
    `[["f(a=1)"], []]` (one list a turn). What is none of these (agentic answers are texts) gives no calls.
    """
    if "memory" in category or "web_search" in category:
        return []
    if isinstance(answer, dict):
        names = names_of(functions)
        parsed = [_from_answer(declared(name, names), values) for name, values in answer.items()]
    elif isinstance(answer, list) and answer and all(isinstance(part, list) for part in answer):
        return [call for turn, texts in enumerate(answer) for call in _numbered(_from_texts(texts, functions), turn)]
    elif isinstance(answer, str):
        parsed = _from_texts([answer], functions)
    elif isinstance(answer, list):
        parsed = [
            _from_answer(name, values) for part in answer if isinstance(part, dict) for name, values in part.items()
        ] or _from_texts(answer, functions)
    else:
        return []
    return _numbered(parsed, 0)


def _numbered(calls: list[Call], turn: int) -> list[Call]:
    for index, call in enumerate(calls):
        call.turn, call.index = turn, index
    return calls


def declared(name: str, names: set[Any]) -> str:
    """V1 tells repeated functions apart by `_1`, `_2` (in some items ` 1`, ` 2`): stripped where what remains is a
    declared function."""
    if name in names:
        return name
    stripped = _NUMBER.sub("", name)
    return stripped if stripped in names else name


def _from_answer(name: str, values: Any) -> Call:
    if not isinstance(values, dict):
        raw = json.dumps({name: values}, ensure_ascii=False, default=str)
        return Call("golden", str(name), None, raw=raw, decode_error="the golden answer has no arguments object")
    return Call("golden", str(name), {key: accept(alternatives) for key, alternatives in values.items()})


def _from_texts(texts: list[Any], functions: Sequence[dict[str, Any]]) -> list[Call]:
    calls = []
    for text in texts:
        found = parse_call_text(text, functions) if isinstance(text, str) else None
        if found is None:
            calls.append(Call("golden", "", None, raw=str(text), decode_error="not call syntax"))
        else:
            name, arguments = found
            accepts = {str(key): Accept([value]) for key, value in arguments.items()}
            calls.append(Call("golden", name, accepts, raw=text))
    return calls


def accept(alternatives: Any) -> Accept:
    """A list of acceptable values, where `""` says that the argument may be left out; objects are lists of
    alternatives again."""
    if isinstance(alternatives, dict):  # V1 has objects directly in objects
        return Accept([_alternative(alternatives)])
    if not isinstance(alternatives, list):
        return Accept([alternatives])
    return Accept([_alternative(value) for value in alternatives if value != ""], "" in alternatives)


def _alternative(value: Any) -> Any:
    if isinstance(value, dict):
        return Fields({key: accept(field) for key, field in value.items()})
    if isinstance(value, list):
        return [_alternative(element) if isinstance(element, (dict, list)) else element for element in value]
    return value
