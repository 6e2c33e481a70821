"""Compare JSON lines with their schemas, and the declared fields with those of earlier versions.

`python -m tests.cli.json_lines` records the fields that are declared now.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

from fcreview.cli.json_schemas.commands import LINES_BY_COMMAND
from fcreview.cli.json_schemas.declaration import CommandLines, Field, build_schema

RECORD = Path(__file__).with_name("json_fields.json")
"""Fields of each command at its current version. The file changes with each declaration."""
DIGEST_BYTES = 4


def list_line_problems(command: str, line: Mapping[str, Any]) -> list[str]:
    """Return where a printed line does not match the schema of its command."""
    return list(list_problems(line, build_schema(command, LINES_BY_COMMAND[command])))


def list_problems(value: Any, schema: Mapping[str, Any], place: str = "line") -> Iterator[str]:
    """Yield where a value does not match a schema, or has a field that the schema does not name.

    Knows only the keywords that `build_schema` writes.
    """
    if "oneOf" in schema:
        problems = [list(list_problems(value, each, place)) for each in schema["oneOf"]]
        n_matching = sum(not found for found in problems)
        if n_matching != 1:
            yield f"{place}: {n_matching} schemas match: {min(problems, key=len)}"
        return

    if "const" in schema and value != schema["const"]:
        yield f"{place}: {value!r} is not {schema['const']!r}"
    types = schema.get("type", [])
    types = [types] if isinstance(types, str) else types
    if types and not any(has_type(value, each) for each in types):
        yield f"{place}: {value!r} is not {types}"
    if isinstance(value, dict) and "properties" in schema:
        yield from list_field_problems(value, schema, place)
    if isinstance(value, list) and "items" in schema:
        for position, element in enumerate(value):
            yield from list_problems(element, schema["items"], f"{place}[{position}]")


def list_field_problems(
    value: dict[str, Any], schema: Mapping[str, Any], place: str
) -> Iterator[str]:
    for name in schema["required"]:
        if name not in value:
            yield f"{place}.{name} is missing"
    if schema.get("additionalProperties"):
        return
    for name, element in value.items():
        if name not in schema["properties"]:
            yield f"{place}.{name} is not declared"
            continue
        yield from list_problems(element, schema["properties"][name], f"{place}.{name}")


def has_type(value: Any, name: str) -> bool:
    if name == "null":
        return value is None
    if name == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    if name == "number":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    python_type = {"boolean": bool, "string": str, "array": list, "object": dict}[name]
    return isinstance(value, python_type)


def describe_fields(declared: CommandLines) -> dict[str, str]:
    """Return the types of each field and a digest of its description, by its place
    `LINE.FIELD.INNER`. LINE is the kind of the line or, without one, its number.
    """
    described: dict[str, str] = {}
    for number, line in enumerate(declared.lines, 1):
        described |= _describe_inner_fields(line.kind or str(number), line.all_fields)
    return described


def _describe_inner_fields(place: str, fields: Mapping[str, Field]) -> dict[str, str]:
    described = {}
    for name, declared in fields.items():
        inner_place = f"{place}.{name}"
        types = declared.constant or declared.types or "any"
        if declared.is_optional:
            types += "?"
        digest = blake2b(declared.description.encode(), digest_size=DIGEST_BYTES).hexdigest()
        described[inner_place] = f"{types} {digest}"
        described |= _describe_inner_fields(inner_place, declared.fields)
    return described


def describe_commands() -> dict[str, dict[str, Any]]:
    described = {}
    for command, declared in sorted(LINES_BY_COMMAND.items()):
        described[command] = {"version": declared.version, "fields": describe_fields(declared)}
    return described


def list_version_problems(recorded: Mapping[str, Any], current: Mapping[str, Any]) -> Iterator[str]:
    """Yield the commands whose version must be raised: those of which a field was removed or has
    other types, although their version is the recorded one.
    """
    for command, old in recorded.items():
        new = current.get(command, {"version": None, "fields": {}})
        if new["version"] != old["version"]:
            continue
        for place, description in old["fields"].items():
            types, _ = description.rsplit(" ", 1)
            new_types, _ = new["fields"].get(place, "removed -").rsplit(" ", 1)
            if new_types != types:
                yield f"{command}: {place} was {types}, and is {new_types}: raise the version"


def record_fields() -> None:
    """Record the fields that are declared now. Refuses a change that needs another version."""
    current = describe_commands()
    if RECORD.is_file():
        problems = list(list_version_problems(json.loads(RECORD.read_text()), current))
        if problems:
            raise SystemExit("\n".join(problems))
    RECORD.write_text(json.dumps(current, indent=1) + "\n")


if __name__ == "__main__":
    record_fields()
