"""Validate JSON values against schemas of JSON Schema (draft 07), with the keywords that the schema
of Every Eval Ever uses. An unknown keyword is an error, because ignoring it would accept too much.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

Schema = dict[str, Any]
ANNOTATIONS = {"$schema", "version", "description", "default", "$defs", "then", "else"}
TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "null": (type(None),),
}


def list_errors(value: Any, schema: Schema, root: Schema | None = None) -> list[str]:
    """Return where a value does not match a schema."""
    return list(_list_errors(value, schema, root or schema, "$"))


def _list_errors(value: Any, schema: Schema, root: Schema, place: str) -> Iterator[str]:
    for keyword, argument in schema.items():
        if keyword in ANNOTATIONS:
            continue
        for error in CHECKS[keyword](value, argument, schema, root):
            yield f"{place}{error}"


def _check_type(value: Any, argument: Any, _: Schema, __: Schema) -> Iterator[str]:
    names = [argument] if isinstance(argument, str) else argument
    for name in names:
        is_bool_for_number = isinstance(value, bool) and name in ("number", "integer")
        if isinstance(value, TYPES[name]) and not is_bool_for_number:
            return
    yield f": {value!r} is not {argument}"


def _check_required(value: Any, names: Any, _: Schema, __: Schema) -> Iterator[str]:
    if isinstance(value, dict):
        yield from (f": {name} is missing" for name in names if name not in value)


def _check_properties(value: Any, properties: Any, _: Schema, root: Schema) -> Iterator[str]:
    if not isinstance(value, dict):
        return
    for name, schema in properties.items():
        if name in value:
            yield from _list_errors(value[name], schema, root, f".{name}")


def _check_other_properties(
    value: Any, argument: Any, schema: Schema, root: Schema
) -> Iterator[str]:
    if not isinstance(value, dict):
        return
    for name in value.keys() - schema.get("properties", {}).keys():
        if argument is False:
            yield f": {name} is not allowed"
        elif argument is not True:
            yield from _list_errors(value[name], argument, root, f".{name}")


def _check_items(value: Any, argument: Any, _: Schema, root: Schema) -> Iterator[str]:
    if isinstance(value, list):
        for position, element in enumerate(value):
            yield from _list_errors(element, argument, root, f"[{position}]")


def _check_one_of(value: Any, schemas: Any, _: Schema, root: Schema) -> Iterator[str]:
    n_matching = sum(not list_errors(value, schema, root) for schema in schemas)
    if n_matching != 1:
        yield f": {n_matching} schemas match"


def _check_if(value: Any, condition: Any, schema: Schema, root: Schema) -> Iterator[str]:
    branch = "else" if list_errors(value, condition, root) else "then"
    yield from _list_errors(value, schema.get(branch, {}), root, "")


def _check_ref(value: Any, reference: Any, _: Schema, root: Schema) -> Iterator[str]:
    found: Any = root
    for name in reference.removeprefix("#/").split("/"):
        found = found[name]
    yield from _list_errors(value, found, root, "")


def _check_enum(value: Any, values: Any, _: Schema, __: Schema) -> Iterator[str]:
    if value not in values:
        yield f": {value!r} is not one of {values}"


def _check_const(value: Any, constant: Any, _: Schema, __: Schema) -> Iterator[str]:
    if value != constant:
        yield f": {value!r} is not {constant!r}"


def _check_pattern(value: Any, pattern: Any, _: Schema, __: Schema) -> Iterator[str]:
    if isinstance(value, str) and not re.search(pattern, value):
        yield f": {value!r} does not match {pattern}"


def _check_minimum(value: Any, minimum: Any, _: Schema, __: Schema) -> Iterator[str]:
    if isinstance(value, (int, float)) and value < minimum:
        yield f": {value} is less than {minimum}"


def _check_maximum(value: Any, maximum: Any, _: Schema, __: Schema) -> Iterator[str]:
    if isinstance(value, (int, float)) and value > maximum:
        yield f": {value} is more than {maximum}"


def _check_min_items(value: Any, number: Any, _: Schema, __: Schema) -> Iterator[str]:
    if isinstance(value, list) and len(value) < number:
        yield f": fewer than {number} elements"


CHECKS: dict[str, Callable[[Any, Any, Schema, Schema], Iterator[str]]] = {
    "type": _check_type,
    "required": _check_required,
    "properties": _check_properties,
    "additionalProperties": _check_other_properties,
    "items": _check_items,
    "oneOf": _check_one_of,
    "if": _check_if,
    "$ref": _check_ref,
    "enum": _check_enum,
    "const": _check_const,
    "pattern": _check_pattern,
    "minimum": _check_minimum,
    "maximum": _check_maximum,
    "minItems": _check_min_items,
}
