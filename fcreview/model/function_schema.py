"""Function documents as benchmarks write them: a name, a description and the JSON Schema of the parameters.

Documents come from data files, so any part may be missing or malformed. Readers skip what they cannot use, except
`declared_parameters(strict=True)`, which checkers call: a verdict must not rest on a guessed schema.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

JSON_TYPES = {
    "string": "string",
    "str": "string",
    "char": "string",
    "integer": "integer",
    "int": "integer",
    "long": "integer",
    "short": "integer",
    "byte": "integer",
    "bigint": "integer",
    "float": "number",
    "double": "number",
    "number": "number",
    "boolean": "boolean",
    "bool": "boolean",
    "array": "list",
    "list": "list",
    "tuple": "list",
    "arraylist": "list",
    "dict": "object",
    "object": "object",
    "hashmap": "object",
}
"""Type names of Python, Java, JavaScript and JSON Schema -> the kind of JSON value. Other names allow any value."""
PARAMETER_KEYS = ("parameters", "inputSchema", "input_schema", "arguments")
"""Keys under which interfaces put the schema of the parameters."""
NO_DEFAULT: Any = object()
"""`Parameter.default` of a parameter without a default."""


class MalformedSchema(ValueError):
    """Raised when a function document does not have the form that a checker needs."""


@dataclass(frozen=True, slots=True)
class DeclaredParameters:
    """Parameters of a function as its document lists them, unparsed."""

    properties: dict[str, Any] | None
    """Parameter name -> its schema; None if the document has no object of properties."""
    required: Sequence[Any] | None
    """Names; None if the document has no list of them."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One documented parameter."""

    name: str
    kind: str | None
    """A value of `JSON_TYPES`; None if any value is allowed."""
    required: bool
    choices: tuple[Any, ...]
    default: Any
    """Any JSON value, the text that the description states, or MISSING."""
    description: str
    item_kind: str | None = None
    """Kind of a list's elements."""


@dataclass(frozen=True, slots=True)
class FunctionSchema:
    """A function document with its parameters parsed."""

    name: str
    parameters: Mapping[str, Parameter]
    lists_parameters: bool
    """Whether the document lists its parameters."""
    description: str = ""


def get_parameters_schema(document: Mapping[str, Any], spellings: Sequence[str] = PARAMETER_KEYS[:1]) -> dict[str, Any]:
    """The JSON Schema object of the parameters; empty if the document has none."""
    return next((schema for key in spellings if isinstance(schema := document.get(key), dict)), {})


def read_declared_parameters(
    document: Mapping[str, Any], spellings: Sequence[str] = PARAMETER_KEYS[:1], *, strict: bool = False
) -> DeclaredParameters:
    """Properties and required names of a document.

    Raises:
        MalformedSchema: with `strict`, if one of them is present in another form.
    """
    schema = get_parameters_schema(document, spellings)
    properties, required = schema.get("properties"), schema.get("required")
    if strict:
        if not schema and any(document.get(key) for key in spellings):
            raise MalformedSchema("the parameters of the function document are no object")
        if properties and not isinstance(properties, dict):
            raise MalformedSchema("the properties of the function document are no object")
        if required and not isinstance(required, (list, tuple)):
            raise MalformedSchema("the required parameters of the function document are no list")
    return _declared(properties, required)


def _declared(properties: Any, required: Any) -> DeclaredParameters:
    return DeclaredParameters(
        properties if isinstance(properties, dict) else None, required if isinstance(required, (list, tuple)) else None
    )


def read_function_schema(document: Mapping[str, Any]) -> FunctionSchema:
    """Parse a function document, bare or as the `function` of a tool."""
    inner = document.get("function")
    body = inner if isinstance(inner, Mapping) else document
    schema = get_parameters_schema(body, PARAMETER_KEYS)
    while isinstance(wrapped := schema.get("json"), dict):
        schema = wrapped
    declared = _declared(schema.get("properties"), schema.get("required"))
    required = set(map(str, declared.required or ()))
    parameters = {
        str(name): _parameter(str(name), one, str(name) in required)
        for name, one in (declared.properties or {}).items()
        if isinstance(one, Mapping)
    }
    stated = declared.properties is not None
    return FunctionSchema(str(body.get("name") or ""), parameters, stated, str(body.get("description") or ""))


def _parameter(name: str, schema: Mapping[str, Any], required: bool) -> Parameter:
    description = str(schema.get("description") or "")
    items = schema.get("items")
    element = items if isinstance(items, Mapping) else {}
    choices = next((c for c in (schema.get("enum"), element.get("enum")) if isinstance(c, Sequence)), ())
    return Parameter(
        name,
        JSON_TYPES.get(str(schema.get("type")).lower()),
        required,
        tuple(choices) if not isinstance(choices, str) else (),
        schema["default"] if schema.get("default") is not None else parse_default(description),
        description,
        JSON_TYPES.get(str(element.get("type")).lower()),
    )


_QUOTED = r"""\"[^\"]*\"|'[^']*'|\[[^\]]*\]"""
_FEW_WORDS = r"""[^\s,;()'\"]+(?:\ [^\s,;()'\"]+){0,2}?(?=\.?\s*(?:[,;()]|$|\.\s)|\s+(?:if|when|unless)\b)"""
_DEFAULT = re.compile(
    rf"""\b(?i:defaults?)(?:\s+(?i:value|method|unit|option|setting)\b)?
    (?:
        (?:\s+(?i:is|are|to\s+be|to|set\s+to|as|of)\b|\s*[:=])+ \s*
        (?P<stated>{_QUOTED}|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\w-]|\.\d)|{_FEW_WORDS})
        | \s+ (?P<bare>{_QUOTED}|-?\d[\w.]*|(?i:true|false)\b|[A-Z]\w+(?:\ [A-Z]\w+)*)
    )""",
    re.VERBOSE,
)
"""`Default is X` and `default: X` with at most three words. Without a word or mark between, X must be quoted, a number
or a capitalised name, so that `the default route` does not match."""
_APPROXIMATION = re.compile(r"^(?:approximately|about|around)\s+|(?<=\d) [a-zA-Z/^0-9]+$")
"""Words before and a unit after a number: `approximately 9.81 m/s^2`."""
_SPELLED_OUT = {"zero": "0", "one": "1", "two": "2", "true": "True", "false": "False"}
_NO_DEFAULT = re.compile(r"(?:none|null|is|to|value|the|an?|any|not|no|empty|current|use)?(?:\s.*)?", re.IGNORECASE)


def parse_default(description: str) -> Any:
    """The default that a description states: `Default is 'km'.` gives `km`; MISSING if it states none."""
    found = _DEFAULT.search(description)
    if not found:
        return NO_DEFAULT
    text = _APPROXIMATION.sub("", found["stated"] or found["bare"]).strip().rstrip(".").strip("'\"")
    return NO_DEFAULT if _NO_DEFAULT.fullmatch(text) else _SPELLED_OUT.get(text.lower(), text)


_NUMBERED = re.compile(r"[ _]\d+$")


def find_schema(name: str, schemas: Sequence[FunctionSchema]) -> FunctionSchema | None:
    """The schema of a called function.

    Dots and underscores are equal, because model interfaces allow no dots. A number after the name is ignored: early
    BFCL data numbers several calls of one function (`play 2`).
    """
    for each in (name, _NUMBERED.sub("", name)):
        plain = each.replace(".", "_")
        for schema in schemas:
            if schema.name == each or schema.name.replace(".", "_") == plain:
                return schema
    return None
