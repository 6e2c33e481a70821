"""Function documents as benchmarks write them: parameters with type, choices, default, and whether required."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

KINDS = {
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
"""JSON's kinds for the words of Python, Java, JavaScript and JSON Schema; what is not here may be anything."""
_QUOTED = r"""\"[^\"]*\"|'[^']*'|\[[^\]]*\]"""
_FEW_WORDS = r"""[^\s,;()'\"]+(?:\ [^\s,;()'\"]+){0,2}?(?=\.?\s*(?:[,;()]|$|\.\s)|\s+(?:if|when|unless)\b)"""
_DEFAULT = re.compile(
    rf"""\b(?i:defaults?)(?:\s+(?i:value|method|unit|option|setting)\b)?
    (?:
        (?:\s+(?i:is|are|to\s+be|to|set\s+to|as|of)\b|\s*[:=])+ \s*
        (?P<said>{_QUOTED}|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\w-]|\.\d)|{_FEW_WORDS})
        | \s+ (?P<bare>{_QUOTED}|-?\d[\w.]*|(?i:true|false)\b|[A-Z]\w+(?:\ [A-Z]\w+)*)
    )""",
    re.VERBOSE,
)
"""`Default is X`, `default: X`, at most three words; without a word between only what is quoted, a number or a name:
not `the default route`."""
_ABOUT = re.compile(r"^(?:approximately|about|around)\s+|(?<=\d) [a-zA-Z/^0-9]+$")
"""What stands round a number: `approximately 9.81 m/s^2`."""
_SPOKEN = {"zero": "0", "one": "1", "two": "2", "true": "True", "false": "False"}
_NO_DEFAULT = re.compile(r"(?:none|null|is|to|value|the|an?|any|not|no|empty|current|use)?(?:\s.*)?", re.IGNORECASE)
_NUMBERED = re.compile(r"[ _]\d+$")
MISSING: Any = object()
"""There is no default."""


@dataclass(frozen=True, slots=True)
class Parameter:
    name: str
    kind: str | None
    """A value of `KINDS`, or None: anything."""
    required: bool
    choices: tuple[Any, ...]
    default: Any
    """As the document states it: any JSON, a text where it stands in the description only, or MISSING."""
    description: str
    item_kind: str | None = None
    """Of a list's elements."""


@dataclass(frozen=True, slots=True)
class Document:
    name: str
    parameters: Mapping[str, Parameter]
    stated: bool
    """It says which parameters there are."""
    description: str = ""


def read_document(raw: Mapping[str, Any]) -> Document:
    """From a function document, bare or as the `function` of a tool; whatever is not as expected is left out."""
    inner = raw.get("function")
    body = inner if isinstance(inner, Mapping) else raw
    schema = next((s for key in _SCHEMAS if isinstance(s := body.get(key), Mapping)), {})
    while isinstance(schema.get("json"), Mapping):
        schema = schema["json"]
    properties = schema.get("properties")
    stated = isinstance(properties, Mapping)
    required = schema.get("required")
    names = (
        {str(name) for name in required} if isinstance(required, Sequence) and not isinstance(required, str) else None
    )
    parameters = {
        str(name): _parameter(str(name), one, names)
        for name, one in (properties.items() if isinstance(properties, Mapping) else ())
        if isinstance(one, Mapping)
    }
    return Document(str(body.get("name") or ""), parameters, stated, str(body.get("description") or ""))


_SCHEMAS = ("parameters", "inputSchema", "input_schema", "arguments")


def _parameter(name: str, raw: Mapping[str, Any], required: set[str] | None) -> Parameter:
    description = str(raw.get("description") or "")
    items = raw.get("items")
    element = items if isinstance(items, Mapping) else {}
    choices = next((c for c in (raw.get("enum"), element.get("enum")) if isinstance(c, Sequence)), ())
    default = raw["default"] if raw.get("default") is not None else default_in(description)
    return Parameter(
        name,
        KINDS.get(str(raw.get("type")).lower()),
        name in required if required is not None else False,
        tuple(choices) if not isinstance(choices, str) else (),
        default,
        description,
        KINDS.get(str(element.get("type")).lower()),
    )


def default_in(description: str) -> Any:
    """The default that a description states: `Default is 'km'.` gives `km`; MISSING if it states none."""
    found = _DEFAULT.search(description)
    if not found:
        return MISSING
    text = _ABOUT.sub("", found["said"] or found["bare"]).strip().rstrip(".").strip("'\"")
    return MISSING if _NO_DEFAULT.fullmatch(text) else _SPOKEN.get(text.lower(), text)


def document_of(name: str, documents: Sequence[Document]) -> Document | None:
    """The document of a called function; dots and underscores are alike, as models' interfaces allow no dots, and a
    number after the name (`play 2`, as early BFCL keeps several calls apart) does not count."""
    for each in (name, _NUMBERED.sub("", name)):
        plain = each.replace(".", "_")
        for document in documents:
            if document.name == each or document.name.replace(".", "_") == plain:
                return document
    return None
