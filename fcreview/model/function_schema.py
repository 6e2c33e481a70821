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
    return next((schema for key in keys if isinstance(schema := function_doc.get(key), dict)), {})


def read_declared_parameters(
    function_doc: Mapping[str, Any],
    keys: Sequence[str] = PARAMETER_KEYS[:1],
    *,
    strict: bool = False,
) -> DeclaredParameters:
    """Return the properties and required names in a function doc, without malformed parts. With
    `strict`, raise MalformedSchema for a malformed part. `keys` are the keys of the function doc
    that can contain the schema.
    """
    schema = get_parameters_schema(function_doc, keys)
    properties, required = schema.get("properties"), schema.get("required")
    if strict:
        if not schema and any(function_doc.get(key) for key in keys):
            raise MalformedSchema("the `parameters` of the function doc are not an object")
        if properties and not isinstance(properties, dict):
            raise MalformedSchema("the `properties` of the function doc are not an object")
        if required and not isinstance(required, (list, tuple)):
            raise MalformedSchema("the `required` parameters of the function doc are not a list")
    return _build_declared_parameters(properties, required)


def _build_declared_parameters(properties: Any, required: Any) -> DeclaredParameters:
    names = required if isinstance(required, (list, tuple)) else None
    return DeclaredParameters(properties if isinstance(properties, dict) else None, names)


def read_function_schema(function_doc: Mapping[str, Any]) -> FunctionSchema:
    """Parse a function doc, or a tool definition that contains the function doc in its field
    `function`.
    """
    inner = function_doc.get("function")
    body = inner if isinstance(inner, Mapping) else function_doc
    schema = get_parameters_schema(body, PARAMETER_KEYS)
    while isinstance(wrapped := schema.get("json"), dict):
        schema = wrapped
    declared = _build_declared_parameters(schema.get("properties"), schema.get("required"))
    required = set(map(str, declared.required or ()))
    parameters = {
        str(name): _parse_parameter(str(name), one, str(name) in required)
        for name, one in (declared.properties or {}).items()
        if isinstance(one, Mapping)
    }
    lists_parameters = declared.properties is not None
    return FunctionSchema(
        str(body.get("name") or ""),
        parameters=parameters,
        lists_parameters=lists_parameters,
        description=str(body.get("description") or ""),
    )


def _parse_parameter(name: str, schema: Mapping[str, Any], required: bool) -> Parameter:
    description = str(schema.get("description") or "")
    items = schema.get("items")
    element = items if isinstance(items, Mapping) else {}
    choices = next(
        (c for c in (schema.get("enum"), element.get("enum")) if isinstance(c, Sequence)), ()
    )
    return Parameter(
        name,
        kind=JSON_TYPES.get(str(schema.get("type")).lower()),
        required=required,
        choices=tuple(choices) if not isinstance(choices, str) else (),
        default=schema["default"]
        if schema.get("default") is not None
        else parse_documented_default(description),
        description=description,
        item_kind=JSON_TYPES.get(str(element.get("type")).lower()),
    )


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
_APPROXIMATION = re.compile(r"^(?:approximately|about|around)\s+|(?<=\d) [a-zA-Z/^0-9]+$")
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
    if not match:
        return NO_DEFAULT
    text = _APPROXIMATION.sub("", match["marked"] or match["bare"]).strip().rstrip(".").strip("'\"")
    return NO_DEFAULT if _NOT_A_DEFAULT.fullmatch(text) else _SPELLED_OUT.get(text.lower(), text)


_NUMBER_SUFFIX = re.compile(r"[ _]\d+$")


def find_schema(function_name: str, schemas: Sequence[FunctionSchema]) -> FunctionSchema | None:
    """Return the schema of a called function, or None. A dot equals an underscore, because some
    models do not allow dots. A number after the name is ignored, because early BFCL data adds a
    number to repeated calls (`play 2`).
    """
    for each in (function_name, _NUMBER_SUFFIX.sub("", function_name)):
        plain = each.replace(".", "_")
        for schema in schemas:
            if schema.name == each or schema.name.replace(".", "_") == plain:
                return schema
    return None
