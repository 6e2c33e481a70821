"""Types and values of one ACEBench argument: parts C to E of the normal checker, odd rules included.

Source of the rules: the released normal checker (revision e6db74b). Text need only contain the golden text; whole
numbers, booleans and numbers whose golden type differs from the declared one are not compared at all.
"""

from __future__ import annotations

from typing import Any

from fcreview.calls.rules import Rules

TYPES: dict[str, type] = {
    **dict.fromkeys(("string", "any"), str),
    **dict.fromkeys(("integer", "int", "number"), int),
    "float": float,
    "boolean": bool,
    **dict.fromkeys(("array", "tuple", "list", "list(string)", "list(enum)", "objectArray"), list),
    **dict.fromkeys(("object", "dict"), dict),
}
NESTED = ("array", "tuple", "list(string)", "list(enum)", "object", "objectArray")
_DELETED = str.maketrans("'", '"', " ,./-_*^")

Failure = tuple[str, str] | None
"""error_type and our words, None for a pass."""


class Enumeration:
    """The type of `enum`, which no value has."""


def normalise(text: str) -> str:
    return text.translate(_DELETED).lower()


RULES = Rules(normalise=normalise)
"""For the argument diff: the checker itself only asks that one text contains the other."""


def python_type(declared: Any) -> type:
    """Raises KeyError for a declared type the evaluator does not know (it stops there)."""
    return Enumeration if declared == "enum" else TYPES[declared]


def type_check(value: Any, golden: Any, declared: str, items: Any) -> tuple[bool, bool]:
    """(passes, skip): with `skip` the value is not compared, because the golden type is not the declared one."""
    expected = python_type(declared)
    skip = golden != "" and type(golden) is not expected
    if value in ("true", "false") and isinstance(value, str):
        value = value == "true"
    failed = False
    if type(value) is expected:
        if declared not in NESTED:
            return True, skip
        if _elements_pass(value, golden, declared, items):
            return True, skip
        failed = True
    if golden != "" and (type(value) is type(golden) or value == golden):
        return not failed, True
    return False, skip


def _inner_type(declared: str, items: Any) -> tuple[str, Any]:
    if isinstance(items, dict) and "type" in items:
        return items["type"], items.get("items")
    for word in ("string", "enum"):
        if word in declared:
            return word, None
    return "dict", None


def _elements_pass(value: Any, golden: Any, declared: str, items: Any) -> bool:
    inner, inner_items = _inner_type(declared, items)
    for element in golden:
        if not isinstance(element, list):
            return True
        if all(type_check(part, element, inner, inner_items)[0] for part in value):
            return True
    return False


def value_check(name: str, value: Any, golden: Any, declared: str, items: Any) -> Failure:
    expected = python_type(declared)
    if expected is str:
        if normalise(str(golden)) in normalise(str(value)):
            return None
        return "value_error:string", f"{name}: {value!r} does not contain {golden!r}"
    if expected is list:
        inner = TYPES.get(_inner_type(declared, items)[0])
        return _objects(name, value, golden) if inner is dict else _list(name, value, golden)
    if expected is dict:
        return object_check(name, value, golden)
    return None


def _list(name: str, value: Any, golden: Any) -> Failure:
    ours = [normalise(part) if isinstance(part, str) else part for part in value]
    theirs = [normalise(part) if isinstance(part, str) else part for part in golden]
    return None if ours == theirs else ("value_error:list/tuple", f"{name}: {value!r} is not {golden!r}")


def _objects(name: str, value: Any, golden: Any) -> Failure:
    if len(value) != len(golden):
        return "value_error:list_dict_count", f"{name}: {len(value)} objects, golden {len(golden)}"
    for number, (ours, theirs) in enumerate(zip(value, golden, strict=True)):
        failure = object_check(f"{name}[{number}]", ours, theirs)
        if failure:
            return failure
    return None


def object_check(name: str, value: Any, golden: Any) -> Failure:
    if not isinstance(value, dict) or not isinstance(golden, dict) or len(value) != len(golden):
        return "value_error", f"{name}: another number of fields, or not an object"
    for key, ours in value.items():
        path = f"{name}.{key}"
        if key not in golden:
            return "value_error", f"{path}: not in the golden object"
        theirs = golden[key]
        if isinstance(ours, str) and ours in ("true", "false"):
            ours = ours == "true"
        if isinstance(theirs, dict):
            failure = object_check(path, ours, theirs)
            if failure:
                return failure
            continue
        left = str(normalise(ours) if isinstance(ours, str) else ours)
        right = str(normalise(theirs) if isinstance(theirs, str) else theirs)
        if right not in left:
            return "value_error", f"{path}: {ours!r} does not contain {theirs!r}"
    return None
