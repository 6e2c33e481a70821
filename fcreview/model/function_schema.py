"""Parse the function docs of benchmarks: the name, the description and the JSON Schema of the
parameters.

Any part of a function doc can be missing or malformed, because function docs come from data files.
The functions of this module skip malformed parts. Only `read_declared_parameters(strict=True)`
raises an error instead. Checkers use it, because a verdict must not depend on a guess.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_TYPE_NAMES = {
    "string": ("string", "str", "char"),
    "integer": ("integer", "int", "long", "short", "byte", "bigint"),
    "number": ("number", "float", "double"),
    "boolean": ("boolean", "bool"),
    "list": ("list", "array", "tuple", "arraylist"),
    "object": ("object", "dict", "hashmap"),
}
JSON_TYPES = {name: kind for kind, names in _TYPE_NAMES.items() for name in names}
"""Type name in Python, Java, JavaScript or JSON Schema -> type of JSON value.

Any other type allows every value.
"""
PARAMETER_KEYS = ("parameters", "inputSchema", "input_schema", "arguments")
NO_DEFAULT: Any = object()


class MalformedSchema(ValueError):
    """Raised if a function doc does not have the structure that a checker needs."""


@dataclass(frozen=True, slots=True)
class DeclaredParameters:
    """Parameters of a function as JSON Schema, copied from its function doc."""

    properties: dict[str, Any] | None
    """Parameter name -> JSON Schema; None if the function doc has no `properties` object."""
    required: Sequence[Any] | None


@dataclass(frozen=True, slots=True)
class Parameter:
    name: str
    kind: str | None
    """Type of JSON value, one of the values of `JSON_TYPES`; None if every value is allowed."""
    required: bool
    choices: tuple[Any, ...]
    default: Any
    """Default value: a JSON value from the schema, or a text from the description.

    `NO_DEFAULT` if there is none.
    """
    description: str
    item_kind: str | None = None


@dataclass(frozen=True, slots=True)
class FunctionSchema:
    name: str
    parameters: Mapping[str, Parameter]
    lists_parameters: bool
    """Whether the function doc has a `properties` object, even an empty one."""
    description: str = ""


def get_parameters_schema(
    function_doc: Mapping[str, Any], keys: Sequence[str] = PARAMETER_KEYS[:1]
) -> dict[str, Any]:
    """Return the first of these fields of a function doc that is an object; without one, an empty
    object.
    """
    for key in keys:
        schema = function_doc.get(key)
        if isinstance(schema, dict):
            return schema
    return {}


def read_declared_parameters(
    function_doc: Mapping[str, Any],
    keys: Sequence[str] = PARAMETER_KEYS[:1],
    *,
    strict: bool = False,
) -> DeclaredParameters:
    """Return the properties and required names in a function doc, without malformed parts.

    Args:
        function_doc: The function doc.
        keys: Keys of the function doc that can contain the schema.
        strict: Whether to raise MalformedSchema for a malformed part.
    """
    schema = get_parameters_schema(function_doc, keys)
    if strict:
        has_other_value = any(function_doc.get(key) for key in keys)
        if not schema and has_other_value:
            raise MalformedSchema("the `parameters` of the function doc are not an object")
        _check_declared_parameters(schema)
    return _build_declared_parameters(schema)


def _check_declared_parameters(schema: Mapping[str, Any]) -> None:
    """Raise MalformedSchema if the properties or required names have another type. They may be
    missing or empty.
    """
    properties = schema.get("properties")
    if properties and not isinstance(properties, dict):
        raise MalformedSchema("the `properties` of the function doc are not an object")
    required = schema.get("required")
    if required and not isinstance(required, (list, tuple)):
        raise MalformedSchema("the `required` parameters of the function doc are not a list")


def _build_declared_parameters(schema: Mapping[str, Any]) -> DeclaredParameters:
    """Return the declared parameters of a schema. What has a wrong type counts as missing."""
    properties = schema.get("properties")
    required = schema.get("required")
    return DeclaredParameters(
        properties=properties if isinstance(properties, dict) else None,
        required=required if isinstance(required, (list, tuple)) else None,
    )


def read_function_schema(function_doc: Mapping[str, Any]) -> FunctionSchema:
    """Parse a function doc, or a tool definition that contains the function doc in its field
    `function`.
    """
    inner_doc = function_doc.get("function")
    body = inner_doc if isinstance(inner_doc, Mapping) else function_doc
    schema = _unwrap_json_fields(get_parameters_schema(body, PARAMETER_KEYS))
    declared = _build_declared_parameters(schema)
    properties = declared.properties or {}
    required_names = {str(name) for name in declared.required or ()}

    parameters = {}
    for key, parameter_schema in properties.items():
        name = str(key)
        if isinstance(parameter_schema, Mapping):
            is_required = name in required_names
            parameters[name] = _parse_parameter(name, parameter_schema, is_required=is_required)
    return FunctionSchema(
        name=str(body.get("name") or ""),
        parameters=parameters,
        lists_parameters=declared.properties is not None,
        description=str(body.get("description") or ""),
    )


def _unwrap_json_fields(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the innermost schema of `{"json": {"json": ...}}`. Some APIs put the schema of the
    parameters into a field `json`.
    """
    innermost = schema
    while isinstance(innermost.get("json"), dict):
        innermost = innermost["json"]
    return innermost


def _parse_parameter(name: str, schema: Mapping[str, Any], *, is_required: bool) -> Parameter:
    """Parse the description of a parameter in a function doc."""
    items = schema.get("items")
    element_schema = items if isinstance(items, Mapping) else {}
    description = str(schema.get("description") or "")
    return Parameter(
        name,
        kind=_read_json_type(schema),
        required=is_required,
        choices=_read_choices(schema, element_schema),
        default=_find_default(schema, description),
        description=description,
        item_kind=_read_json_type(element_schema),
    )


def _read_json_type(schema: Mapping[str, Any]) -> str | None:
    type_name = str(schema.get("type")).lower()
    return JSON_TYPES.get(type_name)


def _read_choices(schema: Mapping[str, Any], element_schema: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the values that a parameter may have or, for a list, the values of its elements."""
    for enum in (schema.get("enum"), element_schema.get("enum")):
        # A text names no choices, but is a sequence of characters.
        if isinstance(enum, str):
            return ()
        if isinstance(enum, Sequence):
            return tuple(enum)
    return ()


def _find_default(schema: Mapping[str, Any], description: str) -> Any:
    """Return the default value in the schema, else the one that the description states, else
    `NO_DEFAULT`.
    """
    declared_default = schema.get("default")
    if declared_default is not None:
        return declared_default
    return parse_documented_default(description)


_QUOTED = r"""\"[^\"]*\"|'[^']*'|\[[^\]]*\]"""
_FEW_WORDS = (
    r"""[^\s,;()'\"]+(?:\ [^\s,;()'\"]+){0,2}?(?=\.?\s*(?:[,;()]|$|\.\s)|\s+(?:if|when|unless)\b)"""
)
_DEFAULT = re.compile(
    rf"""\b(?i:defaults?)(?:\s+(?i:value|method|unit|option|setting)\b)?
    (?:
        (?:\s+(?i:is|are|to\s+be|to|set\s+to|as|of)\b|\s*[:=])+ \s*
        (?P<marked>{_QUOTED}|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\w-]|\.\d)|{_FEW_WORDS})
        | \s+ (?P<bare>{_QUOTED}|-?\d[\w.]*|(?i:true|false)\b|[A-Z]\w+(?:\ [A-Z]\w+)*)
    )""",
    re.VERBOSE,
)
"""Pattern for a default X in a description. `default is X` and `default: X` match if X has at most
three words. `default X` matches only if X is quoted, a number, true, false or capitalized, unlike
`the default route`.
"""
_APPROXIMATION_OR_UNIT = re.compile(r"^(?:approximately|about|around)\s+|(?<=\d) [a-zA-Z/^0-9]+$")
"""Pattern for a word before a number and for the unit after it, as in `approximately 9.81
m/s^2`.
"""
_SPELLED_OUT = {"zero": "0", "one": "1", "two": "2", "true": "True", "false": "False"}
_NOT_A_DEFAULT = re.compile(
    r"(?:none|null|is|to|value|the|an?|any|not|no|empty|current|use)?(?:\s.*)?", re.IGNORECASE
)


def parse_documented_default(description: str) -> Any:
    """Return the default value that a description states, such as `km` for `Default is 'km'.`,
    or `NO_DEFAULT`.
    """
    match = _DEFAULT.search(description)
    if match is None:
        return NO_DEFAULT

    stated_value = match["marked"] or match["bare"]
    # `about 9.81 m/s^2` becomes `9.81`.
    exact_value = _APPROXIMATION_OR_UNIT.sub("", stated_value)
    # The full stop of the sentence comes after the quotes.
    without_full_stop = exact_value.strip().rstrip(".")
    text = without_full_stop.strip("'\"")
    if _NOT_A_DEFAULT.fullmatch(text):
        return NO_DEFAULT
    return _SPELLED_OUT.get(text.lower(), text)


_NUMBER_SUFFIX = re.compile(r"[ _]\d+$")


def find_schema(function_name: str, schemas: Sequence[FunctionSchema]) -> FunctionSchema | None:
    """Return the schema of a called function, or None.

    An underscore in the called name may stand for a dot, because some models do not allow dots. A
    number after the name is ignored, because early BFCL data adds a number to repeated calls
    (`play 2`).
    """
    name_without_number = _NUMBER_SUFFIX.sub("", function_name)
    for name in (function_name, name_without_number):
        name_without_dots = name.replace(".", "_")
        for schema in schemas:
            if schema.name == name or schema.name.replace(".", "_") == name_without_dots:
                return schema
    return None
