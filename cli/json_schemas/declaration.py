"""Declare the lines that a command prints with `--json`, and build their JSON Schema.

A field that a dataclass determines gets its types from the annotation. Only its description is
written here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass, replace
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

DIALECT = "https://json-schema.org/draft/2020-12/schema"
ANY_VALUE = ""
"""Types of a field that can have every JSON value."""
TYPE_NAMES: dict[Any, str] = {
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "array",
    tuple: "array",
    dict: "object",
    NoneType: "null",
}


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a JSON object."""

    types: str
    """JSON types, separated by `|`, such as `integer|null`; empty if every value is possible."""
    description: str
    is_optional: bool = False
    fields: Mapping[str, Field] = field(default_factory=dict)
    """Fields of the object, or of each object in the array. Empty if they are not declared."""
    constant: str = ""
    """The only value of the field; empty if it has several."""


@dataclass(frozen=True, slots=True)
class Line:
    """The fields of one kind of JSON line that a command prints. If `kind` is not empty, the field
    `kind` of each line has this value.
    """

    title: str
    fields: Mapping[str, Field]
    kind: str = ""
    has_other_fields: bool = False
    """Whether a line has fields that depend on the input of the command."""

    @property
    def all_fields(self) -> dict[str, Field]:
        if not self.kind:
            return dict(self.fields)
        kind = Field("string", description="Kind of the line.", constant=self.kind)
        return {"kind": kind, **self.fields}


@dataclass(frozen=True, slots=True)
class CommandLines:
    """All kinds of lines that a command prints."""

    version: int
    """Raise it by one if a field is removed or changes its meaning, but not for a new field."""
    lines: Sequence[Line]


def optional(fields: Mapping[str, Field]) -> dict[str, Field]:
    """Mark fields that only some lines have."""
    return {name: replace(each, is_optional=True) for name, each in fields.items()}


def select(fields: Mapping[str, Field], names: Sequence[str]) -> dict[str, Field]:
    return {name: fields[name] for name in names}


def from_dataclass(
    source: type, descriptions: Mapping[str, str], names: Mapping[str, type] | None = None
) -> dict[str, Field]:
    """Declare fields of a dataclass, with the types of its annotations.

    `names` has classes that the module of the dataclass imports only for type checkers.
    """
    annotations = get_type_hints(source, localns=dict(names or {}))
    fields = {}
    for name, description in descriptions.items():
        types = "|".join(_list_json_types(annotations[name]))
        fields[name] = Field(types, description=description)
    return fields


def _list_json_types(annotation: Any) -> list[str]:
    """Return the names of the JSON types of an annotation; none if every value is possible."""
    if annotation is Any:
        return []
    origin = get_origin(annotation)
    if origin is Literal:
        return ["string"]
    if origin in (Union, UnionType):
        names = []
        for part in get_args(annotation):
            names += _list_json_types(part)
        return names

    python_type = origin or annotation
    if is_dataclass(python_type) or hasattr(python_type, "_asdict"):
        return ["object"]
    return [TYPE_NAMES[python_type]]


def build_schema(command: str, declared: CommandLines) -> dict[str, Any]:
    """Build the JSON Schema of one line of a command."""
    schema: dict[str, Any] = {
        "$schema": DIALECT,
        "$id": f"urn:fcreview:json:{command.replace(' ', '-')}:{declared.version}",
        "title": f"One line of fcreview {command} --json",
        "version": declared.version,
    }
    line_schemas = [_build_line_schema(line) for line in declared.lines]
    if len(line_schemas) > 1:
        return schema | {"oneOf": line_schemas}

    # The title of the only kind of line does not replace that of the command.
    (line_schema,) = line_schemas
    schema["description"] = line_schema.pop("title")
    return schema | line_schema


def _build_line_schema(line: Line) -> dict[str, Any]:
    schema = {"title": line.title, **_build_object_schema(line.all_fields)}
    if line.has_other_fields:
        schema["additionalProperties"] = True
    return schema


def _build_object_schema(fields: Mapping[str, Field]) -> dict[str, Any]:
    required = [name for name, each in fields.items() if not each.is_optional]
    properties = {name: _build_field_schema(each) for name, each in fields.items()}
    return {"type": "object", "required": required, "properties": properties}


def _build_field_schema(declared: Field) -> dict[str, Any]:
    """Build the JSON schema of a field from its declaration: a constant, any value, or types, with
    the schema of the fields inside.
    """
    schema: dict[str, Any] = {"description": declared.description}
    if declared.constant:
        return schema | {"const": declared.constant}
    if declared.types == ANY_VALUE:
        return schema

    types = declared.types.split("|")
    schema["type"] = types if len(types) > 1 else types[0]
    if not declared.fields:
        return schema

    contents = _build_object_schema(declared.fields)
    if "array" in types:
        return schema | {"items": contents}
    # The object may be null, which has no fields to require.
    del contents["type"]
    return schema | contents
